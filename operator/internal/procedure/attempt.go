package procedure

import (
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// attempt is an overload with the trials after it.
type attempt struct {
	overload measure.Record
	trials   []measure.Record
}

// attemptsOf returns the attempts in the records, the last of which counts.
func attemptsOf(records []measure.Record) []attempt {
	var out []attempt
	for _, r := range records {
		if r.Stage == stageOverload || len(out) == 0 {
			out = append(out, attempt{overload: r})
			continue
		}
		last := &out[len(out)-1]
		last.trials = append(last.trials, r)
	}
	return out
}

// ended returns when the last frame of a trial was due.
func ended(r measure.Record) time.Time {
	return r.Outcome.StartedAt.Add(time.Duration(r.Outcome.SendingNanoseconds))
}

// interrupted reports whether the device had too long a rest between two trials, or the clock
// was set back. It has no rest while frames leave the generator's ring.
func (a attempt) interrupted() bool {
	before := a.overload
	for _, r := range a.trials {
		gap := r.Outcome.StartedAt.Sub(ended(before)) - before.Outcome.Drain()
		if gap < 0 || gap > maxRecoveryGap {
			return true
		}
		before = r
	}
	return false
}

// row returns how many trials at the end lost nothing. One that the generator doubts, or did not
// send in full, shows nothing, and ends a row. So does one in which frames of the trial before may
// have counted as received.
func (a attempt) row() int {
	n := 0
	for i, r := range slices.Backward(a.trials) {
		before := a.overload
		if i > 0 {
			before = a.trials[i-1]
		}
		if doubted(r) || hasDoubt(before, measure.DoubtStillArriving) || fellShort(r) || r.Outcome.LossRatio() > 0 {
			break
		}
		n++
	}
	return n
}

// hasDoubt reports whether the generator has a doubt about a trial.
func hasDoubt(r measure.Record, code string) bool {
	return slices.ContainsFunc(r.Outcome.Doubts, func(d measure.Doubt) bool { return d.Code == code })
}

// lossy reports whether the device lost frames of a trial that was sent in full.
func lossy(r measure.Record) bool { return !doubted(r) && !fellShort(r) && r.Outcome.LossRatio() > 0 }

// doubted reports whether a trial shows nothing of the device.
func doubted(r measure.Record) bool { return invalidReason(r) != "" || interrupted(r) }

// overloaded reports whether frames of an overload were lost, or not carried in its time, that was
// sent in full, or at least faster than the throughput.
func (a attempt) overloaded(throughput float64) bool {
	o := a.overload.Outcome
	return o.LossOverTime() > 0 && (!fellShort(a.overload) || o.OfferedFramesPerSecond() > throughput)
}

// recoveryRule is what decides how an attempt ends.
type recoveryRule struct {
	*v1alpha1.Recovery
	// row is how many trials have to lose nothing.
	row int
	// throughput is that of the goal, in frames per second.
	throughput float64
}

func (w *replay) recoveryRule(p *part) recoveryRule {
	return recoveryRule{w.instr.Recovery, w.rowOf(p), float64(w.latencyRate(p)) * 100 / overloadPercent}
}

// end returns how the measurement of an attempt has ended, and "" before it has.
func (a attempt) end(r recoveryRule) v1alpha1.RecoveryEnd {
	switch {
	case fellShort(a.overload) && !a.overloaded(r.throughput):
		return v1alpha1.RecoveryGeneratorCeiling
	case a.overload.Outcome.LossOverTime() == 0:
		return v1alpha1.RecoveryNotOverloaded
	case a.interrupted():
		return v1alpha1.RecoveryInterrupted
	case a.row() >= r.row:
		return v1alpha1.RecoveryRecovered
	case len(a.trials) < int(r.MaximumTrials):
		return ""
	case a.row() >= int(r.CleanTrials):
		return v1alpha1.RecoveryTooFewFrames
	case slices.ContainsFunc(a.trials[len(a.trials)-int(r.CleanTrials):], lossy):
		return v1alpha1.RecoveryNotRecovered
	}
	// The device has lost nothing for as many trials, but the generator has not sent all of them.
	return v1alpha1.RecoveryGeneratorCeiling
}
