package search

import (
	"math"
	"slices"
	"time"
)

// repeated chooses loads for targets that several trials decide. Deciding a load costs many trials,
// so no load is decided without need: single trials look for a narrow bracket first, with each
// load classified by most of its time; then the two ends are confirmed. A wrong estimate shows
// after few trials and moves the bracket at a small cost. Estimates only choose loads: bounds and
// results are RFC 9971's.
func (s *state) repeated(t target, known bounds, guess bracket) candidate {
	est := s.estimate(t, known)
	want := candidate{duration: t.trial, sum: t.sum}
	switch _, undecided := est.evidence[est.lower]; {
	case est.inverted():
		want.load = est.contested(t, s.trials[est.uppers[0]])
		want.why = "try again what contradicts trials at another load"
	case s.settled(t, est.bounds):
		want.load = est.next(t, est.lower, est.upper)
		want.why = "confirm the ends of the bracket"
	case undecided && s.slowing(t) >= maxSlowing:
		want.load, want.why = est.lower, "confirm the lower bound at once, because loads turn bad with time"
	default:
		// One trial: the cheapest goal goes first.
		want.sum = t.trial
		want.load, want.why = s.choose(t, est.bounds, s.near(t, est.bounds, guess))
		want.load = s.aligned(est.bounds, want.load, t.width)
	}
	want.rest = t.rest(s.trials[want.load])
	return want
}

// rest returns how much longer the next trial at a load is than a full-length one: by the time
// that would be missing after it, where that is less than a trial. So the time that decides a
// load is spent to the millisecond, not to the trial. Where trials disagree, each counts the
// same.
func (t target) rest(trials []Trial) time.Duration {
	rest := t.missing(trials) - t.trial
	if rest < 0 || rest >= t.trial || t.sum < minTrials*t.trial || !t.unanimous(trials) {
		return 0
	}
	return rest
}

// unanimous reports whether all trials are of the same kind.
func (t target) unanimous(trials []Trial) bool {
	return !slices.ContainsFunc(trials, func(trial Trial) bool { return t.highLoss(trial) != t.highLoss(trials[0]) })
}

// missing returns how much more time would decide a load, in whole milliseconds, if it is of the
// kind that most trials at the load were. An upper bound needs more than its share of the time. A
// lower bound gets that too, because a load may be the lower bound of one goal and the upper
// bound of another.
func (t target) missing(trials []Trial) time.Duration {
	missing := t.short(trials)
	if t.exceedRatio > 0 {
		return missing.Truncate(time.Millisecond) + time.Millisecond
	}
	return (missing + time.Millisecond - 1).Truncate(time.Millisecond)
}

// short returns the same time to the nanosecond, where a share that is just met is enough.
func (t target) short(trials []Trial) time.Duration {
	var low, high time.Duration
	for _, trial := range trials {
		switch {
		case t.highLoss(trial):
			high += trial.effective()
		case t.fullLength(trial):
			low += trial.effective()
		}
	}
	e := t.exceedRatio
	if t.evidence(trials).excess > 0 {
		return time.Duration(max(float64(t.sum)*e, float64(low)*e/(1-e))) - high
	}
	need := float64(t.sum) * (1 - e)
	if e > 0 {
		need = max(need, float64(high)*(1-e)/e)
	}
	return time.Duration(need) - low
}

// estimate is what a history suggests about one target, decided or not.
type estimate struct {
	bounds
	// evidence holds undecided loads only.
	evidence map[uint64]evidence
}

// evidence is the time spent at a load, and how much of it exceeds the time that may be
// high-loss; below 0 where that was not used up.
type evidence struct{ spent, excess time.Duration }

// estimate classifies each undecided load between the bounds by most of its time. Where the result
// is inverted, only those loads are listed.
func (s *state) estimate(t target, known bounds) estimate {
	est := estimate{evidence: map[uint64]evidence{}}
	for _, load := range s.loads {
		if load <= known.lower || known.upper > 0 && load >= known.upper {
			continue
		}
		e := t.evidence(s.trials[load])
		est.evidence[load] = e
		if e.excess > 0 {
			est.uppers = append(est.uppers, load)
		} else {
			est.lowers = append(est.lowers, load)
		}
	}
	est.lower, est.upper = known.lower, known.upper
	if len(est.uppers) > 0 {
		est.upper = est.uppers[0]
	}
	if len(est.lowers) > 0 {
		est.lower = est.lowers[len(est.lowers)-1]
	}
	if !est.inverted() {
		est.lowers = slices.Concat(known.lowers, est.lowers)
		est.uppers = slices.Concat(est.uppers, known.uppers)
	}
	return est
}

// contested returns the load to try where estimates contradict each other: of the lowest upper and
// the highest lower end, the one that was tried less. It returns the lowest upper end,
// whose trials are given, where deciding that takes no longer than reversing every lower end
// above it. Once decided, it overrules them all.
func (est estimate) contested(t target, trials []Trial) uint64 {
	lowest := est.uppers[0]
	var turning time.Duration
	for _, load := range est.lowers {
		if load > lowest {
			turning += t.trial - est.evidence[load].excess
		}
	}
	if t.missing(trials) < turning {
		return lowest
	}
	return est.next(t, lowest, est.lowers[len(est.lowers)-1])
}

