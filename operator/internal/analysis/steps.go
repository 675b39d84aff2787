package analysis

import (
	"fmt"
	"math"

	"vnfbench.io/operator/internal/statistics"
)

// Setting is one of a sequence, with a value for each block: a round in which each setting was measured once. NaN stands for a measurement
// that has no value.
type Setting struct {
	Name   string
	Values []float64
}

// Step is what a setting changes, compared with the one before it.
type Step struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Share is the change as a share of the figure before it.
	Share Estimate `json:"share"`
	// Blocks is how many blocks have both.
	Blocks int `json:"blocks"`
}

// Steps compares each setting with the one before it, block by block, so what all of a block share falls out. All values must be above 0. The level of
// each interval is that of T. J. Bonferroni for as many as there are, so that all of them hold at once with 95 %.
func Steps(settings []Setting) ([]Step, error) {
	if len(settings) < 2 {
		return nil, fmt.Errorf("%w: there are %d settings, and it takes 2", ErrTooFew, len(settings))
	}
	out := make([]Step, 0, len(settings)-1)
	for i := 1; i < len(settings); i++ {
		before, after := settings[i-1], settings[i]
		changes, err := changesOf(before, after)
		if err != nil {
			return nil, err
		}
		if len(changes) < 2 {
			return nil, fmt.Errorf("%w: %d repeats have both %s and %s, and it takes 2", ErrTooFew, len(changes), before.Name, after.Name)
		}
		spread := statistics.SpreadOf(changes)
		t := statistics.StudentTAt(0.05/float64(len(settings)-1), len(changes)-1)
		d := around(spread.Mean, t*spread.StandardDeviation/math.Sqrt(float64(len(changes))))
		if math.IsInf(math.Expm1(d.High), 0) {
			return nil, fmt.Errorf("%w: the interval of the step from %s to %s has no end with %d repeats", ErrTooFew, before.Name, after.Name, len(changes))
		}
		out = append(out, Step{
			From: before.Name, To: after.Name, Blocks: len(changes), Share: Estimate{math.Expm1(d.Value), math.Expm1(d.Low), math.Expm1(d.High)},
		})
	}
	return out, nil
}

// changesOf returns the logarithm of what changes from one setting to the next in each block that has both.
func changesOf(before, after Setting) ([]float64, error) {
	var out []float64
	for block := range min(len(before.Values), len(after.Values)) {
		a, b := before.Values[block], after.Values[block]
		switch {
		case math.IsNaN(a) || math.IsNaN(b):
		case a <= 0 || b <= 0 || math.IsInf(a+b, 0):
			return nil, fmt.Errorf("repeat %d of %s and %s has %g and %g: only numbers above 0 have shares", block+1, before.Name, after.Name, a, b)
		default:
			out = append(out, math.Log(b/a))
		}
	}
	return out, nil
}
