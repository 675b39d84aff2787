package procedure

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// A session is what one measurer made. One that is resumed or restarted is followed by another
// session: time has passed, and the chain may have been launched again. So nothing that one figure
// rests on is made in two sessions. What was under way is made again from its start.

// loadResumed is the load of the warm-up and of the delays without a device that begin a session in the middle of the
// measurement.
const loadResumed = "resumed"

// sessionOf returns the session in which a record was made.
func sessionOf(r measure.Record) string { return r.Measurer }

// isResumed reports whether a record begins a session, and is no part of the procedure.
func isResumed(r measure.Record) bool { return isWarmUpAgain(r) || isRecalibration(r) }

// isWarmUpAgain reports whether a record is a session's own warm-up.
func isWarmUpAgain(r measure.Record) bool {
	return r.Stage == measure.StageWarmUp && r.Load == loadResumed
}

// severed is what the ends of sessions left.
type severed struct {
	// dropped are the records of what was made again.
	dropped []measure.Record
	// soaks are the sizes whose soak continued in another session.
	soaks []string
}

// replaySides goes through the phases of each side along the records, of which only those count
// that no other session interrupted. A session that is about to begin is named; "" is the last
// record's.
func replaySides(instr measure.Instructions, records []measure.Record, session string) ([]*replay, severed) {
	sides := sidesOf(instr)
	kept := make([][]measure.Record, len(sides))
	var found severed
	for i, r := range records {
		for n, side := range sides {
			if !isResumed(r) && holds(instr, side, r) {
				kept[n] = append(kept[n], r)
			}
		}
		next := session
		if i+1 < len(records) {
			next = sessionOf(records[i+1])
		}
		if next != "" && next != sessionOf(r) {
			found.end(instr, kept, records)
		}
	}
	return replayEach(instr, kept, records), found
}

// replayEach replays the records of each side of a log.
func replayEach(instr measure.Instructions, kept [][]measure.Record, log []measure.Record) []*replay {
	out := make([]*replay, len(kept))
	for n, side := range sidesOf(instr) {
		out[n] = replayRecords(instr, kept[n], log)
		out[n].side = side
	}
	return out
}

// end leaves the records that count after the end of a session: of each side, those before the unit
// that one of them is in. An error stays what it is: the measurement does not continue after it.
func (s *severed) end(instr measure.Instructions, kept [][]measure.Record, log []measure.Record) {
	sides := replayEach(instr, kept, log)
	for _, w := range sides {
		if w.err != nil {
			return
		}
	}
	turn := turnOf(sides)
	if turn == nil {
		return
	}
	at := turn.open()
	for n, w := range sides {
		again := 0
		for _, p := range w.parts {
			switch {
			case p.unit < at.unit:
			case p.measurement != soakMeasurement:
				again += p.records
			case !p.over && p.records > 0:
				s.soaks = append(s.soaks, p.size.String())
			}
		}
		counted := len(kept[n]) - again
		s.dropped = append(s.dropped, kept[n][counted:]...)
		kept[n] = kept[n][:counted:counted]
	}
}

// inUnitOf reports whether two phases are of one unit, which is made in one session: those of a
// repeat of one size, and each phase that is not repeated with others by itself.
func (p phase) inUnitOf(o phase) bool {
	if !p.repeats() || !o.repeats() {
		return p.key() == o.key()
	}
	return p.size.Name == o.size.Name && p.repeat == o.repeat
}

// resume returns what a session begins with in the middle of the measurement, the delay without a device and a
// warm-up, and false where nothing is needed.
func (w *replay) resume(records []measure.Record, session string) (Step, bool) {
	if session == "" {
		return Step{}, false
	}
	if step, ok := w.recalibration(session); ok {
		return step, true
	}
	open := w.open()
	if open.path() != PathChain || open.stage() == measure.StageWarmUp || warmUpNanoseconds(w.instr) == 0 {
		return Step{}, false
	}
	for _, r := range records {
		if sessionOf(r) == session && !r.Stage.Calibrates() && holds(w.instr, w.side, r) {
			return Step{}, false
		}
	}
	rate, err := w.warmUpRate(open.size)
	if err != nil {
		return Step{}, false
	}
	return Step{
		Path: PathChain, Stage: measure.StageWarmUp, Load: loadResumed, Repeat: open.repeat,
		Trial: w.trial(open.size, rate, warmUpNanoseconds(w.instr)), Why: "a new session begins",
	}, true
}

