package analysis

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// norris is the data set Norris of the NIST Statistical Reference Datasets for linear regression, as X, Y.
var norris = []Point{
	{0.2, 0.1}, {337.4, 338.8}, {118.2, 118.1}, {884.6, 888.0}, {10.1, 9.2}, {226.5, 228.1}, {666.3, 668.5}, {996.3, 998.5}, {448.6, 449.1},
	{777.0, 778.9}, {558.2, 559.2}, {0.4, 0.3}, {0.6, 0.1}, {775.5, 778.1}, {666.9, 668.8}, {338.0, 339.3}, {447.5, 448.9}, {11.6, 10.8},
	{556.0, 557.7}, {228.1, 228.3}, {995.8, 998.0}, {887.6, 888.8}, {120.2, 119.6}, {0.3, 0.3}, {0.3, 0.6}, {556.8, 557.6}, {339.1, 339.3},
	{887.2, 888.0}, {999.0, 998.5}, {779.0, 778.9}, {11.1, 10.2}, {118.3, 117.6}, {229.2, 228.9}, {669.1, 668.4}, {448.9, 449.2}, {0.5, 0.2},
}

// studentAt34 is the 97.5 % point of Student's t with 34 degrees of freedom.
const studentAt34 = 2.032244509

func isNear(got, want, share float64) bool { return math.Abs(got-want) <= share*math.Abs(want) }

// TestLineHasTheCertifiedValues compares a fit with the certified values of NIST: coefficients, their standard deviations, and R squared.
func TestLineHasTheCertifiedValues(t *testing.T) {
	fit, err := Line(norris)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"slope": {fit.Slope.Value, 1.00211681802045}, "intercept": {fit.Intercept.Value, -0.262323073774029}, "R2": {fit.R2, 0.999993745883712},
		"deviation of the slope":     {(fit.Slope.High - fit.Slope.Value) / studentAt34, 0.429796848199937e-03},
		"deviation of the intercept": {(fit.Intercept.High - fit.Intercept.Value) / studentAt34, 0.232818234301152},
	} {
		if !isNear(c.got, c.want, 1e-8) {
			t.Errorf("%s is %.12g, want %.12g", name, c.got, c.want)
		}
	}
	if fit.N != 36 {
		t.Errorf("%+v", fit)
	}
}

// TestLineSeesACurve checks that points of a curve are not on a line, and that those of a line are in 99 % of cases.
func TestLineSeesACurve(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lines, curves := 0, 0
	const series = 500
	for range series {
		var line, curve []Point
		for x := range 6 {
			for range 4 {
				noise := random.NormFloat64()
				line = append(line, Point{float64(x), 100 + 3*float64(x) + noise})
				curve = append(curve, Point{float64(x), 100 + float64(x*x) + noise})
			}
		}
		onLine, err := Line(line)
		onCurve, errCurve := Line(curve)
		if err = errors.Join(err, errCurve); err != nil {
			t.Fatal(err)
		}
		if onLine.IsLine() {
			lines++
		}
		if !onCurve.IsLine() {
			curves++
		}
	}
	if lines < series*97/100 || curves < series*99/100 {
		t.Errorf("%d of %d lines are taken for lines, and %d curves for curves", lines, series, curves)
	}
}

// specSDM91 has the throughput of the SPEC SDM91 benchmark on a machine with 16 processors over the number of users (Gunther 2007, table 6.2).
var specSDM91 = []Point{{1, 64.9}, {18, 995.9}, {36, 1652.4}, {72, 1853.2}, {108, 1828.9}, {144, 1775.0}, {216, 1702.2}}

// TestScaleHasThePublishedCoefficients compares a fit with that of the package usl for R to the same data.
func TestScaleHasThePublishedCoefficients(t *testing.T) {
	fit, err := Scale(specSDM91)
	if err != nil {
		t.Fatal(err)
	}
	if !isNear(fit.One.Value, 89.995, 1e-3) || !isNear(fit.Contention.Value, 0.02773, 2e-3) || !isNear(fit.Coherency.Value, 0.0001044, 2e-3) {
		t.Errorf("%+v", fit)
	}
	if fit.Peak == nil || !isNear(*fit.Peak, 96.5, 5e-3) || fit.R2 < 0.98 {
		t.Errorf("%+v", fit)
	}
}

