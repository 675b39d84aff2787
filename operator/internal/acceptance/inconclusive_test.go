package acceptance

import (
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

const (
	passed       = v1alpha1.VerdictPassed
	failed       = v1alpha1.VerdictFailed
	inconclusive = v1alpha1.VerdictInconclusive
)

// TestDoubtfulRecoveries checks that trials that the generator doubts fail no device.
func TestDoubtfulRecoveries(t *testing.T) {
	frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Recovery: &v1alpha1.RecoveryResult{
		End: v1alpha1.RecoveryRecovered, UpperBoundMilliseconds: new(int64(500)), Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing},
	}}
	check(t, frame,
		decided{name: "within", metric: v1alpha1.MetricRecovery, atMost: 500, want: passed},
		decided{name: "over", metric: v1alpha1.MetricRecovery, atMost: 499, want: inconclusive, code: v1alpha1.DoubtUnsteadyPacing})
}

// decided is a criterion on one figure with its verdict.
type decided struct {
	name    string
	metric  v1alpha1.Metric
	load    string
	atLeast int64
	atMost  int64
	want    v1alpha1.VerdictResult
	code    v1alpha1.DoubtCode
}

func check(t *testing.T, frame v1alpha1.FrameResult, tests ...decided) {
	t.Helper()
	for _, test := range tests {
		criterion := v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: test.metric, Size: "64", Load: test.load}}
		if strings.HasPrefix(string(test.metric), "Throughput") {
			criterion.Goal = "NDR"
		}
		if test.atLeast > 0 {
			criterion.AtLeast = &test.atLeast
		} else {
			criterion.AtMost = &test.atMost
		}
		got := Judge(criterion, criterion.FigureKey, figure.Results{Frames: []v1alpha1.FrameResult{frame}}.Figures())
		if got.Result != test.want {
			t.Errorf("%s: got %+v, want %s", test.name, got, test.want)
		}
		var codes []v1alpha1.DoubtCode
		if test.code != "" {
			codes = []v1alpha1.DoubtCode{test.code}
		}
		if !slices.Equal(got.Doubts, codes) {
			t.Errorf("%s: doubts are %v, want %v", test.name, got.Doubts, codes)
		}
		if len(got.Message) > 512 || test.code != "" && !strings.Contains(got.Message, "("+string(test.code)+"): ") {
			t.Errorf("%s: message %q", test.name, got.Message)
		}
	}
}

func throughput(framesPerSecond, upper int64, cause v1alpha1.UpperBoundCause, regularity v1alpha1.Regularity, doubts ...v1alpha1.DoubtCode) v1alpha1.FrameResult {
	result := v1alpha1.ThroughputResult{Goal: "NDR", FramesPerSecond: framesPerSecond, Layer1BitsPerSecond: framesPerSecond * 672, UpperBoundCause: cause, Regularity: regularity, Doubts: doubts}
	if upper > 0 {
		result.UpperBoundFramesPerSecond = &upper
	}
	return v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Throughput: []v1alpha1.ThroughputResult{result}}
}

func TestFloors(t *testing.T) {
	rate, bits := v1alpha1.MetricThroughputFramesPerSecond, v1alpha1.MetricThroughputLayer1BitsPerSecond
	for _, cause := range []v1alpha1.UpperBoundCause{v1alpha1.CauseGeneratorCeiling, v1alpha1.CauseMaximumLoad} {
		code := v1alpha1.DoubtCode(cause)
		// The search for a floor has no upper bound, so it is irregular too, and that adds nothing.
		check(t, throughput(1000, 0, cause, v1alpha1.Irregular),
			decided{name: "met", metric: rate, atLeast: 1000, want: passed},
			decided{name: "above", metric: rate, atLeast: 1001, want: inconclusive, code: code},
			decided{name: "within", metric: rate, atMost: 1000, want: inconclusive, code: code},
			decided{name: "over already", metric: rate, atMost: 999, want: failed},
			decided{name: "bits", metric: bits, atLeast: 672_001, want: inconclusive, code: code})
	}
	check(t, throughput(1000, 1020, v1alpha1.CauseDeviceLoss, v1alpha1.Regular),
		decided{name: "the device's limit", metric: rate, atLeast: 1001, want: failed},
		decided{name: "the device's limit, met", metric: rate, atMost: 1000, want: passed})
}

