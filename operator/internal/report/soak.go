package report

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
)

func soakSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Soak: the worse direction of each interval", columns: []column{
		number("Size"), left("Start"), number("Loss ppm"), number("p50" + unit), number("p99" + unit), number("Max" + unit), number("Jitter p99" + unit),
	}}
	for _, frame := range doc.Results {
		soak := frame.Soak
		if soak == nil {
			continue
		}
		of := ""
		if soak.Share != nil {
			of = fmt.Sprintf(" (%s)", shareInWords(soak.Share, l))
		}
		without := ""
		if soak.Bias != nil {
			without = fmt.Sprintf(" Without a device the median delay is %s%s.", withoutDevice(soak.Bias), unit)
		}
		s.notes = append(s.notes, fmt.Sprintf("%s at %s kfps%s for %s, %s: %d ppm lost in total, largest delay %s%s, %s %% of the 150 ms of ITU-T G.114.%s",
			sizeWords(frame), kiloFrames(soak.IntendedFramesPerSecond), of, brief(time.Duration(soak.SendingSeconds)*time.Second), soakEnd(soak.End),
			soak.LossPartsPerMillion, microseconds(soak.Worst.LatencyMaxNanoseconds), unit, percent(soak.Worst.OneWayBudgetPartsPerMillion), without))
		for _, i := range soak.Intervals {
			s.rows = append(s.rows, []string{
				frameName(frame), clock(i.StartSeconds), count(i.LossPartsPerMillion), microseconds(i.P50Nanoseconds),
				microseconds(i.P99Nanoseconds), microseconds(i.MaxNanoseconds), known(i.JitterP99Nanoseconds, microseconds),
			})
		}
	}
	return s
}

func soakEnd(end v1alpha1.SoakEnd) string {
	if end == v1alpha1.SoakLoss {
		return "stopped by loss"
	}
	return "to its end"
}

// clock returns hours, minutes and seconds since the start.
func clock(seconds int64) string {
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}

func soakDeviations(spec *v1alpha1.Soak) []string {
	if spec == nil {
		return nil
	}
	return []string{"soak: each interval is a separate trial, with the wait after a trial between two of them"}
}
