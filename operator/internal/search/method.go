package search

import (
	"cmp"
	"errors"
	"fmt"
)

// Method chooses the next load. What makes a trial high-loss, the limits and
// the shape of the results are the same for all.
type Method string

const (
	// MLRsearch is RFC 9971's search, for all goals at once.
	MLRsearch Method = "MLRsearch"
	// RFC2544Bisection halves between the loads without and with loss, for one goal
	// after the other. Where a goal's InitialTrial is shorter than its FinalTrial,
	// trials of that length search and full-length ones confirm (RFC 2544 section 24).
	RFC2544Bisection Method = "RFC2544"
	// TST009BinarySearch is the search of ETSI GS NFV-TST 009 section 12.3.2, over loads at equal
	// distances, for one goal after the other.
	TST009BinarySearch Method = "TST009"
	// TST009WithLossVerification repeats trials with loss before they count (section 12.3.3).
	TST009WithLossVerification Method = "TST009WithLossVerification"
)

// LossVerification configures TST009WithLossVerification only.
type LossVerification struct {
	// MaximumRepeats is how often a high-loss trial is repeated before its load
	// fails; the first low-loss trial passes it. 0 means DefaultRepeats.
	MaximumRepeats int `json:"maximumRepeats,omitempty"`
	// LossThresholdFrames is TST 009's z: a trial that lost more fails its load
	// at once. Nil means that none does.
	LossThresholdFrames *uint64 `json:"lossThresholdFrames,omitempty"`
}

// DefaultRepeats makes two trials of a load, the case that RFC 9971 compares with.
const DefaultRepeats = 1

// indexed reports whether the method chooses from a fixed list of loads.
func (m Method) indexed() bool { return m == TST009BinarySearch || m == TST009WithLossVerification }

// oneTrial reports whether one full-length trial, or its repeats, decides a load.
func (m Method) oneTrial() bool { return m == RFC2544Bisection || m.indexed() }

func (m Method) validate() error {
	switch m {
	case "", MLRsearch, RFC2544Bisection, TST009BinarySearch, TST009WithLossVerification:
		return nil
	}
	return fmt.Errorf("there is no method %q", m)
}

func (m Method) validateGoal(g Goal) error {
	if m.oneTrial() && (g.DurationSum != g.FinalTrial || g.ExceedRatio != 0 || g.PrecedingTargets != 0) {
		return errors.New("the method decides by single trials: the duration sum is the final trial's duration, without exceed ratio and preceding targets")
	}
	return nil
}

// verdict is what the history says about a goal, and what the goal wants next.
type verdict struct {
	bounds
	want candidate
	// open says that the goal needs a trial.
	open bool
}

// verdicts returns the method's verdict on each goal.
func (s *state) verdicts() []verdict {
	out := make([]verdict, len(s.cfg.Goals))
	for i := range out {
		out[i] = s.judge(i)
	}
	return out
}

// judge returns the method's verdict on the goal with an index.
func (s *state) judge(i int) verdict {
	chain := s.chains[i]
	final := chain[len(chain)-1]
	var v verdict
	switch {
	case s.cfg.Method.indexed():
		v = s.binarySearch(final)
	case s.cfg.Method == RFC2544Bisection:
		v.bounds = s.bounds(final)
		v.want, v.open = s.bisect(s.cfg.Goals[i], final)
	default:
		v.bounds = s.bounds(final)
		v.want, v.open = s.bestTrial(chain)
	}
	v.want.goal = s.cfg.Goals[i].Name
	return v
}

// candidate picks one of the trials that the goals ask for. MLRsearch takes quick and coarse
// targets before slow ones; then the lowest load, as a bound found there can overrule bounds
// above it (RFC 9971, "it is better to measure at smaller Loads first"); then the order of the
// goals. Optional trials are last. The other methods finish one goal after the other.
func (s *state) candidate(verdicts []verdict) (candidate, bool) {
	var best candidate
	found := false
	for _, v := range verdicts {
		switch {
		case !v.open:
		case s.cfg.Method.oneTrial():
			return v.want, true
		case !found || v.want.before(best):
			best, found = v.want, true
		}
	}
	return best, found
}

func (c candidate) before(other candidate) bool {
	if c.optional != other.optional {
		return other.optional
	}
	return cmp.Or(
		cmp.Compare(c.sum, other.sum),
		cmp.Compare(c.duration, other.duration),
		cmp.Compare(c.load, other.load),
	) < 0
}
