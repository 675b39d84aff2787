package procedure

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden compares everything that a run results in, in the API's own words.
func TestGolden(t *testing.T) {
	instr := instructions()
	records, err := newBench(simulated.SoftKnee{
		KneeFramesPerSecond: 400_000, CapacityFramesPerSecond: 500_000, MaxLossRatio: 0.02,
	}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(Results(instr, records), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/soft-knee.json"
	if *update {
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)+"\n"); diff != "" {
		t.Error(diff)
	}
}

func TestResultsAreTheDevices(t *testing.T) {
	for name, test := range map[string]struct {
		device interface {
			simulated.Device
			Limit(float64) float64
		}
	}{
		"hard cap":  {simulated.HardCap{CapacityFramesPerSecond: 500_000}},
		"soft knee": {simulated.SoftKnee{KneeFramesPerSecond: 300_000, CapacityFramesPerSecond: 600_000, MaxLossRatio: 0.05}},
		"collapse":  {simulated.Collapse{CapacityFramesPerSecond: 200_000}},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := newBench(test.device).run(t, instructions(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, frame := range Results(instructions(), records).Frames {
				for i, loss := range []float64{0, 0.001} {
					got, want := frame.Throughput[i], test.device.Limit(loss)
					if got.Regularity != v1alpha1.Regular || got.UpperBoundCause != v1alpha1.CauseDeviceLoss {
						t.Errorf("%+v", got)
					}
					if low, high := want*0.98, want*1.01; float64(got.LowerBoundFramesPerSecond) < low || float64(got.LowerBoundFramesPerSecond) > high {
						t.Errorf("%d bytes, %s: got %d, want about %.0f", frame.FrameBytes, got.Goal, got.LowerBoundFramesPerSecond, want)
					}
				}
			}
		})
	}
}

// What is final does not change while the measurement continues.
func TestPartialResultsOnlyGrow(t *testing.T) {
	instr := instructions()
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := Results(instr, records)
	for n := range records {
		got := Results(instr, records[:n])
		for i, frame := range got.Frames {
			full := whole.Frames[i]
			full.Latency = full.Latency[:len(frame.Latency)]
			if diff := cmp.Diff(full, frame, cmp.Transformer("empty", func(l []v1alpha1.LatencyResult) []v1alpha1.LatencyResult {
				return append([]v1alpha1.LatencyResult{}, l...)
			})); diff != "" && len(frame.Throughput) > 0 {
				t.Fatalf("after %d trials: %s", n, diff)
			}
		}
		if diff := cmp.Diff(whole.Calibration[:len(got.Calibration)], append([]v1alpha1.CalibrationFrame{}, got.Calibration...)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// loseBetween takes 0.05 % of the frames of trials between two loads: less than
// PDR allows, and more than NDR does.
func loseBetween(low, high uint64) func(*measure.Record) {
	return func(r *measure.Record) {
		if load := r.Trial.IntendedFramesPerSecond; r.Stage != measure.StageThroughput || load < low || load > high {
			return
		}
		for i := range r.Outcome.Directions {
			r.Outcome.Directions[i].ReceivedFrames -= r.Outcome.Directions[i].SentFrames / 2000
		}
	}
}

func TestWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		device simulated.Device
		change func(*measure.Instructions)
		spoil  func(*measure.Record)
		code   string
		// message is the sentence's end; "" expects no such warning.
		message string
	}{
		"short trials": {
			code: v1alpha1.WarningShortTrials, message: "Trials of NDR (1s) and PDR (1s) are shorter than the 60 s that RFC 2544 section 24 asks for.",
		},
		"not calibrated": {
			change: func(i *measure.Instructions) { i.Calibration = nil },
			code:   v1alpha1.WarningNotCalibrated, message: "The testbed's ports are not both bridges, and its calibrationNetworks name no loop, so there is no trial without a device: the generator's own limit and latency are unknown.",
		},
		"calibrated ceiling": {
			device: simulated.HardCap{CapacityFramesPerSecond: 50e6},
			code:   v1alpha1.WarningGeneratorCeiling,
			message: "The highest load, 2000000 frames/s, still met NDR and PDR; it was bounded by what the generator reached in its calibration, " +
				"so the device may do better.",
		},
		"ceiling without a calibration": {
			device: simulated.HardCap{CapacityFramesPerSecond: 50e6},
			change: func(i *measure.Instructions) { i.Calibration = nil },
			code:   v1alpha1.WarningGeneratorCeiling,
			message: "The generator, not the device, bounds NDR and PDR from above: it could not send the next higher load in full, " +
				"so the device may do better.",
		},
		"ceiling before a machine": {
			device:  simulated.HardCap{CapacityFramesPerSecond: 50e6},
			change:  func(i *measure.Instructions) { i.Calibration, i.Chain.Hop = nil, measure.HopTap },
			code:    v1alpha1.WarningGeneratorCeiling,
			message: "and not the device, bounds NDR and PDR from above: the next higher load was not sent in full, so the device may do better.",
		},
		"ceiling before a pod and a machine": {
			device: simulated.HardCap{CapacityFramesPerSecond: 50e6},
			change: func(i *measure.Instructions) {
				i.Calibration, i.Chain.Hop, i.Chain.PodsFirst = nil, measure.HopTap, true
			},
			code: v1alpha1.WarningGeneratorCeiling,
			message: "pods of the chain that work on the core that sends. To know the pods' part, measure the pods alone, " +
				"or make the traffic on another node, so that generator and pods have separate cores.",
		},
		"near the calibrated ceiling": {
			device:  simulated.HardCap{CapacityFramesPerSecond: 1_900_000},
			code:    v1alpha1.WarningGeneratorCeiling,
			message: "is 95 % of what the generator reaches without a device, so the loss above it may be the generator's doing.",
		},
		"maximum load": {
			change:  func(i *measure.Instructions) { i.Throughput.MaximumFramesPerSecond = new(int64(100_000)) },
			code:    v1alpha1.WarningMaximumLoad,
			message: "The highest load, 100000 frames/s, still met NDR and PDR; it was bounded by the run's maximumFramesPerSecond.",
		},
		"below the minimum": {
			device: simulated.TwoBands{FromFramesPerSecond: 1, ToFramesPerSecond: 1e9, CapacityFramesPerSecond: 1e9, LossRatio: 0.5},
			code:   v1alpha1.WarningIrregularResult, message: "Even the minimum load of 1000 frames/s lost more than PDR allows, so its throughput is given as 0.",
		},
		"not derived": {
			device: simulated.TwoBands{FromFramesPerSecond: 1, ToFramesPerSecond: 1e9, CapacityFramesPerSecond: 1e9, LossRatio: 0.5},
			code:   v1alpha1.WarningLoadNotDerived, message: "Load pdr90 is 90 % of the throughput of PDR, which was not found, so it was not measured.",
		},
		"out of time": {
			change: func(i *measure.Instructions) { i.Throughput.MaximumSearchSeconds = 3 },
			code:   v1alpha1.WarningIrregularResult, message: "The search ended after maximumSearchSeconds (3s) before the bounds of NDR were as close as the goal asks.",
		},
		"loss inversion": {
			// It forwards less under overload, so the search comes from below and
			// steps up through the band that loses.
			device: simulated.Collapse{CapacityFramesPerSecond: 1_000_000},
			change: func(i *measure.Instructions) { i.Sizes = sizes(64) },
			spoil:  loseBetween(240_000, 260_000),
			code:   v1alpha1.WarningLossInversion,
			message: "frames/s missed NDR, yet 997217 frames/s held it; the figure stays below the lower of the two, " +
				"and the device is not steady, or loses less at some higher loads.",
		},
		"no loss inversion": {code: v1alpha1.WarningLossInversion},
		"load not reached": {
			change: func(i *measure.Instructions) { i.Latency.Loads[0].FramesPerSecond = new(int64(2_500_000)) },
			code:   v1alpha1.WarningLoadNotReached, message: "The generator left 200000 of each million frames of load idle unsent (2500000 frames/s were intended).",
		},
		"unsteady": {
			spoil: func(r *measure.Record) {
				if r.Stage == measure.StageLatency && r.Load == "pdr50" {
					r.Outcome.Doubts = []measure.Doubt{{Code: measure.DoubtSteal, Detail: "the hypervisor held back the CPUs for 5ms"}}
				}
			},
			code: v1alpha1.WarningUnsteadyPacing, message: "the last because the hypervisor held back the CPUs for 5ms (CPUSteal).",
		},
		"preempted at the limit, which is no news": {
			device: simulated.HardCap{CapacityFramesPerSecond: 50e6},
			change: func(i *measure.Instructions) { i.Calibration, i.Sizes = nil, sizes(64) },
			spoil: func(r *measure.Record) {
				if fellShort(*r) {
					r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtMissedDeadlines, Detail: "all late"})
				}
			},
			code: v1alpha1.WarningUnsteadyPacing,
		},
		"own drops": {
			spoil: func(r *measure.Record) {
				if r.Stage == measure.StageLatency {
					r.Outcome.Directions[0].ReceivedFrames--
					r.Outcome.Doubts = []measure.Doubt{{Code: measure.DoubtReceiveDrops, Detail: "3 frames were dropped"}}
				}
			},
			code: v1alpha1.WarningGeneratorCeiling, message: "the last because 3 frames were dropped (GeneratorReceiveDrops).",
		},
	} {
		t.Run(name, func(t *testing.T) {
			instr := instructions()
			if test.change != nil {
				test.change(&instr)
			}
			if test.device == nil {
				test.device = hardCap()
			}
			b := newBench(test.device)
			b.spoil = test.spoil
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Results(instr, records).Warnings
			for _, w := range got {
				if w.Code == test.code && strings.HasSuffix(w.Message, test.message) {
					if test.message == "" {
						t.Errorf("unexpected %+v", w)
					}
					return
				}
			}
			if test.message == "" {
				return
			}
			t.Errorf("no %s with %q in %s", test.code, test.message, cmp.Diff(nil, got))
		})
	}
}

