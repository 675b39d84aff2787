package plan

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// TestCheckSize checks that what cannot be stored is refused before anything starts.
func TestCheckSize(t *testing.T) {
	instructions := measure.Instructions{LinkBitsPerSecond: 10_000_000_000, Sizes: []measure.Size{measure.FrameSize(256)}}
	instructions.Soak = &v1alpha1.Soak{
		Size: "256", FramesPerSecond: new(int64(1000)), DurationSeconds: 86_400, IntervalSeconds: 300,
	}
	if err := checkSize(instructions); err != nil {
		t.Errorf("a day in intervals of five minutes: %v", err)
	}
	instructions.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 2, TrialMilliseconds: 1000}
	instructions.Sizes = nil
	for _, frameBytes := range []int{64, 128, 256, 512, 1024, 1280, 1518} {
		instructions.Sizes = append(instructions.Sizes, measure.FrameSize(frameBytes))
	}
	err := checkSize(instructions)
	if measure.ReasonOf(err) != v1alpha1.ReasonResultsTooLarge || !strings.Contains(err.Error(), "most of them in stage FrameLossRate") {
		t.Errorf("seven curves of 50 points with it: %v", err)
	}
}

// TestLoadsAboveLineRate checks that a profile's rate is compared with the line rate of only this profile's frame size.
func TestLoadsAboveLineRate(t *testing.T) {
	profile := func(size string, rate int64) v1alpha1.Measurements {
		return v1alpha1.Measurements{FixedLoad: &v1alpha1.FixedLoad{
			Profiles: []v1alpha1.LoadProfile{{Name: "a", Size: size, FramesPerSecond: &rate}},
		}}
	}
	for name, test := range map[string]struct {
		measurements v1alpha1.Measurements
		reason       string
	}{
		"fits its own size": {profile("64", 1_000_000), ""},
		"above its size":    {profile("1518", 1_000_000), v1alpha1.ReasonLoadAboveLineRate},
		"below a frame of its size": {v1alpha1.Measurements{FixedLoad: &v1alpha1.FixedLoad{
			Profiles: []v1alpha1.LoadProfile{{Name: "a", Size: "1518", Layer2BitsPerSecond: new(int64(12_143))}},
		}}, v1alpha1.ReasonInvalidLoadRange},
		"curve above line rate": {v1alpha1.Measurements{FrameLossRate: &v1alpha1.FrameLossRate{MaximumFramesPerSecond: new(int64(1_000_000))}},
			v1alpha1.ReasonLoadAboveLineRate},
		"soak above line rate": {v1alpha1.Measurements{Soak: &v1alpha1.Soak{Size: "1518", FramesPerSecond: new(int64(1_000_000))}},
			v1alpha1.ReasonLoadAboveLineRate},
		"soak that fits": {v1alpha1.Measurements{Soak: &v1alpha1.Soak{Size: "64", FramesPerSecond: new(int64(1_000_000))}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Run: &v1alpha1.BenchmarkRun{}, Testbed: &v1alpha1.Testbed{}}
			in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64, 1518}
			in.Run.Spec.Experiment.Measurements = test.measurements
			in.Testbed.Spec.Ports.LinkBitsPerSecond = 10_000_000_000
			if got := measure.ReasonOf(checkLoads(in)); got != test.reason {
				t.Errorf("got %q, want %q", got, test.reason)
			}
		})
	}
}
