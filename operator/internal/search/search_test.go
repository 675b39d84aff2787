package search

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func TestFirstSteps(t *testing.T) {
	cfg := config(Lab()...)
	driver := simulate(simulated.HardCap{CapacityFramesPerSecond: 8e6}, 1)
	var loads []uint64
	history, _ := run(t, cfg, driver)
	for _, trial := range history {
		loads = append(loads, trial.LoadFramesPerSecond)
	}
	if len(loads) < 2 || loads[0] != linkFramesPerSecond || loads[1] != 8_000_000 {
		t.Errorf("got loads %v, want the maximum load and then the rate forwarded there", loads)
	}
}

func TestCauses(t *testing.T) {
	tests := map[string]struct {
		cfg          simulated.Config
		cause        Cause
		irregularity Irregularity
		conclusive   bool
		atLeast      bool
		truth        float64
	}{
		"the device loses": {
			cfg: simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 8e6}}, cause: DeviceLoss, conclusive: true, truth: 8e6},
		"the generator cannot send more": {
			cfg:   simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 8e6}, GeneratorFramesPerSecond: 5e6},
			cause: GeneratorCeiling, conclusive: true, atLeast: true, truth: 5e6},
		"the generator is only a little faster": {
			cfg:   simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 8e6}, GeneratorFramesPerSecond: 9e6},
			cause: DeviceLoss, conclusive: true, truth: 8e6},
		"the maximum load passes": {
			cfg:   simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 2e7}},
			cause: MaximumLoad, irregularity: NoUpperBound, conclusive: true, atLeast: true, truth: linkFramesPerSecond},
		"not even the minimum load passes": {
			cfg:   simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 5000}},
			cause: DeviceLoss, irregularity: BelowMinimumLoad, conclusive: true},
		"nothing passes at all": {
			cfg:   simulated.Config{Device: simulated.HardCap{}},
			cause: DeviceLoss, irregularity: BelowMinimumLoad, conclusive: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			history, results := run(t, config(Lab()...), simulated.New(test.cfg))
			if len(history) > 6 {
				t.Errorf("took %d trials", len(history))
			}
			for _, r := range results {
				if r.UpperBoundCause != test.cause || r.Irregularity != test.irregularity {
					t.Errorf("%s: got cause %q and irregularity %q, want %q and %q",
						r.Goal, r.UpperBoundCause, r.Irregularity, test.cause, test.irregularity)
				}
				if r.Regular != (test.irregularity == none) || r.Conclusive() != test.conclusive || r.AtLeast() != test.atLeast {
					t.Errorf("%s: got regular %t, conclusive %t, at least %t", r.Goal, r.Regular, r.Conclusive(), r.AtLeast())
				}
				if got := r.ConditionalThroughputFramesPerSecond; math.Abs(got-test.truth) > 0.02*test.truth {
					t.Errorf("%s: got conditional throughput %v, want about %v", r.Goal, got, test.truth)
				}
			}
		})
	}
}

// A generator that misses a few frames within the tolerance must not bound the
// device, and its missing frames must not raise the throughput.
func TestUnsentWithinTolerance(t *testing.T) {
	cfg := config(Lab()...)
	step, err := Next(cfg, []Trial{{LoadFramesPerSecond: linkFramesPerSecond, Duration: time.Second, UnsentRatio: 0.0005}})
	if err != nil || !step.Done {
		t.Fatalf("got %+v, %v; want done", step, err)
	}
	r := step.Results[0]
	if want := linkFramesPerSecond * 0.9995; r.UpperBoundCause != MaximumLoad || math.Abs(r.ConditionalThroughputFramesPerSecond-want) > 1 {
		t.Errorf("got %+v, want cause MaximumLoad and throughput %v", r, want)
	}
}

