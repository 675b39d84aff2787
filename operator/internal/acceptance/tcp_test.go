package acceptance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestTCP(t *testing.T) {
	result := &v1alpha1.TCPResult{Streams: []v1alpha1.TCPStreamsResult{
		{Streams: 1, Directions: []v1alpha1.TCPDirectionResult{
			{Direction: "Forward", GoodputBitsPerSecond: 900, Retransmits: 3, RoundTripTime: &v1alpha1.TCPRoundTripTime{MinNanoseconds: 5, MeanNanoseconds: 70, MaxNanoseconds: 99}},
			{Direction: "Reverse", GoodputBitsPerSecond: 800, Retransmits: 1, RoundTripTime: &v1alpha1.TCPRoundTripTime{MinNanoseconds: 5, MeanNanoseconds: 60, MaxNanoseconds: 99}},
		}},
		{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{{
			Direction: "Forward", GoodputBitsPerSecond: 3000,
			Statistics: []v1alpha1.Statistics{{Metric: v1alpha1.MetricTCPGoodput, N: 3, ConfidenceLow: 2500, ConfidenceHigh: 3500}},
		}}},
	}}
	asked := &v1alpha1.TCP{Streams: []int32{1, 4}}
	passed, failed := v1alpha1.VerdictPassed, v1alpha1.VerdictFailed
	for name, test := range map[string]struct {
		criterion v1alpha1.Criterion
		result    *v1alpha1.TCPResult
		want      []v1alpha1.Verdict
	}{
		"every number, the worse direction": {
			v1alpha1.Criterion{Metric: v1alpha1.MetricTCPGoodput, AtLeast: new(int64(850))}, result,
			[]v1alpha1.Verdict{
				{Streams: 1, Result: failed, Measured: new(int64(800)), Message: "TCPGoodputBitsPerSecond is 800, at least 850 required"},
				{Streams: 4, Result: passed, Measured: new(int64(3000)), Message: "TCPGoodputBitsPerSecond is 3000, at least 850 required"},
			},
		},
		"one number, the worse direction": {
			v1alpha1.Criterion{Metric: v1alpha1.MetricTCPRetransmits, Streams: new(int32(1)), AtMost: new(int64(2))}, result,
			[]v1alpha1.Verdict{{Streams: 1, Result: failed, Measured: new(int64(3)), Message: "TCPRetransmits is 3, at most 2 allowed"}},
		},
		"round trip time": {
			v1alpha1.Criterion{Metric: v1alpha1.MetricTCPRoundTripTimeMean, AtMost: new(int64(70))}, result,
			[]v1alpha1.Verdict{
				{Streams: 1, Result: passed, Measured: new(int64(70)), Message: "TCPRoundTripTimeMeanNanoseconds is 70, at most 70 allowed"},
				{Streams: 4, Result: failed, Message: "TCPRoundTripTimeMeanNanoseconds has no figure: direction Forward: the sender's kernel told none"},
			},
		},
		"confidence limit": {
			v1alpha1.Criterion{Metric: v1alpha1.MetricTCPGoodput, Streams: new(int32(4)), Statistic: v1alpha1.StatisticConfidenceLimit, AtLeast: new(int64(2600))}, result,
			[]v1alpha1.Verdict{{Streams: 4, Result: failed, Measured: new(int64(2500)), Message: "TCPGoodputBitsPerSecond is 2500 at the lower end of its 95 % confidence interval, at least 2600 required"}},
		},
		"a number that was not measured": {
			v1alpha1.Criterion{Metric: v1alpha1.MetricTCPGoodput, Streams: new(int32(9)), AtLeast: new(int64(1))}, result,
			[]v1alpha1.Verdict{{Streams: 9, Result: failed, Message: "TCPGoodputBitsPerSecond has no figure: 9 connections were not measured"}},
		},
		"nothing measured": {
			v1alpha1.Criterion{Metric: v1alpha1.MetricTCPGoodput, Streams: new(int32(1)), AtLeast: new(int64(1))}, nil,
			[]v1alpha1.Verdict{{Streams: 1, Result: failed, Message: "TCPGoodputBitsPerSecond has no figure: TCP was not measured"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			criteria := []v1alpha1.Criterion{{Name: "other", Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR", AtLeast: new(int64(1))}, test.criterion}
			if diff := cmp.Diff(test.want, EvaluateTCP(criteria, asked, test.result)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if got := Evaluate(criteria, []int32{64}, nil); len(got) != 1 || got[0].Criterion != "other" {
				t.Errorf("of frames: %+v", got)
			}
		})
	}
	verdict := v1alpha1.Verdict{Criterion: "fast", Streams: 4, Result: failed, Message: "M"}
	if got, want := Message([]v1alpha1.Verdict{verdict}), "1 of 1 acceptance checks failed: fast for 4 TCP connections: M"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
