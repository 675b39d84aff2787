package procedure

import (
	"math"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

// receiveRateKind measures the forwarding rate at the maximum offered load
// (RFC 2285 section 3.6.2), several times: its profile over the trials.
var receiveRateKind = kind{
	stage: measure.StageReceiveRate,
	noun:  "receive rate",
	loads: func(instr measure.Instructions, _ int) []measure.LoadInstruction {
		return single(instr.ReceiveRate != nil)
	},
	highest: func(w *walk, ph phase) (uint64, error) { return w.maximum(ph.frameBytes, 0).framesPerSecond, nil },
	trials:  func(w *walk, _ phase) int { return w.instr.ReceiveRate.Trials },
	expected: func(w *walk, _ phase) time.Duration {
		return w.cost(w.instr.ReceiveRate.Trials, w.instr.ReceiveRate.TrialNanoseconds)
	},
	fill:   (*walk).fillReceiveRate,
	report: (*walk).reportReceiveRate,
	warn:   (*walk).warnReceiveRate,
}

// flatOut is the maximum load, and false with 0, as fast as the generator can,
// where no calibration says how fast that is.
func (w *walk) flatOut(frameBytes int) (maximum, bool) {
	if w.instr.Calibration == nil {
		return maximum{}, false
	}
	return w.maximum(frameBytes, 0), true
}

func (w *walk) fillReceiveRate(p *part, records []measure.Record) error {
	r := w.instr.ReceiveRate
	most, _ := w.flatOut(p.frameBytes)
	flatOut, low := p.split(records, most.framesPerSecond)
	if err := p.take(flatOut); err != nil {
		return err
	}
	p.left = w.cost(r.Trials-len(p.counted), r.TrialNanoseconds)
	p.next = w.trial(p.frameBytes, most.framesPerSecond, r.TrialNanoseconds)
	if len(p.counted) < r.Trials {
		return nil
	}
	// Nothing at all may be what an overloaded device forwards, or what is left
	// of one that has stopped.
	if nothingReceived(p.last().Outcome) {
		switch {
		case most.framesPerSecond == aliveFramesPerSecond:
			return w.chainFailed(p.frameBytes, aliveFramesPerSecond)
		case low == nil:
			p.why = "see whether the device still forwards at a low load"
			p.next = w.trial(p.frameBytes, aliveFramesPerSecond, r.TrialNanoseconds)
			return nil
		case nothingReceived(low.Outcome):
			return w.chainFailed(p.frameBytes, aliveFramesPerSecond)
		}
	}
	p.over = true
	return nil
}

// aliveFramesPerSecond is a load that every device forwards that is there.
const aliveFramesPerSecond = calibrationLowFramesPerSecond

// split parts the trials at the maximum load from the one at the low load, which
// is in no figure; an invalid one of those is made again.
func (p *part) split(records []measure.Record, most uint64) (flatOut []measure.Record, low *measure.Record) {
	for i, r := range records {
		switch {
		case most == aliveFramesPerSecond || r.Trial.IntendedFramesPerSecond != aliveFramesPerSecond:
			flatOut = append(flatOut, r)
		case objection(r) != "":
			// Behind the last of the others it counts among the invalid ones in a row.
			flatOut = append(flatOut, r)
		default:
			low = &records[i]
		}
	}
	return flatOut, low
}

func (w *walk) reportReceiveRate(p *part, frame *v1alpha1.FrameResult) {
	most, set := w.flatOut(p.frameBytes)
	out := &v1alpha1.ReceiveRateResult{IntendedFramesPerSecond: signed(most.framesPerSecond)}
	if set {
		out.MaximumOrigin = most.origin
	}
	var rates []uint64
	for i, r := range p.counted {
		rate := wholeFrames(r.Outcome.ForwardingFramesPerSecond())
		rates = append(rates, rate)
		out.Trials = append(out.Trials, v1alpha1.ReceiveRateTrial{
			Trial:                     int32(i + 1),
			OfferedFramesPerSecond:    signed(wholeFrames(r.Outcome.OfferedFramesPerSecond())),
			ForwardingFramesPerSecond: signed(rate),
			LossPartsPerMillion:       worstLoss(r.Outcome),
		})
	}
	s := statistics.SpreadOf(rates)
	out.MeanFramesPerSecond, out.StandardDeviationFramesPerSecond = int64(s.Mean), int64(math.Round(s.StandardDeviation))
	out.MinFramesPerSecond, out.MaxFramesPerSecond = signed(s.Minimum), signed(s.Maximum)
	frame.ReceiveRate = out
}

// warnReceiveRate names what the figure is a floor of: where a trial lost
// nothing, the device kept up with all that there was.
func (w *walk) warnReceiveRate(d *doubtful, p *part) {
	w.warnMaximum(d, p, 0, "Receive rate")
	warnUnsent(d, p, "the receive rate")
	kept := 0
	for _, r := range p.counted {
		if r.Outcome.LossRatio() == 0 {
			kept++
		}
	}
	if kept > 0 {
		d.add(v1alpha1.WarningMaximumLoad, p.frameBytes,
			"At the maximum load, %d of %d trials lost nothing; the device may do better.", kept, len(p.counted))
	}
}