func TestLimits(t *testing.T) {
	knee := simulated.SoftKnee{KneeFramesPerSecond: 6e6, CapacityFramesPerSecond: 8e6, MaxLossRatio: 0.02}
	tests := map[string]struct {
		change func(*Config)
		want   Irregularity
		trials int
	}{
		"trials": {func(c *Config) { c.MaxTrials = 4 }, OutOfTrials, 4},
		"time":   {func(c *Config) { c.MaxSearch = 5500 * time.Millisecond }, OutOfTime, 5},
		// Each trial's cost includes the driver's overhead of half a second.
		"time with overhead": {func(c *Config) { c.MaxSearch, c.TrialOverhead = 6*time.Second, time.Second/2 }, OutOfTime, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := config(Lab()...)
			test.change(&cfg)
			driver := simulated.New(simulated.Config{Device: knee, Overhead: cfg.TrialOverhead})
			history, results := run(t, cfg, driver)
			if len(history) != test.trials || driver.Elapsed() > cfg.MaxSearch && cfg.MaxSearch > 0 {
				t.Errorf("got %d trials in %v, want %d", len(history), driver.Elapsed(), test.trials)
			}
			for _, r := range results {
				if r.Regular || r.Irregularity != test.want || r.Conclusive() {
					t.Errorf("%s: got %+v, want irregularity %s", r.Goal, r, test.want)
				}
			}
		})
	}
}

// Whole frames per second can be too coarse for a width.
func TestLoadResolution(t *testing.T) {
	cfg := Config{Goals: []Goal{RFC2544(0.001)}, MinimumFramesPerSecond: 1, MaximumFramesPerSecond: 100}
	cfg.MaxSearch = time.Hour
	_, results := run(t, cfg, simulate(simulated.HardCap{CapacityFramesPerSecond: 41.5}, 1))
	if r := results[0]; r.Irregularity != LoadResolution || r.LowerBoundFramesPerSecond != 41 || r.UpperBoundFramesPerSecond != 42 {
		t.Errorf("got %+v, want bounds 41 and 42 and irregularity LoadResolution", r)
	}
}

func TestFromOutcome(t *testing.T) {
	asked := measure.Trial{IntendedFramesPerSecond: 1000, DurationNanoseconds: 1e9}
	good := measure.Outcome{TotalNanoseconds: 3e9, Directions: []measure.DirectionOutcome{
		{Direction: measure.Forward, IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 990},
		{Direction: measure.Reverse, IntendedFrames: 1000, SentFrames: 980, ReceivedFrames: 980},
	}}
	want := Trial{LoadFramesPerSecond: 1000, Duration: time.Second, Cost: 3 * time.Second, LossRatio: 0.01, LostFrames: 10, UnsentRatio: 0.02}
	if got, err := FromOutcome(asked, good); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	doubted := good
	doubted.Doubts = []measure.Doubt{{Code: measure.DoubtReceiveDrops, Invalid: true}}
	silent := measure.Outcome{Directions: []measure.DirectionOutcome{{Direction: measure.Forward, IntendedFrames: 1000}}}
	for name, refused := range map[string]struct {
		asked measure.Trial
		got   measure.Outcome
	}{
		"doubted": {asked, doubted}, "silent": {asked, silent}, "empty": {asked, measure.Outcome{}},
		"as fast as possible": {measure.Trial{DurationNanoseconds: 1e9}, good},
	} {
		if _, err := FromOutcome(refused.asked, refused.got); !errors.Is(err, ErrInvalidTrial) {
			t.Errorf("%s: got %v, want ErrInvalidTrial", name, err)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no goals":         func(c *Config) { c.Goals = nil },
		"same names":       func(c *Config) { c.Goals = append(c.Goals, c.Goals[0]) },
		"no minimum":       func(c *Config) { c.MinimumFramesPerSecond = 0 },
		"limits swapped":   func(c *Config) { c.MaximumFramesPerSecond = 1 },
		"huge maximum":     func(c *Config) { c.MaximumFramesPerSecond = math.MaxUint64 },
		"tolerance":        func(c *Config) { c.UnsentTolerance = 1 },
		"negative limit":   func(c *Config) { c.MaxTrials = -1 },
		"loss ratio":       func(c *Config) { c.Goals[0].LossRatio = math.NaN() },
		"exceed ratio":     func(c *Config) { c.Goals[0].ExceedRatio = 1 },
		"no width":         func(c *Config) { c.Goals[0].RelativeWidth = 0 },
		"no trial":         func(c *Config) { c.Goals[0].FinalTrial = 0 },
		"sum below trial":  func(c *Config) { c.Goals[0].DurationSum = time.Millisecond },
		"initial too long": func(c *Config) { c.Goals[0].InitialTrial = time.Hour },
		"too many targets": func(c *Config) { c.Goals[0].PrecedingTargets = 9 },
	} {
		cfg := config(Lab()...)
		change(&cfg)
		if _, err := Next(cfg, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %v, want ErrConfig", name, err)
		}
		if _, err := Remaining(cfg, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: Remaining got %v, want ErrConfig", name, err)
		}
	}
}

func TestHistoryIsChecked(t *testing.T) {
	good := Trial{LoadFramesPerSecond: 10_000, Duration: time.Second}
	for name, change := range map[string]func(*Trial){
		"load too low":  func(tr *Trial) { tr.LoadFramesPerSecond = 1 },
		"load too high": func(tr *Trial) { tr.LoadFramesPerSecond = linkFramesPerSecond + 1 },
		"no duration":   func(tr *Trial) { tr.Duration = 0 },
		"loss":          func(tr *Trial) { tr.LossRatio = math.NaN() },
		"unsent":        func(tr *Trial) { tr.UnsentRatio = 1.1 },
	} {
		bad := good
		change(&bad)
		if _, err := Next(config(Lab()...), []Trial{good, bad}); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: got %v, want ErrHistory", name, err)
		}
	}
}

