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

func checkFailure(t *testing.T, err error, reason, want string) {
	t.Helper()
	if measure.ReasonOf(err) != reason || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want reason %s and %q", err, reason, want)
	}
}

// tags is those of a plan's ends, west to east, and those that NICs add.
type tags struct{ Ends, NICs []int }

func tagsOf(p *plan.Plan) (all tags) {
	for _, segment := range p.Segments {
		for _, end := range []plan.End{segment.West, segment.East} {
			all.Ends, all.NICs = append(all.Ends, end.Tag), append(all.NICs, end.VLAN)
		}
	}
	return all
}

func TestTags(t *testing.T) {
	hostDevices := func(in *plan.Input) {
		in.Testbed.Spec.Ports.West = plantest.HostDevicePort("0000:03:00.0")
		in.Testbed.Spec.Ports.East = plantest.HostDevicePort("0000:03:00.1")
		in.Testbed.Spec.Ports.West.VLAN = new(int32(100))
	}
	for name, c := range map[string]struct {
		change func(*plan.Input)
		want   tags
	}{
		"none": {func(*plan.Input) {}, tags{Ends: []int{0, 0, 0, 0, 0, 0}, NICs: []int{0, 0, 0, 0, 0, 0}}},
		"bridges": {func(in *plan.Input) {
			in.Testbed.Spec.Ports.West.VLAN, in.Testbed.Spec.Ports.East.VLAN = new(int32(100)), new(int32(200))
		}, tags{Ends: []int{100, 100, 0, 0, 200, 200}, NICs: []int{0, 0, 0, 0, 0, 0}}},
		"one bridge": {func(in *plan.Input) {
			in.Testbed.Spec.Ports.East.VLAN = new(int32(200))
		}, tags{Ends: []int{0, 0, 0, 0, 200, 200}, NICs: []int{0, 0, 0, 0, 0, 0}}},
		"networks that keep, change and take off": {func(in *plan.Input) {
			withExistingNetworks(in)
			west, east := &in.Testbed.Spec.Ports.West, &in.Testbed.Spec.Ports.East
			west.VLAN, east.VLAN = new(int32(100)), new(int32(200))
			east.NetworkAttachmentDefinition.DeviceVLAN = new(int32(0))
		}, tags{Ends: []int{100, 100, 0, 0, 0, 200}, NICs: []int{0, 0, 0, 0, 0, 0}}},
		"a network that adds": {func(in *plan.Input) {
			withExistingNetworks(in)
			in.Testbed.Spec.Ports.West.NetworkAttachmentDefinition.DeviceVLAN = new(int32(300))
		}, tags{Ends: []int{0, 300, 0, 0, 0, 0}, NICs: []int{0, 0, 0, 0, 0, 0}}},
		"whole NICs": {func(in *plan.Input) {
			hostDevices(in)
			plantest.Attach(in, v1alpha1.AttachmentHostDevice)
			in.Run.Spec.Experiment.Chain[0].East.Attachment, in.Run.Spec.Experiment.Chain[1].West.Attachment = v1alpha1.AttachmentVeth, v1alpha1.AttachmentVeth
			in.Testbed.Spec.SystemUnderTest.Attachments = append(in.Testbed.Spec.SystemUnderTest.Attachments, v1alpha1.AttachmentVeth)
			in.Testbed.Spec.SystemUnderTest.HostDevices = &v1alpha1.DeviceHostDevices{
				West: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.0"}, East: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.1"},
			}
		}, tags{Ends: []int{100, 100, 0, 0, 0, 0}, NICs: []int{0, 0, 0, 0, 0, 0}}},
		// The function's virtual function has its tag from its NIC.
		"a whole NIC towards virtual functions": {func(in *plan.Input) {
			*in = plantest.SRIOV(2)
			hostDevices(in)
		}, tags{Ends: []int{100, 0, 0, 0, 0, 0}, NICs: []int{0, 100, 100, 100, 0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(2)
			c.change(&in)
			p := mustMake(t, in)
			got := tagsOf(p)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			last := len(got.Ends) - 1
			if ports := p.Instructions.Chain.Ports; ports[0].VLAN != got.Ends[0] || ports[1].VLAN != got.Ends[last] {
				t.Errorf("the measurer's ports are %+v", ports)
			}
			for i, function := range p.Functions {
				ports := function.Config.Ports
				if ports[0].VLAN != got.Ends[2*i+1] || ports[1].VLAN != got.Ends[2*i+2] {
					t.Errorf("ports of %s: %+v", function.Name, ports)
				}
			}
		})
	}
}

