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
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/statistics"
)

// WhyIncomparable says, for people, why a run cannot be compared with the earlier one,
// with the remedy; "" where it can. The earlier one is nil where there is none. The specs are the
// testbed's of the earlier run and today's; where one is nil, they are not compared.
func WhyIncomparable(run, earlier *v1alpha1.BenchmarkRun, then, now *v1alpha1.TestbedSpec) string {
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
	if changed := changedSettings(then, now); len(changed) > 0 {
		return fmt.Sprintf("spec.experiment.baseline.runRef %q was measured with other settings of Testbed %q, %s: measure the baseline again and name that run, or set the testbed as it was",
			name, run.TestbedName(), strings.Join(changed, " and "))
	}
	if problem := nothingToJudge(run.Spec.Experiment.Baseline, earlier); problem != "" {
		return fmt.Sprintf("spec.experiment.baseline.runRef %q has no figure of spec.experiment.baseline.metrics (%s) to compare with%s",
			name, strings.Join(names(run.Spec.Experiment.Baseline.Metrics), ", "), problem)
	}
	return ""
}

// changedSettings returns the fields of a testbed that bound or time the traffic and have changed.
// Where pods run and what they may use are not among them: the plan's digest and the fingerprint
// show a different node.
func changedSettings(then, now *v1alpha1.TestbedSpec) []string {
	if then == nil || now == nil {
		return nil
	}
	var out []string
	for _, part := range []struct {
		field     string
		then, now any
	}{
		{"ports.linkBitsPerSecond", then.Ports.LinkBitsPerSecond, now.Ports.LinkBitsPerSecond},
		{"ports.mtuBytes", then.Ports.MTUBytes, now.Ports.MTUBytes},
		{"ports.west", then.Ports.West, now.Ports.West},
		{"ports.east", then.Ports.East, now.Ports.East},
		{"ports.calibrationNetworks", then.Ports.CalibrationNetworks, now.Ports.CalibrationNetworks},
		{"generator.driver", then.Generator.Driver, now.Generator.Driver},
		{"generator.cpu", then.Generator.CPU, now.Generator.CPU},
		{"generator.xdp", then.Generator.XDP, now.Generator.XDP},
		{"generator.trex", then.Generator.TRex, now.Generator.TRex},
	} {
		if !equality.Semantic.DeepEqual(part.then, part.now) {
			out = append(out, "spec."+part.field)
		}
	}
	return out
}

// namedFigures is how many figures a message names.
const namedFigures = 3

// nothingToJudge returns, for a sentence, why none of the earlier run's figures can be compared
// with, and the remedy; "" where one can.
func nothingToJudge(baseline *v1alpha1.Baseline, earlier *v1alpha1.BenchmarkRun) string {
	var why []string
	for _, f := range judged(baseline, Figures(earlier, baseline.Metrics)) {
		code, reason := unusable(f)
		if code == "" {
			return ""
		}
		why = append(why, fmt.Sprintf("%s for %s: %s", acceptance.Subject(f.FigureKey), acceptance.About(f.FigureKey), reason))
	}
	if len(why) == 0 {
		return ": name metrics that both measure"
	}
	return ": " + strings.Join(why[:min(len(why), namedFigures)], "; ") + ": name a run whose figures are the device's own, or other metrics"
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
	figures := figure.Of(earlier.Status)
	for _, c := range figure.Join(figures, nil) {
		out = append(out, newFigure(figures, *figure.Worst(figures, c.FigureKey)))
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

// maxValues is the API's bound of a figure's values.
const maxValues = 20

// newFigure returns what is kept of the earlier run's figure, so that the judgment can be repeated
// when that run is gone.
func newFigure(figures []figure.Figure, f figure.Figure) v1alpha1.BaselineFigure {
	out := v1alpha1.BaselineFigure{
		FigureKey: f.FigureKey, Baseline: f.Value, Cause: f.Cause, Doubts: f.Codes(), BaselineLoadFramesPerSecond: known(f.LoadFramesPerSecond),
	}
	if len(f.Values) > 1 {
		out.Values = f.Values[:min(len(f.Values), maxValues)]
	}
	key := f.FigureKey
	key.Metric = figure.Regular
	if regular := figure.Find(figures, key); regular != nil && f.Metric == v1alpha1.MetricThroughputFramesPerSecond {
		out.Regularity = v1alpha1.Irregular
		if *regular == 1 {
			out.Regularity = v1alpha1.Regular
		}
	}
	return out
}

// known returns nil for 0.
func known(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// Measured puts this run's figures next to the earlier run's: at its rate, where this run measured there.
func Measured(figures []v1alpha1.BaselineFigure, measured []figure.Figure) []v1alpha1.BaselineFigure {
	out, measured := slices.Clone(figures), atBaselineLoads(measured)
	for i := range out {
		f := &out[i]
		f.Measured, f.MeasuredLoadFramesPerSecond, f.PValuePartsPerMillion = nil, nil, nil
		if now := figure.Worst(measured, f.FigureKey); now != nil {
			f.Measured, f.MeasuredLoadFramesPerSecond = &now.Value, known(now.LoadFramesPerSecond)
			if p, ok := statistics.Welch(f.Values, now.Values); ok {
				f.PValuePartsPerMillion = new(int64(math.Round(p * 1e6)))
			}
		}
		f.DifferencePartsPerMillion = figure.Difference(&f.Baseline, f.Measured)
	}
	return out
}

// judged returns the figures of the metrics that are judged.
func judged(baseline *v1alpha1.Baseline, figures []v1alpha1.BaselineFigure) []v1alpha1.BaselineFigure {
	var out []v1alpha1.BaselineFigure
	for _, f := range figures {
		if slices.Contains(baseline.Metrics, f.Metric) {
			out = append(out, f)
		}
	}
	return out
}

// Criteria returns what the earlier run's figures and the tolerance ask of this run,
// for the metrics that are judged.
func Criteria(baseline *v1alpha1.Baseline, figures []v1alpha1.BaselineFigure) []v1alpha1.Criterion {
	var out []v1alpha1.Criterion
	for _, f := range judged(baseline, figures) {
		out = append(out, criterion(baseline, f))
	}
	return out
}

// criterion returns what one figure and the tolerance ask.
func criterion(baseline *v1alpha1.Baseline, f v1alpha1.BaselineFigure) v1alpha1.Criterion {
	out := v1alpha1.Criterion{Name: v1alpha1.BaselineCriterion, FigureKey: f.FigureKey}
	if figure.Describe(f.Metric).Better == figure.Higher {
		out.AtLeast = new(share(f.Baseline, 100-tolerance(baseline), true))
	} else {
		out.AtMost = new(share(f.Baseline, 100+tolerance(baseline), false))
	}
	return out
}

// tolerance returns how many percent worse a figure may be.
func tolerance(baseline *v1alpha1.Baseline) int64 {
	return int64(ptr.Deref(baseline.MaximumRegressionPercent, defaultPercent))
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
