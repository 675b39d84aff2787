package baseline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// TestLoads checks that a run measures at the baseline's rate each load that is a share of a throughput and has a judged
// figure that can be compared with.
func TestLoads(t *testing.T) {
	p99, mean, rate := v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyMean, v1alpha1.MetricThroughputFramesPerSecond
	half := []measure.BaselineLoad{{Size: "64", Load: "half", FramesPerSecond: 1000}}
	named := func(name string) change {
		return func(frame *v1alpha1.FrameResult) { frame.Latency[0].Load = name }
	}
	for name, test := range map[string]struct {
		metrics []v1alpha1.Metric
		then    []v1alpha1.FrameResult
		want    []measure.BaselineLoad
	}{
		"a delay":                        {[]v1alpha1.Metric{p99}, with(1, 900, 0, at(1000), named("half")), half},
		"two figures of one load":        {[]v1alpha1.Metric{p99, mean}, with(1, 900, 0, at(1000), named("half")), half},
		"only the throughput is judged":  {[]v1alpha1.Metric{rate}, with(1, 900, 0, at(1000), named("half")), nil},
		"a load that is a rate":          {[]v1alpha1.Metric{p99}, with(1, 900, 0, at(1000), named("rate")), nil},
		"a load of another measurement":  {[]v1alpha1.Metric{p99}, with(1, 900, 0, at(1000), named("soak")), nil},
		"a figure that cannot be judged": {[]v1alpha1.Metric{p99}, with(1, 0, 0, at(1000), named("half")), nil},
		"one at its own baseline's rate": {[]v1alpha1.Metric{p99}, with(1, 900, 0, at(1000), named("half@baseline")), nil},
	} {
		run := nowOf(5, test.metrics...)
		run.Spec.Experiment.Measurements.Latency = &v1alpha1.Latency{Loads: []v1alpha1.LatencyLoad{
			{Name: "rate", FramesPerSecond: new(int64(1000))}, {Name: "half", Goal: "NDR", Percent: new(int32(50))},
		}}
		then := runOf(0, 0, 0)
		then.Status.Results = test.then
		if diff := cmp.Diff(test.want, Loads(run.Spec.Experiment, Figures(then, nil))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestJudgedAtTheBaselinesRate checks that a delay which was measured at the baseline's rate is the one that is judged and
// shown, however far the run's own rate is from it.
func TestJudgedAtTheBaselinesRate(t *testing.T) {
	run := nowOf(5, v1alpha1.MetricLatencyP99)
	then := runOf(0, 0, 0)
	then.Status.Results = with(1, 900, 0, at(1000))
	for p99, want := range map[int64]v1alpha1.VerdictResult{900: v1alpha1.VerdictPassed, 946: v1alpha1.VerdictFailed} {
		now := with(1, 9000, 0, at(2000))
		again := with(1, p99, 0, at(1000))[0].Latency[0]
		again.Load, again.Share = "idle@baseline", nil
		now[0].Latency = append(now[0].Latency, again)
		measured := figure.Results{Frames: now}.Figures()
		figures := Measured(Figures(then, nil), measured)
		verdicts := Verdicts(run.Spec.Experiment.Baseline, figures, measured)
		if len(verdicts) != 1 || verdicts[0].Result != want || *verdicts[0].Measured != p99 || verdicts[0].Load != "idle" {
			t.Errorf("%d ns: %+v", p99, verdicts)
		}
		if f := judged(run.Spec.Experiment.Baseline, figures)[0]; *f.Measured != p99 || *f.MeasuredLoadFramesPerSecond != 1000 {
			t.Errorf("%d ns: %+v", p99, f)
		}
		// A run that has this one as its baseline finds the load's own figures.
		run := runOf(0, 0, 0)
		run.Status.Results = now
		for _, f := range Figures(run, nil) {
			if f.Load != "idle" && f.Load != "" {
				t.Errorf("%d ns: kept %+v", p99, f.FigureKey)
			}
		}
	}
}
