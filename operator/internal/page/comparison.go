package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
)

// WriteComparison writes the page of a comparison.
func WriteComparison(w io.Writer, c report.Comparison) error { return Write(w, Comparison(c)) }

// compared is a comparison with the first run of each column.
type compared struct {
	report.Comparison
	runs []run
}

// Comparison returns what the page of a comparison shows.
func Comparison(c report.Comparison) View {
	of := compared{Comparison: c}
	docs, without := c.Documents(), []string{}
	for i, column := range c.Columns {
		at := slices.IndexFunc(c.Runs, func(r report.ComparedRun) bool { return r.Column == i })
		if at < 0 || at >= len(docs) {
			continue
		}
		r := newRun(docs[at])
		r.column = column.Name
		if of.runs = append(of.runs, r); !r.known {
			without = append(without, column.Name)
		}
	}
	parts := c.Parts()
	head := parts[0]
	title := head.Title
	head.Title = ""
	v := View{
		Kind: "Comparison", Title: title,
		Foot: fmt.Sprintf("Written by kubectl vnfbench at %s.", c.GeneratedAt.UTC().Format(time.RFC3339)),
		Sections: []Section{
			{ID: "summary", Title: "Summary", Parts: []report.Part{limited(head)}},
			{ID: "differences", Title: "Differences", Figures: of.differences()},
			{ID: "throughput", Title: "Throughput", Figures: of.limits()},
			{ID: "delay", Title: "Delay", Figures: first(slices.Concat(of.delays(), of.distributions()), maxFigures)},
			{ID: "figures", Title: "Figures"},
		},
	}
	if slices.ContainsFunc(c.Columns, func(column report.ComparedColumn) bool { return column.Runs > 1 }) {
		v.Sections[3].Notes = append(v.Sections[3].Notes, "The curves are those of the first run of each column.")
	}
	if len(without) > 0 {
		v.Sections[3].Notes = append(v.Sections[3].Notes, fmt.Sprintf("Without the distributions of delay, because their documents have no trials: %s.", strings.Join(first(without, maxDrawn), ", ")))
	}
	if len(v.Sections[1].Figures) > 0 {
		v.Sections[1].Notes = []string{"Each figure against the first column's. A line is the 95 % interval of the difference where there is one; ~ means that the test does not decide whether there is a difference, or that there is no test. The table says why."}
	}
	for _, p := range parts[1:] {
		v.Sections[4].Parts = append(v.Sections[4].Parts, limited(p))
	}
	return v
}

// marks are how verdicts are written next to a difference.
var marks = map[comparison.Verdict]string{comparison.Better: " better", comparison.Worse: " worse", comparison.Unclear: " ~"}

// differences returns for each further column by how much its figures differ from those of the first.
func (c compared) differences() (out []Figure) {
	for i := 1; i < len(c.Columns); i++ {
		var d differences
		for _, f := range c.Figures {
			name, shown := nameOf(f)
			if !shown || i > len(f.Differences) {
				continue
			}
			at := f.Differences[i-1]
			d.add(name, marks[at.Verdict], at.PartsPerMillion, at.LowerPartsPerMillion, at.UpperPartsPerMillion)
		}
		out = append(out, d.figure(c.Columns[i].Name+" against "+c.Columns[0].Name, "")...)
	}
	return out
}

// nameOf names a figure, and reports whether it is drawn: those that a baseline compares are. Others, and those of parts of trials and of single
// repeats, are in the tables alone.
func nameOf(f report.ComparedFigure) (string, bool) {
	metric := figure.Describe(f.Metric)
	if !metric.Is(figure.Shown) || !metric.Is(figure.Compared) {
		return "", false
	}
	words := []string{metric.Words}
	for name, value := range f.About {
		if !slices.Contains([]string{"size", "goal", "load", "direction", "streams"}, name) && value != "" {
			return "", false
		}
	}
	for _, name := range []string{"goal", "load", "size", "direction", "streams"} {
		if value := f.About[name]; value != "" {
			words = append(words, value)
		}
	}
	return strings.Join(words, " "), true
}

