package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	xdp "vnfbench.io/operator/internal/traffic/xdp/planning"
)

func TestPacketsInInstructions(t *testing.T) {
	for family, want := range map[v1alpha1.IPFamily][]measure.Packet{
		v1alpha1.FamilyIPv4: {{PayloadBytes: 4096, IPVersion: 4, MTUBytes: 1400}, {PayloadBytes: 65507, IPVersion: 4, MTUBytes: 1400}},
		v1alpha1.FamilyIPv6: {{PayloadBytes: 4096, IPVersion: 6, MTUBytes: 1400}, {PayloadBytes: 65507, IPVersion: 6, MTUBytes: 1400}},
	} {
		in := plantest.Input(1)
		traffic := &in.Run.Spec.Experiment.Traffic
		traffic.IPFamily, traffic.FrameBytes = family, []int32{512}
		traffic.Packets = []v1alpha1.Packet{{PayloadBytes: 4096}, {PayloadBytes: 65507}}
		// The narrowest port sets the fragments' size.
		in.Run.Spec.Experiment.Chain[0].East.MTUBytes = new(int32(1400))
		instructions := mustMake(t, in).Instructions
		sizes := []measure.Size{measure.FrameSize(512), measure.PacketSize(want[0]), measure.PacketSize(want[1])}
		if diff := cmp.Diff(sizes, instructions.Sizes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", family, diff)
		}
	}
}

// TestPacketsOnJumboPorts checks that on jumbo ports fragments are as large as the driver's frames.
func TestPacketsOnJumboPorts(t *testing.T) {
	in := plantest.Input(1)
	in.Testbed.Spec.Ports.MTUBytes = 9000
	in.Run.Spec.Experiment.Traffic.Packets = []v1alpha1.Packet{{PayloadBytes: 8192}}
	sizes := mustMake(t, in).Instructions.Sizes
	got := sizes[len(sizes)-1].Packet
	for _, size := range got.FragmentFrameBytes() {
		if size > xdp.MaxFrameBytes {
			t.Errorf("a fragment of %d bytes, the driver sends %d", size, xdp.MaxFrameBytes)
		}
	}
	if got.FragmentCount() != 3 {
		t.Errorf("%d fragments", got.FragmentCount())
	}
}

// TestJumboFramesTooLargeForTheDriver checks that a frame beyond the driver's largest is refused with the limit, though its ports carry it.
func TestJumboFramesTooLargeForTheDriver(t *testing.T) {
	in := plantest.Input(1)
	in.Testbed.Spec.Ports.MTUBytes = 9000
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{3412}
	mustMake(t, in)
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{3413}
	_, err := plan.Make(in)
	if measure.ReasonOf(err) != v1alpha1.ReasonFrameTooLarge {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"3412", "spec.experiment.traffic.frameBytes", "spec.experiment.traffic.packets"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("does not say %q: %v", want, err)
		}
	}
}

func TestPacketsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		payload int32
		load    int64
		reason  string
		want    string
	}{
		"fits a frame":    {payload: 1472, reason: v1alpha1.ReasonPacketNotFragmented, want: "here as 1518"},
		"above line rate": {payload: 65507, load: 30_000, reason: v1alpha1.ReasonLoadAboveLineRate, want: "leave 65507 out of spec.experiment.traffic.packets"},
	} {
		in := plantest.Input(1)
		in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{512}
		in.Run.Spec.Experiment.Traffic.Packets = []v1alpha1.Packet{{PayloadBytes: c.payload}}
		if c.load > 0 {
			in.Run.Spec.Experiment.Measurements.Latency.Loads[0].FramesPerSecond = &c.load
		}
		_, err := plan.Make(in)
		if measure.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want reason %s and %q", name, err, c.reason, c.want)
		}
	}
}
