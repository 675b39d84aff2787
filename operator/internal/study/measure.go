package study

import (
	"fmt"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Measure is how a finding follows from the document of a suite. It has one member, except for a claim that no size shows.
type Measure struct {
	Slope    *Slope    `json:"slope,omitempty"`
	Ratio    *Ratio    `json:"ratio,omitempty"`
	Crossing *Crossing `json:"crossing,omitempty"`
	Scaling  *Scaling  `json:"scaling,omitempty"`
	Amount   *Amount   `json:"amount,omitempty"`
	Steps    *Steps    `json:"steps,omitempty"`
}

// kind is one way in which a finding follows from the document of a suite.
type kind interface {
	// suite returns the name that the study has for the suite.
	suite() string
	// check returns an error for one without what it needs.
	check() error
	// expects reports whether it says what is expected, as a claim has to.
	expects() bool
	measure(doc report.SuiteDocument) measured
	// judge says what was measured, without a problem, says of what is expected.
	judge(m measured) (Verdict, string)
}

// kinds returns the members that the measure has.
func (m Measure) kinds() (out []kind) {
	if m.Slope != nil {
		out = append(out, m.Slope)
	}
	if m.Ratio != nil {
		out = append(out, m.Ratio)
	}
	if m.Crossing != nil {
		out = append(out, m.Crossing)
	}
	if m.Scaling != nil {
		out = append(out, m.Scaling)
	}
	if m.Amount != nil {
		out = append(out, m.Amount)
	}
	if m.Steps != nil {
		out = append(out, m.Steps)
	}
	return out
}

// From says which suite a measure is from.
type From struct {
	Suite string `json:"suite"`
}

func (f From) suite() string { return f.Suite }

// measured is what was measured. A problem says why nothing was.
type measured struct {
	words    string
	estimate *analysis.Estimate
	// bound is what is known where there is no estimate, because the figures are bounds.
	bound   *Range
	note    string
	problem string
	// line, crossing and scaling are what the document has.
	line     *analysis.LineFit
	crossing analysis.CrossingResult
	scaling  *analysis.Scaling
	steps    []analysis.Step
	// values are those of an amount, and left is how many repeats have none.
	values []float64
	left   leftOut
}

// leftOut is how many repeats have no value: those that failed, have not ended, or are in doubt.
type leftOut int

// String says so; "" for none.
func (n leftOut) String() string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("repeats without a value, left out: %d", int(n))
}

// withInterval writes an estimate as "2.13 ns (2.01 to 2.25)".
func withInterval(e analysis.Estimate, unit string) string {
	return fmt.Sprintf("%s%s (%s to %s)", report.Significant(e.Value), unit, report.Significant(e.Low), report.Significant(e.High))
}