// TestIrregularSearches checks that the device is known to reach the value, and not to exceed the upper bound.
func TestIrregularSearches(t *testing.T) {
	rate, bits, code := v1alpha1.MetricThroughputFramesPerSecond, v1alpha1.MetricThroughputLayer1BitsPerSecond, v1alpha1.DoubtIrregularResult
	check(t, throughput(1000, 2000, v1alpha1.CauseDeviceLoss, v1alpha1.Irregular),
		decided{name: "met", metric: rate, atLeast: 1000, want: passed},
		decided{name: "between the bounds", metric: rate, atLeast: 2000, want: inconclusive, code: code},
		decided{name: "above the upper bound", metric: rate, atLeast: 2001, want: failed},
		decided{name: "within", metric: rate, atMost: 1500, want: inconclusive, code: code},
		decided{name: "over already", metric: rate, atMost: 999, want: failed},
		decided{name: "the upper bound is within", metric: rate, atMost: 2000, want: passed},
		decided{name: "bits have no bound", metric: bits, atLeast: 9_000_000, want: inconclusive, code: code})
	check(t, throughput(1000, 0, "", v1alpha1.Irregular), decided{name: "no upper bound", metric: rate, atLeast: 9000, want: inconclusive, code: code})
	check(t, throughput(0, 500, v1alpha1.CauseDeviceLoss, v1alpha1.Irregular),
		decided{name: "above the minimum load", metric: rate, atLeast: 501, want: failed},
		decided{name: "below the minimum load", metric: rate, atLeast: 100, want: inconclusive, code: code})
}

// TestDoubtfulTrials checks that a generator's mistakes make no device fail or pass.
func TestDoubtfulTrials(t *testing.T) {
	rate, p99, lowest, lost := v1alpha1.MetricThroughputFramesPerSecond, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyMin, v1alpha1.MetricLoss
	pacing, unsent, floor := v1alpha1.DoubtUnsteadyPacing, v1alpha1.DoubtLoadNotReached, v1alpha1.DoubtLoadOfFloor
	check(t, throughput(1000, 1020, v1alpha1.CauseDeviceLoss, v1alpha1.Regular, pacing),
		decided{name: "met", metric: rate, atLeast: 1000, want: passed},
		decided{name: "missed", metric: rate, atLeast: 1001, want: inconclusive, code: pacing})
	load := func(share *v1alpha1.LoadShare, doubts ...v1alpha1.DoubtCode) v1alpha1.FrameResult {
		return v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{
			Load: "half", IntendedFramesPerSecond: 1000, Doubts: doubts, Share: share,
			Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{Direction: "Forward", SentFrames: 100, LossPartsPerMillion: 10,
				Latency: v1alpha1.Delays{Samples: 100, MinNanoseconds: 50, P99Nanoseconds: 900}}}},
		}}}
	}
	check(t, load(nil, pacing),
		decided{name: "pacing, within", metric: p99, load: "half", atMost: 900, want: passed},
		decided{name: "pacing, over", metric: p99, load: "half", atMost: 899, want: inconclusive, code: pacing},
		decided{name: "pacing, the smallest", metric: lowest, load: "half", atMost: 49, want: failed})
	check(t, load(nil, unsent),
		decided{name: "a lower load, within", metric: p99, load: "half", atMost: 900, want: inconclusive, code: unsent},
		decided{name: "a lower load, over", metric: p99, load: "half", atMost: 899, want: failed},
		decided{name: "a lower load, loss within", metric: lost, load: "half", atMost: 10, want: inconclusive, code: unsent},
		decided{name: "a lower load, loss over", metric: lost, load: "half", atMost: 9, want: failed})
	check(t, load(nil, v1alpha1.DoubtFramesUncounted),
		decided{name: "frames that no counter has, within", metric: lost, load: "half", atMost: 10, want: passed},
		decided{name: "frames that no counter has, over", metric: lost, load: "half", atMost: 9, want: failed})
	for _, share := range []v1alpha1.LoadShare{
		{Goal: "PDR", UpperBoundCause: v1alpha1.CauseMaximumLoad, Regularity: v1alpha1.Regular},
		{Goal: "PDR", UpperBoundCause: v1alpha1.CauseDeviceLoss, Regularity: v1alpha1.Irregular},
	} {
		check(t, load(&share),
			decided{name: "a share of a floor, within", metric: p99, load: "half", atMost: 900, want: inconclusive, code: floor},
			decided{name: "a share of a floor, over", metric: p99, load: "half", atMost: 899, want: failed})
	}
	check(t, load(&v1alpha1.LoadShare{Goal: "PDR", UpperBoundCause: v1alpha1.CauseDeviceLoss, Regularity: v1alpha1.Regular}),
		decided{name: "a share of a figure", metric: p99, load: "half", atMost: 900, want: passed})
}

