package report

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

func baselineReport() *v1alpha1.BaselineReport {
	return &v1alpha1.BaselineReport{RunRef: v1alpha1.LocalReference{Name: "router-last-week"}, UID: "7c1f", PlanDigest: "sha256:1", Figures: []v1alpha1.BaselineFigure{
		{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, Baseline: 250000, Measured: new(int64(231480)), DifferencePartsPerMillion: new(int64(-74080)),
			Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtMaximumLoad}, PValuePartsPerMillion: new(int64(31_000))},
		{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLoss, Load: "idle"}, Baseline: 0, Measured: new(int64(3)), BaselineLoadFramesPerSecond: new(int64(1000)), MeasuredLoadFramesPerSecond: new(int64(1049))},
		{FigureKey: v1alpha1.FigureKey{Streams: 4, Metric: v1alpha1.MetricTCPGoodput}, Baseline: 9_000_000_000},
	}}
}

func TestBaseline(t *testing.T) {
	run, records := fixture(t)
	run.Status.Baseline = baselineReport()
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	for format, wanted := range map[Format][]string{
		FormatTable: {"AGAINST THE BASELINE ROUTER-LAST-WEEK", "p (Welch)", "0.031", "MaximumLoad", "-7.41", "4 TCP connections", "250000", "Baseline's load kfps", "1.000", "1.049"},
		FormatJSON:  {`"baseline": 250000`, `"name": "router-last-week"`},
		FormatCSV:   {"ThroughputFramesPerSecond,64,NDR,,,,,,,,,,,Baseline,64,250000,frames/s,"},
	} {
		var out bytes.Buffer
		if err := Write(&out, doc, format, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s does not say %q:\n%s", format, want, out.String())
			}
		}
	}
}

// TestBaselineInJUnit checks that a figure has the same case however the run ends.
func TestBaselineInJUnit(t *testing.T) {
	const name = `name="baseline, size 64, ThroughputFramesPerSecond NDR"`
	for state, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkRun)
		want   []string
	}{
		"not read yet":   {func(run *v1alpha1.BenchmarkRun) { run.Status.Baseline = nil }, []string{`name="baseline"`, "no verdict yet"}},
		"not judged yet": {func(*v1alpha1.BenchmarkRun) {}, []string{name, "no verdict yet"}},
		"worse": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Acceptance = append(run.Status.Acceptance, v1alpha1.Verdict{Criterion: v1alpha1.BaselineCriterion, FigureKey: baselineReport().Figures[0].FigureKey, Result: v1alpha1.VerdictFailed, Message: "it is 231480, at least 237500 required"})
		}, []string{name, `type="NotAccepted" message="it is 231480, at least 237500 required"`}},
		"cannot be compared": {func(run *v1alpha1.BenchmarkRun) {
			run.Status.Acceptance = append(run.Status.Acceptance, v1alpha1.Verdict{Criterion: v1alpha1.BaselineCriterion, FigureKey: baselineReport().Figures[0].FigureKey, Result: v1alpha1.VerdictInconclusive, Message: "the baseline is a floor"})
		}, []string{name, `<skipped message="Inconclusive: the baseline is a floor">`}},
	} {
		t.Run(state, func(t *testing.T) {
			run, records := fixture(t)
			run.Spec.Experiment.Baseline = &v1alpha1.Baseline{RunRef: v1alpha1.LocalReference{Name: "router-last-week"}, Metrics: []v1alpha1.Metric{v1alpha1.MetricThroughputFramesPerSecond}}
			run.Status.Baseline = baselineReport()
			test.change(run)
			doc, err := Build(run, Source{Trials: records}, now)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Write(&out, doc, FormatJUnit, Options{}); err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
		})
	}
}

// TestInconclusiveInJUnit checks that inconclusive criteria are skipped cases, and that the run counts as measured.
func TestInconclusiveInJUnit(t *testing.T) {
	run, records := fixture(t)
	conditions(run, metav1.ConditionFalse, v1alpha1.ReasonInconclusive, "1 of 7 acceptance checks are inconclusive: W", v1alpha1.ConditionSucceeded)
	conditions(run, metav1.ConditionUnknown, v1alpha1.ReasonInconclusive, "1 of 7 acceptance checks are inconclusive: W", v1alpha1.ConditionAccepted)
	for i := range run.Status.Acceptance {
		if v := &run.Status.Acceptance[i]; v.Result == v1alpha1.VerdictFailed {
			v.Result, v.Message = v1alpha1.VerdictInconclusive, "W"
		}
	}
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	var junit, table bytes.Buffer
	if err := Write(&junit, doc, FormatJUnit, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`tests="8" failures="0" skipped="1"`, `<skipped message="Inconclusive: W">`} {
		if !strings.Contains(junit.String(), want) {
			t.Errorf("no %q in\n%s", want, junit.String())
		}
	}
	if err := Write(&table, doc, FormatTable, Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "Result   INCONCLUSIVE: 1 of 7 acceptance checks are inconclusive: W"; !strings.Contains(table.String(), want) {
		t.Errorf("no %q in\n%s", want, table.String())
	}
}
