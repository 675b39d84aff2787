package procedure

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// The delay without a device at low load is measured in each session, because a generator that was
// launched again may be another one. A figure is compared only with what the session of the figure
// measured, or one whose delays without a device overlap with it.

// isRecalibration reports whether a record is of a later session's delay without a device, which is no part of the
// procedure.
func isRecalibration(r measure.Record) bool {
	return r.Stage == measure.StageCalibrateLoad && r.Load == loadResumed
}

// recalibration returns the next trial of the delay without a device that a session repeats, and false where none is
// needed. A failure ends them: to open the path again may take long.
func (w *replay) recalibration(session string) (Step, bool) {
	if w.instr.DelayCalibrationTrials == 0 || w.open().measurement.place() == beforeChain {
		return Step{}, false
	}
	made := map[string]int{}
	for _, r := range w.log {
		if sessionOf(r) != session || !isRecalibration(r) {
			continue
		}
		if len(r.Outcome.Directions) == 0 {
			return Step{}, false
		}
		made[r.Trial.Size]++
	}
	for _, size := range w.instr.Sizes {
		p := w.find(measure.StageCalibrateLatency, size)
		if p == nil || sessionOf(*p.last()) == session || made[size.Name] >= w.delayTrials() {
			continue
		}
		return Step{
			Path: PathCalibration, Stage: measure.StageCalibrateLoad, Load: loadResumed,
			Trial: w.trial(size, w.lowCalibrationRate(size), w.delayDuration()), Why: "a new session begins",
		}, true
	}
	return Step{}, false
}

// lowDelays returns the trials at low load without a device of a session. Where no session repeats them, they
// are those of the calibration.
func (w *replay) lowDelays(size measure.Size, session string) []measure.Record {
	p := w.find(measure.StageCalibrateLatency, size)
	if p == nil || !p.over {
		return nil
	}
	if w.instr.DelayCalibrationTrials == 0 || sessionOf(*p.last()) == session {
		return p.counted
	}
	var out []measure.Record
	for _, r := range w.log {
		if isRecalibration(r) && sessionOf(r) == session && r.Trial.Size == size.Name && invalidReason(r) == "" && !tooFast(r) {
			out = append(out, r)
		}
	}
	return out
}

// delaysAgree reports whether the delays without a device of sessions overlap, all with all others.
func (w *replay) delaysAgree(size measure.Size, sessions []string) bool {
	if w.instr.DelayCalibrationTrials == 0 || len(sessions) < 2 {
		return true
	}
	var lowest, highest []int64
	for _, session := range sessions {
		trials := w.lowDelays(size, session)
		if len(trials) == 0 {
			return false
		}
		low, high := spreadOf(biasOf(trials))
		lowest, highest = append(lowest, low), append(highest, high)
	}
	return slices.Max(lowest) <= slices.Min(highest)
}

// spreadOf returns the lowest and the highest median of the trials.
func spreadOf(bias v1alpha1.LatencyBias) (lowest, highest int64) {
	if bias.LowestP50Nanoseconds == nil || bias.HighestP50Nanoseconds == nil {
		return bias.P50Nanoseconds, bias.P50Nanoseconds
	}
	return *bias.LowestP50Nanoseconds, *bias.HighestP50Nanoseconds
}

// biasAt returns the delay without a device at the rate of parts of one size, and nil where it is not known for the
// sessions of all of them.
func (w *replay) biasAt(size measure.Size, framesPerSecond int64, parts ...*part) *v1alpha1.LatencyBias {
	sessions := sessionsIn(parts)
	var trials []measure.Record
	if uint64(framesPerSecond) == w.lowCalibrationRate(size) {
		return w.lowBias(size, sessions)
	}
	for _, p := range w.all(measure.StageCalibrateLoad, size) {
		if p.over && !p.skipped && p.last().Trial.IntendedFramesPerSecond == uint64(framesPerSecond) {
			trials = p.counted
		}
	}
	if len(trials) == 0 {
		return nil
	}
	if session := sessionOf(trials[0]); !slices.Contains(sessions, session) {
		sessions = append(sessions, session)
	}
	if !w.delaysAgree(size, sessions) {
		return nil
	}
	return new(biasOf(trials))
}

// lowBias returns the delay without a device at low load of sessions, and nil where it is not known or differs.
func (w *replay) lowBias(size measure.Size, sessions []string) *v1alpha1.LatencyBias {
	if w.instr.DelayCalibrationTrials == 0 {
		sessions = sessions[:min(1, len(sessions))]
	}
	var trials []measure.Record
	for _, session := range sessions {
		trials = append(trials, w.lowDelays(size, session)...)
	}
	if len(trials) == 0 || !w.delaysAgree(size, sessions) {
		return nil
	}
	return new(biasOf(trials))
}

// sessionsIn returns the sessions of the trials that count, in their order.
func sessionsIn(parts []*part) (out []string) {
	for _, p := range parts {
		for _, r := range p.counted {
			if !slices.Contains(out, sessionOf(r)) {
				out = append(out, sessionOf(r))
			}
		}
	}
	return out
}

// delaysOfSessions says in which sessions the delays without a device of a size differ, or could not be measured.
func (w *replay) delaysOfSessions(sessions []v1alpha1.Session) (text string) {
	for _, size := range w.instr.Sizes {
		var known, spreads []string
		for i, s := range sessions {
			trials := w.lowDelays(size, s.Measurer)
			tried := slices.ContainsFunc(w.log, func(r measure.Record) bool {
				return isRecalibration(r) && sessionOf(r) == s.Measurer && r.Trial.Size == size.Name
			})
			switch {
			case len(trials) > 0:
				known, spreads = append(known, s.Measurer), append(spreads, biasInWords(biasOf(trials)))
			case tried:
				text += fmt.Sprintf(" The delay of %s without a device could not be measured in session %d: its figures have no bias.", size, i+1)
			}
		}
		if len(known) > 1 && !w.delaysAgree(size, known) {
			text += fmt.Sprintf(" Without a device the median delay of %s is not the same in all sessions (%s): figures of one have no bias of another.", size, words(spreads))
		}
	}
	return text
}

// biasInWords returns a median delay, with its spread.
func biasInWords(bias v1alpha1.LatencyBias) string {
	lowest, highest := spreadOf(bias)
	if lowest == highest {
		return fmt.Sprintf("%d ns", lowest)
	}
	return fmt.Sprintf("%d to %d ns", lowest, highest)
}
