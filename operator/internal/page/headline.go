package page

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/plot"
)

// maxCards is how many figures are at the top of a page.
const maxCards = 8

// headlines are the metrics of figures at the top of a page, the most important first, with how their values are shown.
var headlines = []struct {
	metric v1alpha1.Metric
	name   string
	unit   string
	scale  float64
}{
	{v1alpha1.MetricThroughputFramesPerSecond, "Throughput", "kfps", 1e3},
	{v1alpha1.MetricLatencyP99, "Delay p99", "µs", 1e3},
	{v1alpha1.MetricReceiveRate, "Receive rate", "kfps", 1e3},
	{v1alpha1.MetricTCPGoodput, "TCP goodput", "Mbit/s", 1e6},
	{v1alpha1.MetricConnectionsEstablished, "Connections", "/s", 1},
	{v1alpha1.MetricLoss, "Loss", "ppm", 1},
}

// cards returns the headline figures: for each metric that of the smallest size first, the worst direction of each.
func (r run) cards() []Card {
	figures := r.Figures()
	var out []Card
	for _, h := range headlines {
		seen, cards := map[v1alpha1.FigureKey]bool{}, 0
		for _, f := range figures {
			if f.Metric != h.metric || f.Side != "" || f.Repeat > 0 || f.Interval > 0 || f.Percent > 0 || !f.Known() || seen[f.FigureKey] {
				continue
			}
			seen[f.FigureKey] = true
			if _, ofBaseline := figure.OfBaselineLoad(f.Load); ofBaseline {
				continue
			}
			worst := figure.Worst(figures, f.FigureKey)
			if worst == nil {
				continue
			}
			if cards++; cards > maxCards/2 || len(out) == maxCards {
				break
			}
			card := Card{Name: h.name + " " + r.about(f.FigureKey), Value: plot.Number(float64(worst.Value) / h.scale), Unit: h.unit}
			switch {
			case worst.IsFloor():
				card.Value, card.Note = "≥ "+card.Value, "a floor: the device may do better"
			case len(worst.Doubts) > 0:
				card.Note = "in doubt: see Doubts"
			case len(worst.Values) > 1:
				card.Note = fmt.Sprintf("mean of %d repeats", len(worst.Values))
			}
			out = append(out, card)
		}
	}
	return out
}

// about describes what a figure is of in a few words: "NDR, 64 bytes".
func (r run) about(key v1alpha1.FigureKey) string {
	var words []string
	for _, word := range []string{key.Goal, key.Load} {
		if word != "" {
			words = append(words, word)
		}
	}
	if key.Size != "" {
		words = append(words, r.sizeNamed(key.Size))
	}
	switch {
	case key.Streams == 1:
		words = append(words, "1 connection")
	case key.Streams > 1:
		words = append(words, fmt.Sprintf("%d connections", key.Streams))
	}
	return strings.Join(words, ", ")
}

// sizeNamed returns the words for the size of a name.
func (r run) sizeNamed(size string) string {
	for _, frame := range r.Results {
		if frame.Size == size {
			return sizeName(frame)
		}
	}
	return size
}
