package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
)

// WriteSuite writes the page of an execution of a suite.
func WriteSuite(w io.Writer, doc report.SuiteDocument) error { return Write(w, Suite(doc)) }

// Suite returns what the page of an execution of a suite shows.
func Suite(doc report.SuiteDocument) View {
	parts := doc.Parts()
	head := parts[0]
	head.Title = ""
	v := View{
		Kind: "Execution of suite " + doc.Execution.Suite, Title: doc.Execution.Namespace + "/" + doc.Execution.Name,
		Verdict: verdictOf(doc.Succeeded, doc.Succeeded.Message),
		Cards: []Card{
			{Name: "Measurements that succeeded", Value: strconv.Itoa(int(doc.Counts.Succeeded)), Unit: fmt.Sprintf("of %d", doc.Counts.Total)},
			{Name: "Failed", Value: strconv.Itoa(int(doc.Counts.Failed))},
		},
		Foot: fmt.Sprintf("Written by kubectl vnfbench %s at %s.", orUnknown(doc.WrittenBy), doc.GeneratedAt.UTC().Format(time.RFC3339)),
	}
	if doc.Completeness == report.Partial {
		v.Notes = append(v.Notes, "This report is partial: not every measurement succeeded or has ended.")
	}
	if r := doc.Regression; r != nil {
		v.Cards = append(v.Cards, Card{Name: "Series with a regression", Value: strconv.Itoa(int(r.Counts.Regression)), Note: fmt.Sprintf("%d improved, %d without a change", r.Counts.Improvement, r.Counts.Pass)})
	}
	if g := doc.Gate; g != nil {
		gate := verdictOf(*g, g.Message)
		v.Cards = append(v.Cards, Card{Name: "Gate", Value: map[string]string{"good": "passes", "bad": "fails", "open": "not decided", "unsure": "not decided"}[gate.Class], Note: g.Message})
	}
	m := newMatrix(doc)
	matrix := Section{ID: "matrix", Title: "Matrix", Figures: slices.Concat(m.heat(rate), m.heat(p99), m.heat(goodput), m.lines(rate), m.lines(p99), m.lines(goodput))}
	if len(matrix.Figures) > 0 {
		matrix.Notes = []string{
			"Figures are those of the first size, as means over the repeats in which they are values. A dash is a cell without one, and * marks one where some repeats are none, such as floors: without these a mean is too low. The table of the cells says why.",
			"A delay is that of the last load that was asked for. A load that is a share of a throughput is another rate in each cell.",
		}
	}
	v.Sections = []Section{{ID: "summary", Title: "Summary", Lead: &head}, matrix, {ID: "cells", Title: "Cells"}, {ID: "series", Title: "Series and verdicts"}}
	for _, p := range parts[1:] {
		at := 2
		switch {
		case strings.HasPrefix(p.Title, "Matrix"), p.Title == "Cost of one more", p.Title == "Where two cross", p.Title == "How it scales", p.Title == "Measured and extrapolated":
			at = 1
		case p.Title == "Series" || p.Title == "Verdicts":
			at = 3
		}
		v.Sections[at].Parts = append(v.Sections[at].Parts, limited(p))
	}
	return v
}

// cellFigure is a figure that cells have. per is how much of it one of the unit is.
type cellFigure struct {
	name, unit string
	per        float64
	of         func(report.SuiteCell) *int64
	repeats    func(v1alpha1.SuiteMeasurement) v1alpha1.NotedFigure
}

var (
	rate    = cellFigure{"Throughput", "kfps", 1e3, func(c report.SuiteCell) *int64 { return c.FramesPerSecond }, v1alpha1.SuiteMeasurement.Rate}
	p99     = cellFigure{"Delay p99", "µs", 1e3, func(c report.SuiteCell) *int64 { return c.P99Nanoseconds }, v1alpha1.SuiteMeasurement.P99}
	goodput = cellFigure{"TCP goodput", "Mbit/s", 1e6, func(c report.SuiteCell) *int64 { return c.GoodputBitsPerSecond }, v1alpha1.SuiteMeasurement.Goodput}
)

// in returns a value in the unit.
func (f cellFigure) in(value int64) float64 { return float64(value) / f.per }

// mark returns "*" where the figure is no value in some of the cell's repeats.
func (f cellFigure) mark(cell report.SuiteCell) string {
	for _, m := range cell.Measurements {
		if figure := f.repeats(m.SuiteMeasurement); figure.Value == nil || figure.Note != "" {
			return "*"
		}
	}
	return ""
}

// matrix is the cells that have a value of every axis.
type matrix struct {
	axes  []report.SuiteAxis
	cells []report.SuiteCell
	// labels has the values of each axis in the order of the cells.
	labels [][]string
}

