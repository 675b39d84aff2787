package procedure

import (
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// rateAgainOf measures the generator's highest rate again, after everything else, as the calibration did before. The highest load
// and what the generator takes of a core rest on the first rate alone.
type rateAgainOf struct{ calibrationOf }

var rateAgain = rateAgainOf{calibrationOf{base{name: measure.StageCalibrateRateAgain, noun: "rate without a device, again"}}}

func (rateAgainOf) place() place { return atTheEnd }

func (rateAgainOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(instr.Calibration != nil && instr.RateAgainAfterSeconds > 0)
}

func (rateAgainOf) trials(*replay, phase) int { return 1 }

func (c rateAgainOf) expected(w *replay, _ phase) time.Duration { return w.cost(1, c.duration(w)) }

// fill asks for the trial of the calibration, if much time has passed since it. Where the generator is not reliable any more, only this
// rate stays unknown.
func (c rateAgainOf) fill(w *replay, p *part, records []measure.Record) error {
	if w.throughChain() < time.Duration(seconds(w.instr.RateAgainAfterSeconds)) {
		p.over, p.skipped = true, true
		return nil
	}
	if p.failure = w.failureOf(records); p.failure != "" {
		p.over, p.skipped = true, true
		return nil
	}
	rate, err := c.load(w, p.size)
	if err != nil {
		return err
	}
	p.next = w.trial(p.size, rate, c.duration(w))
	if err := p.once(records); err != nil || p.over && nothingReceived(p.last().Outcome) {
		p.over, p.skipped = true, true
	}
	return nil
}

// throughChain returns the time from the first trial to the beginning of the last one with a device.
func (w *replay) throughChain() time.Duration {
	for i := len(w.log) - 1; i >= 0; i-- {
		if !w.log[i].Stage.Calibrates() {
			return w.log[i].Outcome.StartedAt.Sub(w.log[0].Outcome.StartedAt)
		}
	}
	return 0
}

// reachedAgain returns what the generator reached without a device after everything else, and false where that is not known.
func (w *replay) reachedAgain(size measure.Size) (uint64, bool) {
	p := w.find(measure.StageCalibrateRateAgain, size)
	if p == nil || !p.over || p.skipped {
		return 0, false
	}
	return wholeFrames(p.last().Outcome.ForwardingFramesPerSecond()), true
}

// driftPercent is how far beyond the calibration's spread a rate at the end is a warning. One more trial of the same generator is outside
// of the range of three in half of all runs; this far with trials that scatter by 2 % it is in less than 1 % of them.
const driftPercent = 5

// warn names a rate that is not the calibration's.
func (rateAgainOf) warn(w *replay, d *warningList, size measure.Size, parts []*part) {
	for _, p := range parts {
		if p.failure != "" && p.records > 0 {
			d.add(v1alpha1.WarningNotCalibrated, wholeRun, "What the generator reaches without a device was not measured again after everything else, because %s.", p.failure)
		}
	}
	first, again, drifted := w.drift(size)
	if !drifted {
		return
	}
	d.add(v1alpha1.WarningCalibrationDrift, size,
		"Without a device the generator reached %d frames/s after the measurement, and %d to %d before it. The highest load, and what the generator "+
			"takes of a core, follow from those before: figures near the highest load may be off by as much.", again, first.lowest, first.highest)
}

// drift returns what the generator reached without a device before and after the measurement, and whether the latter is beyond the former by
// more than driftPercent.
func (w *replay) drift(size measure.Size) (first reached, again uint64, drifted bool) {
	first, ok := w.reached(size)
	again, known := w.reachedAgain(size)
	return first, again, ok && known && (again*100 < first.lowest*(100-driftPercent) || again*100 > first.highest*(100+driftPercent))
}

// driftDoubts returns the doubt about a rate of a device that works on the core that sends, where that core was slower at one end of the
// measurement than at the other: which of the trials were made on a slow core is not known.
func (w *replay) driftDoubts(size measure.Size) []v1alpha1.DoubtCode {
	if _, _, drifted := w.drift(size); drifted && w.instr.Chain.Hop == measure.HopInline {
		return []v1alpha1.DoubtCode{v1alpha1.DoubtCalibrationDrift}
	}
	return nil
}
