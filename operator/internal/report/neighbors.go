package report

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// neighborSection says what the neighbours did.
func neighborSection(doc Document) section {
	if doc.NoisyNeighbors == nil {
		return section{}
	}
	s := section{title: "Neighbours: what they did beside the trials", columns: []column{
		left("Neighbour"), left("Kind"), left("Runtime"), number("Trials"), number("CPU asked"), number("CPU taken"),
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

// differenceSection has the figures without and with the neighbours.
func differenceSection(doc Document) section {
	if doc.NoisyNeighbors == nil {
		return section{}
	}
	s := section{title: "Without and with the neighbours", columns: []column{
		left("Of"), left("Figure"), left("At"), number("Without"), number("With"), number("Difference %"),
	}}
	for _, d := range doc.NoisyNeighbors.Comparison {
		of := fmt.Sprintf("%d bytes", d.FrameBytes)
		if d.Streams > 0 {
			of = fmt.Sprintf("%d TCP streams", d.Streams)
		} else if d.FrameBytes == 0 {
			of = "connections"
		}
		s.rows = append(s.rows, []string{
			of, string(d.Metric), orNone(d.Goal + d.Load), known(d.Without, count[int64]), known(d.With, count[int64]),
			known(d.DifferencePartsPerMillion, signedPercent),
		})
	}
	return s
}

func known(value *int64, write func(int64) string) string {
	if value == nil {
		return none
	}
	return write(*value)
}

func cpus(milliCPU int64) string { return seconds(milliCPU * 1e6) }

// signedPercent shows the sign of a rise, too.
func signedPercent(partsPerMillion int64) string {
	if partsPerMillion > 0 {
		return "+" + percent(partsPerMillion)
	}
	return percent(partsPerMillion)
}

// neighborHead are the columns of what neighbours did and changed.
var neighborHead = []string{
	"neighbor", "neighborKind", "neighborRuntime", "neighborIntendedMilliCPU", "neighborMilliCPU", "neighborIntendedFramesPerSecond",
	"neighborSentFramesPerSecond", "neighborReceivedFramesPerSecond", "stressor", "stressorOperations", "stressorOperationsPerSecond",
	"metric", "without", "with", "differencePartsPerMillion",
}

// neighborRows are a line for each neighbour, each of its stressors, and each
// figure that is compared.
func neighborRows(doc Document) []row {
	if doc.NoisyNeighbors == nil {
		return nil
	}
	var rows []row
	for _, n := range doc.NoisyNeighbors.Loads {
		r := neighborRow(doc, "neighbor", n)
		r.set("trials", int64(n.Trials))
		r.setKnown("neighborIntendedMilliCPU", n.IntendedMilliCPU)
		r.setKnown("neighborMilliCPU", n.MilliCPU)
		r.setKnown("neighborIntendedFramesPerSecond", n.IntendedFramesPerSecond)
		r.setKnown("neighborSentFramesPerSecond", n.SentFramesPerSecond)
		r.setKnown("neighborReceivedFramesPerSecond", n.ReceivedFramesPerSecond)
		rows = append(rows, r)
		for _, stressor := range n.Stressors {
			r := neighborRow(doc, "neighborStressor", n)
			r["stressor"] = stressor.Name
			r.set("stressorOperations", stressor.Operations)
			r.set("stressorOperationsPerSecond", stressor.OperationsPerSecond)
			rows = append(rows, r)
		}
	}
	for _, d := range doc.NoisyNeighbors.Comparison {
		r := origin(doc)
		r["figure"], r["metric"], r["goal"], r["load"] = "neighborDifference", string(d.Metric), d.Goal, d.Load
		if d.FrameBytes > 0 {
			r.set("frameBytes", int64(d.FrameBytes))
		}
		if d.Streams > 0 {
			r.set("streams", int64(d.Streams))
		}
		r.setKnown("without", d.Without)
		r.setKnown("with", d.With)
		r.setKnown("differencePartsPerMillion", d.DifferencePartsPerMillion)
		rows = append(rows, r)
	}
	return rows
}

func neighborRow(doc Document, figure string, n v1alpha1.NoisyNeighborReport) row {
	r := origin(doc)
	r["figure"], r["neighbor"], r["neighborKind"], r["neighborRuntime"] = figure, n.Name, string(n.Kind), string(n.Runtime)
	return r
}

func (r row) setKnown(name string, value *int64) {
	if value != nil {
		r.set(name, *value)
	}
}
