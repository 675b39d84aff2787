// Package comparison compares the figures of runs. Columns of runs go in, and for each figure a value of each column comes out, with
// its interval, and its difference from the first column's, with an interval and a verdict. What is no value of the device, such as a
// floor, is shown and never tested. The package is pure.
package comparison

import (
	"math"
	"slices"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/baseline"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/statistics"
)

// Run has the figures of one run.
type Run struct {
	Figures []figure.Figure
	// Scope says whether the run's repeats have their own deployments.
	Scope v1alpha1.RepeatScope
}

// Column is a sample: one run with its repeats, or several runs of one experiment, each of which is a repeat.
type Column []Run

// Basis is what the values of a cell are of. It decides what their scatter shows.
type Basis string

// The bases.
const (
	// BasisRuns means that each value is that of a run.
	BasisRuns Basis = "Runs"
	// BasisDeployments means that each value is that of a deployment of the chain in one run.
	BasisDeployments Basis = "Deployments"
	// BasisTrials means that all values are of one deployment. They scatter less than those of two deployments differ.
	BasisTrials Basis = "Trials"
)

// Interval is what the two ends next to a value are.
type Interval string

// The intervals.
const (
	// IntervalConfidence is the 95 % confidence interval.
	IntervalConfidence Interval = "Confidence"
	// IntervalSearch is between the bounds of the only search: it shows nothing of the scatter.
	IntervalSearch Interval = "SearchBounds"
)

// Reason is why a figure is not tested.
type Reason string

// The reasons. Those of statistics without an interval, such as Drift, are reasons too.
const (
	// ReasonMissing means that a column has no such figure.
	ReasonMissing Reason = "Missing"
	// ReasonFloor means that a value is a lower limit: the device may do better.
	ReasonFloor Reason = "Floor"
	// ReasonIrregular means that a search ended before its bounds were close enough, or that a load was not reached.
	ReasonIrregular Reason = "Irregular"
	// ReasonDoubtful means that a doubt says that the device's value may be another one.
	ReasonDoubtful Reason = "Doubtful"
	// ReasonNotRepeated means that a column has one value, which shows no scatter.
	ReasonNotRepeated Reason = "NotRepeated"
	// ReasonOneDeployment means that the values of a column are of one deployment of the chain.
	ReasonOneDeployment Reason = "OneDeployment"
	// ReasonLoadsDiffer means that the figures were measured at loads that differ too much.
	ReasonLoadsDiffer Reason = "LoadsDiffer"
)

// Cell is what one column has of a figure.
type Cell struct {
	// Value is the mean of Values; of floors and irregular values the smallest. It is absent where there is none.
	Value *int64 `json:"value,omitempty"`
	// Interval is what Lower and Upper are; absent where there are none. Values that are all equal show no scatter, and have none.
	Interval Interval `json:"interval,omitempty"`
	Lower    *int64   `json:"lower,omitempty"`
	Upper    *int64   `json:"upper,omitempty"`
	// N is the number of values that count.
	N int `json:"n"`
	// LeftOut is the number of runs of the column whose value is doubtful, and none of Values.
	LeftOut int `json:"leftOut,omitempty"`
	// Basis is what the values are of; absent for one value.
	Basis  Basis   `json:"basis,omitempty"`
	Values []int64 `json:"values,omitempty"`
	// IsFloor says that the device may do better than the value.
	IsFloor bool `json:"isFloor,omitempty"`
	// Doubts are those about any of the values.
	Doubts []v1alpha1.DoubtCode `json:"doubts,omitempty"`
	// WhyNotTested is why the cell is in no test; absent where it can be.
	WhyNotTested Reason `json:"whyNotTested,omitempty"`

	// brackets are the values with the resolution of their searches, loads the lowest and the highest load.
	brackets []statistics.Bracket
	loads    [2]int64
}

// newCell returns what a column has of a figure. The runs' figures of the key come in the order of the runs; resolution is that of
// each search.
func newCell(key figure.Key, column Column, of []found) Cell {
	cell := Cell{}
	var sure []found
	uncertain := false
	for _, f := range of {
		cell.take(f.Figure)
		switch reason := whyNot(f.Figure); {
		case reason == ReasonFloor || reason == ReasonIrregular:
			uncertain = true
			if cell.WhyNotTested != ReasonFloor {
				cell.WhyNotTested = reason
			}
		case reason == "":
			sure = append(sure, f)
		}
	}
	switch {
	case len(of) == 0:
		cell.WhyNotTested = ReasonMissing
		return cell
	case uncertain:
		// The mean would be too low, and without the highest values even lower.
		cell.N = len(of)
		for _, f := range of {
			cell.Value = new(min(f.Value, ptr.Deref(cell.Value, math.MaxInt64)))
		}
		return cell
	case len(sure) == 0:
		cell.WhyNotTested, cell.N = ReasonDoubtful, len(of)
		cell.Value = new(mean(valuesOf(of)))
		return cell
	case len(column) == 1:
		cell.ofRepeats(column[0].Scope, sure[0])
		return cell
	}
	cell.LeftOut = len(of) - len(sure)
	cell.set(BasisRuns, valuesOf(sure), sure)
	return cell
}

