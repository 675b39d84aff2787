package procedure

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// workedInstructions returns those of the run in docs/methodology/worked-example.md, for its
// first frame size.
func workedInstructions() measure.Instructions {
	goal := func(name string, loss int32) v1alpha1.Goal {
		return v1alpha1.Goal{
			Name: name, LossPartsPerMillion: loss, TrialMilliseconds: 500, DurationSumMilliseconds: 500, WidthPartsPerMillion: 50_000,
		}
	}
	return measure.Instructions{
		LinkBitsPerSecond: 10_000_000_000, Calibration: &measure.Path{}, Sizes: sizes(64),
		Measurements: v1alpha1.Measurements{
			WarmUpMilliseconds: new(int32(500)), SettleMilliseconds: 100,
			Throughput: &v1alpha1.Throughput{
				Goals:                  []v1alpha1.Goal{goal("NDR", 0), goal("PDR", 1000)},
				MinimumFramesPerSecond: 1000, MaximumSearchSeconds: 1200,
			},
			Latency: &v1alpha1.Latency{TrialMilliseconds: 2000, Loads: []v1alpha1.LatencyLoad{
				{Name: "idle", FramesPerSecond: new(int64(1000))}, {Name: "pdr50", Goal: "PDR", Percent: new(int32(50))},
			}},
		},
	}
}

// TestWorkedExample keeps the page true: the stored trials of a real run give the figures that
// the page calculates by hand, and the next trial each time.
func TestWorkedExample(t *testing.T) {
	text, err := os.ReadFile("testdata/lab-router-64.json")
	if err != nil {
		t.Fatal(err)
	}
	var records []measure.Record
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	instr := workedInstructions()
	// The calibration of that run was as fast as possible.
	records[0].Trial.IntendedFramesPerSecond = lineRate64
	for i := range records[0].Outcome.Directions {
		records[0].Outcome.Directions[i].IntendedFrames = lineRate64
	}
	for n, r := range records {
		step, err := Next(instr, records[:n])
		if err != nil || step.Stage != r.Stage || step.Load != r.Load || step.Trial != r.Trial {
			t.Fatalf("after %d trials: %+v, %v", n, step, err)
		}
	}
	if step, err := Next(instr, records); err != nil || !step.Done {
		t.Fatalf("at the end: %+v, %v", step, err)
	}
	got := Results(instr, records)
	for i, goal := range []string{"NDR", "PDR"} {
		r := got.Frames[0].Throughput[i]
		if r.Goal != goal || r.FramesPerSecond != 126_404 || r.LowerBoundFramesPerSecond != 126_404 || *r.UpperBoundFramesPerSecond != 132_948 ||
			r.Layer1BitsPerSecond != 84_943_488 || r.LineRatePartsPerMillion != 8494 || r.LossPartsPerMillion != 0 || r.Trials != 8 ||
			r.Regularity != v1alpha1.Regular || r.UpperBoundCause != v1alpha1.CauseGeneratorCeiling {
			t.Errorf("%+v", r)
		}
	}
	half := got.Frames[0].Latency[1]
	forward, reverse := half.Directions[0], half.Directions[1]
	if half.IntendedFramesPerSecond != 63_202 || forward.PacketDelayVariationP99Nanoseconds != 1243 || *reverse.PacketDelayVariationP999Nanoseconds != 17_625 {
		t.Errorf("%+v", half)
	}
	want := v1alpha1.LoadShare{Goal: "PDR", Percent: 50, ThroughputFramesPerSecond: 126_404, UpperBoundCause: v1alpha1.CauseGeneratorCeiling, Regularity: v1alpha1.Regular}
	if half.Share == nil || *half.Share != want || got.Frames[0].Latency[0].Share != nil {
		t.Errorf("shares are %+v and %+v, want none and %+v", got.Frames[0].Latency[0].Share, half.Share, want)
	}
	if !slices.Equal(half.Doubts, []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}) {
		t.Errorf("doubts are %v", half.Doubts)
	}
	if forward.Latency.P999Nanoseconds == nil || forward.Latency.P9999Nanoseconds == nil || got.Frames[0].Latency[0].Directions[0].Latency.P999Nanoseconds != nil {
		t.Errorf("%d frames have p99.9, and %d have none: %+v, %+v", forward.Latency.Samples, got.Frames[0].Latency[0].Directions[0].Latency.Samples, half, got.Frames[0].Latency[0])
	}
	if *got.Summary.P99Nanoseconds != 4818 || got.Calibration[0].LatencyBiasNanoseconds != 2455 || got.Calibration[0].MaximumFramesPerSecond != 320_176 {
		t.Errorf("%+v, %+v", got.Summary, got.Calibration)
	}
}
