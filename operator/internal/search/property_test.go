package search

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/traffic/simulated"
)

// goalSets returns the sets of goals that every property is checked with.
func goalSets() map[string][]Goal {
	five := pair(Goal{
		RelativeWidth: 0.01, ExceedRatio: 0.5, FinalTrial: time.Second, DurationSum: 5 * time.Second,
		InitialTrial: time.Second, PrecedingTargets: 1,
	}, 0.005)
	strict := pair(Goal{RelativeWidth: 0.01, FinalTrial: time.Second, DurationSum: 5 * time.Second}, 0.005)
	growing := pair(Goal{
		RelativeWidth: 0.01, FinalTrial: 10 * time.Second, DurationSum: 10 * time.Second,
		InitialTrial: time.Second, PrecedingTargets: 2,
	}, 0.001)
	quicker := RFC2544(0.001)
	quicker.InitialTrial, quicker.PrecedingTargets = time.Second, 2
	return map[string][]Goal{
		"rfc2544 quicker": {quicker},
		"lab":             Lab(), "rfc2544": {RFC2544(0.001)}, "tst009": {TST009(0.005)}, "csit": CSIT(),
		"five seconds": five, "strict": strict, "growing trials": growing,
	}
}

// limited is a device that knows the truth.
type limited interface {
	simulated.Device
	Limit(lossRatio float64) float64
}

// cleanDevice draws a device without noise.
func cleanDevice(random *rand.Rand) limited {
	capacity := 20_000 + random.Float64()*12e6
	switch random.IntN(3) {
	case 0:
		return simulated.HardCap{CapacityFramesPerSecond: capacity}
	case 1:
		return simulated.Collapse{CapacityFramesPerSecond: capacity}
	}
	return simulated.SoftKnee{
		KneeFramesPerSecond:     capacity * (0.3 + 0.69*random.Float64()),
		CapacityFramesPerSecond: capacity, MaxLossRatio: random.Float64() * 0.1,
	}
}

// For steady devices the truth is between the bounds of every goal. A trial cannot see a loss of
// less than half a frame, so the lower bound may exceed the truth by the load that this hides.
func TestTruthIsBetweenTheBounds(t *testing.T) {
	for name, goals := range goalSets() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				device := cleanDevice(rand.New(rand.NewPCG(seed, 1)))
				history, results := run(t, config(goals...), simulate(device, seed))
				for i, r := range results {
					truth := device.Limit(goals[i].LossRatio)
					half := 0.5 / (truth * goals[i].FinalTrial.Seconds())
					visible := device.Limit(goals[i].LossRatio + half)
					low, high := float64(r.LowerBoundFramesPerSecond), float64(r.UpperBoundFramesPerSecond)
					if !r.Regular || low > visible+2 || high < truth-2 {
						t.Fatalf("seed %d, %+v: truth %.0f is not in %+v after %d trials", seed, device, truth, r, len(history))
					}
					if high-low > goals[i].RelativeWidth*high {
						t.Fatalf("seed %d: %+v is wider than %v", seed, r, goals[i].RelativeWidth)
					}
				}
			}
		})
	}
}

// unsteady returns the devices that have no single truth.
func unsteady() map[string]simulated.Device {
	limit := simulated.HardCap{CapacityFramesPerSecond: 8e6}
	knee := simulated.SoftKnee{KneeFramesPerSecond: 6e6, CapacityFramesPerSecond: 8e6, MaxLossRatio: 0.02}
	return map[string]simulated.Device{
		"quiet":  simulated.Noisy{Device: limit, Strength: simulated.Quiet},
		"mild":   simulated.Noisy{Device: knee, Strength: simulated.Mild},
		"strong": simulated.Noisy{Device: knee, Strength: simulated.Strong},
		"two bands": simulated.TwoBands{
			FromFramesPerSecond: 3e6, ToFramesPerSecond: 5e6, CapacityFramesPerSecond: 8e6, LossRatio: 0.003},
		"inverting":    simulated.Inverting{CapacityFramesPerSecond: 8e6, IdleLossRatio: 0.01},
		"slowing down": simulated.SlowingDown{CapacityFramesPerSecond: 8e6, HalfLife: 20 * time.Second},
	}
}

