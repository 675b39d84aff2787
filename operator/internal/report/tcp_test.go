package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// tcp returns a run of TCP alone, in two repeats.
func tcp(t *testing.T) (*v1alpha1.BenchmarkRun, []measure.Record) {
	run, _ := fixture(t)
	run.Spec.Experiment.Measurements = v1alpha1.Measurements{
		SettleMilliseconds: 100, Repeats: 2,
		TCP: &v1alpha1.TCP{Streams: []int32{1, 4}, Directions: v1alpha1.DirectionsBoth, DurationSeconds: 10, OmitSeconds: new(int32(2))},
	}
	run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{
		{Name: "fast", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput}, AtLeast: new(int64(1_000_000_000))},
		{Name: "clean", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPRetransmits, Streams: 4}, AtMost: new(int64(10))},
	}
	run.Status.Results, run.Status.Summary = nil, nil
	run.Status.TCP, run.Status.CPU = tcpResults(), tcpUse()
	run.Status.Acceptance = acceptance.Evaluate(run.Spec.Experiment, figure.Of(run.Status))
	conditions(run, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, acceptance.Message(run.Status.Acceptance), v1alpha1.ConditionSucceeded, v1alpha1.ConditionAccepted)
	run.Status.Generator, run.Status.Warnings = nil, []v1alpha1.Warning{{Code: v1alpha1.WarningEndpointCeiling, Message: "An end may be the limit."}}
	return run, tcpRecords()
}

func tcpResults() *v1alpha1.TCPResult {
	direction := func(name string, goodput, retransmits int64) v1alpha1.TCPDirectionResult {
		return v1alpha1.TCPDirectionResult{
			Direction: name, GoodputBitsPerSecond: goodput, SentBitsPerSecond: goodput + 1_000_000, Retransmits: retransmits,
			EfficiencyPartsPerMillion: 999_980, RoundTripTime: &v1alpha1.TCPRoundTripTime{MinNanoseconds: 40_000, MeanNanoseconds: 133_000, MaxNanoseconds: 215_000},
			SenderCPUPartsPerMillion: 655_000, ReceiverCPUPartsPerMillion: 950_000, MaximumSegmentBytes: 1448, CongestionControl: "cubic",
			Intervals: []v1alpha1.TCPInterval{{StartMilliseconds: 0, SentBitsPerSecond: goodput, Retransmits: retransmits}, {StartMilliseconds: 1000, SentBitsPerSecond: goodput}},
			Statistics: []v1alpha1.Statistics{
				{Metric: v1alpha1.MetricTCPGoodput, N: 2, Mean: goodput, StandardDeviation: 1_414_214, CoefficientOfVariationPartsPerMillion: 1500, ConfidenceLow: new(int64(goodput - 12_700_000)), ConfidenceHigh: new(int64(goodput + 12_700_000)), Minimum: goodput - 1_000_000, Maximum: goodput + 1_000_000, Values: []int64{goodput - 1_000_000, goodput + 1_000_000}},
				{Metric: v1alpha1.MetricTCPRetransmits, N: 2, Mean: retransmits, Minimum: retransmits, Maximum: retransmits, ConfidenceLow: new(int64(retransmits)), ConfidenceHigh: new(int64(retransmits)), Values: []int64{retransmits, retransmits}},
			},
		}
	}
	silent := direction("Reverse", 880_000_000, 12)
	silent.RoundTripTime = nil
	return &v1alpha1.TCPResult{
		Streams: []v1alpha1.TCPStreamsResult{
			{Streams: 1, Directions: []v1alpha1.TCPDirectionResult{direction("Forward", 940_000_000, 0), silent}},
			{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{direction("Forward", 2_470_000_000, 7), direction("Reverse", 900_000_000, 120)}},
		},
		Ends: []v1alpha1.TCPEnd{{Name: "west", Program: &v1alpha1.Program{Name: v1alpha1.ProgramIperf3, Version: "3.12"}, MTUBytes: 1500, Offloads: []string{"TSO", "GRO"}}, {Name: "east", Program: &v1alpha1.Program{Name: v1alpha1.ProgramIperf3, Version: "3.12"}, MTUBytes: 1500}},
	}
}

// tcpUse returns what the chain used with each number of connections.
func tcpUse() []v1alpha1.CPUResult {
	used := func(streams int32, softirq int64) v1alpha1.CPUResult {
		return v1alpha1.CPUResult{FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput, Streams: streams}, Trials: 2, Node: &v1alpha1.NodeCPU{CPUs: 8, UserMilliCPU: 200, SystemMilliCPU: 300, SoftirqMilliCPU: softirq, StealMilliCPU: 10}, Functions: []v1alpha1.FunctionCPU{{
			Name: "fw", ProcessMilliCPU: new(int64(2)), DroppedFrames: new(int64(0)),
			Counters: []v1alpha1.FunctionCounter{{Name: "enteredPackets", Value: 8}, {Name: "knownFlowPackets", Value: 900_000}, {Name: "matchedPackets", Value: 8}},
		}}}
	}
	return []v1alpha1.CPUResult{used(1, 410), used(4, 1500)}
}

