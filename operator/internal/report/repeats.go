package report

import (
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// What is repeated, in the order of its CSV columns.
var repeatedMetrics = []struct {
	metric v1alpha1.Metric
	column string
}{
	{v1alpha1.MetricThroughputFramesPerSecond, "framesPerSecond"},
	{v1alpha1.MetricLatencyP50, "latencyP50Nanoseconds"},
	{v1alpha1.MetricLatencyP99, "latencyP99Nanoseconds"},
}

// statisticColumns follow the name of the figure's own column.
var statisticColumns = []string{
	"StandardDeviation", "CoefficientOfVariationPartsPerMillion", "ConfidenceLow", "ConfidenceHigh", "Minimum", "Maximum", "Values",
}

func statisticHead() []string {
	head := []string{"repeats"}
	for _, m := range repeatedMetrics {
		for _, name := range statisticColumns {
			head = append(head, m.column+name)
		}
	}
	return head
}

// setStatistics fills the columns of what was repeated; the mean stands in the
// figure's own column.
func (r row) setStatistics(list []v1alpha1.Statistics) {
	for _, s := range list {
		for _, m := range repeatedMetrics {
			if m.metric == s.Metric {
				r.setSpread(m.column, s)
			}
		}
	}
}

// setSpread fills the columns of a figure's statistics; the mean stands in its own column.
func (r row) setSpread(column string, s v1alpha1.Statistics) {
	r.set("repeats", int64(s.N))
	for i, n := range []int64{
		s.StandardDeviation, s.CoefficientOfVariationPartsPerMillion, s.ConfidenceLow, s.ConfidenceHigh, s.Minimum, s.Maximum,
	} {
		r.set(column+statisticColumns[i], n)
	}
	r[column+"Values"] = join(s.Values, count)
}

func join(values []int64, text func(int64) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = text(v)
	}
	return strings.Join(parts, " ")
}

// statisticCells are n, mean, deviation, variation, interval, extremes and values.
func statisticCells(s v1alpha1.Statistics, text func(int64) string) []string {
	return []string{
		count(s.N), text(s.Mean), text(s.StandardDeviation), percent(s.CoefficientOfVariationPartsPerMillion),
		text(s.ConfidenceLow), text(s.ConfidenceHigh), text(s.Minimum), text(s.Maximum), join(s.Values, text),
	}
}

func statisticHeads(unit string) []column {
	return []column{
		number("n"), number("Mean " + unit), number("Std dev " + unit), number("CV %"), number("95 % low " + unit),
		number("95 % high " + unit), number("Min " + unit), number("Max " + unit), left("Each repeat " + unit),
	}
}

func throughputRepeats(doc Document) section {
	s := section{
		title:   "Throughput over repeats",
		columns: append([]column{number("Frame bytes"), left("Goal")}, statisticHeads("kfps")...),
	}
	for _, frame := range doc.Results {
		for _, t := range frame.Throughput {
			for _, statistics := range t.Statistics {
				s.rows = append(s.rows, append([]string{frameName(frame), t.Goal}, statisticCells(statistics, kiloFrames)...))
			}
		}
	}
	return s
}

func latencyRepeats(doc Document, l letters) section {
	s := section{
		title: "One-way latency over repeats",
		columns: append([]column{number("Frame bytes"), left("Load"), left("Direction"), left("Figure")},
			statisticHeads(l.micro+"s")...),
	}
	names := map[v1alpha1.Metric]string{v1alpha1.MetricLatencyP50: "p50", v1alpha1.MetricLatencyP99: "p99"}
	eachDirection(doc, func(frame v1alpha1.FrameResult, load v1alpha1.LatencyResult, d v1alpha1.DirectionResult) {
		for _, statistics := range d.Statistics {
			cells := []string{frameName(frame), load.Load, d.Direction, names[statistics.Metric]}
			s.rows = append(s.rows, append(cells, statisticCells(statistics, microseconds)...))
		}
	})
	return s
}

// withRepeats gives the table of trials their repeat, where there is more than one.
func withRepeats(s section, doc Document) section {
	if doc.Experiment.Measurements.Repeats < 2 {
		return s
	}
	const behind = 3 // trial, stage and load
	s.columns = slices.Insert(s.columns, behind, number("Repeat"))
	for i, r := range doc.Trials {
		s.rows[i] = slices.Insert(s.rows[i], behind, fmt.Sprint(r.Repeat+1))
	}
	return s
}