func TestBurstsThatLeftSlowly(t *testing.T) {
	slow := v1alpha1.DoubtLoadNotReached
	check(t, v1alpha1.FrameResult{Size: "64", FrameBytes: 64, BackToBack: &v1alpha1.BackToBackResult{MeanFrames: 100, MaxFrames: 100, LongestBurstFrames: 900, Doubts: []v1alpha1.DoubtCode{slow}}},
		decided{name: "met", metric: v1alpha1.MetricBackToBack, atLeast: 100, want: inconclusive, code: slow},
		decided{name: "missed", metric: v1alpha1.MetricBackToBack, atLeast: 101, want: failed})
	check(t, v1alpha1.FrameResult{Size: "64", FrameBytes: 64, BackToBack: &v1alpha1.BackToBackResult{MeanFrames: 900, MaxFrames: 900, LongestBurstFrames: 900}},
		decided{name: "the longest", metric: v1alpha1.MetricBackToBack, atLeast: 901, want: inconclusive, code: v1alpha1.DoubtLongestBurst})
}

func TestPercentilesNeedSamples(t *testing.T) {
	p999, p9999, pdv := v1alpha1.MetricLatencyP999, v1alpha1.MetricLatencyP9999, v1alpha1.MetricPacketDelayVariationP999
	direction := v1alpha1.DirectionResult{Direction: "Forward", SentFrames: 5000, Latency: v1alpha1.Delays{Samples: 5000, MaxNanoseconds: 9}}
	frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: direction}}}}}
	few := v1alpha1.DoubtFewSamples
	check(t, frame,
		decided{name: "p99.9", metric: p999, load: "idle", atMost: 1000, want: inconclusive, code: few},
		decided{name: "p99.99", metric: p9999, load: "idle", atMost: 1000, want: inconclusive, code: few},
		decided{name: "PDV", metric: pdv, load: "idle", atMost: 1000, want: inconclusive, code: few},
		decided{name: "max", metric: v1alpha1.MetricLatencyMax, load: "idle", atMost: 1000, want: passed})
	got := Judge(v1alpha1.Criterion{AtMost: new(int64(1))}, v1alpha1.FigureKey{Metric: p999, Size: "64", Load: "idle"}, figure.Results{Frames: []v1alpha1.FrameResult{frame}}.Figures())
	if want := "p99.9 needs 10,000 timed frames in each trial, and 5,000 were in all (FewSamples): make the trials longer or the load higher"; !strings.HasSuffix(got.Message, want) {
		t.Errorf("message %q", got.Message)
	}
	frame.Latency[0].Directions[0].Latency = v1alpha1.Delays{}
	check(t, frame, decided{name: "nothing arrived", metric: p999, load: "idle", atMost: 1000, want: failed})
}

