package procedure

import (
	"slices"
	"time"

	"vnfbench.io/operator/internal/measure"
)

const (
	// maxGap is the longest time without frames from one trial to the next: in a longer one, as when a
	// measurer is replaced, the device recovers unseen.
	maxGap = 5 * time.Second
	// maxNeutral is how many trials after an overload neither count nor end a row because a stall cut
	// them short.
	maxNeutral = minAgain
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
		if gap < 0 || gap > maxGap {
			return true
		}
		before = r
	}
	return false
}

// isNeutral returns for each trial whether it is left out: a stall cut it short, and what was sent of it
// shows neither loss nor a doubt. There are at most maxNeutral.
func (a attempt) isNeutral() []bool {
	out, n := make([]bool, len(a.trials)), 0
	for i, r := range a.trials {
		if n < maxNeutral && stalled(r) && invalidReason(r) == "" && lossExcuse(r) == "" && r.Outcome.LossRatio() == 0 {
			out[i], n = true, n+1
		}
	}
	return out
}

// counted returns the trials that are not neutral, neutral the others.
func (a attempt) counted() []measure.Record { return a.trialsThatAre(false) }
func (a attempt) neutral() []measure.Record { return a.trialsThatAre(true) }

func (a attempt) trialsThatAre(neutral bool) []measure.Record {
	var out []measure.Record
	for i, is := range a.isNeutral() {
		if is == neutral {
			out = append(out, a.trials[i])
		}
	}
	return out
}

// row returns the trials at the end that lost nothing, without the neutral ones. One that the generator
// doubts, or did not send in full, shows nothing, and ends a row. So does one in which frames of the
// trial before may have counted as received.
func (a attempt) row() []measure.Record {
	var row []measure.Record
	neutral := a.isNeutral()
	for i, r := range slices.Backward(a.trials) {
		before := a.overload
		if i > 0 {
			before = a.trials[i-1]
		}
		if neutral[i] {
			continue
		}
		if doubted(r) || hasDoubt(before, measure.DoubtStillArriving) || fellShort(r) || r.Outcome.LossRatio() > 0 {
			break
		}
		row = append(row, r)
	}
	slices.Reverse(row)
	return row
}

// lossy reports whether the device lost frames of a trial that was sent in full, or of one that would
// have been sent in full without a stall: a stall excuses no loss.
func lossy(r measure.Record) bool {
	return invalidReason(r) == "" && lossExcuse(r) == "" && (!fellShort(r) || stalled(r)) && r.Outcome.LossRatio() > 0
}

// doubted reports whether a trial shows nothing of the device.
func doubted(r measure.Record) bool { return invalidReason(r) != "" || interrupted(r) }
