package procedure

import (
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// loadCalibrationOf measures the generator's own delay at each load whose delays are figures, port to
// port without a device. It comes last, because only then all loads are known.
type loadCalibrationOf struct{ base }

var loadCalibration = loadCalibrationOf{base{name: measure.StageCalibrateLoad, noun: "delay without a device at load"}}

func (loadCalibrationOf) place() place    { return atTheEnd }
func (loadCalibrationOf) path(phase) Path { return PathCalibration }
func (loadCalibrationOf) evidence() bool  { return false }

// phases returns one for each latency load, fixed load and soak of a size. Where two sides are compared,
// only loads that are rates are the same on both, and calibrated: a share of a throughput differs.
func (loadCalibrationOf) phases(instr measure.Instructions, size measure.Size) []phase {
	if instr.Calibration == nil || !instr.CalibrateLoads {
		return nil
	}
	var out []phase
	for _, ph := range timedLoads(instr, size) {
		taken := slices.ContainsFunc(out, func(o phase) bool { return o.load.Name == ph.load.Name })
		if !taken && (!instr.Compares() || ph.load.Goal == "") {
			out = append(out, phase{load: ph.load})
		}
	}
	return out
}

// timedLoads returns the phases that hold a load of a size for its delays.
func timedLoads(instr measure.Instructions, size measure.Size) []phase {
	out := latencyMeasurement.phases(instr, size)
	out = append(out, fixedLoadMeasurement.phases(instr, size)...)
	return append(out, soakMeasurement.phases(instr, size)...)
}

func (loadCalibrationOf) trials(w *replay, _ phase) int { return w.delayTrials() }

func (loadCalibrationOf) expected(w *replay, _ phase) time.Duration {
	return w.cost(w.delayTrials(), w.delayDuration())
}

// fill asks for the trials at the load's rate, over repeats their mean. A rate that was calibrated
// before, at the start or for another load, is not measured again. Where the generator is not reliable
// any more, or does not reach the load, the bias stays unknown: what was measured does not depend on it.
func (loadCalibrationOf) fill(w *replay, p *part, records []measure.Record) error {
	rate := w.timedRate(p)
	if rate == 0 || rate == w.lowCalibrationRate(p.size) || w.triedAt(p.size, rate) {
		p.over, p.skipped = true, true
		return nil
	}
	if p.failure = w.failureOf(records); p.failure != "" {
		p.over, p.skipped = true, true
		return nil
	}
	p.next = w.trial(p.size, rate, w.delayDuration())
	if err := p.times(w.delayTrials(), records); err != nil || slices.ContainsFunc(p.counted, tooFast) {
		p.over, p.skipped = true, true
	}
	return nil
}

// tooFast reports whether a trial without a device did not carry its load: then its delays are those of the
// generator's full ring.
func tooFast(r measure.Record) bool {
	return nothingReceived(r.Outcome) || fellShort(r) || r.Outcome.LossOverTime()*1e6 > maxUnsent
}

// timedRate returns the rate of a load that is one, and otherwise the rate that the load was measured at, over
// repeats their mean, or 0 where it was not measured. A load has its name alone: latency loads, profiles of fixed
// loads and the soak of one run have different ones.
func (w *replay) timedRate(p *part) uint64 {
	if p.load.Goal == "" {
		return w.instr.Rate(p.load, p.size)
	}
	for _, l := range w.latencyResults(p.size) {
		if l.Load == p.load.Name {
			return uint64(max(0, l.IntendedFramesPerSecond))
		}
	}
	if soak := w.find(stageSoak, p.size); soak != nil && soak.over && !soak.skipped && soak.load.Name == p.load.Name {
		return soak.next.IntendedFramesPerSecond
	}
	return 0
}

// triedAt reports whether a part that is over has calibrated a rate, or tried to.
func (w *replay) triedAt(size measure.Size, rate uint64) bool {
	return slices.ContainsFunc(w.all(measure.StageCalibrateLoad, size), func(p *part) bool {
		return p.over && p.next.IntendedFramesPerSecond == rate
	})
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
			d.add(v1alpha1.WarningNotCalibrated, wholeRun, "The delay without a device is not known at each load: it could not be measured after everything else, because %s.", p.failure)
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
