package search

import (
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// linkFramesPerSecond is 64-byte frames at 10 Gbit/s, the maximum load of the tests.
const linkFramesPerSecond = 14_880_952

func config(goals ...Goal) Config {
	return Config{
		Goals: goals, MinimumFramesPerSecond: 9001, MaximumFramesPerSecond: linkFramesPerSecond,
		MaxSearch: 4 * time.Hour,
	}
}

// measured runs one trial with a driver.
func measured(t testing.TB, driver measure.Driver, load uint64, duration time.Duration) Trial {
	t.Helper()
	asked := measure.Trial{FrameBytes: 64, IntendedFramesPerSecond: load, DurationNanoseconds: int64(duration)}
	got, err := driver.Measure(t.Context(), asked)
	if err != nil {
		t.Fatalf("measuring: %v", err)
	}
	trial, err := FromOutcome(asked, got)
	if err != nil {
		t.Fatalf("using the outcome: %v", err)
	}
	return trial
}

// run searches to the end, and checks what must hold in every step.
func run(t testing.TB, cfg Config, driver measure.Driver) ([]Trial, []Result) {
	t.Helper()
	var history []Trial
	for {
		step, err := Next(cfg, history)
		if err != nil {
			t.Fatalf("after %d trials: %v", len(history), err)
		}
		if step.Done {
			return history, step.Results
		}
		if step.LoadFramesPerSecond < cfg.MinimumFramesPerSecond || step.LoadFramesPerSecond > cfg.MaximumFramesPerSecond {
			t.Fatalf("after %d trials: load %d is outside the limits", len(history), step.LoadFramesPerSecond)
		}
		if step.Duration <= 0 || len(step.Results) != len(cfg.Goals) || step.Why == "" {
			t.Fatalf("after %d trials: the step is incomplete: %+v", len(history), step)
		}
		history = append(history, measured(t, driver, step.LoadFramesPerSecond, step.Duration))
	}
}

func simulate(device simulated.Device, seed uint64) *simulated.Driver {
	return simulated.New(simulated.Config{Device: device, Seed: seed, WithoutDistributions: true})
}
