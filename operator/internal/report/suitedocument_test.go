package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// endedExecution returns an execution of four cells of two axes that has ended, with one failure, and its runs that exist.
func endedExecution() (*v1alpha1.BenchmarkSuiteRun, map[string]RunOutcome) {
	e := execution()
	e.Labels = map[string]string{v1alpha1.LabelSuite: "nightly"}
	e.Spec.Template.Matrix.Axes = []v1alpha1.Axis{{Name: "backend"}, {Name: "rules"}}
	e.Status.Conditions[0] = metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMeasurementsFailed, Message: "3 of 5 measurements succeeded"}
	e.Status.StartTime = ptr.To(metav1.NewTime(time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)))
	e.Status.CompletionTime = ptr.To(metav1.NewTime(e.Status.StartTime.Add(time.Hour)))
	second := e.Status.Cells[0]
	second.Name, second.Values, second.FramesPerSecond = "nftables-rules-100", map[string]v1alpha1.AxisLabel{"backend": "nftables", "rules": "100"}, ptr.To[int64](90_000)
	second.Measurements = second.Measurements[:1]
	e.Status.Cells[1].State = v1alpha1.MeasurementFailed
	e.Status.Cells[1].Measurements[1].State = v1alpha1.MeasurementSkipped
	control := e.Status.Cells[0]
	control.Name, control.FramesPerSecond, control.Measurements = "nftables-rules-0-control", ptr.To[int64](1), nil
	e.Status.Cells = append(e.Status.Cells, second, v1alpha1.SuiteCell{Name: "router", State: v1alpha1.MeasurementPending, Measurements: []v1alpha1.SuiteMeasurement{{State: v1alpha1.MeasurementPending}}}, control)
	verdict := func(result v1alpha1.VerdictResult) []v1alpha1.Verdict {
		return []v1alpha1.Verdict{{Criterion: "fast", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Size: "64", Goal: "NDR"}, Result: result, Message: "it says why"}}
	}
	return e, map[string]RunOutcome{
		"nightly-7-nftables-rules-0-1":           {Message: "all figures", Acceptance: verdict(v1alpha1.VerdictPassed), Machine: "Example CPU, 8 CPUs"},
		"nightly-7-nftables-rules-0-2-attempt-2": {Message: "all figures", Acceptance: verdict(v1alpha1.VerdictPassed), Machine: "Example CPU, 8 CPUs"},
		"nightly-7-iptables-rules-0-1":           {Message: "fast: 100 is less than 200", Acceptance: verdict(v1alpha1.VerdictFailed), Machine: "Another CPU, 2 CPUs"},
	}
}

