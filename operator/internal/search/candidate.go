package search

import (
	"fmt"
	"math"
	"time"
)

// candidate is a trial that a goal asks for.
type candidate struct {
	load     uint64
	duration time.Duration
	// rest is added to the duration and does not affect which goal goes first.
	rest time.Duration
	sum  time.Duration
	goal string
	why  string
	// optional trials make a goal's figure steadier, but the goal does not need them. They come
	// last of all, as the other goals' trials may use the same load.
	optional bool
}

// bestTrial returns the trial that serves a goal best, and false when the goal is settled.
func (s *state) bestTrial(chain []target) (candidate, bool) {
	final := chain[len(chain)-1]
	if known := s.bounds(final); s.settled(final, known) {
		return s.settle(final, known)
	}
	start, guess := s.start(chain)
	for i := start; i < len(chain); i++ {
		t := chain[i]
		known := s.bounds(t)
		if i < len(chain)-1 && s.settled(t, known) {
			guess = bracket{low: known.lower, high: known.upper}
			continue
		}
		if i == len(chain)-1 && t.sum > t.trial {
			return s.repeated(t, known, guess), true
		}
		want := candidate{duration: t.trial, sum: t.sum}
		want.load, want.why = s.choose(t, known, s.expected(t, guess))
		want.load = s.nearest(known, want.load, t.width)
		return want, true
	}
	return candidate{}, false
}

// settle asks for what a goal's bounds lack when both exist: a lower bound that still holds, and
// a figure that does not depend on one trial.
func (s *state) settle(t target, known bounds) (candidate, bool) {
	want := candidate{load: known.lower, duration: t.trial, sum: t.sum}
	switch {
	case !s.confirmed(t, known):
		want.why = "confirm the lower bound again"
		return want, true
	case known.lower > 0 && t.outlying(s.trials[known.lower]):
		want.optional = true
		want.why = "try the lower bound again, because one trial that is worse than the others makes its figure"
		return want, true
	}
	return candidate{}, false
}

// start returns the target to begin with. This is the coarsest, with the maximum receive rate as
// the guess, unless a target with longer trials has proved one with shorter trials wrong. From
// there the longer target steps without it: where short trials mislead, asking them again would
// make slow progress.
func (s *state) start(chain []target) (int, bracket) {
	for i := len(chain) - 1; i > 0; i-- {
		for _, coarse := range chain[:i] {
			if coarse.trial == chain[i].trial {
				continue
			}
			if wrong, found := s.overruled(coarse, chain[i]); found {
				return i, wrong
			}
		}
	}
	return 0, s.receiveRate(chain[0])
}

// overruled finds the largest load that the coarse target first classified as a lower bound and
// the fine target knows to be an upper bound. If there is none, it finds the smallest load of the
// opposite case.
func (s *state) overruled(coarse, fine target) (bracket, bool) {
	var wrong bracket
	for _, load := range s.loads {
		switch was, is := coarse.first(s.trials[load]), fine.classify(s.trials[load]); {
		case was == LowerBound && is == UpperBound:
			wrong.low = load
		case was == UpperBound && is == LowerBound && wrong.high == 0:
			wrong.high = load
		}
	}
	if wrong.low > 0 {
		wrong.high = 0
	}
	return wrong, wrong != bracket{}
}

// first returns the class of a load after the earliest trials that decided it.
func (t target) first(trials []Trial) Class {
	for i := range trials {
		if class := t.classify(trials[:i+1]); class != Undecided {
			return class
		}
	}
	return Undecided
}

// bracket is the expected range of the answer, before it is confirmed; 0 is a side without a
// guess.
type bracket struct{ low, high uint64 }

// receiveRate starts from the maximum receive rate: the forwarding rate at the
// maximum load, raised by the loss that the goal allows. Before that trial it is the maximum load.
func (s *state) receiveRate(t target) bracket {
	top := s.trials[s.cfg.MaximumFramesPerSecond]
	if len(top) == 0 || !t.highLoss(top[0]) {
		return bracket{low: s.cfg.MaximumFramesPerSecond}
	}
	rate := t.raised(top[0].forwarding())
	return bracket{low: s.nearest(bounds{}, rate, t.width)}
}

// expected completes a guess within the limits: one width where one side is missing.
func (s *state) expected(t target, guess bracket) bracket {
	low, high := guess.low, guess.high
	if low == 0 && high > 0 {
		low = down(high, t.width, 1)
	}
	low = min(max(low, s.cfg.MinimumFramesPerSecond), s.cfg.MaximumFramesPerSecond)
	if high <= low {
		high = max(up(low, t.width, 1), low+1)
	}
	return bracket{low: low, high: min(high, s.cfg.MaximumFramesPerSecond)}
}

