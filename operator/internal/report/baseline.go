package report

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/baseline"
)

// baselineSection shows the earlier run's figures next to this run's.
func baselineSection(doc Document) section {
	if doc.Baseline == nil {
		return section{}
	}
	s := section{title: fmt.Sprintf("Against the baseline %s", doc.Baseline.RunRef.Name), columns: []column{
		left("Of"), left("Figure"), left("At"), number(baselineLoad), number(measuredLoad), number("Baseline"), number("This run"), number("Difference %"),
		number(pValue), left(baselineDoubts),
	}}
	for _, f := range doc.Baseline.Figures {
		s.rows = append(s.rows, []string{
			about(f.FigureKey), string(f.Metric), orNone(f.Goal + f.Load),
			known(f.BaselineLoadFramesPerSecond, kiloFrames), known(f.MeasuredLoadFramesPerSecond, kiloFrames), count(f.Baseline), known(f.Measured, count[int64]),
			known(f.DifferencePartsPerMillion, signedPercent), known(f.PValuePartsPerMillion, baseline.Probability), orNone(codes(f.Doubts)),
		})
	}
	for _, head := range []string{baselineLoad, measuredLoad, pValue, baselineDoubts} {
		s = dropIfEmpty(s, head)
	}
	return s
}

// Heads of columns that not every comparison has.
const (
	baselineLoad   = "Baseline's load kfps"
	measuredLoad   = "This load kfps"
	pValue         = "p (Welch)"
	baselineDoubts = "Doubts about the baseline"
)

// baselineCases returns one case for each judged figure of the baseline, or a
// single case while the figures are not known.
func baselineCases(doc Document) []junitCase {
	const notYet = "there is no verdict yet, because the run was not measured"
	if doc.Experiment.Baseline == nil {
		return nil
	}
	if doc.Baseline == nil {
		c := newCase(doc, v1alpha1.BaselineCriterion)
		c.Skipped = &junitSkipped{Message: notYet}
		return []junitCase{c}
	}
	verdicts := verdictsByKey(doc)
	var cases []junitCase
	for _, criterion := range baseline.Criteria(doc.Experiment.Baseline, doc.Baseline.Figures) {
		figure := string(criterion.Metric)
		if of := criterion.Goal + criterion.Load; of != "" {
			figure += " " + of
		}
		c := newCase(doc, fmt.Sprintf("%s, %s, %s", criterion.Name, about(criterion.FigureKey), figure))
		verdict, judged := verdicts[judgedFigure{criterion.Name, criterion.FigureKey}]
		if judged {
			c.judge(verdict)
		} else {
			c.Skipped = &junitSkipped{Message: notYet}
		}
		cases = append(cases, c)
	}
	return cases
}
