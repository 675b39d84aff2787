package procedure

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// calibrationOf measures the generator's own rate or latency, port to port without a device.
type calibrationOf struct{ base }

var (
	rateCalibration    = calibrationOf{base{name: measure.StageCalibrateRate, noun: "calibration"}}
	latencyCalibration = calibrationOf{base{name: measure.StageCalibrateLatency, noun: "calibration"}}
)

func (calibrationOf) place() place    { return beforeChain }
func (calibrationOf) path(phase) Path { return PathCalibration }
func (calibrationOf) evidence() bool  { return false }

// distributions keeps that of the generator's own delay.
func (c calibrationOf) distributions() bool { return c.name == measure.StageCalibrateLatency }

func (calibrationOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(instr.Calibration != nil)
}

func (c calibrationOf) trials(w *replay, _ phase) int {
	if c.name == measure.StageCalibrateRate {
		return max(1, w.instr.CalibrationTrials)
	}
	return 1
}

func (c calibrationOf) expected(w *replay, ph phase) time.Duration {
	return w.cost(c.trials(w, ph), calibrationDuration.Nanoseconds())
}

// expects returns true for a doubt that a flat-out calibration measures: how much the generator
// sends and receives. Its own drops are a part of that answer.
func (c calibrationOf) expects(_ measure.Stage, doubt string) bool {
	return c.name == measure.StageCalibrateRate &&
		(doubt == measure.DoubtReceiveDrops || doubt == measure.DoubtTransmitDrops || doubt == measure.DoubtUnsent)
}

// reportRun adds the sizes for which both trials have ended.
func (c calibrationOf) reportRun(w *replay, figures *Figures) {
	if c.name == measure.StageCalibrateLatency {
		figures.Calibration = w.calibration()
	}
}

func (c calibrationOf) fill(w *replay, p *part, records []measure.Record) error {
	rate := uint64(0)
	if c.name == measure.StageCalibrateLatency {
		limit, err := w.limit(p.size)
		if err != nil {
			return err
		}
		rate = min(calibrationLowFramesPerSecond, limit.framesPerSecond)
	}
	p.next = w.trial(p.size, rate, calibrationDuration.Nanoseconds())
	if err := p.times(c.trials(w, p.phase), records); err != nil || !p.over {
		return err
	}
	if nothingReceived(p.last().Outcome) {
		return &measure.Failure{
			Reason: v1alpha1.ReasonGeneratorUnreliable,
			Err:    fmt.Errorf("no frame of %s came from port to port without a device", p.size),
			Remedy: "check the wiring of the testbed's calibration path",
		}
	}
	return nil
}

// reached is what arrived in a calibration's slowest and fastest trial, in frames per second.
type reached struct{ lowest, highest uint64 }

// reached returns what the generator reached without a device, and false before that is known.
func (w *replay) reached(size measure.Size) (reached, bool) {
	p := w.find(measure.StageCalibrateRate, size)
	if p == nil || !p.over {
		return reached{}, false
	}
	var out reached
	for i, r := range p.counted {
		rate := uint64(r.Outcome.ForwardingFramesPerSecond())
		out.highest = max(out.highest, rate)
		if i == 0 || rate < out.lowest {
			out.lowest = rate
		}
	}
	return out, true
}

// latencyBias returns the larger median delay of the directions without a device, and false
// before that is known.
func (w *replay) latencyBias(size measure.Size) (uint64, bool) {
	p := w.find(measure.StageCalibrateLatency, size)
	if p == nil || !p.over {
		return 0, false
	}
	bias := uint64(0)
	for _, d := range p.last().Outcome.Directions {
		bias = max(bias, d.Latency.P50Nanoseconds)
	}
	return bias, true
}
