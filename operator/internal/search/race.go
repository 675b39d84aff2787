package search

import (
	"math"
	"slices"
	"time"
)

// race is for targets that several trials decide. Deciding a load costs many
// trials, so none is decided that is not needed: single trials look for a
// narrow bracket first, each load taken for what most of its time says; then its
// two ends are confirmed. A wrong belief shows after few trials and moves the
// bracket before much was spent on it. Beliefs choose loads only: bounds and
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
		// One trial: what is cheap goes first among the goals.
		want.sum = t.trial
		want.load, want.why = s.choose(t, b.standing, s.near(t, b.standing, guess))
		want.load = s.aligned(b.standing, want.load, t.width)
	}
	want.rest = t.rest(s.trials[want.load])
	return want
}

// rest is by how much the next trial at a load is longer than a full-length one:
// by what would be missing after it, where that is less than a trial. So the time
// that decides a load is spent to the millisecond, and not to the trial. Where
// trials disagree, each counts the same.
func (t target) rest(trials []Trial) time.Duration {
	rest := t.missing(trials) - t.trial
	if rest < 0 || rest >= t.trial || t.sum < leastTrials*t.trial || !t.unanimous(trials) {
		return 0
	}
	return rest
}

// unanimous says that all trials are of the same kind.
func (t target) unanimous(trials []Trial) bool {
	return !slices.ContainsFunc(trials, func(trial Trial) bool { return t.highLoss(trial) != t.highLoss(trials[0]) })
}

// missing is how much more time of the kind that most trials at a load were of
// would decide it, in whole milliseconds. An upper bound needs more than its
// share of the time; a lower bound gets that too, because a load may be the one
// of one goal and the other of another.
func (t target) missing(trials []Trial) time.Duration {
	missing := t.short(trials)
	if t.exceedRatio > 0 {
		return missing.Truncate(time.Millisecond) + time.Millisecond
	}
	return (missing + time.Millisecond - 1).Truncate(time.Millisecond)
}

// short is missing to the nanosecond, where a share that is just met will do.
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
	// evidence is there for undecided loads alone.
	evidence map[uint64]evidence
}

// evidence is the time spent at a load, and how much of it was beyond the time
// that may be high-loss; below 0 where that was not used up.
type evidence struct{ spent, excess time.Duration }

// beliefs takes each undecided load between the bounds for what most of its
// time says. Where that is inverted, only those loads are listed.
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

// contested is the load to try where beliefs contradict each other: of the lowest
// upper and the highest lower end the one that was tried less; but the lowest
// upper end, whose trials are given, where deciding it takes no longer than
// turning every lower end above it. Decided, it overrules them all.
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
	// provenTrials high-loss trials beyond the share allowed make an upper end
	// likely enough to spend the time that its lower end needs.
	provenTrials = 1
	// mostAhead is how many trials the upper end may be ahead for that.
	mostAhead = 3
)

// next is which of two loads to try: the upper end until it is likely to be one,
// because a bracket that has to move up makes the lower end's trials worthless;
// then the lower end, because a bound found there overrules what is above it
// (RFC 9971, "it is better to measure at smaller Loads first"). One of them is undecided.
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
	// leastTrials is how many trials the duration sum must have for one of them to
	// be longer than the others; among fewer it would weigh too much.
	leastTrials = 15
	// margin is how far below the expected limit the lower end of a bracket is
	// placed, in widths. In the middle noise would turn neither end; higher costs less bias.
	margin = 0.33
	// trust is how many loads with too much loss leave the extrapolation
	// believed; after that steps double.
	trust = 3
	// mostSlowing is how many loads that turn bad with time are blamed on noise.
	mostSlowing = 3
	// alignWithin is how near a tried load is, in widths, for others to be aligned with it.
	alignWithin = 3
)

// near is the bracket to expect: around the load where the loss measured so far
// would be what the goal allows.
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

// aligned moves a load near one that was tried to a whole number of widths from
// it, so that brackets come out one width wide: the ends of a narrower one are
// harder to tell apart.
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

// slowing is how many loads held the goal at first and then no more: a device
// that slows down, if it is not noise.
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
