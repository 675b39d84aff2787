package procedure

import (
	"encoding/json"
	"errors"
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
		"unsent":           {device: simulated.HardCap{CapacityFramesPerSecond: 1_950_000}, change: func(i *measure.Instructions) { i.Calibration = nil }, end: v1alpha1.RecoveryGeneratorCeiling, code: v1alpha1.WarningGeneratorCeiling},
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
				invalidate(r)
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
	if got := ExpectedBytes(with) - ExpectedBytes(without); got != 61*countsBytes {
		t.Errorf("%d bytes are expected, want 61 records of %d", got, countsBytes)
	}
	records, err := newBench(sluggish(time.Second)).run(t, with, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Stage != stageOverload && r.Stage != stageRecovery {
			continue
		}
		r.Outcome = Compact(r.Stage, r.Outcome)
		r.Measurer = "a-measurer-whose-name-has-as-many-characters-as-63-allow-abcde"
		text, err := json.Marshal(r)
		if err != nil || len(text) > countsBytes {
			t.Errorf("a record takes %d bytes, %d are expected at most (%v)", len(text), countsBytes, err)
		}
	}
}
