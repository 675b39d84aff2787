package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
)

// AxisCrossing says which of two series of cells has the higher figure over a numeric axis, and where they change places.
type AxisCrossing struct {
	// Axis is the numeric one. The two series differ in the value of the axis Between: First is the first one of that axis, Second another one.
	// Others are the values of the other axes, which both have.
	Axis    string                        `json:"axis"`
	Between string                        `json:"between"`
	First   v1alpha1.AxisLabel            `json:"first"`
	Second  v1alpha1.AxisLabel            `json:"second"`
	Others  map[string]v1alpha1.AxisLabel `json:"others,omitempty"`
	// Figure says which size and goal the figure is of, Of what is compared.
	Figure string `json:"figure,omitempty"`
	Of     FitOf  `json:"of"`
	// Crossing is absent where Problem says why.
	Crossing *analysis.Crossing `json:"crossing,omitempty"`
	// LeftOut is how many figures of these cells are no values.
	LeftOut int    `json:"leftOut,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// crossings compares, over each numeric axis, the cells of each value of an axis of categories with those of its first value that are alike in all
// other axes. Figures that are floors or in doubt are left out.
func crossings(axes []SuiteAxis, cells []SuiteCell) []AxisCrossing {
	var out []AxisCrossing
	for _, axis := range axes {
		if axis.Kind != v1alpha1.AxisNumeric {
			continue
		}
		for _, between := range axes {
			if between.Kind == v1alpha1.AxisNumeric {
				continue
			}
			for _, alike := range alikeBut([]string{axis.Name, between.Name}, len(axes), cells) {
				out = append(out, comparedOver(axis.Name, between.Name, alike)...)
			}
		}
	}
	return out
}

// comparedOver compares the series of cells that are alike in all axes but two.
func comparedOver(axis, between string, alike []SuiteCell) []AxisCrossing {
	var out []AxisCrossing
	all := alikeBut([]string{axis}, len(alike[0].Values), alike)
	first := all[0][0].Values[between]
	for _, series := range all[1:] {
		for _, of := range []FitOf{FitRate, FitP99, FitGoodput} {
			a, leftOutA := points(axis, all[0], of)
			b, leftOutB := points(axis, series, of)
			if len(a) == 0 || len(b) == 0 {
				continue
			}
			c := AxisCrossing{
				Axis: axis, Between: between, First: first, Second: series[0].Values[between], Others: maps.Clone(series[0].Values),
				Figure: figureOf(slices.Concat(all[0], series), of), Of: of, LeftOut: leftOutA + leftOutB,
			}
			delete(c.Others, axis)
			delete(c.Others, between)
			if crossing, err := analysis.Cross(a, b); err != nil {
				c.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
			} else {
				c.Crossing = &crossing
			}
			out = append(out, c)
		}
	}
	return out
}

// crossingsSection shows the comparisons.
func crossingsSection(doc SuiteDocument) section {
	s := section{title: "Where two cross", columns: []column{
		left("Axis"), left("Others"), left("Of"), left("First"), left("Second"), left("Which is higher"), number("Cross at"), number("95 % interval"), left("Second against first"), left("Note"),
	}}
	for _, c := range doc.Crossings {
		row := []string{c.Axis, orNone(labels(c.Others)), quantity(c.Of, c.Figure), string(c.First), string(c.Second), none, none, none, none, c.note()}
		if found := c.Crossing; found != nil {
			row[5], row[8] = c.Words(), shares(c.Axis, found.Differences)
			if at := found.At; at != nil {
				row[6], row[7] = Significant(at.Value), interval(*at)
			}
		}
		s.rows = append(s.rows, row)
	}
	return s
}

// Words says which of the two has the higher figure. The comparison is there.
func (c AxisCrossing) Words() string {
	switch found := c.Crossing; found.Result {
	case analysis.FirstAbove:
		return string(c.First) + " at each value"
	case analysis.SecondAbove:
		return string(c.Second) + " at each value"
	case analysis.Crosses:
		if found.Before() > 0 {
			return fmt.Sprintf("%s, then %s", c.Second, c.First)
		}
		return fmt.Sprintf("%s, then %s", c.First, c.Second)
	case analysis.CrossesMoreThanOnce:
		return "they change places more than once"
	}
	return "not decided within the range"
}

// shares writes the first and the last difference as "+3.1 % at 200, -50 % at 30000".
func shares(axis string, all []analysis.Difference) string {
	if len(all) == 0 {
		return none
	}
	var words []string
	for _, d := range []analysis.Difference{all[0], all[len(all)-1]} {
		words = append(words, fmt.Sprintf("%+.3g %% at %s %s", 100*d.Share.Value, axis, strconv.FormatFloat(d.X, 'f', -1, 64)))
	}
	return strings.Join(words, ", ")
}

// note says what the comparison does not show.
func (c AxisCrossing) note() string {
	notes := []string{c.Problem}
	if found := c.Crossing; found != nil {
		n := 0
		for _, d := range found.Differences {
			if d.Share.IsZeroPossible() {
				n++
			}
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("no difference is shown at %d of %d values", n, len(found.Differences)))
		}
	}
	if c.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d more figures are no values", c.LeftOut))
	}
	notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" })
	return cmp.Or(strings.Join(notes, "; "), none)
}
