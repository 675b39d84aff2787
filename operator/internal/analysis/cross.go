package analysis

import (
	"errors"
	"fmt"
	"math"

	"vnfbench.io/operator/internal/statistics"
)

// CrossingResult says which of two curves is above.
type CrossingResult string

const (
	// FirstAbove and SecondAbove mean that one is above the other at each X, with 95 % confidence for all of them together.
	FirstAbove  CrossingResult = "FirstAbove"
	SecondAbove CrossingResult = "SecondAbove"
	// Crosses means that one is above at some X, and the other one at larger ones, by the same confidence.
	Crosses CrossingResult = "Crosses"
	// CrossesMoreThanOnce means that they change places more than once.
	CrossesMoreThanOnce CrossingResult = "CrossesMoreThanOnce"
	// Undecided means that at some X the intervals of the differences hold none, and nothing says that they cross.
	Undecided CrossingResult = "Undecided"
)

// Difference is that of the second curve from the first at one X, as a share of the first.
type Difference struct {
	X     float64  `json:"x"`
	Share Estimate `json:"share"`
}

// Crossing says where the second of two curves passes the first.
type Crossing struct {
	Result CrossingResult `json:"result"`
	// At is where, interpolated between the differences, and Low to High are the values of X between which it is; nil unless Result is Crosses.
	At *Estimate `json:"at,omitempty"`
	// Differences are those at each X that both were measured at.
	Differences []Difference `json:"differences"`
}

// Before returns by how much the second curve is above the first before they cross, as a share of the first; 0 where they do not.
func (c Crossing) Before() float64 {
	if c.Result != Crosses || c.At == nil {
		return 0
	}
	for _, d := range c.Differences {
		if d.X == c.At.Low {
			return d.Share.Value
		}
	}
	return 0
}

// Cross compares two curves with repeats, at each X that both have. All values must be above 0. The deviation, as a share of the values, is that of all
// repeats together, and the level of each interval that of T. J. Bonferroni for as many as there are, so that all of them hold at once.
func Cross(first, second []Point) (Crossing, error) {
	if err := errors.Join(check(first, 4, 2), check(second, 4, 2)); err != nil {
		return Crossing{}, err
	}
	logs := func(points []Point) ([]level, error) {
		out := levels(points)
		for _, l := range out {
			for i, v := range l.values {
				if v <= 0 {
					return nil, fmt.Errorf("the value at %g is %g: only values above 0 have shares", l.x, v)
				}
				l.values[i] = math.Log(v)
			}
		}
		return out, nil
	}
	a, errA := logs(first)
	b, errB := logs(second)
	if err := errors.Join(errA, errB); err != nil {
		return Crossing{}, err
	}
	squaresA, degreesA := scatter(a)
	squaresB, degreesB := scatter(b)
	degrees := degreesA + degreesB
	if degrees == 0 {
		return Crossing{}, fmt.Errorf("%w: no X has repeats", ErrTooFew)
	}
	deviation := math.Sqrt((squaresA + squaresB) / float64(degrees))
	bOf := map[float64][]float64{}
	for _, l := range b {
		bOf[l.x] = l.values
	}
	var both []level
	for _, l := range a {
		if bOf[l.x] != nil {
			both = append(both, l)
		}
	}
	if len(both) < 2 {
		return Crossing{}, fmt.Errorf("%w: both have %d values of the axis in common, and it takes 2", ErrTooFew, len(both))
	}
	t := statistics.StudentTAt(0.05/float64(len(both)), degrees)
	var out Crossing
	logDifferences := make([]Estimate, len(both))
	for i, l := range both {
		other := bOf[l.x]
		half := t * deviation * math.Sqrt(1/float64(len(l.values))+1/float64(len(other)))
		d := around(statistics.Mean(other)-statistics.Mean(l.values), half)
		logDifferences[i] = d
		out.Differences = append(out.Differences, Difference{l.x, Estimate{math.Expm1(d.Value), math.Expm1(d.Low), math.Expm1(d.High)}})
	}
	out.Result, out.At = place(both, logDifferences)
	return out, nil
}

// Ratio returns the second of two figures as a multiple of the first, from two repeats or more of each. All values must be above 0. Both have the same
// deviation, as a share of the values.
func Ratio(first, second []float64) (Estimate, error) {
	if len(first) < 2 || len(second) < 2 {
		return Estimate{}, fmt.Errorf("%w: there are %d and %d repeats, and it takes 2 of both", ErrTooFew, len(first), len(second))
	}
	logs := [2][]float64{}
	for i, values := range [][]float64{first, second} {
		for _, v := range values {
			if !(v > 0) || math.IsInf(v, 0) {
				return Estimate{}, fmt.Errorf("the value %g is no number above 0", v)
			}
			logs[i] = append(logs[i], math.Log(v))
		}
	}
	squares, degrees := scatter([]level{{values: logs[0]}, {values: logs[1]}})
	half := statistics.StudentT(degrees) * math.Sqrt(squares/float64(degrees)*(1/float64(len(first))+1/float64(len(second))))
	d := around(statistics.Mean(logs[1])-statistics.Mean(logs[0]), half)
	return Estimate{math.Exp(d.Value), math.Exp(d.Low), math.Exp(d.High)}, nil
}

// place says where differences change their sign.
func place(at []level, differences []Estimate) (CrossingResult, *Estimate) {
	signs, changes, last, changed := 0, 0, -1, -1
	for i, d := range differences {
		if d.IsZeroPossible() {
			continue
		}
		if last >= 0 && (differences[last].Value > 0) != (d.Value > 0) {
			changes, changed = changes+1, last
		}
		last = i
		signs++
	}
	switch {
	case changes > 1:
		return CrossesMoreThanOnce, nil
	case changes == 1:
		end := changed + 1
		for differences[end].IsZeroPossible() {
			end++
		}
		return Crosses, between(at, differences, changed, end)
	case signs < len(differences):
		return Undecided, nil
	case differences[0].Value > 0:
		return SecondAbove, nil
	}
	return FirstAbove, nil
}

// between returns where the differences from one place to another are 0, by straight lines between them.
func between(at []level, differences []Estimate, from, to int) *Estimate {
	for i := from; i < to; i++ {
		a, b := differences[i].Value, differences[i+1].Value
		if (a > 0) != (b > 0) || b == 0 {
			share := 0.5
			if a != b {
				share = a / (a - b)
			}
			return &Estimate{Value: at[i].x + share*(at[i+1].x-at[i].x), Low: at[from].x, High: at[to].x}
		}
	}
	return nil
}
