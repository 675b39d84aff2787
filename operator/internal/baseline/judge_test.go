package baseline

import (
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// change edits the one frame size of a run's results.
type change func(frame *v1alpha1.FrameResult)

func with(framesPerSecond, p99, loss int64, changes ...change) []v1alpha1.FrameResult {
	frames := framesOf(framesPerSecond, p99, loss)
	for _, c := range changes {
		c(&frames[0])
	}
	return frames
}

func floor(frame *v1alpha1.FrameResult) {
	frame.Throughput[0].UpperBoundCause = v1alpha1.CauseGeneratorCeiling
}

func atMaximum(frame *v1alpha1.FrameResult) {
	frame.Throughput[0].UpperBoundCause, frame.Throughput[0].Regularity = v1alpha1.CauseMaximumLoad, v1alpha1.Irregular
}

func irregular(frame *v1alpha1.FrameResult) { frame.Throughput[0].Regularity = v1alpha1.Irregular }

func unsent(frame *v1alpha1.FrameResult) {
	frame.Latency[0].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtLoadNotReached}
}

// doubted adds a doubt to both the rate and the load.
func doubted(code v1alpha1.DoubtCode) change {
	return func(frame *v1alpha1.FrameResult) {
		frame.Throughput[0].Doubts = []v1alpha1.DoubtCode{code}
		frame.Latency[0].Doubts = []v1alpha1.DoubtCode{code}
	}
}

func starved(frame *v1alpha1.FrameResult) {
	frame.Latency[0].Directions[0].Latency = v1alpha1.Delays{}
}

func at(load int64) change {
	return func(frame *v1alpha1.FrameResult) {
		frame.Latency[0].IntendedFramesPerSecond = load
		frame.Latency[0].Share = &v1alpha1.LoadShare{Goal: "NDR", Percent: 50, ThroughputFramesPerSecond: 2 * load, UpperBoundCause: v1alpha1.CauseGeneratorCeiling}
	}
}

// overloaded adds a receive rate and bursts at a load.
func overloaded(load, rate, frames int64) change {
	return func(frame *v1alpha1.FrameResult) {
		frame.ReceiveRate = &v1alpha1.ReceiveRateResult{IntendedFramesPerSecond: load, MeanFramesPerSecond: rate,
			Trials: []v1alpha1.ReceiveRateTrial{{Trial: 1, ForwardingFramesPerSecond: rate, LossPartsPerMillion: 100_000}}}
		frame.BackToBack = &v1alpha1.BackToBackResult{MaximumFramesPerSecond: load, MeanFrames: frames, LongestBurstFrames: 2 * frames, Bursts: []int64{frames}}
	}
}

func repeated(values ...int64) change {
	return func(frame *v1alpha1.FrameResult) {
		frame.Throughput[0].Statistics = []v1alpha1.Statistics{{Metric: v1alpha1.MetricThroughputFramesPerSecond, N: int32(len(values)), Values: values}}
	}
}