// TestTagOfCalibration checks the tag of two ports with nothing between them that could change a
// tag.
func TestTagOfCalibration(t *testing.T) {
	for name, c := range map[string]struct {
		west, east *int32
		want       int
	}{
		"none": {nil, nil, 0}, "both": {new(int32(100)), new(int32(200)), 100}, "east": {nil, new(int32(200)), 200},
	} {
		in := plantest.Input(1)
		in.Testbed.Spec.Ports.West.VLAN, in.Testbed.Spec.Ports.East.VLAN = c.west, c.east
		for _, port := range mustMake(t, in).Instructions.Calibration.Ports {
			if port.VLAN != c.want {
				t.Errorf("%s: port %+v, want tag %d", name, port, c.want)
			}
		}
	}
}

func TestTagsInTheDigest(t *testing.T) {
	digests := map[string]string{}
	for name, change := range map[string]func(*plan.Input){
		"no tag":         func(*plan.Input) {},
		"west":           func(in *plan.Input) { in.Testbed.Spec.Ports.West.VLAN = new(int32(100)) },
		"another number": func(in *plan.Input) { in.Testbed.Spec.Ports.West.VLAN = new(int32(101)) },
		"east":           func(in *plan.Input) { in.Testbed.Spec.Ports.East.VLAN = new(int32(100)) },
		"networks":       withExistingNetworks,
		"tag at the device": func(in *plan.Input) {
			withExistingNetworks(in)
			in.Testbed.Spec.Ports.West.NetworkAttachmentDefinition.DeviceVLAN = new(int32(100))
		},
	} {
		in := plantest.Input(1)
		change(&in)
		digest := mustMake(t, in).Digest
		if other, found := digests[digest]; found {
			t.Errorf("%s and %s have one digest", name, other)
		}
		digests[digest] = name
	}
}

func TestWhatTagsForbid(t *testing.T) {
	tagged := func() plan.Input {
		in := plantest.Input(1)
		in.Testbed.Spec.Ports.East.VLAN = new(int32(100))
		return in
	}
	in := tagged()
	in.Run.Spec.Experiment.Traffic.Packets = []v1alpha1.Packet{{PayloadBytes: 4096}}
	_, err := plan.Make(in)
	checkFailure(t, err, v1alpha1.ReasonPacketNotFragmented, "spec.ports.east.vlan")

	in = tagged()
	in.Testbed.Spec.Ports.MTUBytes = 9000
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{xdp.MaxFrameBytes - measure.VLANTagBytes}
	mustMake(t, in)
	in.Run.Spec.Experiment.Traffic.FrameBytes[0]++
	_, err = plan.Make(in)
	checkFailure(t, err, v1alpha1.ReasonFrameTooLarge, "to at most 3408")

	// A load at line rate without the tag is above that with it.
	in = tagged()
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64}
	lineRate := int64(measure.LineRateFramesPerSecond(1e10, 64+measure.VLANTagBytes))
	in.Run.Spec.Experiment.Measurements.Throughput.MaximumFramesPerSecond = new(lineRate)
	mustMake(t, in)
	in.Run.Spec.Experiment.Measurements.Throughput.MaximumFramesPerSecond = new(lineRate + 1)
	_, err = plan.Make(in)
	checkFailure(t, err, v1alpha1.ReasonLoadAboveLineRate, "14204545 frames/s of 64 bytes")

	// An ordinary frame has room on ordinary ports: the MTU is without the tag.
	in = tagged()
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{1518}
	mustMake(t, in)
}
