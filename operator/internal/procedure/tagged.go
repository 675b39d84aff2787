package procedure

import (
	"math"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

// taggedFrames sums up one direction's tagged frames over the streams of a
// load, nil where none was asked for. The mean is rounded up, like every mean
// of delays.
func (p *part) taggedFrames(direction string) *v1alpha1.TaggedFramesResult {
	if p.next.TaggedFrameNanoseconds == 0 {
		return nil
	}
	out := &v1alpha1.TaggedFramesResult{}
	var delays []uint64
	for _, tagged := range p.tagged(direction) {
		out.SentFrames++
		if tagged.DelayNanoseconds > 0 {
			delays = append(delays, tagged.DelayNanoseconds)
		}
	}
	out.ReceivedFrames = int64(len(delays))
	s := statistics.SpreadOf(delays)
	out.MeanNanoseconds, out.StandardDeviationNanoseconds = int64(math.Ceil(s.Mean)), int64(math.Round(s.StandardDeviation))
	out.MinNanoseconds, out.MaxNanoseconds = signed(s.Minimum), signed(s.Maximum)
	return out
}

// tagged returns one direction's tagged frames, in the order of the streams.
func (p *part) tagged(direction string) []measure.TaggedFrame {
	var out []measure.TaggedFrame
	for _, r := range p.counted {
		for _, d := range r.Outcome.Directions {
			if string(d.Direction) == direction && d.TaggedFrame != nil {
				out = append(out, *d.TaggedFrame)
			}
		}
	}
	return out
}

// warnTaggedFrames warns where the mean is not that of every stream.
func warnTaggedFrames(d *warningList, p *part) {
	if p.skipped || !p.over || p.next.TaggedFrameNanoseconds == 0 {
		return
	}
	for _, o := range p.last().Outcome.Directions {
		result := p.taggedFrames(string(o.Direction))
		if missing := int64(len(p.counted)) - result.ReceivedFrames; missing > 0 {
			d.add(v1alpha1.WarningTaggedFramesMissing, p.size,
				"%s at load %s: of the tagged frames of %d streams, %d were lost and %d never sent, so their mean delay is that of %d.",
				o.Direction, p.load.Name, len(p.counted), result.SentFrames-result.ReceivedFrames,
				int64(len(p.counted))-result.SentFrames, result.ReceivedFrames)
		}
	}
}
