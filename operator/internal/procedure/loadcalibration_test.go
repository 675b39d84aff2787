package procedure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func calibratedLoads() measure.Instructions {
	instr := onOneCore()
	instr.CalibrateLoads, instr.CalibrationMilliseconds = true, 700
	return instr
}

// slowBias makes the delays without a device known: the reverse direction's are the longer ones.
func slowBias(r *measure.Record) {
	if r.Stage == measure.StageCalibrateLoad {
		r.Outcome.Directions[0].Latency.P50Nanoseconds, r.Outcome.Directions[0].Latency.P99Nanoseconds = 6000, 8000
		r.Outcome.Directions[1].Latency.P50Nanoseconds, r.Outcome.Directions[1].Latency.P99Nanoseconds = 7000, 7500
	}
}

// The delay without a device is measured last, at the rate of each load; the rate of the calibration
// before the chain is not measured again.
func TestLoadCalibration(t *testing.T) {
	instr := calibratedLoads()
	b := newBench(hardCap())
	b.spoil = slowBias
	records, err := b.run(t, instr, func(records []measure.Record, step Step) {
		if step.Stage == measure.StageCalibrateLoad && (step.Path != PathCalibration || !Progress(instr, records).Calibrated) {
			t.Errorf("%+v, %+v", step, Progress(instr, records))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].Latency
	var loads []string
	for _, r := range records[len(records)-2:] {
		loads = append(loads, string(r.Stage)+" "+r.Load)
		at := slices.IndexFunc(got, func(l v1alpha1.LatencyResult) bool { return l.Load == r.Load })
		if r.Trial.DurationNanoseconds != 700e6 || at < 0 || signed(r.Trial.IntendedFramesPerSecond) != got[at].IntendedFramesPerSecond {
			t.Errorf("%+v", r.Trial)
		}
	}
	if diff := cmp.Diff([]string{"CalibrateLoad pdr50", "CalibrateLoad pdr90"}, loads); diff != "" {
		t.Error(diff)
	}
	low := records[slices.IndexFunc(records, func(r measure.Record) bool { return r.Stage == measure.StageCalibrateLatency })].Outcome.Directions[0].Latency
	for _, l := range got {
		want := &v1alpha1.LatencyBias{P50Nanoseconds: 7000, P99Nanoseconds: 8000}
		if l.Load == "idle" {
			want = &v1alpha1.LatencyBias{P50Nanoseconds: signed(low.P50Nanoseconds), P99Nanoseconds: signed(low.P99Nanoseconds)}
		}
		if diff := cmp.Diff(want, l.Bias); diff != "" {
			t.Errorf("%s: %s", l.Load, diff)
		}
	}
	if before := Results(instr, records[:len(records)-2]).Frames[0].Latency; before[0].Bias == nil || before[1].Bias != nil {
		t.Errorf("before the last trials: %+v", before)
	}
}

// A delay below the one without a device is explained by the figure at the same load.
func TestDelayBelowTheBiasOfItsLoad(t *testing.T) {
	instr := calibratedLoads()
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		slowBias(r)
		if r.Stage == measure.StageLatency && r.Load == "pdr50" {
			r.Outcome.Directions[0].Latency.P50Nanoseconds, r.Outcome.Directions[1].Latency.P50Nanoseconds = 6999, 7000
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range Results(instr, records).Warnings {
		if w.Code == v1alpha1.WarningDelayBelowBias {
			got = append(got, w.Message)
		}
	}
	want := []string{"At load pdr50 the median delay of direction Forward is 6999 ns, below the 7000 ns without a device at the same load: " +
		"what the device adds is less than what the generator's own delay varies by; do not subtract it."}
	if diff := cmp.Diff(want, got[:min(1, len(got))]); diff != "" {
		t.Error(diff)
	}
	for _, message := range got {
		if len(message) > 40 && message[40:47] == "Reverse" {
			t.Errorf("unexpected %q", message)
		}
	}
}

// A generator that is unreliable after everything was measured costs the bias, and no figure.
func TestUnreliableLoadCalibration(t *testing.T) {
	for name, spoil := range map[string]func(*measure.Record){
		"invalid": invalidate,
		"nothing arrives": func(r *measure.Record) {
			for i := range r.Outcome.Directions {
				r.Outcome.Directions[i].ReceivedFrames = 0
			}
		},
		"the load is not reached": func(r *measure.Record) {
			for i := range r.Outcome.Directions {
				d := &r.Outcome.Directions[i]
				d.SentFrames -= d.SentFrames / 100
				d.ReceivedFrames = d.SentFrames
			}
		},
		"the ring is full": func(r *measure.Record) {
			for i := range r.Outcome.Directions {
				d := &r.Outcome.Directions[i]
				d.OverflowFrames = d.SentFrames / 100
				d.ReceivedFrames = d.SentFrames - d.OverflowFrames
			}
		},
	} {
		instr := calibratedLoads()
		b := newBench(hardCap())
		b.spoil = func(r *measure.Record) {
			if r.Stage == measure.StageCalibrateLoad {
				spoil(r)
			}
		}
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, l := range Results(instr, records).Frames[0].Latency {
			if (l.Bias == nil) != (l.Load != "idle") || len(l.Directions) != 2 {
				t.Errorf("%s: %+v", name, l)
			}
		}
	}
}

func TestNoLoadCalibration(t *testing.T) {
	for name, change := range map[string]func(*measure.Instructions){
		"not asked for":  func(i *measure.Instructions) { i.CalibrateLoads = false },
		"no calibration": func(i *measure.Instructions) { i.Calibration = nil },
		"no load":        func(i *measure.Instructions) { i.Latency = nil },
	} {
		instr := calibratedLoads()
		change(&instr)
		if slices.ContainsFunc(phases(instr), func(ph phase) bool { return ph.stage() == measure.StageCalibrateLoad }) {
			t.Errorf("%s: %+v", name, phases(instr))
		}
	}
}

// manyLoads has latency loads, fixed loads and a soak, of which some have the same rate.
func manyLoads() measure.Instructions {
	instr := calibratedLoads()
	instr.Latency.Loads = []v1alpha1.LatencyLoad{
		{Name: "idle", FramesPerSecond: new(int64(calibrationLowFramesPerSecond))},
		{Name: "rate", FramesPerSecond: new(int64(200_000))},
		{Name: "pdr50", Goal: "PDR", Percent: new(int32(50))},
	}
	instr.FixedLoad = &v1alpha1.FixedLoad{DurationSeconds: 2, Repeats: 2, Profiles: []v1alpha1.LoadProfile{
		{Name: "same", Size: "64", FramesPerSecond: new(int64(200_000))},
		{Name: "other", Size: "64", FramesPerSecond: new(int64(300_000))},
		{Name: "low", Size: "64", FramesPerSecond: new(int64(calibrationLowFramesPerSecond))},
	}}
	instr.Soak = soakOf(4*time.Second, 2*time.Second).Soak
	instr.Soak.FramesPerSecond, instr.Soak.Goal, instr.Soak.Percent = nil, "PDR", new(int32(50))
	return instr
}

// Fixed loads and soaks have a bias too, and loads of one rate share a trial.
func TestEachRateIsCalibratedOnce(t *testing.T) {
	instr := manyLoads()
	b := newBench(hardCap())
	b.spoil = slowBias
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rate", "pdr50", "other"}, calibratedIn(records)); diff != "" {
		t.Error(diff)
	}
	frame := Results(instr, records).Frames[0]
	known := &v1alpha1.LatencyBias{P50Nanoseconds: 7000, P99Nanoseconds: 8000}
	for _, f := range frame.FixedLoad {
		if diff := cmp.Diff(known, f.Bias); (diff != "") != (f.Profile == "low") || f.Bias == nil {
			t.Errorf("%s has %+v", f.Profile, f.Bias)
		}
	}
	if diff := cmp.Diff(known, frame.Soak.Bias); diff != "" {
		t.Error(diff)
	}
	if before := Results(instr, records[:len(records)-3]).Frames[0]; before.Soak.Bias != nil || before.FixedLoad[0].Bias != nil {
		t.Errorf("before the last trials: %+v", before)
	}
}

// Of the repeats of a fixed load and the intervals of a soak, the lowest delay below the bias is named once.
func TestTimedDelayBelowTheBias(t *testing.T) {
	instr := manyLoads()
	b := newBench(hardCap())
	low := uint64(6990)
	b.spoil = func(r *measure.Record) {
		slowBias(r)
		if (r.Stage == stageFixedLoad && r.Load == "other" || r.Stage == stageSoak) && len(r.Outcome.Directions) == 2 {
			low--
			r.Outcome.Directions[0].Latency.P50Nanoseconds, r.Outcome.Directions[1].Latency.P50Nanoseconds = low, 7000
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range Results(instr, records).Warnings {
		if w.Code == v1alpha1.WarningDelayBelowBias && (strings.Contains(w.Message, "load other") || strings.Contains(w.Message, "load soak")) {
			before, _, _ := strings.Cut(w.Message, ", below the 7000 ns")
			got = append(got, before)
		}
	}
	want := []string{"At load other the median delay of direction Forward is 6988 ns", "At load soak the median delay of direction Forward is 6986 ns"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A rate that failed is not tried again for another load.
func TestFailedRateIsCalibratedOnce(t *testing.T) {
	instr := manyLoads()
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageCalibrateLoad && r.Load == "rate" {
			r.Outcome.Directions[0].SentFrames /= 2
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rate", "pdr50", "other"}, calibratedIn(records)); diff != "" {
		t.Error(diff)
	}
	if frame := Results(instr, records).Frames[0]; frame.FixedLoad[0].Bias != nil || frame.Latency[1].Bias != nil || frame.FixedLoad[1].Bias == nil {
		t.Errorf("%+v", frame)
	}
}

// With neighbors loads are calibrated without them, and where two sides are compared once for both, if
// they are the same.
func TestLoadCalibrationWithNeighbors(t *testing.T) {
	for name, test := range map[string]struct {
		sides v1alpha1.NoisyNeighborComparison
		want  []string
	}{
		"with":             {"", []string{"rate", "pdr50", "other"}},
		"with and without": {v1alpha1.NeighborsWithAndWithout, []string{"rate", "other"}},
	} {
		instr := manyLoads()
		instr.Neighbors, instr.NoisyNeighbors, instr.Repeats = []measure.NeighborLoad{{Name: "a"}}, test.sides, 2
		records, err := newBench(hardCap()).run(t, instr, func(_ []measure.Record, step Step) {
			if step.Stage == measure.StageCalibrateLoad && step.Neighbors {
				t.Errorf("%s: %+v", name, step)
			}
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, calibratedIn(records)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		sides, _ := replaySides(instr, records, "")
		for _, w := range sides {
			for _, l := range w.figures().Frames[0].Latency {
				if (l.Bias == nil) != (l.Load == "pdr50" && len(sides) == 2) {
					t.Errorf("%s, side %t, %s: %+v", name, w.side, l.Load, l.Bias)
				}
			}
		}
	}
}

// calibratedIn returns the loads of the calibration's records at the end.
func calibratedIn(records []measure.Record) (out []string) {
	for _, r := range records {
		if r.Stage == measure.StageCalibrateLoad {
			out = append(out, r.Load)
		}
	}
	return out
}