// TestScaleFindsWhatWasPutIn checks that the intervals hold the coefficients that made the points in about 95 % of fits, and that a rate without
// coherency cost has no peak that anyone could see.
func TestScaleFindsWhatWasPutIn(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const fits = 400
	held := [3]int{}
	want := []float64{1000, 0.05, 0.002}
	for range fits {
		var points []Point
		for _, n := range []float64{1, 2, 4, 8, 12, 16, 20} {
			for range 3 {
				points = append(points, Point{n, usl(want, n) + 20*random.NormFloat64()})
			}
		}
		fit, err := Scale(points)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range []Estimate{fit.One, fit.Contention, fit.Coherency} {
			if e.Low <= want[i] && want[i] <= e.High {
				held[i]++
			}
		}
	}
	for i, n := range held {
		if n < fits*92/100 || n > fits*98/100 {
			t.Errorf("%d of %d intervals hold coefficient %d", n, fits, i)
		}
	}
	fit, err := Scale([]Point{{1, 100}, {2, 200}, {4, 400}, {8, 800}})
	if err != nil || fit.Peak != nil || fit.Contention.Value > 1e-9 || !isNear(fit.At(16), 1600, 1e-6) {
		t.Errorf("%+v, %v", fit, err)
	}
}

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

// TestSteps checks that an effect is found, that none is found where there is none, and that what all of a block share falls out.
func TestSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	const studies = 300
	found, falseAlarms, covered := 0, 0, 0
	for range studies {
		values := make([][]float64, 3)
		for i := range values {
			values[i] = make([]float64, 6)
		}
		for block := range 6 {
			round := math.Exp(0.2 * random.NormFloat64())
			for i, factor := range []float64{1, 1.05, 1.05} {
				values[i][block] = 100 * factor * round * math.Exp(0.01*random.NormFloat64())
			}
		}
		steps, err := Steps([]string{"baseline", "pinned", "pinned+irq"}, values)
		if err != nil {
			t.Fatal(err)
		}
		if steps[0].P < 0.05 {
			found++
		}
		if steps[1].P < 0.05 {
			falseAlarms++
		}
		if steps[0].Share.Low <= 0.05 && steps[0].Share.High >= 0.05 {
			covered++
		}
	}
	if found < studies*97/100 || falseAlarms > studies*8/100 || covered < studies*92/100 || covered > studies*98/100 {
		t.Errorf("of %d studies %d found the effect, %d one that is not there, and %d intervals hold it", studies, found, falseAlarms, covered)
	}
}

// TestHolm compares adjusted p-values with those worked out by hand.
func TestHolm(t *testing.T) {
	steps := []Step{{P: 0.01}, {P: 0.04}, {P: 0.03}, {P: 0.005}}
	holm(steps)
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !isNear(steps[i].P, want, 1e-9) {
			t.Errorf("step %d has %g, want %g", i, steps[i].P, want)
		}
	}
}

// TestWhatCannotBeAnswered checks that each function refuses what is too little or has no logarithm.
func TestWhatCannotBeAnswered(t *testing.T) {
	few := []Point{{1, 1}, {1, 2}}
	_, errLine := Line(few)
	_, errScale := Scale([]Point{{1, 1}, {2, 2}, {2, 2.1}, {1, 1.1}})
	_, errCross := Cross([]Point{{1, 1}, {2, 1}, {3, 1}, {4, 1}}, []Point{{1, 1}, {2, 1}, {3, 1}, {4, 1}})
	_, errNone := Cross([]Point{{1, 1}, {1, 1}, {2, 1}, {2, 1}}, []Point{{3, 1}, {3, 1}, {4, 1}, {4, 1}})
	_, errSteps := Steps([]string{"a", "b"}, [][]float64{{1, math.NaN()}, {1, 2}})
	for i, err := range []error{errLine, errScale, errCross, errNone, errSteps} {
		if !errors.Is(err, ErrTooFew) {
			t.Errorf("%d: %v", i, err)
		}
	}
	_, errZero := Steps([]string{"a", "b"}, [][]float64{{1, 0}, {1, 2}})
	_, errNumber := Line([]Point{{1, 1}, {2, math.NaN()}, {3, 1}})
	_, errWorkers := Scale([]Point{{0, 1}, {1, 1}, {2, 2}, {3, 3}})
	_, errLog := Cross([]Point{{1, 0}, {1, 1}, {2, 1}, {2, 1}}, []Point{{1, 1}, {1, 1}, {2, 1}, {2, 1}})
	for i, err := range []error{errZero, errNumber, errWorkers, errLog} {
		if err == nil || errors.Is(err, ErrTooFew) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
