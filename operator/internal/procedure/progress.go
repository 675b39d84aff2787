package procedure

import (
	"time"

	"vnfbench.io/operator/internal/measure"
)

// progress returns what Progress does, for one side.
//
// Every phase has a fixed share of the whole: the time expected by the instructions alone. What
// is over counts in full, so percent never falls from one phase to the next. It may fall only
// inside a search, when the device is noisier than expected; the measurer then continues to
// report what it has reported. It is 100 only when every trial has been made. The time in which
// the chain starts is not included: it cannot be known here.
func (w *replay) progress() measure.Progress {
	out := measure.Progress{Calibrated: true}
	if len(w.parts) == 0 {
		out.Calibrated = w.instr.Calibration == nil
		return out
	}
	var whole, passed float64
	var left time.Duration
	for i, ph := range phases(w.instr) {
		expected := ph.measurement.expected(w, ph)
		whole += expected.Seconds()
		if i < len(w.parts) && w.parts[i].over {
			passed += expected.Seconds()
			continue
		}
		out.Calibrated = out.Calibrated && ph.measurement.place() != beforeChain
		share, remaining := 0.0, expected
		if i < len(w.parts) {
			share, remaining = ph.measurement.within(w, w.parts[i], expected)
		}
		passed += share * expected.Seconds()
		left += remaining
	}
	out.Stage = w.stage()
	out.RemainingSeconds = int64((left + time.Second - 1) / time.Second)
	out.Percent = 100
	if w.open() != nil && whole > 0 {
		out.Percent = min(99, int(100*passed/whole))
	}
	return out
}

// stage returns one short sentence about the current step.
func (w *replay) stage() string {
	if p := w.open(); p != nil {
		return p.measurement.title(w, p.phase)
	}
	return "every trial has been made"
}
