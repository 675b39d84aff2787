package study

import (
	"math"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Range is where a figure is expected. Without an end it has none.
type Range struct {
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
}

// judge compares an interval, an end of which is infinite where it is not known, with a range.
func (r Range) judge(e analysis.Estimate) (Verdict, string) {
	within := (r.Least == nil || e.Low >= *r.Least) && (r.Most == nil || e.High <= *r.Most)
	outside := r.Least != nil && e.High < *r.Least || r.Most != nil && e.Low > *r.Most
	switch {
	case within:
		return Reproduced, "the interval is within the expected range, " + r.String()
	case outside:
		return NotReproduced, "the interval is outside of the expected range, " + r.String()
	}
	if math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) {
		return CannotBeShown, "what is known leaves open whether the figure is within the expected range, " + r.String()
	}
	return CannotBeShown, "the interval is partly outside of the expected range, " + r.String() + ": more repeats make it narrower"
}

// String writes the range as "0.3 to 0.7", "at least 2" or "at most 1.5".
func (r Range) String() string {
	switch {
	case r.Least != nil && r.Most != nil:
		return report.Significant(*r.Least) + " to " + report.Significant(*r.Most)
	case r.Least != nil:
		return "at least " + report.Significant(*r.Least)
	case r.Most != nil:
		return "at most " + report.Significant(*r.Most)
	}
	return "any value"
}
