package report

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

func fixedLoadSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Fixed loads: the worst of all repeats and directions", columns: []column{
		number("Size"), left("Profile"), number("kfps"), number("Mbit/s layer 2"), number("Repeats"), number("Loss ppm"),
		number("Mean" + unit), number("p99" + unit), number("Max" + unit), number("IPDV max" + unit), number("Jitter p99" + unit),
		number("% of 150 ms"), number(biasOf + unit),
	}}
	for _, frame := range doc.Results {
		for _, f := range frame.FixedLoad {
			w := f.Worst
			s.rows = append(s.rows, []string{
				frameName(frame), f.Profile, kiloFrames(f.IntendedFramesPerSecond),
				megabits(f.IntendedFramesPerSecond * int64(frame.FrameBytes) * 8), count(len(f.Repeats)), count(w.LossPartsPerMillion),
				microseconds(w.LatencyMeanNanoseconds), microseconds(w.LatencyP99Nanoseconds), microseconds(w.LatencyMaxNanoseconds),
				known(w.DelayVariationMaxNanoseconds, microseconds), known(w.JitterP99Nanoseconds, microseconds), percent(w.OneWayBudgetPartsPerMillion),
				withoutDevice(f.Bias),
			})
		}
	}
	if len(s.rows) > 0 {
		s.notes = []string{"150 ms is the one-way delay of ITU-T G.114; the share is that of the largest delay."}
		s = dropIfEmpty(s, biasOf+unit)
	}
	return s
}

func repeatSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Fixed loads: every repeat", columns: []column{
		number("Size"), left("Profile"), number("Repeat"), number("Trial s"), left("Direction"), number("Sent"), number("Received"), number("Loss ppm"),
		number("Mean" + unit), number("p99" + unit), number("Max" + unit), number("IPDV max" + unit), number("Jitter p99" + unit),
	}}
	eachRepeat(doc, func(frame v1alpha1.FrameResult, f v1alpha1.FixedLoadResult, repeat v1alpha1.RepeatResult, d v1alpha1.DirectionResult) {
		row := []string{frameName(frame), f.Profile, count(repeat.Repeat), trialTime(repeat.TrialMilliseconds), d.Direction, count(d.SentFrames), count(d.ReceivedFrames), count(d.LossPartsPerMillion)}
		row = append(row, figures(d.Latency.Samples, d.Latency.MeanNanoseconds, d.Latency.P99Nanoseconds, d.Latency.MaxNanoseconds)...)
		row = append(row, figures(d.DelayVariation.Samples, d.DelayVariation.MaxNanoseconds)...)
		s.rows = append(s.rows, append(row, jitter(d)[1]))
	})
	return s
}

func eachRepeat(doc Document, visit func(v1alpha1.FrameResult, v1alpha1.FixedLoadResult, v1alpha1.RepeatResult, v1alpha1.DirectionResult)) {
	for _, frame := range doc.Results {
		for _, f := range frame.FixedLoad {
			for _, repeat := range f.Repeats {
				for _, d := range repeat.Directions {
					visit(frame, f, repeat, d)
				}
			}
		}
	}
}

// fixedLoadDeviations describes how the discarded seconds of a repeat are sent.
func fixedLoadDeviations(spec *v1alpha1.FixedLoad) []string {
	if spec == nil || spec.DiscardSeconds == nil || *spec.DiscardSeconds == 0 {
		return nil
	}
	return []string{fmt.Sprintf("fixed load: the %d s before each repeat that do not count are a separate trial, with the wait after a trial between the two", *spec.DiscardSeconds)}
}
