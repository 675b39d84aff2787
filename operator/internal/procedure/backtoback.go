package procedure

import (
	"math"
	"math/bits"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// depletion is the least that buffers get to empty after a burst; a longer
	// burst gets as long as it lasted (RFC 9004 section 6.2).
	depletion = 2 * time.Second
	// steadyBurst is the share of the maximum rate, in percent, that a burst
	// must have left with to be one.
	steadyBurst = 99
)

// backToBackKind is RFC 9004: the longest burst at the maximum rate without
// loss, by a binary search with loss verification, several times.
var backToBackKind = kind{
	stage: measure.StageBackToBack,
	noun:  "back-to-back frames",
	loads: func(instr measure.Instructions, _ int) []measure.LoadInstruction {
		return single(instr.BackToBack != nil)
	},
	highest: func(w *walk, ph phase) (uint64, error) { return w.maximum(ph.frameBytes, 0).framesPerSecond, nil },
	trials: func(w *walk, ph phase) int {
		return w.instr.BackToBack.Repeats * bits.Len64(w.burstSteps(ph.frameBytes))
	},
	expected: func(w *walk, ph phase) time.Duration {
		return w.burstTime(ph.frameBytes, w.instr.BackToBack.Repeats)
	},
	fill:   (*walk).fillBackToBack,
	report: (*walk).reportBackToBack,
	warn:   (*walk).warnBackToBack,
}

// burstSteps is how many steps the longest burst has.
func (w *walk) burstSteps(frameBytes int) uint64 {
	b := w.instr.BackToBack
	hi, lo := bits.Mul64(w.maximum(frameBytes, 0).framesPerSecond, uint64(b.MaximumBurstNanoseconds))
	frames, _ := bits.Div64(hi, lo, uint64(time.Second))
	return max(1, frames/b.StepFrames)
}

// burstSettle is the wait after a burst.
func (w *walk) burstSettle(burst time.Duration) time.Duration {
	return max(depletion, burst, time.Duration(w.instr.SettleNanoseconds))
}

// burstTime is what a number of searches take, with bursts of half the longest.
func (w *walk) burstTime(frameBytes, searches int) time.Duration {
	trials := bits.Len64(w.burstSteps(frameBytes))
	burst := time.Duration(w.instr.BackToBack.MaximumBurstNanoseconds) / 2
	return time.Duration(searches*trials) * (burst + w.burstSettle(burst))
}

// burstSearch is one binary search: the answer lies between low and high steps,
// and low steps passed. RFC 9004 names TST009's search; like that, it halves a
// grid of whole steps, and it ends when nothing on the grid is left to try, so
// that every result is a burst that passed.
type burstSearch struct {
	low, high uint64
	// lossy is how often the burst under way has lost frames.
	lossy int
}

func (s burstSearch) steps() uint64 { return (s.low + s.high + 1) / 2 }
func (s burstSearch) done() bool    { return s.low == s.high }

// learn takes a burst of s.steps(). One that was not sent in full is no burst of
// that length, and does not pass.
func (s *burstSearch) learn(b *measure.BackToBackInstructions, r measure.Record) {
	lost := uint64(0)
	for _, d := range r.Outcome.Directions {
		lost = max(lost, d.LostFrames())
	}
	if lost == 0 && !behind(r) {
		s.low, s.lossy = s.steps(), 0
		return
	}
	s.lossy++
	if s.lossy < b.Attempts && (b.MaximumLostFrames == nil || lost <= *b.MaximumLostFrames) {
		return
	}
	s.high, s.lossy = s.steps()-1, 0
}

// fillBackToBack measures where RFC 9004 section 6.1 wants it: where the device
// itself, and neither the link nor the generator, bounds the throughput.
func (w *walk) fillBackToBack(p *part, records []measure.Record) error {
	b := w.instr.BackToBack
	if _, found := w.deviceThroughput(p.frameBytes); !found {
		p.over, p.skipped = true, true
		return nil
	}
	if err := p.take(records); err != nil {
		return err
	}
	steps := w.burstSteps(p.frameBytes)
	s := burstSearch{high: steps}
	for _, r := range p.counted {
		s.learn(b, r)
		if s.done() {
			p.bursts = append(p.bursts, s.low*b.StepFrames)
			s = burstSearch{high: steps}
		}
	}
	if p.over = len(p.bursts) >= b.Repeats; p.over {
		if last := p.last(); nothingReceived(last.Outcome) {
			return w.chainFailed(p.frameBytes, last.Trial.IntendedFramesPerSecond)
		}
		return nil
	}
	p.left = w.burstTime(p.frameBytes, b.Repeats-len(p.bursts))
	rate := w.maximum(p.frameBytes, 0).framesPerSecond
	frames := s.steps() * b.StepFrames
	// Rounded to the nanosecond, a load times this duration is the burst's
	// frames to less than half a frame.
	burst := max(1, time.Duration(math.Round(float64(frames)/float64(rate)*1e9)))
	p.next = measure.Trial{
		FrameBytes: p.frameBytes, Mix: w.instr.MixOf(p.frameBytes), Packet: w.instr.PacketOf(p.frameBytes), IntendedFramesPerSecond: rate,
		DurationNanoseconds: burst.Nanoseconds(),
		SettleNanoseconds:   w.burstSettle(burst).Nanoseconds(),
	}
	return nil
}

