// Package analysis answers what a figure depends on: what one more unit costs (Line), where two ways of doing the same change places
// (Cross), how a rate grows with a number of workers (Scale), how many times as large one figure is as another (Ratio), what each setting of a
// sequence changes (Steps), and what a figure is (Mean).
//
// It is pure. Every answer has a 95 % interval, or says why there is none. The intervals assume that measurements are independent and
// vary normally with one deviation, so measure each point with its own deployment, in a random order.
package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"vnfbench.io/operator/internal/statistics"
)

// Point is one measurement of a figure: Y at X.
type Point struct{ X, Y float64 }

// Estimate is a value with its 95 % confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// around returns an estimate with the same half width to both sides.
func around(value, half float64) Estimate { return Estimate{value, value - half, value + half} }

// IsZeroPossible reports whether the interval holds 0.
func (e Estimate) IsZeroPossible() bool { return e.Low <= 0 && e.High >= 0 }

// ErrTooFew is returned where there are fewer points or values of X than an answer takes.
var ErrTooFew = errors.New("too few measurements")

// check returns an error for points that nothing can be fitted to.
func check(points []Point, least, leastX int) error {
	values := map[float64]bool{}
	for _, p := range points {
		if math.IsNaN(p.X+p.Y) || math.IsInf(p.X+p.Y, 0) {
			return fmt.Errorf("the point %g, %g is no number", p.X, p.Y)
		}
		values[p.X] = true
	}
	switch {
	case len(points) < least:
		return fmt.Errorf("%w: there are %d, and it takes %d", ErrTooFew, len(points), least)
	case len(values) < leastX:
		return fmt.Errorf("%w: they are at %d values of the axis, and it takes %d", ErrTooFew, len(values), leastX)
	}
	return nil
}

// level is what was measured at one X.
type level struct {
	x      float64
	values []float64
}

// levels returns the points by X, the smallest first.
func levels(points []Point) []level {
	byX := map[float64][]float64{}
	for _, p := range points {
		byX[p.X] = append(byX[p.X], p.Y)
	}
	var out []level
	for x, values := range byX {
		out = append(out, level{x, values})
	}
	slices.SortFunc(out, func(a, b level) int { return cmp.Compare(a.x, b.x) })
	return out
}

// scatter returns the sum of squares around the mean of each level, and its degrees of freedom.
func scatter(all []level) (squares float64, degrees int) {
	for _, l := range all {
		spread := statistics.SpreadOf(l.values)
		squares += spread.StandardDeviation * spread.StandardDeviation * float64(len(l.values)-1)
		degrees += len(l.values) - 1
	}
	return squares, degrees
}

// lackOfFitLevel is the chance below which points do not follow what was fitted to them.
const lackOfFitLevel = 0.01

// lackOfFit returns how likely what was fitted, with so many free parameters, leaves at least this much of the levels' means, by the F test of the sum of
// squares against the scatter of the repeats. It is nil without repeats, or with no more levels than parameters.
func lackOfFit(points []Point, squares float64, free int) *float64 {
	all := levels(points)
	pure, pureDegrees := scatter(all)
	lackDegrees := len(all) - free
	if lackDegrees <= 0 || pureDegrees <= 0 || pure <= 0 {
		return nil
	}
	f := max(0, squares-pure) / float64(lackDegrees) / (pure / float64(pureDegrees))
	return new(distuv.F{D1: float64(lackDegrees), D2: float64(pureDegrees)}.Survival(f))
}
