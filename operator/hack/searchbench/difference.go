package main

import (
	"math"

	"vnfbench.io/operator/internal/statistics"
)

// Difference is how much farther from the truth, or less steady, one search is than another, over
// the same devices. Above 0 is worse, relative to the truth.
type Difference struct {
	Value float64
	// Interval is half of the 95 % confidence interval.
	Interval float64
}

// resolution is the difference between two searches that are equally right: loads are whole frames
// per second, and no device here forwards fewer.
const resolution = 1 / minCapacity

// Worse reports whether the difference is above 0 by more than its interval.
func (d Difference) Worse() bool { return d.Value > d.Interval+resolution }

// TimeDifference returns by how much longer a search takes than another on the same device, as the logarithm of the
// ratio: the mean of ratios is above 1 for two searches that are equally quick. Above 0 is worse.
func TimeDifference(of, than Figures) Difference {
	ratios := Ratios(of, than)
	return paired(len(ratios), func(i int) float64 { return math.Log(ratios[i]) })
}

// BiasDifference returns by how much the bias of a goal is larger, as an amount. The errors are
// paired: both searches had the same device for a seed, and its peculiarities affect both.
func BiasDifference(of, than Figures, goal int) Difference {
	return paired(len(of.Runs), func(i int) float64 {
		return math.Copysign(1, of.Bias[goal])*of.Runs[i].Error[goal] -
			math.Copysign(1, than.Bias[goal])*than.Runs[i].Error[goal]
	})
}

// DeviationDifference returns by how much the standard deviation of a goal is larger. Each run
// counts by its influence on it, to the first order.
func DeviationDifference(of, than Figures, goal int) Difference {
	d := paired(len(of.Runs), func(i int) float64 { return of.influence(i, goal) - than.influence(i, goal) })
	d.Value = of.Deviation[goal] - than.Deviation[goal]
	return d
}

// influence returns what a run adds to the standard deviation of a goal, times the number of runs;
// 0 on average.
func (f Figures) influence(run, goal int) float64 {
	if f.Deviation[goal] == 0 {
		return 0
	}
	off := f.Runs[run].Error[goal] - f.Bias[goal]
	return (off*off/f.Deviation[goal] - f.Deviation[goal]) / 2
}

// paired returns the mean of count values, and Student's interval of it. For fewer than two values
// both are unknown.
func paired(count int, value func(int) float64) Difference {
	values := make([]float64, count)
	for i := range values {
		values[i] = value(i)
	}
	s := statistics.SpreadOf(values)
	return Difference{Value: s.Mean, Interval: s.HalfWidth(count)}
}