// deviceThroughput is the throughput without loss where the device bounds it.
func (w *walk) deviceThroughput(frameBytes int) (uint64, bool) {
	throughput := w.find(measure.StageThroughput, frameBytes)
	if throughput == nil {
		return 0, false
	}
	lossless := map[string]bool{}
	for _, g := range w.instr.Throughput.Goals {
		lossless[g.Name] = g.LossPartsPerMillion == 0
	}
	for _, r := range throughput.results {
		if lossless[r.Goal] {
			return wholeFrames(r.ConditionalThroughputFramesPerSecond), r.UpperBoundCause == search.DeviceLoss
		}
	}
	return 0, false
}

func (w *walk) reportBackToBack(p *part, frame *v1alpha1.FrameResult) {
	b := w.instr.BackToBack
	most := w.maximum(p.frameBytes, 0)
	throughput, _ := w.deviceThroughput(p.frameBytes)
	s := statistics.SpreadOf(p.bursts)
	implied := s.Mean / float64(most.framesPerSecond) * 1e9
	behind := 1 - min(1, float64(throughput)/float64(most.framesPerSecond))
	out := &v1alpha1.BackToBackResult{
		MeanFrames: int64(s.Mean), MinFrames: signed(s.Minimum), MaxFrames: signed(s.Maximum),
		StandardDeviationFrames: int64(math.Round(s.StandardDeviation)),
		StepFrames:              signed(b.StepFrames), LongestBurstFrames: signed(w.burstSteps(p.frameBytes) * b.StepFrames),
		MaximumFramesPerSecond: signed(most.framesPerSecond), MaximumOrigin: most.origin,
		ThroughputFramesPerSecond:  signed(throughput),
		ImpliedBufferNanoseconds:   int64(implied),
		CorrectedBufferNanoseconds: int64(implied * behind),
	}
	for _, frames := range p.bursts {
		out.Bursts = append(out.Bursts, signed(frames))
	}
	frame.BackToBack = out
}

func (w *walk) warnBackToBack(d *doubtful, p *part) {
	if p.skipped {
		d.add(v1alpha1.WarningBackToBackNotNeeded, p.frameBytes,
			"Back-to-back frames were not measured: the device does not bound the throughput without loss here (RFC 9004 section 6.1).")
		return
	}
	w.warnMaximum(d, p, 0, "Back-to-back frames")
	most := w.maximum(p.frameBytes, 0).framesPerSecond
	longest := w.burstSteps(p.frameBytes) * w.instr.BackToBack.StepFrames
	full, none := 0, 0
	for _, frames := range p.bursts {
		if frames == longest {
			full++
		}
		if frames == 0 {
			none++
		}
	}
	if full > 0 {
		d.add(v1alpha1.WarningMaximumLoad, p.frameBytes,
			"The longest burst, %d frames, passed in %d of %d searches; the device may do better.", longest, full, len(p.bursts))
	}
	if none > 0 {
		d.add(v1alpha1.WarningIrregularResult, p.frameBytes,
			"Even the shortest burst of %d frames lost some in %d of %d searches, which count as 0.", w.instr.BackToBack.StepFrames, none, len(p.bursts))
	}
	slowest, unsent := math.Inf(1), 0
	for _, r := range p.counted {
		switch {
		case r.Outcome.LossRatio() > 0:
		case behind(r):
			unsent++
		default:
			slowest = min(slowest, r.Outcome.OfferedFramesPerSecond())
		}
	}
	if unsent > 0 {
		d.add(v1alpha1.WarningGeneratorCeiling, p.frameBytes,
			"The generator could not send %d of %d bursts in full; nothing of them was lost, and they do not pass, so the device may do better.",
			unsent, len(p.counted))
	}
	if slowest*100 < float64(most)*steadyBurst {
		d.add(v1alpha1.WarningLoadNotReached, p.frameBytes,
			"A burst that passed left with %.0f of %d frames/s, so the device had more time than a burst gives.", slowest, most)
	}
}
