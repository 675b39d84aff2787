// Package acceptance judges figures by the user's own thresholds. Criteria and
// figures go in, verdicts and one sentence come out.
package acceptance

import (
	"cmp"
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// Evaluate returns a verdict for each figure that each criterion of an experiment
// covers, in their order.
func Evaluate(experiment v1alpha1.Experiment, figures []figure.Figure) []v1alpha1.Verdict {
	var verdicts []v1alpha1.Verdict
	for _, criterion := range experiment.Acceptance {
		for _, key := range Keys(criterion, experiment) {
			verdicts = append(verdicts, Judge(criterion, key, figures))
		}
	}
	return verdicts
}

// Keys returns the figures that a criterion covers: the one that it names, or that
// of every size or number of TCP connections of the experiment.
func Keys(criterion v1alpha1.Criterion, experiment v1alpha1.Experiment) []v1alpha1.FigureKey {
	var keys []v1alpha1.FigureKey
	key := criterion.FigureKey
	switch of := figure.Describe(criterion.Metric).Of; {
	case of == figure.OfConnections, key.Size != "", key.Streams > 0:
		return []v1alpha1.FigureKey{key}
	case of == figure.OfStreams:
		if tcp := experiment.Measurements.TCP; tcp != nil {
			for _, key.Streams = range tcp.Streams {
				keys = append(keys, key)
			}
		}
	default:
		for _, key.Size = range experiment.Traffic.SizeNames() {
			keys = append(keys, key)
		}
	}
	return keys
}

// Worst returns the result of all verdicts: one that is Failed wins over one that is
// Inconclusive, and that over Passed.
func Worst(verdicts []v1alpha1.Verdict) v1alpha1.VerdictResult {
	worst := v1alpha1.VerdictPassed
	for _, verdict := range verdicts {
		if severity(verdict.Result) > severity(worst) {
			worst = verdict.Result
		}
	}
	return worst
}

// severity orders results. One that this version does not know is no success.
func severity(result v1alpha1.VerdictResult) int {
	switch result {
	case v1alpha1.VerdictPassed:
		return 0
	case v1alpha1.VerdictFailed:
		return 2
	}
	return 1
}

// Judge returns a criterion's verdict on one figure: that of the direction and repeat that is
// worst. The result is Passed or Failed only where the figure's doubts cannot change it.
func Judge(criterion v1alpha1.Criterion, key v1alpha1.FigureKey, figures []figure.Figure) v1alpha1.Verdict {
	none := v1alpha1.Verdict{Criterion: criterion.Name, FigureKey: key}
	found := figure.Among(figures, key)
	switch {
	case !figure.Describe(key.Metric).Is(figure.Judged):
		return Undecided(none, v1alpha1.DoubtNotMeasured, Subject(key)+" has no figure: this version does not know the metric", "name another metric")
	case criterion.AtLeast == nil && criterion.AtMost == nil:
		return Undecided(none, v1alpha1.DoubtNotMeasured, Subject(key)+" has no threshold", "give the criterion atLeast or atMost")
	case len(found) == 0:
		return missing(none, figures)
	}
	var verdict v1alpha1.Verdict
	for i, f := range found {
		if one := judge(criterion, none, f); i == 0 || worse(criterion, one, verdict) {
			verdict = one
		}
	}
	return verdict
}

// worse reports whether a verdict decides instead of another one: by its result, then by the
// value that is nearer to missing the threshold.
func worse(criterion v1alpha1.Criterion, one, other v1alpha1.Verdict) bool {
	if one.Result != other.Result || one.Measured == nil || other.Measured == nil {
		return severity(one.Result) > severity(other.Result)
	}
	if criterion.AtLeast != nil {
		return *one.Measured < *other.Measured
	}
	return *one.Measured > *other.Measured
}

// judge judges the figure of one direction and repeat.
func judge(criterion v1alpha1.Criterion, verdict v1alpha1.Verdict, f figure.Figure) v1alpha1.Verdict {
	of := Subject(f.FigureKey)
	if f.Direction != "" {
		of += ", " + f.Direction + ","
	}
	if !f.Known() {
		if why := f.WhyAbsent(); why != nil {
			return Undecided(verdict, why.Code, fmt.Sprintf("%s has no figure: %s", of, why.Text), why.Remedy)
		}
		verdict.Result = v1alpha1.VerdictFailed
		verdict.Message = fmt.Sprintf("%s has no figure: %s", of, cmp.Or(f.Cause, "nothing arrived"))
		return verdict
	}
	value := f.Value
	if criterion.Statistic == v1alpha1.StatisticConfidenceLimit {
		if f.Statistics == nil && f.Bound == figure.AtLeast && len(f.Doubts) > 0 {
			return Undecided(verdict, f.Doubts[0].Code, of+" has no confidence interval: "+f.Doubts[0].Text, f.Doubts[0].Remedy)
		}
		if f.Statistics == nil {
			return Undecided(verdict, v1alpha1.DoubtNotMeasured, of+" has no confidence interval: it takes two repeats with the figure in each", "raise measurements.repeats")
		}
		end := f.Statistics.ConfidenceHigh
		if criterion.AtLeast != nil {
			end = f.Statistics.ConfidenceLow
		}
		if end == nil {
			why, _ := figure.NewDoubt(v1alpha1.DoubtCode(f.Statistics.LimitedBy), f.Metric)
			return Undecided(verdict, why.Code, of+" has no confidence interval: "+why.Text, why.Remedy)
		}
		value = *end
	}
	return compare(criterion, verdict, value, f.Doubts)
}

// compare compares a value with the threshold. A value that meets it passes unless the device's
// may be on its other side, and one that misses it fails unless the device's may meet it.
func compare(criterion v1alpha1.Criterion, verdict v1alpha1.Verdict, value int64, doubts []figure.Doubt) v1alpha1.Verdict {
	verdict.Measured = &value
	var meets bool
	var turns figure.Side
	if least := criterion.AtLeast; least != nil {
		meets = value >= *least
		verdict.Message = fmt.Sprintf("%s is %d%s, at least %d required", Subject(verdict.FigureKey), value, compared(criterion), *least)
	} else {
		meets = value <= *criterion.AtMost
		verdict.Message = fmt.Sprintf("%s is %d%s, at most %d allowed", Subject(verdict.FigureKey), value, compared(criterion), *criterion.AtMost)
	}
	verdict.Result, turns = v1alpha1.VerdictFailed, figure.Below
	if meets {
		verdict.Result = v1alpha1.VerdictPassed
	}
	if meets != (criterion.AtLeast != nil) {
		turns = figure.Above
	}
	var why []figure.Doubt
	for _, d := range doubts {
		if d.Side&turns != 0 && reaches(criterion, d, turns) {
			why = append(why, d)
			verdict.Doubts = append(verdict.Doubts, d.Code)
		}
	}
	if len(why) == 0 {
		return verdict
	}
	verdict.Result = v1alpha1.VerdictInconclusive
	verdict.Message = fmt.Sprintf("%s; it may be %s: %s (%s): %s", verdict.Message, sideWord(turns), why[0].Text, why[0].Code, why[0].Remedy)
	return verdict
}

// reaches reports whether the limit of a doubt, if it has one, is on the other side of the threshold.
func reaches(criterion v1alpha1.Criterion, d figure.Doubt, turns figure.Side) bool {
	limit := d.AtMost
	if turns == figure.Below {
		limit = d.AtLeast
	}
	switch {
	case limit == nil:
		return true
	case turns == figure.Above && criterion.AtLeast != nil:
		return *limit >= *criterion.AtLeast
	case turns == figure.Above:
		return *limit > *criterion.AtMost
	case criterion.AtLeast != nil:
		return *limit < *criterion.AtLeast
	}
	return *limit <= *criterion.AtMost
}

func sideWord(side figure.Side) string {
	if side == figure.Above {
		return "higher"
	}
	return "lower"
}

// Undecided makes a verdict Inconclusive, for a reason and with what to do about it.
func Undecided(verdict v1alpha1.Verdict, code v1alpha1.DoubtCode, reason, remedy string) v1alpha1.Verdict {
	verdict.Result, verdict.Doubts = v1alpha1.VerdictInconclusive, []v1alpha1.DoubtCode{code}
	verdict.Message = fmt.Sprintf("%s (%s): %s", reason, code, remedy)
	return verdict
}

// missing returns the verdict on a key that has no figure. The device is the reason only where a
// load is a share of a throughput that the device did not reach even at the minimum load.
func missing(verdict v1alpha1.Verdict, figures []figure.Figure) v1alpha1.Verdict {
	key := verdict.FigureKey
	of := func(f figure.Figure) bool { return f.Size == key.Size && f.Streams == key.Streams && f.Side == "" }
	has := func(same func(figure.Figure) bool) bool {
		return slices.ContainsFunc(figures, func(f figure.Figure) bool { return of(f) && same(f) })
	}
	noLoad := figure.Describe(key.Metric).Is(figure.Shared) || key.Load != "" && !has(func(f figure.Figure) bool { return f.Load == key.Load })
	why, remedy := "it was not measured", "measure it, or leave the criterion out"
	switch {
	case (key.Size != "" || key.Streams > 0) && !slices.ContainsFunc(figures, of):
		why = "there is no measurement of " + About(key)
	case key.Goal != "" && !has(func(f figure.Figure) bool { return f.Goal == key.Goal }):
		why = "the goal was not measured"
	case noLoad && has(lostTooMuch) && !has(notFound):
		verdict.Result = v1alpha1.VerdictFailed
		verdict.Message = Subject(key) + " has no figure: its load is a share of a throughput, and the device lost more than the goal allows even at the minimum load"
		return verdict
	case noLoad && key.Load != "":
		why, remedy = fmt.Sprintf("load %s was not measured", key.Load), "give the load in framesPerSecond"
	case key.Load != "":
		why = fmt.Sprintf("load %s has none", key.Load)
	case figure.WhyMissing(key.Metric) != "":
		why, remedy = figure.WhyMissing(key.Metric), "leave the criterion out"
	}
	return Undecided(verdict, v1alpha1.DoubtNotMeasured, fmt.Sprintf("%s has no figure: %s", Subject(key), why), remedy)
}

// lostTooMuch reports whether a figure is a throughput of 0 because of the device.
func lostTooMuch(f figure.Figure) bool {
	return f.Metric == v1alpha1.MetricThroughputFramesPerSecond && f.Value == 0 && f.Cause == string(v1alpha1.CauseDeviceLoss)
}

// notFound reports whether a figure is a throughput of 0 for any other reason.
func notFound(f figure.Figure) bool {
	return f.Metric == v1alpha1.MetricThroughputFramesPerSecond && f.Value == 0 && f.Cause != string(v1alpha1.CauseDeviceLoss)
}

// Subject names the figure without its size: "LatencyP99Nanoseconds at pdr50".
func Subject(key v1alpha1.FigureKey) string {
	switch {
	case key.Goal != "":
		return fmt.Sprintf("%s of %s", key.Metric, key.Goal)
	case key.Load != "":
		return fmt.Sprintf("%s at %s", key.Metric, key.Load)
	}
	return string(key.Metric)
}

// About describes what a figure is of: "size 64", "4 TCP connections", "load web".
func About(key v1alpha1.FigureKey) string {
	switch {
	case key.Streams == 1:
		return "1 TCP connection"
	case key.Streams > 1:
		return fmt.Sprintf("%d TCP connections", key.Streams)
	case key.Size == "":
		return "load " + key.Load
	}
	return "size " + key.Size
}

// compared describes the figure, unless it is the mean.
func compared(criterion v1alpha1.Criterion) string {
	switch {
	case criterion.Statistic != v1alpha1.StatisticConfidenceLimit:
		return ""
	case criterion.AtLeast != nil:
		return " at the lower end of its 95 % confidence interval"
	}
	return " at the upper end of its 95 % confidence interval"
}
