package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
)

// delay returns the section of the delays of loads.
func (r run) delay() Section {
	s := Section{ID: "delay", Title: "Delay"}
	for _, frame := range first(r.Results, maxDrawn) {
		for _, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
			s.Figures = append(s.Figures, r.delayAgainstLoad(frame, direction)...)
		}
	}
	delays, err := r.Delays()
	if r.known && err == nil {
		s.Figures = append(s.Figures, r.distributions(delays)...)
		s.Notes = append(s.Notes, "A frame that was lost counts as one with an infinite delay: a curve of the distribution ends below 1, and one of its complement above 0, by the share of frames that were lost. A delay with driver XDP begins when the frame is due.")
	} else if r.known {
		s.Notes = append(s.Notes, fmt.Sprintf("The distributions of delay are left out: %v.", err))
	}
	if s.Figures = first(s.Figures, maxFigures); len(s.Figures) == 0 {
		s.Notes = nil
	}
	return s
}

// percentiles are the lines of delays over loads.
var percentiles = []struct {
	name string
	of   func(v1alpha1.Delays) *int64
}{
	{"p50", func(d v1alpha1.Delays) *int64 { return &d.P50Nanoseconds }},
	{"p99", func(d v1alpha1.Delays) *int64 { return &d.P99Nanoseconds }},
	{"p99.9", func(d v1alpha1.Delays) *int64 { return d.P999Nanoseconds }},
	{"largest", func(d v1alpha1.Delays) *int64 { return &d.MaxNanoseconds }},
}

