package acceptance

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestConfidenceLimit(t *testing.T) {
	limits := func(metric v1alpha1.Metric, low, high int64) []v1alpha1.Statistics {
		return []v1alpha1.Statistics{{Metric: metric, N: 5, Mean: (low + high) / 2, ConfidenceLow: new(int64(low)), ConfidenceHigh: new(int64(high))}}
	}
	arrived := v1alpha1.Delays{Samples: 10}
	results := []v1alpha1.FrameResult{{
		Size: "64", FrameBytes: 64,
		Throughput: []v1alpha1.ThroughputResult{
			{Goal: "NDR", FramesPerSecond: 1000, Statistics: limits(v1alpha1.MetricThroughputFramesPerSecond, 900, 1100)},
			{Goal: "PDR", FramesPerSecond: 1000},
			{Goal: "drift", FramesPerSecond: 1000, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtDrift}, Statistics: []v1alpha1.Statistics{
				{Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 5, Mean: 1000, LimitedBy: v1alpha1.LimitedByDrift}}},
			{Goal: "two limits", FramesPerSecond: 1000, Statistics: []v1alpha1.Statistics{
				{Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 5, Mean: 1000, LimitedBy: v1alpha1.LimitedByLossInversion}}},
			{Goal: "halved twice", FramesPerSecond: 1000, Statistics: []v1alpha1.Statistics{
				{Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 2, Mean: 1000, LimitedBy: v1alpha1.LimitedByTooFewRepeats}}},
			{Goal: "floor", FramesPerSecond: 1000, UpperBoundCause: v1alpha1.CauseGeneratorCeiling, Censored: &v1alpha1.CensoredRepeats{Repeats: 1, N: 2, Values: []int64{1000, 1100}}},
		},
		Latency: []v1alpha1.LatencyResult{{Load: "half", Directions: []v1alpha1.LatencyDirectionResult{
			{DirectionResult: v1alpha1.DirectionResult{Direction: "Forward", Latency: arrived}, Statistics: limits(v1alpha1.MetricLatencyP99, 4000, 6000)},
			{DirectionResult: v1alpha1.DirectionResult{Direction: "Reverse", Latency: arrived}, Statistics: limits(v1alpha1.MetricLatencyP99, 3000, 7000)},
		}}},
	}}
	criterion := func(metric v1alpha1.Metric, goal, load string, atLeast, atMost int64) v1alpha1.Criterion {
		c := v1alpha1.Criterion{Statistic: v1alpha1.StatisticConfidenceLimit, FigureKey: v1alpha1.FigureKey{Metric: metric, Goal: goal, Load: load}}
		if atLeast > 0 {
			c.AtLeast = &atLeast
		} else {
			c.AtMost = &atMost
		}
		return c
	}
	for name, test := range map[string]struct {
		criterion v1alpha1.Criterion
		want      v1alpha1.VerdictResult
		message   string
	}{
		"the mean would pass": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "NDR", "", 950, 0), v1alpha1.VerdictFailed,
			"ThroughputFramesPerSecond of NDR is 900 at the lower end of its 95 % confidence interval, at least 950 required"},
		"the lower end passes": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "NDR", "", 900, 0), v1alpha1.VerdictPassed,
			"ThroughputFramesPerSecond of NDR is 900 at the lower end of its 95 % confidence interval, at least 900 required"},
		"the upper end of the worse direction": {criterion(v1alpha1.MetricLatencyP99, "", "half", 0, 6500), v1alpha1.VerdictFailed,
			"LatencyP99Nanoseconds at half is 7000 at the upper end of its 95 % confidence interval, at most 6500 allowed"},
		"one repeat": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "PDR", "", 1, 0), v1alpha1.VerdictInconclusive,
			"ThroughputFramesPerSecond of PDR has no confidence interval: it takes two repeats with the figure in each (NotMeasured): raise measurements.repeats"},
		"a floor": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "floor", "", 1, 0), v1alpha1.VerdictInconclusive,
			"ThroughputFramesPerSecond of floor has no confidence interval: the generator may be the limit (GeneratorCeiling): give the generator more CPU, or do what the warning GeneratorCeiling says"},
		"a drift": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "drift", "", 1, 0), v1alpha1.VerdictInconclusive,
			"ThroughputFramesPerSecond of drift has no confidence interval: the repeats rise or fall one after the other, so the device or the testbed changed while it was measured (Drift): warm up for longer, look for what changes with time, and measure again"},
		"two limits": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "two limits", "", 1, 0), v1alpha1.VerdictInconclusive,
			"ThroughputFramesPerSecond of two limits has no confidence interval: in every repeat a load above the upper bound met the goal, so the limit is not one number (LossInversion): measure the loss at each load with measurements.frameLossRate"},
		"two halving searches": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "halved twice", "", 1, 0), v1alpha1.VerdictInconclusive,
			"ThroughputFramesPerSecond of halved twice has no confidence interval: two searches of a method that halves can both end too low, and their interval would hold the limit too rarely " +
				"(TooFewRepeats): set measurements.repeats to 3 or more, 5 to see a drift too, or throughput.method to MLRsearch"},
		"no such goal": {criterion(v1alpha1.MetricThroughputFramesPerSecond, "X", "", 1, 0), v1alpha1.VerdictInconclusive,
			"ThroughputFramesPerSecond of X has no figure: the goal was not measured (NotMeasured): measure it, or leave the criterion out"},
		"another metric": {criterion(v1alpha1.MetricLatencyP50, "", "half", 0, 1), v1alpha1.VerdictInconclusive,
			"LatencyP50Nanoseconds at half, Forward, has no confidence interval: it takes two repeats with the figure in each (NotMeasured): raise measurements.repeats"},
	} {
		t.Run(name, func(t *testing.T) {
			got := evaluate([]v1alpha1.Criterion{test.criterion}, []int32{64}, results)
			if len(got) != 1 || got[0].Result != test.want || got[0].Message != test.message {
				t.Errorf("got %+v", got)
			}
		})
	}
}