// TestDeadDirections checks that a direction that received nothing fails a delay, whatever else the
// generator did, unless a doubt explains why there is no figure.
func TestDeadDirections(t *testing.T) {
	p99 := v1alpha1.MetricLatencyP99
	floor := &v1alpha1.LoadShare{Goal: "NDR", Percent: 50, UpperBoundCause: v1alpha1.CauseGeneratorCeiling}
	for name, test := range map[string]struct {
		share *v1alpha1.LoadShare
		doubt v1alpha1.DoubtCode
		want  v1alpha1.VerdictResult
		code  v1alpha1.DoubtCode
	}{
		"no doubt":              {want: failed},
		"a share of a floor":    {share: floor, want: failed},
		"the load not reached":  {doubt: v1alpha1.DoubtLoadNotReached, want: failed},
		"unsteady pacing":       {doubt: v1alpha1.DoubtUnsteadyPacing, want: failed},
		"an interruption":       {doubt: v1alpha1.DoubtInterruptedTrials, want: failed},
		"frames that came late": {doubt: v1alpha1.DoubtLateFrames, want: failed},
	} {
		var doubts []v1alpha1.DoubtCode
		if test.doubt != "" {
			doubts = append(doubts, test.doubt)
		}
		check(t, v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{
			Load: "pdr50", IntendedFramesPerSecond: 1000, Share: test.share, Doubts: doubts, Directions: []v1alpha1.LatencyDirectionResult{
				{DirectionResult: v1alpha1.DirectionResult{Direction: "Forward", SentFrames: 1000, ReceivedFrames: 1000, Latency: v1alpha1.Delays{Samples: 1000, P99Nanoseconds: 5}}},
				{DirectionResult: v1alpha1.DirectionResult{Direction: "Reverse", SentFrames: 1000, LossPartsPerMillion: 1_000_000}},
			}}}}, decided{name: name, metric: p99, load: "pdr50", atMost: 100, want: test.want, code: test.code})
		soak := func(loss int64) v1alpha1.FrameResult {
			return v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Soak: &v1alpha1.SoakResult{
				IntendedFramesPerSecond: 1000, Share: test.share, Doubts: doubts,
				Worst: v1alpha1.WorstCase{LossPartsPerMillion: loss, LatencyP99Nanoseconds: 5, LatencyMaxNanoseconds: 5},
			}}
		}
		check(t, soak(1_000_000), decided{name: name + ", soak", metric: p99, load: "soak", atMost: 100, want: test.want, code: test.code})
		if name == "no doubt" {
			check(t, soak(999_999),
				decided{name: "some frames", metric: p99, load: "soak", atMost: 100, want: passed},
				decided{name: "some frames, the loss", metric: v1alpha1.MetricLoss, load: "soak", atMost: 100, want: failed})
		}
	}
}

// TestStalls checks that a generator that was held up fails no delay that its late frames alone
// decide, and that the other figures are judged.
func TestStalls(t *testing.T) {
	stall, p99, p999, longest := v1alpha1.DoubtInterruptedTrials, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999, v1alpha1.MetricLatencyMax
	frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64,
		Latency: []v1alpha1.LatencyResult{{Load: "idle", AwayPartsPerMillion: 1000, Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{
			Direction: "Forward", SentFrames: 100_000, ReceivedFrames: 100_000, LossPartsPerMillion: 10,
			Latency: v1alpha1.Delays{Samples: 100_000, MinNanoseconds: 4, P99Nanoseconds: 900, P999Nanoseconds: new(int64(16_000_000)), MaxNanoseconds: 20_000_000},
		}}}}},
		Soak: &v1alpha1.SoakResult{AwayPartsPerMillion: 1, Worst: v1alpha1.WorstCase{LatencyP99Nanoseconds: 900, LatencyMaxNanoseconds: 20_000_000}},
	}
	check(t, frame,
		decided{name: "p99.9", metric: p999, load: "idle", atMost: 200_000, want: inconclusive, code: stall},
		decided{name: "p99.9, met", metric: p999, load: "idle", atMost: 16_000_000, want: passed},
		decided{name: "max", metric: longest, load: "idle", atMost: 200_000, want: inconclusive, code: stall},
		decided{name: "p99", metric: p99, load: "idle", atMost: 899, want: failed},
		decided{name: "min", metric: v1alpha1.MetricLatencyMin, load: "idle", atMost: 3, want: failed},
		decided{name: "loss", metric: v1alpha1.MetricLoss, load: "idle", atMost: 9, want: failed},
		decided{name: "p99 of a soak", metric: p99, load: "soak", atMost: 899, want: failed},
		decided{name: "max of a soak", metric: longest, load: "soak", atMost: 899, want: inconclusive, code: stall})
	frame.Latency[0].AwayPartsPerMillion = 999
	check(t, frame, decided{name: "too short for p99.9", metric: p999, load: "idle", atMost: 200_000, want: failed})
}

