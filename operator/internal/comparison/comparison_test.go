package comparison

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

func side(rate, p99, lost, goodput int64) Side {
	direction := v1alpha1.DirectionResult{
		Direction: "Forward", SentFrames: 1000, LossPartsPerMillion: lost,
		Latency: v1alpha1.Delays{Samples: 10, MeanNanoseconds: p99 / 2, P99Nanoseconds: p99},
	}
	slower := direction
	slower.Direction, slower.Latency.P99Nanoseconds = "Reverse", p99+1
	return Side{
		Frames: []v1alpha1.FrameResult{{
			FrameBytes: 64,
			Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: rate}},
			Latency:    []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.DirectionResult{direction, slower}}},
		}},
		TCP: &v1alpha1.TCPResult{Streams: []v1alpha1.TCPStreamsResult{{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{
			{Direction: "Forward", GoodputBitsPerSecond: goodput}, {Direction: "Reverse", GoodputBitsPerSecond: goodput - 1},
		}}}},
	}
}

func TestOf(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	want := []v1alpha1.NoisyNeighborDifference{
		{FrameBytes: 64, Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR", Without: n(400), With: n(300), DifferencePartsPerMillion: n(-250_000)},
		// Of nothing there is no share.
		{FrameBytes: 64, Metric: v1alpha1.MetricLoss, Load: "idle", Without: n(0), With: n(9)},
		{FrameBytes: 64, Metric: v1alpha1.MetricLatencyMean, Load: "idle", Without: n(500), With: n(1000), DifferencePartsPerMillion: n(1_000_000)},
		// The worse direction's.
		{FrameBytes: 64, Metric: v1alpha1.MetricLatencyP99, Load: "idle", Without: n(1001), With: n(2001), DifferencePartsPerMillion: n(999_000)},
		{Streams: 4, Metric: v1alpha1.MetricTCPGoodput, Without: n(999), With: n(1999), DifferencePartsPerMillion: n(1_001_001)},
		{Streams: 4, Metric: v1alpha1.MetricTCPRetransmits, Without: n(0), With: n(0)},
	}
	if diff := cmp.Diff(want, Of(side(400, 1000, 0, 1000), side(300, 2000, 9, 2000))); diff != "" {
		t.Error(diff)
	}
	half := Of(side(400, 1000, 0, 1000), Side{})
	if len(half) != len(want) {
		t.Fatalf("%d rows before the other side is measured, want %d", len(half), len(want))
	}
	for _, row := range half {
		if row.Without == nil || row.With != nil || row.DifferencePartsPerMillion != nil {
			t.Errorf("%+v", row)
		}
	}
	if none := Of(Side{}, Side{}); none != nil {
		t.Errorf("got %v", none)
	}
}

func TestDifference(t *testing.T) {
	for _, test := range []struct{ without, with, want int64 }{
		{100, 100, 0}, {100, 101, 10_000}, {3, 2, -333_333}, {1, 0, -1_000_000},
		{math.MaxInt64, 0, -1_000_000}, {1, math.MaxInt64, math.MaxInt64},
	} {
		if got := Difference(test.without, test.with); got == nil || *got != test.want {
			t.Errorf("%d to %d is %v, want %d", test.without, test.with, got, test.want)
		}
	}
	if got := Difference(0, 1); got != nil {
		t.Errorf("of nothing %d", *got)
	}
}

// The list is bounded as the API bounds it.
func TestBound(t *testing.T) {
	var many Side
	for i := range int32(200) {
		many.Frames = append(many.Frames, v1alpha1.FrameResult{FrameBytes: 64 + i, Throughput: []v1alpha1.ThroughputResult{
			{Goal: "a", FramesPerSecond: 1}, {Goal: "b", FramesPerSecond: 1}, {Goal: "c", FramesPerSecond: 1}, {Goal: "d", FramesPerSecond: 1},
		}})
	}
	if got := len(Of(many, many)); got != mostRows {
		t.Errorf("%d rows", got)
	}
}

func TestOfConnections(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	side := func(rate, held int64) Side {
		return Side{Connections: &v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{
			{Name: "web", EstablishedConnectionsPerSecond: n(rate), FailedPartsPerMillion: 10}, {Name: "table", HeldConnections: n(held)},
		}}}
	}
	want := []v1alpha1.NoisyNeighborDifference{
		{Load: "web", Metric: v1alpha1.MetricConnectionsEstablished, Without: n(1000), With: n(900), DifferencePartsPerMillion: n(-100_000)},
		{Load: "web", Metric: v1alpha1.MetricConnectionsFailed, Without: n(10), With: n(10), DifferencePartsPerMillion: n(0)},
		{Load: "table", Metric: v1alpha1.MetricConnectionsHeld, Without: n(50), With: n(50), DifferencePartsPerMillion: n(0)},
		{Load: "table", Metric: v1alpha1.MetricConnectionsFailed, Without: n(0), With: n(0)},
	}
	if diff := cmp.Diff(want, Of(side(1000, 50), side(900, 50))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
