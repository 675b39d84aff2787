package report

import (
	"fmt"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/regression"
)

// baselineSection has the earlier run's figures beside this run's.
func baselineSection(doc Document) section {
	if doc.Baseline == nil {
		return section{}
	}
	s := section{title: fmt.Sprintf("Against the baseline %s", doc.Baseline.RunRef.Name), columns: []column{
		left("Of"), left("Figure"), left("At"), number("Baseline"), number("This run"), number("Difference %"),
	}}
	for _, f := range doc.Baseline.Figures {
		of := "connections"
		switch {
		case f.Streams > 0:
			of = fmt.Sprintf("%d TCP streams", f.Streams)
		case f.FrameBytes > 0:
			of = fmt.Sprintf("%d bytes", f.FrameBytes)
		}
		s.rows = append(s.rows, []string{
			of, string(f.Metric), orNone(f.Goal + f.Load), count(f.Baseline), known(f.Measured, count[int64]),
			known(f.DifferencePartsPerMillion, signedPercent),
		})
	}
	return s
}

// baselineHead are the columns of the comparison with an earlier run, beside
// those of the comparison with neighbours.
var baselineHead = []string{"baselineRun", "baseline", "measured"}

func baselineRows(doc Document) []row {
	if doc.Baseline == nil {
		return nil
	}
	rows := make([]row, 0, len(doc.Baseline.Figures))
	for _, f := range doc.Baseline.Figures {
		rows = append(rows, baselineRow(doc, f))
	}
	return rows
}

func baselineRow(doc Document, f v1alpha1.BaselineFigure) row {
	r := origin(doc)
	r["figure"], r["baselineRun"], r["metric"], r["goal"], r["load"] = "baselineDifference", doc.Baseline.RunRef.Name, string(f.Metric), f.Goal, f.Load
	if f.FrameBytes > 0 {
		r.set("frameBytes", int64(f.FrameBytes))
	}
	if f.Streams > 0 {
		r.set("streams", int64(f.Streams))
	}
	r.set("baseline", f.Baseline)
	r.setKnown("measured", f.Measured)
	r.setKnown("differencePartsPerMillion", f.DifferencePartsPerMillion)
	return r
}

// baselineCases are one for each figure of the baseline that is judged, and one
// in all while they are not known.
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
	var verdicts []v1alpha1.Verdict
	for _, v := range doc.Acceptance {
		if v.Criterion == v1alpha1.BaselineCriterion {
			verdicts = append(verdicts, v)
		}
	}
	// Verdicts stand in the order of the criteria that they are on.
	var cases []junitCase
	for i, criterion := range regression.Criteria(doc.Experiment.Baseline, doc.Baseline.Figures) {
		about := v1alpha1.Verdict{FrameBytes: ptr.Deref(criterion.FrameBytes, 0), Streams: ptr.Deref(criterion.Streams, 0)}
		if acceptance.AboutConnections(criterion) {
			about.Load = criterion.Load
		}
		figure := string(criterion.Metric)
		if of := criterion.Goal + criterion.Load; of != "" {
			figure += " " + of
		}
		c := newCase(doc, fmt.Sprintf("%s, %s, %s", criterion.Name, acceptance.Subject(about), figure))
		switch {
		case i >= len(verdicts):
			c.Skipped = &junitSkipped{Message: notYet}
		case verdicts[i].Result != v1alpha1.VerdictPassed:
			c.Failure = &junitFailure{Type: v1alpha1.ReasonNotAccepted, Message: verdicts[i].Message}
		}
		cases = append(cases, c)
	}
	return cases
}