func suiteReport(t *testing.T, format Format) string {
	t.Helper()
	e, runs := endedExecution()
	var out bytes.Buffer
	if err := WriteSuiteReport(&out, e, BuildSuite(e, runs, nil, "v1", e.Status.CompletionTime.Time), format, Options{ASCII: true}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestSuiteParts checks that a page has what a table has, from the document alone.
func TestSuiteParts(t *testing.T) {
	e, runs := endedExecution()
	doc := BuildSuite(e, runs, nil, "v1", e.Status.CompletionTime.Time)
	if diff := cmp.Diff(parts(suiteReportSections(e, doc, unicodeLetters)), doc.Parts()); diff != "" {
		t.Errorf("(-of the execution +of the document): %s", diff)
	}
}

// TestSuiteReport checks what the report has in addition to the table of the cells: the matrix, the verdicts and the failures.
func TestSuiteReport(t *testing.T) {
	const want = `MATRIX, KFPS BY RULES
backend         0     100
--------  -------  ------
nftables  171.634  90.000
iptables        -       -

VERDICTS
Cell              Criterion  Of       Passed  Failed  Inconclusive
----------------  ---------  -------  ------  ------  ------------
nftables-rules-0  fast       size 64       2       0             0
iptables-rules-0  fast       size 64       0       1             0

FAILURES
Run                           Reason       Message
----------------------------  -----------  --------------------------
nightly-7-iptables-rules-0-1  NotAccepted  fast: 100 is less than 200
`
	got := suiteReport(t, FormatTable)
	_, rest, found := strings.Cut(got, "MATRIX")
	if diff := cmp.Diff(want, "MATRIX"+rest); !found || diff != "" {
		t.Errorf("%s\n%s", diff, got)
	}
	if markdown := suiteReport(t, FormatMarkdown); !strings.Contains(markdown, "| nftables | 171.634 | 90.000 |") {
		t.Error(markdown)
	}
	one := execution()
	one.Spec.Template.Matrix.Axes = []v1alpha1.Axis{{Name: "rules"}}
	if s := matrixSection(one, asciiLetters); len(s.rows) > 0 {
		t.Errorf("one axis has a matrix: %v", s.rows)
	}
}

// TestSuiteAxes checks that the document says over which axes figures can be fitted, and that a matrix that is left out says so.
func TestSuiteAxes(t *testing.T) {
	e := execution()
	e.Spec.Template.Matrix.Axes = []v1alpha1.Axis{{Name: "backend"}, {Name: "rules", Kind: v1alpha1.AxisNumeric, Path: "chain[fw].firewall.rules"}}
	for i := range maxMatrixColumns + 1 {
		e.Status.Cells = append(e.Status.Cells, v1alpha1.SuiteCell{Name: fmt.Sprint(i), Values: map[string]v1alpha1.AxisLabel{"backend": "nftables", "rules": v1alpha1.AxisLabel(fmt.Sprint(i))}})
	}
	doc := BuildSuite(e, nil, nil, "", time.Time{})
	want := []SuiteAxis{{"backend", v1alpha1.AxisCategory, ""}, {"rules", v1alpha1.AxisNumeric, "chain[fw].firewall.rules"}}
	if diff := cmp.Diff(want, doc.Axes); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := WriteSuiteReport(&out, e, doc, FormatTable, Options{ASCII: true}); err != nil || !strings.Contains(out.String(), "MATRIX\nIt is left out: the last axis, rules, has 13 values, and a table has at most 12.") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestSuiteJUnit(t *testing.T) {
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="7" failures="3" skipped="1">
  <testsuite name="vnfbench bench/nightly-7" tests="7" failures="3" errors="0" skipped="1" time="3600" timestamp="2026-11-23T01:00:00">
    <properties>
      <property name="execution" value="nightly-7"></property>
      <property name="seed" value="7"></property>
      <property name="generatedAt" value="2026-11-23T02:00:00Z"></property>
      <property name="subject" value="fw 1.4.2, revision abc"></property>
    </properties>
    <testcase classname="vnfbench.bench.nightly" name="executed" time="0">
      <failure type="MeasurementsFailed" message="3 of 5 measurements succeeded"></failure>
    </testcase>
    <testcase classname="vnfbench.bench.nightly.nftables-rules-0" name="repeat 1" time="250"></testcase>
    <testcase classname="vnfbench.bench.nightly.nftables-rules-0" name="repeat 2" time="260"></testcase>
    <testcase classname="vnfbench.bench.nightly.iptables-rules-0" name="repeat 1" time="0">
      <failure type="NotAccepted" message="nightly-7-iptables-rules-0-1: fast: 100 is less than 200"></failure>
    </testcase>
    <testcase classname="vnfbench.bench.nightly.iptables-rules-0" name="repeat 2" time="0">
      <skipped message="the execution ended before: MeasurementsFailed"></skipped>
    </testcase>
    <testcase classname="vnfbench.bench.nightly.nftables-rules-100" name="repeat 1" time="250"></testcase>
    <testcase classname="vnfbench.bench.nightly.router" name="repeat 1" time="0">
      <failure type="Progressing" message="the measurement has not ended"></failure>
    </testcase>
  </testsuite>
</testsuites>
`
	if diff := cmp.Diff(want, suiteReport(t, FormatJUnit)); diff != "" {
		t.Error(diff)
	}
	active := execution()
	var out bytes.Buffer
	if err := WriteSuiteReport(&out, active, BuildSuite(active, nil, nil, "", time.Time{}), FormatJUnit, Options{}); err != nil || !strings.Contains(out.String(), "the execution has not ended") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestSuiteJSON(t *testing.T) {
	text := suiteReport(t, FormatJSON)
	var doc SuiteDocument
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	e, runs := endedExecution()
	if diff := cmp.Diff(BuildSuite(e, runs, nil, "v1", e.Status.CompletionTime.Time), doc); diff != "" {
		t.Error(diff)
	}
	failed := doc.Cells[1].Measurements[0]
	if doc.Kind != SuiteKind || doc.Completeness != Partial || doc.Execution.Suite != "nightly" || failed.Run != "nightly-7-iptables-rules-0-1" || failed.Message == "" || failed.State != v1alpha1.MeasurementFailed || len(failed.Acceptance) != 1 {
		t.Errorf("%s", text)
	}
}

// TestFiguresOfCriteria checks that a document has the figures that criteria name, whether or not their verdicts say that they are values.
func TestFiguresOfCriteria(t *testing.T) {
	load := func(name string, doubts ...v1alpha1.DoubtCode) v1alpha1.LatencyResult {
		direction := v1alpha1.LatencyDirectionResult{DirectionResult: v1alpha1.DirectionResult{
			Direction: "Forward", SentFrames: 1000, ReceivedFrames: 1000, Latency: v1alpha1.Delays{Samples: 1000, MinNanoseconds: 1, MeanNanoseconds: 700, MaxNanoseconds: 9000},
		}}
		return v1alpha1.LatencyResult{Load: name, IntendedFramesPerSecond: 1000, TrialMilliseconds: 1000, Directions: []v1alpha1.LatencyDirectionResult{direction}, Doubts: doubts}
	}
	verdict := func(criterion, load string) v1alpha1.Verdict {
		return v1alpha1.Verdict{Criterion: criterion, Result: v1alpha1.VerdictPassed, FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyMean, Size: "64", Load: load}}
	}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Results = []v1alpha1.FrameResult{{Size: "64", Latency: []v1alpha1.LatencyResult{load("calm"), load("held", v1alpha1.DoubtUnsteadyPacing)}}}
	if got := OutcomeOf(run).Figures; got != nil {
		t.Errorf("without criteria: %+v", got)
	}
	run.Status.Acceptance = []v1alpha1.Verdict{verdict("a", "calm"), verdict("b", "held"), verdict("c", "missing")}
	want := []CriterionFigure{{Criterion: "a", Value: 700}, {Criterion: "b", Value: 700, Note: v1alpha1.NoteDoubtful, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}}}
	if diff := cmp.Diff(want, OutcomeOf(run).Figures); diff != "" {
		t.Error(diff)
	}
}

// TestMachines checks that a document says what the runs were made on, each machine once.
func TestMachines(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	if got := OutcomeOf(run).Machine; got != "" {
		t.Errorf("of an unknown machine: %q", got)
	}
	run.Status.Device = &v1alpha1.DeviceReport{Fingerprint: &v1alpha1.Fingerprint{CPUModel: "Example CPU", CPUs: 2, Kernel: "6.12.0", Hypervisor: "Present"}}
	if got := OutcomeOf(run).Machine; got != "Example CPU, 2 CPUs, 6.12.0, a virtual machine" {
		t.Error(got)
	}
	if out := suiteReport(t, FormatTable); !strings.Contains(out, "Machine    Another CPU, 2 CPUs; Example CPU, 8 CPUs\n") {
		t.Error(out)
	}
}
