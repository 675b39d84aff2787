package procedure

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func repeatedInstructions(repeats int32) measure.Instructions {
	instr := instructions()
	instr.Repeats = repeats
	return instr
}

func TestRepeatsSequence(t *testing.T) {
	var got []string
	seen := ""
	_, err := newBench(hardCap()).run(t, repeatedInstructions(2), func(_ []measure.Record, s Step) {
		line := fmt.Sprint(s.Stage, s.Load, s.Trial.FrameBytes, "/", s.Repeat)
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
	want := []string{"CalibrateRate64/0", "CalibrateLatency64/0", "CalibrateRate512/0", "CalibrateLatency512/0"}
	for _, size := range []int{64, 512} {
		for repeat := range 2 {
			for _, stage := range []string{"WarmUp", "Throughput", "Latencyidle", "Latencypdr50", "Latencypdr90"} {
				want = append(want, fmt.Sprint(stage, size, "/", repeat))
			}
		}
	}
	if diff := cmp.Diff(append(want, "Done"), got); diff != "" {
		t.Error(diff)
	}
}

// Each repeat is a whole measurement: if a device always answers alike, all repeats are alike,
// and the figures are those of one.
func TestRepeatsOfASteadyDevice(t *testing.T) {
	one, err := newBench(hardCap()).run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	three, err := newBench(hardCap()).run(t, repeatedInstructions(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, got := Results(instructions(), one).Frames, Results(repeatedInstructions(3), three).Frames
	for i := range got {
		for j, throughput := range got[i].Throughput {
			single := want[i].Throughput[j]
			rate := single.FramesPerSecond
			single.Trials *= 3
			single.Statistics = []v1alpha1.Statistics{{
				Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 3, Mean: rate, ConfidenceLow: rate, ConfidenceHigh: rate,
				Minimum: rate, Maximum: rate, Values: []int64{rate, rate, rate},
			}}
			if diff := cmp.Diff(single, throughput); diff != "" {
				t.Error(diff)
			}
		}
		for j, load := range got[i].Latency {
			for k, d := range load.Directions {
				single := want[i].Latency[j].Directions[k]
				if d.SentFrames != 3*single.SentFrames || d.Latency.Samples != 3*single.Latency.Samples || len(d.Statistics) != 2 {
					t.Errorf("%+v, a single one was %+v", d, single)
				}
			}
		}
	}
}

func TestRepeatsOfANoisyDevice(t *testing.T) {
	instr := repeatedInstructions(5)
	instr.Sizes = sizes(64)
	records, err := newBench(simulated.Noisy{Device: hardCap(), Strength: simulated.Strong}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := Results(instr, records).Frames[0]
	for _, r := range frame.Throughput {
		s := r.Statistics[0]
		sum := int64(0)
		for _, v := range s.Values {
			sum += v
		}
		switch {
		case s.N != 5 || len(s.Values) != 5 || s.Mean != r.FramesPerSecond || s.Mean != sum/5:
			t.Errorf("%+v", s)
		case s.ConfidenceLow > s.Mean || s.ConfidenceHigh < s.Mean || s.StandardDeviation == 0 || s.CoefficientOfVariationPartsPerMillion == 0:
			t.Errorf("%+v", s)
		case s.Minimum > s.Mean || s.Maximum < s.Mean || r.LowerBoundFramesPerSecond > s.Minimum+1 || *r.UpperBoundFramesPerSecond < s.Maximum:
			t.Errorf("%+v does not enclose %+v", r, s)
		}
	}
	for _, l := range frame.Latency {
		for _, d := range l.Directions {
			for i, want := range []int64{d.Latency.P50Nanoseconds, d.Latency.P99Nanoseconds} {
				if s := d.Statistics[i]; s.Mean != want || s.N != 5 || s.Minimum > want || s.Maximum < want {
					t.Errorf("%+v, want the mean %d", s, want)
				}
			}
			if d.Latency.MinNanoseconds > d.Latency.P50Nanoseconds || d.Latency.P9999Nanoseconds != nil && *d.Latency.P9999Nanoseconds > d.Latency.MaxNanoseconds {
				t.Errorf("%+v", d.Latency)
			}
		}
	}
}

// A measurement that is stopped anywhere shows the repeats so far, and the next one continues
// where it was.
func TestRepeatsSoFar(t *testing.T) {
	instr := repeatedInstructions(3)
	instr.Sizes = sizes(64)
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	most := int32(0)
	for n := range records {
		step, err := Next(instr, records[:n])
		if err != nil || step.Done || step.Stage != records[n].Stage || step.Repeat != records[n].Repeat || step.Trial != records[n].Trial {
			t.Fatalf("after %d trials: %+v, %v", n, step, err)
		}
		for _, f := range Results(instr, records[:n]).Frames {
			for _, r := range f.Throughput {
				made := int32(1)
				if len(r.Statistics) > 0 {
					made = r.Statistics[0].N
				}
				if made < most {
					t.Errorf("%d repeats after %d", made, most)
				}
				most = made
			}
		}
	}
	if most != 3 {
		t.Errorf("got %d repeats", most)
	}
}

// Logs of a single measurement do not mention repeats, and do not count as those of several.
func TestRepeatsAndOldRecords(t *testing.T) {
	records, err := newBench(hardCap()).run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, repeats := range []int32{-1, 0, 1} {
		if step, err := Next(repeatedInstructions(repeats), records); err != nil || !step.Done {
			t.Errorf("%d repeats: %+v, %v", repeats, step, err)
		}
	}
	if _, err := Next(repeatedInstructions(2), records); !errors.Is(err, ErrRecords) {
		t.Errorf("got %v", err)
	}
}

func TestCombineDoubtfulRepeats(t *testing.T) {
	upper := func(v int64) *int64 { return &v }
	w := &replay{instr: instructions()}
	got := w.combineThroughput([]v1alpha1.ThroughputResult{
		{Goal: "NDR", Regularity: v1alpha1.Regular, FramesPerSecond: 100, LowerBoundFramesPerSecond: 100, UpperBoundFramesPerSecond: upper(102), UpperBoundCause: v1alpha1.CauseDeviceLoss, Trials: 3},
		{Goal: "NDR", Regularity: v1alpha1.Irregular, FramesPerSecond: 103, LowerBoundFramesPerSecond: 104, UpperBoundCause: v1alpha1.CauseGeneratorCeiling, LossPartsPerMillion: 7, Trials: 4},
	}, measure.FrameSize(64))
	want := []v1alpha1.ThroughputResult{{
		Goal: "NDR", Regularity: v1alpha1.Irregular, FramesPerSecond: 101, Layer1BitsPerSecond: 101 * 84 * 8, LineRatePartsPerMillion: 6,
		LowerBoundFramesPerSecond: 100, UpperBoundCause: v1alpha1.CauseGeneratorCeiling, LossPartsPerMillion: 7, Trials: 7,
		Statistics: []v1alpha1.Statistics{{
			// 12.7062 * 2.1213 / sqrt(2) is 19.06 to each side of 101.5.
			Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 2, Mean: 101, StandardDeviation: 2, CoefficientOfVariationPartsPerMillion: 20900,
			ConfidenceLow: 82, ConfidenceHigh: 121, Minimum: 100, Maximum: 103, Values: []int64{100, 103},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A direction without frames in one repeat has no delay, and its loss shows.
func TestCombineStarvedDirection(t *testing.T) {
	delays := v1alpha1.Delays{Samples: 10, MinNanoseconds: 1, P50Nanoseconds: 2, MaxNanoseconds: 9}
	got := combineDirection([]v1alpha1.DirectionResult{
		{Direction: "Reverse", SentFrames: 10, ReceivedFrames: 10, Latency: delays, DelayVariation: delays, JitterNanoseconds: 3},
		{Direction: "Reverse", SentFrames: 10},
	})
	want := v1alpha1.DirectionResult{Direction: "Reverse", SentFrames: 20, ReceivedFrames: 10, LossPartsPerMillion: 500_000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Only what has figures is repeated; every other phase keeps its place.
func TestRepeatedPhases(t *testing.T) {
	ph := func(stage measure.Stage, frameBytes, repeat int) phase {
		return phase{measurement: measurementOf(stage), size: measure.FrameSize(frameBytes), repeat: repeat}
	}
	const other = stageSoak
	got := inRepeatsOf([]phase{
		ph(measure.StageCalibrateRate, 64, 0), ph(measure.StageWarmUp, 64, 0), ph(measure.StageThroughput, 64, 0), ph(other, 64, 0),
		ph(measure.StageWarmUp, 512, 0), ph(other, 512, 0), ph(measure.StageWarmUp, 1518, 0), ph(measure.StageLatency, 1518, 0),
	}, 2)
	want := []phase{
		ph(measure.StageCalibrateRate, 64, 0),
		ph(measure.StageWarmUp, 64, 0), ph(measure.StageThroughput, 64, 0),
		ph(measure.StageWarmUp, 64, 1), ph(measure.StageThroughput, 64, 1), ph(other, 64, 0),
		ph(measure.StageWarmUp, 512, 0), ph(other, 512, 0),
		ph(measure.StageWarmUp, 1518, 0), ph(measure.StageLatency, 1518, 0),
		ph(measure.StageWarmUp, 1518, 1), ph(measure.StageLatency, 1518, 1),
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(phase{}), cmp.Comparer(func(a, b measurement) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}