func tcpRecords() []measure.Record {
	var records []measure.Record
	for i, streams := range []int{1, 4} {
		direction := func(name measure.Direction) measure.TCPDirectionOutcome {
			return measure.TCPDirectionOutcome{
				Direction: name, SentBytes: 1_300_000_000, SentNanoseconds: 1e10, ReceivedBytes: 1_250_000_000, ReceivedNanoseconds: 1e10,
				Retransmits: int64(i), RTTMinNanoseconds: 1, RTTMeanNanoseconds: 2, RTTMaxNanoseconds: 3, SenderCPUPartsPerMillion: 4, ReceiverCPUPartsPerMillion: 5,
			}
		}
		records = append(records, measure.Record{
			Index: i, Stage: measure.StageTCP, Load: fmt.Sprintf("streams-%d", streams), Measurer: "m",
			Trial: measure.Trial{DurationNanoseconds: 1e10, TCP: &measure.TCPTrial{Streams: streams}},
			Outcome: measure.Outcome{
				StartedAt: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC), SendingNanoseconds: 1e10, TotalNanoseconds: 12e9,
				TCP: &measure.TCPOutcome{Directions: []measure.TCPDirectionOutcome{direction(measure.Forward), direction(measure.Reverse)}},
			},
		})
	}
	return records
}

// unrepeated returns points of numbers and rates.
func unrepeated(points ...[2]int64) (out []Point) {
	for _, p := range points {
		out = append(out, Point{Number: p[0], BitsPerSecond: p[1]})
	}
	return out
}

func TestScale(t *testing.T) {
	point := func(number, rate, extrapolated, efficiency int64) ScalingPoint {
		return ScalingPoint{Point{Number: number, BitsPerSecond: rate}, extrapolated, efficiency}
	}
	for name, test := range map[string]struct {
		points []Point
		want   Scaling
		none   bool
	}{
		"one number":            {points: unrepeated([2]int64{1, 100}), none: true},
		"nothing":               {none: true},
		"a base of nothing":     {points: unrepeated([2]int64{1, 0}, [2]int64{2, 100}), none: true},
		"a number that is none": {points: unrepeated([2]int64{0, 100}, [2]int64{2, 100}), none: true},
		"linear": {points: unrepeated([2]int64{4, 400}, [2]int64{1, 100}, [2]int64{2, 200}), want: Scaling{
			BaseNumber: 1, BaseBitsPerSecond: 100, EquivalentThousandths: 4000,
			Points: []ScalingPoint{point(1, 100, 100, 1_000_000), point(2, 200, 200, 1_000_000), point(4, 400, 400, 1_000_000)},
		}},
		// Threads of an encryption gateway (ViPNet on ESXi, 2016) as if 4 were the
		// base, in Mbit/s; from 10 to 20 it still grows.
		"the gateway": {points: unrepeated([2]int64{4, 1050}, [2]int64{10, 2470}, [2]int64{20, 3360}), want: Scaling{
			BaseNumber: 4, BaseBitsPerSecond: 262, EquivalentThousandths: 12_800,
			Points: []ScalingPoint{point(4, 1050, 1050, 1_000_000), point(10, 2470, 2625, 940_952), point(20, 3360, 5250, 640_000)},
		}},
		"a cap at 14, by one measurement each": {points: unrepeated([2]int64{1, 240}, [2]int64{10, 2400}, [2]int64{14, 3360}, [2]int64{20, 3370}), want: Scaling{
			BaseNumber: 1, BaseBitsPerSecond: 240, EquivalentThousandths: 14_042,
			Points: []ScalingPoint{point(1, 240, 240, 1_000_000), point(10, 2400, 2400, 1_000_000), point(14, 3360, 3360, 1_000_000), point(20, 3370, 4800, 702_083)},
		}},
		"more is less": {points: unrepeated([2]int64{1, 100}, [2]int64{2, 80}), want: Scaling{
			BaseNumber: 1, BaseBitsPerSecond: 100, EquivalentThousandths: 1000,
			Points: []ScalingPoint{point(1, 100, 100, 1_000_000), point(2, 80, 200, 400_000)},
		}},
		"5 % more": {points: unrepeated([2]int64{1, 100}, [2]int64{2, 105}), want: Scaling{
			BaseNumber: 1, BaseBitsPerSecond: 100, EquivalentThousandths: 1050,
			Points: []ScalingPoint{point(1, 100, 100, 1_000_000), point(2, 105, 200, 525_000)},
		}},
		"a dip before growth": {points: unrepeated([2]int64{1, 100}, [2]int64{2, 90}, [2]int64{4, 300}), want: Scaling{
			BaseNumber: 1, BaseBitsPerSecond: 100, EquivalentThousandths: 3000,
			Points: []ScalingPoint{point(1, 100, 100, 1_000_000), point(2, 90, 200, 450_000), point(4, 300, 400, 750_000)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Scale(test.points)
			if ok == test.none {
				t.Fatalf("there is a result: %v", ok)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Point{})); diff != "" && ok {
				t.Errorf("scaling (-want +got):\n%s", diff)
			}
		})
	}
}
