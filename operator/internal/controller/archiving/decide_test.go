package archiving

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
)

// measured returns a run that was measured, and what its document is made of.
func measured(t *testing.T) *scope {
	t.Helper()
	in := documenttest.Small()
	doc := documenttest.Make(t, in, "1.2.3", nil)
	return &scope{run: in.Run, source: report.Source{Trials: doc.Trials, Inputs: doc.Inputs, Version: "1.2.3"}}
}

// TestDecide checks that the same run gives the same document, that trials which cannot be read are left out with the reason, and that what
// cannot be a document is refused.
func TestDecide(t *testing.T) {
	first, second := decide(measured(t)), decide(measured(t))
	if first.reason != v1alpha1.ReasonStored || first.note != "" || !bytes.Equal(first.text, second.text) || first.key != archive.RunKey("benchmarks", measured(t).run.Name, string(measured(t).run.UID)) {
		t.Errorf("%s %s: %q, equal %t", first.key, first.reason, first.note, bytes.Equal(first.text, second.text))
	}
	for name, test := range map[string]struct {
		change func(*scope)
		reason string
		note   string
		trials bool
	}{
		"lost":         {func(s *scope) { s.lost, s.source = errors.New("it was deleted"), report.Source{} }, v1alpha1.ReasonStoredWithoutTrials, "it was deleted", false},
		"one missing":  {func(s *scope) { s.source.Trials = s.source.Trials[1:] }, v1alpha1.ReasonStoredWithoutTrials, "trial 0 is missing", false},
		"not possible": {func(s *scope) { s.source.Trials[0].Outcome.Directions[0].Direction = "Up" }, v1alpha1.ReasonStoredWithoutTrials, "trial 0", false},
		"other values": {func(s *scope) { s.run.Status.Results[0].Throughput[0].FramesPerSecond++ }, v1alpha1.ReasonStored, "other values", true},
	} {
		s := measured(t)
		test.change(s)
		d := decide(s)
		doc, err := document.Read(bytes.NewReader(d.text))
		if err != nil || d.reason != test.reason || !strings.Contains(d.note, test.note) || (len(doc.Trials) > 0) != test.trials || len(doc.Results) == 0 {
			t.Errorf("%s: %s, %q, %d trials, %v", name, d.reason, d.note, len(doc.Trials), err)
		}
	}
	s := measured(t)
	for range 2000 {
		s.run.Status.Warnings = append(s.run.Status.Warnings, v1alpha1.Warning{Code: "X", Message: strings.Repeat("x", 10_000)})
	}
	if d := decide(s); d.refused == nil || d.refused.Reason != v1alpha1.ReasonDocumentTooLarge || d.text != nil {
		t.Errorf("a document that is too large: %+v", d.refused)
	}
}

// TestStateOf checks what the condition says after each failure, and that the archive's own document stays.
func TestStateOf(t *testing.T) {
	d := decision{key: "runs/lab/x.u.json.zst", text: []byte("123"), reason: v1alpha1.ReasonStored, note: "a note"}
	for _, test := range []struct {
		err          error
		reason, text string
	}{
		{nil, v1alpha1.ReasonStored, "runs/lab/x.u.json.zst, 3 bytes; a note"},
		{fmt.Errorf("storing: %w", archive.ErrKept), v1alpha1.ReasonStored, "as it was stored before"},
		{fmt.Errorf("storing: %w: x", archive.ErrUnavailable), v1alpha1.ReasonArchiveUnavailable, "every 5m0s"},
		{fmt.Errorf("storing: %w: x", archive.ErrNoBucket), v1alpha1.ReasonBucketNotFound, "make the bucket"},
		{fmt.Errorf("storing: %w: x", archive.ErrDenied), v1alpha1.ReasonAccessDenied, "credentials"},
		{fmt.Errorf("storing: %w: x", archive.ErrFull), v1alpha1.ReasonArchiveFull, "room"},
		{errors.New("anything else"), v1alpha1.ReasonArchiveUnavailable, "anything else"},
	} {
		is := stateOf(d, test.err)
		if is.Reason != test.reason || !strings.Contains(is.Message, test.text) || (is.status == metav1.ConditionTrue) != (test.reason == v1alpha1.ReasonStored) {
			t.Errorf("%v: %s %s: %s", test.err, is.status, is.Reason, is.Message)
		}
	}
}

// TestExecutionWaits checks what an execution waits for, and that its condition says so after a while alone.
func TestExecutionWaits(t *testing.T) {
	end := time.Unix(1000, 0)
	ended := func() *executionScope {
		e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "nightly-1", UID: "u"}}
		e.Status.CompletionTime = ptr.To(metav1.NewTime(end))
		meta.SetStatusCondition(&e.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: "Succeeded"})
		return &executionScope{now: end.Add(time.Second), execution: e}
	}
	if d := decideExecution(ended()); d.text == nil || d.refused != nil || d.key != "suites/lab/nightly-1.u.json.zst" {
		t.Errorf("%+v", d)
	}
	for name, test := range map[string]struct {
		change func(*executionScope)
		want   string
	}{
		"runs": {func(s *executionScope) { s.unarchived = []string{"nightly-1-a-1"} }, "nightly-1-a-1"},
		"suite": {func(s *executionScope) {
			s.suite = &v1alpha1.BenchmarkSuite{}
			s.suite.Spec.Regression = &v1alpha1.SuiteRegression{}
			s.suite.Status.LastExecution = &v1alpha1.SuiteExecution{Name: "nightly-1"}
		}, "judged"},
	} {
		s := ended()
		test.change(s)
		if d := decideExecution(s); d.text != nil || d.refused != nil || d.wait != settleInterval {
			t.Errorf("%s, at once: %+v", name, d)
		}
		s.now = end.Add(time.Hour)
		if d := decideExecution(s); d.text != nil || d.refused == nil || d.refused.status != metav1.ConditionUnknown || !strings.Contains(d.refused.Message, test.want) || d.wait != lastRetry {
			t.Errorf("%s, later: %+v", name, d)
		}
	}
}

// TestCached checks that what the cache keeps decides the same, and is small.
func TestCached(t *testing.T) {
	s := measured(t)
	meta.SetStatusCondition(&s.run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: "Released", Message: "x"})
	s.run.Labels = map[string]string{v1alpha1.LabelSuiteRun: "nightly-1", "other": "x"}
	kept, err := Cached(s.run.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	run := kept.(*v1alpha1.BenchmarkRun)
	if !awaits(run) || !awaits(s.run) || len(run.Labels) != 1 || run.UID != s.run.UID || len(run.Spec.Experiment.Chain) != 0 || run.Status.Results != nil {
		t.Errorf("%+v", run)
	}
	for _, kind := range []string{v1alpha1.ConditionAdmitted, v1alpha1.ConditionArchived} {
		other := s.run.DeepCopy()
		meta.SetStatusCondition(&other.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "X"})
		if kept, err := Cached(other); err != nil || awaits(kept.(*v1alpha1.BenchmarkRun)) {
			t.Errorf("with %s True it is archived: %v", kind, err)
		}
	}
}
