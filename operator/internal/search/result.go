package search

import "slices"

// Cause says what caused the relevant upper bound.
type Cause string

const (
	// DeviceLoss: the device lost more than the goal allows.
	DeviceLoss Cause = "DeviceLoss"
	// GeneratorCeiling: the generator could not send the load, or what is missing may be its own
	// doing, and the device lost no more than the goal allows of what was sent. The device's
	// figure is at least the lower bound.
	GeneratorCeiling Cause = "GeneratorCeiling"
	// MaximumLoad: the maximum load itself is a lower bound, so nothing higher was tried.
	MaximumLoad Cause = "MaximumLoad"
)

// Irregularity says why a result is not regular in RFC 9971's sense.
type Irregularity string

const (
	none Irregularity = ""
	// Unfinished: the search is still running.
	Unfinished Irregularity = "Unfinished"
	// NoUpperBound: the maximum load holds the goal. The answer is "at least the lower bound".
	NoUpperBound Irregularity = "NoUpperBound"
	// BelowMinimumLoad: the minimum load already misses the goal. The answer is 0.
	BelowMinimumLoad Irregularity = "BelowMinimumLoad"
	// LoadResolution: the bounds are adjacent whole numbers and still wider apart than the width.
	LoadResolution Irregularity = "LoadResolution"
	// OutOfTrials: the trials allowed were used up.
	OutOfTrials Irregularity = "OutOfTrials"
	// OutOfTime: the next trial would have exceeded the time allowed.
	OutOfTime Irregularity = "OutOfTime"
)

// Result is RFC 9971's Goal Result.
type Result struct {
	Goal string `json:"goal"`
	// Regular is RFC 9971's term: both relevant bounds exist and are no further apart than the
	// width, or one step with the methods of TST 009.
	Regular bool `json:"regular"`
	// Irregularity is empty in a regular result.
	Irregularity Irregularity `json:"irregularity,omitempty"`
	// LowerBoundFramesPerSecond is the relevant lower bound, 0 where there is
	// none. Under NoUpperBound it is the maximum load.
	LowerBoundFramesPerSecond uint64 `json:"lowerBoundFramesPerSecond"`
	// UpperBoundFramesPerSecond is the relevant upper bound, 0 where there is none.
	UpperBoundFramesPerSecond uint64 `json:"upperBoundFramesPerSecond,omitempty"`
	// UpperBoundCause is empty where nothing bounds the goal from above yet.
	UpperBoundCause Cause `json:"upperBoundCause,omitempty"`
	// ConditionalThroughputFramesPerSecond is the forwarding rate to expect at the lower bound.
	ConditionalThroughputFramesPerSecond float64 `json:"conditionalThroughputFramesPerSecond"`
	// LowerBoundTrials and UpperBoundTrials are the numbers of trials that decided each bound.
	LowerBoundTrials int `json:"lowerBoundTrials,omitempty"`
	UpperBoundTrials int `json:"upperBoundTrials,omitempty"`
	// LossInversionFramesPerSecond is the highest load above the relevant upper
	// bound that held the goal (RFC 9971's loss inversion); 0 where there is none.
	// The device is not steady, or loses less at some higher loads.
	LossInversionFramesPerSecond uint64 `json:"lossInversionFramesPerSecond,omitempty"`
}

// Conclusive reports whether the search found all that it could: longer or further trials would
// not change the answer. Regular results are conclusive, and so are "at least the maximum load"
// and "not even the minimum load".
func (r Result) Conclusive() bool {
	switch r.Irregularity {
	case Unfinished, OutOfTrials, OutOfTime:
		return false
	}
	return true
}

// AtLeast reports whether the figure is a floor and not the device's limit: the maximum load, or
// the generator, came first.
func (r Result) AtLeast() bool {
	return r.UpperBoundCause == GeneratorCeiling || r.UpperBoundCause == MaximumLoad
}

// results returns a result for each goal; open is why unsettled goals are irregular.
func (s *state) results(verdicts []verdict, open Irregularity) []Result {
	out := make([]Result, len(verdicts))
	for i, v := range verdicts {
		out[i] = s.result(i, v, open)
	}
	return out
}

func (s *state) result(i int, st verdict, open Irregularity) Result {
	t := s.chains[i][len(s.chains[i])-1]
	r := Result{
		Goal:                      s.cfg.Goals[i].Name,
		LowerBoundFramesPerSecond: st.lower,
		UpperBoundFramesPerSecond: st.upper,
		LowerBoundTrials:          len(s.trials[st.lower]),
		UpperBoundTrials:          len(s.trials[st.upper]),
	}
	if st.inverted() {
		r.LossInversionFramesPerSecond = st.lowers[len(st.lowers)-1]
	}
	switch {
	case st.lower > 0 && s.cfg.Method.indexed():
		r.ConditionalThroughputFramesPerSecond = t.passing(s.trials[st.lower]).forwarding()
	case st.lower > 0:
		r.ConditionalThroughputFramesPerSecond = t.conditionalThroughput(s.trials[st.lower])
	}
	switch {
	case st.upper > 0:
		r.UpperBoundCause = t.cause(s.trials[st.upper])
	case st.lower == s.cfg.MaximumFramesPerSecond:
		r.UpperBoundCause = MaximumLoad
	}
	switch {
	case st.open && !st.want.optional:
		r.Irregularity = open
	case st.upper == 0:
		r.Irregularity = NoUpperBound
	case st.lower == 0:
		r.Irregularity = BelowMinimumLoad
	case !s.cfg.Method.indexed() && !narrow(st.lower, st.upper, t.width):
		r.Irregularity = LoadResolution
	}
	r.Regular = r.Irregularity == none
	return r
}

// cause distinguishes the device's loss from the generator's limit: it is the device's where the
// load stays an upper bound without counting the unsent frames and the unproven loss.
func (t target) cause(trials []Trial) Cause {
	t.unsent = 1
	proven := slices.Clone(trials)
	for i := range proven {
		if proven[i].LossUnproven {
			proven[i].LossRatio = proven[i].ProvenLossRatio
		}
	}
	if t.classify(proven) == UpperBound {
		return DeviceLoss
	}
	return GeneratorCeiling
}
