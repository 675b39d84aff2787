package report

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// rfc2544Bursts is how many bursts RFC 2544 section 26.4 asks for.
const rfc2544Bursts = 50

func backToBackSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Back-to-back frames (RFC 9004)", columns: []column{
		number("Size"), number("Mean frames"), number("Min"), number("Max"), number("Stdev"), number("Searches"), number("Step"),
		number("Burst kfps"), number("Throughput kfps"), number("Implied buffer" + unit), number("Corrected buffer" + unit),
	}}
	for _, frame := range doc.Results {
		b := frame.BackToBack
		if b == nil {
			continue
		}
		mean := count(b.MeanFrames)
		if b.MaxFrames == b.LongestBurstFrames {
			mean = l.atLeast + mean
		}
		s.rows = append(s.rows, []string{
			frameName(frame), mean, count(b.MinFrames), count(b.MaxFrames), count(b.StandardDeviationFrames), count(len(b.Bursts)),
			count(b.StepFrames), kiloFrames(b.MaximumFramesPerSecond), kiloFrames(b.ThroughputFramesPerSecond),
			microseconds(b.ImpliedBufferNanoseconds), microseconds(b.CorrectedBufferNanoseconds),
		})
	}
	if g := doc.Generator; len(s.rows) > 0 && g != nil && g.Hop == string(measure.HopInline) && g.RingFrames > 0 {
		s.notes = []string{fmt.Sprintf("On this path the buffer includes the generator's receive ring of %d frames, which represents that of a network card.", g.RingFrames)}
	}
	return s
}

func backToBackDeviations(spec *v1alpha1.BackToBack, results []v1alpha1.FrameResult) []string {
	if spec == nil {
		return nil
	}
	var found []string
	if spec.Repeats != 0 && spec.Repeats < rfc2544Bursts {
		found = append(found, fmt.Sprintf("back-to-back frames: %d searches, RFC 2544 section 26.4 asks for %d bursts; RFC 9004 leaves the number open", spec.Repeats, rfc2544Bursts))
	}
	for _, frame := range results {
		if b := frame.BackToBack; b != nil && b.MaximumOrigin != v1alpha1.MaximumLineRate {
			found = append(found, fmt.Sprintf("back-to-back frames, %s: bursts have %d frames/s, %s; RFC 9004 means the theoretical rate of the link, also in the buffer times",
				sizeWords(frame), b.MaximumFramesPerSecond, maximumOrigin(b.MaximumOrigin)))
		}
	}
	return found
}
