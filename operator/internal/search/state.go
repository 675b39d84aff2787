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
	// decide: the race finds a bracket without them.
	if g.DurationSum > g.FinalTrial {
		chain = slices.DeleteFunc(chain, func(t target) bool { return t.trial == g.FinalTrial && t.sum < g.DurationSum })
	}
	slices.Reverse(chain)
	return chain
}

// widest keeps a coarse target's steps finite.
const widest = 0.5

// standing is what a history says about one target.
type standing struct {
	// lowers and uppers are all loads so classified, ascending.
	lowers, uppers []uint64
	// lower and upper are RFC 9971's relevant bounds; 0 where there is none.
	// Without an upper bound, lower is the largest lower bound.
	lower, upper uint64
}

func (s *state) standing(t target) standing {
	var st standing
	for _, load := range s.loads {
		switch t.classify(s.trials[load]) {
		case LowerBound:
			st.lowers = append(st.lowers, load)
		case UpperBound:
			st.uppers = append(st.uppers, load)
		}
	}
	if len(st.uppers) > 0 {
		st.upper = st.uppers[0]
	}
	for _, load := range st.lowers {
		if st.upper == 0 || load < st.upper {
			st.lower = load
		}
	}
	return st
}

// inverted reports loss inversion (RFC 9971): a lower bound above an upper bound.
func (st standing) inverted() bool {
	return st.upper > 0 && len(st.lowers) > 0 && st.lowers[len(st.lowers)-1] > st.upper
}

// settled reports whether no further load can improve the answer: the bracket is narrow, or a
// limit of the loads, or of whole frames per second, is reached.
func (s *state) settled(t target, st standing) bool {
	switch {
	case st.upper == 0:
		return st.lower == s.cfg.MaximumFramesPerSecond
	case st.lower == 0:
		return st.upper == s.cfg.MinimumFramesPerSecond
	}
	return narrow(st.lower, st.upper, t.width) || st.upper-st.lower == 1
}

// confirmed reports whether the lower bound was tried at full length after the upper bound was
// first tried, where that is asked for and both exist.
func (s *state) confirmed(t target, st standing) bool {
	if !s.cfg.ConfirmLowerBounds || st.lower == 0 || st.upper == 0 {
		return true
	}
	above := false
	for _, trial := range s.history {
		switch {
		case trial.LoadFramesPerSecond == st.upper:
			above = true
		case above && trial.LoadFramesPerSecond == st.lower && t.fullLength(trial):
			return true
		}
	}
	return false
}

// narrow reports whether (upper - lower) / upper is at most the width.
func narrow(lower, upper uint64, width float64) bool {
	return float64(upper-lower) <= float64(upper)*width
}