// TestPartlyExplainedLoss checks that a loss of which other work explains a part fails no criterion that the rest meets, and
// fails those that the rest misses: 800 ppm of 3,000 may be due to a stall of 400 ppm.
func TestPartlyExplainedLoss(t *testing.T) {
	part := v1alpha1.DoubtPartlyInterrupted
	frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64,
		Latency: []v1alpha1.LatencyResult{{Load: "pdr90", AwayPartsPerMillion: 400, Doubts: []v1alpha1.DoubtCode{part}, Directions: []v1alpha1.LatencyDirectionResult{
			{DirectionResult: v1alpha1.DirectionResult{Direction: "Forward", SentFrames: 100_000, ReceivedFrames: 99_700, LossPartsPerMillion: 3000, Latency: v1alpha1.Delays{Samples: 99_700, MinNanoseconds: 4}}},
			{DirectionResult: v1alpha1.DirectionResult{Direction: "Reverse", SentFrames: 100_000, ReceivedFrames: 100_000, Latency: v1alpha1.Delays{Samples: 100_000, MinNanoseconds: 4}}},
		}}},
	}
	check(t, frame,
		decided{name: "met", metric: v1alpha1.MetricLoss, load: "pdr90", atMost: 3000, want: passed},
		decided{name: "missed by all", metric: v1alpha1.MetricLoss, load: "pdr90", atMost: 2999, want: inconclusive, code: part},
		decided{name: "met by the rest", metric: v1alpha1.MetricLoss, load: "pdr90", atMost: 2200, want: inconclusive, code: part},
		decided{name: "missed by the rest", metric: v1alpha1.MetricLoss, load: "pdr90", atMost: 2199, want: failed},
		decided{name: "a delay", metric: v1alpha1.MetricLatencyMin, load: "pdr90", atMost: 3, want: failed})
	frame.Latency[0].Doubts = nil
	check(t, frame, decided{name: "no part of it", metric: v1alpha1.MetricLoss, load: "pdr90", atMost: 2999, want: failed})
}

// TestStarvedSoftirqs checks that network work that a kernel may have left undone puts delays in doubt that are as long as such a
// time, and no others.
func TestStarvedSoftirqs(t *testing.T) {
	starved := v1alpha1.DoubtSoftirqStarved
	frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64,
		Latency: []v1alpha1.LatencyResult{{Load: "idle", Doubts: []v1alpha1.DoubtCode{starved}, Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{
			Direction: "Forward", SentFrames: 100_000, ReceivedFrames: 99_999, LossPartsPerMillion: 10,
			Latency: v1alpha1.Delays{Samples: 100_000, MinNanoseconds: 4, MeanNanoseconds: 90_000, P50Nanoseconds: 40, P99Nanoseconds: 1_000_000, P999Nanoseconds: new(int64(1_000_001)), MaxNanoseconds: 20_000_000},
		}}}}},
	}
	check(t, frame,
		decided{name: "min", metric: v1alpha1.MetricLatencyMin, load: "idle", atMost: 3, want: failed},
		decided{name: "p50", metric: v1alpha1.MetricLatencyP50, load: "idle", atMost: 39, want: failed},
		decided{name: "p99", metric: v1alpha1.MetricLatencyP99, load: "idle", atMost: 999_999, want: failed},
		decided{name: "p99.9", metric: v1alpha1.MetricLatencyP999, load: "idle", atMost: 1_000_000, want: inconclusive, code: starved},
		decided{name: "p99.9, met", metric: v1alpha1.MetricLatencyP999, load: "idle", atMost: 1_000_001, want: passed},
		decided{name: "mean", metric: v1alpha1.MetricLatencyMean, load: "idle", atMost: 89_999, want: inconclusive, code: starved},
		decided{name: "max", metric: v1alpha1.MetricLatencyMax, load: "idle", atMost: 1, want: inconclusive, code: starved},
		decided{name: "loss", metric: v1alpha1.MetricLoss, load: "idle", atMost: 9, want: failed})
}

