package page

import (
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/plot"
)

// criterion is what a criterion of a suite names, with its figures in the cells.
type criterion struct {
	v1alpha1.FigureKey
	unit string
	// values are figures, and doubtful those that are none: in doubt, or a floor. X is in the unit, Y the place of the cell.
	values, doubtful []plot.Point
}

// criteria returns a picture for each criterion: its figure in each repeat, with a row for each cell. A criterion whose figures are all 0 has a note instead.
func (m matrix) criteria() (out []Figure, notes []string) {
	var order, rows []string
	found := map[string]*criterion{}
	keys := m.criterionKeys()
	for row, cell := range first(m.cells, maxDrawn) {
		rows = append(rows, m.name(cell, m.axes))
		for _, measurement := range first(cell.Measurements, maxDrawn) {
			for _, f := range measurement.Figures {
				c := found[f.Criterion]
				if c == nil {
					c = &criterion{FigureKey: keys[f.Criterion]}
					found[f.Criterion], order = c, append(order, f.Criterion)
				}
				at := plot.Point{Y: float64(row)}
				at.X, c.unit = figure.Describe(c.Metric).Unit.ForPeople(f.Value)
				if f.Note == "" {
					c.values = append(c.values, at)
				} else {
					c.doubtful = append(c.doubtful, at)
				}
			}
		}
	}
	for _, name := range first(order, maxFigures) {
		c := found[name]
		if all := slices.Concat(c.values, c.doubtful); !slices.ContainsFunc(all, func(at plot.Point) bool { return at.X != 0 }) {
			notes = append(notes, fmt.Sprintf("%s is 0 everywhere: %s.", name, count(len(all), "measurement")))
			continue
		}
		out = append(out, c.figure(name, rows)...)
	}
	return out, notes
}

// criterionKeys returns what each criterion is of, as the first measurement that is judged by it says.
func (m matrix) criterionKeys() map[string]v1alpha1.FigureKey {
	keys := map[string]v1alpha1.FigureKey{}
	for _, cell := range m.cells {
		for _, measurement := range cell.Measurements {
			for _, verdict := range measurement.Acceptance {
				if _, known := keys[verdict.Criterion]; !known {
					keys[verdict.Criterion] = verdict.FigureKey
				}
			}
		}
	}
	return keys
}

// figure draws the figures in rows with the names of the cells.
func (c criterion) figure(name string, rows []string) []Figure {
	var xs []float64
	for _, at := range slices.Concat(c.values, c.doubtful) {
		xs = append(xs, at.X)
	}
	caption := name + ": " + string(c.Metric)
	for _, of := range []struct{ what, name string }{{"size", c.Size}, {"goal", c.Goal}, {"load", c.Load}} {
		if of.name != "" {
			caption += fmt.Sprintf(", %s %s", of.what, of.name)
		}
	}
	note := count(len(xs), "measurement") + "."
	layers := []plot.Layer{plot.Marks{Name: "each repeat", Style: 0, Marker: plot.Dot, Points: c.values}}
	if len(c.doubtful) > 0 {
		note += " Of a figure in doubt at most one end is known, as where other work held up the generator: the claims take it as a bound."
		layers = append(layers, plot.Marks{Name: "in doubt", Style: 1, Marker: plot.Ring, Points: c.doubtful})
	}
	return draw(caption, note, plot.Chart{
		Description: "The figure of the criterion in each repeat, with a row for each cell.",
		X:           plot.Axis{Label: strings.TrimSuffix(name+", "+c.unit, ", "), FromZero: !wide(xs), Log: wide(xs)}, Y: plot.Axis{Categories: rows}, Layers: layers,
	})
}
