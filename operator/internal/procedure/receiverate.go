package procedure

import (
	"math"
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
		Lateness: latenessOf(p.counted...), Doubts: rateDoubtsOf(p.counted),
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
	s := statistics.SpreadOf(rates)
	out.MeanFramesPerSecond, out.StandardDeviationFramesPerSecond = int64(s.Mean), int64(math.Round(s.StandardDeviation))
	out.MinFramesPerSecond, out.MaxFramesPerSecond = signed(s.Minimum), signed(s.Maximum)
	return out
}

// warnReceiveRate warns that the figure is a floor: where a trial lost nothing, the device kept
// up with the whole load.
func (w *replay) warnReceiveRate(d *warningList, p *part) {
	w.warnMaximum(d, p, 0, "Receive rate")
	warnUnsent(d, p, "the receive rate")
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
