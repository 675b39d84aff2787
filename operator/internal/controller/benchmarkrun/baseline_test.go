package benchmarkrun

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// withBaseline names an earlier run with a rate as its NDR; 0: NDR was not measured.
func withBaseline(framesPerSecond int64) with {
	return func(s *scope) {
		s.run.Spec.Experiment.Baseline = &v1alpha1.Baseline{RunRef: v1alpha1.LocalReference{Name: "then"}, Metrics: []v1alpha1.Metric{v1alpha1.MetricThroughputFramesPerSecond}}
		s.baseline = s.run.DeepCopy()
		s.baseline.Name, s.baseline.UID, s.baseline.Spec.Experiment.Baseline = "then", "then-uid", nil
		s.baseline.Status = v1alpha1.BenchmarkRunStatus{Plan: &v1alpha1.PlanSummary{Digest: "sha256:then"}}
		if framesPerSecond > 0 {
			s.baseline.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionMeasured, Status: metav1.ConditionTrue}}
			s.baseline.Status.Results = ndr(framesPerSecond)
		}
	}
}

func ndr(framesPerSecond int64) []v1alpha1.FrameResult {
	return []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, Throughput: []v1alpha1.ThroughputResult{{
		Goal: "NDR", FramesPerSecond: framesPerSecond, Regularity: v1alpha1.Regular, UpperBoundCause: v1alpha1.CauseDeviceLoss,
	}}}}
}

func TestBaselineIsCheckedBeforeAnythingIsMade(t *testing.T) {
	for name, test := range map[string]struct {
		scope  *scope
		action action
		want   string
	}{
		"usable":       {newScope(admitted, withBaseline(1000)), actPlan, ""},
		"no such run":  {newScope(admitted, withBaseline(1000), func(s *scope) { s.baseline = nil }), actFinish, "no such BenchmarkRun"},
		"not measured": {newScope(admitted, withBaseline(0)), actFinish, "was not measured to its end"},
		"a floor": {newScope(admitted, withBaseline(1000), func(s *scope) {
			s.baseline.Status.Results[0].Throughput[0].UpperBoundCause = v1alpha1.CauseGeneratorCeiling
		}), actFinish, "in the baseline the generator may be the limit"},
		"something else": {newScope(admitted, withBaseline(1000), func(s *scope) { s.baseline.Spec.Experiment.Traffic.FrameBytes = []int32{128} }), actFinish, "spec.experiment.traffic differs"},
		"not yet held":   {newScope(withBaseline(0)), actWait, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(test.scope)
			if d.action != test.action {
				t.Fatalf("got %s %+v, want %s", d.action, d.outcome, test.action)
			}
			if test.action != actFinish {
				return
			}
			if d.outcome.reason != v1alpha1.ReasonBaselineUnusable || !strings.Contains(d.outcome.message, test.want) {
				t.Errorf("got %+v, want %q", d.outcome, test.want)
			}
			after := summarize(test.scope, d)
			if after.Baseline != nil || !meta.IsStatusConditionFalse(after.Conditions, v1alpha1.ConditionSucceeded) {
				t.Errorf("status %+v", after)
			}
		})
	}
}

// TestBaselineIsKept checks that the figures are kept from the time when the run got its testbed: the earlier run may be
// deleted, and measured again under its name.
func TestBaselineIsKept(t *testing.T) {
	s := newScope(held, withBaseline(1000))
	kept := summarize(s, decide(s)).Baseline
	if kept == nil || kept.RunRef.Name != "then" || kept.UID != "then-uid" || kept.PlanDigest != "sha256:then" || len(kept.Figures) != 1 || kept.Figures[0].Baseline != 1000 {
		t.Fatalf("kept %+v", kept)
	}
	for name, test := range map[string]struct {
		rate   int64
		reason string
	}{"within": {951, v1alpha1.ReasonSucceeded}, "worse": {949, v1alpha1.ReasonNotAccepted}} {
		t.Run(name, func(t *testing.T) {
			s := newScope(launched, withRecords(done), functions(ready, ready), withBaseline(1000), func(s *scope) {
				s.baseline, s.run.Status.Baseline, s.figures.Frames = nil, kept, ndr(test.rate)
			})
			d := decide(s)
			if d.action != actFinish || d.outcome.reason != test.reason {
				t.Fatalf("got %s %+v", d.action, d.outcome)
			}
			after := summarize(s, d)
			accepted := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionAccepted)
			if (accepted.Status == metav1.ConditionTrue) != (test.reason == v1alpha1.ReasonSucceeded) {
				t.Errorf("accepted %+v", accepted)
			}
			if len(after.Acceptance) != 1 || after.Acceptance[0].Criterion != v1alpha1.BaselineCriterion {
				t.Errorf("verdicts %+v", after.Acceptance)
			}
			if got := after.Baseline.Figures[0]; got.Measured == nil || *got.Measured != test.rate || got.Baseline != 1000 || *got.DifferencePartsPerMillion != (test.rate-1000)*1000 {
				t.Errorf("figure %+v", got)
			}
		})
	}
}