// choose returns the load that narrows the target's bracket most.
func (s *state) choose(t target, known bounds, want bracket) (uint64, string) {
	switch {
	case len(s.history) == 0:
		return s.cfg.MaximumFramesPerSecond, "start at the maximum load for the maximum receive rate"
	case known.upper > 0 && known.upper <= want.low:
		return s.descend(t, known, want)
	case known.lower > 0 && known.lower >= want.high:
		return s.climb(t, known, want)
	}
	low, high := known.lower, known.upper
	if want.low > low {
		low = want.low
	}
	if want.high > low && (high == 0 || want.high < high) {
		high = want.high
	}
	switch {
	case high > 0 && !narrow(low, high, t.width):
		return s.within(known, middle(low, high, t.width)), fmt.Sprintf("halve between %d and %d frames/s", low, high)
	case low != known.lower:
		return s.within(known, low), "confirm the expected lower bound"
	}
	return s.within(known, high), "confirm the expected upper bound"
}

// descend goes below an upper bound that is under the expected bracket: to the rate forwarded
// there, or by steps that double, but not past the middle.
func (s *state) descend(t target, known bounds, want bracket) (uint64, string) {
	steps := 0
	for _, load := range known.uppers {
		if load <= want.low {
			steps++
		}
	}
	load := min(down(known.upper, t.width, doubled(steps-1)), s.forwarded(t, known.upper))
	if known.lower > 0 {
		load = max(load, middle(known.lower, known.upper, t.width))
	}
	return s.within(known, load), fmt.Sprintf("step down from the upper bound %d frames/s", known.upper)
}

// climb goes above a lower bound that is over the expected bracket. Its steps grow fourfold: the
// loss at a load that is too high shows where the limit is, so the way back is short. This does
// not hold where a device slows down, and every step is decided.
func (s *state) climb(t target, known bounds, want bracket) (uint64, string) {
	steps := 0
	for _, load := range known.lowers {
		if load >= want.high {
			steps++
		}
	}
	if s.slowing(t) < maxSlowing {
		steps *= 2
	}
	load := up(known.lower, t.width, doubled(steps))
	if known.upper > 0 {
		load = min(load, middle(known.lower, known.upper, t.width))
	}
	return s.within(known, load), fmt.Sprintf("step up from the lower bound %d frames/s", known.lower)
}

// forwarded returns the best rate seen after a load, raised by the loss allowed.
func (s *state) forwarded(t target, load uint64) uint64 {
	best := 0.0
	for _, trial := range s.trials[load] {
		best = max(best, trial.forwarding())
	}
	return t.raised(best)
}

// raised returns the load that would give the forwarding rate with all the loss that the goal
// allows.
func (t target) raised(rate float64) uint64 { return whole(rate / (1 - t.lossRatio)) }

// whole returns a rate in whole frames; the addition undoes the rounding of a ratio.
func whole(rate float64) uint64 { return uint64(rate + 0.001) }

// within keeps a load strictly between the known bounds, and inside the limits.
func (s *state) within(known bounds, load uint64) uint64 {
	lowest, highest := s.cfg.MinimumFramesPerSecond, s.cfg.MaximumFramesPerSecond
	if known.lower > 0 {
		lowest = known.lower + 1
	}
	if known.upper > 0 {
		highest = known.upper - 1
	}
	return min(max(load, lowest), highest)
}

// nearest prefers a load between the bounds that has trials already and is less than half a width
// away: those trials start its classification.
func (s *state) nearest(known bounds, load uint64, width float64) uint64 {
	best, distance := load, float64(load)*width/2
	for _, tried := range s.loads {
		if tried <= known.lower || (known.upper > 0 && tried >= known.upper) {
			continue
		}
		if d := math.Abs(float64(tried) - float64(load)); d < distance {
			best, distance = tried, d
		}
	}
	return best
}

// slack makes steps a little narrower than the width, so that rounding to whole frames per second
// never leaves a bracket slightly too wide.
const slack = 1.0 / 64

// decrement returns the logarithm of one width.
func decrement(width float64) float64 { return -math.Log1p(-width * (1 - slack)) }

// down returns a load that is lower by a number of widths, and up one that is higher.
func down(load uint64, width, count float64) uint64 {
	return uint64(math.Ceil(float64(load) * math.Exp(-count*decrement(width))))
}

func up(load uint64, width, count float64) uint64 {
	return uint64(math.Min(float64(load)*math.Exp(count*decrement(width)), maxLoad))
}

// doubled returns two to the power of steps, bounded so that loads stay finite.
func doubled(steps int) float64 { return math.Exp2(float64(min(max(steps, 0), 40))) }

// middle splits a bracket on a logarithmic scale such that one part is a power
// of two of widths: halving that part later comes out even.
func middle(low, high uint64, width float64) uint64 {
	count := math.Log(float64(high)/float64(low)) / decrement(width)
	part := count / 2
	if count > 2 {
		part = 1
		for 2*part < count && 2*part*(count-2*part) >= part*(count-part) {
			part *= 2
		}
	}
	return min(max(down(high, width, part), low+1), high-1)
}