// A quiet run of long trials has no warnings.
func TestNoWarnings(t *testing.T) {
	instr := instructions()
	for i := range instr.Throughput.Goals {
		instr.Throughput.Goals[i].TrialMilliseconds = 60_000
		instr.Throughput.Goals[i].DurationSumMilliseconds = 60_000
	}
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Warnings; len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	d := &warningList{seen: map[string]bool{}}
	for i := range 200 {
		d.add("Code", measure.FrameSize(1+i%100), "%s", strings.Repeat("ä", 400+i%100))
	}
	if len(d.list) != maxWarnings {
		t.Errorf("got %d warnings", len(d.list))
	}
	for _, w := range d.list {
		if len(w.Message) > v1alpha1.MaxWarningBytes {
			t.Errorf("got %d bytes", len(w.Message))
		}
	}
}

func TestSummaryOfWhatWasLeftOut(t *testing.T) {
	instr := instructions()
	records, err := newBench(simulated.TwoBands{
		FromFramesPerSecond: 1, ToFramesPerSecond: 1e9, CapacityFramesPerSecond: 1e9, LossRatio: 0.5,
	}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	want := &v1alpha1.ResultSummary{Size: "64", Goal: "NDR", FramesPerSecond: &zero, RateNote: v1alpha1.NoteDoubtful}
	if diff := cmp.Diff(want, Results(instr, records).Summary); diff != "" {
		t.Error(diff)
	}
}

func TestLatencyAlone(t *testing.T) {
	instr := instructions()
	instr.Throughput = nil
	instr.Latency.Loads = []v1alpha1.LatencyLoad{{Name: "low", FramesPerSecond: new(int64(1000))}, {Name: "high", FramesPerSecond: new(int64(700_000))}}
	records, err := newBench(hardCap()).run(t, instr, func(_ []measure.Record, s Step) {
		if s.Stage == measure.StageWarmUp && s.Trial.IntendedFramesPerSecond != 700_000 {
			t.Errorf("warm-up at %d", s.Trial.IntendedFramesPerSecond)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records)
	if len(got.Frames) != 2 || len(got.Frames[0].Latency) != 2 || got.Summary.Goal != "" || got.Summary.Load != "high" {
		t.Errorf("%+v", got)
	}
}

func TestRounding(t *testing.T) {
	for _, test := range []struct {
		lost, sent uint64
		want       int64
	}{
		{0, 0, 0}, {0, 10, 0}, {1, 1_000_000_000, 1}, {1, 1_000_000, 1}, {1_000_001, 1_000_000_000_000, 2},
		{5, 5, 1_000_000}, {7, 5, 1_000_000}, {1 << 62, 1 << 63, 500_000}, {1<<64 - 1, 1<<64 - 1, 1_000_000},
	} {
		if got := lossPartsPerMillion(test.lost, test.sent); got != test.want {
			t.Errorf("%d of %d: got %d, want %d", test.lost, test.sent, got, test.want)
		}
	}
	if got := share(999_999_999, 1_000_000_000); got != 999_999 {
		t.Errorf("a share is rounded up: %d", got)
	}
	if got := wholeFrames(123.9999); got != 124 || wholeFrames(123.9) != 123 {
		t.Errorf("got %d", got)
	}
}

func TestProgress(t *testing.T) {
	noisy := simulated.Noisy{Device: hardCap(), Strength: simulated.Strong}
	for name, device := range map[string]simulated.Device{"quiet": hardCap(), "noisy": noisy} {
		t.Run(name, func(t *testing.T) {
			instr, before, steps := instructions(), measure.Progress{}, 0
			records, err := newBench(device).run(t, instr, func(records []measure.Record, s Step) {
				p := Progress(instr, records)
				steps++
				if name == "quiet" && p.Percent < before.Percent {
					t.Errorf("percent fell from %d to %d after %d trials", before.Percent, p.Percent, len(records))
				}
				if p.Calibrated != (s.Done || s.Path == PathChain) || p.Trials != len(records) || p.Stage == "" || len(p.Stage) > 200 {
					t.Errorf("%+v before %+v", p, s)
				}
				if s.Done != (p.Percent == 100) || s.Done != (p.RemainingSeconds == 0) {
					t.Errorf("%+v before %+v", p, s)
				}
				before = p
			})
			if err != nil || steps != len(records)+1 {
				t.Error(err, steps)
			}
		})
	}
}

// The first estimate is within a factor of two of what a quiet device takes.
func TestFirstEstimate(t *testing.T) {
	instr := instructions()
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	var took time.Duration
	for _, r := range records {
		took += time.Duration(r.Outcome.TotalNanoseconds)
	}
	if got := Progress(instr, nil).RemainingSeconds; float64(got) < took.Seconds()/2 || float64(got) > took.Seconds()*2 {
		t.Errorf("estimated %d s, took %v", got, took)
	}
}

// The first frame of the warm-up has a separate figure, in each direction in which it arrived.
func TestFirstFrame(t *testing.T) {
	instr := instructions()
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageWarmUp {
			r.Outcome.Directions[0].FirstFrameNanoseconds = 77_000
			r.Outcome.Directions[1].FirstFrameNanoseconds = 0
		}
		if r.Stage == measure.StageLatency && r.Load == "idle" {
			r.Outcome.Directions[1].FirstFrameNanoseconds = 0
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := Results(instr, records).Frames[0]
	want := []v1alpha1.FirstFrameResult{{Direction: "Forward", DelayNanoseconds: 77_000}}
	if diff := cmp.Diff(want, frame.FirstFrame); diff != "" {
		t.Error(diff)
	}
	idle := frame.Latency[0].Directions
	if idle[0].FirstFrameNanoseconds == nil || idle[1].FirstFrameNanoseconds != nil {
		t.Errorf("first frames of idle are %v and %v, want the one that arrived alone", idle[0].FirstFrameNanoseconds, idle[1].FirstFrameNanoseconds)
	}
}
