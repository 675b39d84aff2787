package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
)

// AxisFit is a straight line through a figure over a numeric axis, for cells that are alike in all other axes.
type AxisFit struct {
	// Axis is the numeric one, Others are the values of the other axes.
	Axis   string                        `json:"axis"`
	Others map[string]v1alpha1.AxisLabel `json:"others,omitempty"`
	// Figure says which size and goal the figure is of, Of what is fitted.
	Figure string `json:"figure,omitempty"`
	Of     FitOf  `json:"of"`
	// Line is in nanoseconds for one unit of the axis. It is absent where Problem says why.
	Line *analysis.LineFit `json:"line,omitempty"`
	// LeftOut is how many figures of these cells are no values. Where they are the fastest ones, as floors are, the line without them is not that of
	// the whole axis.
	LeftOut int    `json:"leftOut,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// FitOf is what is fitted over an axis.
type FitOf string

const (
	// FitFrameTime is the time for a frame in nanoseconds, 1e9 over the rate: what one more rule adds to it is what the rule costs.
	FitFrameTime FitOf = "FrameTime"
	// FitP99 is the 99th percentile of the delay in nanoseconds, at the last load that was asked for. One that is a share of a throughput is another
	// rate in each cell.
	FitP99 FitOf = "P99"
	// FitRate is the rate in frames per second. No line is fitted to it: two of them are compared.
	FitRate FitOf = "Rate"
	// FitGoodput is the goodput of the first number of TCP connections in bits per second. No line is fitted to it.
	FitGoodput FitOf = "Goodput"
)

// points returns the figures of cells over a numeric axis, and how many of them are no values and left out.
func points(axis string, cells []SuiteCell, of FitOf) (out []analysis.Point, leftOut int) {
	for _, cell := range cells {
		x, err := strconv.ParseFloat(string(cell.Values[axis]), 64)
		if err != nil {
			continue
		}
		values, none := Values(cell, of)
		for _, y := range values {
			out = append(out, analysis.Point{X: x, Y: y})
		}
		leftOut += len(none)
	}
	return out, leftOut
}

// Values returns the figures of a cell's repeats. Those that are no values are in leftOut, each with a note.
func Values(cell SuiteCell, of FitOf) (out []float64, leftOut []v1alpha1.NotedFigure) {
	for _, m := range cell.Measurements {
		figure := m.Rate()
		switch of {
		case FitP99:
			figure = m.P99()
		case FitGoodput:
			figure = m.Goodput()
		}
		switch {
		case figure.Value == nil:
		case *figure.Value <= 0 || figure.Note != "":
			figure.Note = cmp.Or(figure.Note, v1alpha1.NoteDoubtful)
			leftOut = append(leftOut, figure)
		case of == FitFrameTime:
			out = append(out, 1e9/float64(*figure.Value))
		default:
			out = append(out, float64(*figure.Value))
		}
	}
	return out, leftOut
}

// fits returns a line for each numeric axis, each combination of the other axes' values and each figure that has values. Figures that are floors or
// in doubt are no values, and are left out.
func fits(axes []SuiteAxis, cells []SuiteCell) []AxisFit {
	var out []AxisFit
	for _, axis := range axes {
		if axis.Kind != v1alpha1.AxisNumeric {
			continue
		}
		for _, alike := range alikeBut([]string{axis.Name}, len(axes), cells) {
			for _, of := range []FitOf{FitFrameTime, FitP99} {
				values, leftOut := points(axis.Name, alike, of)
				if len(values) == 0 {
					continue
				}
				fit := AxisFit{Axis: axis.Name, Others: maps.Clone(alike[0].Values), Figure: figureOf(alike, of), Of: of, LeftOut: leftOut}
				delete(fit.Others, axis.Name)
				if line, err := analysis.Line(values); err != nil {
					fit.Problem = err.Error()
				} else {
					fit.Line = &line
				}
				out = append(out, fit)
			}
		}
	}
	return out
}

// alikeBut returns the cells with all axes in groups that differ only in some axes, in the order of the cells. The control cell is one of those that it
// repeats.
func alikeBut(differ []string, axes int, cells []SuiteCell) [][]SuiteCell {
	var out [][]SuiteCell
	place := map[string]int{}
	for _, cell := range cells {
		if len(cell.Values) != axes {
			continue
		}
		key := ""
		for _, name := range slices.Sorted(maps.Keys(cell.Values)) {
			if !slices.Contains(differ, name) {
				key += "\x00" + string(cell.Values[name])
			}
		}
		at, known := place[key]
		if !known {
			at = len(out)
			place[key], out = at, append(out, nil)
		}
		out[at] = append(out[at], cell)
	}
	return out
}

// figureOf says which size and goal the figures of cells are of: the goal of a rate alone where the axis is that of the size, and none for TCP.
func figureOf(cells []SuiteCell, of FitOf) string {
	if of == FitGoodput {
		return ""
	}
	seen := map[string]bool{}
	for _, cell := range cells {
		if cell.Figure != "" {
			seen[cell.Figure] = true
		}
	}
	all := slices.Sorted(maps.Keys(seen))
	switch {
	case len(all) == 1:
		return all[0]
	case len(all) == 0 || of == FitP99:
		return ""
	}
	_, goal, _ := strings.Cut(all[0], " ")
	for _, figure := range all {
		if _, other, _ := strings.Cut(figure, " "); other != goal {
			return ""
		}
	}
	return goal
}

// fitsSection shows the lines.
func fitsSection(doc SuiteDocument) section {
	s := section{title: "Cost of one more", columns: []column{
		left("Axis"), left("Others"), left("Of"), number("Slope (ns)"), number("95 % interval"), number("At 0 (ns)"), number("n"), left("Note"),
	}}
	for _, f := range doc.Fits {
		if !f.hasRange(doc) {
			continue
		}
		row := []string{f.Axis, orNone(labels(f.Others)), quantity(f.Of, f.Figure), none, none, none, none, f.Problem}
		if l := f.Line; l != nil {
			row[3], row[4] = Significant(l.Slope.Value), interval(l.Slope)
			row[5], row[6] = Significant(l.Intercept.Value), strconv.Itoa(l.N)
			row[7] = f.note()
		}
		row[7] = orNone(row[7])
		s.rows = append(s.rows, row)
	}
	return s
}

// hasRange reports whether the document has cells with two or more values of the axis, with the fit's values of the others. One value has no line, and is no gap either.
func (f AxisFit) hasRange(doc SuiteDocument) bool {
	seen := map[v1alpha1.AxisLabel]bool{}
	for label := range doc.Over(f.Axis, f.Others) {
		seen[label] = true
	}
	return len(seen) > 1
}

// quantity says what is fitted or compared.
func quantity(of FitOf, figure string) string {
	if of == FitP99 {
		// A goal belongs to the rate alone.
		size, _, _ := strings.Cut(figure, " ")
		return strings.TrimSpace("p99 of the delay at the last load " + size)
	}
	if of == FitGoodput {
		return "goodput of the first number of connections"
	}
	return strings.TrimSpace(map[FitOf]string{FitFrameTime: "time for a frame ", FitRate: "rate of frames "}[of] + figure)
}

// note says what the line does not show.
func (f AxisFit) note() string {
	var notes []string
	switch {
	case !f.Line.IsLine():
		notes = append(notes, fmt.Sprintf("the points are not on a line (p = %s): it is the slope of the whole range", Significant(*f.Line.LackOfFit)))
	case f.Line.Slope.IsZeroPossible():
		notes = append(notes, "no slope is shown")
	}
	if f.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d more figures are no values", f.LeftOut))
	}
	return strings.Join(notes, "; ")
}

// labels writes values of axes as "backend=nftables, size=64".
func labels(values map[string]v1alpha1.AxisLabel) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name+"="+string(values[name]))
	}
	return strings.Join(out, ", ")
}

// Significant writes a number with three significant digits or more, and none after the point where it has three before it.
func Significant(value float64) string {
	if math.Abs(value) >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}

// interval writes that of an estimate as "0.01 to 0.03".
func interval(e analysis.Estimate) string { return Significant(e.Low) + " to " + Significant(e.High) }
