package procedure

import (
	"slices"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// atBaseline measures a load of 64 bytes at a baseline's rate too.
func atBaseline(repeats int32, framesPerSecond int64) measure.Instructions {
	instr := repeatedInstructions(repeats)
	instr.Sizes, instr.CalibrateLoads = sizes(64, 512), true
	instr.BaselineLoads = []measure.BaselineLoad{{Size: "64", Load: "pdr90", FramesPerSecond: framesPerSecond}}
	return instr
}

// resultAt returns the result of a load of 64 bytes, nil where there is none.
func resultAt(figures Figures, load string) *v1alpha1.LatencyResult {
	list := figures.Frames[0].Latency
	at := slices.IndexFunc(list, func(l v1alpha1.LatencyResult) bool { return l.Load == load })
	if at < 0 {
		return nil
	}
	return &list[at]
}

// The load is measured at the baseline's rate besides its own, with its own delay without a device; the summary stays
// that of the last load asked for.
func TestLoadAtTheBaselinesRate(t *testing.T) {
	instr := atBaseline(1, 123_456)
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 400_000}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	var made []measure.Stage
	for _, r := range records {
		if r.Load == "pdr90@baseline" {
			if made = append(made, r.Stage); r.Trial.Size != "64" || r.Trial.IntendedFramesPerSecond != 123_456 {
				t.Errorf("%s of %s at %d frames/s", r.Stage, r.Trial.Size, r.Trial.IntendedFramesPerSecond)
			}
		}
	}
	if !slices.Equal(made, []measure.Stage{measure.StageLatency, measure.StageCalibrateLoad}) {
		t.Errorf("made %v", made)
	}
	figures := Results(instr, records)
	own, at := resultAt(figures, "pdr90"), resultAt(figures, "pdr90@baseline")
	if own == nil || at == nil || own.IntendedFramesPerSecond < 300_000 || at.IntendedFramesPerSecond != 123_456 || at.Bias == nil || at.Share != nil || len(at.Directions) != 2 {
		t.Errorf("%+v and %+v", own, at)
	}
	if s := figures.Summary; s.Load != "pdr90" || s.P99Nanoseconds == nil {
		t.Errorf("%+v", s)
	}
	if len(figures.Frames[1].Latency) != 3 {
		t.Errorf("512 bytes have %+v", figures.Frames[1].Latency)
	}
}

// A rate above the run's throughput is not measured: frames would wait in a full queue. Where one repeat carries it and
// another does not, there is no figure either.
func TestBaselinesRateThatIsNotCarried(t *testing.T) {
	for name, test := range map[string]struct {
		rate  int64
		spoil func(*measure.Record)
		made  int
		known bool
	}{
		"carried": {300_000, nil, 2, true},
		"above":   {400_001, nil, 0, false},
		"in one repeat": {300_000, func(r *measure.Record) {
			if r.Stage == measure.StageThroughput && r.Repeat == 1 && r.Trial.IntendedFramesPerSecond > 200_000 {
				for i := range r.Outcome.Directions {
					r.Outcome.Directions[i].ReceivedFrames /= 2
				}
			}
		}, 1, false},
	} {
		instr := atBaseline(2, test.rate)
		instr.Sizes = sizes(64)
		b := newBench(simulated.HardCap{CapacityFramesPerSecond: 400_000})
		b.spoil = test.spoil
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		made := 0
		for _, r := range records {
			if r.Stage == measure.StageLatency && r.Load == "pdr90@baseline" {
				made++
			}
		}
		if known := resultAt(Results(instr, records), "pdr90@baseline") != nil; made != test.made || known != test.known {
			t.Errorf("%s: %d trials, and a figure: %t", name, made, known)
		}
		if test.made == 0 {
			wantWarning(t, instr, records, v1alpha1.WarningLoadNotDerived,
				"Load pdr90@baseline is the baseline's rate, 400001 frames/s. It is above the throughput of this run, so it was not measured.")
		}
	}
}
