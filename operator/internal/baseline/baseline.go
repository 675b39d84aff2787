// Package baseline compares a run's figures with those of an earlier run. The
// earlier run goes in once, before anything is measured, and its figures come
// out; with them and the user's tolerance, criteria come out that the package
// acceptance judges like the user's own.
package baseline

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
)

// WhyIncomparable says, for people, why a run cannot be compared with the earlier one,
// with the remedy; "" where it can. The earlier one is nil where there is none.
func WhyIncomparable(run, earlier *v1alpha1.BenchmarkRun) string {
	name := run.Spec.Experiment.Baseline.RunRef.Name
	switch {
	case earlier == nil:
		return fmt.Sprintf("spec.experiment.baseline.runRef %q: this namespace has no such BenchmarkRun: name one that was measured, or leave the baseline out", name)
	case !meta.IsStatusConditionTrue(earlier.Status.Conditions, v1alpha1.ConditionMeasured):
		return fmt.Sprintf("spec.experiment.baseline.runRef %q was not measured to its end: name a run whose condition Measured is True, or apply this one again when it is", name)
	}
	var differ []string
	for _, part := range []struct {
		field string
		same  bool
	}{
		{"testbedRef", run.TestbedName() == earlier.TestbedName()},
		{"traffic", equality.Semantic.DeepEqual(run.Spec.Experiment.Traffic, earlier.Spec.Experiment.Traffic)},
		{"measurements", run.Spec.Experiment.Measurements.SameAs(earlier.Spec.Experiment.Measurements)},
	} {
		if !part.same {
			differ = append(differ, "spec.experiment."+part.field)
		}
	}
	if len(differ) > 0 {
		return fmt.Sprintf("spec.experiment.baseline.runRef %q measured something else, %s: name a run that is the same there, or make it the same here",
			name, strings.Join(differ, " and ")+map[bool]string{true: " differs", false: " differ"}[len(differ) == 1])
	}
	if len(Criteria(run.Spec.Experiment.Baseline, Figures(earlier, run.Spec.Experiment.Baseline.Metrics))) == 0 {
		return fmt.Sprintf("spec.experiment.baseline.runRef %q has no figure of spec.experiment.baseline.metrics (%s): name metrics that both measure",
			name, strings.Join(names(run.Spec.Experiment.Baseline.Metrics), ", "))
	}
	return ""
}

func names(metrics []v1alpha1.Metric) (out []string) {
	for _, m := range metrics {
		out = append(out, string(m))
	}
	return out
}

// maxFigures is the API's bound of the list.
const maxFigures = 512

// Figures lists the earlier run's, in the order of its results. Where there are more
// than the list takes, those of the metrics that are judged come first.
func Figures(earlier *v1alpha1.BenchmarkRun, judged []v1alpha1.Metric) []v1alpha1.BaselineFigure {
	var out []v1alpha1.BaselineFigure
	for _, c := range figure.Join(figure.Of(earlier.Status), nil) {
		out = append(out, v1alpha1.BaselineFigure{FigureKey: c.FigureKey, Baseline: *c.Before})
	}
	if len(out) > maxFigures {
		slices.SortStableFunc(out, func(a, b v1alpha1.BaselineFigure) int {
			return rank(judged, a.Metric) - rank(judged, b.Metric)
		})
		out = out[:maxFigures]
	}
	return out
}

// rank is 0 for a metric that is judged, and 1 for another.
func rank(judged []v1alpha1.Metric, metric v1alpha1.Metric) int {
	if slices.Contains(judged, metric) {
		return 0
	}
	return 1
}

// Measured puts this run's figures next to the earlier run's.
func Measured(figures []v1alpha1.BaselineFigure, measured []figure.Figure) []v1alpha1.BaselineFigure {
	out := slices.Clone(figures)
	for i := range out {
		out[i].Measured = figure.Find(measured, out[i].FigureKey)
		out[i].DifferencePartsPerMillion = figure.Difference(&out[i].Baseline, out[i].Measured)
	}
	return out
}

// Criteria returns what the earlier run's figures and the tolerance ask of this run,
// for the metrics that are judged.
func Criteria(baseline *v1alpha1.Baseline, figures []v1alpha1.BaselineFigure) []v1alpha1.Criterion {
	percent := int64(defaultPercent)
	if p := baseline.MaximumRegressionPercent; p != nil {
		percent = int64(*p)
	}
	var out []v1alpha1.Criterion
	for _, f := range figures {
		if !slices.Contains(baseline.Metrics, f.Metric) {
			continue
		}
		criterion := v1alpha1.Criterion{Name: v1alpha1.BaselineCriterion, FigureKey: f.FigureKey}
		if figure.Describe(f.Metric).Better == figure.Higher {
			least := share(f.Baseline, 100-percent, true)
			criterion.AtLeast = &least
		} else {
			most := share(f.Baseline, 100+percent, false)
			criterion.AtMost = &most
		}
		out = append(out, criterion)
	}
	return out
}

// defaultPercent is the API's, for a baseline that did not pass through it.
const defaultPercent = 5

// share is a percentage of a value that is not below 0, rounded such that just
// the tolerance is kept.
func share(value, percent int64, up bool) int64 {
	high, low := bits.Mul64(uint64(max(value, 0)), uint64(percent))
	if high >= 100 {
		return math.MaxInt64
	}
	quotient, rest := bits.Div64(high, low, 100)
	if up && rest > 0 {
		quotient++
	}
	return int64(min(quotient, math.MaxInt64))
}

// Verdicts judges this run's figures by the earlier run's, in the order of Criteria.
func Verdicts(baseline *v1alpha1.Baseline, figures []v1alpha1.BaselineFigure, measured []figure.Figure) []v1alpha1.Verdict {
	var verdicts []v1alpha1.Verdict
	for _, criterion := range Criteria(baseline, figures) {
		verdicts = append(verdicts, acceptance.Judge(criterion, criterion.FigureKey, measured))
	}
	return verdicts
}
