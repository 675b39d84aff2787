package report

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
)

// AxisScaling says how a rate grows over an axis that counts cores or threads of functions, for cells that are alike in all other axes.
type AxisScaling struct {
	// Axis is the one that counts them, Others are the values of the other axes.
	Axis   string                        `json:"axis"`
	Others map[string]v1alpha1.AxisLabel `json:"others,omitempty"`
	// Figure says which size and goal a rate of frames is of, Of is Rate or Goodput.
	Figure string `json:"figure,omitempty"`
	Of     FitOf  `json:"of"`
	// Scaling is in the unit of the rate. It is absent where Problem says why.
	Scaling *analysis.Scaling `json:"scaling,omitempty"`
	// LeftOut is how many figures of these cells are no values.
	LeftOut int    `json:"leftOut,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// coresPath leads to a field that counts the cores or threads of one or more functions.
var coresPath = regexp.MustCompile(`^chain\[[^]]+\]\.(cpu|platform\.vcpus|encryptionGateway\.threads)$`)

// CountsCores reports whether the values of the axis are numbers of cores or threads.
func (a SuiteAxis) CountsCores() bool {
	return a.Kind == v1alpha1.AxisNumeric && coresPath.MatchString(a.Path)
}

// scalings says how rates and goodputs grow over each axis that counts cores, for each combination of the other axes' values. Figures that are floors or
// in doubt are left out.
func scalings(axes []SuiteAxis, cells []SuiteCell) []AxisScaling {
	var out []AxisScaling
	for _, axis := range axes {
		if !axis.CountsCores() {
			continue
		}
		for _, alike := range alikeBut([]string{axis.Name}, len(axes), cells) {
			for _, of := range []FitOf{FitRate, FitGoodput} {
				values, leftOut := points(axis.Name, alike, of)
				if len(values) == 0 {
					continue
				}
				s := AxisScaling{Axis: axis.Name, Others: maps.Clone(alike[0].Values), Figure: figureOf(alike, of), Of: of, LeftOut: leftOut}
				delete(s.Others, axis.Name)
				if scaling, err := analysis.Scale(values); err != nil {
					s.Problem = err.Error()
				} else {
					s.Scaling = &scaling
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// scalingsSection shows what is concluded, with a row for each series.
func scalingsSection(doc SuiteDocument) section {
	s := section{title: "How it scales", columns: []column{
		left("Axis"), left("Others"), left("Of"), number("Contention"), number("95 % interval"), number("Coherency"), number("95 % interval"), number("Peak"), left("Stops at"), left("Note"),
	}}
	for _, a := range doc.Scalings {
		row := []string{a.Axis, orNone(labels(a.Others)), quantity(a.Of, a.Figure), none, none, none, none, none, none, orNone(a.note())}
		if a.Scaling != nil {
			row[8] = a.StopsInWords()
			if law := a.Scaling.Law; law != nil {
				row[3], row[4] = coefficient(law.Contention)
				row[5], row[6] = coefficient(law.Coherency)
				if law.Peak != nil {
					row[7] = Significant(law.Peak.Value)
				}
			}
		}
		s.rows = append(s.rows, row)
	}
	return s
}

// coefficient writes one of the law's with its interval. It has none at 0, where the fit ends: the points do not show it.
func coefficient(e analysis.Estimate) (value, within string) {
	if e.High <= 0 {
		return Significant(e.Value), none
	}
	return Significant(e.Value), interval(e)
}

// numbersSection shows what each number of cores does next to what the smallest one predicts.
func numbersSection(doc SuiteDocument) section {
	s := section{title: "Measured and extrapolated", columns: []column{
		left("Axis"), left("Others"), left("Of"), number("Number"), number("Measured"), number("Extrapolated"), left("Unit"), number("Efficiency"), number("95 % interval"),
	}}
	for _, a := range doc.Scalings {
		if a.Scaling == nil {
			continue
		}
		unit, write := a.Of.unit()
		for _, n := range a.Scaling.Numbers {
			s.rows = append(s.rows, []string{
				a.Axis, orNone(labels(a.Others)), quantity(a.Of, a.Figure), strconv.FormatFloat(n.Number, 'f', -1, 64), write(int64(n.Mean)), write(int64(n.Extrapolated.Value)), unit,
				Significant(n.Efficiency.Value), interval(n.Efficiency),
			})
		}
	}
	return s
}

// unit returns that of a rate in tables, and how a value is written in it.
func (of FitOf) unit() (string, func(int64) string) {
	if of == FitGoodput {
		return "Mbit/s", megabits
	}
	return "kfps", kiloFrames
}

// InUnit writes a rate with its unit, as "3360.0 Mbit/s".
func (of FitOf) InUnit(value float64) string {
	unit, write := of.unit()
	return write(int64(value)) + " " + unit
}

// StopsInWords says where a rate stops growing. The scaling is there.
func (a AxisScaling) StopsInWords() string {
	switch s := a.Scaling; {
	case s.StopsAt != nil:
		return Significant(s.StopsAt.Value)
	case s.StillGrows:
		return "it still grows at " + Significant(s.Last().Number)
	}
	return "not known"
}

// note says what the scaling does not show.
func (a AxisScaling) note() string {
	var notes []string
	if a.Problem != "" {
		notes = append(notes, a.Problem)
	}
	if s := a.Scaling; s != nil {
		switch {
		case s.Law == nil:
			notes = append(notes, "no law is fitted: "+s.LawProblem)
		case !s.Law.IsLaw():
			notes = append(notes, fmt.Sprintf("the points do not follow the law (p = %s), as where a limit caps the rate", Significant(*s.Law.LackOfFit)))
		}
	}
	if a.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d more figures are no values", a.LeftOut))
	}
	return strings.Join(notes, "; ")
}