func TestInconclusive(t *testing.T) {
	const passed, failed, inconclusive = v1alpha1.VerdictPassed, v1alpha1.VerdictFailed, v1alpha1.VerdictInconclusive
	rate, p99, loss := v1alpha1.MetricThroughputFramesPerSecond, v1alpha1.MetricLatencyP99, v1alpha1.MetricLoss
	receive, bursts := v1alpha1.MetricReceiveRate, v1alpha1.MetricBackToBack
	for name, test := range map[string]struct {
		metric v1alpha1.Metric
		then   []v1alpha1.FrameResult
		now    []v1alpha1.FrameResult
		want   v1alpha1.VerdictResult
		code   v1alpha1.DoubtCode
		words  string
	}{
		"the baseline is 0":                  {rate, with(0, 9, 0), with(1000, 9, 0), inconclusive, v1alpha1.DoubtBaselineZero, "the baseline's figure is 0"},
		"a delay of 0":                       {p99, with(1, 0, 0), with(1, 9, 0), inconclusive, v1alpha1.DoubtBaselineZero, "name another baseline"},
		"no loss is a figure":                {loss, with(1, 9, 0), with(1, 9, 0), passed, "", ""},
		"the baseline is a floor":            {rate, with(1000, 9, 0, floor), with(1000, 9, 0), inconclusive, v1alpha1.DoubtBaselineUncertain, "the generator may be the limit (GeneratorCeiling)"},
		"both met the highest load":          {rate, with(1000, 9, 0, atMaximum), with(1000, 9, 0, atMaximum), passed, "", ""},
		"the highest load is met no more":    {rate, with(1000, 9, 0, atMaximum), with(900, 9, 0), failed, "", ""},
		"the baseline is irregular":          {rate, with(1000, 9, 0, irregular), with(500, 9, 0), inconclusive, v1alpha1.DoubtBaselineUncertain, "IrregularResult"},
		"the baseline's load":                {p99, with(1, 900, 0, unsent), with(1, 900, 0), inconclusive, v1alpha1.DoubtBaselineUncertain, "LoadNotReached"},
		"a rate that may have been better":   {rate, with(500, 9, 0, doubted(v1alpha1.DoubtInterruptedTrials)), with(500, 9, 0), inconclusive, v1alpha1.DoubtBaselineUncertain, "(InterruptedTrials), so its own may be better"},
		"still worse than it":                {rate, with(500, 9, 0, doubted(v1alpha1.DoubtInterruptedTrials)), with(400, 9, 0), failed, "", ""},
		"a p99 that may have been better":    {p99, with(1, 9000, 0, doubted(v1alpha1.DoubtUnsteadyPacing)), with(1, 2000, 0), inconclusive, v1alpha1.DoubtBaselineUncertain, "(UnsteadyPacing), so its own may be better"},
		"a p99 that is still worse":          {p99, with(1, 900, 0, doubted(v1alpha1.DoubtStretchedTrials)), with(1, 9000, 0), failed, "", ""},
		"a loss that may have been less":     {loss, with(1, 9, 50_000, doubted(v1alpha1.DoubtInterruptedTrials)), with(1, 9, 40_000), inconclusive, v1alpha1.DoubtBaselineUncertain, ""},
		"no loss cannot have been less":      {loss, with(1, 9, 0, doubted(v1alpha1.DoubtInterruptedTrials)), with(1, 9, 0), passed, "", ""},
		"frames that came late":              {loss, with(1, 9, 50_000, doubted(v1alpha1.DoubtLateFrames)), with(1, 9, 40_000), inconclusive, v1alpha1.DoubtBaselineUncertain, "better"},
		"frames that came late, missed":      {loss, with(1, 9, 50_000, doubted(v1alpha1.DoubtLateFrames)), with(1, 9, 90_000), inconclusive, v1alpha1.DoubtBaselineUncertain, "worse"},
		"a load of a floor":                  {p99, with(1, 900, 0, doubted(v1alpha1.DoubtLoadOfFloor)), with(1, 900, 0), passed, "", ""},
		"this run is a floor, and meets it":  {rate, with(1000, 9, 0), with(960, 9, 0, floor), passed, "", ""},
		"this run is a floor, and misses it": {rate, with(1000, 9, 0), with(900, 9, 0, floor), inconclusive, v1alpha1.DoubtGeneratorCeiling, "at least 950 required"},
		"this run's load":                    {p99, with(1, 900, 0), with(1, 900, 0, unsent), inconclusive, v1alpha1.DoubtLoadNotReached, ""},
		"worse at a lower load":              {p99, with(1, 900, 0), with(1, 9000, 0, unsent), failed, "", ""},
		"not measured now":                   {rate, with(1000, 9, 0), nil, inconclusive, v1alpha1.DoubtNotMeasured, "no measurement of size 64"},
		"nothing arrived now":                {p99, with(1, 900, 0), with(1, 900, 0, starved), failed, "", ""},
		"loads within 5 %":                   {p99, with(1, 900, 0, at(1000)), with(1, 900, 0, at(1050)), passed, "", ""},
		"loads that differ":                  {p99, with(1, 900, 0, at(1000)), with(1, 900, 0, at(1051)), inconclusive, v1alpha1.DoubtLoadsDiffer, "this run measured it at 1051 frames/s and the baseline at 1000"},
		"a load above the throughput":        {p99, with(1, 900, 0, at(3000)), with(1, 900, 0, at(1000)), inconclusive, v1alpha1.DoubtLoadsDiffer, "3000 frames/s, at which the baseline measured it, are more than this run's throughput of NDR, 2000 frames/s (LoadsDiffer): compare the throughput"},
		"lower loads that differ":            {p99, with(1, 900, 0, at(1000)), with(1, 9000, 0, at(949)), inconclusive, v1alpha1.DoubtLoadsDiffer, ""},
		"a receive rate at another load":     {receive, with(1, 9, 0, overloaded(1000, 500, 9)), with(1, 9, 0, overloaded(1100, 400, 9)), inconclusive, v1alpha1.DoubtLoadsDiffer, "this run measured it at 1100 frames/s and the baseline at 1000 (LoadsDiffer): measure the baseline again"},
		"a receive rate at the same load":    {receive, with(1, 9, 0, overloaded(1000, 500, 9)), with(1, 9, 0, overloaded(1050, 400, 9)), failed, "", ""},
		"bursts at another load":             {bursts, with(1, 9, 0, overloaded(1000, 500, 900)), with(1, 9, 0, overloaded(900, 500, 1000)), inconclusive, v1alpha1.DoubtLoadsDiffer, ""},
		"bursts at the same load":            {bursts, with(1, 9, 0, overloaded(1000, 500, 900)), with(1, 9, 0, overloaded(1000, 500, 1000)), passed, "", ""},
		"worse by more than chance":          {rate, with(1000, 9, 0, repeated(999, 1000, 1001)), with(900, 9, 0, repeated(899, 900, 901)), failed, "", "p is below 0.000001 (Welch's t-test of the repeats)"},
		"worse by chance":                    {rate, with(1000, 9, 0, repeated(900, 1000, 1100)), with(940, 9, 0, repeated(840, 940, 1040)), inconclusive, v1alpha1.DoubtChance, "p is 0.503"},
		"repeats that are all the same":      {rate, with(1000, 9, 0, repeated(1000, 1000)), with(900, 9, 0, repeated(900, 900)), failed, "", ""},
		"one repeat in one run":              {rate, with(1000, 9, 0), with(900, 9, 0, repeated(899, 901)), failed, "", ""},
		"within, and not by chance":          {rate, with(1000, 9, 0, repeated(999, 1000, 1001)), with(960, 9, 0, repeated(959, 960, 961)), passed, "", "p is "},
	} {
		t.Run(name, func(t *testing.T) {
			then := runOf(0, 0, 0)
			then.Status.Results = test.then
			run := nowOf(5, test.metric)
			measured := figure.Results{Frames: test.now}.Figures()
			verdicts := Verdicts(run.Spec.Experiment.Baseline, Measured(Figures(then, nil), measured), measured)
			if len(verdicts) != 1 {
				t.Fatalf("verdicts %+v", verdicts)
			}
			v := verdicts[0]
			if v.Result != test.want || !strings.Contains(v.Message, test.words) {
				t.Errorf("got %+v, want %s with %q", v, test.want, test.words)
			}
			if codes := slices.Compact([]v1alpha1.DoubtCode{test.code}); test.code != "" && !slices.Equal(v.Doubts, codes) || test.code == "" && v.Doubts != nil {
				t.Errorf("doubts are %v, want %q", v.Doubts, test.code)
			}
			if len(v.Message) > 512 {
				t.Errorf("the message has %d bytes", len(v.Message))
			}
		})
	}
}

