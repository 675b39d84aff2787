package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// ScalingFigure is what is asked of how a rate scales.
type ScalingFigure string

const (
	// ScalingContention and ScalingCoherency are the coefficients of the Universal Scalability Law, ScalingPeak is where its rate is highest.
	ScalingContention ScalingFigure = "Contention"
	ScalingCoherency  ScalingFigure = "Coherency"
	ScalingPeak       ScalingFigure = "Peak"
	// ScalingEfficiency is the rate of the largest number as a share of what the smallest one predicts.
	ScalingEfficiency ScalingFigure = "Efficiency"
	// ScalingStopsAt is the smallest number that no larger one exceeds by 5 %.
	ScalingStopsAt ScalingFigure = "StopsAt"
	// ScalingExtrapolation is what the smallest number predicts for the largest one.
	ScalingExtrapolation ScalingFigure = "Extrapolation"
)

var scalingFigures = []ScalingFigure{ScalingContention, ScalingCoherency, ScalingPeak, ScalingEfficiency, ScalingStopsAt, ScalingExtrapolation}

// Scaling is how a rate grows over an axis that counts cores.
type Scaling struct {
	From
	Of     report.FitOf  `json:"of"`
	Axis   string        `json:"axis"`
	Where  Where         `json:"where,omitempty"`
	Figure ScalingFigure `json:"figure"`
	Range
}

// expects is true for where a rate stops without a range, too: that it stops at all is something that is expected.
func (s Scaling) expects() bool { return s.Figure == ScalingStopsAt || s.Range != Range{} }

func (s Scaling) check() error {
	if s.Axis == "" {
		return errors.New("scaling.axis is missing")
	}
	if !slices.Contains(scalingFigures, s.Figure) {
		return fmt.Errorf("scaling.figure is %q: use one of %v", s.Figure, scalingFigures)
	}
	return Figure{Of: s.Of}.check(report.FitRate, report.FitGoodput)
}

func (s Scaling) measure(doc report.SuiteDocument) measured {
	for _, found := range doc.Scalings {
		if found.Axis != s.Axis || found.Of != s.Of || !maps.Equal(found.Others, s.Where) {
			continue
		}
		if found.Scaling == nil {
			return measured{problem: fmt.Sprintf("nothing is known of how it scales over %s at %s: %s", s.Axis, s.Where, cmp.Or(found.Problem, "the document says nothing of it"))}
		}
		if problem := gaps(doc, s.Of, s.Axis, s.Where); problem != "" {
			return measured{problem: problem}
		}
		m := s.figure(found)
		if m.problem != "" {
			return m
		}
		if e := m.estimate; e != nil && (e.Value <= 0 || e.Low > e.Value || e.High < e.Value) {
			return measured{problem: "the document has no such figure with its interval"}
		}
		m.scaling = found.Scaling
		if found.LeftOut > 0 {
			m.note = strings.TrimPrefix(fmt.Sprintf("%s; %d figures are no values, and left out", m.note, found.LeftOut), "; ")
		}
		return m
	}
	return measured{problem: fmt.Sprintf("the document does not say how %s scales over %s at %s", s.Of, s.Axis, s.Where)}
}

// figure returns what is asked of a scaling, which is there.
func (s Scaling) figure(found report.AxisScaling) measured {
	scaling, last := found.Scaling, found.Scaling.Last()
	at := " at " + report.Significant(last.Number)
	switch s.Figure {
	case ScalingEfficiency:
		return measured{words: withInterval(last.Efficiency, "") + at, estimate: &last.Efficiency}
	case ScalingExtrapolation:
		e := last.Extrapolated
		return measured{
			words:    fmt.Sprintf("%s (%s to %s)%s, where %s were measured", s.Of.InUnit(e.Value), s.Of.InUnit(e.Low), s.Of.InUnit(e.High), at, s.Of.InUnit(last.Mean)),
			estimate: &e,
		}
	case ScalingStopsAt:
		m := measured{words: found.StopsInWords(), estimate: scaling.StopsAt}
		if m.estimate != nil {
			m.words = withInterval(*m.estimate, "")
		}
		return m
	}
	law := scaling.Law
	if law == nil {
		return measured{problem: "no law is fitted: " + cmp.Or(scaling.LawProblem, "the document has none")}
	}
	contention := law.Contention
	// It is a share. One above 1 is kept: it says that the law is none of these points.
	if contention.Value <= 1 {
		contention.High = min(1, contention.High)
	}
	m := measured{estimate: map[ScalingFigure]*analysis.Estimate{ScalingContention: &contention, ScalingCoherency: &law.Coherency, ScalingPeak: law.Peak}[s.Figure]}
	if m.estimate == nil {
		return measured{problem: "the law has no peak: nothing shows that it has a coherency above 0"}
	}
	if m.estimate.High <= 0 {
		return measured{problem: "the fit ends at 0, where a coefficient has no interval: the points do not show it"}
	}
	m.words = withInterval(*m.estimate, "")
	if !law.IsLaw() {
		m.note = fmt.Sprintf("the points do not follow the law (F test, p = %s)", report.Significant(*law.LackOfFit))
	}
	return m
}

// judge compares what was measured with what is expected. Of where it stops, that is at least that it does.
func (s Scaling) judge(m measured) (Verdict, string) {
	switch {
	case slices.Contains([]ScalingFigure{ScalingContention, ScalingCoherency, ScalingPeak}, s.Figure) && !m.scaling.Law.IsLaw():
		return CannotBeShown, "the points do not follow the law"
	case s.Figure != ScalingStopsAt:
		return s.Range.judge(*m.estimate)
	case m.estimate == nil && m.scaling.StillGrows:
		return NotReproduced, "the largest number carries more than each other one"
	case m.estimate == nil:
		return CannotBeShown, "neither is shown that it stops nor that it still grows: more repeats make the intervals narrower"
	case s.Range == Range{}:
		return Reproduced, "each larger number carries less than 5 % more"
	}
	return s.Range.judge(*m.estimate)
}
