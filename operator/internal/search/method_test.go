package search

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/traffic/simulated"
)

// single returns two goals that one trial decides.
func single(trial time.Duration) []Goal {
	return pair(Goal{RelativeWidth: 0.005, FinalTrial: trial, DurationSum: trial}, 0.005)
}

// methodConfigs returns the searches other than MLRsearch.
func methodConfigs() map[string]Config {
	with := func(method Method, goals ...Goal) Config {
		cfg := config(goals...)
		cfg.Method = method
		return cfg
	}
	quick := single(time.Minute)
	for i := range quick {
		quick[i].InitialTrial = time.Second
	}
	verified := with(TST009WithLossVerification, single(10*time.Second)...)
	verified.LossVerification = LossVerification{MaximumRepeats: 2, LossThresholdFrames: new(uint64(1000))}
	confirmed := with(RFC2544Bisection, single(time.Minute)...)
	confirmed.ConfirmLowerBounds = true
	return map[string]Config{
		"rfc2544": with(RFC2544Bisection, single(time.Minute)...), "rfc2544 quick": with(RFC2544Bisection, quick...),
		"rfc2544 confirmed": confirmed,
		"tst009":            with(TST009BinarySearch, single(10*time.Second)...), "tst009 verified": verified,
	}
}

// For steady devices the truth is between adjacent bounds, as near as the goal's width or one
// step.
func TestMethodsFindTheTruth(t *testing.T) {
	for name, cfg := range methodConfigs() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				device := cleanDevice(rand.New(rand.NewPCG(seed, 8)))
				history, results := run(t, cfg, simulate(device, seed))
				for i, r := range results {
					goal := cfg.Goals[i]
					if r.Irregularity == BelowMinimumLoad && cfg.Method.indexed() && device.Limit(goal.LossRatio) < cfg.step(goal) {
						continue
					}
					truth := device.Limit(goal.LossRatio)
					visible := device.Limit(goal.LossRatio + 0.5/(truth*goal.FinalTrial.Seconds()))
					low, high := float64(r.LowerBoundFramesPerSecond), float64(r.UpperBoundFramesPerSecond)
					gap := goal.RelativeWidth * high
					if cfg.Method.indexed() {
						gap = cfg.step(goal) + 1
					}
					if !r.Regular || low > visible+2 || high < truth-2 || high-low > gap {
						t.Fatalf("seed %d, %+v: truth %.0f is not in %+v after %d trials", seed, device, truth, r, len(history))
					}
					if cfg.longest(r.LowerBoundFramesPerSecond, history) < goal.FinalTrial {
						t.Fatalf("seed %d: %+v was not confirmed at full length", seed, r)
					}
				}
			}
		})
	}
}

func (c Config) step(g Goal) float64 {
	return float64(c.MaximumFramesPerSecond) / float64(steps(g.RelativeWidth))
}

func (c Config) longest(load uint64, history []Trial) time.Duration {
	longest := time.Duration(0)
	for _, trial := range history {
		if trial.LoadFramesPerSecond == load {
			longest = max(longest, trial.Duration)
		}
	}
	return longest
}

// Whatever trials say, every method ends, and a search that resumes from a part of the history
// makes the same decisions.
func TestMethodsEndAndResume(t *testing.T) {
	for name, cfg := range methodConfigs() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				random := rand.New(rand.NewPCG(seed, 9))
				losses := make([]byte, 1+random.IntN(8))
				for i := range losses {
					losses[i] = byte(random.UintN(256) * random.UintN(2))
				}
				history, results := arbitrary(t, cfg, random, losses)
				if len(history) > manyTrials {
					t.Errorf("seed %d: took %d trials", seed, len(history))
				}
				for _, r := range results {
					if low, high := r.LowerBoundFramesPerSecond, r.UpperBoundFramesPerSecond; r.Regular && (low == 0 || low >= high) ||
						r.Regular == (r.Irregularity != none) || r.ConditionalThroughputFramesPerSecond > float64(low) {
						t.Fatalf("seed %d: %+v contradicts itself", seed, r)
					}
				}
				at := random.IntN(len(history))
				step, err := Next(cfg, append([]Trial(nil), history[:at]...))
				if err != nil || step.LoadFramesPerSecond != history[at].LoadFramesPerSecond || step.Duration != history[at].Duration {
					t.Fatalf("seed %d: resumed with %+v, %v; want %+v", seed, step, err, history[at])
				}
				if again, err := Next(cfg, history); err != nil || !again.Done || !reflect.DeepEqual(again.Results, results) {
					t.Fatalf("seed %d: got %+v, %v at the end, want %+v", seed, again, err, results)
				}
			}
		})
	}
}

