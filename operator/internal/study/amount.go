package study

import (
	"errors"
	"slices"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Amount is a figure of one cell, the mean of its repeats.
type Amount struct {
	From
	Figure
	Cell Where `json:"cell"`
	// Unit is that of the result, and Divisor how much of the figure's own unit one of it is, as 1000 for microseconds of a delay.
	Unit    string  `json:"unit"`
	Divisor float64 `json:"divisor"`
	// The range is in the unit of the result.
	Range
}

func (a Amount) check() error {
	if len(a.Cell) == 0 || a.Unit == "" || a.Divisor <= 0 {
		return errors.New("amount needs the values of cell, a unit, and a divisor above 0")
	}
	return a.Figure.check(report.FitFrameTime, report.FitP99, report.FitRate)
}

func (a Amount) expects() bool { return a.Range != Range{} }

func (a Amount) measure(doc report.SuiteDocument) measured {
	found, err := repeatsAt(doc, a.Cell, a.Figure)
	if err != nil {
		m := measured{problem: err.Error()}
		if only := (onlyInDoubt{}); errors.As(err, &only) {
			if value, known := only.of.valueOf(only.figure); known {
				m.words = report.Significant(value/a.Divisor) + " " + a.Unit
			}
		}
		return m
	}
	values, left := found.values, found.left
	for i := range values {
		values[i] /= a.Divisor
	}
	mean, err := analysis.Mean(values)
	if err != nil {
		return measured{problem: err.Error()}
	}
	if slices.Min(values) >= 0 {
		mean.Low = max(0, mean.Low)
	}
	if found.side != 0 {
		m := bounded(mean, found.side, " "+a.Unit, found)
		m.values, m.left = values, left
		return m
	}
	return measured{words: withInterval(mean, " "+a.Unit), estimate: &mean, values: values, note: left.String(), left: left}
}

// judge wants every repeat to be in the range, and not only the interval of their mean.
func (a Amount) judge(m measured) (Verdict, string) {
	verdict, why := a.Range.judge(m.interval())
	outside := slices.ContainsFunc(m.values, func(v float64) bool { return a.Least != nil && v < *a.Least || a.Most != nil && v > *a.Most })
	switch {
	case verdict != Reproduced:
		return verdict, why
	case outside:
		return CannotBeShown, "a repeat is outside of the expected range, " + a.Range.String()
	case m.left > 0:
		return CannotBeShown, "not every repeat has a value"
	}
	return verdict, why
}
