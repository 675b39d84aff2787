package procedure

import (
	"math"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

// stageReceiveRate is a trial at the maximum load.
const stageReceiveRate measure.Stage = "ReceiveRate"

// receiveRateOf measures the forwarding rate at the maximum offered load (RFC 2285 section
// 3.6.2), several times: its profile over the trials.
type receiveRateOf struct{ timed }

var receiveRateMeasurement = receiveRateOf{timed{base{name: stageReceiveRate, noun: "receive rate"}}}

func (receiveRateOf) countsOverTime(measure.Stage) bool { return true }

// heldBytes is what HeldNanoseconds takes in a record.
const heldBytes = 24

func (receiveRateOf) recordBytes(measure.Instructions) int { return recordBytes + heldBytes }

func (receiveRateOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(instr.ReceiveRate != nil)
}

func (receiveRateOf) highest(w *replay, ph phase) (uint64, error) {
	return w.maximum(ph.size, 0).framesPerSecond, nil
}

func (receiveRateOf) trials(w *replay, _ phase) int { return int(w.instr.ReceiveRate.Trials) }

func (receiveRateOf) expected(w *replay, _ phase) time.Duration {
	return w.cost(int(w.instr.ReceiveRate.Trials), milliseconds(w.instr.ReceiveRate.TrialMilliseconds))
}

func (receiveRateOf) cpuGroups(p *part) []cpuGroup {
	return []cpuGroup{{v1alpha1.FigureKey{Metric: v1alpha1.MetricReceiveRate}, p.counted}}
}

func (receiveRateOf) warn(w *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range completed(parts) {
		w.warnReceiveRate(d, p)
	}
}

func (receiveRateOf) fill(w *replay, p *part, records []measure.Record) error {
	r := w.instr.ReceiveRate
	most := w.maximum(p.size, 0)
	loaded, low := p.split(records, most.framesPerSecond)
	if err := p.take(loaded); err != nil {
		return err
	}
	p.turns = len(p.counted)
	p.left = w.cost(int(r.Trials)-p.turns, milliseconds(r.TrialMilliseconds))
	p.next = w.trial(p.size, most.framesPerSecond, milliseconds(r.TrialMilliseconds))
	if p.turns < int(r.Trials) {
		return nil
	}
	// An overloaded device may forward nothing at all, and so does one that has stopped.
	if nothingReceived(p.last().Outcome) {
		switch {
		case most.framesPerSecond == aliveFramesPerSecond:
			return w.chainFailed(p.size, aliveFramesPerSecond)
		case low == nil:
			p.why = "see whether the device still forwards at a low load"
			p.next = w.trial(p.size, aliveFramesPerSecond, milliseconds(r.TrialMilliseconds))
			return nil
		case nothingReceived(low.Outcome):
			return w.chainFailed(p.size, aliveFramesPerSecond)
		}
	}
	p.over = true
	return nil
}

// aliveFramesPerSecond is a load that every working device forwards.
const aliveFramesPerSecond = calibrationLowFramesPerSecond

// split separates the trials at the maximum load from the one at the low load, which is in no
// figure; an invalid one at the low load is made again.
func (p *part) split(records []measure.Record, most uint64) (loaded []measure.Record, low *measure.Record) {
	for i, r := range records {
		switch {
		case most == aliveFramesPerSecond || r.Trial.IntendedFramesPerSecond != aliveFramesPerSecond:
			loaded = append(loaded, r)
		case invalidReason(r) != "":
			// After the last of the others it counts among the invalid ones in a row.
			loaded = append(loaded, r)
		default:
			low = &records[i]
		}
	}
	return loaded, low
}

func (receiveRateOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	for _, p := range parts {
		frame.ReceiveRate = w.receiveRates(p)
	}
	return len(parts) > 0
}

// receiveRates returns the figures of a part.
func (w *replay) receiveRates(p *part) *v1alpha1.ReceiveRateResult {
	most := w.maximum(p.size, 0)
	out := &v1alpha1.ReceiveRateResult{
		IntendedFramesPerSecond: signed(most.framesPerSecond), MaximumOrigin: most.origin,
		Lateness: latenessOf(p.counted...), Doubts: distinct(append(rateDoubtsOf(p.counted), w.driftDoubts(p.size)...)),
	}
	var rates []uint64
	for i, r := range p.counted {
		rate := wholeFrames(r.Outcome.ForwardingFramesPerSecond())
		rates = append(rates, rate)
		out.Trials = append(out.Trials, v1alpha1.ReceiveRateTrial{
			Trial:                     int32(i + 1),
			OfferedFramesPerSecond:    signed(wholeFrames(r.Outcome.OfferedFramesPerSecond())),
			ForwardingFramesPerSecond: signed(rate),
			LossPartsPerMillion:       lossOverTime(r.Outcome),
		})
	}
	out.UpperBoundFramesPerSecond, out.HeldPartsPerMillion = rateBound(p.counted)
	s := statistics.SpreadOf(rates)
	out.MeanFramesPerSecond, out.StandardDeviationFramesPerSecond = int64(s.Mean), int64(math.Round(s.StandardDeviation))
	out.MinFramesPerSecond, out.MaxFramesPerSecond = signed(s.Minimum), signed(s.Maximum)
	return out
}

// maxHeldShare is the largest share of a trial for which others may have had the core that sends so that the time bounds a forwarding rate.
// The bound is then 6.4 % above it.
const maxHeldShare = 0.03

// isRateBounded reports whether the time for which others had the core that sends bounds what the device forwards without them. Only a device
// that works on that core does nothing meanwhile, and only one that always has frames in its ring uses all of the time that is left: more is lost
// than the time explains.
func isRateBounded(r measure.Record) bool {
	o := r.Outcome
	share, known := o.HeldShare()
	return o.Hop == measure.HopInline && o.RingFrames > 0 && known && share <= maxHeldShare &&
		o.LossOverTime()-measure.ExplainedTimes*share >= overloadedLoss/1e6 && !isUnsteadyBesides(r)
}

// isUnsteadyBesides reports whether the generator did not send at a steady rate for another reason than that others had its core.
func isUnsteadyBesides(r measure.Record) bool {
	r.Outcome.Doubts = slices.DeleteFunc(slices.Clone(r.Outcome.Doubts), func(d measure.Doubt) bool { return isInterruption(d.Code) })
	return warningsFor(r)[v1alpha1.WarningUnsteadyPacing] != ""
}

// rateBound returns the mean of the most that a device forwards in the trials without others on the core that sends, and the largest share of a trial for
// which others had that core; nil where one of the trials has no such bound.
func rateBound(counted []measure.Record) (framesPerSecond, heldPartsPerMillion *int64) {
	sum, most := 0.0, 0.0
	for _, r := range counted {
		if !isRateBounded(r) {
			return nil, nil
		}
		share, _ := r.Outcome.HeldShare()
		sum, most = sum+r.Outcome.ForwardingAtMost(), max(most, share)
	}
	return new(int64(math.Ceil(sum / float64(len(counted))))), new(int64(math.Ceil(most * 1e6)))
}

// warnReceiveRate warns that the figure is a floor: where a trial lost nothing, the device kept
// up with the whole load. And it warns of the time in which others had the core that sends, where that is enough for a doubt.
func (w *replay) warnReceiveRate(d *warningList, p *part) {
	w.warnMaximum(d, p, 0, "Receive rate")
	warnUnsent(d, p, "the receive rate")
	if bound, held := rateBound(p.counted); bound != nil && slices.Contains(rateDoubtsOf(p.counted), v1alpha1.DoubtUnsteadyPacing) {
		d.add(v1alpha1.WarningUnsteadyPacing, p.size,
			"Other work held the core that sends for up to %.2f %% of a trial, and the device works on that core: without it, the receive rate is between what was measured and %d frames/s, if other work costs at most twice its time (assumed).",
			float64(*held)/1e4, *bound)
	}
	kept := 0
	for _, r := range p.counted {
		if r.Outcome.LossOverTime() == 0 {
			kept++
		}
	}
	if kept > 0 {
		d.add(v1alpha1.WarningMaximumLoad, p.size,
			"At the maximum load, %d of %d trials lost nothing, so this load is not the device's limit.", kept, len(p.counted))
	}
}