// TestWhatIsNotCounted checks that figures which TRex does not count are no failure of the device.
func TestWhatIsNotCounted(t *testing.T) {
	direction := v1alpha1.DirectionResult{Direction: "Forward", SentFrames: 5000, Latency: v1alpha1.Delays{Samples: 5000}}
	frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: direction}}}}}
	for _, metric := range []v1alpha1.Metric{v1alpha1.MetricJitterMean, v1alpha1.MetricJitterP99, v1alpha1.MetricJitterMax, v1alpha1.MetricDelayVariationP99, v1alpha1.MetricTaggedFrameMean} {
		check(t, frame, decided{name: string(metric), metric: metric, load: "idle", atMost: 1, want: inconclusive, code: v1alpha1.DoubtNotCounted})
	}
}

// TestPercentilesOfSentFrames checks that a percentile which lost frames take is a failure of the device,
// unless the generator may have lost them.
func TestPercentilesOfSentFrames(t *testing.T) {
	direction := v1alpha1.DirectionResult{
		Direction: "Forward", SentFrames: 5000, ReceivedFrames: 4900, LossPartsPerMillion: 20_000,
		Latency:       v1alpha1.Delays{Samples: 4900, P50Nanoseconds: 40, P99Nanoseconds: 80},
		LatencyOfSent: &v1alpha1.SentDelays{},
	}
	frame := func(doubts ...v1alpha1.DoubtCode) v1alpha1.FrameResult {
		return v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: direction}}, Doubts: doubts}}}
	}
	check(t, frame(),
		decided{name: "p99", metric: v1alpha1.MetricLatencyOfSentP99, load: "idle", atMost: 1 << 60, want: failed},
		decided{name: "p99.9", metric: v1alpha1.MetricLatencyOfSentP999, load: "idle", atMost: 1 << 60, want: failed})
	check(t, frame(v1alpha1.DoubtInterruptedTrials),
		decided{name: "p99, interrupted", metric: v1alpha1.MetricLatencyOfSentP99, load: "idle", atMost: 1 << 60, want: inconclusive, code: v1alpha1.DoubtInterruptedTrials})
	direction.LatencyOfSent, direction.LossPartsPerMillion = &v1alpha1.SentDelays{P99Nanoseconds: new(int64(90))}, 2000
	check(t, frame(),
		decided{name: "p99, met", metric: v1alpha1.MetricLatencyOfSentP99, load: "idle", atMost: 90, want: passed},
		decided{name: "p99, missed", metric: v1alpha1.MetricLatencyOfSentP99, load: "idle", atMost: 89, want: failed})
	direction.LatencyOfSent, direction.LossPartsPerMillion = nil, 0
	check(t, frame(),
		decided{name: "p99, without loss", metric: v1alpha1.MetricLatencyOfSentP99, load: "idle", atMost: 80, want: passed},
		decided{name: "p99.9, few frames", metric: v1alpha1.MetricLatencyOfSentP999, load: "idle", atMost: 80, want: inconclusive, code: v1alpha1.DoubtFewSamples})
	direction.Latency, direction.LossPartsPerMillion = v1alpha1.Delays{}, 1_000_000
	check(t, frame(v1alpha1.DoubtInterruptedTrials),
		decided{name: "nothing arrived", metric: v1alpha1.MetricLatencyOfSentP999, load: "idle", atMost: 1 << 60, want: failed})
}

