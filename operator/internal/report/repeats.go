package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

func join(values []int64, text func(int64) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = text(v)
	}
	return strings.Join(parts, " ")
}

// statisticCells returns n, mean, deviation, variation, interval, extremes and values.
func statisticCells(s v1alpha1.Statistics, text func(int64) string) []string {
	return []string{
		count(s.N), text(s.Mean), text(s.StandardDeviation), percent(s.CoefficientOfVariationPartsPerMillion),
		known(s.ConfidenceLow, text), known(s.ConfidenceHigh, text), text(s.Minimum), text(s.Maximum), join(s.Values, text),
	}
}

func statisticHeads(unit string) []column {
	return []column{
		number("n"), number("Mean " + unit), number("Std dev " + unit), number("CV %"), number("95 % low " + unit),
		number("95 % high " + unit), number("Min " + unit), number("Max " + unit), left("Each repeat " + unit),
	}
}

// limitNotes say what limits the precision, and why there is no interval.
var limitNotes = map[v1alpha1.StatisticsLimit]string{
	v1alpha1.LimitedByResolution:    "limited by resolution",
	v1alpha1.LimitedByDrift:         "no interval: they drift",
	v1alpha1.LimitedByLossInversion: "no interval: a higher load met the goal",
	v1alpha1.LimitedByTooFewRepeats: "no interval: too few repeats",
	v1alpha1.LimitedByLoads:         "no interval: their loads differ",
}

func throughputRepeats(doc Document) section {
	s := section{
		title:   "Throughput over repeats",
		columns: append([]column{number("Size"), left("Goal"), number("Resolution kfps"), left("Note")}, statisticHeads("kfps")...),
	}
	for _, frame := range doc.Results {
		for _, t := range frame.Throughput {
			for _, statistics := range t.Statistics {
				cells := []string{frameName(frame), t.Goal, known(statistics.Resolution, kiloFrames), cmp.Or(limitNotes[statistics.LimitedBy], none)}
				s.rows = append(s.rows, append(cells, statisticCells(statistics, kiloFrames)...))
			}
			if t.Censored != nil {
				s.rows = append(s.rows, append([]string{frameName(frame), t.Goal, none}, censoredCells(*t.Censored)...))
			}
		}
	}
	return s
}

// censoredCells returns the note and the cells of repeats that have no mean.
func censoredCells(c v1alpha1.CensoredRepeats) []string {
	return []string{
		fmt.Sprintf("%d of %d are floors", c.Repeats, c.N), count(c.N), none, none, none, none, none,
		kiloFrames(slices.Min(c.Values)), kiloFrames(slices.Max(c.Values)), join(c.Values, kiloFrames),
	}
}

func latencyRepeats(doc Document, l letters) section {
	s := section{
		title: "One-way latency over repeats",
		columns: append([]column{number("Size"), left("Load"), left("Direction"), left("Figure"), left("Note")},
			statisticHeads(l.micro+"s")...),
	}
	names := map[v1alpha1.Metric]string{v1alpha1.MetricLatencyP50: "p50", v1alpha1.MetricLatencyP99: "p99"}
	eachDirection(doc, func(frame v1alpha1.FrameResult, load v1alpha1.LatencyResult, d v1alpha1.LatencyDirectionResult) {
		for _, statistics := range d.Statistics {
			cells := []string{frameName(frame), load.Load, d.Direction, names[statistics.Metric], cmp.Or(limitNotes[statistics.LimitedBy], none)}
			s.rows = append(s.rows, append(cells, statisticCells(statistics, microseconds)...))
		}
	})
	return s
}

// withRepeats adds the repeat to the table of trials, if there is more than one.
func withRepeats(s section, doc Document) section {
	if doc.Experiment.Measurements.Repeats < 2 {
		return s
	}
	const position = 3 // trial, stage and load
	s.columns = slices.Insert(s.columns, position, number("Repeat"))
	for i, r := range doc.Trials {
		s.rows[i] = slices.Insert(s.rows[i], position, fmt.Sprint(r.Repeat+1))
	}
	return s
}
