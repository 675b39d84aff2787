package search

import (
	"errors"
	"fmt"
	"time"
)

// ErrConfig says that the goals or limits do not allow a search.
var ErrConfig = errors.New("invalid search configuration")

// ErrHistory says that a trial cannot belong to the configuration.
var ErrHistory = errors.New("invalid search history")

func (c Config) withDefaults() Config {
	if c.UnsentTolerance == 0 {
		c.UnsentTolerance = DefaultUnsentTolerance
	}
	if c.MaxTrials == 0 {
		c.MaxTrials = DefaultMaxTrials
	}
	if c.MaxSearch == 0 {
		c.MaxSearch = DefaultMaxSearch
	}
	if c.LossVerification.MaximumRepeats == 0 {
		c.LossVerification.MaximumRepeats = DefaultRepeats
	}
	return c
}

// Validate returns an error if the configuration does not allow a search.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case len(c.Goals) == 0:
		return fmt.Errorf("%w: no goals", ErrConfig)
	case c.MinimumFramesPerSecond == 0:
		return fmt.Errorf("%w: the minimum load must be above 0", ErrConfig)
	case c.MaximumFramesPerSecond < c.MinimumFramesPerSecond:
		return fmt.Errorf("%w: maximum load %d is below the minimum load %d",
			ErrConfig, c.MaximumFramesPerSecond, c.MinimumFramesPerSecond)
	case c.MaximumFramesPerSecond > maxLoad:
		return fmt.Errorf("%w: maximum load %d is beyond %d", ErrConfig, c.MaximumFramesPerSecond, maxLoad)
	case !ratio(c.UnsentTolerance):
		return fmt.Errorf("%w: unsent tolerance %v is outside [0, 1)", ErrConfig, c.UnsentTolerance)
	case c.MaxTrials < 0 || c.MaxSearch < 0 || c.TrialOverhead < 0:
		return fmt.Errorf("%w: a limit or the overhead is negative", ErrConfig)
	}
	if err := c.Method.validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.LossVerification.MaximumRepeats < 0 {
		return fmt.Errorf("%w: %d repeats of a trial with loss", ErrConfig, c.LossVerification.MaximumRepeats)
	}
	names := map[string]bool{}
	for _, g := range c.Goals {
		if names[g.Name] {
			return fmt.Errorf("%w: two goals are named %q", ErrConfig, g.Name)
		}
		names[g.Name] = true
		if err := errors.Join(g.validate(), c.Method.validateGoal(g)); err != nil {
			return fmt.Errorf("%w: goal %q: %w", ErrConfig, g.Name, err)
		}
	}
	return nil
}

// maxLoad keeps loads exact in a float64.
const maxLoad = 1 << 50

// maxPrecedingTargets keeps the widths of coarse targets meaningful.
const maxPrecedingTargets = 8

func (g Goal) validate() error {
	switch {
	case !ratio(g.LossRatio):
		return fmt.Errorf("loss ratio %v is outside [0, 1)", g.LossRatio)
	case !ratio(g.ExceedRatio):
		return fmt.Errorf("exceed ratio %v is outside [0, 1)", g.ExceedRatio)
	case !ratio(g.RelativeWidth) || g.RelativeWidth == 0:
		return fmt.Errorf("relative width %v is outside (0, 1)", g.RelativeWidth)
	case g.FinalTrial <= 0:
		return fmt.Errorf("final trial duration %v is not positive", g.FinalTrial)
	case g.DurationSum < g.FinalTrial:
		return fmt.Errorf("duration sum %v is below the final trial duration %v", g.DurationSum, g.FinalTrial)
	case g.InitialTrial < 0 || g.InitialTrial > g.DurationSum:
		return fmt.Errorf("initial trial duration %v is outside (0, %v]", g.InitialTrial, g.DurationSum)
	case g.PrecedingTargets < 0 || g.PrecedingTargets > maxPrecedingTargets:
		return fmt.Errorf("%d preceding targets are outside 0 to %d", g.PrecedingTargets, maxPrecedingTargets)
	}
	return nil
}

// ratio reports whether a value is in [0, 1); false for NaN too.
func ratio(v float64) bool { return v >= 0 && v < 1 }

func (c Config) validateTrial(t Trial) error {
	switch {
	case t.LoadFramesPerSecond < c.MinimumFramesPerSecond || t.LoadFramesPerSecond > c.MaximumFramesPerSecond:
		return fmt.Errorf("%w: load %d is outside %d to %d", ErrHistory,
			t.LoadFramesPerSecond, c.MinimumFramesPerSecond, c.MaximumFramesPerSecond)
	case t.Duration <= 0 || t.EffectiveDuration < 0 || t.Cost < 0:
		return fmt.Errorf("%w: a duration is not positive", ErrHistory)
	case !(t.LossRatio >= 0 && t.LossRatio <= 1) || !(t.UnsentRatio >= 0 && t.UnsentRatio <= 1):
		return fmt.Errorf("%w: loss ratio %v or unsent ratio %v is outside [0, 1]", ErrHistory, t.LossRatio, t.UnsentRatio)
	}
	return nil
}

// cost returns the time that a trial takes from the search's time.
func (c Config) cost(t Trial) time.Duration {
	if t.Cost > 0 {
		return t.Cost
	}
	return t.Duration + c.TrialOverhead
}