// TestBaselineLoads checks that the plan gets the rates of judged delays from the earlier run, and keeps them when that is
// gone.
func TestBaselineLoads(t *testing.T) {
	judged := func(s *scope) {
		s.run.Spec.Experiment.Baseline.Metrics = []v1alpha1.Metric{v1alpha1.MetricLatencyP99}
		s.run.Spec.Experiment.Measurements.Latency = &v1alpha1.Latency{Preset: v1alpha1.PresetStandard}
	}
	s := newScope(held, withBaseline(1000), judged, func(s *scope) {
		s.baseline.Spec.Experiment.Measurements = s.run.Spec.Experiment.Measurements
		s.baseline.Status.Results[0].Latency = []v1alpha1.LatencyResult{{Load: "pdr50", IntendedFramesPerSecond: 500, Directions: []v1alpha1.LatencyDirectionResult{
			{DirectionResult: v1alpha1.DirectionResult{Direction: "Forward", SentFrames: 1000, ReceivedFrames: 1000, Latency: v1alpha1.Delays{Samples: 1000, P99Nanoseconds: 900}}},
		}}}
	})
	want := []measure.BaselineLoad{{Size: "64", Load: "pdr50", FramesPerSecond: 500}}
	if got := s.baselineLoads(); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	kept := summarize(s, decide(s)).Baseline
	again := newScope(held, withBaseline(1000), judged, func(s *scope) { s.baseline, s.run.Status.Baseline = nil, kept })
	if got := again.baselineLoads(); !slices.Equal(got, want) {
		t.Errorf("from the status: %+v", got)
	}
	if got := newScope(held).baselineLoads(); got != nil {
		t.Errorf("without a baseline: %+v", got)
	}
}

func TestBaselineWarnings(t *testing.T) {
	s := newScope(launched, withRecords(done), functions(ready, ready), withBaseline(1000))
	s.baseline.Status.Results[0].Throughput[0].Statistics = []v1alpha1.Statistics{{
		Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 2, Values: []int64{900, 1100},
	}}
	s.run.Status.Baseline = nil
	s.figures.Frames = ndr(1000)
	kept := newScope(held, withBaseline(1000), func(h *scope) { h.baseline = s.baseline })
	s.run.Status.Baseline = summarize(kept, decide(kept)).Baseline
	warnings := summarize(s, decide(s)).Warnings
	if len(warnings) != 1 || warnings[0].Code != v1alpha1.WarningToleranceBelowSpread || warnings[0].Size != "64" {
		t.Errorf("warnings are %+v", warnings)
	}
}

// TestBaselineOfAnotherGenerator checks that the earlier run's image is kept, and that another one of this run is a warning
// where generator and device share a core.
func TestBaselineOfAnotherGenerator(t *testing.T) {
	for name, test := range map[string]struct {
		hop  measure.Hop
		now  string
		want bool
	}{
		"the same":                  {measure.HopInline, "measurer@sha256:a", false},
		"another":                   {measure.HopInline, "measurer@sha256:b", true},
		"another, on separate core": {measure.HopTap, "measurer@sha256:b", false},
	} {
		t.Run(name, func(t *testing.T) {
			kept := newScope(held, withBaseline(1000))
			kept.baseline.Status.Generator = &v1alpha1.GeneratorReport{ImageID: "measurer@sha256:a"}
			report := summarize(kept, decide(kept)).Baseline
			if report.GeneratorImageID != "measurer@sha256:a" {
				t.Fatalf("%+v", report)
			}
			s := newScope(launched, withRecords(done), functions(ready, ready), withBaseline(1000))
			s.run.Status.Baseline, s.run.Status.Generator = report, &v1alpha1.GeneratorReport{ImageID: test.now}
			s.plan.Instructions.Chain.Hop, s.figures.Frames, s.measurers = test.hop, ndr(1000), nil
			warned := slices.ContainsFunc(summarize(s, decide(s)).Warnings, func(w v1alpha1.Warning) bool { return w.Code == v1alpha1.WarningBaselineGeneratorDiffers })
			if warned != test.want {
				t.Errorf("warned: %t", warned)
			}
		})
	}
}

