package search

import (
	"math/rand/v2"
	"testing"
	"time"

	"vnfbench.io/operator/internal/traffic/simulated"
)

// For a steady device the estimate ends at zero, never exceeds the limits, and is right within a
// few trials from the second one on.
func TestRemaining(t *testing.T) {
	for name, goals := range goalSets() {
		t.Run(name, func(t *testing.T) {
			off, count := 0.0, 0.0
			for seed := range uint64(30) {
				cfg := config(goals...)
				history, _ := run(t, cfg, simulate(cleanDevice(rand.New(rand.NewPCG(seed, 5))), seed))
				for i := range len(history) + 1 {
					got, err := Remaining(cfg, history[:i])
					if err != nil {
						t.Fatal(err)
					}
					left := len(history) - i
					if i > 0 {
						off, count = off+float64(max(got.Trials-left, left-got.Trials)), count+float64(len(history))
					}
					if left == 0 && got != (Estimate{}) || left > 0 && (got.Trials == 0 || got.Time == 0) {
						t.Fatalf("seed %d: got %+v with %d trials left", seed, got, left)
					}
				}
			}
			t.Logf("off by %.0f %% of a search on average", 100*off/count)
			if off/count > 0.5 {
				t.Errorf("the estimate is off by %.2f of a search on average", off/count)
			}
		})
	}
}

func TestRemainingKeepsTheLimits(t *testing.T) {
	cfg := config(CSIT()...)
	cfg.MaxTrials, cfg.MaxSearch, cfg.TrialOverhead = 30, 20*time.Second, time.Second
	got, err := Remaining(cfg, nil)
	if err != nil || got.Trials > cfg.MaxTrials || got.Time > cfg.MaxSearch || got.Trials != 10 {
		t.Errorf("got %+v, %v; want 10 trials of 2 s", got, err)
	}
}

func TestRemainingCountsDown(t *testing.T) {
	cfg := config(Lab()...)
	history, _ := run(t, cfg, simulate(simulated.HardCap{CapacityFramesPerSecond: 8e6}, 1))
	for i := 1; i <= len(history); i++ {
		if got, err := Remaining(cfg, history[:i]); err != nil || got.Trials != len(history)-i {
			t.Errorf("after %d trials: got %+v, %v; want %d trials left", i, got, err, len(history)-i)
		}
	}
}
