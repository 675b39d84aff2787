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
	want := []measure.Mix{
		{Name: "SimpleIMIX", Frames: []measure.MixFrame{{FrameBytes: 64, Weight: 7}, {FrameBytes: 594, Weight: 4}, {FrameBytes: 1518, Weight: 1}}},
		{Name: "half", Frames: []measure.MixFrame{{FrameBytes: 100, Weight: 1}, {FrameBytes: 200, Weight: 1}}},
	}
	if diff := cmp.Diff(want, instructions.Mixes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{64, 512, 1518, 362, 150}, instructions.FrameBytes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{64, 512, 1518, 362, 150}, in.Run.Spec.Experiment.Traffic.MeasuredFrameBytes()); diff != "" {
		t.Errorf("sizes by the API (-want +got):\n%s", diff)
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
		"the mean of a size":     {mixes: []v1alpha1.FrameMix{mix("odd", 500, 1, 524, 1)}, reason: v1alpha1.ReasonFramesAlike, want: "a size of spec.experiment.traffic.frameBytes"},
		"the mean of a mix":      {mixes: []v1alpha1.FrameMix{mix("a", 100, 1, 200, 1), mix("b", 140, 1, 160, 1)}, reason: v1alpha1.ReasonFramesAlike, want: `the mean of mix "a"`},
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
