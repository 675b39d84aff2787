package report

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
)

// neighborSection shows what the neighbors did.
func neighborSection(doc Document) section {
	if doc.NoisyNeighbors == nil {
		return section{}
	}
	s := section{title: "Neighbors: what they did during the trials", columns: []column{
		left("Neighbor"), left("Kind"), left("Runtime"), number("Trials"), number("CPU asked"), number("CPU taken"),
		number("kfps asked"), number("kfps sent"), number("kfps received"), left("stress-ng, operations/s"),
	}}
	for _, n := range doc.NoisyNeighbors.Loads {
		var stressors []string
		for _, stressor := range n.Stressors {
			stressors = append(stressors, fmt.Sprintf("%s %d", stressor.Name, stressor.OperationsPerSecond))
		}
		s.rows = append(s.rows, []string{
			n.Name, string(n.Kind), orNone(string(n.Runtime)), count(n.Trials), known(n.IntendedMilliCPU, cpus), known(n.MilliCPU, cpus),
			known(n.IntendedFramesPerSecond, kiloFrames), known(n.SentFramesPerSecond, kiloFrames), known(n.ReceivedFramesPerSecond, kiloFrames),
			orNone(strings.Join(stressors, ", ")),
		})
	}
	return s
}

// differenceSection shows the figures without and with the neighbors.
func differenceSection(doc Document) section {
	if doc.NoisyNeighbors == nil {
		return section{}
	}
	s := section{title: "Without and with the neighbors", columns: []column{
		left("Of"), left("Figure"), left("At"), number("Without"), number("With"), number("Difference %"),
		number("Pairs"), left("95 % interval"), left("Without, first and last"),
	}}
	for _, d := range doc.NoisyNeighbors.Comparison {
		s.rows = append(s.rows, []string{
			about(d.FigureKey), string(d.Metric), orNone(d.Goal + d.Load), known(d.Without, count[int64]), known(d.With, count[int64]),
			known(d.DifferencePartsPerMillion, signedPercent),
			pairs(d.Pairs), between(d.DifferenceLowPartsPerMillion, d.DifferenceHighPartsPerMillion, signedPercent),
			between(d.WithoutFirst, d.WithoutLast, count[int64]),
		})
	}
	return s
}

func pairs(n int32) string {
	if n == 0 {
		return none
	}
	return count(n)
}

// between returns two values that are there together.
func between(first, second *int64, write func(int64) string) string {
	if first == nil || second == nil {
		return none
	}
	return write(*first) + " to " + write(*second)
}

// about describes what a figure is of, without its goal or load.
func about(key v1alpha1.FigureKey) string {
	if key.Size == "" && key.Streams == 0 {
		return "connections"
	}
	return acceptance.About(key)
}

func known(value *int64, write func(int64) string) string {
	if value == nil {
		return none
	}
	return write(*value)
}

func cpus(milliCPU int64) string { return seconds(milliCPU * 1e6) }

// signedPercent shows the sign of an increase, too.
func signedPercent(partsPerMillion int64) string {
	if partsPerMillion > 0 {
		return "+" + percent(partsPerMillion)
	}
	return percent(partsPerMillion)
}