// TestWhyIncomparableOfUncertainFigures checks that only a baseline without any usable figure is refused.
func TestWhyIncomparableOfUncertainFigures(t *testing.T) {
	run := nowOf(5, rates...)
	then := runOf(0, 0, 0)
	then.Status.Results = with(1000, 9, 0, floor)
	got := WhyIncomparable(run, then, nil, nil)
	for _, want := range []string{"ThroughputFramesPerSecond of NDR for size 64: in the baseline the generator", "GeneratorCeiling", "name a run whose figures are the device's own"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	run.Spec.Experiment.Baseline.Metrics = append(run.Spec.Experiment.Baseline.Metrics, v1alpha1.MetricLatencyP99)
	if got := WhyIncomparable(run, then, nil, nil); got != "" {
		t.Errorf("with a delay to compare: %q", got)
	}
}

func TestKept(t *testing.T) {
	then := runOf(0, 0, 0)
	then.Status.Results = with(1000, 900, 0, irregular, repeated(990, 1010), at(500))
	figures := Figures(then, nil)
	rate, p99 := figures[0], figures[slices.IndexFunc(figures, func(f v1alpha1.BaselineFigure) bool { return f.Metric == v1alpha1.MetricLatencyP99 })]
	if rate.Regularity != v1alpha1.Irregular || rate.Cause != "DeviceLoss" || !slices.Equal(rate.Values, []int64{990, 1010}) || !slices.Equal(rate.Doubts, []v1alpha1.DoubtCode{v1alpha1.DoubtIrregularResult}) {
		t.Errorf("kept %+v", rate)
	}
	if p99.BaselineLoadFramesPerSecond == nil || *p99.BaselineLoadFramesPerSecond != 500 || p99.Regularity != "" || !slices.Equal(p99.Doubts, []v1alpha1.DoubtCode{v1alpha1.DoubtLoadOfFloor}) {
		t.Errorf("kept %+v", p99)
	}
}

func TestWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		percent   int32
		then, now []v1alpha1.FrameResult
		words     []string
	}{
		"no spread is known":                 {1, with(1000, 9, 0), with(1000, 9, 0), nil},
		"within":                             {15, with(1000, 9, 0, repeated(990, 1000, 1010)), nil, nil},
		"the baseline scatters":              {2, with(1000, 9, 0, repeated(990, 1000, 1010)), nil, []string{"maximumRegressionPercent is 2", "ThroughputFramesPerSecond of NDR for size 64 is 2.5 %", "in the baseline, of 3 values", "more repeats"}},
		"this run scatters":                  {2, with(1000, 9, 0), with(1000, 9, 0, repeated(980, 1000, 1020)), []string{"is 5.0 %", "in this run"}},
		"a floor has another remedy":         {2, with(1000, 9, 0, floor, repeated(990, 1000, 1010)), nil, nil},
		"the search is coarser than allowed": {1, with(1000, 9, 0), nil, []string{"is 2.0 %", "widthPartsPerMillion"}},
	} {
		run := nowOf(test.percent, rates...)
		if strings.HasPrefix(name, "the search") {
			run.Spec.Experiment.Measurements.Throughput = &v1alpha1.Throughput{Goals: []v1alpha1.Goal{{Name: "NDR", WidthPartsPerMillion: 20_000}}}
		}
		then := runOf(0, 0, 0)
		then.Status.Results = test.then
		got := Warnings(run.Spec.Experiment, Figures(then, nil), figure.Results{Frames: test.now}.Figures())
		if len(got) != min(len(test.words), 1) {
			t.Fatalf("%s: %+v", name, got)
		}
		for _, want := range test.words {
			if got[0].Code != v1alpha1.WarningToleranceBelowSpread || got[0].Size != "64" || !strings.Contains(got[0].Message, want) {
				t.Errorf("%s: %+v, want %q", name, got[0], want)
			}
		}
	}
}