// manyTrials is more than any of these searches needs; a search that moves by single widths takes
// more.
const manyTrials = 250

// Whatever the device does, the search ends, and a result claims to be regular only when its
// bounds confirm it.
func TestUnsteadyDevicesEnd(t *testing.T) {
	for goalsName, goals := range goalSets() {
		for name, device := range unsteady() {
			t.Run(goalsName+"/"+name, func(t *testing.T) {
				for seed := range uint64(20) {
					history, results := run(t, config(goals...), simulate(device, seed))
					if len(history) > manyTrials {
						t.Errorf("seed %d: took %d trials", seed, len(history))
					}
					checkClaims(t, config(goals...), history, results)
				}
			})
		}
	}
}

// With confirmation, no regular result has a lower bound older than its upper bound, and a steady
// device needs at most one more trial per goal.
func TestConfirmLowerBounds(t *testing.T) {
	for name, device := range unsteady() {
		for seed := range uint64(20) {
			cfg := config(Lab()...)
			cfg.ConfirmLowerBounds = true
			history, results := run(t, cfg, simulate(device, seed))
			checkClaims(t, cfg, history, results)
			for _, r := range results {
				if r.Regular && last(history, r.LowerBoundFramesPerSecond) < first(history, r.UpperBoundFramesPerSecond) {
					t.Errorf("%s, seed %d: %+v was not confirmed", name, seed, r)
				}
			}
		}
	}
	for seed := range uint64(50) {
		device := cleanDevice(rand.New(rand.NewPCG(seed, 6)))
		cfg := config(Lab()...)
		without, _ := run(t, cfg, simulate(device, seed))
		cfg.ConfirmLowerBounds = true
		if with, _ := run(t, cfg, simulate(device, seed)); len(with) > len(without)+len(cfg.Goals) {
			t.Errorf("seed %d: %d trials with confirmation and %d without", seed, len(with), len(without))
		}
	}
}

func last(history []Trial, load uint64) int {
	at := -1
	for i, trial := range history {
		if trial.LoadFramesPerSecond == load {
			at = i
		}
	}
	return at
}

func first(history []Trial, load uint64) int {
	return slices.IndexFunc(history, func(trial Trial) bool { return trial.LoadFramesPerSecond == load })
}

// A device that keeps slowing down has no throughput: the search says so, or returns what the
// device did last.
func TestSlowingDownIsNotFlattered(t *testing.T) {
	for _, halfLife := range []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute} {
		device := simulated.SlowingDown{CapacityFramesPerSecond: 8e6, HalfLife: halfLife}
		cfg := config(Lab()...)
		cfg.ConfirmLowerBounds, cfg.MaxSearch = true, time.Minute
		driver := simulate(device, 1)
		history, results := run(t, cfg, driver)
		for _, r := range results {
			at := time.Duration(last(history, r.LowerBoundFramesPerSecond)) * time.Second
			answer := device.Answer(simulated.Question{FramesPerSecond: float64(r.LowerBoundFramesPerSecond), Since: at})
			if r.Regular && answer.LossRatio > 0.001 {
				t.Errorf("half-life %v: %+v, but the device loses %v there at %v", halfLife, r, answer.LossRatio, at)
			}
			t.Logf("half-life %v: %d trials, %+v", halfLife, len(history), r)
		}
	}
}

// checkClaims recomputes from the trials what results say.
func checkClaims(t testing.TB, cfg Config, history []Trial, results []Result) {
	t.Helper()
	s, err := newState(cfg, history)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		goal := s.chains[i][len(s.chains[i])-1]
		low, high := r.LowerBoundFramesPerSecond, r.UpperBoundFramesPerSecond
		if r.Regular && (low == 0 || high == 0 || low >= high || float64(high-low) > goal.width*float64(high)) {
			t.Errorf("%+v claims to be regular", r)
		}
		if r.Regular == (r.Irregularity != none) {
			t.Errorf("%+v contradicts itself", r)
		}
		if low > 0 && goal.classify(s.trials[low]) != LowerBound || high > 0 && goal.classify(s.trials[high]) != UpperBound {
			t.Errorf("%+v: a bound is not one", r)
		}
		if r.ConditionalThroughputFramesPerSecond > float64(low) {
			t.Errorf("%+v: more throughput than load", r)
		}
	}
}

