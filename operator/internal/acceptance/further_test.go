package acceptance

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestFixedLoadCriteria checks that for a profile, the worst repeat and direction count.
func TestFixedLoadCriteria(t *testing.T) {
	direction := func(name string, p99 int64) v1alpha1.DirectionResult {
		return v1alpha1.DirectionResult{Direction: name, SentFrames: 10, Latency: v1alpha1.Delays{Samples: 10, P99Nanoseconds: p99}}
	}
	results := []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, FixedLoad: []v1alpha1.FixedLoadResult{{
		Profile: "branch",
		Repeats: []v1alpha1.RepeatResult{
			{Repeat: 1, Directions: []v1alpha1.DirectionResult{direction("Forward", 100), direction("Reverse", 300)}},
			{Repeat: 2, Directions: []v1alpha1.DirectionResult{direction("Forward", 200), direction("Reverse", 150)}},
		},
	}}}}
	most := int64(250)
	verdicts := evaluate([]v1alpha1.Criterion{
		{Name: "a", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Load: "branch", Size: "64"}, AtMost: &most},
		{Name: "b", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Load: "other", Size: "64"}, AtMost: &most},
	}, []int32{64, 128}, results)
	if len(verdicts) != 2 || verdicts[0].Measured == nil || *verdicts[0].Measured != 300 || verdicts[0].Result != v1alpha1.VerdictFailed {
		t.Errorf("%+v", verdicts)
	}
	if verdicts[1].Measured != nil || verdicts[1].Result != v1alpha1.VerdictInconclusive {
		t.Errorf("%+v", verdicts[1])
	}
}

// TestTaggedFrameCriteria checks that one direction without a tagged frame leaves no figure.
func TestTaggedFrameCriteria(t *testing.T) {
	direction := func(name string, received, mean int64) v1alpha1.LatencyDirectionResult {
		return v1alpha1.LatencyDirectionResult{DirectionResult: v1alpha1.DirectionResult{Direction: name, SentFrames: 9, Latency: v1alpha1.Delays{Samples: 9}},
			TaggedFrames: &v1alpha1.TaggedFramesResult{SentFrames: 20, ReceivedFrames: received, MeanNanoseconds: mean}}
	}
	load := func(directions ...v1alpha1.LatencyDirectionResult) []v1alpha1.LatencyResult {
		return []v1alpha1.LatencyResult{{Load: "ndr100", Directions: directions}}
	}
	most := int64(250)
	verdicts := evaluate([]v1alpha1.Criterion{{Name: "a", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTaggedFrameMean, Load: "ndr100"}, AtMost: &most}}, []int32{64, 128, 256},
		[]v1alpha1.FrameResult{
			{Size: "64", FrameBytes: 64, Latency: load(direction("Forward", 20, 100), direction("Reverse", 20, 251))},
			{Size: "128", FrameBytes: 128, Latency: load(direction("Forward", 20, 100), direction("Reverse", 0, 0))},
			{Size: "256", FrameBytes: 256, Latency: load(direction("Forward", 20, 100), v1alpha1.LatencyDirectionResult{DirectionResult: v1alpha1.DirectionResult{Direction: "Reverse"}})},
		})
	if got := verdicts[0].Measured; got == nil || *got != 251 || verdicts[0].Result != v1alpha1.VerdictFailed {
		t.Errorf("%+v", verdicts[0])
	}
	for _, verdict := range verdicts[1:] {
		if verdict.Measured != nil || verdict.Result != v1alpha1.VerdictFailed {
			t.Errorf("%+v", verdict)
		}
	}
}

// TestRecoveryCriteria checks that a device that did not recover fails, and that it does not fail where the generator is the reason.
func TestRecoveryCriteria(t *testing.T) {
	most := int64(741)
	verdicts := evaluate([]v1alpha1.Criterion{{Name: "a", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricRecovery}, AtMost: &most}}, []int32{64, 128, 256, 512},
		[]v1alpha1.FrameResult{
			{Size: "64", Recovery: &v1alpha1.RecoveryResult{End: v1alpha1.RecoveryRecovered, LowerBoundMilliseconds: new(int64(620)), UpperBoundMilliseconds: &most}},
			{Size: "128", Recovery: &v1alpha1.RecoveryResult{End: v1alpha1.RecoveryRecovered, LowerBoundMilliseconds: new(int64(0)), UpperBoundMilliseconds: new(int64(742))}},
			{Size: "256", Recovery: &v1alpha1.RecoveryResult{End: v1alpha1.RecoveryNotRecovered, LowerBoundMilliseconds: new(int64(5))}},
			{Size: "512", Recovery: &v1alpha1.RecoveryResult{End: v1alpha1.RecoveryGeneratorCeiling}},
		})
	for i, want := range []v1alpha1.VerdictResult{v1alpha1.VerdictPassed, v1alpha1.VerdictFailed, v1alpha1.VerdictFailed, v1alpha1.VerdictInconclusive} {
		if got := verdicts[i]; got.Result != want || (got.Measured == nil) != (i >= 2) {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

func TestReceiveRateCriteria(t *testing.T) {
	least := int64(5000)
	verdicts := evaluate([]v1alpha1.Criterion{{Name: "a", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricReceiveRate}, AtLeast: &least}}, []int32{64, 128},
		[]v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, ReceiveRate: &v1alpha1.ReceiveRateResult{MeanFramesPerSecond: 4999, Trials: []v1alpha1.ReceiveRateTrial{{LossPartsPerMillion: 1}}}}, {Size: "128", FrameBytes: 128}})
	if len(verdicts) != 2 || verdicts[0].Measured == nil || verdicts[0].Result != v1alpha1.VerdictFailed || verdicts[1].Measured != nil {
		t.Errorf("%+v", verdicts)
	}
}

// TestSoakCriteria checks that for a soak, the worst interval counts, and only what the result keeps of it.
func TestSoakCriteria(t *testing.T) {
	most := int64(250)
	verdicts := evaluate([]v1alpha1.Criterion{
		{Name: "a", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyMax, Load: "soak", Size: "64"}, AtMost: &most},
		{Name: "b", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP50, Load: "soak", Size: "64"}, AtMost: &most},
	}, []int32{64}, []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, Soak: &v1alpha1.SoakResult{Worst: v1alpha1.WorstCase{LatencyMaxNanoseconds: 200}}}})
	if verdicts[0].Result != v1alpha1.VerdictPassed || *verdicts[0].Measured != 200 {
		t.Errorf("%+v", verdicts[0])
	}
	if verdicts[1].Result != v1alpha1.VerdictInconclusive || verdicts[1].Measured != nil {
		t.Errorf("%+v", verdicts[1])
	}
}

// TestBackToBackCriteria checks that bursts belong to a frame size alone; that a size has none is not the device's fault.
func TestBackToBackCriteria(t *testing.T) {
	least := int64(4000)
	verdicts := evaluate([]v1alpha1.Criterion{{Name: "a", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricBackToBack}, AtLeast: &least}}, []int32{64, 128},
		[]v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, BackToBack: &v1alpha1.BackToBackResult{MeanFrames: 4100}}, {Size: "128", FrameBytes: 128}})
	if len(verdicts) != 2 || verdicts[0].Result != v1alpha1.VerdictPassed || verdicts[1].Result != v1alpha1.VerdictInconclusive {
		t.Fatalf("%+v", verdicts)
	}
	if want := "BackToBackFrames is 4100, at least 4000 required"; verdicts[0].Message != want {
		t.Errorf("message %q, want %q", verdicts[0].Message, want)
	}
}
