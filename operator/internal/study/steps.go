package study

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Steps is what each value of an axis changes, compared with the one before it in the order of the matrix. It expects nothing.
type Steps struct {
	From
	Figure
	Axis string `json:"axis"`
	// Where are the values of the other axes.
	Where Where `json:"where,omitempty"`
}

func (s Steps) check() error {
	if s.Axis == "" {
		return errors.New("steps.axis is missing")
	}
	return s.Figure.check(report.FitFrameTime, report.FitP99, report.FitRate)
}

// expects is false: a step has no range.
func (s Steps) expects() bool { return false }

func (s Steps) measure(doc report.SuiteDocument) measured {
	levels, left, err := s.levels(doc)
	if err != nil {
		return measured{problem: err.Error()}
	}
	steps, err := analysis.Steps(levels)
	if err != nil {
		return measured{problem: err.Error()}
	}
	return measured{steps: steps, words: stepsInWords(steps), note: left.String()}
}

func (s Steps) judge(measured) (Verdict, string) { return "", "" }

// levels returns the cells over the axis, each with its repeats, and how many repeats have no value. The control cell has the values of another one, and
// is left out.
func (s Steps) levels(doc report.SuiteDocument) (out []analysis.Setting, left leftOut, err error) {
	seen := map[v1alpha1.AxisLabel]bool{}
	for level, cell := range doc.Over(s.Axis, s.Where) {
		if seen[level] {
			continue
		}
		seen[level] = true
		next := analysis.Setting{Name: string(level)}
		for _, m := range cell.Measurements {
			values, none, err := s.Figure.values(report.SuiteCell{Name: cell.Name, Measurements: []report.SuiteMeasurement{m}})
			switch {
			case err != nil:
				return nil, 0, err
			case len(values) == 1:
				next.Values = append(next.Values, values[0])
			case len(none) == 1 && none[0].Note != v1alpha1.NoteDoubtful:
				return nil, 0, fmt.Errorf("a figure of cell %s is a bound (%s)", cell.Name, none[0].Note)
			default:
				next.Values, left = append(next.Values, math.NaN()), left+1
			}
		}
		out = append(out, next)
	}
	return out, left, nil
}

// stepsInWords writes steps as "pinned -12 % (-15 to -9), quiet no effect is shown, +1 % (-2 to 4)".
func stepsInWords(steps []analysis.Step) string {
	var words []string
	for _, step := range steps {
		what := step.To
		if step.Share.IsZeroPossible() {
			what += " no effect is shown,"
		}
		words = append(words, fmt.Sprintf("%s %+.3g %% (%s to %s)", what, 100*step.Share.Value, report.Significant(100*step.Share.Low), report.Significant(100*step.Share.High)))
	}
	return strings.Join(words, ", ")
}