// A measurer may stop at any point: a search that resumes from the history makes the same
// decisions, and asking twice changes nothing.
func TestResume(t *testing.T) {
	for name, goals := range goalSets() {
		t.Run(name, func(t *testing.T) {
			device := simulated.Noisy{
				Device:   simulated.SoftKnee{KneeFramesPerSecond: 6e6, CapacityFramesPerSecond: 8e6, MaxLossRatio: 0.02},
				Strength: simulated.Strong,
			}
			history, results := run(t, config(goals...), simulate(device, 3))
			for i := range len(history) + 1 {
				copied := append([]Trial(nil), history[:i]...)
				step, err := Next(config(goals...), copied)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(copied, history[:i]) && i > 0 {
					t.Fatalf("step %d changed its history", i)
				}
				if i == len(history) {
					if !step.Done || !reflect.DeepEqual(step.Results, results) {
						t.Fatalf("got %+v at the end, want %+v", step, results)
					}
					return
				}
				if step.LoadFramesPerSecond != history[i].LoadFramesPerSecond || step.Duration != history[i].Duration {
					t.Fatalf("step %d: got %d for %v, want %d for %v", i,
						step.LoadFramesPerSecond, step.Duration, history[i].LoadFramesPerSecond, history[i].Duration)
				}
			}
		})
	}
}

// FuzzTermination answers trials with arbitrary bytes: no history may make the search fail, leave
// its limits or continue permanently.
func FuzzTermination(f *testing.F) {
	f.Add(uint64(1), []byte{0})
	f.Add(uint64(2), []byte{0, 255, 0, 255})
	f.Add(uint64(3), []byte{1, 2, 3, 128, 0, 64})
	sets := goalSets()
	names := []string{"strict", "lab", "rfc2544", "tst009", "csit", "five seconds", "growing trials", "rfc2544 quicker"}
	f.Fuzz(func(t *testing.T, seed uint64, losses []byte) {
		if len(losses) == 0 {
			losses = []byte{0}
		}
		random := rand.New(rand.NewPCG(seed, 2))
		cfg := config(sets[names[random.IntN(len(names))]]...)
		cfg.MinimumFramesPerSecond = 1 + random.Uint64N(10_000)
		cfg.MaximumFramesPerSecond = cfg.MinimumFramesPerSecond + random.Uint64N(20_000_000)
		history, results := arbitrary(t, cfg, random, losses)
		checkClaims(t, cfg, history, results)
	})
}

// arbitrary runs a search whose losses are given, and sometimes its unsent frames.
func arbitrary(t *testing.T, cfg Config, random *rand.Rand, losses []byte) ([]Trial, []Result) {
	var history []Trial
	for {
		step, err := Next(cfg, history)
		if err != nil {
			t.Fatal(err)
		}
		if step.Done {
			return history, step.Results
		}
		if len(history) > DefaultMaxTrials || step.LoadFramesPerSecond < cfg.MinimumFramesPerSecond ||
			step.LoadFramesPerSecond > cfg.MaximumFramesPerSecond {
			t.Fatalf("step %d to load %d", len(history), step.LoadFramesPerSecond)
		}
		loss := float64(losses[random.IntN(len(losses))]) / 255
		trial := Trial{LoadFramesPerSecond: step.LoadFramesPerSecond, Duration: step.Duration, LossRatio: loss * loss * loss}
		if random.IntN(8) == 0 {
			trial.UnsentRatio = random.Float64() * 0.01
		}
		history = append(history, trial)
	}
}

func TestTerminationForManySeeds(t *testing.T) {
	sets := goalSets()
	for name, goals := range sets {
		longest := 0
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 4))
			losses := make([]byte, 1+random.IntN(8))
			for i := range losses {
				losses[i] = byte(random.UintN(256) * random.UintN(2))
			}
			history, results := arbitrary(t, config(goals...), random, losses)
			checkClaims(t, config(goals...), history, results)
			longest = max(longest, len(history))
		}
		t.Logf("%s: at most %d trials of arbitrary outcomes", name, longest)
	}
}