// A load whose trials agree is decided by the time that its class needs, to the millisecond.
// Trials are not longer than asked for where they disagree or are few.
func TestRestOfTheTime(t *testing.T) {
	low, high := Trial{Duration: time.Second}, Trial{Duration: time.Second, LossRatio: 0.1}
	times := func(n int, trial Trial) []Trial { return slices.Repeat([]Trial{trial}, n) }
	for name, test := range map[string]struct {
		sum    time.Duration
		exceed float64
		trials []Trial
		want   time.Duration
	}{
		"nothing yet":                     {21 * time.Second, 0.5, nil, 0},
		"two trials left":                 {21 * time.Second, 0.5, times(8, low), 0},
		"a rest of low loss":              {21 * time.Second, 0.5, times(9, low), 501 * time.Millisecond},
		"a rest of high loss":             {21 * time.Second, 0.5, times(9, high), 501 * time.Millisecond},
		"more low than high":              {21 * time.Second, 0.5, append(times(9, low), times(8, high)...), 0},
		"more high than low":              {21 * time.Second, 0.5, append(times(8, low), times(9, high)...), 0},
		"a hair more than a whole number": {20 * time.Second, 0.5, times(9, high), time.Millisecond},
		"beyond the sum":                  {16 * time.Second, 0.25, append(times(4, high), times(11, low)...), 0},
		"no exceed ratio, whole number":   {20 * time.Second, 0, times(19, low), 0},
		"no exceed ratio, a rest":         {20500 * time.Millisecond, 0, times(19, low), 500 * time.Millisecond},
		"too few trials":                  {5 * time.Second, 0.5, times(1, low), 0},
	} {
		goal := target{trial: time.Second, sum: test.sum, exceedRatio: test.exceed}
		if got := goal.rest(test.trials); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// A hard limit needs three loads for NDR and PDR, and CSIT's goals a little more than 10.5 s for
// each, in addition to the trial at the maximum load.
// A lower bound's figure that a single bad trial determines gets one trial more, within the
// duration sum, but only where there is time.
func TestOutlier(t *testing.T) {
	goal := goalTarget(CSIT()[1])
	steady, worst := many(9, time.Second, 0.001), many(1, 1501*time.Millisecond, 0.003)
	for name, c := range map[string]struct {
		trials []Trial
		want   bool
	}{
		"one is worse":                {slices.Concat(worst, steady), true},
		"all alike":                   {slices.Concat(steady, many(1, 1501*time.Millisecond, 0.00101)), false},
		"one is better":               {slices.Concat(steady, many(1, 1501*time.Millisecond, 0)), false},
		"two are worse":               {slices.Concat(worst, worst, steady), false},
		"one more has come":           {slices.Concat(worst, many(11, time.Second, 0.001)), false},
		"high-loss ones do not count": {slices.Concat(many(12, time.Second, 0.001), many(2, time.Second, 0.02)), false},
		"no time is left":             {slices.Concat(many(9, 2250*time.Millisecond, 0.001), many(1, 400*time.Millisecond, 0.003)), false},
		"a single trial":              {many(1, 21*time.Second, 0.003), false},
	} {
		if got := goal.outlying(c.trials); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if few := goalTarget(Goal{RelativeWidth: 0.005, LossRatio: 0.005, ExceedRatio: 0.5, FinalTrial: time.Second, DurationSum: 5 * time.Second}); few.outlying(slices.Concat(steady[:2], many(1, time.Second, 0.003))) {
		t.Error("few trials are as many as the goal asks for")
	}
}

// With an outlier the search asks for one trial more, at the lower bound, and ends where the
// outlier no longer counts. Out of trials, the result is unchanged.
func TestOutlierIsTriedAgain(t *testing.T) {
	const limit = 8_000_000
	cfg := config(CSIT()[1])
	outlier := func(cfg Config) (trials int, result Result) {
		var history []Trial
		bad := false
		for {
			step, err := Next(cfg, history)
			if err != nil {
				t.Fatal(err)
			}
			if step.Done {
				return len(history), step.Results[0]
			}
			trial := Trial{LoadFramesPerSecond: step.LoadFramesPerSecond, Duration: step.Duration}
			trial.LossRatio = max(0, 1-limit/float64(step.LoadFramesPerSecond))
			// The first low-loss trial of the expected lower bound.
			if !bad && trial.LossRatio < 0.005 && len(history) > 1 {
				trial.LossRatio, bad = trial.LossRatio+0.0005, true
			}
			history = append(history, trial)
		}
	}
	trials, got := outlier(cfg)
	if !got.Regular || math.Abs(got.ConditionalThroughputFramesPerSecond-limit) > 2 {
		t.Errorf("after %d trials: %+v, want %d", trials, got, limit)
	}
	cfg.MaxTrials = trials - 1
	short, without := outlier(cfg)
	if short != trials-1 || !without.Regular || without.ConditionalThroughputFramesPerSecond > limit*0.9996 {
		t.Errorf("after %d trials: %+v, want a regular result that is the outlier's", short, without)
	}
}

func TestAHardLimitTakesNoMoreThanItMust(t *testing.T) {
	driver := simulate(simulated.HardCap{CapacityFramesPerSecond: 8e6}, 1)
	history, results := run(t, config(CSIT()...), driver)
	if want := time.Second + 3*10501*time.Millisecond; driver.Elapsed() != want {
		t.Errorf("took %v in %d trials, want %v", driver.Elapsed(), len(history), want)
	}
	for _, r := range results {
		if !r.Regular {
			t.Errorf("%+v is not regular", r)
		}
	}
}

// TestLossThatRisesBelow checks that a device that loses the more, the lower the load is, is left for the minimum
// load in few trials, where deciding that load alone takes 10.5 s.
func TestLossThatRisesBelow(t *testing.T) {
	for _, capacity := range []float64{2.1e6, 5.3e6, 8e6, 11.9e6} {
		driver := simulate(simulated.Inverting{CapacityFramesPerSecond: capacity, IdleLossRatio: 0.01}, 1)
		_, results := run(t, config(CSIT()...), driver)
		for _, r := range results {
			if r.Irregularity != BelowMinimumLoad {
				t.Errorf("capacity %.0f: %+v, want %s", capacity, r, BelowMinimumLoad)
			}
		}
		if took := driver.Elapsed(); took > 20*time.Second {
			t.Errorf("capacity %.0f: it took %v, want 20 s at most", capacity, took)
		}
	}
}
