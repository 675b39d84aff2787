package search

import (
	"fmt"
	"math"
	"slices"
)

// binarySearch runs ETSI GS NFV-TST 009's search over the indices of equally spaced loads. It
// continues until one load is left, and tries that one too, so that both bounds are measured and
// are one step apart.
func (s *state) binarySearch(t target) verdict {
	steps := steps(t.width)
	left, right := s.firstIndex(steps), steps-1
	v := verdict{want: candidate{duration: t.trial, sum: t.sum}}
	for {
		at := left + (right-left)/2
		load := s.load(at, steps)
		switch s.passes(t, load) {
		case Undecided:
			v.want.load, v.open = load, true
			v.want.why = fmt.Sprintf("try load %d of %d, between %d and %d", at+1, steps, left+1, right+1)
			return v
		case LowerBound:
			v.lower = load
			if left == right {
				return v
			}
			left = at + 1
		case UpperBound:
			v.upper = load
			if left == right || at == left {
				return v
			}
			right = max(at-1, left)
		}
	}
}

// steps returns the number of loads: the goal's width is one step's share of the maximum load.
func steps(width float64) int { return int(math.Ceil(1/width - 1e-9)) }

// load returns (index + 1) steps, in whole frames; the last is the maximum load.
func (s *state) load(index, steps int) uint64 {
	return uint64(math.Round(float64(s.cfg.MaximumFramesPerSecond) * float64(index+1) / float64(steps)))
}

// firstIndex returns the index of the lowest load that the limits allow.
func (s *state) firstIndex(steps int) int {
	for i := range steps {
		if s.load(i, steps) >= s.cfg.MinimumFramesPerSecond {
			return i
		}
	}
	return steps - 1
}

// passes classifies a load by its full-length trials in their order: the first low-loss one
// passes it; one that lost too much, or the last repeat, fails it.
func (s *state) passes(t target, load uint64) Class {
	tries, repeats := 0, 0
	var threshold *uint64
	if s.cfg.Method == TST009WithLossVerification {
		repeats, threshold = s.cfg.LossVerification.MaximumRepeats, s.cfg.LossVerification.LossThresholdFrames
	}
	for _, trial := range s.trials[load] {
		if !t.fullLength(trial) {
			continue
		}
		tries++
		switch {
		case !t.highLoss(trial):
			return LowerBound
		case tries > repeats, threshold != nil && trial.LostFrames > *threshold:
			return UpperBound
		}
	}
	return Undecided
}

// passing returns the best of a load's full-length trials: the one that passed it.
func (t target) passing(trials []Trial) Trial {
	full := slices.DeleteFunc(slices.Clone(trials), func(trial Trial) bool { return !t.fullLength(trial) })
	return slices.MinFunc(full, func(a, b Trial) int {
		if a.undelivered() < b.undelivered() {
			return -1
		}
		return 1
	})
}
