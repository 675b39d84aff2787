package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
)

// Where are values of axes, by the axes' names.
type Where map[string]v1alpha1.AxisLabel

// String writes values of axes as "backend=nftables, rules=5000".
func (w Where) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		out = append(out, name+"="+string(w[name]))
	}
	return cmp.Or(strings.Join(out, ", "), "all values")
}

// gaps says at which values of an axis no repeat has a value; "" where there are none. What the others show is then not known of the whole axis: those
// that are in doubt or have failed are often the highest loads or the slowest cells.
func gaps(doc report.SuiteDocument, of report.FitOf, axis string, where Where) string {
	has := map[v1alpha1.AxisLabel]bool{}
	var order, without []string
	for label, cell := range doc.Over(axis, where) {
		if _, known := has[label]; !known {
			order = append(order, string(label))
		}
		values, _ := report.Values(cell, of)
		has[label] = has[label] || len(values) > 0
	}
	for _, label := range order {
		if !has[v1alpha1.AxisLabel(label)] {
			without = append(without, label)
		}
	}
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("there is no value at %s=%s, and what the others say of the whole axis is not known", axis, strings.Join(without, ", "))
}

// valuesAt returns the values of the cells that have all of some values of axes, and how many repeats have none. A bound is an error: without it
// the mean of the others is wrong.
func valuesAt(doc report.SuiteDocument, where Where, of Figure) (values []float64, left leftOut, err error) {
	cells := 0
	var inDoubt []v1alpha1.NotedFigure
	var failed []string
	for _, cell := range doc.Cells {
		if !maps.Equal(cell.Values, map[string]v1alpha1.AxisLabel(where)) {
			continue
		}
		cells++
		found, none, err := of.values(cell)
		if err != nil {
			return nil, 0, err
		}
		for _, figure := range none {
			if figure.Note != v1alpha1.NoteDoubtful {
				return nil, 0, fmt.Errorf("%d of %d figures of cell %s are no values, and one is a bound (%s)", len(none), len(none)+len(found), cell.Name, figure.Note)
			}
		}
		values, inDoubt, left = append(values, found...), append(inDoubt, none...), left+leftOut(len(cell.Measurements)-len(found))
		for _, m := range cell.Measurements {
			if m.State == v1alpha1.MeasurementFailed {
				failed = append(failed, m.Reason)
			}
		}
	}
	switch {
	case cells == 0:
		return nil, 0, fmt.Errorf("the suite has no cell with %s", where)
	case len(values) == 0 && len(failed) > 0:
		return nil, 0, fmt.Errorf("the cell with %s failed: %s", where, strings.Join(slices.Compact(slices.Sorted(slices.Values(failed))), ", "))
	case len(values) == 0 && len(inDoubt) == 1:
		return nil, 0, onlyInDoubt{of: of, figure: inDoubt[0], where: where}
	case len(values) == 0 && len(inDoubt) > 0:
		return nil, 0, fmt.Errorf("all %d figures of the cell with %s are in doubt%s", len(inDoubt), where, doubtsOf(inDoubt))
	case len(values) == 0:
		return nil, 0, fmt.Errorf("the cell with %s has no figures", where)
	}
	return values, left, nil
}

// onlyInDoubt is the error for a cell whose only figure is in doubt.
type onlyInDoubt struct {
	of     Figure
	figure v1alpha1.NotedFigure
	where  Where
}

func (e onlyInDoubt) Error() string {
	return fmt.Sprintf("the only figure of the cell with %s is in doubt%s", e.where, doubtsOf([]v1alpha1.NotedFigure{e.figure}))
}

// doubtsOf returns the codes of the doubts about figures as " (Drift, LateFrames)"; "" where they name none.
func doubtsOf(figures []v1alpha1.NotedFigure) string {
	var codes []string
	for _, figure := range figures {
		for _, code := range figure.Doubts {
			codes = append(codes, string(code))
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return " (" + strings.Join(slices.Compact(slices.Sorted(slices.Values(codes))), ", ") + ")"
}
