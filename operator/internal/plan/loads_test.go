package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func TestRangesAreSizes(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{1518, 128}
	in.Run.Spec.Experiment.Traffic.FrameRanges = []v1alpha1.FrameRange{{From: 64, To: 200, Step: 64}, {From: 300, To: 300, Step: 1}}
	instructions := mustMake(t, in).Instructions
	var got []int
	for _, size := range instructions.Sizes {
		got = append(got, size.FrameBytes)
	}
	if diff := cmp.Diff([]int{1518, 128, 64, 192, 300}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadsInOtherUnits(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Measurements.Throughput.MinimumLoad = &v1alpha1.Load{LineRatePercent: new(int32(1))}
	in.Run.Spec.Experiment.Measurements.Throughput.MaximumLoad = &v1alpha1.Load{Layer1BitsPerSecond: new(int64(2_000_000_000))}
	in.Run.Spec.Experiment.Measurements.Latency.Loads = []v1alpha1.LatencyLoad{
		{Name: "branch", Rate: &v1alpha1.Load{Layer2BitsPerSecond: new(int64(25_000_000))}},
		{Name: "few", Rate: &v1alpha1.Load{FramesPerSecond: new(int64(10))}},
	}
	instructions := mustMake(t, in).Instructions
	loads := instructions.Latency.Loads
	for name, c := range map[string]struct{ got, want uint64 }{
		"minimum, 64 bytes":   {instructions.Minimum(measure.FrameSize(64)), 148_809},
		"minimum, 1518 bytes": {instructions.Minimum(measure.FrameSize(1518)), 8_127},
		"maximum, 1518 bytes": {instructions.Maximum(measure.FrameSize(1518)), 162_548},
		"latency, 1518 bytes": {instructions.Rate(loads[0], measure.FrameSize(1518)), 2_058},
		"latency in frames":   {instructions.Rate(loads[1], measure.FrameSize(1518)), 10},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d frames/s, want %d", name, c.got, c.want)
		}
	}
}

func TestShareOfTheReverseDirection(t *testing.T) {
	for percent, want := range map[int32]int{100: 0, 10: 10} {
		in := plantest.Input(1)
		in.Run.Spec.Experiment.Traffic.ReversePercent = percent
		p := mustMake(t, in)
		for _, path := range []measure.Path{p.Instructions.Chain, *p.Instructions.Calibration} {
			if forward, reverse := path.Streams[0].LoadPercent, path.Streams[1].LoadPercent; forward != 0 || reverse != want {
				t.Errorf("%d %%: the streams have %d and %d", percent, forward, reverse)
			}
		}
	}
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.ReversePercent = 1
	in.Run.Spec.Experiment.Measurements.Latency.Loads[0].FramesPerSecond = new(int64(50))
	if _, err := plan.Make(in); measure.ReasonOf(err) != v1alpha1.ReasonInvalidLoadRange || !strings.Contains(err.Error(), "spec.experiment.traffic.reversePercent") {
		t.Errorf("1 %% of 50 frames/s: %v", err)
	}
}

func TestLoadsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.Measurements)
		reason string
		want   []string
	}{
		"above line rate on layer 1": {
			func(m *v1alpha1.Measurements) {
				m.Latency.Loads[0] = v1alpha1.LatencyLoad{Name: "fast", Rate: &v1alpha1.Load{Layer1BitsPerSecond: new(int64(20_000_000_000))}}
			},
			v1alpha1.ReasonLoadAboveLineRate, []string{"measurements.latency.loads[fast].rate is 29761904", "14880952 frames/s of 64 bytes"},
		},
		"less than a frame": {
			func(m *v1alpha1.Measurements) {
				m.Latency.Loads[0] = v1alpha1.LatencyLoad{Name: "slow", Rate: &v1alpha1.Load{Layer2BitsPerSecond: new(int64(5000))}}
			},
			v1alpha1.ReasonInvalidLoadRange, []string{"measurements.latency.loads[slow].rate", "less than one frame/s of 1518 bytes"},
		},
		"a latency trial without a frame": {
			func(m *v1alpha1.Measurements) {
				m.Latency.Loads[0] = v1alpha1.LatencyLoad{Name: "slow", FramesPerSecond: new(int64(9))}
				m.Latency.TrialMilliseconds = 100
			},
			v1alpha1.ReasonInvalidLoadRange, []string{"measurements.latency.loads[slow].framesPerSecond of 9, a trial of 100 ms", "less than one frame", "or spec.experiment.measurements.latency.trialMilliseconds"},
		},
		"a loss curve without a frame": {
			func(m *v1alpha1.Measurements) {
				m.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 10, TrialMilliseconds: 100, MaximumFramesPerSecond: new(int64(99))}
			},
			v1alpha1.ReasonInvalidLoadRange, []string{"measurements.frameLossRate.maximumFramesPerSecond of 99", "100 ms at 9 frames/s", "or spec.experiment.measurements.frameLossRate.trialMilliseconds"},
		},
		"a search without a frame": {
			func(m *v1alpha1.Measurements) {
				m.Throughput.MinimumFramesPerSecond = 9
				m.Throughput.Goals = []v1alpha1.Goal{{Name: "long", TrialMilliseconds: 1000, DurationSumMilliseconds: 1000}, {Name: "short", TrialMilliseconds: 100, DurationSumMilliseconds: 1000}}
			},
			v1alpha1.ReasonInvalidLoadRange, []string{"measurements.throughput.minimumFramesPerSecond of 9", "or spec.experiment.measurements.throughput.goals[short].trialMilliseconds"},
		},
		"minimum above maximum": {
			func(m *v1alpha1.Measurements) {
				m.Throughput.MaximumLoad = &v1alpha1.Load{Layer2BitsPerSecond: new(int64(10_000_000))}
			},
			v1alpha1.ReasonInvalidLoadRange, []string{"the minimum load is 1000 frames/s of 1518 bytes and the maximum load 823", "spec.experiment.measurements.throughput"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(1)
			c.change(&in.Run.Spec.Experiment.Measurements)
			_, err := plan.Make(in)
			if measure.ReasonOf(err) != c.reason {
				t.Fatalf("%v, want reason %s", err, c.reason)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}
