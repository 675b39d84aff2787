package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Crossing is which of two values of an axis has the higher figure, and where on a numeric axis they cross.
type Crossing struct {
	From
	Of      report.FitOf       `json:"of"`
	Axis    string             `json:"axis"`
	Between string             `json:"between"`
	First   v1alpha1.AxisLabel `json:"first"`
	Second  v1alpha1.AxisLabel `json:"second"`
	Where   Where              `json:"where,omitempty"`
	// Result is the expected one. The range is where they cross.
	Result analysis.CrossingResult `json:"result,omitempty"`
	Range
}

func (c Crossing) check() error {
	if c.Axis == "" || c.Between == "" || c.First == "" || c.Second == "" {
		return errors.New("crossing needs axis, between, first and second")
	}
	if results := []analysis.CrossingResult{"", analysis.FirstAbove, analysis.SecondAbove, analysis.Crosses}; !slices.Contains(results, c.Result) {
		return fmt.Errorf("crossing.result is %q: use %s, %s or %s", c.Result, analysis.FirstAbove, analysis.SecondAbove, analysis.Crosses)
	}
	return Figure{Of: c.Of}.check(report.FitRate, report.FitP99, report.FitGoodput)
}

func (c Crossing) expects() bool { return c.Result != "" }

func (c Crossing) measure(doc report.SuiteDocument) measured {
	for _, found := range doc.Crossings {
		isIt := found.Axis == c.Axis && found.Between == c.Between && found.First == c.First && found.Second == c.Second && found.Of == c.Of
		if !isIt || !maps.Equal(found.Others, c.Where) {
			continue
		}
		if found.Crossing == nil {
			return measured{problem: fmt.Sprintf("%s and %s cannot be compared: %s", c.First, c.Second, cmp.Or(found.Problem, "the document says nothing of it"))}
		}
		for _, side := range []v1alpha1.AxisLabel{c.First, c.Second} {
			where := Where{c.Between: side}
			maps.Copy(where, c.Where)
			if problem := gaps(doc, c.Of, c.Axis, where); problem != "" {
				return measured{problem: problem}
			}
		}
		m := measured{words: found.Words(), crossing: found.Crossing.Result, estimate: found.Crossing.At}
		if m.estimate != nil {
			m.words += ", from " + withInterval(*m.estimate, "")
		}
		if found.LeftOut > 0 {
			m.note = fmt.Sprintf("%d figures are no values, and left out", found.LeftOut)
		}
		return m
	}
	return measured{problem: fmt.Sprintf("the document does not compare %s with %s over %s", c.First, c.Second, c.Axis)}
}

// judge compares the result with the expected one.
func (c Crossing) judge(m measured) (Verdict, string) {
	switch {
	case c.Result == "":
		return "", ""
	case m.crossing == analysis.Undecided:
		return CannotBeShown, "at some values no difference is shown: more repeats make the intervals narrower"
	case m.crossing != c.Result:
		return NotReproduced, "another result was expected: " + inWords[c.Result]
	case c.Result == analysis.Crosses && m.estimate == nil:
		return CannotBeShown, "the document does not say where they cross"
	case c.Result == analysis.Crosses:
		return c.Range.judge(*m.estimate)
	}
	return Reproduced, "it is certain at each value"
}

var inWords = map[analysis.CrossingResult]string{
	analysis.FirstAbove: "the first is higher at each value", analysis.SecondAbove: "the second is higher at each value", analysis.Crosses: "they cross",
}
