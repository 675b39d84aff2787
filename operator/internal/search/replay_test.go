package search

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"vnfbench.io/operator/internal/traffic/simulated"
)

var update = flag.Bool("update", false, "record the trial logs in testdata")

// recording is a recorded search.
type recording struct {
	Config  Config   `json:"config"`
	Trials  []Trial  `json:"trials"`
	Results []Result `json:"results"`
}

// recorded returns the set-ups of the logs in testdata.
func recorded() map[string]struct {
	goals  []Goal
	driver simulated.Config
} {
	knee := simulated.SoftKnee{KneeFramesPerSecond: 6e6, CapacityFramesPerSecond: 8e6, MaxLossRatio: 0.02}
	return map[string]struct {
		goals  []Goal
		driver simulated.Config
	}{
		"lab-soft-knee": {Lab(), simulated.Config{
			Device: simulated.Noisy{Device: knee, Strength: simulated.Mild}, Seed: 1, Overhead: 300 * time.Millisecond}},
		"csit-strong-noise": {CSIT(), simulated.Config{
			Device: simulated.Noisy{Device: knee, Strength: simulated.Strong}, Seed: 2}},
		"rfc2544-collapse": {[]Goal{RFC2544(0.001)}, simulated.Config{
			Device: simulated.Collapse{CapacityFramesPerSecond: 8e6}, Seed: 3}},
		"lab-generator-ceiling": {Lab(), simulated.Config{
			Device: simulated.HardCap{CapacityFramesPerSecond: 8e6}, GeneratorFramesPerSecond: 5e6, Seed: 4}},
		"lab-two-bands": {Lab(), simulated.Config{Device: simulated.TwoBands{
			FromFramesPerSecond: 3e6, ToFramesPerSecond: 7.95e6, CapacityFramesPerSecond: 8e6, LossRatio: 0.003}, Seed: 5}},
	}
}

// A change of the search that changes its decisions shows here: record again with -update and
// look at the difference.
func TestReplay(t *testing.T) {
	for name, set := range recorded() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".json")
			if *update {
				record(t, file, set.goals, set.driver)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want recording
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			replay(t, want)
		})
	}
}

func replay(t *testing.T, want recording) {
	t.Helper()
	for i, trial := range want.Trials {
		step, err := Next(want.Config, want.Trials[:i])
		if err != nil {
			t.Fatal(err)
		}
		if step.Done || step.LoadFramesPerSecond != trial.LoadFramesPerSecond || step.Duration != trial.Duration {
			t.Fatalf("step %d: got %+v, want load %d for %v", i+1, step, trial.LoadFramesPerSecond, trial.Duration)
		}
	}
	step, err := Next(want.Config, want.Trials)
	if err != nil {
		t.Fatal(err)
	}
	if !step.Done || !reflect.DeepEqual(step.Results, want.Results) {
		t.Errorf("got %+v, want done with %+v", step, want.Results)
	}
}

func record(t *testing.T, file string, goals []Goal, driver simulated.Config) {
	t.Helper()
	cfg := config(goals...)
	trials, results := run(t, cfg, simulated.New(driver))
	text, err := json.MarshalIndent(recording{Config: cfg, Trials: trials, Results: results}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}