func newMatrix(doc report.SuiteDocument) matrix {
	m := matrix{axes: doc.Axes, labels: make([][]string, len(doc.Axes))}
	seen := map[string]bool{}
	for _, cell := range doc.Cells {
		key := ""
		for _, axis := range m.axes {
			key += string(cell.Values[axis.Name]) + "\x00"
		}
		// The control cell has the values of the one that it repeats.
		if len(m.axes) == 0 || len(cell.Values) != len(m.axes) || seen[key] {
			continue
		}
		seen[key] = true
		m.cells = append(m.cells, cell)
		for i, axis := range m.axes {
			if label := string(cell.Values[axis.Name]); !slices.Contains(m.labels[i], label) {
				m.labels[i] = append(m.labels[i], label)
			}
		}
	}
	return m
}

// name returns the values of a cell's first axes.
func (m matrix) name(cell report.SuiteCell, axes []report.SuiteAxis) string {
	var words []string
	for _, axis := range axes {
		words = append(words, axis.Name+" "+string(cell.Values[axis.Name]))
	}
	return strings.Join(words, ", ")
}

// maxColumns is how many values the last axis of a heat map has.
const maxColumns = 8

// heat returns the figure over the last axis, with a row for each combination of the others.
func (m matrix) heat(f cellFigure) []Figure {
	if len(m.axes) < 2 {
		return nil
	}
	last := len(m.axes) - 1
	if len(m.labels[last]) > maxColumns {
		return nil
	}
	h := plot.HeatMap{
		Title: f.name + " of each cell", Description: "The darker a cell, the larger its value. Each cell has its number.",
		Label: f.name + ", " + f.unit, ColumnTitle: m.axes[last].Name, Columns: m.labels[last],
	}
	var rowAxes []string
	for _, axis := range m.axes[:last] {
		rowAxes = append(rowAxes, axis.Name)
	}
	h.RowTitle = strings.Join(rowAxes, ", ")
	rows := map[string]int{}
	for _, cell := range m.cells {
		var words []string
		for _, axis := range m.axes[:last] {
			words = append(words, string(cell.Values[axis.Name]))
		}
		name := strings.Join(words, ", ")
		at, found := rows[name]
		if !found {
			if at = len(h.Rows); at == maxFigures {
				break
			}
			rows[name], h.Rows = at, append(h.Rows, name)
			h.Cells = append(h.Cells, slices.Repeat([]plot.Cell{{Value: math.NaN(), Text: "-"}}, len(h.Columns)))
		}
		if value := f.of(cell); value != nil {
			h.Cells[at][slices.Index(h.Columns, string(cell.Values[m.axes[last].Name]))] = plot.Cell{Value: f.in(*value), Text: plot.Number(f.in(*value)) + f.mark(cell)}
		}
	}
	svg, err := h.SVG()
	if err != nil {
		return nil
	}
	return []Figure{{Caption: fmt.Sprintf("%s by %s", f.name, m.axes[last].Name), Picture: template.HTML(svg), Note: count(len(m.cells), "cell") + "."}}
}

// lines returns the figure over each axis of numbers, with a line for each combination of the others.
func (m matrix) lines(f cellFigure) (out []Figure) {
	for i, axis := range m.axes {
		if axis.Kind != v1alpha1.AxisNumeric {
			continue
		}
		rest := slices.Delete(slices.Clone(m.axes), i, i+1)
		var order []string
		lines, repeats := map[string]*plot.Line{}, plot.Marks{Name: "each repeat", Style: 6, Marker: plot.Plus}
		n, xs := 0, []float64{}
		for _, cell := range m.cells {
			x, err := strconv.ParseFloat(string(cell.Values[axis.Name]), 64)
			name := m.name(cell, rest)
			if lines[name] == nil {
				if len(order) == maxDrawn {
					continue
				}
				order, lines[name] = append(order, name), &plot.Line{Name: name, Style: len(order), Marked: true}
			}
			value := f.of(cell)
			if err != nil || value == nil {
				continue
			}
			xs = append(xs, x)
			lines[name].Points = append(lines[name].Points, plot.Point{X: x, Y: f.in(*value)})
			for _, measurement := range first(cell.Measurements, maxDrawn) {
				if figure := f.repeats(measurement.SuiteMeasurement); figure.Value != nil && figure.Note == "" {
					repeats.Points = append(repeats.Points, plot.Point{X: x, Y: f.in(*figure.Value)})
					n++
				}
			}
		}
		layers := []plot.Layer{repeats}
		for _, name := range order {
			slices.SortFunc(lines[name].Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
			layers = append(layers, *lines[name])
		}
		out = append(out, draw(fmt.Sprintf("%s over %s", f.name, axis.Name), count(n, "measurement")+". A line joins the means of the repeats.", plot.Chart{
			Description: "The figure of each cell over the values of the axis.",
			X:           plot.Axis{Label: axis.Name, FromZero: !wide(xs), Log: wide(xs)}, Y: plot.Axis{Label: f.name + ", " + f.unit, FromZero: f.unit != p99.unit}, Layers: layers,
		})...)
	}
	return first(out, maxFigures)
}

// wide reports whether values above 0 differ so much that a linear axis shows the small ones in one place.
func wide(values []float64) bool {
	return len(values) > 0 && slices.Min(values) > 0 && slices.Max(values) > 50*slices.Min(values)
}
