package study

import (
	"errors"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Amount is a figure of one cell, the mean of its repeats.
type Amount struct {
	Suite string `json:"suite"`
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

func (a Amount) measure(doc report.SuiteDocument) measured {
	values, inDoubt, err := valuesAt(doc, a.Cell, a.Figure)
	if err != nil {
		return measured{problem: err.Error()}
	}
	for i := range values {
		values[i] /= a.Divisor
	}
	mean, err := analysis.Mean(values)
	if err != nil {
		return measured{problem: err.Error()}
	}
	m := measured{words: withInterval(mean, " "+a.Unit), estimate: &mean}
	if inDoubt > 0 {
		m.note = inDoubtNote
	}
	return m
}
