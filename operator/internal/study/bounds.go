package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
)

// repeats are the figures of a cell, and how many of its repeats have none.
type repeats struct {
	values []float64
	left   leftOut
	// side is where the device's values may be, seen from these; 0 where these are the values.
	side figure.Side
	// doubts are why, as " (EndpointCeiling)".
	doubts string
}

// repeatsAt returns the figures of a cell: bounds where it has some, since the ones that have doubts are often the highest, and otherwise its values, as
// valuesAt does.
func repeatsAt(doc report.SuiteDocument, where Where, of Figure) (repeats, error) {
	if found, ok := boundsAt(doc, where, of); ok {
		return found, nil
	}
	values, left, err := valuesAt(doc, where, of)
	return repeats{values: values, left: left}, err
}

// boundsAt returns the figures of the cells that have all of some values of axes, where some are no values and the device's are on the same side of
// all of these: what limited an end of a connection hides a faster device, and no slower one. It returns false for other cells, and for fewer than two.
func boundsAt(doc report.SuiteDocument, where Where, of Figure) (out repeats, ok bool) {
	var notes []v1alpha1.NotedFigure
	for _, cell := range doc.Cells {
		if !maps.Equal(cell.Values, map[string]v1alpha1.AxisLabel(where)) {
			continue
		}
		for _, m := range cell.Measurements {
			values, none, err := of.values(report.SuiteCell{Name: cell.Name, Measurements: []report.SuiteMeasurement{m}})
			switch {
			case err != nil:
				return repeats{}, false
			case len(values) == 1:
				out.values = append(out.values, values[0])
			case len(none) == 0 || none[0].Value == nil:
				out.left++
			default:
				value, side := of.bound(m, none[0])
				if side != figure.Above && side != figure.Below || out.side != 0 && side != out.side {
					return repeats{}, false
				}
				out.values, out.side, notes = append(out.values, value), side, append(notes, none[0])
			}
		}
	}
	out.doubts = doubtsOf(notes)
	return out, out.side != 0 && len(out.values) >= 2
}

// bound returns a figure of a measurement that is no value, in the unit of the values, and on which sides of it the device's may be.
func (f Figure) bound(m report.SuiteMeasurement, noted v1alpha1.NotedFigure) (float64, figure.Side) {
	metric := v1alpha1.MetricThroughputFramesPerSecond
	switch f.Of {
	case report.FitP99:
		metric = v1alpha1.MetricLatencyP99
	case report.FitGoodput:
		metric = v1alpha1.MetricTCPGoodput
	}
	if f.Criterion != "" {
		i := slices.IndexFunc(m.Acceptance, func(v v1alpha1.Verdict) bool { return v.Criterion == f.Criterion })
		if i < 0 {
			return 0, 0
		}
		metric = m.Acceptance[i].Metric
	}
	side := figure.Side(0)
	switch noted.Note {
	case v1alpha1.NoteAtLeast:
		side = figure.Above
	case v1alpha1.NoteAtMost:
		side = figure.Below
	}
	for _, code := range noted.Doubts {
		if doubt, concerns := figure.NewDoubt(code, metric); concerns {
			side |= doubt.Side
		}
	}
	value, known := f.valueOf(noted)
	if !known {
		return 0, 0
	}
	if f.Of == report.FitFrameTime {
		side = opposite(side)
	}
	return value, side
}

// opposite returns the sides of an inverse.
func opposite(side figure.Side) figure.Side {
	switch side {
	case figure.Above:
		return figure.Below
	case figure.Below:
		return figure.Above
	}
	return side
}

// ratioOfBounds returns a ratio of which a cell has bounds. Each end is that of the 95 % interval of one cell over that of the other: bounds are often
// alike, as of a limit that they share, and their scatter says nothing of the other cell's.
func ratioOfBounds(to, cell []float64) (analysis.Estimate, error) {
	var of [2]analysis.Estimate
	for i, values := range [][]float64{to, cell} {
		logs := make([]float64, len(values))
		for k, v := range values {
			logs[k] = math.Log(v)
		}
		var err error
		if of[i], err = analysis.Mean(logs); err != nil {
			return analysis.Estimate{}, err
		}
	}
	return analysis.Estimate{
		Value: math.Exp(of[1].Value - of[0].Value), Low: math.Exp(of[1].Low - of[0].High), High: math.Exp(of[1].High - of[0].Low),
	}, nil
}

// bounded returns what is known of a figure where the estimate is of bounds: the low end of its interval, rounded down, where the device's values may be
// above, and the high end, rounded up, where they may be below.
func bounded(e analysis.Estimate, side figure.Side, unit string, of ...repeats) measured {
	m := measured{bound: &Range{Least: new(rounded(e.Low, math.Floor))}}
	if side == figure.Below {
		m.bound = &Range{Most: new(rounded(e.High, math.Ceil))}
	}
	var why []string
	left := leftOut(0)
	for _, r := range of {
		left += r.left
		if r.side != 0 {
			why = append(why, fmt.Sprintf("bounds%s are among the figures, so only an end of their 95 %% interval is known", r.doubts))
		}
	}
	if left > 0 {
		why = append(why, left.String())
	}
	m.words = m.bound.String() + unit
	m.note = strings.Join(slices.Compact(why), "; ")
	return m
}

// rounded returns a value with three significant digits, by math.Floor or math.Ceil.
func rounded(v float64, to func(float64) float64) float64 {
	if v == 0 {
		return 0
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	// Powers of ten above 1 are exact, and their inverses are not.
	if scale := math.Pow10(digits); digits >= 0 {
		return to(v*scale) / scale
	}
	scale := math.Pow10(-digits)
	return to(v/scale) * scale
}

// interval returns what the verdict follows from: the estimate, or what a bound leaves open.
func (m measured) interval() analysis.Estimate {
	if m.bound == nil {
		return *m.estimate
	}
	open := analysis.Estimate{Low: math.Inf(-1), High: math.Inf(1)}
	if m.bound.Least != nil {
		open.Low = *m.bound.Least
	}
	if m.bound.Most != nil {
		open.High = *m.bound.Most
	}
	return open
}
