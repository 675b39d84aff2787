// Package procedure determines the order of a measurement: calibration, warm-up, search, latency,
// for one frame size after the other. Instructions and the trials made so far go in; the next
// trial, the results and the progress come out. It is pure and remembers nothing, so a measurer
// that was stopped replays its records and continues as if it had never stopped.
package procedure

import (
	"errors"
	"fmt"

	"vnfbench.io/operator/internal/measure"
)

const (
	// MaximumInvalidTrials is how many invalid trials in a row end the measurement: a generator
	// that doubts its trials so often measures only itself.
	MaximumInvalidTrials = 3
	// calibrationMilliseconds is the default duration of each trial without a device.
	calibrationMilliseconds = 1000
	// calibrationLowFramesPerSecond is far below any load that causes queues.
	calibrationLowFramesPerSecond = 1000
)

// ErrInstructions says that the instructions cannot be followed.
var ErrInstructions = errors.New("invalid instructions")

// ErrRecords says that the records are not those of the instructions.
var ErrRecords = errors.New("invalid records")

// Path names the path that a trial runs on.
type Path string

const (
	// PathCalibration is port to port without a device.
	PathCalibration Path = "Calibration"
	// PathChain is the path through the network functions. It may not be used before the
	// controller has said that the chain is ready: a measurer waits at the first step on it.
	PathChain Path = "Chain"
	// PathEndpoints is the path of TCP connections through the network functions, between the two
	// ends next to the generator. It waits as PathChain does.
	PathEndpoints Path = "Endpoints"
	// PathStateful is the chain's path with a generator that has its own TCP at both ports. It
	// waits as PathChain does.
	PathStateful Path = "Stateful"
)

// Step is what comes next: a trial, or Done.
type Step struct {
	// Done says that every trial has been made.
	Done bool
	// Path is where the trial runs.
	Path Path
	// Stage and Load belong in the trial's record.
	Stage measure.Stage
	Load  string
	// Repeat belongs there too.
	Repeat int
	// Deployment is the least number of a deployment of the chain that the trial can be made with:
	// with repeatScope Chain, one that no other repeat has used. 0: any.
	Deployment int
	// Neighbors says that the trial is made with the neighbors; it belongs there too.
	Neighbors bool
	Trial     measure.Trial
	// Why is one sentence for the log, empty where the stage says it all.
	Why string
}

// Recalibrates reports whether the step measures the delay without a device again because a session begins.
func (s Step) Recalibrates() bool {
	return s.Stage == measure.StageCalibrateLoad && s.Load == loadResumed
}

// step returns the next trial of the open part.
func (w *replay) step() Step {
	open := w.open()
	return Step{
		Path: open.path(), Stage: open.recordedAs(), Load: open.load.Name, Repeat: open.repeat,
		Trial: open.next, Why: open.why,
	}
}

func validate(instr measure.Instructions) error {
	switch {
	case len(instr.Sizes) == 0 && instr.TCP == nil && instr.Connections == nil:
		return fmt.Errorf("%w: no frame size", ErrInstructions)
	case len(instr.Sizes) > 0 && !measuresSizes(instr):
		return fmt.Errorf("%w: nothing is asked for", ErrInstructions)
	}
	for _, m := range registry {
		if err := m.check(instr); err != nil {
			return err
		}
	}
	if err := instr.CheckSizes(); err != nil {
		return fmt.Errorf("%w: %w", ErrInstructions, err)
	}
	return nil
}

// measuresSizes reports whether anything is measured for a size.
func measuresSizes(instr measure.Instructions) bool {
	instr.WarmUpMilliseconds = nil
	for _, size := range instr.Sizes {
		if len(phasesAt(perSize, instr, size)) > 0 {
			return true
		}
	}
	return false
}

func lineRate(instr measure.Instructions, size measure.Size) uint64 {
	return instr.LineRateFramesPerSecond(size)
}
