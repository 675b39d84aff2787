package main

import (
	"context"
	"fmt"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// Found is what a search found for one goal.
type Found struct {
	ThroughputFramesPerSecond float64
	Regular                   bool
}

// Searcher looks for every goal's throughput with a driver.
type Searcher interface {
	Search(ctx context.Context, goals []search.Goal, driver measure.Driver) ([]Found, error)
}

// Ours is this project's search.
type Ours struct{}

// Search implements Searcher.
func (Ours) Search(ctx context.Context, goals []search.Goal, driver measure.Driver) ([]Found, error) {
	cfg := search.Config{
		Goals: goals, MinimumFramesPerSecond: MinimumFramesPerSecond, MaximumFramesPerSecond: LinkFramesPerSecond,
	}
	var history []search.Trial
	for {
		step, err := search.Next(cfg, history)
		if err != nil {
			return nil, err
		}
		if step.Done {
			return ours(step.Results), nil
		}
		asked, outcome, err := measured(ctx, driver, step.LoadFramesPerSecond, step.Duration)
		if err != nil {
			return nil, err
		}
		trial, err := search.FromOutcome(asked, outcome)
		if err != nil {
			return nil, err
		}
		history = append(history, trial)
	}
}

func ours(results []search.Result) []Found {
	out := make([]Found, len(results))
	for i, r := range results {
		out[i] = Found{ThroughputFramesPerSecond: r.ConditionalThroughputFramesPerSecond, Regular: r.Regular}
	}
	return out
}

func measured(ctx context.Context, driver measure.Driver, load uint64, duration time.Duration) (measure.Trial, measure.Outcome, error) {
	asked := measure.Trial{FrameBytes: 64, IntendedFramesPerSecond: load, DurationNanoseconds: int64(duration)}
	got, err := driver.Measure(ctx, asked)
	return asked, got, err
}

// Run is one search on one device.
type Run struct {
	Trials int
	Time   time.Duration
	// Error of each goal's throughput, relative to the truth.
	Error []float64
	// Regular is true if every result is regular.
	Regular bool
}

// Try runs a search on the class's device of a seed.
func (c Class) Try(ctx context.Context, searcher Searcher, goals []search.Goal, seed uint64) (Run, error) {
	bed := c.Bed(seed)
	driver := simulated.New(bed.Driver)
	found, err := searcher.Search(ctx, goals, driver)
	if err != nil {
		return Run{}, fmt.Errorf("class %q, seed %d: %w", c.Name, seed, err)
	}
	run := Run{Trials: driver.Trials(), Time: driver.Elapsed(), Regular: true}
	for i, goal := range goals {
		truth := bed.Truth(goal.LossRatio, driver.Elapsed())
		run.Error = append(run.Error, found[i].ThroughputFramesPerSecond/truth-1)
		run.Regular = run.Regular && found[i].Regular
	}
	return run, nil
}
