package statistics

import (
	"math"
	"math/rand/v2"
	"testing"
)

func points(values ...float64) (out []Bracket) {
	for _, v := range values {
		out = append(out, Bracket{v, v})
	}
	return out
}

// TestChangeOf checks differences of figures without a resolution against Welch's test.
func TestChangeOf(t *testing.T) {
	a, b := points(27, 25, 26, 29, 30), points(33, 31, 36, 30, 32)
	got, ok := ChangeOf(a, b)
	p, _ := Welch([]int64{27, 25, 26, 29, 30}, []int64{33, 31, 36, 30, 32})
	if !ok || !got.HasInterval || got.Difference != 5 || math.Abs(got.P-p) > 1e-9 {
		t.Errorf("%+v, %t, want the p-value %g", got, ok, p)
	}
	// The variances are 4.3 and 5.3, so it is 5 -+ t(0.975, 7.914) x sqrt(9.6 / 5).
	if half := (got.High - got.Low) / 2; math.Abs((got.High+got.Low)/2-5) > 1e-6 || math.Abs(half-2.3104*math.Sqrt(9.6/5)) > 1e-3 {
		t.Errorf("the interval is %g to %g", got.Low, got.High)
	}
	if _, ok := ChangeOf(points(1), b); ok {
		t.Error("one value is compared")
	}
}

// TestChangeAgreesWithItsInterval checks that the p-value is below 5 % where the interval does not hold 0, also where searches have a resolution.
func TestChangeAgreesWithItsInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		sample := func(shift float64) (out []Bracket) {
			for range 2 + random.IntN(6) {
				low := math.Floor(100 + shift + random.NormFloat64())
				out = append(out, Bracket{low, low + float64(i%3)})
			}
			return out
		}
		got, ok := ChangeOf(sample(0), sample(2*random.Float64()))
		if !ok || got.P < 0 || got.P > 1 {
			t.Fatalf("%+v, %t", got, ok)
		}
		isOutside := got.Low > 0 || got.High < 0
		if got.HasInterval && (got.P > 0.0501 && isOutside || got.P < 0.0499 && !isOutside) {
			t.Errorf("p is %g, and the interval %g to %g", got.P, got.Low, got.High)
		}
	}
}

// TestChangeWithoutScatter checks that values that are all equal are as sure as their number allows, and that one limit may explain two searches.
func TestChangeWithoutScatter(t *testing.T) {
	wide := func(low, width float64, count int) (out []Bracket) {
		for range count {
			out = append(out, Bracket{low, low + width})
		}
		return out
	}
	for name, tc := range map[string]struct {
		a, b        []Bracket
		p           float64
		hasInterval bool
	}{
		"the same":                {wide(5, 0, 3), wide(5, 0, 3), 1, false},
		"two":                     {wide(5, 0, 2), wide(6, 0, 2), 1. / 8, false},
		"three":                   {wide(5, 0, 3), wide(6, 0, 3), 1. / 32, false},
		"four":                    {wide(5, 0, 4), wide(6, 0, 4), 1. / 128, false},
		"within the resolution":   {wide(100, 2, 5), wide(101, 2, 5), 0.5, true},
		"beyond the resolution":   {wide(100, 2, 3), wide(103, 2, 3), 1. / 32, true},
		"beyond it, two searches": {wide(100, 2, 2), wide(103, 2, 2), 1. / 8, false},
	} {
		got, ok := ChangeOf(tc.a, tc.b)
		if !ok || math.Abs(got.P-tc.p) > 1e-9 || got.HasInterval != tc.hasInterval {
			t.Errorf("%s: %+v, want p %g", name, got, tc.p)
		}
	}
}

// TestChangeOfUnequalScatter checks that a sample that scatters far more than the other does not seem to differ: the degrees of
// freedom are then just above 1. The resolution is small next to the scatter, so Welch's test of the middles has nearly the same p-value.
func TestChangeOfUnequalScatter(t *testing.T) {
	for _, scale := range []float64{1, 10, 100} {
		a := []Bracket{{1e6 * scale, 1.02e6 * scale}, {3e6 * scale, 3.23e6 * scale}}
		b := []Bracket{{1.6e6 * scale, 1.62e6 * scale}, {1.6e6*scale + 1, 1.62e6*scale + 1}}
		got, ok := ChangeOf(a, b)
		p, _ := Welch([]int64{int64(1.01e6 * scale), int64(3.115e6 * scale)}, []int64{int64(1.61e6 * scale), int64(1.61e6*scale) + 1})
		if !ok || math.Abs(got.P-p) > 0.01 || got.Low > got.Difference || got.High < got.Difference {
			t.Errorf("at %g the p-value is %g, want %g, and the interval of %g is %g to %g", scale, got.P, p, got.Difference, got.Low, got.High)
		}
	}
}

// TestAdjustments checks both procedures with values worked out by hand.
func TestAdjustments(t *testing.T) {
	p := []float64{0.01, 0.04, 0.03, 0.005, 0.8}
	for name, tc := range map[string]struct {
		adjust func([]float64) []float64
		want   []float64
	}{
		"Holm":               {Holm, []float64{0.04, 0.09, 0.09, 0.025, 0.8}},
		"Benjamini-Hochberg": {BenjaminiHochberg, []float64{0.025, 0.05, 0.05, 0.025, 0.8}},
	} {
		for i, got := range tc.adjust(p) {
			if math.Abs(got-tc.want[i]) > 1e-12 {
				t.Errorf("%s of %g is %g, want %g", name, p[i], got, tc.want[i])
			}
		}
		if got := tc.adjust(nil); len(got) != 0 {
			t.Errorf("%s of nothing is %v", name, got)
		}
		if got := tc.adjust([]float64{0.9, 0.7}); got[0] > 1 || got[1] > 1 {
			t.Errorf("%s is above 1: %v", name, got)
		}
	}
}

// TestLeastChance checks with draws of two and of three values that samples without scatter that differ are no more likely than is said.
func TestLeastChance(t *testing.T) {
	const draws = 20_000
	random := rand.New(rand.NewPCG(5, 6))
	for _, sizes := range [][2]int{{2, 2}, {3, 3}, {2, 4}, {3, 5}} {
		for _, cuts := range [][]float64{{0.5}, {0.3}, {0.2, 0.6}} {
			draw := func(count int) (low, high int) {
				for i := range count {
					v, u := 0, random.Float64()
					for v < len(cuts) && u > cuts[v] {
						v++
					}
					if i == 0 {
						low, high = v, v
					}
					low, high = min(low, v), max(high, v)
				}
				return low, high
			}
			seen := 0
			for range draws {
				lowA, highA := draw(sizes[0])
				lowB, highB := draw(sizes[1])
				if lowA == highA && lowB == highB && lowA != lowB {
					seen++
				}
			}
			if most := leastChance(sizes[0], sizes[1]); float64(seen)/draws > most+3*math.Sqrt(most/draws) {
				t.Errorf("%v values of %v: %d of %d, want %g of them at most", sizes, cuts, seen, draws, most)
			}
		}
	}
}
