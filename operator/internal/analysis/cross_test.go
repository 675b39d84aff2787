package analysis

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// curve returns repeats of a curve at a number of rules.
func curve(random *rand.Rand, deviation float64, of func(float64) float64) []Point {
	var out []Point
	for _, x := range []float64{100, 1000, 5000, 10000, 30000} {
		for range 4 {
			out = append(out, Point{x, of(x) * math.Exp(deviation*random.NormFloat64())})
		}
	}
	return out
}

// TestCross checks each result on curves that were made so.
func TestCross(t *testing.T) {
	fast := func(x float64) float64 { return 1e6 / (1 + x/1000) }
	flat := func(float64) float64 { return 2e5 }
	for name, c := range map[string]struct {
		second    func(float64) float64
		deviation float64
		want      CrossingResult
	}{
		"a flat one crosses":        {flat, 0.01, Crosses},
		"always faster":             {func(x float64) float64 { return 1.2 * fast(x) }, 0.01, SecondAbove},
		"always slower":             {func(x float64) float64 { return fast(x) / 1.2 }, 0.01, FirstAbove},
		"the same":                  {fast, 0.01, Undecided},
		"a difference within noise": {func(x float64) float64 { return 1.02 * fast(x) }, 0.05, Undecided},
		"above at both ends, not between": {func(x float64) float64 {
			if x == 5000 {
				return fast(x) / 2
			}
			return 2 * fast(x)
		}, 0.01, CrossesMoreThanOnce},
	} {
		random := rand.New(rand.NewPCG(5, 6))
		got, err := Cross(curve(random, c.deviation, fast), curve(random, c.deviation, c.second))
		if err != nil || got.Result != c.want || len(got.Differences) != 5 || (got.At != nil) != (c.want == Crosses) {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		// 1e6 / (1 + x/1000) is 2e5 at 4000.
		if c.want == Crosses && (got.At.Low != 1000 || got.At.High != 5000 || !isNear(got.At.Value, 4000, 0.1)) {
			t.Errorf("%s: %+v", name, *got.At)
		}
		if before := got.Before(); (before < -0.5) != (c.want == Crosses) {
			t.Errorf("%s: %g before they cross", name, before)
		}
	}
}

// TestCrossRaisesNoFalseAlarm checks that equal curves are Undecided in at least 95 % of cases.
func TestCrossRaisesNoFalseAlarm(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const pairs = 5000
	decided := 0
	for range pairs {
		same := func(x float64) float64 { return 1e6 / (1 + x/1000) }
		got, err := Cross(curve(random, 0.02, same), curve(random, 0.02, same))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got.Differences {
			if !d.Share.IsZeroPossible() {
				decided++
				break
			}
		}
	}
	if decided > pairs*6/100 {
		t.Errorf("%d of %d equal pairs differ", decided, pairs)
	}
}

// TestWhatCannotBeCompared checks that what is too little is refused, and what has no logarithm.
func TestWhatCannotBeCompared(t *testing.T) {
	for name, pair := range map[string][2][]Point{
		"no repeats":        {{{1, 1}, {2, 1}, {3, 1}, {4, 1}}, {{1, 1}, {2, 1}, {3, 1}, {4, 1}}},
		"nothing in common": {{{1, 1}, {1, 1}, {2, 1}, {2, 1}}, {{3, 1}, {3, 1}, {4, 1}, {4, 1}}},
		"three points":      {{{1, 1}, {1, 1}, {2, 1}}, {{1, 1}, {1, 1}, {2, 1}, {2, 1}}},
	} {
		if _, err := Cross(pair[0], pair[1]); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Cross([]Point{{1, 0}, {1, 1}, {2, 1}, {2, 1}}, []Point{{1, 1}, {1, 1}, {2, 1}, {2, 1}}); err == nil || errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}

// TestRatio compares a ratio with one that was worked out by hand, and checks that the intervals hold the true one in about 95 % of cases.
func TestRatio(t *testing.T) {
	// The logarithms are 0 and 2 about 1, and 2 and 4 about 3: a variance of 2 with 2 degrees of freedom, whose 97.5 % point is 4.302652730.
	got, err := Ratio([]float64{1, math.Exp(2)}, []float64{math.Exp(2), math.Exp(4)})
	half := 4.302652730 * math.Sqrt2
	if err != nil || !isNear(got.Value, math.Exp(2), 1e-9) || !isNear(got.Low, math.Exp(2-half), 1e-8) || !isNear(got.High, math.Exp(2+half), 1e-8) {
		t.Errorf("%+v, %v", got, err)
	}
	random := rand.New(rand.NewPCG(11, 12))
	const pairs = 4000
	held := 0
	for range pairs {
		var a, b []float64
		for range 3 {
			a, b = append(a, 100*math.Exp(0.05*random.NormFloat64())), append(b, 50*math.Exp(0.05*random.NormFloat64()))
		}
		if got, err = Ratio(a, b); err != nil {
			t.Fatal(err)
		}
		if got.Low <= 0.5 && got.High >= 0.5 {
			held++
		}
	}
	if held < pairs*94/100 || held > pairs*96/100 {
		t.Errorf("%d of %d intervals hold the ratio", held, pairs)
	}
	if _, err := Ratio([]float64{1}, []float64{1, 2}); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
	if _, err := Ratio([]float64{1, 0}, []float64{1, 2}); err == nil || errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}
