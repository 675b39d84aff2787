package study

import (
	"testing"

	"vnfbench.io/operator/internal/analysis"
)

// TestJudge checks that the whole interval decides: where only its middle is within the range or outside of it, nothing does.
func TestJudge(t *testing.T) {
	interval := func(low, high float64) analysis.Estimate {
		return analysis.Estimate{Value: (low + high) / 2, Low: low, High: high}
	}
	both, least, most := Range{Least: new(2.0), Most: new(4.0)}, Range{Least: new(2.0)}, Range{Most: new(4.0)}
	for _, tc := range []struct {
		in   Range
		of   analysis.Estimate
		want Verdict
	}{
		{both, interval(2.5, 3.5), Reproduced},
		{both, interval(1.9, 3.5), CannotBeShown},
		{both, interval(2.5, 4.1), CannotBeShown},
		{both, interval(1, 5), CannotBeShown},
		{both, interval(1, 2.1), CannotBeShown},
		{both, interval(3.9, 6), CannotBeShown},
		{both, interval(1, 1.9), NotReproduced},
		{both, interval(4.1, 6), NotReproduced},
		{least, interval(2.5, 100), Reproduced},
		{least, interval(1.9, 100), CannotBeShown},
		{least, interval(1, 2.1), CannotBeShown},
		{least, interval(1, 1.9), NotReproduced},
		{most, interval(-100, 3.9), Reproduced},
		{most, interval(3, 4.5), CannotBeShown},
		{most, interval(3.9, 9), CannotBeShown},
		{most, interval(4.1, 9), NotReproduced},
	} {
		if got, why := tc.in.judge(tc.of); got != tc.want {
			t.Errorf("%g to %g in %s: %s, want %s (%s)", tc.of.Low, tc.of.High, tc.in, got, tc.want, why)
		}
	}
}

// TestJudgeSize checks that a claim of a direction is reproduced where the size is similar, too, and that a bound leaves its size open.
func TestJudgeSize(t *testing.T) {
	estimate := func(low, high float64) measured { return measured{estimate: &analysis.Estimate{Low: low, High: high}} }
	claim := Claim{Similar: &Range{Least: new(4.0), Most: new(16.0)}}
	for _, tc := range []struct {
		in   Claim
		of   measured
		want Verdict
		why  string
	}{
		{claim, estimate(5, 15), Reproduced, "w; its size is similar, 4 to 16"},
		{claim, estimate(2.5, 3.5), SameDirection, "w; its size is another one than 4 to 16"},
		{claim, estimate(17, 20), SameDirection, "w; its size is another one than 4 to 16"},
		{claim, estimate(3, 5), SameDirection, "w; whether its size is similar, 4 to 16, is not decided"},
		{claim, measured{bound: &Range{Least: new(5.0)}}, SameDirection, "w; whether its size is similar, 4 to 16, is not decided"},
		{claim, measured{bound: &Range{Least: new(17.0)}}, SameDirection, "w; its size is another one than 4 to 16"},
		{Claim{Unsized: true}, estimate(2.5, 3.5), Reproduced, "w"},
	} {
		if got, why := tc.in.judgeSize(tc.of, "w"); got != tc.want || why != tc.why {
			t.Errorf("%+v: %s, %s, want %s, %s", tc.of, got, why, tc.want, tc.why)
		}
	}
}

// TestJudgeCrossing checks each result of a comparison against the one that is expected.
func TestJudgeCrossing(t *testing.T) {
	at := &analysis.Estimate{Value: 3000, Low: 1000, High: 5000}
	crosses := Crossing{Result: analysis.Crosses, Range: Range{Least: new(500.0), Most: new(5000.0)}}
	for _, tc := range []struct {
		expected Crossing
		of       measured
		want     Verdict
	}{
		{Crossing{}, measured{crossing: analysis.FirstAbove}, ""},
		{Crossing{Result: analysis.FirstAbove}, measured{crossing: analysis.FirstAbove}, Reproduced},
		{Crossing{Result: analysis.FirstAbove}, measured{crossing: analysis.SecondAbove}, NotReproduced},
		{Crossing{Result: analysis.FirstAbove}, measured{crossing: analysis.Crosses, estimate: at}, NotReproduced},
		{Crossing{Result: analysis.FirstAbove}, measured{crossing: analysis.Undecided}, CannotBeShown},
		{crosses, measured{crossing: analysis.Crosses, estimate: at}, Reproduced},
		{crosses, measured{crossing: analysis.Crosses, estimate: &analysis.Estimate{Value: 6500, Low: 6000, High: 7000}}, NotReproduced},
		{crosses, measured{crossing: analysis.Crosses, estimate: &analysis.Estimate{Value: 4000, Low: 1000, High: 7000}}, CannotBeShown},
		{crosses, measured{crossing: analysis.Crosses}, CannotBeShown},
		{crosses, measured{crossing: analysis.FirstAbove}, NotReproduced},
	} {
		if got, why := tc.expected.judge(tc.of); got != tc.want {
			t.Errorf("%+v of %+v: %s, want %s (%s)", tc.expected, tc.of, got, tc.want, why)
		}
	}
}

// TestJudgeScaling checks what is said of where a rate stops growing.
func TestJudgeScaling(t *testing.T) {
	at := &analysis.Estimate{Value: 14, Low: 12, High: 14}
	stops := Scaling{Figure: ScalingStopsAt}
	for _, tc := range []struct {
		expected Scaling
		of       measured
		want     Verdict
	}{
		{stops, measured{estimate: at, scaling: &analysis.Scaling{}}, Reproduced},
		{stops, measured{scaling: &analysis.Scaling{Growth: analysis.Growth{StillGrows: true}}}, NotReproduced},
		{stops, measured{scaling: &analysis.Scaling{}}, CannotBeShown},
		{Scaling{Figure: ScalingStopsAt, Range: Range{Most: new(16.0)}}, measured{estimate: at, scaling: &analysis.Scaling{}}, Reproduced},
		{Scaling{Figure: ScalingStopsAt, Range: Range{Most: new(13.0)}}, measured{estimate: at, scaling: &analysis.Scaling{}}, CannotBeShown},
		{Scaling{Figure: ScalingEfficiency, Range: Range{Least: new(0.5)}}, measured{estimate: &analysis.Estimate{Value: 0.64, Low: 0.6, High: 0.68}}, Reproduced},
		{Scaling{Figure: ScalingEfficiency, Range: Range{Least: new(0.7)}}, measured{estimate: &analysis.Estimate{Value: 0.64, Low: 0.6, High: 0.68}}, NotReproduced},
	} {
		if got, why := tc.expected.judge(tc.of); got != tc.want {
			t.Errorf("%+v of %+v: %s, want %s (%s)", tc.expected, tc.of, got, tc.want, why)
		}
	}
}
