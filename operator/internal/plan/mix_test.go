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

func mix(name string, sizesAndWeights ...int32) v1alpha1.FrameMix {
	m := v1alpha1.FrameMix{Name: name}
	for i := 0; i < len(sizesAndWeights); i += 2 {
		m.Frames = append(m.Frames, v1alpha1.WeightedFrame{FrameBytes: sizesAndWeights[i], Weight: sizesAndWeights[i+1]})
	}
	return m
}

func TestMixesInInstructions(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.IMIX = []v1alpha1.FrameMix{{Name: v1alpha1.MixSimple}, mix("half", 100, 1, 200, 1)}
	instructions := mustMake(t, in).Instructions
	want := []measure.Size{
		measure.FrameSize(64), measure.FrameSize(512), measure.FrameSize(1518),
		{Name: "SimpleIMIX", FrameBytes: 362, Mix: &measure.Mix{Frames: []measure.MixFrame{{FrameBytes: 64, Weight: 7}, {FrameBytes: 594, Weight: 4}, {FrameBytes: 1518, Weight: 1}}}},
		{Name: "half", FrameBytes: 150, Mix: &measure.Mix{Frames: []measure.MixFrame{{FrameBytes: 100, Weight: 1}, {FrameBytes: 200, Weight: 1}}}},
	}
	if diff := cmp.Diff(want, instructions.Sizes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"64", "512", "1518", "SimpleIMIX", "half"}, in.Run.Spec.Experiment.Traffic.SizeNames()); diff != "" {
		t.Errorf("names by the API (-want +got):\n%s", diff)
	}
}

// TestMixesWithTheMeanOfAnother checks that two sizes may have the same number of bytes: their names distinguish them.
func TestMixesWithTheMeanOfAnother(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{512}
	in.Run.Spec.Experiment.Traffic.IMIX = []v1alpha1.FrameMix{mix("odd", 500, 1, 524, 1), mix("even", 510, 1, 514, 1)}
	for i, size := range mustMake(t, in).Instructions.Sizes {
		if name := []string{"512", "odd", "even"}[i]; size.Name != name || size.FrameBytes != 512 {
			t.Errorf("size %d is %+v, want %s of 512 bytes", i, size, name)
		}
	}
}

func TestMixesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		mixes  []v1alpha1.FrameMix
		load   int64
		reason string
		want   string
	}{
		"a size beyond the MTU":  {mixes: []v1alpha1.FrameMix{mix("big", 64, 1, 1519, 1)}, reason: v1alpha1.ReasonFrameTooLarge, want: "spec.experiment.traffic.imix[big]"},
		"the name of a size":     {mixes: []v1alpha1.FrameMix{mix("512", 500, 1, 524, 1)}, reason: v1alpha1.ReasonDuplicateFrameSize, want: `are named "512"`},
		"a load above line rate": {mixes: []v1alpha1.FrameMix{mix("long", 1500, 1, 1518, 99)}, load: 820_000, reason: v1alpha1.ReasonLoadAboveLineRate, want: "leave long out of spec.experiment.traffic.imix"},
	} {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(1)
			in.Run.Spec.Experiment.Traffic.FrameBytes, in.Run.Spec.Experiment.Traffic.IMIX = []int32{512}, c.mixes
			if c.load > 0 {
				in.Run.Spec.Experiment.Measurements.Latency.Loads[0].FramesPerSecond = &c.load
			}
			_, err := plan.Make(in)
			if measure.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want reason %s and %q", err, c.reason, c.want)
			}
		})
	}
}
