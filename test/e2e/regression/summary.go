package regression

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
)

// regressed is the verdict of a series that became worse.
const regressed = "Regression"

// Execution is what one execution of the suite found.
type Execution struct {
	// Number counts from 1.
	Number   int
	Revision string
	Rules    int
	// Value is 0 where the run has none; NoValue says why.
	Value   int64
	NoValue string
	// Succeeded is the reason of the suite's condition.
	Succeeded string
	Verdict   v1alpha1.SeriesVerdict
	// ExtraRuns is how many runs its confirmations took.
	ExtraRuns int
	// Accepted says that the change was acknowledged before.
	Accepted bool
	Took     time.Duration
}

func (e Execution) String() string {
	value := fmt.Sprintf("%d frames/s", e.Value)
	if e.Value == 0 {
		value = "no value: " + e.NoValue
	}
	line := fmt.Sprintf("%s: %d rules, %s, %s %s, suite %s, varies by %.2f %%, %d extra runs, %.0f s",
		e.Revision, e.Rules, value, e.Verdict.Verdict, e.Verdict.Reason, e.Succeeded, float64(e.Verdict.VariationPartsPerMillion)/1e4, e.ExtraRuns, e.Took.Seconds())
	if c := e.Verdict.Change; c != nil {
		line += fmt.Sprintf("; since %s by %+.2f %% (%+.2f to %+.2f %%), %d pairs", c.Revision, percent(c.PartsPerMillion), percent(c.LowPartsPerMillion), percent(c.HighPartsPerMillion), c.Pairs)
	}
	return line
}

func percent(partsPerMillion int64) float64 { return float64(partsPerMillion) / 1e4 }

// Summary is what all executions found.
type Summary struct {
	Executions, Values int
	// FalseAlarms are verdicts Regression before the change, and after it was accepted.
	FalseAlarms int
	// FoundAfter is the number of executions from the change to the first verdict Regression; 0 if there was none.
	FoundAfter int
	// ExtraRuns are those of all confirmations, QuietExtraRuns those of executions without a change.
	ExtraRuns, QuietExtraRuns int
	// Variation is that of the values before the change, as a share of their mean, and Change that of the mean after it.
	Variation, Change float64
	Took              time.Duration
}

func (s Summary) String() string {
	found := "not found"
	if s.FoundAfter > 0 {
		found = fmt.Sprintf("found after %d", s.FoundAfter)
	}
	return fmt.Sprintf("%d executions with %d values in %.1f minutes: %d false alarms; the change was %s; %d extra runs, %d of them without a change; runs vary by %.2f %%; the mean changed by %+.2f %%",
		s.Executions, s.Values, s.Took.Minutes(), s.FalseAlarms, found, s.ExtraRuns, s.QuietExtraRuns, 100*s.Variation, 100*s.Change)
}

// Summarize sums up executions, of which the first ones are unchanged.
func Summarize(executions []Execution, unchanged int) Summary {
	s := Summary{Executions: len(executions)}
	var before, after []int64
	for _, e := range executions {
		s.Took += e.Took
		s.ExtraRuns += e.ExtraRuns
		isQuiet := e.Number <= unchanged || e.Accepted
		if isQuiet {
			s.QuietExtraRuns += e.ExtraRuns
		}
		switch {
		case e.Verdict.Verdict != regressed:
		case isQuiet:
			s.FalseAlarms++
		case s.FoundAfter == 0:
			s.FoundAfter = e.Number - unchanged
		}
		switch {
		case e.Value == 0:
		case e.Number <= unchanged:
			before = append(before, e.Value)
		default:
			after = append(after, e.Value)
		}
	}
	s.Values, s.Variation = len(before)+len(after), Variation(before)
	if len(before) > 0 && len(after) > 0 {
		old, _ := spread(floats(before))
		now, _ := spread(floats(after))
		s.Change = now/old - 1
	}
	return s
}

// point has the fields of a point that are read here.
type point struct {
	Figure     string   `json:"figure"`
	Value      int64    `json:"value"`
	Bound      string   `json:"bound"`
	Doubts     []string `json:"doubts"`
	UpperBound int64    `json:"upperBound"`
}

// ValueOf returns the value of a metric that a measurement keeps. Where it is a bound or in doubt it is 0, and why says so.
func ValueOf(m *v1alpha1.BenchmarkMeasurement, metric v1alpha1.Metric) (value int64, why string, err error) {
	for _, text := range m.Spec.Points {
		var p point
		for _, part := range [][]byte{m.Spec.Common.Raw, text.Raw} {
			if err := json.Unmarshal(part, &p); err != nil {
				return 0, "", fmt.Errorf("measurement %s: %w", m.Name, err)
			}
		}
		switch name, _, _ := strings.Cut(p.Figure, " "); {
		case name != string(metric):
		case p.Bound != "" && p.Bound != "Exact":
			return 0, fmt.Sprintf("%s %d", p.Bound, p.Value), nil
		// An upper bound limits what other work on the core that sends explains.
		case len(p.Doubts) > 1 || len(p.Doubts) == 1 && (p.Doubts[0] != string(v1alpha1.DoubtUnsteadyPacing) || p.UpperBound == 0):
			return 0, fmt.Sprintf("%d in doubt: %s", p.Value, strings.Join(p.Doubts, ", ")), nil
		default:
			return p.Value, "", nil
		}
	}
	return 0, "", fmt.Errorf("measurement %s has no %s", m.Name, metric)
}
