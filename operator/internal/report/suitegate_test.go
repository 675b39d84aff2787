package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// suiteOf returns the suite of which an execution is the latest one, with a gate.
func suiteOf(execution *v1alpha1.BenchmarkSuiteRun, judged *v1alpha1.RegressionStatus) *v1alpha1.BenchmarkSuite {
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", Generation: 3}}
	s.Spec.Regression = &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond}}}
	s.Status.ObservedGeneration = 3
	s.Status.LastExecution = &v1alpha1.SuiteExecution{Name: execution.Name}
	s.Status.Regression = judged
	return s
}

// regressed returns an execution that succeeded, and its suite, which its gate fails.
func regressed() (*v1alpha1.BenchmarkSuiteRun, *v1alpha1.BenchmarkSuite) {
	e := execution()
	e.Status.Conditions[0] = metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded, Message: "4 measurements of 2 cells succeeded"}
	e.Status.Cells = e.Status.Cells[:1]
	e.Status.Cells[0].Measurements = e.Status.Cells[0].Measurements[:1]
	series := func(cell, verdict, reason string, gated bool, message string) v1alpha1.SeriesVerdict {
		return v1alpha1.SeriesVerdict{Cell: cell, Testbed: "lab", Figure: "ThroughputFramesPerSecond 64 NDR", Verdict: verdict, Reason: reason, Gated: gated, Message: message}
	}
	s := suiteOf(e, &v1alpha1.RegressionStatus{Execution: e.Name, Message: "of 5 series, 2 became worse", Verdicts: []v1alpha1.SeriesVerdict{
		series("base", "Regression", "Confirmed", true, "it fell by 5.0 %"), series("free", "Regression", "Confirmed", false, "it fell by 3.0 %"),
		series("open", "Inconclusive", "Unconfirmed", false, "it may have fallen"), series("young", "NotEnoughData", "TooFewRuns", false, "it has 3 runs"), series("quiet", "Pass", "NoChange", false, ""),
	}})
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRegressionFound, Message: "execution nightly-7: base fell by 5.0 %"}}
	return e, s
}

// TestGateFailsTheReport checks that no form of a report shows an execution as succeeded whose suite the gate fails.
func TestGateFailsTheReport(t *testing.T) {
	e, s := regressed()
	doc := BuildSuite(e, nil, s, "v1", time.Time{})
	written := map[Format]string{}
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := WriteSuiteReport(&out, e, doc, format, Options{ASCII: true}); err != nil {
			t.Fatal(err)
		}
		written[format] = out.String()
	}
	const head = "Suite run bench/nightly-7\nSuite      False, RegressionFound: execution nightly-7: base fell by 5.0 %\nExecution  True, Succeeded: 4"
	if !strings.HasPrefix(written[FormatTable], head) {
		t.Errorf("the table is\n%s", written[FormatTable])
	}
	const cases = `<testcase classname="vnfbench.bench.nightly-7" name="executed" time="0"></testcase>
    <testcase classname="vnfbench.bench.nightly-7" name="gate" time="0">
      <failure type="RegressionFound" message="base: ThroughputFramesPerSecond 64 NDR fell by 5.0 %"></failure>
    </testcase>
    <testcase classname="vnfbench.bench.nightly-7.base" name="series ThroughputFramesPerSecond 64 NDR on lab" time="0">
      <failure type="Confirmed" message="Regression: it fell by 5.0 %"></failure>
    </testcase>
    <testcase classname="vnfbench.bench.nightly-7.free" name="series ThroughputFramesPerSecond 64 NDR on lab" time="0">
      <skipped message="Regression, and the gate does not fail for it: it fell by 3.0 %"></skipped>
    </testcase>
    <testcase classname="vnfbench.bench.nightly-7.open" name="series ThroughputFramesPerSecond 64 NDR on lab" time="0">
      <skipped message="Inconclusive, and the gate does not fail for it: it may have fallen"></skipped>
    </testcase>
    <testcase classname="vnfbench.bench.nightly-7.quiet" name="series ThroughputFramesPerSecond 64 NDR on lab" time="0"></testcase>
    <testcase classname="vnfbench.bench.nightly-7.young" name="series ThroughputFramesPerSecond 64 NDR on lab" time="0">
      <skipped message="NotEnoughData, and the gate does not fail for it: it has 3 runs"></skipped>
    </testcase>
`
	if junit := written[FormatJUnit]; !strings.Contains(junit, cases) || !strings.Contains(junit, `failures="2" errors="0" skipped="3"`) {
		t.Errorf("JUnit is\n%s", junit)
	}
	var read SuiteDocument
	if err := json.Unmarshal([]byte(written[FormatJSON]), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(doc, read); diff != "" || read.Suite.Reason != v1alpha1.ReasonRegressionFound || read.Gate.Status != metav1.ConditionFalse {
		t.Errorf("%s\n%s", diff, written[FormatJSON])
	}
}

