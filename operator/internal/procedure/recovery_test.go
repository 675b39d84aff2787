package procedure

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func recovery() measure.Instructions {
	instr := instructions()
	instr.Latency, instr.Sizes = nil, sizes(64)
	instr.Recovery = &v1alpha1.Recovery{OverloadSeconds: 60, TrialMilliseconds: 100, SettleMilliseconds: 20, CleanTrials: 10, MaximumTrials: 60}
	return instr
}

// sluggish is a device of 500,000 frames/s that still loses frames for a time after an overload
// of 10 s or more.
func sluggish(recovery time.Duration) *simulated.Sluggish {
	return &simulated.Sluggish{CapacityFramesPerSecond: 500_000, Overload: 10 * time.Second, Recovery: recovery, LossRatio: 0.1}
}

// The bounds of the recovery enclose the device's, and are one trial with its wait apart.
func TestRecovery(t *testing.T) {
	for _, truth := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second} {
		t.Run(truth.String(), func(t *testing.T) {
			instr := recovery()
			records, err := newBench(sluggish(truth)).run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			figures := Results(instr, records)
			got := figures.Frames[0].Recovery
			if got.End != v1alpha1.RecoveryRecovered || got.Goal != "NDR" {
				t.Fatalf("%+v", got)
			}
			throughput := figures.Frames[0].Throughput[0].FramesPerSecond
			if got.OverloadFramesPerSecond != throughput*110/100 || got.ReducedFramesPerSecond != got.OverloadFramesPerSecond/2 || got.OverloadLossPartsPerMillion == 0 {
				t.Errorf("loads: %+v after a throughput of %d", got, throughput)
			}
			lower, upper := *got.LowerBoundMilliseconds, *got.UpperBoundMilliseconds
			if truth.Milliseconds() < lower || truth.Milliseconds() > upper || *got.ResolutionMilliseconds != upper-lower || upper-lower > 120 {
				t.Errorf("between %d and %d ms with a resolution of %d, want %s within 120 ms", lower, upper, *got.ResolutionMilliseconds, truth)
			}
			if int(got.Trials-got.LossyTrials) != 10 {
				t.Errorf("%d trials, %d with loss, want ten without", got.Trials, got.LossyTrials)
			}
			if slices.ContainsFunc(figures.Warnings, func(w v1alpha1.Warning) bool { return strings.Contains(w.Message, "recover") }) {
				t.Errorf("warnings: %+v", figures.Warnings)
			}
		})
	}
}

// Where there is no recovery time, the result has no bound that was not measured, and a warning
// has the reason.
func TestNoRecoveryTime(t *testing.T) {
	for name, test := range map[string]struct {
		device simulated.Device
		change func(*measure.Instructions)
		spoil  func(*measure.Record)
		end    v1alpha1.RecoveryEnd
		code   string
		trials int32
	}{
		"not recovered":    {device: sluggish(time.Hour), end: v1alpha1.RecoveryNotRecovered, code: v1alpha1.WarningIrregularResult, trials: 60},
		"not overloaded":   {device: simulated.HardCap{CapacityFramesPerSecond: 9e6}, end: v1alpha1.RecoveryNotOverloaded, code: v1alpha1.WarningMaximumLoad},
		"unsent":           {device: simulated.HardCap{CapacityFramesPerSecond: 3e6}, change: func(i *measure.Instructions) { i.Calibration = nil }, end: v1alpha1.RecoveryGeneratorCeiling, code: v1alpha1.WarningGeneratorCeiling},
		"some unsent":      {device: sluggish(0), spoil: unsentEach(9), end: v1alpha1.RecoveryGeneratorCeiling, code: v1alpha1.WarningGeneratorCeiling, trials: 60},
		"each interrupted": {device: sluggish(0), spoil: late(10 * time.Second), end: v1alpha1.RecoveryInterrupted, code: v1alpha1.WarningIrregularResult, trials: 1},
		"clock set back":   {device: sluggish(0), spoil: late(-time.Second), end: v1alpha1.RecoveryInterrupted, code: v1alpha1.WarningIrregularResult, trials: 1},
	} {
		t.Run(name, func(t *testing.T) {
			instr := recovery()
			if test.change != nil {
				test.change(&instr)
			}
			b := newBench(test.device)
			b.spoil = test.spoil
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			figures := Results(instr, records)
			got := figures.Frames[0].Recovery
			if got.End != test.end || got.Trials != test.trials || got.UpperBoundMilliseconds != nil || got.ResolutionMilliseconds != nil {
				t.Errorf("got %+v, want %s after %d trials without an upper bound", got, test.end, test.trials)
			}
			if (got.LowerBoundMilliseconds != nil) != (test.end == v1alpha1.RecoveryNotRecovered) {
				t.Errorf("the lower bound is %v", got.LowerBoundMilliseconds)
			}
			if !slices.ContainsFunc(figures.Warnings, func(w v1alpha1.Warning) bool {
				return w.Code == test.code && strings.Contains(w.Message, "recover")
			}) {
				t.Errorf("no warning %s says why: %+v", test.code, figures.Warnings)
			}
		})
	}
}

