// Package search decides which load to try next, and when the loads tried so far answer every
// goal. It is RFC 9971's Controller, made pure: goals, limits and the history of one frame size's
// trials go in; the next trial, or the results, come out. It reads no clock, starts nothing and
// remembers nothing, so a measurer that was stopped replays its history and continues as if it
// had never stopped.
//
// A load is frames per second in each direction. The Method is MLRsearch, or one of the classic
// searches that users compare with.
package search

import (
	"errors"
	"fmt"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// Goal is RFC 9971's Search Goal: what a load must hold to be a lower bound,
// and how near the upper bound has to come.
type Goal struct {
	// Name identifies the goal's result; it is unique within a Config.
	Name string `json:"name"`
	// LossRatio is the most loss, in [0, 1), of a low-loss trial.
	LossRatio float64 `json:"lossRatio"`
	// ExceedRatio is the share, in [0, 1), of the time measured at a load that may be high-loss.
	ExceedRatio float64 `json:"exceedRatio"`
	// RelativeWidth is the maximum of (upper - lower) / upper, in (0, 1).
	RelativeWidth float64 `json:"relativeWidth"`
	// FinalTrial is the duration from which a trial is full-length.
	FinalTrial time.Duration `json:"finalTrialNanoseconds"`
	// DurationSum is how much full-length time decides a load. At least FinalTrial.
	DurationSum time.Duration `json:"durationSumNanoseconds"`
	// InitialTrial is the duration sum of the first preceding target, used
	// where PrecedingTargets is above 0. At most DurationSum. 0 means FinalTrial.
	InitialTrial time.Duration `json:"initialTrialNanoseconds,omitempty"`
	// PrecedingTargets is how many coarser and quicker brackets are found first, each twice as
	// wide as the one after it. 0 searches at full precision from the start.
	PrecedingTargets int `json:"precedingTargets,omitempty"`
}

// Config is RFC 9971's Controller Input.
type Config struct {
	Goals []Goal `json:"goals"`
	// Method chooses the loads. Empty means MLRsearch.
	Method Method `json:"method,omitempty"`
	// LossVerification is read only with method TST009WithLossVerification.
	LossVerification LossVerification `json:"lossVerification,omitzero"`
	// MinimumFramesPerSecond and MaximumFramesPerSecond limit every trial's
	// load. The maximum should be what the generator reached port to port.
	MinimumFramesPerSecond uint64 `json:"minimumFramesPerSecond"`
	MaximumFramesPerSecond uint64 `json:"maximumFramesPerSecond"`
	// ConfirmLowerBounds asks for a trial at each relevant lower bound after its upper bound was
	// first tried, so that a device that slows down while it is measured does not keep its first
	// figure. It costs at most one trial per goal on a steady device.
	ConfirmLowerBounds bool `json:"confirmLowerBounds,omitempty"`
	// UnsentTolerance is the share of a trial's frames that the generator may
	// fail to send before the load counts as out of its reach. 0 means DefaultUnsentTolerance.
	UnsentTolerance float64 `json:"unsentTolerance,omitempty"`
	// MaxTrials ends the search. 0 means DefaultMaxTrials.
	MaxTrials int `json:"maxTrials,omitempty"`
	// MaxSearch ends the search before a trial that would exceed it. 0 means DefaultMaxSearch.
	MaxSearch time.Duration `json:"maxSearchNanoseconds,omitempty"`
	// TrialOverhead is what a trial costs in addition to its duration: settling and waits. It
	// plans the remaining time, and is the overhead of a trial without a Cost.
	TrialOverhead time.Duration `json:"trialOverheadNanoseconds,omitempty"`
}

const (
	// DefaultUnsentTolerance is 0.1 %: above what pacing at the two ends of a trial loses, and a
	// fifth of the smallest common width.
	DefaultUnsentTolerance = 0.001
	// DefaultMaxTrials is more than twice what the goals of this package take on a noisy device.
	DefaultMaxTrials = 500
	// DefaultMaxSearch is the limit that FD.io CSIT sets. Searches with trials of 60 s need more.
	DefaultMaxSearch = 20 * time.Minute
)

// Trial is RFC 9971's Trial Result: one valid trial, with what the search needs. A trial that its
// generator marked invalid never becomes one.
type Trial struct {
	// LoadFramesPerSecond is the intended load.
	LoadFramesPerSecond uint64 `json:"loadFramesPerSecond"`
	// Duration is the intended duration.
	Duration time.Duration `json:"durationNanoseconds"`
	// EffectiveDuration is the time that the trial counts for. 0 means Duration.
	EffectiveDuration time.Duration `json:"effectiveDurationNanoseconds,omitempty"`
	// Cost is all the time that the trial took. 0 means Duration and the configured overhead.
	Cost time.Duration `json:"costNanoseconds,omitempty"`
	// LossRatio is lost over sent frames of the worse direction.
	LossRatio float64 `json:"lossRatio"`
	// LostFrames are those of the direction that lost most of them.
	LostFrames uint64 `json:"lostFrames,omitempty"`
	// LossUnproven says that the loss beyond ProvenLossRatio may be the generator's doing. It counts as
	// loss, but never makes DeviceLoss the cause of a bound.
	LossUnproven bool `json:"lossUnproven,omitempty"`
	// ProvenLossRatio is the part of LossRatio that is the device's in any case, where LossUnproven is set.
	ProvenLossRatio float64 `json:"provenLossRatio,omitempty"`
	// UnsentRatio is unsent over intended frames of the worse direction.
	UnsentRatio float64 `json:"unsentRatio,omitempty"`
}

// ErrInvalidTrial says that a trial must be repeated and not used.
var ErrInvalidTrial = errors.New("invalid trial")

// FromOutcome makes a Trial from what a driver measured. It refuses outcomes that the driver
// doubts, and trials without an intended load.
func FromOutcome(asked measure.Trial, got measure.Outcome) (Trial, error) {
	switch {
	case !got.Valid():
		return Trial{}, fmt.Errorf("%w: the generator doubts it", ErrInvalidTrial)
	case len(got.Directions) == 0:
		return Trial{}, fmt.Errorf("%w: no direction was measured", ErrInvalidTrial)
	case asked.IntendedFramesPerSecond == 0:
		return Trial{}, fmt.Errorf("%w: it has no intended load", ErrInvalidTrial)
	}
	lost := uint64(0)
	for _, d := range got.Directions {
		if d.SentFrames == 0 {
			return Trial{}, fmt.Errorf("%w: direction %q sent nothing", ErrInvalidTrial, d.Direction)
		}
		lost = max(lost, d.LostFrames())
	}
	return Trial{
		LoadFramesPerSecond: asked.IntendedFramesPerSecond,
		Duration:            asked.Duration(),
		Cost:                time.Duration(got.TotalNanoseconds),
		LossRatio:           got.LossRatio(),
		LostFrames:          lost,
		UnsentRatio:         got.UnsentRatio(),
	}, nil
}

// undelivered returns RFC 9971's Trial Loss Ratio, which counts against the intended load: what
// the generator did not send is missing too.
func (t Trial) undelivered() float64 {
	return 1 - (1-t.LossRatio)*(1-t.UnsentRatio)
}

// forwarding returns RFC 9971's Trial Forwarding Rate.
func (t Trial) forwarding() float64 {
	return float64(t.LoadFramesPerSecond) * (1 - t.undelivered())
}

func (t Trial) effective() time.Duration {
	if t.EffectiveDuration > 0 {
		return t.EffectiveDuration
	}
	return t.Duration
}

// Step is one decision: a trial to run, or Done.
type Step struct {
	// Done says that Results are final and that no trial is wanted.
	Done bool
	// LoadFramesPerSecond and Duration are the next trial's.
	LoadFramesPerSecond uint64
	Duration            time.Duration
	// Goal is the name of the goal that asks for the trial; its result serves all goals.
	Goal string
	// Why is one sentence for the log.
	Why string
	// Results are in the order of the goals: final ones when Done, what is known so far before.
	Results []Result
}

// Next decides from the history alone, in the order in which the trials ran.
func Next(cfg Config, history []Trial) (Step, error) {
	s, err := newState(cfg, history)
	if err != nil {
		return Step{}, err
	}
	return s.next(), nil
}

// next decides on a checked state.
func (s *state) next() Step {
	verdicts := s.verdicts()
	want, found := s.candidate(verdicts)
	if why := s.end(want, found); why != Unfinished {
		return Step{Done: true, Results: s.results(verdicts, why)}
	}
	return Step{
		LoadFramesPerSecond: want.load,
		Duration:            want.duration + want.rest,
		Goal:                want.goal,
		Why:                 fmt.Sprintf("goal %q: %s", want.goal, want.why),
		Results:             s.results(verdicts, Unfinished),
	}
}

// end returns why the search ends before the trial that the goals ask for, and Unfinished where it continues.
func (s *state) end(want candidate, found bool) Irregularity {
	switch {
	case !found:
		return none
	case len(s.history) >= s.cfg.MaxTrials:
		return OutOfTrials
	case s.spent()+want.duration+want.rest+s.cfg.TrialOverhead > s.cfg.MaxSearch:
		return OutOfTime
	}
	return Unfinished
}