// TestBaselineOfAnotherPlatform checks that what the earlier run was measured on is kept, and that what differs is a warning; the chain's own
// image is what is compared, and is not.
func TestBaselineOfAnotherPlatform(t *testing.T) {
	on := func(kernel string) *v1alpha1.DeviceReport {
		return &v1alpha1.DeviceReport{Fingerprint: &v1alpha1.Fingerprint{Digest: "sha256:" + kernel, Kernel: kernel}}
	}
	kept := newScope(held, withBaseline(1000))
	kept.baseline.Status.Device, kept.baselineOperator = on("6.1.0"), "1.0"
	kept.baseline.Status.Plan.DeviceNode = "then"
	report := summarize(kept, decide(kept)).Baseline
	for kernel, want := range map[string]string{"6.1.0": "", "6.12.0": "kernel 6.1.0 -> 6.12.0, device sha256:6.1.0 -> sha256:6.12.0"} {
		s := newScope(launched, withRecords(done), functions(ready, ready), withBaseline(1000))
		s.run.Status.Baseline, s.run.Status.Device, s.figures.Frames = report, on(kernel), ndr(1000)
		s.plan.DeviceNode, s.plan.OperatorVersion, s.records.device = "then", "1.0", nil
		s.plan.Functions[0].Image = "another"
		got := ""
		for _, w := range summarize(s, decide(s)).Warnings {
			if w.Code == v1alpha1.WarningBaselinePlatformDiffers {
				_, got, _ = strings.Cut(strings.TrimSuffix(w.Message, "."), "Before and now: ")
			}
		}
		if got != want {
			t.Errorf("kernel %s: warned of %q, want %q", kernel, got, want)
		}
	}
}

// TestBaselineOfAnotherTestbed checks that a run is refused whose baseline was planned with other settings of the testbed,
// and that only a plan that the operator made is looked at.
func TestBaselineOfAnotherTestbed(t *testing.T) {
	const link = "spec.ports.linkBitsPerSecond"
	for name, test := range map[string]struct {
		bitsPerSecond int64
		change        func(stored *corev1.ConfigMap)
		want          bool
	}{
		"the same settings":   {10e9, nil, false},
		"a faster link":       {25e9, nil, true},
		"a plan of another's": {25e9, func(stored *corev1.ConfigMap) { stored.Data["more"] = "x" }, false},
		"no plan":             {25e9, func(stored *corev1.ConfigMap) { stored.Name = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			given := newScope(admitted, withBaseline(1000))
			given.testbed.Spec = plantest.Testbed().Spec
			made := plan.Plan{Version: plan.Version, TestbedSpec: *given.testbed.Spec.DeepCopy()}
			given.testbed.Spec.Ports.LinkBitsPerSecond = test.bitsPerSecond
			stored := planMapOf(t, given.baseline, made)
			given.baseline.Namespace, given.baseline.Status.Plan.StoredDigest = given.run.Namespace, plan.Sum(stored.Data)
			if test.change != nil {
				test.change(stored)
			}
			c := fakeCluster(t, given.testbed, given.run, given.baseline, stored)
			s := newScope(admitted)
			s.run, s.testbed = given.run, given.testbed
			if err := (&Reconciler{Client: c, Reader: c}).readBaseline(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			d := decide(s)
			refused := d.action == actFinish && d.outcome.reason == v1alpha1.ReasonBaselineUnusable && strings.Contains(d.outcome.message, link)
			if refused != test.want || (d.action == actPlan) == test.want {
				t.Errorf("got %s %+v", d.action, d.outcome)
			}
		})
	}
}

// planMapOf returns the ConfigMap with a run's plan.
func planMapOf(t *testing.T, run *v1alpha1.BenchmarkRun, made plan.Plan) *corev1.ConfigMap {
	t.Helper()
	data, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: plan.NamesOf(run).Plan},
		Data:       map[string]string{plan.KeyPlan: string(data)},
	}
}
