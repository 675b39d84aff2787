package analysis

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// specSDM91 has the throughput of the SPEC SDM91 benchmark on a machine with 16 processors over the number of users (Gunther 2007, table 6.2).
var specSDM91 = []Point{{1, 64.9}, {18, 995.9}, {36, 1652.4}, {72, 1853.2}, {108, 1828.9}, {144, 1775.0}, {216, 1702.2}}

// studentAt4 is the 97.5 % point of Student's t with 4 degrees of freedom.
const studentAt4 = 2.776445105

// TestLawHasThePublishedCoefficients compares a fit with that of the package usl for R to the same data, and the standard deviations with those of a
// fit whose derivatives are differences.
func TestLawHasThePublishedCoefficients(t *testing.T) {
	for _, unit := range []float64{1, 1e9} {
		var points []Point
		for _, p := range specSDM91 {
			points = append(points, Point{p.X, p.Y * unit})
		}
		fit, err := FitLaw(points)
		if err != nil {
			t.Fatal(err)
		}
		if fit.Peak == nil || fit.N != 7 || fit.LackOfFit != nil || !fit.IsLaw() {
			t.Fatalf("%+v", fit)
		}
		for name, c := range map[string]struct{ got, want float64 }{
			"one": {fit.One.Value, 89.9952 * unit}, "contention": {fit.Contention.Value, 0.0277285}, "coherency": {fit.Coherency.Value, 0.000104365},
			"R2": {fit.R2, 0.989561}, "peak": {fit.Peak.Value, 96.5196},
			"deviation of one": {(fit.One.High - fit.One.Value) / studentAt4, 14.2135 * unit}, "deviation of contention": {(fit.Contention.High - fit.Contention.Value) / studentAt4, 0.00912173},
			"deviation of coherency": {(fit.Coherency.High - fit.Coherency.Value) / studentAt4, 1.98753e-05}, "deviation of the peak": {math.Log(fit.Peak.High/fit.Peak.Value) / studentAt4, 0.0931205},
		} {
			if !isNear(c.got, c.want, 1e-4) {
				t.Errorf("%s is %.9g, want %.9g", name, c.got, c.want)
			}
		}
	}
}

// lawful returns repeats of a rate that follows the law.
func lawful(random *rand.Rand, p []float64, deviation float64) []Point {
	var out []Point
	for _, n := range []float64{1, 2, 4, 8, 12, 16, 20} {
		for range 3 {
			out = append(out, Point{n, rate(p, n) * (1 + deviation*random.NormFloat64())})
		}
	}
	return out
}

// TestLawFindsWhatWasPutIn checks that the intervals hold the coefficients that made the points in about 95 % of fits, that hardly any such fit is said
// not to follow the law, and that nearly each one with a fixed limit is.
func TestLawFindsWhatWasPutIn(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const fits = 400
	held, peaks, lawless, caps := [3]int{}, 0, 0, 0
	want := []float64{1e9, 0.05, 0.002}
	for range fits {
		var points []Point
		for _, n := range []float64{1, 2, 4, 8, 12, 16, 20} {
			for range 3 {
				points = append(points, Point{n, rate(want, n) + 2e7*random.NormFloat64()})
			}
		}
		fit, err := FitLaw(points)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range []Estimate{fit.One, fit.Contention, fit.Coherency} {
			if e.Low <= want[i] && want[i] <= e.High {
				held[i]++
			}
		}
		if fit.Peak != nil && fit.Peak.Low <= math.Sqrt(0.95/0.002) && math.Sqrt(0.95/0.002) <= fit.Peak.High {
			peaks++
		}
		if !fit.IsLaw() {
			lawless++
		}
		capped := lawful(random, []float64{1e9, 0, 0}, 0.01)
		for i := range capped {
			capped[i].Y = min(capped[i].Y, 12e9*(1+0.01*random.NormFloat64()))
		}
		if fit, err = FitLaw(capped); err != nil {
			t.Fatal(err)
		}
		if !fit.IsLaw() {
			caps++
		}
	}
	for i, n := range append(held[:], peaks) {
		if n < fits*92/100 || n > fits*98/100 {
			t.Errorf("%d of %d intervals hold coefficient %d", n, fits, i)
		}
	}
	if lawless > fits*3/100 || caps < fits*97/100 {
		t.Errorf("of %d fits %d that follow the law are said not to, and %d with a limit", fits, lawless, caps)
	}
}

// TestLawOfWhatIsInProportion checks that a rate in proportion to the number has no peak, and no coefficient above 0.
func TestLawOfWhatIsInProportion(t *testing.T) {
	fit, err := FitLaw([]Point{{1, 100}, {2, 200}, {4, 400}, {8, 800}})
	if err != nil || fit.Peak != nil || fit.Contention.Value > 1e-9 || fit.Coherency.Value > 1e-9 || !isNear(fit.One.Value, 100, 1e-6) {
		t.Errorf("%+v, %v", fit, err)
	}
}

// TestLawOfTooLittle checks that the law needs four points at three numbers of workers, with rates above 0.
func TestLawOfTooLittle(t *testing.T) {
	for name, points := range map[string][]Point{"three points": {{1, 1}, {2, 2}, {3, 3}}, "two numbers": {{1, 1}, {1, 1.1}, {2, 2}, {2, 2.1}}} {
		if _, err := FitLaw(points); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, points := range map[string][]Point{"no worker": {{0, 1}, {1, 1}, {2, 2}, {3, 3}}, "nothing is done": {{1, 0}, {2, 1}, {3, 2}, {4, 3}}} {
		if _, err := FitLaw(points); err == nil || errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
