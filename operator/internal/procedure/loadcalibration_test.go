package procedure

import (
	"slices"
	"testing"

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
		"not asked for":   func(i *measure.Instructions) { i.CalibrateLoads = false },
		"no calibration":  func(i *measure.Instructions) { i.Calibration = nil },
		"no latency":      func(i *measure.Instructions) { i.Latency = nil },
		"noisy neighbors": func(i *measure.Instructions) { i.Neighbors = []measure.NeighborLoad{{Name: "a"}} },
	} {
		instr := calibratedLoads()
		change(&instr)
		if slices.ContainsFunc(phases(instr), func(ph phase) bool { return ph.stage() == measure.StageCalibrateLoad }) {
			t.Errorf("%s: %+v", name, phases(instr))
		}
	}
}
