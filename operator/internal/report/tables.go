package report

import (
	"strconv"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// tableSections returns the tables that package figure describes, one for each measurement of
// sizes that has figures.
func tableSections(doc Document, l letters) []section {
	figures := map[figure.Key]figure.Figure{}
	for _, f := range doc.figures() {
		figures[f.Key] = f
	}
	var out []section
	for _, table := range figure.Tables() {
		s := section{title: table.Title, columns: []column{number("Size")}}
		for _, c := range table.Columns {
			s.columns = append(s.columns, number(tableHead(c, l)))
		}
		for _, frame := range doc.Results {
			row, found := []string{frameName(frame)}, false
			for _, c := range table.Columns {
				f, has := figures[figure.Key{FigureKey: v1alpha1.FigureKey{Metric: c.Metric, Size: frame.Size}}]
				row, found = append(row, tableCell(c, f, has, l)), found || has
			}
			if found {
				s.rows = append(s.rows, row)
			}
		}
		if len(s.rows) > 0 {
			s.notes = table.Notes
			out = append(out, s)
		}
	}
	return out
}

// tableDeviations returns the deviations of the tables that have figures.
func tableDeviations(results []v1alpha1.FrameResult) []string {
	has := map[v1alpha1.Metric]bool{}
	for _, f := range (figure.Results{Frames: results}).Figures() {
		has[f.Metric] = true
	}
	var found []string
	for _, table := range figure.Tables() {
		if has[table.Columns[0].Metric] {
			found = append(found, table.Deviations...)
		}
	}
	return found
}

// tableHead returns a column's head with the unit of its cells.
func tableHead(c figure.Column, l letters) string {
	if c.Samples {
		return c.Head
	}
	switch unit := figure.Describe(c.Metric).Unit; unit {
	case figure.FramesPerSecond:
		return c.Head + " kfps"
	case figure.Nanoseconds:
		return c.Head + " " + l.micro + "s"
	case figure.Number:
		return c.Head
	default:
		return c.Head + " " + string(unit)
	}
}

// tableCell returns the text of a figure, or none where there is no figure.
func tableCell(c figure.Column, f figure.Figure, has bool, l letters) string {
	if !has {
		return none
	}
	if c.Samples {
		return count(f.Samples)
	}
	cell := strconv.FormatInt(f.Value, 10)
	switch f.Unit {
	case figure.FramesPerSecond:
		cell = kiloFrames(f.Value)
	case figure.Nanoseconds:
		cell = microseconds(f.Value)
	}
	if f.Bound == figure.AtLeast {
		cell = l.atLeast + cell
	}
	return cell
}
