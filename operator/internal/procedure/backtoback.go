package procedure

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// depletion is the minimum time for buffers to empty after a burst; a longer burst gets as
	// long as it lasted (RFC 9004 section 6.2).
	depletion = 2 * time.Second
	// steadyBurst is the minimum rate of a burst, as a share of the maximum rate in percent.
	steadyBurst = 99
)

// stageBackToBack is a burst.
const stageBackToBack measure.Stage = "BackToBack"

// backToBackOf measures RFC 9004's back-to-back frames: the longest burst at the maximum rate
// without loss, by a binary search with loss verification, several times.
type backToBackOf struct{ timed }

var backToBackMeasurement = backToBackOf{timed{base{name: stageBackToBack, noun: "back-to-back frames"}}}

func (backToBackOf) check(instr measure.Instructions) error {
	if b := instr.BackToBack; b != nil && (b.StepFrames < 1 || b.MaximumBurstMilliseconds < 1 || instr.Throughput == nil) {
		return fmt.Errorf("%w: back-to-back frames need a step, a longest burst and a throughput", ErrInstructions)
	}
	return nil
}

func (backToBackOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(instr.BackToBack != nil)
}

func (backToBackOf) highest(w *replay, ph phase) (uint64, error) {
	return w.maximum(ph.size, 0).framesPerSecond, nil
}

func (backToBackOf) trials(w *replay, ph phase) int {
	return int(w.instr.BackToBack.Repeats) * bits.Len64(w.burstSteps(ph.size))
}

func (backToBackOf) expected(w *replay, ph phase) time.Duration {
	return w.burstTime(ph.size, int(w.instr.BackToBack.Repeats))
}

// evidence returns false, as bursts are too short for the kernel's counters.
func (backToBackOf) evidence() bool                       { return false }
func (backToBackOf) recordBytes(measure.Instructions) int { return countsBytes }

// compact leaves the delays out, so that a benchmark of hundreds of bursts fits into the results. Distributions are
// kept as far as there is room.
func (backToBackOf) compact(outcome measure.Outcome) measure.Outcome {
	kept := countsOnly(outcome)
	for i, d := range outcome.Directions {
		kept.Directions[i].Distributions = d.Distributions
	}
	return kept
}

func (backToBackOf) warn(w *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range completed(parts) {
		w.warnBackToBack(d, p)
	}
}

// burstSteps returns the number of steps of the longest burst.
func (w *replay) burstSteps(size measure.Size) uint64 {
	b := w.instr.BackToBack
	hi, lo := bits.Mul64(w.maximum(size, 0).framesPerSecond, uint64(milliseconds(b.MaximumBurstMilliseconds)))
	frames, _ := bits.Div64(hi, lo, uint64(time.Second))
	return max(1, frames/uint64(b.StepFrames))
}

// burstSettle returns the wait after a burst.
func (w *replay) burstSettle(burst time.Duration) time.Duration {
	return max(depletion, burst, time.Duration(w.settle()))
}

// burstTime returns the time of a number of searches, with bursts of half the longest.
func (w *replay) burstTime(size measure.Size, searches int) time.Duration {
	trials := bits.Len64(w.burstSteps(size))
	burst := time.Duration(milliseconds(w.instr.BackToBack.MaximumBurstMilliseconds)) / 2
	return time.Duration(searches*trials) * (burst + w.burstSettle(burst))
}

// burstSearch is one binary search: the answer is between low and high steps, and low steps
// passed. RFC 9004 names TST009's search; like that, it halves a grid of whole steps. It ends
// when nothing on the grid is left to try, so that every result is a burst that passed.
type burstSearch struct {
	low, high uint64
	// lossy is how often the current burst has lost frames.
	lossy int
}

func (s burstSearch) steps() uint64 { return (s.low + s.high + 1) / 2 }
func (s burstSearch) done() bool    { return s.low == s.high }

