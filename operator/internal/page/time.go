package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plot"
)

// overTime returns the section of what was within trials.
func (r run) overTime() Section {
	s := Section{ID: "time", Title: "Over time"}
	for _, frame := range first(r.Results, maxDrawn) {
		if frame.Soak == nil {
			continue
		}
		lines := []plot.Line{{Name: "largest", Style: 3}, {Name: "p99", Style: 1}, {Name: "p50", Style: 0}}
		loss := plot.Line{Name: "loss", Style: 1, Marked: true}
		for _, i := range first(frame.Soak.Intervals, maxPoints) {
			x := float64(i.StartSeconds) / 60
			for at, value := range []int64{i.MaxNanoseconds, i.P99Nanoseconds, i.P50Nanoseconds} {
				lines[at].Points = append(lines[at].Points, plot.Point{X: x, Y: micro(value)})
			}
			loss.Points = append(loss.Points, plot.Point{X: x, Y: float64(i.LossPartsPerMillion)})
		}
		what := fmt.Sprintf("soak of %s at %s kfps", sizeName(frame), plot.Number(kilo(frame.Soak.IntendedFramesPerSecond)))
		x := plot.Axis{Label: "time since the start, minutes", FromZero: true}
		s.Figures = append(s.Figures, draw("Delay over time, "+what, count(len(loss.Points), "interval")+", the worse direction of each.", plot.Chart{
			Description: "Percentiles of the delay in each interval of the soak.",
			X:           x, Y: plot.Axis{Label: "one-way delay, µs", Log: true}, Layers: []plot.Layer{lines[0], lines[1], lines[2]},
		})...)
		s.Figures = append(s.Figures, draw("Loss over time, "+what, count(len(loss.Points), "interval")+", the worse direction of each.", plot.Chart{
			Description: "The loss of each interval of the soak.",
			X:           x, Y: plot.Axis{Label: "loss, ppm", FromZero: true}, Layers: []plot.Layer{loss},
		})...)
	}
	if r.known {
		within := r.within()
		if len(within) > 0 {
			s.Notes = []string{"A frame belongs to the slot of time in which it was due. A rise of the delay or frames that are missing at one moment point to something that happened then: on the node, in the generator or in a function."}
		}
		s.Figures = append(s.Figures, within...)
	}
	s.Figures = first(s.Figures, maxFigures)
	return s
}

// within returns the series of the last trial that counts of each load.
func (r run) within() (out []Figure) {
	type load struct {
		stage      measure.Stage
		size, load string
		neighbors  bool
	}
	var order []load
	last := map[load]measure.Record{}
	for _, t := range r.Trials {
		if !r.counted[t.Index] || t.Load == "" || !hasSeries(t) {
			continue
		}
		key := load{t.Stage, t.Trial.Size, t.Load, t.Neighbors}
		if _, found := last[key]; !found {
			order = append(order, key)
		}
		last[key] = t
	}
	slices.SortStableFunc(order, func(a, b load) int {
		return cmp.Or(cmp.Compare(r.place(a.size), r.place(b.size)), cmp.Compare(r.loadPlace(a.size, a.load), r.loadPlace(b.size, b.load)))
	})
	for _, key := range first(order, maxFigures/2) {
		t := last[key]
		what := fmt.Sprintf("%s, load %s", r.sizeNamed(key.size), key.load)
		if key.neighbors {
			what += " with neighbors"
		}
		out = append(out, seriesOf(t, what)...)
	}
	return out
}

func hasSeries(t measure.Record) bool {
	for _, d := range t.Outcome.Directions {
		if d.Series != nil && len(d.Series.ReceivedFrames) > 1 {
			return true
		}
	}
	return false
}

// seriesOf returns the delay over a trial's time, and the frames that are missing where any is.
func seriesOf(t measure.Record, what string) []Figure {
	var delays, missing []plot.Layer
	var largest plot.Line
	slots, slot, some := 0, int64(0), false
	for i, d := range t.Outcome.Directions {
		if d.Series == nil || d.Series.SlotNanoseconds <= 0 {
			continue
		}
		s := d.Series
		slots, slot = max(slots, len(s.ReceivedFrames)), s.SlotNanoseconds
		way := map[measure.Direction]string{measure.Forward: "forward", measure.Reverse: "reverse"}[d.Direction]
		line := func(name string, style int, values []uint64, scale float64) plot.Line {
			l := plot.Line{Name: name + " " + way, Style: style}
			for n, v := range first(values, maxPoints) {
				y := float64(v) / scale
				if v == 0 && scale > 1 {
					y = math.NaN() // nothing arrived in this slot
				}
				l.Points = append(l.Points, plot.Point{X: float64(n) * float64(slot) / 1e9, Y: y})
			}
			return l
		}
		if len(s.P50Nanoseconds) > 0 {
			delays = append(delays, line("p50", 2*i, s.P50Nanoseconds, 1e3), line("p99", 3+i, s.P99Nanoseconds, 1e3))
		} else {
			delays = append(delays, line("mean", 2*i, s.MeanNanoseconds, 1e3))
		}
		for n, p := range line("", 0, s.MaxNanoseconds, 1e3).Points {
			if n == len(largest.Points) {
				largest.Points = append(largest.Points, p)
			} else if !(largest.Points[n].Y >= p.Y) && !math.IsNaN(p.Y) {
				largest.Points[n] = p
			}
		}
		missed := s.MissingFrames
		if missed == nil {
			missed = make([]uint64, len(s.ReceivedFrames)) // none is
		}
		lost := line("missing", 1+i, missed, 1)
		for _, p := range lost.Points {
			some = some || p.Y > 0
		}
		missing = append(missing, lost)
		if s.LostFrames != nil {
			missing = append(missing, line("lost after they were sent", 3+i, s.LostFrames, 1))
		}
	}
	largest.Name, largest.Style = "largest, either direction", 1
	note := fmt.Sprintf("n = %d slots of %s ms of the last trial that counts (trial %d).", slots, plot.Number(float64(slot)/1e6), t.Index)
	x := plot.Axis{Label: "time within the trial, s", FromZero: true}
	out := draw("Delay within a trial, "+what, note, plot.Chart{
		Description: "The largest delay of the frames of each slot of time, and their percentiles p50 and p99, or their mean where the measurer kept none.",
		X:           x, Y: plot.Axis{Label: "one-way delay, µs", Log: true}, Layers: append([]plot.Layer{largest}, delays...),
	})
	if some {
		out = append(out, draw("Frames missing within a trial, "+what, note, plot.Chart{
			Description: "How many frames that were due in each slot of time did not arrive.",
			X:           x, Y: plot.Axis{Label: "frames missing in a slot", FromZero: true}, Layers: missing,
		})...)
	}
	return out
}
