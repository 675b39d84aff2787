package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// figures returns the numbers of a document that have samples, with those that the
// report derives. With too few samples they have no value.
func (d Document) figures() []figure.Figure {
	results := figure.Results{Frames: d.Results, TCP: d.TCP, Connections: d.Connections, CPU: d.CPU, Neighbors: d.NoisyNeighbors, Baseline: d.Baseline}
	if d.Generator != nil {
		results.Calibration = d.Generator.Calibration
	}
	var out []figure.Figure
	for _, f := range results.Figures() {
		if f.Samples > 0 {
			out = append(out, f)
		}
	}
	for _, scaling := range d.Scaling {
		for _, p := range scaling.Points {
			key := figure.Key{FigureKey: v1alpha1.FigureKey{Metric: figure.TCPScalingEfficiency, Streams: int32(p.Number)}, Direction: scaling.Direction}
			out = append(out, figure.Figure{Key: key, Value: p.EfficiencyPartsPerMillion, Unit: figure.PartsPerMillion, Samples: 1, Bound: figure.Exact})
		}
	}
	return out
}

// keyColumns are the columns that describe what a figure is of, besides its metric.
var keyColumns = []struct {
	name string
	of   func(figure.Key) string
}{
	{"size", func(k figure.Key) string { return k.Size }},
	{"goal", func(k figure.Key) string { return k.Goal }},
	{"load", func(k figure.Key) string { return k.Load }},
	{"streams", func(k figure.Key) string { return unlessZero(int64(k.Streams)) }},
	{"direction", func(k figure.Key) string { return k.Direction }},
	{"repeat", func(k figure.Key) string { return unlessZero(int64(k.Repeat)) }},
	{"percentOfMaximum", func(k figure.Key) string { return unlessZero(int64(k.Percent)) }},
	{"interval", func(k figure.Key) string { return unlessZero(int64(k.Interval)) }},
	{"function", func(k figure.Key) string { return k.Function }},
	{"counter", func(k figure.Key) string { return k.Counter }},
	{"neighbor", func(k figure.Key) string { return k.Neighbor }},
	{"stressor", func(k figure.Key) string { return k.Stressor }},
	{"side", func(k figure.Key) string { return k.Side }},
}

// keyHead returns the names of keyColumns.
func keyHead() (head []string) {
	for _, c := range keyColumns {
		head = append(head, c.name)
	}
	return head
}

// keyCells returns a figure's cells of keyColumns.
func keyCells(k figure.Key) (cells []string) {
	for _, c := range keyColumns {
		cells = append(cells, c.of(k))
	}
	return cells
}

func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return count(n)
}

// resultHead returns the columns of the CSV form of the results: whose a figure is,
// which one it is, its value, and how certain it is.
func resultHead() []string {
	head := append([]string{"namespace", "run", "planDigest", "completeness", "metric"}, keyHead()...)
	return append(head, "frameBytes", "value", "unit", "bound", "cause", "samples",
		"repeats", "mean", "standardDeviation", "coefficientOfVariationPartsPerMillion", "confidenceLow", "confidenceHigh", "resolution", "limitedBy", "minimum", "maximum", "values", "doubts")
}

// writeResults writes a line for each figure.
func writeResults(w io.Writer, doc Document) error {
	frameBytes := map[string]string{}
	for _, frame := range doc.Results {
		frameBytes[frame.Size] = count(frame.FrameBytes)
	}
	digest := ""
	if doc.Plan != nil {
		digest = doc.Plan.Digest
	}
	out := csv.NewWriter(w)
	// An error stays in the writer until the call of Error.
	_ = out.Write(resultHead())
	for _, f := range doc.figures() {
		cells := append([]string{doc.Run.Namespace, doc.Run.Name, digest, string(doc.Completeness), string(f.Metric)}, keyCells(f.Key)...)
		value := ""
		if f.Known() {
			value = strconv.FormatInt(f.Value, 10)
		}
		cells = append(cells, frameBytes[f.Size], value, string(f.Unit), string(f.Bound), f.Cause, count(f.Samples))
		cells = append(cells, statisticsCells(f.Statistics)...)
		_ = out.Write(append(cells, codes(f.Codes())))
	}
	out.Flush()
	return out.Error()
}

// statisticsCells returns empty cells where nothing was repeated.
func statisticsCells(s *v1alpha1.Statistics) []string {
	if s == nil {
		return make([]string, 11)
	}
	return []string{
		count(s.N), count(s.Mean), count(s.StandardDeviation), count(s.CoefficientOfVariationPartsPerMillion),
		optional(s.ConfidenceLow), optional(s.ConfidenceHigh), optional(s.Resolution), string(s.LimitedBy), count(s.Minimum), count(s.Maximum), join(s.Values, count[int64]),
	}
}