// learn takes a burst of s.steps(). If it was not sent in full, it is not a burst of that length,
// and does not pass.
func (s *burstSearch) learn(b *v1alpha1.BackToBack, r measure.Record) {
	lost := uint64(0)
	for _, d := range r.Outcome.Directions {
		lost = max(lost, d.LostFrames())
	}
	if lost == 0 && !fellShort(r) {
		s.low, s.lossy = s.steps(), 0
		return
	}
	s.lossy++
	if s.lossy < int(b.Attempts) && (b.MaximumLostFrames == nil || lost <= uint64(*b.MaximumLostFrames)) {
		return
	}
	s.high, s.lossy = s.steps()-1, 0
}

// fill measures where the device itself, and neither the link (RFC 9004 section 6.1) nor the
// generator, bounds the throughput.
func (backToBackOf) fill(w *replay, p *part, records []measure.Record) error {
	b := w.instr.BackToBack
	if _, found := w.deviceThroughput(p.size); !found {
		p.over, p.skipped = true, true
		return nil
	}
	if err := p.take(records); err != nil {
		return err
	}
	steps := w.burstSteps(p.size)
	s := burstSearch{high: steps}
	for _, r := range p.counted {
		s.learn(b, r)
		if s.done() {
			p.bursts = append(p.bursts, s.low*uint64(b.StepFrames))
			s = burstSearch{high: steps}
		}
	}
	p.turns = len(p.bursts)
	if p.over = p.turns >= int(b.Repeats); p.over {
		if last := p.last(); nothingReceived(last.Outcome) {
			return w.chainFailed(p.size, last.Trial.IntendedFramesPerSecond)
		}
		return nil
	}
	p.left = w.burstTime(p.size, int(b.Repeats)-p.turns)
	rate := w.maximum(p.size, 0).framesPerSecond
	frames := s.steps() * uint64(b.StepFrames)
	// With rounding to the nanosecond, a load times this duration is the burst's frames to less
	// than half a frame.
	burst := max(1, time.Duration(math.Round(float64(frames)/float64(rate)*1e9)))
	p.next = w.trial(p.size, rate, burst.Nanoseconds())
	p.next.SettleNanoseconds = w.burstSettle(burst).Nanoseconds()
	return nil
}

// deviceThroughput returns the throughput without loss, and whether the device bounds it.
func (w *replay) deviceThroughput(size measure.Size) (uint64, bool) {
	rate, cause := w.losslessThroughput(size)
	return rate, cause == v1alpha1.CauseDeviceLoss
}

// losslessThroughput returns the throughput of the first goal that allows no loss, and why it is
// not higher; 0 and no cause where there is none.
func (w *replay) losslessThroughput(size measure.Size) (uint64, v1alpha1.UpperBoundCause) {
	throughput := w.find(measure.StageThroughput, size)
	if throughput == nil {
		return 0, ""
	}
	lossless := map[string]bool{}
	for _, g := range w.instr.Throughput.Goals {
		lossless[g.Name] = g.LossPartsPerMillion == 0
	}
	for _, r := range throughput.results {
		if lossless[r.Goal] {
			return wholeFrames(r.ConditionalThroughputFramesPerSecond), w.cause(throughput, r)
		}
	}
	return 0, ""
}

// whyNoBursts returns why there is no burst to search for, in one clause.
func (w *replay) whyNoBursts(size measure.Size) string {
	rate, cause := w.losslessThroughput(size)
	switch most := w.maximum(size, 0).framesPerSecond; {
	case cause == v1alpha1.CauseGeneratorCeiling:
		return "the generator, and not the device, bounds the throughput without loss, so it can send no burst that is faster"
	case cause == v1alpha1.CauseMaximumLoad && rate >= most:
		return "the device loses nothing at the rate of the link, so no burst is faster (RFC 9004 section 6.1)"
	case cause == v1alpha1.CauseMaximumLoad:
		return fmt.Sprintf("the search for the throughput tried no load above %d frames/s, which lost nothing", rate)
	}
	return "no throughput without loss was found"
}

