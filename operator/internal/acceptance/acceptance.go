// Package acceptance judges figures by the user's own thresholds. Criteria and
// figures go in, verdicts and one sentence come out.
package acceptance

import (
	"errors"
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// Evaluate returns a verdict for each figure that each criterion of an experiment
// covers, in their order. Without a figure the verdict is Failed, because nothing
// shows that the threshold was kept.
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

// Failed returns the verdicts that are not Passed, in their order.
func Failed(verdicts []v1alpha1.Verdict) []v1alpha1.Verdict {
	var failed []v1alpha1.Verdict
	for _, verdict := range verdicts {
		if verdict.Result != v1alpha1.VerdictPassed {
			failed = append(failed, verdict)
		}
	}
	return failed
}

// Judge returns a criterion's verdict on one figure.
func Judge(criterion v1alpha1.Criterion, key v1alpha1.FigureKey, figures []figure.Figure) v1alpha1.Verdict {
	verdict := v1alpha1.Verdict{Criterion: criterion.Name, FigureKey: key, Result: v1alpha1.VerdictFailed}
	measured, err := value(criterion, key, figures)
	if err != nil {
		verdict.Message = fmt.Sprintf("%s has no figure: %v", subject(key), err)
		return verdict
	}
	verdict.Measured = &measured
	switch {
	case criterion.AtLeast != nil:
		verdict.Message = fmt.Sprintf("%s is %d%s, at least %d required", subject(key), measured, compared(criterion), *criterion.AtLeast)
		if measured >= *criterion.AtLeast {
			verdict.Result = v1alpha1.VerdictPassed
		}
	case criterion.AtMost != nil:
		verdict.Message = fmt.Sprintf("%s is %d%s, at most %d allowed", subject(key), measured, compared(criterion), *criterion.AtMost)
		if measured <= *criterion.AtMost {
			verdict.Result = v1alpha1.VerdictPassed
		}
	default:
		verdict.Message = fmt.Sprintf("%s is %d, and the criterion has no threshold", subject(key), measured)
	}
	return verdict
}

// value returns what a criterion judges, of the direction and repeat that is nearer
// to missing the threshold. The error explains, for people, why there is none.
func value(criterion v1alpha1.Criterion, key v1alpha1.FigureKey, figures []figure.Figure) (int64, error) {
	if !figure.Describe(key.Metric).Is(figure.Judged) {
		return 0, errors.New("this version does not know the metric")
	}
	smaller, of := criterion.AtLeast != nil, figure.Value
	if criterion.Statistic == v1alpha1.StatisticConfidenceLimit {
		of = func(f figure.Figure) (int64, error) { return confidenceLimit(f, smaller) }
	}
	measured, err := figure.Worst(figures, key, smaller, of)
	if errors.Is(err, figure.ErrNotMeasured) {
		err = missing(key, figures)
	}
	return measured, err
}

// confidenceLimit returns the end of the 95 % confidence interval that is nearer to
// missing the threshold.
func confidenceLimit(f figure.Figure, lower bool) (int64, error) {
	switch {
	case f.Statistics == nil && f.Bound == figure.AtLeast:
		return 0, errors.New("there is no confidence interval: the figure is a floor, so raise the maximum load, or give the generator more CPU")
	case f.Statistics == nil:
		return 0, errors.New("there is no confidence interval: it takes two repeats with the figure in each")
	case lower:
		return f.Statistics.ConfidenceLow, nil
	}
	return f.Statistics.ConfidenceHigh, nil
}

// missing returns which part of the key has no figure at all.
func missing(key v1alpha1.FigureKey, figures []figure.Figure) error {
	has := func(same func(figure.Figure) bool) bool { return slices.ContainsFunc(figures, same) }
	of := func(f figure.Figure) bool { return f.Size == key.Size && f.Streams == key.Streams && f.Side == "" }
	switch {
	case (key.Size != "" || key.Streams > 0) && !has(of):
		return fmt.Errorf("there is no measurement of %s", About(key))
	case key.Goal != "" && !has(func(f figure.Figure) bool { return of(f) && f.Goal == key.Goal }):
		return errors.New("the goal was not measured")
	case key.Load != "" && !has(func(f figure.Figure) bool { return of(f) && f.Load == key.Load }):
		return fmt.Errorf("load %s was not measured", key.Load)
	case key.Load != "":
		return fmt.Errorf("load %s has none", key.Load)
	}
	return figure.ErrNotMeasured
}

// subject names the figure without its size: "LatencyP99Nanoseconds at pdr50".
func subject(key v1alpha1.FigureKey) string {
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
