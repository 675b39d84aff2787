package search

import (
	"cmp"
	"slices"
	"time"
)

// Class is the classification of a load for one goal, by the trials at the load.
type Class string

const (
	// Undecided loads need more trials.
	Undecided Class = "Undecided"
	// LowerBound loads hold the goal, whatever further trials up to the duration sum would find.
	LowerBound Class = "LowerBound"
	// UpperBound loads miss the goal, whatever further trials up to the duration sum would find.
	UpperBound Class = "UpperBound"
)

// target is what loads are classified against: a goal, or a coarser target that precedes it.
type target struct {
	lossRatio   float64
	exceedRatio float64
	width       float64
	trial       time.Duration
	sum         time.Duration
	unsent      float64
}

// highLoss reports whether a trial is RFC 9971's high-loss trial. Frames that the generator could
// not send count beyond the tolerance ("RECOMMENDED to turn any severe deviation between the
// Intended Load and the Offered Load into the increased Trial Loss Ratio").
func (t target) highLoss(trial Trial) bool {
	return trial.LossRatio > t.lossRatio || trial.UnsentRatio > t.unsent
}

func (t target) fullLength(trial Trial) bool { return trial.Duration >= t.trial }

// halfNanosecond absorbs the rounding of a ratio times a duration: durations
// are whole nanoseconds, so nothing real is smaller.
const halfNanosecond = 0.5

// classify implements RFC 9971's appendix "Load Classification Code". The trials are those of one
// load.
func (t target) classify(trials []Trial) Class {
	var fullLow, fullHigh, shortLow, shortHigh float64
	for _, trial := range trials {
		duration := float64(trial.effective())
		switch high, full := t.highLoss(trial), t.fullLength(trial); {
		case full && high:
			fullHigh += duration
		case full:
			fullLow += duration
		case high:
			shortHigh += duration
		default:
			shortLow += duration
		}
	}
	balancing := shortLow * t.exceedRatio / (1 - t.exceedRatio)
	high := fullHigh + max(0, shortHigh-balancing)
	whole := max(high+fullLow, float64(t.sum))
	quantile := whole*t.exceedRatio + halfNanosecond
	optimistic, pessimistic := high <= quantile, whole-fullLow <= quantile
	switch {
	case optimistic && pessimistic:
		return LowerBound
	case !optimistic && !pessimistic:
		return UpperBound
	}
	return Undecided
}

// conditionalThroughput implements RFC 9971's appendix "Conditional Throughput Code". The trials
// are those of one load, at least one.
func (t target) conditionalThroughput(trials []Trial) float64 {
	full, taken := t.taken(trials)
	loss := 1.0
	if taken > 0 {
		loss = full[taken-1].undelivered()
	}
	return float64(trials[0].LoadFramesPerSecond) * (1 - loss)
}

// taken sorts a load's full-length trials by what they did not deliver, and returns how many of
// them the conditional throughput takes; 0 where there are too few.
func (t target) taken(trials []Trial) (full []Trial, taken int) {
	full = slices.DeleteFunc(slices.Clone(trials), func(trial Trial) bool { return !t.fullLength(trial) })
	slices.SortStableFunc(full, func(a, b Trial) int { return cmp.Compare(a.undelivered(), b.undelivered()) })
	remaining := float64(max(t.sum, timeOf(full))) * (1 - t.exceedRatio)
	for i, trial := range full {
		if remaining <= halfNanosecond {
			return full, i
		}
		remaining -= float64(trial.effective())
	}
	if remaining > halfNanosecond {
		return full, 0
	}
	return full, len(full)
}

func timeOf(trials []Trial) (total time.Duration) {
	for _, trial := range trials {
		total += trial.effective()
	}
	return total
}

// outlier is how much worse than the next trial an outlier is, in widths.
const outlier = 0.05

// outlying reports whether an outlier determines the conditional throughput of a lower bound. With
// only just enough trials to decide a load, the figure is the worst of them; one more trial changes
// that. It is asked for only where it is one of many.
func (t target) outlying(trials []Trial) bool {
	full, taken := t.taken(trials)
	if t.sum < minTrials*t.trial || taken < 2 || taken < len(full) || timeOf(full)+t.trial > t.sum {
		return false
	}
	worst, next := full[taken-1].undelivered(), full[taken-2].undelivered()
	return worst-next > outlier*t.width
}
