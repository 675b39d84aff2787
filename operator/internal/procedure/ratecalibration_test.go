package procedure

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// longRun has a calibration at the loads, and takes so long that the rate is calibrated again.
func longRun() measure.Instructions {
	instr := calibratedLoads()
	instr.Sizes, instr.RateAgainAfterSeconds = sizes(64, 512), 10
	instr.ReceiveRate = &v1alpha1.ReceiveRate{TrialMilliseconds: 1000, Trials: 2}
	return instr
}

// drift runs the instructions with a generator that reaches another rate when the measurement is over.
func drift(t *testing.T, instr measure.Instructions, framesPerSecond uint64) (Figures, []measure.Record) {
	t.Helper()
	b := newBench(hardCap())
	records, err := b.run(t, instr, func(_ []measure.Record, step Step) {
		if step.Stage.AfterChain() {
			b.calibration = simulated.New(simulated.Config{
				Device: simulated.HardCap{CapacityFramesPerSecond: 100e6}, Directions: bothWays, BaseNanoseconds: 500, GeneratorFramesPerSecond: framesPerSecond,
			})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records)
	AddServiceTimes(instr, &got, &measure.GeneratorState{Chain: &measure.Description{Threads: 1}, Calibration: &measure.Description{Threads: 1}})
	return got, records
}

// The highest rate is measured again for each size when everything else is over, and makes the spread of the calibration wider. A
// rate far beyond the first spread is a warning, and a doubt about the rates of a device on that core. What was measured before stays.
func TestRateAgain(t *testing.T) {
	instr := longRun()
	same, _ := drift(t, instr, 2_000_000)
	for final, test := range map[uint64]struct {
		warned bool
	}{
		2_000_000: {false}, 1_910_000: {false}, 1_890_000: {true}, 1_000_000: {true}, 2_090_000: {false}, 2_110_000: {true},
	} {
		got, records := drift(t, instr, final)
		again := records[len(records)-2:]
		for i, size := range instr.Sizes {
			r := again[i]
			if r.Stage != measure.StageCalibrateRateAgain || r.Trial.Size != size.Name || r.Trial.IntendedFramesPerSecond != records[0].Trial.IntendedFramesPerSecond ||
				r.Trial.DurationNanoseconds != records[0].Trial.DurationNanoseconds {
				t.Errorf("%+v", r)
			}
			c := got.Calibration[i]
			if c.MaximumFramesPerSecond != 2_000_000 || c.FinalFramesPerSecond == nil || *c.FinalFramesPerSecond != int64(final) || *c.LowestFramesPerSecond != 2_000_000 {
				t.Errorf("%v: %+v", final, c)
			}
		}
		var sizes []string
		for _, w := range got.Warnings {
			if w.Code == v1alpha1.WarningCalibrationDrift {
				sizes = append(sizes, w.Size)
				if !strings.Contains(w.Message, "2000000 to 2000000 before it") {
					t.Error(w.Message)
				}
			}
		}
		if want := map[bool][]string{true: {"64", "512"}}[test.warned]; !cmp.Equal(want, sizes) {
			t.Errorf("%v: warned of %v, want %v", final, sizes, want)
		}
		for _, frame := range got.Frames {
			for _, doubts := range [][]v1alpha1.DoubtCode{frame.Throughput[0].Doubts, frame.ReceiveRate.Doubts} {
				if slices.Contains(doubts, v1alpha1.DoubtCalibrationDrift) != test.warned {
					t.Errorf("%v: doubts %v", final, doubts)
				}
			}
		}
		if diff := cmp.Diff(same.Frames, got.Frames, cmpopts.IgnoreFields(v1alpha1.ThroughputResult{}, "ServiceTime", "Doubts"),
			cmpopts.IgnoreFields(v1alpha1.ReceiveRateResult{}, "Doubts"), cmpopts.IgnoreTypes(&v1alpha1.LatencyBias{})); diff != "" {
			t.Errorf("%v: %s", final, diff)
		}
		wide, narrow := got.Frames[0].Throughput[0].ServiceTime, same.Frames[0].Throughput[0].ServiceTime
		if (wide.LowNanoseconds < narrow.LowNanoseconds) != (final < 2_000_000) || (wide.HighNanoseconds > narrow.HighNanoseconds) != (final > 2_000_000) {
			t.Errorf("%v: %+v, and without drift %+v", final, wide, narrow)
		}
		if diff := cmp.Diff(narrow, wide, cmpopts.IgnoreFields(v1alpha1.ServiceTime{}, "LowNanoseconds", "HighNanoseconds")); diff != "" {
			t.Errorf("%v: %s", final, diff)
		}
	}
}

// TestDriftOfAnotherCore checks that a generator that changed puts no rate in doubt of a device that works elsewhere.
func TestDriftOfAnotherCore(t *testing.T) {
	instr := longRun()
	instr.Chain.Hop = measure.HopTap
	got, _ := drift(t, instr, 1_000_000)
	if *got.Calibration[0].FinalFramesPerSecond != 1_000_000 || len(got.Frames[0].Throughput[0].Doubts) > 0 || len(got.Frames[0].ReceiveRate.Doubts) > 0 {
		t.Errorf("%+v", got.Frames[0])
	}
}

// A measurement that took less time, or has no calibration, is not made longer.
func TestNoRateAgain(t *testing.T) {
	for name, change := range map[string]func(*measure.Instructions){
		"not asked for":  func(i *measure.Instructions) { i.RateAgainAfterSeconds = 0 },
		"a short run":    func(i *measure.Instructions) { i.RateAgainAfterSeconds = 3600 },
		"no calibration": func(i *measure.Instructions) { i.Calibration = nil },
	} {
		instr := longRun()
		change(&instr)
		got, records := drift(t, instr, 1_000_000)
		for _, r := range records {
			if r.Stage == measure.StageCalibrateRateAgain {
				t.Errorf("%s: %+v", name, r.Trial)
			}
		}
		for _, c := range got.Calibration {
			if c.FinalFramesPerSecond != nil || *c.LowestFramesPerSecond != 2_000_000 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if p := Progress(instr, records); p.Percent != 100 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A generator that fails when everything is measured costs the second rate, and no figure.
func TestUnreliableRateAgain(t *testing.T) {
	for name, spoil := range map[string]func(*measure.Record){
		"invalid": func(r *measure.Record) {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtStretched, Detail: "it took longer", Invalid: true})
		},
		"nothing arrives": func(r *measure.Record) {
			for i := range r.Outcome.Directions {
				r.Outcome.Directions[i].ReceivedFrames = 0
			}
		},
		"it does not open": func(r *measure.Record) {
			r.Outcome = measure.Outcome{StartedAt: r.Outcome.StartedAt, Doubts: []measure.Doubt{{Code: v1alpha1.ReasonPortMissing, Detail: "port cal0 is gone", Invalid: true}}}
		},
	} {
		instr := longRun()
		b := newBench(hardCap())
		b.spoil = func(r *measure.Record) {
			if r.Stage == measure.StageCalibrateRateAgain {
				spoil(r)
			}
		}
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := Results(instr, records)
		for i, c := range got.Calibration {
			if c.FinalFramesPerSecond != nil || len(got.Frames[i].Latency) == 0 || got.Frames[i].Latency[0].Bias == nil {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}
