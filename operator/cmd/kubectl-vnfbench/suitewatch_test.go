package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
)

// said is what the operator's status of a suite says at one moment.
type said struct {
	observed            int64
	ready, succeeded    metav1.ConditionStatus
	reason, last, ranAt string
}

// apply puts it into the status of the stored suite, whose spec has generation 2.
func (s said) apply(suite *v1alpha1.BenchmarkSuite) {
	suite.Status = v1alpha1.BenchmarkSuiteStatus{ObservedGeneration: s.observed, LastRunNow: s.ranAt}
	if s.last != "" {
		suite.Status.LastExecution = &v1alpha1.SuiteExecution{Name: s.last}
	}
	set := func(kind string, is metav1.ConditionStatus, reason string) {
		if is != "" {
			meta.SetStatusCondition(&suite.Status.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: "it says why"})
		}
	}
	set(v1alpha1.ConditionReady, s.ready, v1alpha1.ReasonInvalidMatrix)
	set(v1alpha1.ConditionSucceeded, s.succeeded, s.reason)
}

// TestSuiteIsWatchedByItsName checks that a watch of a suite takes no older execution for the one that is due, and how it ends.
func TestSuiteIsWatchedByItsName(t *testing.T) {
	stale := said{observed: 1, ready: "True", succeeded: "True", reason: "Succeeded", last: "nightly-1"}
	done := said{observed: 2, ready: "True", succeeded: "True", reason: "Succeeded", last: "nightly-2"}
	active := said{observed: 2, ready: "True", succeeded: "Unknown", reason: "Progressing", last: "nightly-2"}
	with := func(s said, change func(*said)) said { change(&s); return s }
	for name, test := range map[string]struct {
		// steps are the statuses that one look after the other sees.
		steps      []said
		annotation string
		// fails says that nightly-2 fails.
		fails bool
		code  int
		// shown and hidden are in the output, or are not.
		shown, hidden string
		err           string
	}{
		"the change is executed": {[]said{stale, active, done}, "", false, exitSucceeded, "waiting for the operator to see generation 2", "nightly-1", ""},
		"the execution fails":    {[]said{stale, active, with(done, func(s *said) { s.succeeded = "False" })}, "", true, exitFailed, "Suite run lab/nightly-2", "nightly-1", ""},
		"the gate fails it":      {[]said{active, with(done, func(s *said) { s.succeeded, s.reason = "False", "RegressionFound" })}, "", false, exitFailed, "False, RegressionFound: it says why", "nightly-1", ""},
		"the change is invalid": {[]said{stale, with(stale, func(s *said) { s.observed, s.ready = 2, "False" })}, "", false, exitFailed,
			"", "Suite run", `BenchmarkSuite "nightly" cannot be executed: InvalidMatrix: it says why`},
		"the first apply": {[]said{{}, {observed: 2, ready: "True", succeeded: "Unknown", reason: "Suspended"}, active, done}, "", false, exitSucceeded, "Suspended: it says why", "nightly-1", ""},
		"an execution is due, and another one is active": {[]said{with(active, func(s *said) { s.last = "nightly-1" }), active, done}, "", false, exitSucceeded, "Suite run lab/nightly-2", "", ""},
		"it is annotated": {[]said{with(done, func(s *said) { s.last, s.ranAt = "nightly-1", "5" }), with(active, func(s *said) { s.ranAt = "6" }), with(done, func(s *said) { s.ranAt = "6" })}, "6",
			false, exitSucceeded, "run-now asks for", "nightly-1", ""},
		"nothing is due": {[]said{{observed: 2, ready: "True", succeeded: "Unknown", reason: "NotExecuted"}}, "", false, exitError, "", "", "has no execution yet: NotExecuted: it says why"},
		"it was deleted": {[]said{with(done, func(s *said) { s.last = "nightly-9" })}, "", false, exitError, "", "", `BenchmarkSuiteRun "nightly-9", the latest execution of BenchmarkSuite "nightly", was deleted`},
	} {
		suite := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "nightly", Generation: 2, Annotations: map[string]string{v1alpha1.AnnotationRunNow: test.annotation}}}
		test.steps[0].apply(suite)
		second := executionOf("nightly-2", "True", "")
		if test.fails {
			second = executionOf("nightly-2", "False", "")
		}
		c := clusterOf(t, suite, executionOf("nightly-1", "True", ""), second)
		step := 0
		var out, notes bytes.Buffer
		err := watchSuite(t.Context(), c, "nightly", &out, func(ctx context.Context, _ time.Duration) error {
			if step++; step >= len(test.steps) {
				return errors.New("the watch does not end")
			}
			var stored v1alpha1.BenchmarkSuite
			if err := c.client.Get(ctx, client.ObjectKeyFromObject(suite), &stored); err != nil {
				return err
			}
			test.steps[step].apply(&stored)
			return c.client.Update(ctx, &stored)
		})
		code := printError(err, genericiooptions.IOStreams{ErrOut: &notes})
		if code != test.code || step != len(test.steps)-1 || !strings.Contains(notes.String(), test.err) {
			t.Errorf("%s: exit code %d after step %d (%v), want %d after %d, %q", name, code, step, err, test.code, len(test.steps)-1, test.err)
		}
		if !strings.Contains(out.String(), test.shown) || test.hidden != "" && strings.Contains(out.String(), test.hidden) {
			t.Errorf("%s: want %q and not %q in\n%s", name, test.shown, test.hidden, out.String())
		}
	}
}

// TestSuiteThatCannotBeExecuted checks that a suite whose change is invalid is not shown by its earlier success alone.
func TestSuiteThatCannotBeExecuted(t *testing.T) {
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "nightly", Generation: 2}}
	said{observed: 2, ready: "False", succeeded: "False", reason: v1alpha1.ReasonInvalidMatrix, last: "nightly-1"}.apply(s)
	e := executionOf("nightly-1", "True", "")
	e.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind(kindSuite))}
	var out bytes.Buffer
	if err := (showing{}).write(t.Context(), clusterOf(t, s, e), e, report.FormatTable, genericiooptions.IOStreams{Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Ready      False, InvalidMatrix: it says why", "Suite      False, InvalidMatrix: it says why", "Execution  True"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