// TestPartOfTheOrder checks that no reordered frame among those that TRex times does not prove the order
// of all.
func TestPartOfTheOrder(t *testing.T) {
	for sequenced, want := range map[int64]v1alpha1.VerdictResult{1000: inconclusive, 5000: passed} {
		direction := v1alpha1.DirectionResult{
			Direction: "Forward", SentFrames: 5000, ReceivedFrames: 5000, SequencedFrames: &sequenced, Latency: v1alpha1.Delays{Samples: 1000},
		}
		frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: direction}}}}}
		for _, metric := range []v1alpha1.Metric{v1alpha1.MetricReordered, v1alpha1.MetricDuplicate} {
			one := decided{name: string(metric), metric: metric, load: "idle", want: want}
			if want == inconclusive {
				one.code = v1alpha1.DoubtPartlyCounted
			}
			check(t, frame, one)
		}
	}
}

// TestLoadsThatWereNotDerived checks that a load without a throughput is a failure only if the device
// lost too much.
func TestLoadsThatWereNotDerived(t *testing.T) {
	check(t, throughput(0, 500, v1alpha1.CauseDeviceLoss, v1alpha1.Irregular),
		decided{name: "loss at the minimum load", metric: v1alpha1.MetricLatencyP99, load: "pdr50", atMost: 1, want: failed},
		decided{name: "a recovery", metric: v1alpha1.MetricRecovery, atMost: 1, want: failed})
	check(t, throughput(0, 0, "", v1alpha1.Irregular),
		decided{name: "a recovery, out of time", metric: v1alpha1.MetricRecovery, atMost: 1, want: inconclusive, code: v1alpha1.DoubtNotMeasured},
		decided{name: "out of time", metric: v1alpha1.MetricLatencyP99, load: "pdr50", atMost: 1, want: inconclusive, code: v1alpha1.DoubtNotMeasured})
}

// TestDirections checks that the worst direction decides, and that Failed is worse than Inconclusive.
func TestDirections(t *testing.T) {
	direction := func(name string, samples, p999 int64) v1alpha1.DirectionResult {
		d := v1alpha1.DirectionResult{Direction: name, SentFrames: 1, Latency: v1alpha1.Delays{Samples: samples}}
		if p999 > 0 {
			d.Latency.P999Nanoseconds = &p999
		}
		return d
	}
	for name, test := range map[string]struct {
		forward, reverse v1alpha1.DirectionResult
		want             v1alpha1.VerdictResult
		measured         int64
	}{
		"both pass":         {direction("Forward", 20_000, 10), direction("Reverse", 20_000, 20), passed, 20},
		"one fails":         {direction("Forward", 20_000, 101), direction("Reverse", 20_000, 20), failed, 101},
		"one cannot decide": {direction("Forward", 20_000, 10), direction("Reverse", 5000, 0), inconclusive, 0},
		"failed wins":       {direction("Forward", 5000, 0), direction("Reverse", 20_000, 101), failed, 101},
	} {
		frame := v1alpha1.FrameResult{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{Load: "l", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: test.forward}, {DirectionResult: test.reverse}}}}}
		got := Judge(v1alpha1.Criterion{AtMost: new(int64(100))}, v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP999, Size: "64", Load: "l"}, figure.Results{Frames: []v1alpha1.FrameResult{frame}}.Figures())
		if got.Result != test.want || (got.Measured == nil) != (test.measured == 0) || got.Measured != nil && *got.Measured != test.measured {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestWorst(t *testing.T) {
	of := func(results ...v1alpha1.VerdictResult) (verdicts []v1alpha1.Verdict) {
		for _, r := range results {
			verdicts = append(verdicts, v1alpha1.Verdict{Result: r})
		}
		return verdicts
	}
	for _, test := range []struct {
		verdicts []v1alpha1.Verdict
		want     v1alpha1.VerdictResult
	}{
		{nil, passed}, {of(passed, passed), passed}, {of(passed, inconclusive), inconclusive},
		{of(inconclusive, failed, passed), failed}, {of(passed, "Later"), "Later"},
	} {
		if got := Worst(test.verdicts); got != test.want {
			t.Errorf("%v: got %s, want %s", test.verdicts, got, test.want)
		}
	}
}
