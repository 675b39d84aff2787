package acceptance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

func TestTCP(t *testing.T) {
	result := &v1alpha1.TCPResult{Streams: []v1alpha1.TCPStreamsResult{
		{Streams: 1, Directions: []v1alpha1.TCPDirectionResult{
			{Direction: "Forward", GoodputBitsPerSecond: 900, Retransmits: 3, RoundTripTime: &v1alpha1.TCPRoundTripTime{MinNanoseconds: 5, MeanNanoseconds: 70, MaxNanoseconds: 99}},
			{Direction: "Reverse", GoodputBitsPerSecond: 800, Retransmits: 1, RoundTripTime: &v1alpha1.TCPRoundTripTime{MinNanoseconds: 5, MeanNanoseconds: 60, MaxNanoseconds: 99}},
		}},
		{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{{
			Direction: "Forward", GoodputBitsPerSecond: 3000,
			Statistics: []v1alpha1.Statistics{{Metric: v1alpha1.MetricTCPGoodput, N: 3, ConfidenceLow: new(int64(2500)), ConfidenceHigh: new(int64(3500))}},
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
			v1alpha1.Criterion{AtLeast: new(int64(850)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput}}, result,
			[]v1alpha1.Verdict{
				{Result: failed, FigureKey: v1alpha1.FigureKey{Streams: 1}, Measured: new(int64(800)), Message: "TCPGoodputBitsPerSecond is 800, at least 850 required"},
				{Result: passed, FigureKey: v1alpha1.FigureKey{Streams: 4}, Measured: new(int64(3000)), Message: "TCPGoodputBitsPerSecond is 3000, at least 850 required"},
			},
		},
		"one number, the worse direction": {
			v1alpha1.Criterion{AtMost: new(int64(2)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPRetransmits, Streams: 1}}, result,
			[]v1alpha1.Verdict{{Result: failed, FigureKey: v1alpha1.FigureKey{Streams: 1}, Measured: new(int64(3)), Message: "TCPRetransmits is 3, at most 2 allowed"}},
		},
		"round trip time": {
			v1alpha1.Criterion{AtMost: new(int64(70)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPRoundTripTimeMean}}, result,
			[]v1alpha1.Verdict{
				{Result: passed, FigureKey: v1alpha1.FigureKey{Streams: 1}, Measured: new(int64(70)), Message: "TCPRoundTripTimeMeanNanoseconds is 70, at most 70 allowed"},
				{Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotCounted}, FigureKey: v1alpha1.FigureKey{Streams: 4}, Message: "TCPRoundTripTimeMeanNanoseconds, Forward, has no figure: the generator does not count it on this path (NotCounted): name another metric, or use a generator that counts it"},
			},
		},
		"confidence limit": {
			v1alpha1.Criterion{Statistic: v1alpha1.StatisticConfidenceLimit, FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput, Streams: 4}, AtLeast: new(int64(2600))}, result,
			[]v1alpha1.Verdict{{Result: failed, FigureKey: v1alpha1.FigureKey{Streams: 4}, Measured: new(int64(2500)), Message: "TCPGoodputBitsPerSecond is 2500 at the lower end of its 95 % confidence interval, at least 2600 required"}},
		},
		"a number that was not measured": {
			v1alpha1.Criterion{AtLeast: new(int64(1)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput, Streams: 9}}, result,
			[]v1alpha1.Verdict{{Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, FigureKey: v1alpha1.FigureKey{Streams: 9}, Message: "TCPGoodputBitsPerSecond has no figure: there is no measurement of 9 TCP connections (NotMeasured): measure it, or leave the criterion out"}},
		},
		"nothing measured": {
			v1alpha1.Criterion{AtLeast: new(int64(1)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput, Streams: 1}}, nil,
			[]v1alpha1.Verdict{{Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, FigureKey: v1alpha1.FigureKey{Streams: 1}, Message: "TCPGoodputBitsPerSecond has no figure: there is no measurement of 1 TCP connection (NotMeasured): measure it, or leave the criterion out"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			criteria := []v1alpha1.Criterion{{Name: "other", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, AtLeast: new(int64(1))}, test.criterion}
			for i := range test.want {
				test.want[i].Metric = test.criterion.Metric
			}
			experiment := v1alpha1.Experiment{Acceptance: criteria, Measurements: v1alpha1.Measurements{TCP: asked}}
			if diff := cmp.Diff(test.want, Evaluate(experiment, figure.Results{TCP: test.result}.Figures())); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
	verdict := v1alpha1.Verdict{Criterion: "fast", FigureKey: v1alpha1.FigureKey{Streams: 4}, Result: failed, Message: "M"}
	if got, want := Message([]v1alpha1.Verdict{verdict}), "1 of 1 acceptance checks failed: fast for 4 TCP connections: M"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