func (backToBackOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	for _, p := range parts {
		frame.BackToBack = w.bursts(p)
	}
	return len(parts) > 0
}

// bursts returns the figures of a part.
func (w *replay) bursts(p *part) *v1alpha1.BackToBackResult {
	b := w.instr.BackToBack
	most := w.maximum(p.size, 0)
	throughput, _ := w.deviceThroughput(p.size)
	s := statistics.SpreadOf(p.bursts)
	implied := s.Mean / float64(most.framesPerSecond) * 1e9
	shortfall := 1 - min(1, float64(throughput)/float64(most.framesPerSecond))
	out := &v1alpha1.BackToBackResult{
		MeanFrames: int64(s.Mean), MinFrames: signed(s.Minimum), MaxFrames: signed(s.Maximum),
		StandardDeviationFrames: int64(math.Round(s.StandardDeviation)),
		StepFrames:              int64(b.StepFrames), LongestBurstFrames: signed(w.burstSteps(p.size) * uint64(b.StepFrames)),
		MaximumFramesPerSecond: signed(most.framesPerSecond), MaximumOrigin: most.origin,
		ThroughputFramesPerSecond: signed(throughput),
		ImpliedBufferNanoseconds:  int64(implied),
		Lateness:                  latenessOf(p.counted...),
		Doubts:                    w.burstDoubts(p),
	}
	if !w.ofLaterSession(p) {
		out.CorrectedBufferNanoseconds = new(int64(implied * shortfall))
	}
	for _, frames := range p.bursts {
		out.Bursts = append(out.Bursts, signed(frames))
	}
	return out
}

func (w *replay) warnBackToBack(d *warningList, p *part) {
	if p.skipped {
		d.add(v1alpha1.WarningBackToBackNotNeeded, p.size,
			"Back-to-back frames were not measured: %s.", w.whyNoBursts(p.size))
		return
	}
	w.warnMaximum(d, p, 0, "Back-to-back frames")
	most := w.maximum(p.size, 0).framesPerSecond
	longest := w.burstSteps(p.size) * uint64(w.instr.BackToBack.StepFrames)
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
		d.add(v1alpha1.WarningMaximumLoad, p.size,
			"The longest burst, %d frames, passed in %d of %d searches; a longer one may pass too.", longest, full, len(p.bursts))
	}
	if none > 0 {
		d.add(v1alpha1.WarningIrregularResult, p.size,
			"Even the shortest burst of %d frames lost some in %d of %d searches, which count as 0.", w.instr.BackToBack.StepFrames, none, len(p.bursts))
	}
	slowest, unsent := p.burstPace()
	if unsent > 0 {
		d.add(v1alpha1.WarningGeneratorCeiling, p.size,
			"The generator could not send %d of %d bursts in full; nothing of them was lost, and they do not pass, so the device may do better.",
			unsent, len(p.counted))
	}
	if isSlow(slowest, most) {
		d.add(v1alpha1.WarningLoadNotReached, p.size,
			"A burst that passed left with %.0f of %d frames/s, so the device had more time than a burst gives.", slowest, most)
	}
}

// burstPace returns the rate of the slowest burst that passed, and how many bursts that lost
// nothing the generator did not send in full.
func (p *part) burstPace() (slowest float64, unsent int) {
	slowest = math.Inf(1)
	for _, r := range p.counted {
		switch {
		case r.Outcome.LossRatio() > 0:
		case fellShort(r):
			unsent++
		default:
			slowest = min(slowest, r.Outcome.OfferedFramesPerSecond())
		}
	}
	return slowest, unsent
}

// isSlow reports whether a burst's rate gave the device more time than a burst does.
func isSlow(slowest float64, most uint64) bool { return slowest*100 < float64(most)*steadyBurst }
