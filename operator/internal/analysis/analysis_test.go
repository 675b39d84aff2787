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

// TestWhatCannotBeAnswered checks that what is too little is refused, and what is no number.
func TestWhatCannotBeAnswered(t *testing.T) {
	for name, points := range map[string][]Point{"two points": {{1, 1}, {2, 2}}, "one place": {{1, 1}, {1, 2}, {1, 3}}} {
		if _, err := Line(points); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Line([]Point{{1, 1}, {2, math.NaN()}, {3, 1}}); err == nil || errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}