// TestHalvingLooksHigher checks that halving notices a device that loses in one band of loads, or
// at all low ones, and asks for at most two more trials of any other device.
func TestHalvingLooksHigher(t *testing.T) {
	cfg := Config{Goals: Lab(), Method: RFC2544Bisection, MinimumFramesPerSecond: 9001, MaximumFramesPerSecond: 14_880_952}
	for name, test := range map[string]struct {
		device  simulated.Device
		inverts bool
		higher  int
	}{
		"in the band":          {simulated.TwoBands{FromFramesPerSecond: 4.5e6, ToFramesPerSecond: 7.5e6, CapacityFramesPerSecond: 12e6, LossRatio: 0.003}, true, 1},
		"outside the band":     {simulated.TwoBands{FromFramesPerSecond: 3e6, ToFramesPerSecond: 5e6, CapacityFramesPerSecond: 8e6, LossRatio: 0.003}, false, 0},
		"less loss when busy":  {simulated.Inverting{CapacityFramesPerSecond: 10e6, IdleLossRatio: 0.01}, true, 1},
		"a cap":                {simulated.HardCap{CapacityFramesPerSecond: 8e6}, false, 0},
		"a knee, in two loads": {simulated.SoftKnee{KneeFramesPerSecond: 5e6, CapacityFramesPerSecond: 8e6, MaxLossRatio: 0.02}, false, 2},
		"a collapse":           {simulated.Collapse{CapacityFramesPerSecond: 8e6}, false, 0},
	} {
		history, results := run(t, cfg, simulate(test.device, 1))
		higher := 0
		for i, trial := range history {
			step, err := Next(cfg, history[:i])
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(step.Why, "loses less") && step.LoadFramesPerSecond == trial.LoadFramesPerSecond {
				higher++
			}
		}
		limited, ok := test.device.(interface{ Limit(float64) float64 })
		for i, r := range results {
			if (r.LossInversionFramesPerSecond > 0) != test.inverts || !test.inverts && !r.Regular {
				t.Errorf("%s: got %+v", name, r)
			}
			if ok {
				limit := limited.Limit(cfg.Goals[i].LossRatio)
				// A trial does not see a loss of less than a frame, which is just above a knee.
				if float64(r.LowerBoundFramesPerSecond) > limit*1.002 || float64(r.UpperBoundFramesPerSecond) < limit {
					t.Errorf("%s: got %+v around %v", name, r, limit)
				}
			}
		}
		if higher != test.higher {
			t.Errorf("%s: %d trials at higher loads, want %d", name, higher, test.higher)
		}
	}
}

// The estimate ends at zero and is right for a steady device from the start of its last steps.
func TestMethodsRemaining(t *testing.T) {
	for name, cfg := range methodConfigs() {
		history, _ := run(t, cfg, simulate(simulated.HardCap{CapacityFramesPerSecond: 8e6}, 1))
		for i := range len(history) + 1 {
			got, err := Remaining(cfg, history[:i])
			if left := len(history) - i; err != nil || (got.Trials == 0) != (left == 0) || got.Trials > 3*len(history) {
				t.Errorf("%s: got %+v, %v with %d trials left", name, got, err, left)
			}
		}
	}
}

// The loads are those of TST 009: the middle index first, then the middle of what is left.
func TestBinarySearchSteps(t *testing.T) {
	cfg := Config{
		Goals: []Goal{{Name: "NDR", RelativeWidth: 0.125, FinalTrial: time.Second, DurationSum: time.Second}}, Method: TST009BinarySearch,
		MinimumFramesPerSecond: 1, MaximumFramesPerSecond: 800,
	}
	tests := map[string]struct {
		capacity   float64
		loads      []uint64
		low, high  uint64
		irregular  Irregularity
		upperCause Cause
	}{
		"between":      {550, []uint64{400, 600, 500}, 500, 600, none, DeviceLoss},
		"just a step":  {600, []uint64{400, 600, 700}, 600, 700, none, DeviceLoss},
		"everything":   {800, []uint64{400, 600, 700, 800}, 800, 0, NoUpperBound, MaximumLoad},
		"nothing":      {50, []uint64{400, 200, 100}, 0, 100, BelowMinimumLoad, DeviceLoss},
		"the first":    {150, []uint64{400, 200, 100}, 100, 200, none, DeviceLoss},
		"the last one": {750, []uint64{400, 600, 700, 800}, 700, 800, none, DeviceLoss},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			history, results := run(t, cfg, simulate(simulated.HardCap{CapacityFramesPerSecond: test.capacity}, 1))
			var loads []uint64
			for _, trial := range history {
				loads = append(loads, trial.LoadFramesPerSecond)
			}
			r := results[0]
			if !reflect.DeepEqual(loads, test.loads) || r.LowerBoundFramesPerSecond != test.low || r.UpperBoundFramesPerSecond != test.high ||
				r.Irregularity != test.irregular || r.UpperBoundCause != test.upperCause {
				t.Errorf("got %+v by loads %v, want %+v", r, loads, test)
			}
		})
	}
}