// maxSessions is the API's bound of the list.
const maxSessions = 32

// sessionsOf returns the sessions in their order, and what they mean for the figures.
func sessionsOf(instr measure.Instructions, records []measure.Record, sides []*replay, found severed) ([]v1alpha1.Session, v1alpha1.Warning) {
	var list []v1alpha1.Session
	at := map[int]int{}
	calibrated := 0
	for _, r := range records {
		if n := len(list); n == 0 || list[n-1].Measurer != sessionOf(r) {
			list = append(list, v1alpha1.Session{Measurer: sessionOf(r)})
			if started := r.Outcome.StartedAt; !started.IsZero() {
				list[n].StartedAt = new(metav1.NewTime(started.UTC().Truncate(time.Second)))
			}
		}
		last := len(list) - 1
		at[r.Index] = last
		list[last].Trials++
		// The last calibration is a figure of the session that makes it.
		if r.Stage.Calibrates() && !r.Stage.AfterChain() {
			calibrated = last
		}
	}
	if len(list) < 2 {
		return nil, v1alpha1.Warning{}
	}
	again := map[int]bool{}
	for _, r := range found.dropped {
		again[r.Index] = true
	}
	for index := range again {
		list[at[index]].DiscardedTrials++
	}
	soaks := slices.Compact(slices.Sorted(slices.Values(found.soaks)))
	message := fmt.Sprintf("The measurement was made in %d sessions; %d trials of what was under way when one ended were made again and do not count.", len(list), len(again))
	if instr.Calibration != nil && calibrated < len(list)-1 {
		of := "calibration"
		if instr.DelayCalibrationTrials > 0 {
			of = "calibrated rate"
		}
		message += fmt.Sprintf(" The %s, and with it the highest load, is that of an earlier session.", of)
	}
	if instr.DelayCalibrationTrials > 0 {
		message += sides[0].delaysOfSessions(list)
	}
	if len(soaks) > 0 {
		message += fmt.Sprintf(" The soak of %s has intervals of several sessions.", words(soaks))
	}
	bursts, shares := laterSessions(sides)
	if len(shares) > 0 {
		message += fmt.Sprintf(" Loads are shares of a throughput of an earlier session: %s.", words(shares))
	}
	if len(bursts) > 0 {
		message += fmt.Sprintf(" There is no corrected buffer of %s, as the throughput is of an earlier session.", words(bursts))
	}
	warning := v1alpha1.Warning{Code: v1alpha1.WarningSeveralSessions, Message: excerpt.Text(message, v1alpha1.MaxWarningBytes)}
	return list[:min(len(list), maxSessions)], warning
}

// laterSessions returns what rests on a throughput of an earlier session: the sizes of bursts, and the measurements
// whose load is a share of it.
func laterSessions(sides []*replay) (bursts, shares []string) {
	for _, w := range sides {
		for _, p := range w.parts {
			switch {
			case p.stage().Calibrates() || !w.ofLaterSession(p):
			case p.measurement == backToBackMeasurement:
				bursts = append(bursts, p.size.String())
			case p.load.Goal != "":
				shares = append(shares, fmt.Sprintf("%s of %s", p.stage(), p.size))
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(bursts))), slices.Compact(slices.Sorted(slices.Values(shares)))
}

// ofLaterSession reports whether a part began after the session that found its size's throughput.
func (w *replay) ofLaterSession(p *part) bool {
	throughput := w.findRepeat(measure.StageThroughput, p.size, p.repeat)
	return throughput != nil && len(throughput.counted) > 0 && len(p.counted) > 0 &&
		sessionOf(*throughput.last()) != sessionOf(p.counted[0])
}
