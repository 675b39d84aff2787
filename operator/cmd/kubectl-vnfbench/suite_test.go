package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

func clusterOf(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &cluster{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), namespace: "lab"}
}

func suiteOf(name, last string) *v1alpha1.BenchmarkSuite {
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAxesConflict, Message: "axis b replaces axis a"}}
	if last != "" {
		s.Status.LastExecution = &v1alpha1.SuiteExecution{Name: last, Trigger: v1alpha1.TriggerChange, TemplateDigest: "d"}
	}
	return s
}

func executionOf(name string, outcome metav1.ConditionStatus, active string) *v1alpha1.BenchmarkSuiteRun {
	e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}
	e.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: outcome, Reason: "Because", Message: "of this"}}
	e.Status.ActiveRun = active
	e.Status.Cells = []v1alpha1.SuiteCell{{Name: "base", State: v1alpha1.MeasurementRunning, Measurements: []v1alpha1.SuiteMeasurement{{State: v1alpha1.MeasurementRunning}}}}
	return e
}

// TestSuiteIsFound checks which execution a name means, and what is said if there is none.
func TestSuiteIsFound(t *testing.T) {
	c := clusterOf(t, suiteOf("nightly", "nightly-2"), executionOf("nightly-2", "True", ""), executionOf("hand", "True", ""), suiteOf("invalid", ""), suiteOf("pruned", "pruned-1"))
	for name, want := range map[string]string{"nightly": "nightly-2", "nightly-2": "nightly-2", "hand": "hand"} {
		if e, err := c.execution(t.Context(), name); err != nil || e.Name != want {
			t.Errorf("%s: %v, %v, want %s", name, e, err, want)
		}
	}
	for name, want := range map[string]string{
		"invalid": `BenchmarkSuite "invalid" has no execution yet: AxesConflict: axis b replaces axis a`,
		"pruned":  `BenchmarkSuiteRun "pruned-1", the latest execution of BenchmarkSuite "pruned", was deleted`,
		"none":    `namespace "lab" has no BenchmarkSuite and no BenchmarkSuiteRun "none"`,
	} {
		if _, err := c.execution(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestSuiteIsWritten(t *testing.T) {
	run := newRun(progress("throughput, 64 bytes", 3, 40, 60))
	c := clusterOf(t, run, executionOf("hand", "Unknown", run.Name))
	e, err := c.execution(t.Context(), "hand")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (showing{}).write(t.Context(), c, e, report.FormatTable, genericiooptions.IOStreams{Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Suite run lab/hand", "router-pod: throughput, 64 bytes, 40 %", "base"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestSuiteIsWatched checks that the table is written for each change alone, and how the command ends.
func TestSuiteIsWatched(t *testing.T) {
	for outcome, code := range map[metav1.ConditionStatus]int{"True": exitSucceeded, "False": exitFailed} {
		c := clusterOf(t, executionOf("hand", "Unknown", ""))
		pauses := 0
		var out bytes.Buffer
		err := watchSuite(t.Context(), c, "hand", &out, func(ctx context.Context, _ time.Duration) error {
			if pauses++; pauses < 3 {
				return nil
			}
			e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "hand"}}
			if err := c.client.Get(ctx, client.ObjectKeyFromObject(e), e); err != nil {
				return err
			}
			e.Status.Conditions[0].Status = outcome
			return c.client.Update(ctx, e)
		})
		if got := printError(err, genericiooptions.IOStreams{ErrOut: &bytes.Buffer{}}); got != code {
			t.Errorf("outcome %s: exit code %d (%v), want %d", outcome, got, err, code)
		}
		if tables := strings.Count(out.String(), "Suite run lab/hand"); tables != 2 || pauses != 3 {
			t.Errorf("outcome %s: %d tables after %d looks, want 2 after 3", outcome, tables, pauses)
		}
	}
	if err := watchSuite(t.Context(), clusterOf(t), "gone", &bytes.Buffer{}, nil); err == nil || !strings.Contains(err.Error(), `no BenchmarkSuiteRun "gone"`) {
		t.Errorf("an execution that never was: %v", err)
	}
	c := clusterOf(t, executionOf("gone", "Unknown", ""))
	if err := watchSuite(t.Context(), c, "gone", &bytes.Buffer{}, func(ctx context.Context, _ time.Duration) error {
		return c.client.Delete(ctx, executionOf("gone", "Unknown", ""))
	}); err == nil || !strings.Contains(err.Error(), "was deleted before it ended") {
		t.Errorf("an execution that is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := watchSuite(ctx, clusterOf(t, executionOf("hand", "Unknown", "")), "hand", &bytes.Buffer{}, func(context.Context, time.Duration) error { return context.Canceled })
	if e := (*exit)(nil); !errors.As(err, &e) || e.code != exitError || !strings.Contains(err.Error(), "continues") {
		t.Errorf("an interruption: %v", err)
	}
}

// watched is a suite whose latest execution has ended, and that judges its series.
func watched(outcome metav1.ConditionStatus) (*v1alpha1.BenchmarkSuite, *v1alpha1.BenchmarkSuiteRun) {
	s := suiteOf("nightly", "nightly-2")
	s.Generation, s.Status.ObservedGeneration = 3, 3
	s.Spec.Regression = &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond}}}
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue})
	e := executionOf("nightly-2", outcome, "")
	e.OwnerReferences = []metav1.OwnerReference{{Kind: "BenchmarkSuite", Name: "nightly", Controller: ptr.To(true)}}
	return s, e
}

// TestSuiteIsWatchedUntilItIsJudged follows the series from the end of the execution over a confirmation to the verdict.
func TestSuiteIsWatchedUntilItIsJudged(t *testing.T) {
	s, e := watched("True")
	confirmation := executionOf("nightly-2-confirm-1", "Unknown", "nightly-2-confirm-1-old-1")
	confirmation.UID = "confirmation"
	confirmation.Status.Counts, confirmation.Status.RemainingSeconds = v1alpha1.MeasurementCounts{Total: 4, Succeeded: 1}, 180
	run := newRun(progress("throughput, 64 bytes", 3, 40, 60))
	run.Name = "nightly-2-confirm-1-old-1"
	c := clusterOf(t, s, e, confirmation, run)
	asked := &v1alpha1.AskedConfirmation{Name: confirmation.Name, Run: "nightly-2-base-1", OldRun: "nightly-1-base-1", FirstPair: 1, Pairs: 2}
	made := asked.DeepCopy()
	made.UID = "confirmation"
	fell := []v1alpha1.SeriesVerdict{{Verdict: "Regression", Reason: "Confirmed", Cell: "base", Gated: true, Message: "it fell by 5 %"}}
	steps := []struct {
		regression *v1alpha1.RegressionStatus
		want       []string
	}{
		{nil, []string{"the operator has not judged them yet"}},
		{&v1alpha1.RegressionStatus{Execution: "nightly-1", Message: "of another execution"}, nil},
		{&v1alpha1.RegressionStatus{Execution: "nightly-2", Message: "1 is inconclusive", Confirmation: asked}, []string{"1 is inconclusive", "it is not made yet"}},
		{&v1alpha1.RegressionStatus{Execution: "nightly-2", Message: "1 is inconclusive", Confirmation: made}, []string{"1 of 4 runs have ended, about", "nightly-2-confirm-1-old-1: throughput, 64 bytes, 40 %"}},
		{&v1alpha1.RegressionStatus{Execution: "nightly-2", Message: "1 became worse", Verdicts: fell, Cells: []v1alpha1.CellVerdict{{Name: "base", Verdict: "Regression", Gated: true}}}, []string{"it fell by 5 %", "Regression, gated"}},
	}
	var out bytes.Buffer
	step := 0
	err := watchSuite(t.Context(), c, "nightly-2", &out, func(ctx context.Context, _ time.Duration) error {
		for _, want := range steps[step].want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("step %d: %q is not in\n%s", step, want, out.String())
			}
		}
		if strings.Contains(out.String(), "of another execution") {
			t.Errorf("step %d:\n%s", step, out.String())
		}
		out.Reset()
		step++
		var stored v1alpha1.BenchmarkSuite
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(s), &stored); err != nil {
			return err
		}
		stored.Status.Regression = steps[step].regression
		return c.client.Update(ctx, &stored)
	})
	if e := (*exit)(nil); !errors.As(err, &e) || e.code != exitFailed || step != len(steps)-1 {
		t.Errorf("after step %d: %v, want %d steps and a failure", step, err, len(steps)-1)
	}
	for _, want := range steps[step].want {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestSuiteIsSettled checks when a watch ends that has seen the end of the execution, and with which code.
func TestSuiteIsSettled(t *testing.T) {
	quiet := &v1alpha1.RegressionStatus{Execution: "nightly-2"}
	for name, test := range map[string]struct {
		outcome metav1.ConditionStatus
		change  func(*v1alpha1.BenchmarkSuite)
		code    int
	}{
		"no regression":                     {"True", func(s *v1alpha1.BenchmarkSuite) { s.Status.Regression = quiet }, exitSucceeded},
		"the execution failed":              {"False", func(s *v1alpha1.BenchmarkSuite) { s.Status.Regression = quiet }, exitFailed},
		"nothing is judged":                 {"True", func(s *v1alpha1.BenchmarkSuite) { s.Spec.Regression = nil }, exitSucceeded},
		"another execution is the latest":   {"True", func(s *v1alpha1.BenchmarkSuite) { s.Status.LastExecution.Name = "nightly-3" }, exitSucceeded},
		"the suite can no longer be judged": {"True", func(s *v1alpha1.BenchmarkSuite) { s.Status.Conditions[1].Status = "False" }, exitFailed},
		"a regression without a gate": {"True", func(s *v1alpha1.BenchmarkSuite) {
			s.Status.Regression = &v1alpha1.RegressionStatus{Execution: "nightly-2", Verdicts: []v1alpha1.SeriesVerdict{{Verdict: "Regression"}}}
		}, exitSucceeded},
		"a gate that cannot be judged": {"True", func(s *v1alpha1.BenchmarkSuite) {
			s.Status.Regression = &v1alpha1.RegressionStatus{Execution: "nightly-2", Problem: "too many points"}
		}, exitFailed},
		"another spec, not judged yet": {"True", func(s *v1alpha1.BenchmarkSuite) { s.Status.Regression, s.Generation = quiet, 4 }, exitError},
		"another suite of the name":    {"True", func(s *v1alpha1.BenchmarkSuite) { s.UID = "another" }, exitSucceeded},
	} {
		s, e := watched(test.outcome)
		test.change(s)
		err := watchSuite(t.Context(), clusterOf(t, s, e), "nightly-2", &bytes.Buffer{}, func(context.Context, time.Duration) error { return context.Canceled })
		if got := printError(err, genericiooptions.IOStreams{ErrOut: &bytes.Buffer{}}); got != test.code {
			t.Errorf("%s: %d, %v, want %d", name, got, err, test.code)
		}
	}
}

func TestSuiteFlags(t *testing.T) {
	for _, bad := range []showing{{format: "junit"}, {format: "csv", watch: true}, {format: "table", outputFile: "x", watch: true}} {
		if _, err := bad.check(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if format, err := (showing{format: "csv", outputFile: "x"}).check(); err != nil || format != report.FormatCSV {
		t.Errorf("%s, %v", format, err)
	}
}

// TestReportOfASuite checks what a name with a type means, and that the report has the verdicts of the execution's own runs.
func TestReportOfASuite(t *testing.T) {
	e := executionOf("nightly-2", "False", "")
	e.UID = "execution"
	e.Status.Cells[0].Measurements[0] = v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementFailed, Reason: "NotAccepted", Attempts: 1}
	run := func(name, owner string) *v1alpha1.BenchmarkRun {
		r := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, Labels: map[string]string{v1alpha1.LabelSuiteRun: e.Name}}}
		r.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner), Controller: ptr.To(true)}}
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: "False", Reason: "NotAccepted", Message: "it is too slow"}}
		return r
	}
	c := clusterOf(t, suiteOf("nightly", "nightly-2"), e, run("nightly-2-base-1", "execution"), run("forged", "other"))
	for argument, want := range map[string]string{"suite/nightly": kindSuite, "bmsr/nightly-2": kindSuiteRun, "SuiteRun/nightly-2": kindSuiteRun} {
		kind, name, err := kindOf(argument)
		if err != nil || kind != want {
			t.Fatalf("%s is a %s, %v", argument, kind, err)
		}
		var out, notes bytes.Buffer
		if err := (reporting{}).writeSuite(t.Context(), c, kind, name, report.FormatTable, genericiooptions.IOStreams{Out: &out, ErrOut: &notes}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "nightly-2-base-1  NotAccepted  it is too slow") || notes.Len() > 0 {
			t.Errorf("%s:\n%s%s", argument, out.String(), notes.String())
		}
	}
	if runs, err := records.Outcomes(t.Context(), c.client, e); err != nil || len(runs) != 1 {
		t.Errorf("the runs are %v, %v", runs, err)
	}
	for _, bad := range []string{"pod/nightly", "suite/", "/nightly"} {
		if _, _, err := kindOf(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if kind, name, err := kindOf("router-pod"); kind != kindRun || name != "router-pod" || err != nil {
		t.Errorf("a name alone is a %s %q, %v", kind, name, err)
	}
	var out bytes.Buffer
	if err := (reporting{}).writeSuite(t.Context(), c, kindSuite, "nightly", page.Format, genericiooptions.IOStreams{Out: &out, ErrOut: &bytes.Buffer{}}, time.Time{}); err != nil || !strings.Contains(out.String(), "<h1>lab/nightly-2</h1>") {
		t.Errorf("the page is %.300s, %v", out.String(), err)
	}
	if err := (reporting{trials: true}).writeSuite(t.Context(), c, kindSuite, "nightly", report.FormatJSON, genericiooptions.IOStreams{}, time.Time{}); err == nil {
		t.Error("--trials is accepted")
	}
}

// TestSuiteShowsVerdicts checks that the verdicts after an execution are shown with it, and those after another one are not.
func TestSuiteShowsVerdicts(t *testing.T) {
	s := suiteOf("nightly", "nightly-2")
	s.Status.Regression = &v1alpha1.RegressionStatus{Execution: "nightly-2", Message: "1 became worse"}
	executions := map[string]*v1alpha1.BenchmarkSuiteRun{}
	for _, name := range []string{"nightly-1", "nightly-2"} {
		executions[name] = executionOf(name, "True", "")
		executions[name].OwnerReferences = []metav1.OwnerReference{{Kind: "BenchmarkSuite", Name: "nightly", Controller: ptr.To(true)}}
	}
	c := clusterOf(t, s)
	for name, want := range map[string]bool{"nightly-1": false, "nightly-2": true} {
		text, err := c.render(t.Context(), s, executions[name], report.FormatTable)
		if err != nil || strings.Contains(string(text), "1 became worse") != want {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