func (t target) evidence(trials []Trial) evidence {
	var e evidence
	var high time.Duration
	for _, trial := range trials {
		e.spent += trial.effective()
		if t.highLoss(trial) {
			high += trial.effective()
		}
	}
	e.excess = high - time.Duration(float64(e.spent)*t.exceedRatio)
	return e
}

const (
	// provenTrials high-loss trials beyond the share allowed make an upper end likely enough to
	// spend the time that its lower end needs.
	provenTrials = 1
	// maxAhead is how many trials the upper end may be ahead of the lower end for that.
	maxAhead = 3
)

// next returns which of two loads to try: the upper end until it is likely to be one, because a
// bracket that has to move up makes the lower end's trials worthless; then the lower end, because
// a bound found there overrules what is above it (RFC 9971, "it is better to measure at smaller
// Loads first"). One of them is undecided.
func (est estimate) next(t target, low, high uint64) uint64 {
	if low > high {
		low, high = high, low
	}
	below, lowOpen := est.evidence[low]
	above, highOpen := est.evidence[high]
	switch {
	case !lowOpen:
		return high
	case highOpen && above.excess < provenTrials*t.trial && above.spent <= below.spent+maxAhead*t.trial:
		return high
	}
	return low
}

const (
	// minTrials is how many trials the duration sum must have for one of them to be longer than
	// the others; among fewer it would have too much weight.
	minTrials = 15
	// margin is how far below the expected limit the lower end of a bracket is, in widths. In the
	// middle noise would reverse neither end; a higher end has less bias.
	margin = 0.33
	// trust is how many loads with too much loss leave the extrapolation credible; after that
	// steps double, or grow fourfold where loads lose the more, the lower they are.
	trust = 3
	// rising is how many loads have to lose the more, the lower they are, to be more than noise. The highest load
	// is none of them.
	rising = 4
	// maxSlowing is how many loads may turn bad with time and count as noise.
	maxSlowing = 3
	// alignWithin is the distance, in widths, within which loads are aligned with a tried load.
	alignWithin = 3
)

// near returns the expected bracket: around the load where the loss measured so far would be what
// the goal allows.
func (s *state) near(t target, known bounds, guess bracket) bracket {
	limit, rises := s.extrapolated(t), s.lossRises(t, known.uppers)
	if limit == 0 && rises {
		limit = s.cfg.MinimumFramesPerSecond
	}
	if limit > 0 {
		low := down(limit, t.width, margin)
		if s.ceiling(limit) {
			low = limit
		}
		if bad := len(known.uppers); known.lower == 0 && bad > trust {
			steps := bad - trust
			if rises {
				steps *= 2
			}
			low = min(low, down(known.upper, t.width, doubled(steps)))
		}
		guess = bracket{low: low}
	}
	want := s.expected(t, guess)
	switch half := t.width / 2; {
	case known.lower > 0 && want.low > known.lower && narrow(known.lower, want.low, half):
		want.low = known.lower
		want.high = min(up(want.low, t.width, 1), s.cfg.MaximumFramesPerSecond)
	case known.upper > 0 && want.high < known.upper && narrow(want.high, known.upper, half):
		want.high = known.upper
		want.low = down(want.high, t.width, 1)
	}
	return want
}

// lossRises reports whether the lowest loads with too much loss lost the more, the lower they are. The limit of
// such a device is not near them, and mostly there is none.
func (s *state) lossRises(t target, uppers []uint64) bool {
	if len(uppers) <= rising {
		return false
	}
	above := 0.0
	for i := rising - 1; i >= 0; i-- {
		p, sent := s.meanLoss(t, uppers[i])
		if !sent || p.loss <= above {
			return false
		}
		above = p.loss
	}
	return true
}

// aligned moves a load near one that was tried to a whole number of widths from it, so that
// brackets are one width wide: the ends of a narrower one are harder to distinguish.
func (s *state) aligned(known bounds, load uint64, width float64) uint64 {
	best, distance := uint64(0), math.Inf(1)
	for _, tried := range s.loads {
		if d := math.Abs(math.Log(float64(tried)/float64(load))) / decrement(width); d < distance {
			best, distance = tried, d
		}
	}
	if distance > alignWithin {
		return load
	}
	if whole := max(1, math.Round(distance)); best > load {
		load = down(best, width, whole)
	} else {
		load = up(best, width, whole)
	}
	return s.within(known, load)
}

// slowing returns how many loads held the goal at first and later did not: the device slows down,
// unless it is noise.
func (s *state) slowing(t target) int {
	count := 0
	for _, trials := range s.trials {
		turned := slices.IndexFunc(trials, t.highLoss)
		if turned > 0 && len(trials)-turned > 1 && !slices.ContainsFunc(trials[turned:], func(trial Trial) bool { return !t.highLoss(trial) }) {
			count++
		}
	}
	return count
}
