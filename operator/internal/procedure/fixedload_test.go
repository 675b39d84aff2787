package procedure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// alone returns instructions without throughput and latency.
func alone(frameBytes ...int) measure.Instructions {
	instr := instructions()
	instr.Throughput, instr.Latency, instr.Sizes = nil, nil, sizes(frameBytes...)
	return instr
}

func fixedLoad() measure.Instructions {
	instr := alone(64, 512)
	instr.FixedLoad = &v1alpha1.FixedLoad{
		DurationSeconds: 60, DiscardSeconds: new(int32(20)), Repeats: 2,
		Profiles: []v1alpha1.LoadProfile{
			{Name: "small", Size: "64", FramesPerSecond: new(int64(48_828))},
			{Name: "large", Size: "512", FramesPerSecond: new(int64(10_000))},
			{Name: "lossy", Size: "64", FramesPerSecond: new(int64(600_000))},
		},
	}
	return instr
}

func TestFixedLoad(t *testing.T) {
	instr := fixedLoad()
	var stages []measure.Stage
	percent := 0
	records, err := newBench(hardCap()).run(t, instr, func(records []measure.Record, s Step) {
		if s.Load == "small" {
			stages = append(stages, s.Stage)
			if s.Trial.IntendedFramesPerSecond != 48_828 {
				t.Errorf("%+v", s.Trial)
			}
		}
		now := Progress(instr, records).Percent
		if now < percent {
			t.Errorf("progress fell from %d to %d %%", percent, now)
		}
		percent = now
	})
	if err != nil {
		t.Fatal(err)
	}
	pair := []measure.Stage{stageDiscard, stageFixedLoad}
	if diff := cmp.Diff(append(pair, pair...), stages); diff != "" {
		t.Error(diff)
	}
	frames := Results(instr, records).Frames
	if len(frames) != 2 || len(frames[0].FixedLoad) != 2 || len(frames[1].FixedLoad) != 1 {
		t.Fatalf("%+v", frames)
	}
	small, lossy := frames[0].FixedLoad[0], frames[0].FixedLoad[1]
	if small.Profile != "small" || len(small.Repeats) != 2 || small.Worst.LossPartsPerMillion != 0 {
		t.Errorf("%+v", small)
	}
	if sent := small.Repeats[1].Directions[0].SentFrames; sent != 48_828*60 {
		t.Errorf("sent %d frames", sent)
	}
	if lossy.Worst.LossPartsPerMillion != 166_667 {
		t.Errorf("lost %d ppm of 600,000 frames/s at a capacity of 500,000", lossy.Worst.LossPartsPerMillion)
	}
}

func TestFixedLoadWithoutDiscard(t *testing.T) {
	instr := fixedLoad()
	instr.FixedLoad.DiscardSeconds = nil
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Stage == stageDiscard {
			t.Fatal("discards, though none were asked for")
		}
	}
	if got := Results(instr, records).Frames[0].FixedLoad[0]; len(got.Repeats) != 2 {
		t.Errorf("%+v", got)
	}
}

// An invalid repeat is made again at once, and the worst case is of what counts.
func TestFixedLoadWorstCase(t *testing.T) {
	instr := fixedLoad()
	instr.Sizes, instr.FixedLoad.Profiles = sizes(64), instr.FixedLoad.Profiles[:1]
	b, repeats := newBench(hardCap()), 0
	var stages []measure.Stage
	b.spoil = func(r *measure.Record) {
		stages = append(stages, r.Stage)
		if r.Stage != stageFixedLoad {
			return
		}
		repeats++
		d := &r.Outcome.Directions[1]
		switch repeats {
		case 1:
			d.Latency.MaxNanoseconds = 900_000_000
			invalidate(r)
		case 2:
			d.Latency.MaxNanoseconds = 75_000_000
		case 3:
			d.Jitter.P99Nanoseconds = 123_456
			d.ReceivedFrames--
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	tail := stages[len(stages)-5:]
	want := []measure.Stage{stageDiscard, stageFixedLoad, stageFixedLoad, stageDiscard, stageFixedLoad}
	if diff := cmp.Diff(want, tail); diff != "" {
		t.Error(diff)
	}
	worst := Results(instr, records).Frames[0].FixedLoad[0].Worst
	if worst.LatencyMaxNanoseconds != 75_000_000 || worst.OneWayBudgetPartsPerMillion != 500_000 ||
		*worst.JitterP99Nanoseconds != 123_456 || worst.LossPartsPerMillion != 1 {
		t.Errorf("%+v", worst)
	}
}

func TestFixedLoadFailures(t *testing.T) {
	instr := fixedLoad()
	_, err := newBench(silent{hardCap(), 10 * time.Second}).run(t, instr, nil)
	if measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
		t.Errorf("a dead device: %v", err)
	}
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage == stageFixedLoad {
			invalidate(r)
		}
	}
	if _, err := b.run(t, instr, nil); measure.ReasonOf(err) != v1alpha1.ReasonGeneratorUnreliable {
		t.Errorf("invalid repeats: %v", err)
	}
}

func TestFixedLoadAboveTheGenerator(t *testing.T) {
	instr := fixedLoad()
	instr.FixedLoad.Profiles = []v1alpha1.LoadProfile{{Name: "fast", Size: "64", FramesPerSecond: new(int64(4_000_000))}}
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, instr, records, v1alpha1.WarningLoadNotReached, "The generator left 500000 of each million frames of fixed load fast unsent (4000000 frames/s were intended).")
}

func wantWarning(t *testing.T, instr measure.Instructions, records []measure.Record, code, message string) {
	t.Helper()
	warnings := Results(instr, records).Warnings
	for _, w := range warnings {
		if w.Code == code && w.Message == message {
			return
		}
	}
	t.Errorf("no %s %q in %+v", code, message, warnings)
}
