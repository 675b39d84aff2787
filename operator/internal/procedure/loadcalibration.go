package procedure

import (
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// loadCalibrationOf measures the generator's own delay at each latency load, port to port without a
// device. It comes last, because only then all loads are known.
type loadCalibrationOf struct{ base }

var loadCalibration = loadCalibrationOf{base{name: measure.StageCalibrateLoad, noun: "delay without a device at load"}}

func (loadCalibrationOf) place() place    { return atTheEnd }
func (loadCalibrationOf) path(phase) Path { return PathCalibration }
func (loadCalibrationOf) evidence() bool  { return false }

// phases returns none where noisy neighbors work: calibrations are made without them, and loads
// differ with them and without.
func (loadCalibrationOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	if instr.Calibration == nil || !instr.CalibrateLoads || instr.Latency == nil || instr.HasNeighbors() {
		return nil
	}
	var out []phase
	for _, load := range instr.Latency.Loads {
		out = append(out, phase{load: load})
	}
	return out
}

func (loadCalibrationOf) expected(w *replay, _ phase) time.Duration {
	return w.cost(1, w.calibrationDuration())
}

// fill asks for one trial at the load's rate, over repeats their mean. A rate that was calibrated
// before the chain is not measured again. Where the generator is not reliable any more, or does not
// reach the load, the bias stays unknown: what was measured does not depend on it.
func (loadCalibrationOf) fill(w *replay, p *part, records []measure.Record) error {
	rate := uint64(0)
	for _, l := range w.latencyResults(p.size) {
		if l.Load == p.load.Name {
			rate = uint64(max(0, l.IntendedFramesPerSecond))
		}
	}
	if rate == 0 || rate == w.lowCalibrationRate(p.size) {
		p.over, p.skipped = true, true
		return nil
	}
	if p.failure = w.failureOf(records); p.failure != "" {
		p.over, p.skipped = true, true
		return nil
	}
	p.next = w.trial(p.size, rate, w.calibrationDuration())
	if err := p.once(records); err != nil || p.over && (nothingReceived(p.last().Outcome) || fellShort(*p.last())) {
		p.over, p.skipped = true, true
	}
	return nil
}

// failureOf returns why the generator failed in one of the records, which measured nothing then, or at a
// load before; "" where it did not. One failure is enough: to open the path again may take long.
func (w *replay) failureOf(records []measure.Record) string {
	for _, p := range w.parts {
		if p.failure != "" {
			return p.failure
		}
	}
	for _, r := range records {
		if len(r.Outcome.Directions) == 0 {
			return invalidReason(r)
		}
	}
	return ""
}

// warn says once why delays without a device are not known.
func (loadCalibrationOf) warn(_ *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range parts {
		if p.failure != "" {
			d.add(v1alpha1.WarningNotCalibrated, wholeRun, "The delay without a device is not known at latency loads: it could not be measured after everything else, because %s.", p.failure)
		}
	}
}

// lowCalibrationRate returns the load at which the delay is measured before the chain, and 0 before
// that.
func (w *replay) lowCalibrationRate(size measure.Size) uint64 {
	p := w.find(measure.StageCalibrateLatency, size)
	if p == nil || !p.over {
		return 0
	}
	return p.last().Trial.IntendedFramesPerSecond
}

// biasAt returns the delay without a device at a latency load, and nil where it is not known.
func (w *replay) biasAt(size measure.Size, load v1alpha1.LatencyResult) *v1alpha1.LatencyBias {
	if bias, known := w.latencyBias(size); known && uint64(load.IntendedFramesPerSecond) == w.lowCalibrationRate(size) {
		return &bias
	}
	for _, p := range w.all(measure.StageCalibrateLoad, size) {
		if p.load.Name == load.Load && p.over && !p.skipped {
			return new(biasOf(p.last().Outcome))
		}
	}
	return nil
}
