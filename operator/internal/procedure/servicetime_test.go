package procedure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func TestServiceTimes(t *testing.T) {
	figures := func() *Figures {
		return &Figures{
			Calibration: []v1alpha1.CalibrationFrame{{Size: "64", MaximumFramesPerSecond: 320_000, LowestFramesPerSecond: new(int64(312_500))}},
			Frames: []v1alpha1.FrameResult{{Size: "64", Throughput: []v1alpha1.ThroughputResult{
				{Goal: "NDR", LowerBoundFramesPerSecond: 178_571, UpperBoundFramesPerSecond: new(int64(181_818)), UpperBoundCause: v1alpha1.CauseDeviceLoss},
				{Goal: "PDR", LowerBoundFramesPerSecond: 180_000, UpperBoundFramesPerSecond: new(int64(183_000)), UpperBoundCause: v1alpha1.CauseDeviceLoss},
			}}},
		}
	}
	threads := func(n int) *measure.GeneratorState {
		return &measure.GeneratorState{Chain: &measure.Description{Threads: n}, Calibration: &measure.Description{Threads: n}}
	}
	forward := []measure.Stream{{Direction: measure.Forward}}
	for name, test := range map[string]struct {
		change func(*measure.Instructions, *Figures)
		state  *measure.GeneratorState
		want   *v1alpha1.ServiceTime
	}{
		// A core makes 357,142 to 363,636 frames/s with the device and 625,000 to 640,000 without.
		"both directions on one core": {
			state: threads(1),
			want:  &v1alpha1.ServiceTime{Nanoseconds: 1194, LowNanoseconds: 1150, HighNanoseconds: 1238, GeneratorNanoseconds: 1563},
		},
		"a core for each direction": {
			state: threads(2),
			want:  &v1alpha1.ServiceTime{Nanoseconds: 2388, LowNanoseconds: 2300, HighNanoseconds: 2476, GeneratorNanoseconds: 3125},
		},
		"one direction": {
			change: func(i *measure.Instructions, _ *Figures) { i.Chain.Streams, i.Calibration.Streams = forward, forward },
			state:  threads(1),
			want:   &v1alpha1.ServiceTime{Nanoseconds: 2388, LowNanoseconds: 2300, HighNanoseconds: 2476, GeneratorNanoseconds: 3125},
		},
		// Half of the reverse frames: 267,857 to 272,727 frames/s on the core.
		"unequal directions": {
			change: func(i *measure.Instructions, _ *Figures) {
				i.Chain.Streams = []measure.Stream{{Direction: measure.Forward}, {Direction: measure.Reverse, LoadPercent: 50}}
			},
			state: threads(1),
			want:  &v1alpha1.ServiceTime{Nanoseconds: 2119, LowNanoseconds: 2066, HighNanoseconds: 2171, GeneratorNanoseconds: 1563},
		},
		"a tap": {change: func(i *measure.Instructions, _ *Figures) { i.Chain.Hop = measure.HopTap }, state: threads(1)},
		"the generator's limit": {
			change: func(_ *measure.Instructions, f *Figures) {
				f.Frames[0].Throughput[0].UpperBoundCause = v1alpha1.CauseGeneratorCeiling
			},
			state: threads(1),
		},
		"opened differently": {state: &measure.GeneratorState{
			Chain: &measure.Description{Threads: 1, TransmitPath: "InnerVeth"}, Calibration: &measure.Description{Threads: 1, TransmitPath: "Direct"},
		}},
		"not calibrated": {change: func(i *measure.Instructions, _ *Figures) { i.Calibration = nil }, state: threads(1)},
		"nothing known":  {},
	} {
		t.Run(name, func(t *testing.T) {
			instr, f := onOneCore(), figures()
			if test.change != nil {
				test.change(&instr, f)
			}
			AddServiceTimes(instr, f, test.state)
			if diff := cmp.Diff(test.want, f.Frames[0].Throughput[0].ServiceTime); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if ndr, pdr := f.Frames[0].Throughput[0].ServiceTime, f.Frames[0].Throughput[1].ServiceTime; ndr != nil && (pdr == nil || pdr.HighNanoseconds < pdr.LowNanoseconds) {
				t.Errorf("the other goal has %+v", pdr)
			}
		})
	}
}