// found is a figure of a run, with the distance between the bounds of its search; 0 where it was not searched.
type found struct {
	figure.Figure
	resolution float64
}

func valuesOf(of []found) (values []int64) {
	for _, f := range of {
		values = append(values, f.Value)
	}
	return values
}

func mean(values []int64) int64 { return int64(math.Round(statistics.Mean(values))) }

// take adds what holds of any value.
func (c *Cell) take(f figure.Figure) {
	for _, code := range f.Codes() {
		if !slices.Contains(c.Doubts, code) {
			c.Doubts = append(c.Doubts, code)
		}
	}
	c.IsFloor = c.IsFloor || f.IsFloor()
	if load := f.LoadFramesPerSecond; load > 0 {
		if c.loads[0] == 0 {
			c.loads[0] = load
		}
		c.loads = [2]int64{min(c.loads[0], load), max(c.loads[1], load)}
	}
}

// whyNot returns why a run's figure is no value of the device. The loads themselves are compared, so it does not matter what they
// are shares of.
func whyNot(f figure.Figure) Reason {
	if f.IsFloor() {
		return ReasonFloor
	}
	reason := Reason("")
	for _, d := range f.Doubts {
		switch {
		case d.Code == v1alpha1.DoubtLoadOfFloor && f.LoadFramesPerSecond > 0, d.Side == 0:
		case figure.IsUncertain(d.Code):
			return ReasonIrregular
		default:
			reason = ReasonDoubtful
		}
	}
	return reason
}

// ofRepeats takes the repeats of the only run.
func (c *Cell) ofRepeats(scope v1alpha1.RepeatScope, f found) {
	s := f.Statistics
	if s != nil && s.LimitedBy != "" && s.LimitedBy != v1alpha1.LimitedByResolution {
		c.Value, c.N, c.Values, c.WhyNotTested = &f.Value, len(f.Values), f.Values, Reason(s.LimitedBy)
		return
	}
	if len(f.Values) < 2 {
		c.set("", []int64{f.Value}, []found{f})
		return
	}
	basis := BasisTrials
	if s != nil && scope == v1alpha1.RepeatChain {
		basis = BasisDeployments
	}
	of := make([]found, len(f.Values))
	for i := range of {
		of[i] = f
	}
	c.set(basis, f.Values, of)
	c.Value = &f.Value
	if s != nil && s.ConfidenceLow != nil && s.ConfidenceHigh != nil && c.Interval != "" {
		c.Lower, c.Upper = s.ConfidenceLow, s.ConfidenceHigh
	}
	if basis == BasisTrials {
		c.WhyNotTested = ReasonOneDeployment
	}
}

// set takes values that are repeats of each other, each of a figure.
func (c *Cell) set(basis Basis, values []int64, of []found) {
	c.Value, c.N, c.Values = new(mean(values)), len(values), values
	for i, v := range values {
		c.brackets = append(c.brackets, statistics.Bracket{Low: float64(v), High: float64(v) + of[i].resolution})
	}
	if len(values) < 2 {
		c.WhyNotTested, c.Values = ReasonNotRepeated, nil
		if of[0].resolution > 0 {
			c.Interval, c.Lower, c.Upper = IntervalSearch, &values[0], new(values[0]+int64(of[0].resolution))
		}
		return
	}
	c.Basis = basis
	if limit, _ := statistics.IntervalOfLimit(c.brackets); limit.Resolution > 0 {
		c.Interval, c.Lower, c.Upper = IntervalConfidence, new(int64(math.Floor(limit.Low))), new(int64(math.Ceil(limit.High)))
	} else if s, _ := statistics.Summarize(values); s.StandardDeviation > 0 {
		c.Interval, c.Lower, c.Upper = IntervalConfidence, new(int64(math.Floor(s.Low))), new(int64(math.Ceil(s.High)))
	}
}

// loadsDiffer reports whether any two values of two cells were measured at loads that differ too much.
func loadsDiffer(a, b Cell) bool {
	if a.loads[0] == 0 || b.loads[0] == 0 {
		return false
	}
	return baseline.LoadsDiffer(min(a.loads[0], b.loads[0]), max(a.loads[1], b.loads[1]))
}
