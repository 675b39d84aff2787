package plan_test

import (
	"cmp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	xdp "vnfbench.io/operator/internal/traffic/xdp/planning"
)

// vmAt puts one function of three routers into a virtual machine.
func vmAt(index int, directions v1alpha1.Directions) func() plan.Input {
	return func() plan.Input {
		in := plantest.VMInput(3)
		in.Testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentVeth, v1alpha1.AttachmentVirtio}
		for i := range in.Run.Spec.Experiment.Chain {
			if i != index {
				in.Run.Spec.Experiment.Chain[i] = plantest.Router(in.Run.Spec.Experiment.Chain[i].Name)
			}
		}
		in.Run.Spec.Experiment.Traffic.Directions = directions
		return in
	}
}

func TestHop(t *testing.T) {
	oneNode := func() plan.Input {
		in := plantest.SRIOV(1)
		for i := range in.Nodes {
			for _, name := range []string{"gen_west", "gen_east", "dut_west", "dut_east"} {
				plantest.Offer(&in.Nodes[i], "openshift.io/"+name, 4)
			}
		}
		in.Testbed.Spec.Generator.NodeSelector = map[string]string{corev1.LabelHostname: "device"}
		return in
	}
	for _, c := range []struct {
		name  string
		input func() plan.Input
		want  measure.Hop
		why   string
	}{
		{"pods on bridges", func() plan.Input { return plantest.Input(4) }, measure.HopInline, `bridge of node "node-a" to a pod with function "router-1" or "router-4"`},
		{"one pod", func() plan.Input { return plantest.Input(1) }, measure.HopInline, `to a pod with function "router-1", whose kernel`},
		{"gateways", plantest.Gateways, measure.HopTap, `encrypts in programs of node "node-a"`},
		{"machines", plantest.VMs, measure.HopTap, "is a virtual machine on node"},
		{"machine first, both directions", vmAt(0, v1alpha1.DirectionsBoth), measure.HopTap, "the core that sends; a pod before it works there"},
		{"machine first, forward alone", vmAt(0, v1alpha1.DirectionsForward), measure.HopTap, "does not work on the core that sends"},
		{"machine last, both directions", vmAt(2, v1alpha1.DirectionsBoth), measure.HopTap, `"router-3" is a virtual machine`},
		{"machine last, forward alone", vmAt(2, v1alpha1.DirectionsForward), measure.HopTap, "a pod before it works there, and may be the limit"},
		{"machine first, reverse alone", vmAt(0, v1alpha1.DirectionsReverse), measure.HopTap, "a pod before it works there, and may be the limit"},
		{"machine in the middle", vmAt(1, v1alpha1.DirectionsBoth), measure.HopTap, "the core that sends; a pod before it works there"},
		{"virtual functions on two nodes", func() plan.Input { return plantest.SRIOV(2) }, measure.HopSeparate, `on node "generator" and the chain runs on node "device"`},
		{"virtual functions on one node", oneNode, measure.HopSeparate, `port west of function "router-1" is a network card`},
		{"virtual functions of machines", func() plan.Input { return plantest.VMSRIOV(2) }, measure.HopSeparate, "runs on node"},
		{"whole cards", plantest.HostDevices, measure.HopSeparate, ""},
		{"passed through to machines", plantest.VMHostDevices, measure.HopSeparate, ""},
		{"existing networks", plantest.ExistingNetworks, measure.HopSeparate, ""},
		{"TRex over bridges", plantest.TRexAFPacket, measure.HopSeparate, "driver TRex has no ring"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustMake(t, c.input())
			hop, why := p.Hop()
			if hop != c.want || !strings.Contains(why, c.why) {
				t.Errorf("%s, because %s; want %s, because …%s…", hop, why, c.want, c.why)
			}
			if got := cmp.Or(p.Instructions.Chain.Hop, measure.HopSeparate); got != hop {
				t.Errorf("the instructions have %q", got)
			}
			if got := p.Instructions.Chain.PodsFirst; got != strings.Contains(why, "a pod before it works there") {
				t.Errorf("the instructions say %t of pods that come first, and the reason is %s", got, why)
			}
			if without := p.Instructions.Calibration; without != nil && without.Hop != "" {
				t.Errorf("the path without a device has %q", without.Hop)
			}
		})
	}
}

// TestHopOfAnExistingNetwork checks that a network of which the operator knows nothing never makes
// an overflow the device's, also where everything is on one node.
func TestHopOfAnExistingNetwork(t *testing.T) {
	in := plantest.Input(1)
	in.Networks = map[string]bool{"east-net": true}
	in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "")
	if hop, why := mustMake(t, in).Hop(); hop != measure.HopSeparate || !strings.Contains(why, "east joins a network that is not the operator's") {
		t.Errorf("%s, because %s", hop, why)
	}
	in.Run.Spec.Experiment.Traffic.Directions = v1alpha1.DirectionsForward
	if hop, why := mustMake(t, in).Hop(); hop != measure.HopInline {
		t.Errorf("forward alone: %s, because %s", hop, why)
	}
}

func TestInterruptMicroseconds(t *testing.T) {
	for _, asked := range []*int32{nil, new(int32(0)), new(int32(20))} {
		in := plantest.Input(1)
		in.Testbed.Spec.Generator.XDP.InterruptMicroseconds = asked
		var got xdp.Settings
		if err := mustMake(t, in).Instructions.Driver.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if n := got.InterruptMicroseconds; (n == nil) != (asked == nil) || n != nil && *n != int(*asked) {
			t.Errorf("%v asked for, the driver gets %v", asked, n)
		}
	}
}

func TestRingFrames(t *testing.T) {
	for asked, want := range map[int32]int{0: 0, xdp.DefaultRingFrames: 0, 256: 256, xdp.MaxRingFrames: xdp.MaxRingFrames} {
		in := plantest.Input(1)
		in.Testbed.Spec.Generator.XDP.RingFrames = asked
		var got xdp.Settings
		if err := mustMake(t, in).Instructions.Driver.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.RingFrames != want {
			t.Errorf("%d places asked for: the driver gets %d, want %d", asked, got.RingFrames, want)
		}
	}
}