// unsentEach has the generator send half of each nth trial after an overload.
func unsentEach(n int) func(*measure.Record) {
	trials := 0
	return func(r *measure.Record) {
		if r.Stage != stageRecovery {
			return
		}
		if trials++; trials%n == 0 {
			d := &r.Outcome.Directions[0]
			d.SentFrames, d.ReceivedFrames = d.SentFrames/2, d.ReceivedFrames/2
		}
	}
}

// late shifts the start of the trials after an overload.
func late(by time.Duration) func(*measure.Record) {
	return func(r *measure.Record) {
		if r.Stage == stageRecovery {
			r.Outcome.StartedAt = r.Outcome.StartedAt.Add(by)
		}
	}
}

// An overload that the generator doubts, and one after which a measurer was replaced, are made
// again.
func TestRecoveryAgain(t *testing.T) {
	overloads, trials := 0, 0
	b := newBench(sluggish(700 * time.Millisecond))
	b.spoil = func(r *measure.Record) {
		switch r.Stage {
		case stageOverload:
			if overloads++; overloads == 1 {
				r.Outcome.Doubts = []measure.Doubt{{Code: measure.DoubtTransmitDrops, Detail: "7 frames", Invalid: true}}
			}
		case stageRecovery:
			if trials++; trials == 3 {
				late(time.Minute)(r)
			}
		}
	}
	instr := recovery()
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].Recovery
	if overloads != 3 || got.End != v1alpha1.RecoveryRecovered || *got.LowerBoundMilliseconds != 620 || *got.UpperBoundMilliseconds != 740 {
		t.Errorf("%d overloads, %+v", overloads, got)
	}
}

// A row without loss has 1,000 frames of each direction: it is longer where a trial has few, and
// where all trials have fewer there is an end with a reason, and the other figures are there.
func TestRecoveryOfASlowDevice(t *testing.T) {
	for name, test := range map[string]struct {
		capacity float64
		recovery time.Duration
		change   func(*measure.Instructions)
		end      v1alpha1.RecoveryEnd
		trials   int32
		words    string
	}{
		"enough frames":     {capacity: 20_000, end: v1alpha1.RecoveryRecovered, trials: 10},
		"a longer row":      {capacity: 500, end: v1alpha1.RecoveryRecovered, trials: 36},
		"too late":          {capacity: 500, recovery: 4 * time.Second, end: v1alpha1.RecoveryTooFewFrames, trials: 60, words: "raise recovery.trialMilliseconds to 364, or recovery.maximumTrials"},
		"too few":           {capacity: 200, end: v1alpha1.RecoveryTooFewFrames, words: "raise recovery.trialMilliseconds to "},
		"less than a frame": {capacity: 6, end: v1alpha1.RecoveryTooFewFrames, words: "has 0; raise recovery.trialMilliseconds to 10000"},
		"a small share": {capacity: 20_000, change: func(i *measure.Instructions) {
			i.Chain.Streams = []measure.Stream{{Direction: measure.Forward}, {Direction: measure.Reverse, LoadPercent: 1}}
		}, end: v1alpha1.RecoveryTooFewFrames, words: "has 11; raise"},
	} {
		t.Run(name, func(t *testing.T) {
			instr := recovery()
			if test.change != nil {
				test.change(&instr)
			}
			instr.Throughput.MinimumFramesPerSecond = 1
			device := sluggish(test.recovery)
			device.CapacityFramesPerSecond = test.capacity
			records, err := newBench(device).run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			figures := Results(instr, records)
			got := figures.Frames[0].Recovery
			if got.End != test.end || got.Trials != test.trials || len(figures.Frames[0].Throughput) == 0 {
				t.Errorf("got %+v, want %s after %d trials", got, test.end, test.trials)
			}
			if got.CleanFrames != nil != (test.end == v1alpha1.RecoveryRecovered) || got.CleanFrames != nil && *got.CleanFrames < minCleanFrames {
				t.Errorf("%v clean frames", got.CleanFrames)
			}
			if warned := messages(figures.Warnings, v1alpha1.WarningIrregularResult); test.words != "" &&
				!slices.ContainsFunc(warned, func(m string) bool { return strings.Contains(m, test.words) }) {
				t.Errorf("no warning has %q: %q", test.words, warned)
			}
		})
	}
}