func TestLossVerification(t *testing.T) {
	goal := Goal{Name: "NDR", RelativeWidth: 0.5, FinalTrial: time.Second, DurationSum: time.Second}
	cfg := Config{
		Goals: []Goal{goal}, Method: TST009WithLossVerification, MinimumFramesPerSecond: 1, MaximumFramesPerSecond: 2000,
		LossVerification: LossVerification{MaximumRepeats: 2, LossThresholdFrames: new(uint64(100))},
	}
	lossy := func(frames uint64) Trial {
		return Trial{LoadFramesPerSecond: 1000, Duration: time.Second, LossRatio: float64(frames) / 1000, LostFrames: frames}
	}
	for name, test := range map[string]struct {
		history []Trial
		load    uint64
		done    bool
	}{
		"first":                 {nil, 1000, false},
		"a loss is repeated":    {[]Trial{lossy(1)}, 1000, false},
		"twice":                 {[]Trial{lossy(1), lossy(100)}, 1000, false},
		"but no more":           {[]Trial{lossy(1), lossy(1), lossy(1)}, 0, true},
		"a large one is not":    {[]Trial{lossy(101)}, 0, true},
		"nor a large second":    {[]Trial{lossy(1), lossy(500)}, 0, true},
		"the first pass counts": {[]Trial{lossy(1), lossy(0)}, 2000, false},
	} {
		if step, err := Next(cfg, test.history); err != nil || step.Done != test.done || step.LoadFramesPerSecond != test.load {
			t.Errorf("%s: got %+v, %v; want load %d", name, step, err, test.load)
		}
	}
	step, err := Next(cfg, []Trial{lossy(1), lossy(0), {LoadFramesPerSecond: 2000, Duration: time.Second, LossRatio: 0.5, LostFrames: 1000}})
	if err != nil || !step.Done || step.Results[0].ConditionalThroughputFramesPerSecond != 1000 {
		t.Errorf("got %+v, %v; want the throughput of the trial that passed", step, err)
	}
}

func TestMethodsNameTheGeneratorsLimit(t *testing.T) {
	for name, cfg := range methodConfigs() {
		_, results := run(t, cfg, simulated.New(simulated.Config{
			Device: simulated.HardCap{CapacityFramesPerSecond: 20e6}, GeneratorFramesPerSecond: 5e6}))
		for _, r := range results {
			if r.UpperBoundCause != GeneratorCeiling || !r.AtLeast() || math.Abs(r.ConditionalThroughputFramesPerSecond-5e6) > 80_000 {
				t.Errorf("%s: got %+v, want at least 5 million by the generator", name, r)
			}
		}
	}
}

// Goals that a limit leaves no time for are in the results, with the reason.
func TestMethodsRunOutOfTime(t *testing.T) {
	for name, cfg := range methodConfigs() {
		cfg.MaxSearch = 62 * time.Second
		cfg.Goals[0].FinalTrial, cfg.Goals[0].DurationSum = time.Minute, time.Minute
		driver := simulate(simulated.HardCap{CapacityFramesPerSecond: 7.77e6}, 1)
		_, results := run(t, cfg, driver)
		if r := results[0]; driver.Elapsed() > cfg.MaxSearch || r.Irregularity != OutOfTime {
			t.Errorf("%s: got %+v after %v, want irregularity OutOfTime", name, r, driver.Elapsed())
		}
		if r := results[1]; len(results) != 2 || r.Regular || r.Conclusive() {
			t.Errorf("%s: got %+v for a goal that was not reached", name, results)
		}
	}
}

// If a device fails at full length what it passed in a second, the search continues at full
// length.
func TestShortTrialsDoNotDecide(t *testing.T) {
	cfg := methodConfigs()["rfc2544 quick"]
	cfg.Goals = cfg.Goals[:1]
	history, results := run(t, cfg, simulate(tiring{}, 1))
	r := results[0]
	if truth := 3e6; !r.Regular || float64(r.LowerBoundFramesPerSecond) > truth || float64(r.UpperBoundFramesPerSecond) < truth {
		t.Errorf("got %+v after %d trials, want bounds around %.0f", r, len(history), truth)
	}
}

// tiring forwards 8 million frames/s for a while, and then 3 million.
type tiring struct{}

func (tiring) Answer(q simulated.Question) simulated.Answer {
	capacity := 8e6
	if q.Duration > 10*time.Second {
		capacity = 3e6
	}
	return simulated.HardCap{CapacityFramesPerSecond: capacity}.Answer(q)
}

func TestMethodIsChecked(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"unknown":           func(c *Config) { c.Method = "Guess" },
		"exceed ratio":      func(c *Config) { c.Goals[0].ExceedRatio = 0.5 },
		"duration sum":      func(c *Config) { c.Goals[0].DurationSum *= 2 },
		"preceding targets": func(c *Config) { c.Goals[0].PrecedingTargets = 1 },
		"repeats":           func(c *Config) { c.LossVerification.MaximumRepeats = -1 },
	} {
		for method, cfg := range methodConfigs() {
			change(&cfg)
			if _, err := Next(cfg, nil); !errors.Is(err, ErrConfig) {
				t.Errorf("%s, %s: got %v, want ErrConfig", method, name, err)
			}
		}
	}
}
