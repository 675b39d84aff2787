package search

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// state is a history seen through a configuration.
type state struct {
	cfg     Config
	history []Trial
	// loads are the distinct loads tried, ascending.
	loads  []uint64
	trials map[uint64][]Trial
	// chains holds every goal's targets, the coarsest first and the goal itself last.
	chains [][]target
}

func newState(cfg Config, history []Trial) (*state, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &state{cfg: cfg.withDefaults(), trials: map[uint64][]Trial{}}
	for i, trial := range history {
		if err := cfg.validateTrial(trial); err != nil {
			return nil, fmt.Errorf("trial %d: %w", i+1, err)
		}
		s.add(trial)
	}
	for _, g := range s.cfg.Goals {
		s.chains = append(s.chains, g.targets(s.cfg.UnsentTolerance))
	}
	return s, nil
}

func (s *state) add(trial Trial) {
	load := trial.LoadFramesPerSecond
	if at, known := slices.BinarySearch(s.loads, load); !known {
		s.loads = slices.Insert(s.loads, at, load)
	}
	s.trials[load] = append(s.trials[load], trial)
	s.history = append(s.history, trial)
}

// spent returns the time that the history took.
func (s *state) spent() time.Duration {
	var total time.Duration
	for _, trial := range s.history {
		total += s.cfg.cost(trial)
	}
	return total
}

// targets returns the goal's preceding targets and the goal. Their duration sums fall
// geometrically towards the initial trial duration, their widths double.
func (g Goal) targets(unsent float64) []target {
	initial := g.InitialTrial
	if initial == 0 {
		initial = g.FinalTrial
	}
	chain := make([]target, g.PrecedingTargets+1)
	for i := range chain {
		sum := g.DurationSum
		if before := float64(i) / float64(max(1, g.PrecedingTargets)); i > 0 {
			sum = time.Duration(float64(g.DurationSum) * math.Pow(float64(initial)/float64(g.DurationSum), before))
		}
		if i > 0 && i == g.PrecedingTargets {
			sum = initial
		}
		chain[i] = target{
			lossRatio: g.LossRatio, exceedRatio: g.ExceedRatio, unsent: unsent,
			width: min(g.RelativeWidth*math.Pow(2, float64(i)), widest),
			trial: min(g.FinalTrial, sum), sum: sum,
		}
	}
	// Targets that differ from the goal only in their sum are left out where several trials
	// decide: trials of the goal find a bracket without them.
	if g.DurationSum > g.FinalTrial {
		chain = slices.DeleteFunc(chain, func(t target) bool { return t.trial == g.FinalTrial && t.sum < g.DurationSum })
	}
	slices.Reverse(chain)
	return chain
}

// widest keeps a coarse target's steps finite.
const widest = 0.5

// bounds are what a history says about one target.
type bounds struct {
	// lowers and uppers are all loads so classified, ascending.
	lowers, uppers []uint64
	// lower and upper are RFC 9971's relevant bounds; 0 where there is none.
	// Without an upper bound, lower is the largest lower bound.
	lower, upper uint64
}

func (s *state) bounds(t target) bounds {
	var known bounds
	for _, load := range s.loads {
		switch t.classify(s.trials[load]) {
		case LowerBound:
			known.lowers = append(known.lowers, load)
		case UpperBound:
			known.uppers = append(known.uppers, load)
		}
	}
	if len(known.uppers) > 0 {
		known.upper = known.uppers[0]
	}
	for _, load := range known.lowers {
		if known.upper == 0 || load < known.upper {
			known.lower = load
		}
	}
	return known
}

// inverted reports loss inversion (RFC 9971): a lower bound above an upper bound.
func (known bounds) inverted() bool {
	return known.upper > 0 && len(known.lowers) > 0 && known.lowers[len(known.lowers)-1] > known.upper
}

// settled reports whether no further load can improve the answer: the bracket is narrow, or a
// limit of the loads, or of whole frames per second, is reached.
func (s *state) settled(t target, known bounds) bool {
	switch {
	case known.upper == 0:
		return known.lower == s.cfg.MaximumFramesPerSecond
	case known.lower == 0:
		return known.upper == s.cfg.MinimumFramesPerSecond
	}
	return narrow(known.lower, known.upper, t.width) || known.upper-known.lower == 1
}

// confirmed reports whether the lower bound was tried at full length after the upper bound was
// first tried, where that is asked for and both exist.
func (s *state) confirmed(t target, known bounds) bool {
	if !s.cfg.ConfirmLowerBounds || known.lower == 0 || known.upper == 0 {
		return true
	}
	above := false
	for _, trial := range s.history {
		switch {
		case trial.LoadFramesPerSecond == known.upper:
			above = true
		case above && trial.LoadFramesPerSecond == known.lower && t.fullLength(trial):
			return true
		}
	}
	return false
}

// narrow reports whether (upper - lower) / upper is at most the width.
func narrow(lower, upper uint64, width float64) bool {
	return float64(upper-lower) <= float64(upper)*width
}
