package analysis

import (
	"errors"
	"math"
	"testing"
)

// gateways has what two encryption gateways carried with a number of threads, in Gbit/s, as it was published in 2016. The rate of one is what was
// extrapolated from, that of 4 lies between the two that were published, and the repeats are 1 % apart: the published ones are means.
var gateways = func() []Point {
	var out []Point
	for _, p := range []Point{{1, 0.2625}, {4, 1.05}, {10, 2.47}, {14, 3.36}, {20, 3.36}} {
		out = append(out, Point{p.X, 0.99 * p.Y}, p, Point{p.X, 1.01 * p.Y})
	}
	return out
}()

// TestScaleFindsThePublishedCap checks what was concluded from published figures: 20 threads carry what 14 do, and one extrapolates to 5.25 Gbit/s.
func TestScaleFindsThePublishedCap(t *testing.T) {
	got, err := Scale(gateways)
	if err != nil {
		t.Fatal(err)
	}
	if got.StopsAt == nil || *got.StopsAt != (Estimate{14, 10, 14}) || got.StillGrows {
		t.Errorf("it stops at %+v", got.StopsAt)
	}
	last := got.Last()
	if len(got.Numbers) != 5 || last.Number != 20 || !isNear(last.Mean, 3.36, 1e-9) || !isNear(last.Extrapolated.Value, 5.25, 1e-9) || !isNear(last.Efficiency.Value, 0.64, 1e-9) {
		t.Errorf("%+v", got.Numbers)
	}
	// Ten degrees of freedom: 2.228 * 1 %, over the root of three repeats, or of twice as many figures.
	if half := math.Log(last.Extrapolated.High / last.Extrapolated.Value); !isNear(half, 2.228139*0.01/math.Sqrt(3), 1e-5) {
		t.Errorf("%g", half)
	}
	if half := math.Log(last.Efficiency.Value / last.Efficiency.Low); !isNear(half, 2.228139*0.01*math.Sqrt(2.0/3), 1e-5) || !isNear(got.HalfWidth, half, 1e-9) {
		t.Errorf("%g, %g", half, got.HalfWidth)
	}
	if got.Numbers[0].Efficiency != (Estimate{1, 1, 1}) {
		t.Errorf("%+v", got.Numbers[0])
	}
	// A fixed limit is no cost of coherency: the law does not describe it.
	if got.Law == nil || got.LawProblem != "" || got.Law.IsLaw() {
		t.Errorf("%+v, %s", got.Law, got.LawProblem)
	}
}

// TestScaleOfTwoNumbers checks that two numbers have an efficiency, and no law.
func TestScaleOfTwoNumbers(t *testing.T) {
	got, err := Scale([]Point{{1, 100}, {1, 101}, {2, 190}, {2, 191}})
	if err != nil || got.Law != nil || got.LawProblem != "too few measurements: they are at 2 values of the axis, and it takes 3" || !got.StillGrows || got.StopsAt != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestScaleOfNeighboringNumbers checks that a rate in proportion to the number is not said to stop because two numbers are close to each other.
func TestScaleOfNeighboringNumbers(t *testing.T) {
	var points []Point
	for n := 1.0; n <= 24; n++ {
		points = append(points, Point{n, 100 * n}, Point{n, 100.1 * n})
	}
	if got, err := Scale(points); err != nil || got.StopsAt != nil || !got.StillGrows {
		t.Errorf("%+v, %v", got.Growth, err)
	}
}

// TestScaleOfTooLittle checks that it takes repeats, two numbers, and rates.
func TestScaleOfTooLittle(t *testing.T) {
	for name, points := range map[string][]Point{"no repeats": {{1, 1}, {2, 2}, {4, 3}}, "one number": {{1, 1}, {1, 1}, {1, 1.1}}} {
		if _, err := Scale(points); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Scale([]Point{{1, 1}, {1, 0}, {2, 2}}); err == nil || errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}
