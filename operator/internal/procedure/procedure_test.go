package procedure

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func hardCap() simulated.Device { return simulated.HardCap{CapacityFramesPerSecond: 500_000} }

func TestSequence(t *testing.T) {
	var got []string
	seen := ""
	_, err := newBench(hardCap()).run(t, instructions(), func(_ []measure.Record, s Step) {
		line := strings.TrimSpace(strings.Join([]string{string(s.Path), string(s.Stage), s.Load}, " "))
		if s.Done {
			line = "Done"
		}
		if line != seen {
			got, seen = append(got, line), line
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	frame := []string{"Chain WarmUp", "Chain Throughput", "Chain Latency idle", "Chain Latency pdr50", "Chain Latency pdr90"}
	calibration := []string{"Calibration CalibrateRate", "Calibration CalibrateLatency"}
	want := append(append([]string{}, calibration...), calibration...)
	want = append(append(append(want, frame...), frame...), "Done")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTrials(t *testing.T) {
	var first []measure.Trial
	stage := measure.Stage("")
	_, err := newBench(hardCap()).run(t, instructions(), func(_ []measure.Record, s Step) {
		if s.Stage != stage && s.Trial.FrameBytes == 64 {
			first, stage = append(first, s.Trial), s.Stage
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	trial := func(rate uint64, seconds int64) measure.Trial {
		return measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: rate, DurationNanoseconds: seconds * 1e9, SettleNanoseconds: 1e8}
	}
	want := []measure.Trial{trial(lineRate64, 1), trial(1000, 1), trial(2_000_000, 1), trial(2_000_000, 1), trial(1000, 5)}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
}

func TestLimits(t *testing.T) {
	rate := func(frames uint64) measure.Record {
		return measure.Record{
			Stage: measure.StageCalibrateRate, Trial: measure.Trial{Size: "64", FrameBytes: 64, DurationNanoseconds: 1e9},
			Outcome: measure.Outcome{SendingNanoseconds: 1e9, Directions: []measure.DirectionOutcome{
				{Direction: measure.Forward, SentFrames: 9e6, ReceivedFrames: 9e6},
				{Direction: measure.Reverse, SentFrames: 9e6, ReceivedFrames: frames},
			}},
		}
	}
	for name, test := range map[string]struct {
		asked   int64
		records []measure.Record
		want    limit
	}{
		"line rate":           {want: limit{lineRate64, limitLineRate}},
		"asked":               {asked: 3e6, want: limit{3e6, limitAsked}},
		"slower direction":    {records: []measure.Record{rate(2e6)}, want: limit{2e6, limitCalibration}},
		"asked below reached": {asked: 1e6, records: []measure.Record{rate(2e6)}, want: limit{1e6, limitAsked}},
		"asked above line":    {asked: 99e6, want: limit{lineRate64, limitLineRate}},
	} {
		t.Run(name, func(t *testing.T) {
			instr := instructions()
			if test.asked > 0 {
				instr.Throughput.MaximumFramesPerSecond = &test.asked
			}
			got, err := replayRecords(instr, test.records, test.records).limit(measure.FrameSize(64))
			if err != nil || got != test.want {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

// The same records cause the same failures again, which leave what was final unchanged.
func TestFailures(t *testing.T) {
	device := map[string]simulated.Device{
		"slow": hardCap(), "dead": silent{hardCap(), 0}, "stops": silent{hardCap(), 5 * time.Second}, "stops late": silent{hardCap(), 12 * time.Second},
	}
	for name, test := range map[string]struct {
		device  string
		change  func(*measure.Instructions)
		spoil   func(*measure.Record)
		reason  string
		message string
	}{
		"dead device":             {device: "dead", reason: v1alpha1.ReasonChainFailed, message: "no frame of 64 bytes came through at 1000 frames/s"},
		"device stops in search":  {device: "stops", reason: v1alpha1.ReasonChainFailed, message: "came through at 1000 frames/s"},
		"device stops in latency": {device: "stops late", reason: v1alpha1.ReasonChainFailed, message: "no frame of 64 bytes came through at 450"},
		"invalid calibration": {device: "slow", spoil: func(r *measure.Record) {
			if r.Stage == measure.StageCalibrateLatency {
				invalidate(r)
			}
		}, reason: v1alpha1.ReasonGeneratorUnreliable, message: "3 trials in a row of stage \"CalibrateLatency\" with 64 bytes were invalid, the last because the generator's port dropped 7 frames"},
		"invalid search": {device: "slow", spoil: func(r *measure.Record) {
			if r.Stage == measure.StageThroughput {
				invalidate(r)
			}
		}, reason: v1alpha1.ReasonGeneratorUnreliable, message: "stage \"Throughput\""},
		"sends nothing": {device: "slow", spoil: func(r *measure.Record) {
			if r.Stage == measure.StageLatency {
				r.Outcome.Directions[0].SentFrames = 0
			}
		}, reason: v1alpha1.ReasonGeneratorUnreliable, message: "direction Forward sent nothing"},
		"no calibration frame": {device: "slow", spoil: func(r *measure.Record) {
			r.Outcome.Directions[0].ReceivedFrames, r.Outcome.Directions[1].ReceivedFrames = 0, 0
		}, reason: v1alpha1.ReasonGeneratorUnreliable, message: "no frame of 64 bytes came from port to port"},
		"generator too slow": {
			device: "slow", change: func(i *measure.Instructions) { i.Throughput.MinimumFramesPerSecond = 2_100_000 },
			reason: v1alpha1.ReasonGeneratorUnreliable, message: "too slow for the minimum load of 2100000 frames/s",
		},
		"minimum not sent": {device: "slow", change: func(i *measure.Instructions) { i.Calibration = nil }, spoil: func(r *measure.Record) {
			for i := range r.Outcome.Directions {
				d := &r.Outcome.Directions[i]
				d.SentFrames = d.IntendedFrames / 2
				d.ReceivedFrames = d.SentFrames
			}
		}, reason: v1alpha1.ReasonGeneratorUnreliable, message: "could not send that load"},
		"line rate too low": {
			device: "slow", change: func(i *measure.Instructions) { i.Throughput.MinimumFramesPerSecond = 2_400_000 },
			reason: v1alpha1.ReasonLoadAboveLineRate, message: "2349624 frames/s with 512 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			instr := instructions()
			if test.change != nil {
				test.change(&instr)
			}
			if name == "line rate too low" {
				instr.Sizes = sizes(512)
			}
			b := newBench(device[test.device])
			b.spoil = test.spoil
			records, err := b.run(t, instr, nil)
			if measure.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.message) {
				t.Fatalf("got %v, want %s with %q", err, test.reason, test.message)
			}
			if _, again := Next(instr, records); again == nil || again.Error() != err.Error() {
				t.Errorf("the same records gave %v, then %v", err, again)
			}
			for _, f := range Results(instr, records).Frames {
				if len(f.Throughput) > 0 && f.Throughput[0].FramesPerSecond < 480_000 {
					t.Errorf("a failed search shows as a figure: %+v", f.Throughput)
				}
			}
		})
	}
}

func TestInvalidTrialsAreRepeated(t *testing.T) {
	want, err := newBench(hardCap()).run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, inARow := newBench(hardCap()), 0
	b.spoil = func(r *measure.Record) {
		if inARow++; inARow < MaximumInvalidTrials && r.Stage != measure.StageWarmUp {
			r.Outcome.Doubts = []measure.Doubt{{Code: measure.DoubtStretched, Detail: "the trial took 3 s", Invalid: true}}
			return
		}
		inARow = 0
	}
	got, err := b.run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Results(instructions(), want).Frames, Results(instructions(), got).Frames); diff != "" {
		t.Errorf("invalid trials changed the results: %s", diff)
	}
	found := 0
	for _, w := range Results(instructions(), got).Warnings {
		if w.Code == v1alpha1.WarningInvalidTrials {
			found++
		}
	}
	if found != 2 {
		t.Errorf("got %d warnings about invalid trials, want one for each frame size", found)
	}
}

func TestReceiveDropsAreFineInAFlatOutCalibration(t *testing.T) {
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageCalibrateRate || r.Stage == measure.StageWarmUp {
			invalidate(r)
		}
	}
	records, err := b.run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range Results(instructions(), records).Warnings {
		if w.Code == v1alpha1.WarningInvalidTrials {
			t.Errorf("unexpected %+v", w)
		}
	}
}

// A generator that is disturbed where it was faster before gets two more tries, everywhere: its
// problem must not become a bound.
func TestDisturbedTrials(t *testing.T) {
	for name, test := range map[string]struct {
		disturbances int
		want         v1alpha1.UpperBoundCause
	}{
		"twice":  {maxDisturbed, v1alpha1.CauseDeviceLoss},
		"always": {maxSteps, v1alpha1.CauseGeneratorCeiling},
	} {
		t.Run(name, func(t *testing.T) {
			instr := instructions()
			instr.Sizes = sizes(64)
			b, inARow := newBench(hardCap()), 0
			b.spoil = func(r *measure.Record) {
				if rate := r.Trial.IntendedFramesPerSecond; r.Stage != measure.StageThroughput || rate > 600_000 || rate < 400_000 {
					return
				}
				if inARow++; inARow > test.disturbances {
					inARow = 0
					return
				}
				for i := range r.Outcome.Directions {
					d := &r.Outcome.Directions[i]
					d.SentFrames -= d.IntendedFrames / 50
					d.ReceivedFrames = min(d.ReceivedFrames, d.SentFrames)
				}
			}
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Results(instr, records)
			if bound := got.Frames[0].Throughput[0]; bound.UpperBoundCause != test.want {
				t.Errorf("%+v", bound)
			}
			for _, w := range got.Warnings {
				if w.Code == v1alpha1.WarningInvalidTrials && strings.Contains(w.Message, "less than before") {
					return
				}
			}
			t.Errorf("no warning in %+v", got.Warnings)
		})
	}
}

func TestForeignRecords(t *testing.T) {
	records, err := newBench(hardCap()).run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*measure.Instructions){
		"other frames":   func(i *measure.Instructions) { i.Sizes = sizes(64, 1518) },
		"no calibration": func(i *measure.Instructions) { i.Calibration = nil },
		"no latency":     func(i *measure.Instructions) { i.Latency = nil },
		"a load less":    func(i *measure.Instructions) { i.Latency.Loads = i.Latency.Loads[:2] },
	} {
		t.Run(name, func(t *testing.T) {
			instr := instructions()
			change(&instr)
			if _, err := Next(instr, records); !errors.Is(err, ErrRecords) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInstructionsThatCannotBeFollowed(t *testing.T) {
	for name, change := range map[string]func(*measure.Instructions){
		"no frames":      func(i *measure.Instructions) { i.Sizes = nil },
		"frame twice":    func(i *measure.Instructions) { i.Sizes = sizes(64, 64) },
		"no link":        func(i *measure.Instructions) { i.LinkBitsPerSecond = 0 },
		"negative frame": func(i *measure.Instructions) { i.Sizes = sizes(-20) },
		"nothing asked":  func(i *measure.Instructions) { i.Throughput, i.Latency = nil, nil },
		"no goals":       func(i *measure.Instructions) { i.Throughput.Goals = nil },
		"no loads":       func(i *measure.Instructions) { i.Latency.Loads = nil },
	} {
		t.Run(name, func(t *testing.T) {
			instr := instructions()
			change(&instr)
			if _, err := Next(instr, nil); !errors.Is(err, ErrInstructions) {
				t.Errorf("got %v", err)
			}
			Results(instr, nil)
			Progress(instr, nil)
		})
	}
}
