package procedure

import (
	"cmp"
	"fmt"
	"slices"
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

// isCalibratedRate reports whether a stage's trials measure the generator's highest rate.
func isCalibratedRate(stage measure.Stage) bool {
	return stage == measure.StageCalibrateRate || stage == measure.StageCalibrateRateAgain
}

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
	return w.delayTrials()
}

func (c calibrationOf) expected(w *replay, ph phase) time.Duration {
	return w.cost(c.trials(w, ph), c.duration(w))
}

// duration returns that of each trial, in nanoseconds.
func (c calibrationOf) duration(w *replay) int64 {
	if c.name == measure.StageCalibrateLatency {
		return w.delayDuration()
	}
	return w.calibrationDuration()
}

// delayTrials returns how often a delay is measured without a device.
func (w *replay) delayTrials() int { return max(1, w.instr.DelayCalibrationTrials) }

// shortestDelayTrial is the least duration of one of several trials of a delay without a device: at 1,000
// frames/s, 300 frames.
const shortestDelayTrial = int64(300 * time.Millisecond)

// delayDuration returns the duration of each of these trials, which share that of one calibration trial.
func (w *replay) delayDuration() int64 {
	whole := w.calibrationDuration()
	return max(whole/int64(w.delayTrials()), min(whole, shortestDelayTrial))
}

// expects returns true for a doubt that an overloaded generator always has: how much it sends and
// receives is what the calibration measures.
func (c calibrationOf) expects(_ measure.Stage, doubt string) bool {
	return c.name != measure.StageCalibrateLatency &&
		(doubt == measure.DoubtReceiveDrops || doubt == measure.DoubtTransmitDrops || doubt == measure.DoubtUnsent || doubt == measure.DoubtOverflow)
}

// reportRun adds the sizes for which both trials have ended.
func (c calibrationOf) reportRun(w *replay, figures *Figures) {
	if c.name == measure.StageCalibrateLatency {
		figures.Calibration = w.calibration()
	}
}

// calibrationDuration returns the duration of each trial without a device, in nanoseconds.
func (w *replay) calibrationDuration() int64 {
	return milliseconds(cmp.Or(w.instr.CalibrationMilliseconds, calibrationMilliseconds))
}

// beyondACore is more frames per second than a core makes.
const beyondACore = 20_000_000

// load returns the load of a calibration's trials. With a load the generator sends as it does in
// every trial that the calibration is compared with, in no other way. Where it shares a core with
// the device, what it needs of that core matters below line rate too.
func (c calibrationOf) load(w *replay, size measure.Size) (uint64, error) {
	if c.name == measure.StageCalibrateLatency {
		limit, err := w.limit(size)
		return min(calibrationLowFramesPerSecond, limit.framesPerSecond), err
	}
	if w.instr.Chain.Hop == measure.HopInline {
		return max(beyondACore, lineRate(w.instr, size)), nil
	}
	return lineRate(w.instr, size), nil
}

func (c calibrationOf) fill(w *replay, p *part, records []measure.Record) error {
	rate, err := c.load(w, p.size)
	if err != nil {
		return err
	}
	p.next = w.trial(p.size, rate, c.duration(w))
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
type reached struct {
	lowest, highest uint64
	// whole says that all frames of a trial arrived: the generator's limit was not reached.
	whole bool
}

// reached returns what the generator reached without a device, and false before that is known.
func (w *replay) reached(size measure.Size) (reached, bool) {
	p := w.find(measure.StageCalibrateRate, size)
	if p == nil || !p.over {
		return reached{}, false
	}
	var out reached
	for i, r := range p.counted {
		rate := wholeFrames(r.Outcome.ForwardingFramesPerSecond())
		out.whole = out.whole || !fellShort(r) && r.Outcome.LossRatio() == 0
		out.highest = max(out.highest, rate)
		if i == 0 || rate < out.lowest {
			out.lowest = rate
		}
	}
	return out, true
}

// latencyBias returns the delay without a device at low load, as it was before the chain, and false before that
// is known.
func (w *replay) latencyBias(size measure.Size) (v1alpha1.LatencyBias, bool) {
	p := w.find(measure.StageCalibrateLatency, size)
	if p == nil || !p.over {
		return v1alpha1.LatencyBias{}, false
	}
	return biasOf(p.counted), true
}

// biasOf returns the medians of what trials without a device took, each trial's of the worse direction, with the
// lowest and the highest.
func biasOf(trials []measure.Record) v1alpha1.LatencyBias {
	p50, p99 := make([]int64, len(trials)), make([]int64, len(trials))
	for i, r := range trials {
		for _, d := range r.Outcome.Directions {
			p50[i] = max(p50[i], signed(d.Latency.P50Nanoseconds))
			p99[i] = max(p99[i], signed(d.Latency.P99Nanoseconds))
		}
	}
	slices.Sort(p50)
	slices.Sort(p99)
	middle := len(trials) / 2
	bias := v1alpha1.LatencyBias{P50Nanoseconds: p50[middle], P99Nanoseconds: p99[middle]}
	if len(trials) > 1 {
		bias.LowestP50Nanoseconds, bias.HighestP50Nanoseconds = &p50[0], &p50[len(p50)-1]
	}
	return bias
}