// delayAgainstLoad returns the percentiles of a direction over the loads, and the p99 of the search's trials.
func (r run) delayAgainstLoad(frame v1alpha1.FrameResult, direction measure.Direction) []Figure {
	lines := make([]plot.Line, len(percentiles))
	n := 0
	var doubtful []string
	for _, load := range first(r.loadsOf(frame), maxPoints) {
		if len(load.Doubts) > 0 {
			doubtful = append(doubtful, load.Load)
		}
		for _, d := range load.Directions {
			if d.Direction != string(direction) || d.Latency.Samples == 0 {
				continue
			}
			n++
			for i, p := range percentiles {
				if value := p.of(d.Latency); value != nil {
					lines[i].Points = append(lines[i].Points, plot.Point{X: kilo(load.IntendedFramesPerSecond), Y: micro(*value)})
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	note := count(n, "load") + ", frames that arrived."
	if len(doubtful) > 0 {
		note += fmt.Sprintf(" In doubt: %s.", strings.Join(first(doubtful, maxDrawn), ", "))
	}
	var layers []plot.Layer
	searched := plot.Marks{Name: "p99 in the search's trials", Style: 6, Marker: plot.Plus}
	for _, t := range r.searched(frame.Size) {
		for _, d := range t.Outcome.Directions {
			if d.Direction == direction && d.Latency.Samples > 0 && r.known && !r.made[t.Index] {
				searched.Points = append(searched.Points, plot.Point{X: float64(t.Trial.IntendedFramesPerSecond) / 1e3, Y: micro(d.Latency.P99Nanoseconds)})
			}
		}
	}
	if len(searched.Points) > 0 {
		layers = append(layers, searched)
	}
	for i, p := range percentiles {
		if lines[i].Name, lines[i].Style, lines[i].Marked = p.name, i, true; len(lines[i].Points) > 0 {
			layers = append(layers, lines[i])
		}
	}
	return draw(fmt.Sprintf("Delay against load, %s, %s", sizeName(frame), inDirection(string(direction))), note, plot.Chart{
		Description: "Percentiles of the one-way delay over the load.",
		X:           plot.Axis{Label: r.rateLabel("load"), FromZero: true}, Y: plot.Axis{Label: "one-way delay, µs", Log: true}, Layers: layers,
	})
}

// loadsOf returns the latency loads in the order of their rates. Those of fixed loads have figures of their worst repeat alone.
func (r run) loadsOf(frame v1alpha1.FrameResult) []v1alpha1.LatencyResult {
	loads := slices.DeleteFunc(slices.Clone(frame.Latency), func(l v1alpha1.LatencyResult) bool {
		_, ofBaseline := figure.OfBaselineLoad(l.Load)
		return ofBaseline
	})
	slices.SortStableFunc(loads, func(a, b v1alpha1.LatencyResult) int {
		return cmp.Compare(a.IntendedFramesPerSecond, b.IntendedFramesPerSecond)
	})
	return loads
}

// distributions returns for each size and direction the cumulative distributions of its loads, and their complements.
func (r run) distributions(delays []report.DelayDistribution) (out []Figure) {
	type group struct {
		size      string
		direction measure.Direction
	}
	var order []group
	of := map[group][]report.DelayDistribution{}
	for _, d := range delays {
		if d.Load == "" {
			continue // of the searches, at many loads
		}
		g := group{d.Size, d.Direction}
		if of[g] == nil {
			order = append(order, g)
		}
		of[g] = append(of[g], d)
	}
	slices.SortStableFunc(order, func(a, b group) int {
		return cmp.Or(cmp.Compare(r.place(a.size), r.place(b.size)), strings.Compare(string(a.direction), string(b.direction)))
	})
	for _, g := range first(order, maxFigures/2) {
		slices.SortStableFunc(of[g], func(a, b report.DelayDistribution) int {
			return cmp.Compare(r.loadPlace(g.size, a.Load), r.loadPlace(g.size, b.Load))
		})
		var below, above []plot.Line
		for i, d := range first(of[g], maxDrawn) {
			name := d.Load
			if d.Neighbors && r.hasNeighbors() {
				name += " with neighbors"
			}
			name = fmt.Sprintf("%s (n = %s in %d trials)", name, figure.Thousands(int64(d.SentFrames)), d.Trials)
			if lost := 1 - d.Arrived(); lost > 0 {
				name += fmt.Sprintf(", %s ppm lost", plot.Number(lost*1e6))
			}
			cdf, ccdf := steps(d)
			below = append(below, plot.Line{Name: name, Style: i, Steps: true, Points: cdf})
			above = append(above, plot.Line{Name: name, Style: i, Steps: true, Points: ccdf})
		}
		what := fmt.Sprintf("%s, %s", r.sizeNamed(g.size), inDirection(string(g.direction)))
		x := plot.Axis{Label: "one-way delay, µs", Log: true}
		low, high := 0.0, 1.0
		slower, bottom := complements(above)
		out = append(out, draw("Distribution of delay, "+what, "n is the number of frames sent. A flat end below 1 is loss.", plot.Chart{
			Description: "For each load the share of the frames sent that arrived within a delay.",
			X:           x, Y: plot.Axis{Label: "share of the frames sent", Low: &low, High: &high}, Layers: flat(below, func(share float64) bool { return share < 1 }),
		})...)
		out = append(out, draw("Frames slower than a delay, "+what, "The complement on a logarithmic axis shows the tail. Lost frames are slower than any delay: a flat end is loss, and without loss a curve goes down to the axis.", plot.Chart{
			Description: "For each load the share of the frames sent that took longer than a delay or were lost.",
			X:           x, Y: plot.Axis{Label: "share of the frames sent", Log: true, Low: &bottom, High: &high}, Layers: slower,
		})...)
	}
	return out
}

// place returns the place of a size among the results.
func (r run) place(size string) int {
	return slices.IndexFunc(r.Results, func(f v1alpha1.FrameResult) bool { return f.Size == size })
}

// loadPlace returns the place of a load among those of a size, the lowest rate first; loads of other kinds follow.
func (r run) loadPlace(size, load string) int {
	if at := r.place(size); at >= 0 {
		loads := r.loadsOf(r.Results[at])
		if i := slices.IndexFunc(loads, func(l v1alpha1.LatencyResult) bool { return l.Load == load }); i >= 0 {
			return i
		}
	}
	return maxDrawn
}

// steps returns the cumulative distribution over the frames that were sent, and its complement.
func steps(d report.DelayDistribution) (cdf, ccdf []plot.Point) {
	arrived, samples := d.Arrived(), float64(d.Delays.Samples())
	before := 1.0
	for nanoseconds, passed := range d.Delays.Steps() {
		x := max(micro(nanoseconds), 0.001)
		share := arrived * float64(passed) / samples
		if len(cdf) == 0 {
			cdf, ccdf = append(cdf, plot.Point{X: x, Y: 0}), append(ccdf, plot.Point{X: x, Y: before})
		}
		cdf, ccdf = append(cdf, plot.Point{X: x, Y: share}), append(ccdf, plot.Point{X: x, Y: 1 - share})
		before = 1 - share
	}
	if n := len(cdf); n > 0 && arrived == 1 {
		cdf[n-1].Y, ccdf[n-1].Y = 1, 0 // apart from rounding: no frame is slower
	}
	return cdf, ccdf
}

// complements returns the lines of complements with their ends, and the lower end of the axis: a line without loss goes down to it after the slowest
// frame, and one with loss is flat there.
func complements(lines []plot.Line) (layers []plot.Layer, bottom float64) {
	least := 1.0
	for _, line := range lines {
		for _, p := range line.Points {
			if p.Y > 0 {
				least = min(least, p.Y)
			}
		}
	}
	bottom = least / 1.5
	for _, line := range lines {
		if n := len(line.Points); n > 0 && line.Points[n-1].Y <= 0 {
			line.Points[n-1].Y = bottom
		}
	}
	return flat(lines, func(share float64) bool { return share > bottom }), bottom
}

// flat returns the lines as layers. Those whose last share is one that lossy reports continue beyond the slowest frame of all lines.
func flat(lines []plot.Line, lossy func(share float64) bool) (layers []plot.Layer) {
	const beyond = 1.25
	slowest := 0.0
	for _, line := range lines {
		if n := len(line.Points); n > 0 {
			slowest = max(slowest, line.Points[n-1].X)
		}
	}
	for _, line := range lines {
		if n := len(line.Points); n > 0 && lossy(line.Points[n-1].Y) {
			line.Points = append(line.Points, plot.Point{X: slowest * beyond, Y: line.Points[n-1].Y})
		}
		layers = append(layers, line)
	}
	return layers
}
