package page

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
)

// TestSteps checks that a frame that was lost counts as infinite: with a tenth lost, the distribution ends at 0.9 and its complement at 0.1.
// Without loss they end at 1 and at 0.
func TestSteps(t *testing.T) {
	delays, err := distribution.Decode(distribution.Encode(func(yield func(uint64, uint64) bool) { _ = yield(10_000, 45) && yield(20_000, 45) }))
	if err != nil {
		t.Fatal(err)
	}
	for received, want := range map[uint64][2]float64{90: {0.45, 0.9}, 100: {0.5, 1}} {
		cdf, ccdf := steps(report.DelayDistribution{Delays: delays, SentFrames: 100, ReceivedFrames: received})
		if len(cdf) != 3 || cdf[0].Y != 0 || ccdf[0].Y != 1 {
			t.Fatalf("the steps are %v and %v", cdf, ccdf)
		}
		for i, share := range want {
			if p, q := cdf[i+1], ccdf[i+1]; math.Abs(p.Y-share) > 1e-9 || math.Abs(q.Y-(1-share)) > 1e-9 || p.X < 10*float64(i+1) || p.X > 10.2*float64(i+1) {
				t.Errorf("with %d of 100 received, step %d is %v and %v, want a share of %v", received, i, p, q, share)
			}
		}
	}
}

// TestEndsOfDistributions checks that a curve with loss is flat beyond the slowest frame of all, and that the complement of one without goes down to the axis.
func TestEndsOfDistributions(t *testing.T) {
	lines := func() []plot.Line {
		return []plot.Line{{Points: []plot.Point{{X: 1, Y: 1}, {X: 10, Y: 0.1}}}, {Points: []plot.Point{{X: 1, Y: 1}, {X: 10, Y: 0.03}, {X: 40, Y: 0}}}}
	}
	layers, bottom := complements(lines())
	ends := func(layer plot.Layer) plot.Point {
		points := layer.(plot.Line).Points
		return points[len(points)-1]
	}
	if lossy, whole := ends(layers[0]), ends(layers[1]); bottom != 0.02 || lossy != (plot.Point{X: 50, Y: 0.1}) || whole != (plot.Point{X: 40, Y: bottom}) {
		t.Errorf("above %g the complements end at %v and %v", bottom, lossy, whole)
	}
	below := flat([]plot.Line{{Points: []plot.Point{{X: 10, Y: 0.9}}}, {Points: []plot.Point{{X: 40, Y: 1}}}}, func(share float64) bool { return share < 1 })
	if lossy, whole := ends(below[0]), ends(below[1]); lossy != (plot.Point{X: 50, Y: 0.9}) || whole != (plot.Point{X: 40, Y: 1}) {
		t.Errorf("the distributions end at %v and %v", lossy, whole)
	}
}

// TestSeriesOfTwoDirections checks that the largest delay of a slot is that of the direction in which something arrived, and that a direction
// of which no frame is missing is drawn at 0 next to one of which some are.
func TestSeriesOfTwoDirections(t *testing.T) {
	series := func(received, longest uint64) *measure.Series {
		s := &measure.Series{SlotNanoseconds: 1e8}
		for n := range uint64(3) {
			got := received
			if n != 1 {
				got = 10
			}
			s.Add(measure.Slot{DueFrames: 10, SentFrames: 10, ReceivedFrames: got, DelaySum: got * longest, MaxNanoseconds: longest * min(got, 1), Delays: []measure.DelayCount{{Nanoseconds: longest, Frames: got}}})
		}
		return s
	}
	record := func(second uint64) measure.Record {
		return measure.Record{Outcome: measure.Outcome{Directions: []measure.DirectionOutcome{
			{Direction: measure.Forward, Series: series(10, 50_000)}, {Direction: measure.Reverse, Series: series(second, 40_000)},
		}}}
	}
	// The curve of the largest delays is not interrupted, so it is the same as that of a trial in which all arrived.
	some, all := seriesOf(record(0), "x"), seriesOf(record(10), "x")
	if len(some) != 2 || len(all) != 1 || largestIn(t, string(some[0].Picture)) != largestIn(t, string(all[0].Picture)) {
		t.Errorf("%d and %d pictures, or other largest delays", len(some), len(all))
	}
	if n := strings.Count(string(some[1].Picture), `class="s1" d="M`); n < 2 {
		t.Errorf("the direction of which none is missing has %d lines, want one in the legend and one in the picture", n)
	}
}

// largestIn returns the lines of the largest delays.
func largestIn(t *testing.T, svg string) string {
	t.Helper()
	lines := regexp.MustCompile(`<path class="s1"[^>]*>`).FindAllString(svg, -1)
	if len(lines) < 2 {
		t.Fatalf("%d lines", len(lines))
	}
	return strings.Join(lines, "")
}
