package report

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

func fixedLoadSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Fixed loads: the worst of all repeats and directions", columns: []column{
		number("Frame bytes"), left("Profile"), number("kfps"), number("Mbit/s layer 2"), number("Repeats"), number("Loss ppm"),
		number("Mean" + unit), number("p99" + unit), number("Max" + unit), number("IPDV max" + unit), number("Jitter" + unit),
		number("% of 150 ms"),
	}}
	for _, frame := range doc.Results {
		for _, f := range frame.FixedLoad {
			w := f.Worst
			s.rows = append(s.rows, []string{
				count(frame.FrameBytes), f.Profile, kiloFrames(f.IntendedFramesPerSecond),
				megabits(f.IntendedFramesPerSecond * int64(frame.FrameBytes) * 8), count(len(f.Repeats)), count(w.LossPartsPerMillion),
				microseconds(w.LatencyMeanNanoseconds), microseconds(w.LatencyP99Nanoseconds), microseconds(w.LatencyMaxNanoseconds),
				variationMax(w), microseconds(w.JitterNanoseconds), percent(w.OneWayBudgetPartsPerMillion),
			})
		}
	}
	if len(s.rows) > 0 {
		s.notes = []string{"150 ms is the one-way delay of ITU-T G.114; the share is that of the largest delay."}
	}
	return s
}

func variationMax(w v1alpha1.WorstCase) string {
	if w.DelayVariationMaxNanoseconds == nil {
		return none
	}
	return microseconds(*w.DelayVariationMaxNanoseconds)
}

func repeatSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Fixed loads: every repeat", columns: []column{
		number("Frame bytes"), left("Profile"), number("Repeat"), left("Direction"), number("Sent"), number("Received"), number("Loss ppm"),
		number("Mean" + unit), number("p99" + unit), number("Max" + unit), number("IPDV max" + unit), number("Jitter" + unit),
	}}
	eachRepeat(doc, func(frame int32, f v1alpha1.FixedLoadResult, repeat int32, d v1alpha1.DirectionResult) {
		row := []string{count(frame), f.Profile, count(repeat), d.Direction, count(d.SentFrames), count(d.ReceivedFrames), count(d.LossPartsPerMillion)}
		row = append(row, figures(d.Latency.Samples, d.Latency.MeanNanoseconds, d.Latency.P99Nanoseconds, d.Latency.MaxNanoseconds)...)
		row = append(row, figures(d.DelayVariation.Samples, d.DelayVariation.MaxNanoseconds)...)
		s.rows = append(s.rows, append(row, jitter(d)))
	})
	return s
}

func eachRepeat(doc Document, visit func(int32, v1alpha1.FixedLoadResult, int32, v1alpha1.DirectionResult)) {
	for _, frame := range doc.Results {
		for _, f := range frame.FixedLoad {
			for _, repeat := range f.Repeats {
				for _, d := range repeat.Directions {
					visit(frame.FrameBytes, f, repeat.Repeat, d)
				}
			}
		}
	}
}

// fixedLoadRows are a line for each repeat and direction, and one for the worst case.
func fixedLoadRows(doc Document) []row {
	var rows []row
	eachRepeat(doc, func(frame int32, f v1alpha1.FixedLoadResult, repeat int32, d v1alpha1.DirectionResult) {
		r := latencyRow(doc, v1alpha1.FrameResult{FrameBytes: frame}, v1alpha1.LatencyResult{Load: f.Profile, IntendedFramesPerSecond: f.IntendedFramesPerSecond}, d)
		r["figure"] = "fixedLoad"
		r.set("repeat", int64(repeat))
		if d.DelayVariation.Samples > 0 {
			r.set("delayVariationMaxNanoseconds", d.DelayVariation.MaxNanoseconds)
		}
		rows = append(rows, r)
	})
	for _, frame := range doc.Results {
		for _, f := range frame.FixedLoad {
			rows = append(rows, worstRow(doc, frame.FrameBytes, "fixedLoadWorst", f.Profile, f.IntendedFramesPerSecond, f.Worst))
		}
	}
	return rows
}

func worstRow(doc Document, frameBytes int32, figure, load string, intended int64, w v1alpha1.WorstCase) row {
	r := origin(doc)
	r["figure"], r["load"] = figure, load
	r.set("frameBytes", int64(frameBytes))
	r.set("intendedFramesPerSecond", intended)
	r.set("lossPartsPerMillion", w.LossPartsPerMillion)
	r.set("latencyMeanNanoseconds", w.LatencyMeanNanoseconds)
	r.set("latencyP99Nanoseconds", w.LatencyP99Nanoseconds)
	r.set("latencyMaxNanoseconds", w.LatencyMaxNanoseconds)
	if w.DelayVariationMaxNanoseconds != nil {
		r.set("delayVariationMaxNanoseconds", *w.DelayVariationMaxNanoseconds)
	}
	r.set("jitterNanoseconds", w.JitterNanoseconds)
	r.set("oneWayBudgetPartsPerMillion", w.OneWayBudgetPartsPerMillion)
	return r
}

// fixedLoadDeviations name what a repeat is not.
func fixedLoadDeviations(spec *v1alpha1.FixedLoad) []string {
	if spec == nil || spec.DiscardSeconds == nil || *spec.DiscardSeconds == 0 {
		return nil
	}
	return []string{fmt.Sprintf("fixed load: the %d s before each repeat that do not count are a trial of their own, with the wait after a trial between the two", *spec.DiscardSeconds)}
}