// A trial that the generator doubts is neither with nor without loss: it ends a row, and moves no
// lower bound.
func TestRecoveryWithDoubts(t *testing.T) {
	trials := 0
	b := newBench(sluggish(0))
	b.spoil = func(r *measure.Record) {
		if r.Stage != stageRecovery {
			return
		}
		if trials++; trials == 5 {
			r.Outcome.Directions[0].ReceivedFrames--
			invalidate(r)
		}
	}
	instr := recovery()
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].Recovery
	if got.LossyTrials != 0 || got.Trials != 15 || *got.LowerBoundMilliseconds != 0 || *got.UpperBoundMilliseconds != 20+5*120 {
		t.Errorf("%+v", got)
	}
}

// Frames of the overload that still arrive in the first trials can be taken for frames that these
// lost: only a trial after one that had settled is clean.
func TestRecoveryWithLateFrames(t *testing.T) {
	trials := 0
	b := newBench(sluggish(0))
	b.spoil = func(r *measure.Record) {
		if r.Stage == stageRecovery {
			trials++
		}
		if r.Stage == stageOverload || r.Stage == stageRecovery && trials <= 2 {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtStillArriving, Detail: "frames still came"})
		}
	}
	instr := recovery()
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].Recovery
	if got.End != v1alpha1.RecoveryRecovered || got.Trials != 13 || *got.LowerBoundMilliseconds != 0 || *got.UpperBoundMilliseconds != 20+3*120 {
		t.Errorf("%+v, want the row to start with the fourth trial", got)
	}
}

// A trial that was not sent in full is neither with nor without loss.
func TestRecoveryWithUnsentFrames(t *testing.T) {
	trials := 0
	b := newBench(sluggish(0))
	b.spoil = func(r *measure.Record) {
		if r.Stage != stageRecovery {
			return
		}
		if trials++; trials == 5 {
			d := &r.Outcome.Directions[0]
			d.SentFrames, d.ReceivedFrames = d.SentFrames/2, d.ReceivedFrames/2-10
		}
	}
	instr := recovery()
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].Recovery
	if got.LossyTrials != 0 || got.Trials != 15 || *got.LowerBoundMilliseconds != 0 || *got.UpperBoundMilliseconds != 20+5*120 {
		t.Errorf("%+v", got)
	}
}

// An overload needs a load above the throughput and loss, and not a perfect generator. What it
// lacks ends this measurement and no other.
func TestOverloads(t *testing.T) {
	unsent := func(perMille uint64) func(*measure.Record) {
		return func(r *measure.Record) {
			for i := range r.Outcome.Directions {
				d := &r.Outcome.Directions[i]
				d.SentFrames -= d.SentFrames * perMille / 1000
				d.ReceivedFrames = min(d.ReceivedFrames, d.SentFrames)
			}
		}
	}
	doubt := func(code string) func(*measure.Record) {
		return func(r *measure.Record) {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: code, Detail: "7 frames", Invalid: true})
		}
	}
	for name, test := range map[string]struct {
		spoil func(*measure.Record)
		// times is how many overloads are spoiled; 0 means all.
		times, overloads int
		end              v1alpha1.RecoveryEnd
		code             string
	}{
		"0.2 % unsent":          {spoil: unsent(2), overloads: 1, end: v1alpha1.RecoveryRecovered},
		"disturbed once":        {spoil: unsent(300), times: 1, overloads: 2, end: v1alpha1.RecoveryRecovered},
		"always too slow":       {spoil: unsent(300), overloads: 3, end: v1alpha1.RecoveryGeneratorCeiling, code: v1alpha1.WarningGeneratorCeiling},
		"drops on the way back": {spoil: doubt(measure.DoubtReceiveDrops), overloads: 1, end: v1alpha1.RecoveryRecovered},
		"invalid twice":         {spoil: doubt(measure.DoubtTransmitDrops), times: 2, overloads: 3, end: v1alpha1.RecoveryRecovered},
		"invalid each time":     {spoil: doubt(measure.DoubtTransmitDrops), overloads: 3, end: v1alpha1.RecoveryInvalidOverload, code: v1alpha1.WarningInvalidTrials},
	} {
		t.Run(name, func(t *testing.T) {
			instr, overloads := recovery(), 0
			b := newBench(sluggish(time.Second))
			b.spoil = func(r *measure.Record) {
				if r.Stage == stageOverload {
					if overloads++; test.times == 0 || overloads <= test.times {
						test.spoil(r)
					}
				}
			}
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			figures := Results(instr, records)
			if got := figures.Frames[0].Recovery; got.End != test.end || overloads != test.overloads || len(figures.Frames[0].Throughput) == 0 {
				t.Errorf("%d overloads, %+v", overloads, got)
			}
			if test.code != "" && !slices.ContainsFunc(messages(figures.Warnings, test.code), func(m string) bool { return strings.Contains(m, "no recovery time") }) {
				t.Errorf("no warning %s: %+v", test.code, figures.Warnings)
			}
		})
	}
}

