package study

import (
	"errors"
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
)

// Figure is what is measured of a cell: a figure of the suite's table, or the one that a criterion of its runs names.
type Figure struct {
	Of        report.FitOf `json:"of,omitempty"`
	Criterion string       `json:"criterion,omitempty"`
}

// check returns an error where the figure is none of those that a measure can be of.
func (f Figure) check(allowed ...report.FitOf) error {
	switch {
	case f.Criterion != "" && f.Of != "":
		return errors.New("of and criterion: give one of them")
	case f.Criterion == "" && !slices.Contains(allowed, f.Of):
		return fmt.Errorf("of is %q: use one of %v", f.Of, allowed)
	}
	return nil
}

// valueOf returns a figure that is no value in the unit of the values: that of the document, or nanoseconds of a time for a frame. It returns false
// where there is none.
func (f Figure) valueOf(noted v1alpha1.NotedFigure) (float64, bool) {
	switch {
	case noted.Value == nil || f.Of == report.FitFrameTime && *noted.Value <= 0:
		return 0, false
	case f.Of == report.FitFrameTime:
		return 1e9 / float64(*noted.Value), true
	}
	return float64(*noted.Value), true
}

// values returns the figures of a cell's repeats, and those that are no values, each with a note.
func (f Figure) values(cell report.SuiteCell) (out []float64, leftOut []v1alpha1.NotedFigure, err error) {
	if f.Criterion == "" {
		out, leftOut = report.Values(cell, f.Of)
		return out, leftOut, nil
	}
	for _, m := range cell.Measurements {
		found := slices.DeleteFunc(slices.Clone(m.Figures), func(c report.CriterionFigure) bool { return c.Criterion != f.Criterion })
		switch {
		case len(found) > 1:
			return nil, nil, fmt.Errorf("criterion %s of cell %s is about %d figures: give it a size", f.Criterion, cell.Name, len(found))
		case len(found) == 0:
		case found[0].Note != "":
			leftOut = append(leftOut, v1alpha1.NotedFigure{Value: &found[0].Value, Note: found[0].Note, Doubts: found[0].Doubts})
		default:
			out = append(out, float64(found[0].Value))
		}
	}
	return out, leftOut, nil
}
