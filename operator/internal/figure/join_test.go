package figure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

func side(rate, p99, lost, goodput int64) Results {
	direction := v1alpha1.LatencyDirectionResult{DirectionResult: v1alpha1.DirectionResult{
		Direction: "Forward", SentFrames: 1000, LossPartsPerMillion: lost,
		Latency: v1alpha1.Delays{Samples: 10, MeanNanoseconds: p99 / 2, P99Nanoseconds: p99},
	}}
	slower := direction
	slower.Direction, slower.Latency.P99Nanoseconds = "Reverse", p99+1
	return Results{
		Frames: []v1alpha1.FrameResult{{
			Size: "64", FrameBytes: 64,
			Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: rate}},
			Latency:    []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{direction, slower}}},
		}},
		TCP: &v1alpha1.TCPResult{Streams: []v1alpha1.TCPStreamsResult{{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{
			{Direction: "Forward", GoodputBitsPerSecond: goodput}, {Direction: "Reverse", GoodputBitsPerSecond: goodput - 1},
		}}}},
	}
}

// difference is one figure of both sides.
type difference struct {
	key                v1alpha1.FigureKey
	without, with, ppm *int64
}

func differences(without, with Results) []difference {
	var out []difference
	for _, c := range Join(without.Figures(), with.Figures()) {
		out = append(out, difference{c.FigureKey, c.Before, c.After, Difference(c.Before, c.After)})
	}
	return out
}

func TestJoin(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	want := []difference{
		{key: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, without: n(400), with: n(300), ppm: n(-250_000)},
		// No share can be computed of 0.
		{key: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLoss, Load: "idle"}, without: n(0), with: n(9)},
		{key: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLatencyMean, Load: "idle"}, without: n(500), with: n(1000), ppm: n(1_000_000)},
		// The worse direction's.
		{key: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLatencyP99, Load: "idle"}, without: n(1001), with: n(2001), ppm: n(999_000)},
		{key: v1alpha1.FigureKey{Streams: 4, Metric: v1alpha1.MetricTCPGoodput}, without: n(999), with: n(1999), ppm: n(1_001_001)},
		{key: v1alpha1.FigureKey{Streams: 4, Metric: v1alpha1.MetricTCPRetransmits}, without: n(0), with: n(0)},
	}
	if diff := cmp.Diff(want, differences(side(400, 1000, 0, 1000), side(300, 2000, 9, 2000)), cmp.AllowUnexported(difference{})); diff != "" {
		t.Error(diff)
	}
	half := differences(side(400, 1000, 0, 1000), Results{})
	if len(half) != len(want) {
		t.Fatalf("%d rows before the other side is measured, want %d", len(half), len(want))
	}
	for _, row := range half {
		if row.without == nil || row.with != nil || row.ppm != nil {
			t.Errorf("%+v", row)
		}
	}
	if none := differences(Results{}, Results{}); none != nil {
		t.Errorf("got %v", none)
	}
}

func TestDifference(t *testing.T) {
	for _, test := range []struct{ without, with, want int64 }{
		{100, 100, 0}, {100, 101, 10_000}, {3, 2, -333_333}, {1, 0, -1_000_000},
		{math.MaxInt64, 0, -1_000_000}, {1, math.MaxInt64, math.MaxInt64},
	} {
		if got := Difference(&test.without, &test.with); got == nil || *got != test.want {
			t.Errorf("%d to %d is %v, want %d", test.without, test.with, got, test.want)
		}
	}
	if got := Difference(new(int64(0)), new(int64(1))); got != nil {
		t.Errorf("of nothing %d", *got)
	}
}

func TestJoinConnections(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	side := func(rate, held int64) Results {
		return Results{Connections: &v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{
			{Name: "web", EstablishedConnectionsPerSecond: n(rate), FailedPartsPerMillion: 10}, {Name: "table", HeldConnections: n(held)},
		}}}
	}
	want := []difference{
		{key: v1alpha1.FigureKey{Load: "web", Metric: v1alpha1.MetricConnectionsEstablished}, without: n(1000), with: n(900), ppm: n(-100_000)},
		{key: v1alpha1.FigureKey{Load: "web", Metric: v1alpha1.MetricConnectionsFailed}, without: n(10), with: n(10), ppm: n(0)},
		{key: v1alpha1.FigureKey{Load: "table", Metric: v1alpha1.MetricConnectionsHeld}, without: n(50), with: n(50), ppm: n(0)},
		{key: v1alpha1.FigureKey{Load: "table", Metric: v1alpha1.MetricConnectionsFailed}, without: n(0), with: n(0)},
	}
	if diff := cmp.Diff(want, differences(side(1000, 50), side(900, 50)), cmp.AllowUnexported(difference{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExport checks that each figure that is compared is among those that the manager has in its metrics, of both directions, and that no
// two of these share what their labels say.
func TestExport(t *testing.T) {
	results, _ := everything()
	all := results.Figures()
	type labels struct {
		v1alpha1.FigureKey
		direction, function string
	}
	keys, found := map[v1alpha1.FigureKey]bool{}, map[labels]bool{}
	for _, f := range Export(all) {
		of := labels{f.FigureKey, f.Direction, f.Function}
		if found[of] {
			t.Errorf("%+v is there twice", of)
		}
		found[of], keys[f.FigureKey] = true, true
	}
	for _, c := range Join(all, nil) {
		if !keys[c.FigureKey] {
			t.Errorf("%+v is compared and not exported", c.FigureKey)
		}
	}
	for _, f := range Export(side(400, 1000, 0, 1000).Figures()) {
		if f.Metric == v1alpha1.MetricLatencyP99 {
			keys[v1alpha1.FigureKey{Load: f.Direction}] = true
		}
	}
	if !keys[v1alpha1.FigureKey{Load: "Forward"}] || !keys[v1alpha1.FigureKey{Load: "Reverse"}] {
		t.Error("a direction is not exported")
	}
}
