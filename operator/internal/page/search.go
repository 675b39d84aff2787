package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
)

// throughput returns the section of the searches, of the loss curve and of what else has a rate.
func (r run) throughput() Section {
	s := Section{ID: "throughput", Title: "Throughput and loss"}
	s.Figures = append(s.Figures, r.limits()...)
	for _, frame := range first(r.Results, maxDrawn) {
		if r.known {
			s.Figures = append(s.Figures, r.lossAgainstLoad(frame)...)
			s.Figures = append(s.Figures, r.sequence(frame)...)
		}
		s.Figures = append(s.Figures, r.lossCurve(frame)...)
	}
	s.Figures = first(s.Figures, maxFigures)
	if len(s.Figures) > 1 && r.known {
		s.Notes = []string{"A search tries loads until it knows the highest one that meets its goal and the lowest one that misses it; the shaded range is between the two. A loss of 0 has its own line below the logarithmic axis."}
	}
	return s
}

// limits returns the throughput of each size and goal, with the bounds of its search and the value of each repeat.
func (r run) limits() []Figure {
	var names, values []string
	bounds, confidence := plot.Intervals{Name: "between the bounds of the search", Style: 0, Wide: true}, plot.Intervals{Name: "95 % interval of the limit", Style: 1, Shift: 0.3}
	value := plot.Marks{Name: "throughput", Style: 6, Marker: plot.Diamond}
	repeats := plot.Marks{Name: "each repeat", Style: 2, Marker: plot.Dot}
	n := 0
	for _, frame := range r.Results {
		trials := 0 // all goals share them
		for _, t := range frame.Throughput {
			if len(names) == maxDrawn {
				break
			}
			row := len(names)
			names = append(names, sizeName(frame)+", "+t.Goal)
			high := math.Inf(1)
			if t.UpperBoundFramesPerSecond != nil {
				high = kilo(*t.UpperBoundFramesPerSecond)
			}
			bounds.Items = append(bounds.Items, plot.Interval{Category: row, Low: kilo(t.LowerBoundFramesPerSecond), High: high})
			label := plot.Number(kilo(t.FramesPerSecond))
			if figure.ThroughputBound(t) == figure.AtLeast {
				label = "≥ " + label
			} else if len(t.Doubts) > 0 {
				label += " ?"
			}
			value.Points, values = append(value.Points, plot.Point{X: kilo(t.FramesPerSecond), Y: float64(row)}), append(values, label)
			trials = max(trials, int(t.Trials))
			for _, statistics := range t.Statistics {
				for _, v := range first(statistics.Values, maxPoints) {
					repeats.Points = append(repeats.Points, plot.Point{X: kilo(v), Y: float64(row)})
				}
				if statistics.ConfidenceLow != nil && statistics.ConfidenceHigh != nil {
					confidence.Items = append(confidence.Items, plot.Interval{Category: row, Low: kilo(*statistics.ConfidenceLow), High: kilo(*statistics.ConfidenceHigh)})
				}
			}
			if t.Censored != nil {
				for _, v := range first(t.Censored.Values, maxPoints) {
					repeats.Points = append(repeats.Points, plot.Point{X: kilo(v), Y: float64(row)})
				}
			}
		}
		n += trials
	}
	layers := []plot.Layer{bounds}
	if len(repeats.Points) > 0 {
		layers = append(layers, repeats)
	}
	if len(confidence.Items) > 0 {
		layers = append(layers, confidence)
	}
	chart := plot.Chart{
		Description: "For each size and goal the throughput, between the highest load that met the goal and the lowest that missed it.",
		X:           plot.Axis{Label: r.rateLabel("throughput")}, Y: plot.Axis{Categories: names}, Values: values, Layers: append(layers, value),
	}
	return draw("Throughput of each size and goal", count(n, "trial")+" of the searches. An arrow is an open bound: no load was too high. ≥ is a lower limit, and ? a value with doubts.", chart)
}

// rateLabel labels an axis with a rate in kfps.
func (r run) rateLabel(of string) string {
	if r.Rates == report.ForwardDirection {
		return of + ", kfps of the forward direction"
	}
	if r.Experiment.Traffic.Directions == v1alpha1.DirectionsBoth {
		return of + ", kfps in each direction"
	}
	return of + ", kfps"
}

// hasNeighbors reports whether the figures are those with neighbors. Trials without them are in the comparison alone.
func (r run) hasNeighbors() bool { return len(r.Experiment.NoisyNeighbors) > 0 }

// searched returns the trials of a size's searches, on the side that the figures are of.
func (r run) searched(size string) (trials []measure.Record) {
	for _, t := range r.Trials {
		if t.Stage == measure.StageThroughput && t.Trial.Size == size && t.Neighbors == r.hasNeighbors() && len(t.Outcome.Directions) > 0 {
			trials = append(trials, t)
		}
	}
	return trials
}

// outcomes are what a trial of a search can come to. Each is drawn with its number as style.
var outcomes = []struct {
	name   string
	marker int
}{
	{"no loss", plot.Dot}, {"more loss than each goal allows", plot.Cross}, {"loss that a goal allows", plot.Triangle}, {"invalid, made again", plot.Ring},
}

// outcomeOf returns which of outcomes a trial has.
func (r run) outcomeOf(t measure.Record) int {
	loss := t.Outcome.LossOverTime() * 1e6
	switch {
	case r.made[t.Index] || !t.Outcome.Valid():
		return 3
	case loss == 0:
		return 0
	case loss <= r.mostAllowed():
		return 2
	}
	return 1
}

// mostAllowed returns the loss in parts per million that the goal with the most allows.
func (r run) mostAllowed() (most float64) {
	if t := r.Experiment.Measurements.Throughput; t != nil {
		for _, goal := range t.Goals {
			most = max(most, float64(goal.LossPartsPerMillion))
		}
	}
	return most
}

