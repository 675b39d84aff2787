package analysis

import (
	"fmt"
	"math"

	"vnfbench.io/operator/internal/statistics"
)

// Scaling says how a rate grows with a number of workers, such as cores.
type Scaling struct {
	// Numbers are those that were measured, the smallest first.
	Numbers []ScaledNumber `json:"numbers"`
	Growth
	// Law is the Universal Scalability Law; nil where LawProblem says why.
	Law        *Law   `json:"law,omitempty"`
	LawProblem string `json:"lawProblem,omitempty"`
}

// ScaledNumber is what a number of workers does, next to what the smallest number predicts.
type ScaledNumber struct {
	Number float64 `json:"number"`
	Mean   float64 `json:"mean"`
	// Extrapolated is the rate of the smallest number, in proportion to the number.
	Extrapolated Estimate `json:"extrapolated"`
	// Efficiency is the mean as a share of it.
	Efficiency Estimate `json:"efficiency"`
}

// Scale says how a rate grows with the number of workers, from two numbers or more, with repeats. Numbers are at least 1 and rates above 0. The scatter
// of the repeats, as a share of the rates, is that of all together.
func Scale(points []Point) (Scaling, error) {
	if err := check(points, 3, 2); err != nil {
		return Scaling{}, err
	}
	if err := checkRates(points); err != nil {
		return Scaling{}, err
	}
	var all []Level
	for _, l := range levels(points) {
		all = append(all, Level{l.x, statistics.Mean(l.values), l.values})
	}
	growth, known := Grow(all)
	if !known {
		return Scaling{}, fmt.Errorf("%w: no number has repeats", ErrTooFew)
	}
	out := Scaling{Growth: growth}
	variation, degrees := variationOf(all)
	first, half := all[0], statistics.StudentT(degrees)*variation
	for i, l := range all {
		extrapolated := first.Mean * l.Number / first.Number
		n := ScaledNumber{Number: l.Number, Mean: l.Mean, Extrapolated: times(extrapolated, half/math.Sqrt(float64(len(first.Repeats)))), Efficiency: Estimate{1, 1, 1}}
		if i > 0 {
			n.Efficiency = times(l.Mean/extrapolated, half*math.Sqrt(1/float64(len(first.Repeats))+1/float64(len(l.Repeats))))
		}
		out.Numbers = append(out.Numbers, n)
	}
	if law, err := FitLaw(points); err != nil {
		out.LawProblem = err.Error()
	} else {
		out.Law = &law
	}
	return out, nil
}

// checkRates returns an error for points that are no rates of workers.
func checkRates(points []Point) error {
	for _, p := range points {
		if p.X < 1 || p.Y <= 0 {
			return fmt.Errorf("the rate of %g workers is %g: it takes at least one worker, and a rate above 0", p.X, p.Y)
		}
	}
	return nil
}

// Last returns the largest number that was measured; nothing where there is none, as in a document that someone wrote.
func (s Scaling) Last() ScaledNumber {
	if len(s.Numbers) == 0 {
		return ScaledNumber{}
	}
	return s.Numbers[len(s.Numbers)-1]
}

// times returns an estimate whose logarithm has the same half width to both sides.
func times(value, half float64) Estimate {
	return Estimate{value, value * math.Exp(-half), value * math.Exp(half)}
}
