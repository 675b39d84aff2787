package acceptance

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestRatesNextToOtherWork checks that a rate next to other work never fails: its bound rests on an assumption.
func TestRatesNextToOtherWork(t *testing.T) {
	rate, pacing := v1alpha1.MetricReceiveRate, v1alpha1.DoubtUnsteadyPacing
	check(t, v1alpha1.FrameResult{Size: "64", FrameBytes: 64, ReceiveRate: &v1alpha1.ReceiveRateResult{
		MeanFramesPerSecond: 1000, UpperBoundFramesPerSecond: new(int64(1025)), Doubts: []v1alpha1.DoubtCode{pacing},
		Trials: []v1alpha1.ReceiveRateTrial{{Trial: 1, ForwardingFramesPerSecond: 1000, LossPartsPerMillion: 500_000}},
	}},
		decided{name: "met", metric: rate, atLeast: 1000, want: passed},
		decided{name: "within what the work explains", metric: rate, atLeast: 1025, want: inconclusive, code: pacing},
		decided{name: "beyond it", metric: rate, atLeast: 1026, want: inconclusive, code: pacing},
		decided{name: "at most, and measured more", metric: rate, atMost: 999, want: failed})
}

// TestRatesOfACoreThatChanged checks that a rate is not Failed where its core may have been slow, and is Passed where even that rate is enough.
func TestRatesOfACoreThatChanged(t *testing.T) {
	drift := v1alpha1.DoubtCalibrationDrift
	check(t, throughput(1000, 1020, v1alpha1.CauseDeviceLoss, v1alpha1.Regular, drift),
		decided{name: "throughput, met", metric: v1alpha1.MetricThroughputFramesPerSecond, atLeast: 1000, want: passed},
		decided{name: "throughput, missed", metric: v1alpha1.MetricThroughputFramesPerSecond, atLeast: 1001, want: inconclusive, code: drift},
		decided{name: "throughput, at most", metric: v1alpha1.MetricThroughputFramesPerSecond, atMost: 1000, want: inconclusive, code: drift},
		decided{name: "throughput, too high", metric: v1alpha1.MetricThroughputFramesPerSecond, atMost: 999, want: failed})
	check(t, v1alpha1.FrameResult{Size: "64", FrameBytes: 64, ReceiveRate: &v1alpha1.ReceiveRateResult{
		MeanFramesPerSecond: 1000, Doubts: []v1alpha1.DoubtCode{drift},
		Trials: []v1alpha1.ReceiveRateTrial{{Trial: 1, ForwardingFramesPerSecond: 1000, LossPartsPerMillion: 500_000}},
	}},
		decided{name: "receive rate, met", metric: v1alpha1.MetricReceiveRate, atLeast: 1000, want: passed},
		decided{name: "receive rate, missed", metric: v1alpha1.MetricReceiveRate, atLeast: 1001, want: inconclusive, code: drift})
}