// byOutcome returns the trials as marks, by what they came to.
func (r run) byOutcome(trials []measure.Record, at func(i int, t measure.Record) plot.Point) (layers []plot.Layer) {
	marks := make([]plot.Marks, len(outcomes))
	for i, t := range trials {
		of := r.outcomeOf(t)
		marks[of].Points = append(marks[of].Points, at(i, t))
	}
	for of, m := range marks {
		if n := len(m.Points); n > 0 {
			m.Name, m.Style, m.Marker = fmt.Sprintf("%s (%d)", outcomes[of].name, n), of, outcomes[of].marker
			layers = append(layers, m)
		}
	}
	return layers
}

// maxGoals is how many goals the API allows.
const maxGoals = 4

// boundsOf returns the range between the bounds of each goal.
func boundsOf(frame v1alpha1.FrameResult) (layers []plot.Layer) {
	for i, t := range first(frame.Throughput, maxGoals) {
		high := math.Inf(1)
		if t.UpperBoundFramesPerSecond != nil {
			high = kilo(*t.UpperBoundFramesPerSecond)
		}
		layers = append(layers, plot.Region{Name: "bounds of " + t.Goal, Style: 4 + i, Low: kilo(t.LowerBoundFramesPerSecond), High: high})
	}
	return layers
}

// lossAgainstLoad returns the loss of each trial of the search, with the bounds and what the goals allow.
func (r run) lossAgainstLoad(frame v1alpha1.FrameResult) []Figure {
	trials := r.searched(frame.Size)
	layers := boundsOf(frame)
	if t := r.Experiment.Measurements.Throughput; t != nil {
		for i, goal := range first(t.Goals, maxGoals) {
			if goal.LossPartsPerMillion > 0 {
				layers = append(layers, plot.Rule{Name: fmt.Sprintf("%s allows %d ppm", goal.Name, goal.LossPartsPerMillion), Style: 4 + i, At: float64(goal.LossPartsPerMillion)})
			}
		}
	}
	layers = append(layers, r.byOutcome(trials, func(_ int, t measure.Record) plot.Point {
		return plot.Point{X: float64(t.Trial.IntendedFramesPerSecond) / 1e3, Y: t.Outcome.LossOverTime() * 1e6}
	})...)
	return draw("Loss against offered load, "+sizeName(frame), count(len(trials), "trial")+" of the search. The loss is that of the worse direction; frames that the device had not forwarded in the trial's time are lost.", plot.Chart{
		Description: "The loss of each trial over its load, with the highest load that met each goal and the lowest that missed it.",
		X:           plot.Axis{Label: r.rateLabel("offered load")}, Y: plot.Axis{Label: "loss, ppm", Log: true, Zero: true}, Layers: layers,
	})
}

// sequence returns the loads of the search in their order.
func (r run) sequence(frame v1alpha1.FrameResult) []Figure {
	trials := r.searched(frame.Size)
	path := plot.Line{Faint: true}
	var layers []plot.Layer
	for i, t := range trials {
		if i > 0 && t.Repeat != trials[i-1].Repeat {
			layers = append(layers, path, plot.Rule{Style: 7, At: float64(i) + 0.5, Vertical: true})
			path = plot.Line{Faint: true}
		}
		path.Points = append(path.Points, plot.Point{X: float64(i + 1), Y: float64(t.Trial.IntendedFramesPerSecond) / 1e3})
	}
	layers = append(layers, path)
	layers = append(layers, r.byOutcome(trials, func(i int, t measure.Record) plot.Point {
		return plot.Point{X: float64(i + 1), Y: float64(t.Trial.IntendedFramesPerSecond) / 1e3}
	})...)
	for i, t := range first(frame.Throughput, maxGoals) {
		layers = append(layers, plot.Rule{Name: "throughput " + t.Goal, Style: 4 + i, At: kilo(t.FramesPerSecond)})
	}
	note := count(len(trials), "trial") + "."
	if n := len(trials); n > 0 && trials[n-1].Repeat > 0 {
		note = fmt.Sprintf("%s A vertical line begins the next of the %d repeats.", note, trials[n-1].Repeat+1)
	}
	start, end := 0.0, float64(len(trials)+1)
	return draw("The search, trial by trial, "+sizeName(frame), note, plot.Chart{
		Description: "The load of each trial of the search in the order of the trials, and what it came to.",
		X:           plot.Axis{Label: "trial of the search", Whole: true, Low: &start, High: &end}, Y: plot.Axis{Label: r.rateLabel("load")}, Layers: layers,
	})
}

// lossCurve returns RFC 2544's frame loss rate.
func (r run) lossCurve(frame v1alpha1.FrameResult) []Figure {
	if frame.FrameLossRate == nil {
		return nil
	}
	line := plot.Line{Style: 1, Marked: true}
	for _, p := range first(frame.FrameLossRate.Points, maxPoints) {
		line.Points = append(line.Points, plot.Point{X: kilo(p.OfferedFramesPerSecond), Y: float64(p.LossPartsPerMillion) / 1e4})
	}
	slices.SortStableFunc(line.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
	return draw("Frame loss rate, "+sizeName(frame), count(len(line.Points), "trial")+fmt.Sprintf(", one at each load; 100 %% is %s kfps.", plot.Number(kilo(frame.FrameLossRate.MaximumFramesPerSecond))), plot.Chart{
		Description: "The share of frames that were lost, over the load that was offered (RFC 2544 section 26.3).",
		X:           plot.Axis{Label: r.rateLabel("offered load"), FromZero: true}, Y: plot.Axis{Label: "loss, %", FromZero: true}, Layers: []plot.Layer{line},
	})
}
