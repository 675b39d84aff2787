package search

import (
	"math"
	"slices"
	"time"
)

// race chooses loads for targets that several trials decide. Deciding a load costs many trials,
// so no load is decided without need: single trials look for a narrow bracket first, with each
// load classified by most of its time; then the two ends are confirmed. A wrong belief shows
// after few trials and moves the bracket at a small cost. Beliefs only choose loads: bounds and
// results are RFC 9971's.
func (s *state) race(t target, st standing, guess bracket) candidate {
	b := s.beliefs(t, st)
	want := candidate{duration: t.trial, sum: t.sum}
	switch _, undecided := b.evidence[b.lower]; {
	case b.inverted():
		want.load = b.contested(t, s.trials[b.uppers[0]])
		want.why = "try again what contradicts trials at another load"
	case s.settled(t, b.standing):
		want.load = b.next(t, b.lower, b.upper)
		want.why = "confirm the ends of the bracket"
	case undecided && s.slowing(t) >= mostSlowing:
		want.load, want.why = b.lower, "confirm the lower bound at once, because loads turn bad with time"
	default:
		// One trial: the cheapest goal goes first.
		want.sum = t.trial
		want.load, want.why = s.choose(t, b.standing, s.near(t, b.standing, guess))
		want.load = s.aligned(b.standing, want.load, t.width)
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
	if rest < 0 || rest >= t.trial || t.sum < leastTrials*t.trial || !t.unanimous(trials) {
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

// belief is what a history suggests about one target, decided or not.
type belief struct {
	standing
	// evidence holds undecided loads only.
	evidence map[uint64]evidence
}

// evidence is the time spent at a load, and how much of it exceeds the time that may be
// high-loss; below 0 where that was not used up.
type evidence struct{ spent, excess time.Duration }

// beliefs classifies each undecided load between the bounds by most of its time. Where the result
// is inverted, only those loads are listed.
func (s *state) beliefs(t target, st standing) belief {
	b := belief{evidence: map[uint64]evidence{}}
	for _, load := range s.loads {
		if load <= st.lower || st.upper > 0 && load >= st.upper {
			continue
		}
		e := t.evidence(s.trials[load])
		b.evidence[load] = e
		if e.excess > 0 {
			b.uppers = append(b.uppers, load)
		} else {
			b.lowers = append(b.lowers, load)
		}
	}
	b.lower, b.upper = st.lower, st.upper
	if len(b.uppers) > 0 {
		b.upper = b.uppers[0]
	}
	if len(b.lowers) > 0 {
		b.lower = b.lowers[len(b.lowers)-1]
	}
	if !b.inverted() {
		b.lowers = slices.Concat(st.lowers, b.lowers)
		b.uppers = slices.Concat(b.uppers, st.uppers)
	}
	return b
}

// contested returns the load to try where beliefs contradict each other: of the lowest upper and
// the highest lower end, the one that was tried less. It returns the lowest upper end,
// whose trials are given, where deciding that takes no longer than reversing every lower end
// above it. Once decided, it overrules them all.
func (b belief) contested(t target, trials []Trial) uint64 {
	lowest := b.uppers[0]
	var turning time.Duration
	for _, load := range b.lowers {
		if load > lowest {
			turning += t.trial - b.evidence[load].excess
		}
	}
	if t.missing(trials) < turning {
		return lowest
	}
	return b.next(t, lowest, b.lowers[len(b.lowers)-1])
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
	// mostAhead is how many trials the upper end may be ahead of the lower end for that.
	mostAhead = 3
)

// next returns which of two loads to try: the upper end until it is likely to be one, because a
// bracket that has to move up makes the lower end's trials worthless; then the lower end, because
// a bound found there overrules what is above it (RFC 9971, "it is better to measure at smaller
// Loads first"). One of them is undecided.
func (b belief) next(t target, low, high uint64) uint64 {
	if low > high {
		low, high = high, low
	}
	below, lowOpen := b.evidence[low]
	above, highOpen := b.evidence[high]
	switch {
	case !lowOpen:
		return high
	case highOpen && above.excess < provenTrials*t.trial && above.spent <= below.spent+mostAhead*t.trial:
		return high
	}
	return low
}

const (
	// leastTrials is how many trials the duration sum must have for one of them to be longer than
	// the others; among fewer it would have too much weight.
	leastTrials = 15
	// margin is how far below the expected limit the lower end of a bracket is, in widths. In the
	// middle noise would reverse neither end; a higher end has less bias.
	margin = 0.33
	// trust is how many loads with too much loss leave the extrapolation credible; after that
	// steps double.
	trust = 3
	// mostSlowing is how many loads may turn bad with time and count as noise.
	mostSlowing = 3
	// alignWithin is the distance, in widths, within which loads are aligned with a tried load.
	alignWithin = 3
)

// near returns the expected bracket: around the load where the loss measured so far would be what
// the goal allows.
func (s *state) near(t target, st standing, guess bracket) bracket {
	if limit := s.extrapolated(t); limit > 0 {
		low := down(limit, t.width, margin)
		if s.ceiling(limit) {
			low = limit
		}
		if bad := len(st.uppers); st.lower == 0 && bad > trust {
			low = min(low, down(st.upper, t.width, doubled(bad-trust)))
		}
		guess = bracket{low: low}
	}
	want := s.expected(t, guess)
	switch half := t.width / 2; {
	case st.lower > 0 && want.low > st.lower && narrow(st.lower, want.low, half):
		want.low = st.lower
		want.high = min(up(want.low, t.width, 1), s.cfg.MaximumFramesPerSecond)
	case st.upper > 0 && want.high < st.upper && narrow(want.high, st.upper, half):
		want.high = st.upper
		want.low = down(want.high, t.width, 1)
	}
	return want
}

// aligned moves a load near one that was tried to a whole number of widths from it, so that
// brackets are one width wide: the ends of a narrower one are harder to distinguish.
func (s *state) aligned(st standing, load uint64, width float64) uint64 {
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
	return s.within(st, load)
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
