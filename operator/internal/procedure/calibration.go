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

func (calibrationOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(instr.Calibration != nil)
}

func (calibrationOf) expected(w *replay, _ phase) time.Duration {
	return calibrationDuration + time.Duration(w.settle())
}

// expects returns true for a doubt that a flat-out calibration measures: how much the generator
// sends and receives. Its own drops are a part of that answer.
func (c calibrationOf) expects(doubt string) bool {
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
	if err := p.once(records); err != nil || !p.over {
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
