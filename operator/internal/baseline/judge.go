package baseline

import (
	"fmt"
	"slices"
	"strconv"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/statistics"
)

// maxLoadDifferencePercent is how far apart the loads of two figures may be. It is
// the default tolerance of a rate: loads may be as far apart as two throughputs that count as
// equally good.
const maxLoadDifferencePercent = 5

// Verdicts judges this run's figures by the earlier run's, in the order of Criteria. The figures
// are those that Measured returns.
func Verdicts(baseline *v1alpha1.Baseline, figures []v1alpha1.BaselineFigure, measured []figure.Figure) []v1alpha1.Verdict {
	// The loads themselves are compared, so it does not matter what they are shares of.
	measured = without(atBaselineLoads(measured), v1alpha1.DoubtLoadOfFloor)
	var verdicts []v1alpha1.Verdict
	for _, f := range judged(baseline, figures) {
		verdicts = append(verdicts, judge(criterion(baseline, f), f, measured))
	}
	return verdicts
}

func judge(criterion v1alpha1.Criterion, f v1alpha1.BaselineFigure, measured []figure.Figure) v1alpha1.Verdict {
	verdict := acceptance.Judge(criterion, f.FigureKey, measured)
	if p := f.PValuePartsPerMillion; p != nil {
		verdict.Message += fmt.Sprintf(", p is %s (Welch's t-test of the repeats)", Probability(*p))
	}
	if code, why := unusable(f); code != "" {
		return acceptance.Undecided(verdict, code, verdict.Message+"; not judged, because "+why, "name another baseline")
	}
	switch {
	case f.Measured == nil:
		return verdict
	case loadsDiffer(f):
		if why := notCarried(f, measured); why != "" {
			return acceptance.Undecided(verdict, v1alpha1.DoubtLoadsDiffer, verdict.Message+"; not judged, because "+why, "compare the throughput, or name another baseline")
		}
		remedy := "give the load in framesPerSecond"
		if f.Load == "" {
			remedy = "measure the baseline again with this generator"
		}
		return acceptance.Undecided(verdict, v1alpha1.DoubtLoadsDiffer,
			fmt.Sprintf("%s; not judged, because this run measured it at %d frames/s and the baseline at %d", verdict.Message, *f.MeasuredLoadFramesPerSecond, *f.BaselineLoadFramesPerSecond),
			remedy)
	case verdict.Result == v1alpha1.VerdictFailed && f.PValuePartsPerMillion != nil && *f.PValuePartsPerMillion >= statistics.SignificantPartsPerMillion:
		return acceptance.Undecided(verdict, v1alpha1.DoubtChance, verdict.Message+"; chance explains the difference", "raise measurements.repeats in both runs")
	}
	if why := turning(verdict.Result, f); why != nil {
		return acceptance.Undecided(verdict, v1alpha1.DoubtBaselineUncertain,
			fmt.Sprintf("%s; in the baseline %s (%s), so its own may be %s", verdict.Message, why.Text, why.Code, map[bool]string{true: "better", false: "worse"}[verdict.Result == v1alpha1.VerdictPassed]),
			"name another baseline")
	}
	return verdict
}

// turning returns the doubt about an earlier figure for which the verdict may be another: a pass if
// the earlier figure may have been better, a failure if it may have been worse. Both runs have the
// same highest load and compare their own loads, so these two doubts decide nothing. No value is
// below 0.
func turning(result v1alpha1.VerdictResult, f v1alpha1.BaselineFigure) *figure.Doubt {
	higher := figure.Describe(f.Metric).Better == figure.Higher
	side := figure.Below
	switch {
	case result != v1alpha1.VerdictPassed && result != v1alpha1.VerdictFailed:
		return nil
	case higher == (result == v1alpha1.VerdictPassed):
		side = figure.Above
	case f.Baseline == 0:
		return nil
	}
	for _, code := range f.Doubts {
		d, _ := figure.NewDoubt(code, f.Metric)
		if code != v1alpha1.DoubtMaximumLoad && code != v1alpha1.DoubtLoadOfFloor && d.Side&side != 0 {
			return &d
		}
	}
	return nil
}

// Probability writes parts per million as a probability.
func Probability(partsPerMillion int64) string {
	if partsPerMillion == 0 {
		return "below 0.000001"
	}
	return strconv.FormatFloat(float64(partsPerMillion)/1e6, 'g', 3, 64)
}

// unusable returns why an earlier figure cannot be compared with, as a code and in words; "" where
// it can. A loss or a count of 0 is a figure; a rate or a delay of 0 is none. A rate that the
// highest load bounds is one: both runs have the same highest load, and less than it is worse.
func unusable(f v1alpha1.BaselineFigure) (code v1alpha1.DoubtCode, why string) {
	metric := figure.Describe(f.Metric)
	if f.Baseline <= 0 && (metric.Better == figure.Higher || metric.Unit == figure.Nanoseconds) {
		return v1alpha1.DoubtBaselineZero, "the baseline's figure is 0"
	}
	for _, doubt := range f.Doubts {
		if figure.IsUncertain(doubt) && doubt != v1alpha1.DoubtMaximumLoad {
			return v1alpha1.DoubtBaselineUncertain, fmt.Sprintf("in the baseline %s (%s)", figure.DoubtText(doubt), doubt)
		}
	}
	return "", ""
}

// loadsDiffer reports whether the two runs measured at loads that differ too much.
func loadsDiffer(f v1alpha1.BaselineFigure) bool {
	return f.BaselineLoadFramesPerSecond != nil && f.MeasuredLoadFramesPerSecond != nil && LoadsDiffer(*f.BaselineLoadFramesPerSecond, *f.MeasuredLoadFramesPerSecond)
}

// LoadsDiffer reports whether what was measured at two loads, in frames per second, does not compare.
func LoadsDiffer(first, second int64) bool {
	apart := second - first
	return max(apart, -apart)*100 > first*maxLoadDifferencePercent
}

// without returns figures that lack a doubt.
func without(figures []figure.Figure, code v1alpha1.DoubtCode) []figure.Figure {
	out := slices.Clone(figures)
	for i := range out {
		out[i].Doubts = slices.DeleteFunc(slices.Clone(out[i].Doubts), func(d figure.Doubt) bool { return d.Code == code })
	}
	return out
}