// TestGateOutcome checks what a gate says in each state of its suite, and what its JUnit case is.
func TestGateOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkSuite, *v1alpha1.BenchmarkSuiteRun)
		// want is status and reason; "" for no gate.
		want string
		// fails and skips say what the JUnit case does.
		fails, skips bool
	}{
		"a regression":       {func(*v1alpha1.BenchmarkSuite, *v1alpha1.BenchmarkSuiteRun) {}, "False RegressionFound", true, false},
		"no gate":            {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) { s.Spec.Regression.Gate = nil }, "", false, false},
		"nothing is gated":   {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) { s.Status.Regression.Verdicts = nil }, "True Succeeded", false, false},
		"not judged yet":     {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) { s.Status.Regression = nil }, "Unknown Progressing", true, false},
		"another generation": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) { s.Generation = 4 }, "Unknown Progressing", true, false},
		"it is being confirmed": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Regression.Confirmation = &v1alpha1.AskedConfirmation{}
		}, "Unknown Confirming", true, false},
		"other settings wait for their turn": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Conditions[0].Status, s.Status.Conditions[0].Reason = metav1.ConditionUnknown, v1alpha1.ReasonProgressing
		}, "Unknown Progressing", true, false},
		"other settings wait for a right": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Conditions[0].Status, s.Status.Conditions[0].Reason = metav1.ConditionUnknown, v1alpha1.ReasonNotJudged
		}, "Unknown Progressing", true, false},
		"the verdicts are final, and it is suspended": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Conditions[0].Status, s.Status.Conditions[0].Reason = metav1.ConditionUnknown, v1alpha1.ReasonSuspended
		}, "False RegressionFound", true, false},
		"it cannot be judged": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Regression.Problem, s.Status.Conditions[0].Reason = "too many points", v1alpha1.ReasonNotJudged
		}, "False NotJudged", true, false},
		"an entry without cells": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Regression.Verdicts, s.Status.Regression.GateProblem = nil, "it selects no series"
		}, "False GateWithoutSeries", true, false},
		"an open question": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Regression.Verdicts[0].Verdict = "Inconclusive"
		}, "False NotConfirmed", true, false},
		"the execution is active": {func(_ *v1alpha1.BenchmarkSuite, e *v1alpha1.BenchmarkSuiteRun) { e.Status.Conditions = nil }, "Unknown Progressing", true, false},
		"a later execution": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.LastExecution.Name, s.Status.Regression.Execution = "nightly-8", "nightly-8"
		}, "Unknown NotJudged", false, true},
		"the suite is invalid": {func(s *v1alpha1.BenchmarkSuite, _ *v1alpha1.BenchmarkSuiteRun) {
			s.Status.Regression = nil
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidMatrix})
		}, "False InvalidMatrix", true, false},
	} {
		e, s := regressed()
		test.change(s, e)
		doc, got := BuildSuite(e, nil, s, "", time.Time{}), ""
		if doc.Gate != nil {
			got = string(doc.Gate.Status) + " " + doc.Gate.Reason
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		for _, c := range gateCases("class", doc) {
			if c.Name == "gate" && ((c.Failure != nil) != test.fails || (c.Skipped != nil) != test.skips) {
				t.Errorf("%s: the case is %+v", name, c)
			}
		}
	}
	e, _ := regressed()
	if GateOutcome(nil, e) != nil || BuildSuite(e, nil, nil, "", time.Time{}).Suite != nil {
		t.Error("an execution by hand has a gate or a suite")
	}
}

// TestSuiteThatIsNotReady checks that a suite that cannot be executed is shown as such next to its earlier success, and that an outcome of an earlier
// generation is not shown as that of the suite.
func TestSuiteThatIsNotReady(t *testing.T) {
	e, s := regressed()
	s.Status.Conditions[0].Status = metav1.ConditionTrue
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidMatrix, Message: "axis b has no values"})
	head := func() string {
		var out bytes.Buffer
		if err := WriteSuite(&out, e, StateOf(s, e), FormatTable, Options{ASCII: true}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := head(); !strings.Contains(got, "\nReady      False, InvalidMatrix: axis b has no values\n") {
		t.Errorf("%s", got)
	}
	s.Generation = 4
	if got := head(); !strings.Contains(got, "\nSuite      Unknown, Progressing: the operator has not seen generation 4 of the suite yet\n") || strings.Contains(got, "\nReady") {
		t.Errorf("%s", got)
	}
}
