package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Slope is what one more of a numeric axis adds to a figure, in nanoseconds.
type Slope struct {
	From
	Of   report.FitOf `json:"of"`
	Axis string       `json:"axis"`
	// Where are the values of the other axes.
	Where Where `json:"where,omitempty"`
	// Straight asks whether each one adds the same.
	Straight bool `json:"straight,omitempty"`
	Range
}

func (s Slope) check() error {
	if s.Axis == "" {
		return errors.New("slope.axis is missing")
	}
	return Figure{Of: s.Of}.check(report.FitFrameTime, report.FitP99)
}

func (s Slope) expects() bool { return s.Straight || s.Range != Range{} }

func (s Slope) measure(doc report.SuiteDocument) measured {
	for _, fit := range doc.Fits {
		if fit.Axis != s.Axis || fit.Of != s.Of || !maps.Equal(fit.Others, s.Where) {
			continue
		}
		if fit.Line == nil {
			return measured{problem: fmt.Sprintf("there is no line over %s at %s: %s", s.Axis, s.Where, cmp.Or(fit.Problem, "the document has none"))}
		}
		if problem := gaps(doc, s.Of, s.Axis, s.Where); problem != "" {
			return measured{problem: problem}
		}
		m := measured{line: fit.Line, estimate: &fit.Line.Slope}
		m.words = withInterval(fit.Line.Slope, " ns")
		var notes []string
		if !fit.Line.IsLine() && !s.Straight {
			notes = append(notes, "the points are not on a line, so it is the slope of the whole range")
		}
		if fit.LeftOut > 0 {
			notes = append(notes, fmt.Sprintf("%d figures are no values, and left out", fit.LeftOut))
		}
		m.note = strings.Join(notes, "; ")
		return m
	}
	return measured{problem: fmt.Sprintf("the document has no figures over %s at %s", s.Axis, s.Where)}
}

func (s Slope) judge(m measured) (Verdict, string) {
	if s.Straight {
		return straight(m.line)
	}
	return s.Range.judge(*m.estimate)
}

// leastR2 is how much of the scatter a line explains at least that says anything.
const leastR2 = 0.9

// straight judges whether points are on a line.
func straight(line *analysis.LineFit) (Verdict, string) {
	switch {
	case line.LackOfFit == nil:
		return CannotBeShown, "it takes repeats at three values of the axis or more"
	case !line.IsLine():
		return NotReproduced, fmt.Sprintf("the cost changes over the range (F test, p = %s)", report.Significant(*line.LackOfFit))
	case line.R2 < leastR2:
		return CannotBeShown, fmt.Sprintf("the line explains %s %% of the scatter alone", report.Significant(100*line.R2))
	}
	return Reproduced, fmt.Sprintf("nothing shows that the points are not on a line (F test, p = %s)", report.Significant(*line.LackOfFit))
}