// A driver that does not know when its frames left makes both bounds wider, so that they enclose
// the device's time whenever they did.
func TestRecoveryWithUncertainTimes(t *testing.T) {
	b := newBench(sluggish(700 * time.Millisecond))
	b.spoil = func(r *measure.Record) {
		switch r.Stage {
		case stageOverload:
			r.Outcome.StartUncertaintyNanoseconds = int64(9 * time.Millisecond)
		case stageRecovery:
			r.Outcome.StartUncertaintyNanoseconds = int64(2 * time.Millisecond)
		}
	}
	instr := recovery()
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].Recovery
	if *got.LowerBoundMilliseconds != 620-9 || *got.UpperBoundMilliseconds != 740+2 || *got.ResolutionMilliseconds != 131 {
		t.Errorf("from %d to %d ms, %d apart", *got.LowerBoundMilliseconds, *got.UpperBoundMilliseconds, *got.ResolutionMilliseconds)
	}
}

func TestRecoveryInstructions(t *testing.T) {
	for name, spoil := range map[string]func(*measure.Instructions){
		"no throughput": func(i *measure.Instructions) { i.Throughput = nil },
		"no such goal":  func(i *measure.Instructions) { i.Recovery.Goal = "X" },
		"a longer row":  func(i *measure.Instructions) { i.Recovery.MaximumTrials = 9 },
	} {
		instr := recovery()
		spoil(&instr)
		if _, err := Next(instr, nil); !errors.Is(err, ErrInstructions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// There is room for all trials, and a record takes no more than is expected.
func TestRecoveryRecordSize(t *testing.T) {
	with, without := recovery(), recovery()
	without.Recovery = nil
	if got := ExpectedBytes(with) - ExpectedBytes(without); got != 61*recoveryBytes {
		t.Errorf("%d bytes are expected, want 61 records of %d", got, recoveryBytes)
	}
	records, err := newBench(sluggish(time.Second)).run(t, with, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Stage != stageOverload && r.Stage != stageRecovery {
			continue
		}
		for _, code := range []string{measure.DoubtMissedDeadlines, measure.DoubtPreempted, measure.DoubtStretched} {
			for _, d := range r.Outcome.Directions {
				r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{
					Code: code, Detail: fmt.Sprintf("%s: %d of 27500 frames left more than 10us late, the latest 1.234567ms; the transmit threads were preempted 3 times", d.Direction, r.Index),
				})
			}
		}
		r.Outcome.StartUncertaintyNanoseconds = 12_345_678
		for i := range r.Outcome.Directions {
			r.Outcome.Directions[i].Lateness = measure.DelayQuantiles{P50Nanoseconds: 3_210, P99Nanoseconds: 24_600, MaxNanoseconds: 130_110}
		}
		r.Outcome = Compact(r)
		if len(r.Outcome.Doubts) != 3 {
			t.Errorf("doubts are %+v, want each code once", r.Outcome.Doubts)
		}
		r.Measurer = "a-measurer-whose-name-has-as-many-characters-as-63-allow-abcde"
		text, err := json.Marshal(r)
		if err != nil || len(text) > recoveryBytes {
			t.Errorf("a record takes %d bytes, %d are expected at most (%v)", len(text), recoveryBytes, err)
		}
	}
}

// TestCleanFramesOfUnlikeTrials checks trials that do not have the same directions: who may write
// ConfigMaps can store them.
func TestCleanFramesOfUnlikeTrials(t *testing.T) {
	of := func(directions ...measure.DirectionOutcome) measure.Record {
		return measure.Record{Outcome: measure.Outcome{Directions: directions}}
	}
	forward, reverse := measure.DirectionOutcome{Direction: measure.Forward, SentFrames: 9}, measure.DirectionOutcome{Direction: measure.Reverse, SentFrames: 5}
	for want, trials := range map[int64][]measure.Record{
		5: {of(forward), of(forward, reverse)}, 10: {of(reverse, forward), of(forward, reverse)}, 0: {of()},
	} {
		if got := fewestSent(trials); got != want {
			t.Errorf("%d frames, want %d", got, want)
		}
	}
}