// limits returns the throughput of each size and goal in each column.
func (c compared) limits() (out []Figure) {
	for _, f := range c.Figures {
		if f.Metric != v1alpha1.MetricThroughputFramesPerSecond {
			continue
		}
		if _, shown := nameOf(f); !shown || len(out) == maxFigures {
			continue
		}
		var names, texts []string
		bounds := plot.Intervals{Name: "between the bounds of the only search", Style: 0, Wide: true}
		confidence := plot.Intervals{Name: "95 % interval", Style: 1}
		value := plot.Marks{Name: "throughput", Style: 6, Marker: plot.Diamond}
		n := 0
		for i, column := range first(c.Columns, maxDrawn) {
			if i >= len(f.Values) || f.Values[i] == nil {
				continue
			}
			row := len(names)
			text := plot.Number(kilo(*f.Values[i]))
			if i < len(f.Floors) && f.Floors[i] {
				text = "≥ " + text
			} else if i < len(f.Cells) && len(f.Cells[i].Doubts) > 0 {
				text += " ?"
			}
			names, texts = append(names, column.Name), append(texts, text)
			value.Points = append(value.Points, plot.Point{X: kilo(*f.Values[i]), Y: float64(row)})
			if i < len(f.Cells) && f.Cells[i].Lower != nil && f.Cells[i].Upper != nil {
				interval := plot.Interval{Category: row, Low: kilo(*f.Cells[i].Lower), High: kilo(*f.Cells[i].Upper)}
				if f.Cells[i].Interval == comparison.IntervalSearch {
					bounds.Items = append(bounds.Items, interval)
				} else {
					confidence.Items = append(confidence.Items, interval)
				}
			}
			n += column.Runs
			if i < len(f.Cells) {
				n -= f.Cells[i].LeftOut
			}
		}
		var layers []plot.Layer
		for _, intervals := range []plot.Intervals{bounds, confidence} {
			if len(intervals.Items) > 0 {
				layers = append(layers, intervals)
			}
		}
		out = append(out, draw(fmt.Sprintf("Throughput %s, %s", f.About["goal"], f.About["size"]), count(n, "run")+". ≥ is a lower limit, and ? a value with doubts.", plot.Chart{
			Description: "The throughput of each column with its interval.",
			X:           plot.Axis{Label: c.rateLabel("throughput")}, Y: plot.Axis{Categories: names}, Values: texts, Layers: append(layers, value),
		})...)
	}
	return out
}

// rateLabel labels an axis with a rate of the first column.
func (c compared) rateLabel(of string) string {
	if len(c.runs) == 0 {
		return of + ", kfps"
	}
	return c.runs[0].rateLabel(of)
}

// way is a size and a direction.
type way struct {
	size      string
	direction measure.Direction
}

// ways returns those of all columns, in the order of the first that has them.
func (c compared) ways() (out []way) {
	for _, r := range c.runs {
		for _, frame := range first(r.Results, maxDrawn) {
			for _, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
				if p := (way{frame.Size, direction}); !slices.Contains(out, p) && len(out) < maxFigures {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// delays returns the p99 over the load, a line for each column.
func (c compared) delays() (out []Figure) {
	for _, p := range c.ways() {
		var layers []plot.Layer
		for i, r := range c.runs {
			line := plot.Line{Name: r.column, Style: i, Marked: true}
			for _, frame := range r.Results {
				if frame.Size != p.size {
					continue
				}
				for _, load := range first(r.loadsOf(frame), maxPoints) {
					for _, d := range load.Directions {
						if d.Direction == string(p.direction) && d.Latency.Samples > 0 {
							line.Points = append(line.Points, plot.Point{X: kilo(load.IntendedFramesPerSecond), Y: micro(d.Latency.P99Nanoseconds)})
						}
					}
				}
			}
			layers = append(layers, line)
		}
		out = append(out, draw(fmt.Sprintf("Delay against load, %s, %s", c.runs[0].sizeNamed(p.size), inDirection(string(p.direction))), "p99 of the frames that arrived.", plot.Chart{
			Description: "The 99th percentile of the one-way delay over the load, for each column.",
			X:           plot.Axis{Label: c.rateLabel("load"), FromZero: true}, Y: plot.Axis{Label: "one-way delay p99, µs", Log: true}, Layers: layers,
		})...)
	}
	return out
}

// distributions returns the complements of the distributions of each load, a line for each column.
func (c compared) distributions() (out []Figure) {
	type key struct {
		way
		load string
	}
	var order []key
	lines := map[key][]plot.Line{}
	for i, r := range c.runs {
		if !r.known {
			continue
		}
		delays, err := r.Delays()
		if err != nil {
			continue // its document keeps none
		}
		for _, d := range delays {
			k := key{way{d.Size, d.Direction}, d.Load}
			if d.Load == "" || d.Neighbors != r.hasNeighbors() {
				continue
			}
			if lines[k] == nil {
				if len(order) == maxFigures {
					continue
				}
				order = append(order, k)
			}
			_, slower := steps(d)
			lines[k] = append(lines[k], plot.Line{Name: fmt.Sprintf("%s (n = %s in %d trials)", r.column, figure.Thousands(int64(d.SentFrames)), d.Trials), Style: i, Steps: true, Points: slower})
		}
	}
	for _, k := range order {
		high := 1.0
		layers, bottom := complements(lines[k])
		out = append(out, draw(fmt.Sprintf("Frames slower than a delay, %s at %s, %s", c.runs[0].sizeNamed(k.size), k.load, inDirection(string(k.direction))), "Lost frames are slower than any delay.", plot.Chart{
			Description: "For each column the share of the frames sent that took longer than a delay or were lost.",
			X:           plot.Axis{Label: "one-way delay, µs", Log: true}, Y: plot.Axis{Label: "share of the frames sent", Log: true, Low: &bottom, High: &high}, Layers: layers,
		})...)
	}
	return out
}
