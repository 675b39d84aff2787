package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// nic is the NIC that an end takes, and the end's function.
type nic struct {
	Function, Resource, PCIAddress string
	VLAN                           int
}

func nicsOf(p *plan.Plan) (nics []nic, bridges int) {
	for _, segment := range p.Segments {
		if segment.Bridge != "" {
			bridges++
		}
		for _, end := range []plan.End{segment.West, segment.East} {
			nics = append(nics, nic{end.Function, end.ResourceName, end.PCIAddress, end.VLAN})
		}
	}
	return nics, bridges
}

func TestVirtualFunctions(t *testing.T) {
	p := mustMake(t, plantest.SRIOV(3))
	got, bridges := nicsOf(p)
	want := []nic{
		{"", "openshift.io/gen_west", "", 11}, {"router-1", "openshift.io/dut_west", "", 11},
		{"router-1", "openshift.io/dut_inner", "", 100}, {"router-2", "openshift.io/dut_inner", "", 100},
		{"router-2", "openshift.io/dut_inner", "", 101}, {"router-3", "openshift.io/dut_inner", "", 101},
		{"router-3", "openshift.io/dut_east", "", 12}, {"", "openshift.io/gen_east", "", 12},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NICs (-want +got):\n%s", diff)
	}
	if bridges != 0 || p.Calibration != nil {
		t.Errorf("%d bridges, calibration %v, want none", bridges, p.Calibration)
	}
	if p.GeneratorNode != "generator" || p.DeviceNode != "device" {
		t.Errorf("generator on %q, device on %q: not the nodes that have the pools", p.GeneratorNode, p.DeviceNode)
	}
	if diff := cmp.Diff(map[string]int64{"openshift.io/dut_inner": 2}, p.DevicesOf("router-2")); diff != "" {
		t.Errorf("devices of the middle router (-want +got):\n%s", diff)
	}
}

// TestOnePool checks that generator and device share the pools of spec.ports, so that one NIC's
// own switch is the link.
func TestOnePool(t *testing.T) {
	in := plantest.Input(1)
	plantest.Attach(&in, v1alpha1.AttachmentSRIOV)
	in.Testbed.Spec.Ports.West = plantest.SRIOVPort("a/west", 0)
	in.Testbed.Spec.Ports.East = plantest.SRIOVPort("a/east", 0)
	plantest.Offer(&in.Nodes[0], "a/west", 2)
	plantest.Offer(&in.Nodes[0], "a/east", 2)
	got, _ := nicsOf(mustMake(t, in))
	want := []nic{{"", "a/west", "", 0}, {"router-1", "a/west", "", 0}, {"router-1", "a/east", "", 0}, {"", "a/east", "", 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NICs (-want +got):\n%s", diff)
	}
}

func TestWholeNICs(t *testing.T) {
	in := plantest.Input(1)
	plantest.Attach(&in, v1alpha1.AttachmentHostDevice)
	in.Testbed.Spec.Ports.West = plantest.HostDevicePort("0000:03:00.0")
	in.Testbed.Spec.Ports.East = plantest.HostDevicePort("0000:03:00.1")
	in.Testbed.Spec.SystemUnderTest.HostDevices = &v1alpha1.DeviceHostDevices{
		West: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.0"}, East: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.1"},
	}
	got, bridges := nicsOf(mustMake(t, in))
	want := []nic{{"", "", "0000:03:00.0", 0}, {"router-1", "", "0000:05:00.0", 0}, {"router-1", "", "0000:05:00.1", 0}, {"", "", "0000:03:00.1", 0}}
	if diff := cmp.Diff(want, got); diff != "" || bridges != 0 {
		t.Errorf("%d bridges; NICs (-want +got):\n%s", bridges, diff)
	}
}

// TestExistingVirtualFunctions checks that the pods request what the user's network gives out,
// without a webhook that adds it.
func TestExistingVirtualFunctions(t *testing.T) {
	in := plantest.Input(1)
	withExistingNetworks(&in)
	in.NetworkResources = map[string]string{"west-net": "a/west"}
	plantest.Offer(&in.Nodes[0], "a/west", 2)
	p := mustMake(t, in)
	if got := p.DevicesOf(""); got["a/west"] != 1 || len(got) != 1 {
		t.Errorf("the traffic pod takes %v", got)
	}
	if got := p.DevicesOf("router-1"); got["a/west"] != 1 || len(got) != 1 {
		t.Errorf("the router takes %v", got)
	}
}

func TestImpossibleLinks(t *testing.T) {
	tests := map[string]struct {
		change  func(*plan.Input)
		reason  string
		message []string
		remedy  string
	}{
		"a bridge and a virtual function": {
			change: func(in *plan.Input) {
				in.Testbed.Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortBridge}
			},
			reason:  v1alpha1.ReasonIncompatibleAttachments,
			message: []string{"port west is Bridge", `port west of function "router-1" is SRIOV`},
			remedy:  "spec.ports.west.attachment",
		},
		"a virtual function and a veth": {
			change:  func(in *plan.Input) { in.Run.Spec.Experiment.Chain[1].East.Attachment = v1alpha1.AttachmentVeth },
			reason:  v1alpha1.ReasonIncompatibleAttachments,
			message: []string{"port east is SRIOV", `port east of function "router-2" is Veth`},
			remedy:  "spec.ports.east.attachment",
		},
		"inside": {
			change:  func(in *plan.Input) { in.Run.Spec.Experiment.Chain[0].East.Attachment = v1alpha1.AttachmentVeth },
			reason:  v1alpha1.ReasonIncompatibleAttachments,
			message: []string{`port east of function "router-1" is Veth`, `port west of function "router-2" is SRIOV`},
			remedy:  "attachments that meet",
		},
		"a whole NIC inside": {
			change: func(in *plan.Input) {
				in.Testbed.Spec.SystemUnderTest.Attachments = append(in.Testbed.Spec.SystemUnderTest.Attachments, v1alpha1.AttachmentHostDevice)
				in.Run.Spec.Experiment.Chain[1].West.Attachment = v1alpha1.AttachmentHostDevice
			},
			reason:  v1alpha1.ReasonIncompatibleAttachments,
			message: []string{`port west of function "router-2"`, "leads nowhere"},
			remedy:  "use SRIOV",
		},
		"no inner pool": {
			change:  func(in *plan.Input) { in.Testbed.Spec.SystemUnderTest.SRIOV.InnerResourceName = "" },
			reason:  v1alpha1.ReasonResourceMissing,
			message: []string{`"router-1" and "router-2"`, "of which pool"},
			remedy:  "spec.systemUnderTest.sriov.innerResourceName",
		},
		"no outer pool": {
			change: func(in *plan.Input) {
				in.Testbed.Spec.Ports.West = plantest.HostDevicePort("0000:03:00.0")
				in.Testbed.Spec.SystemUnderTest.SRIOV.WestResourceName = ""
			},
			reason:  v1alpha1.ReasonResourceMissing,
			message: []string{`port west of function "router-1"`, "of which pool"},
			remedy:  "spec.systemUnderTest.sriov.westResourceName",
		},
		"no NIC": {
			change: func(in *plan.Input) {
				in.Testbed.Spec.SystemUnderTest.Attachments = append(in.Testbed.Spec.SystemUnderTest.Attachments, v1alpha1.AttachmentHostDevice)
				in.Run.Spec.Experiment.Chain[1].East.Attachment = v1alpha1.AttachmentHostDevice
			},
			reason:  v1alpha1.ReasonResourceMissing,
			message: []string{`port east of function "router-2"`, "does not say which"},
			remedy:  "spec.systemUnderTest.hostDevices.east",
		},
		"a pool that is too small": {
			change:  func(in *plan.Input) { plantest.Offer(&in.Nodes[0], "openshift.io/dut_inner", 1) },
			reason:  v1alpha1.ReasonResourceMissing,
			message: []string{"dut_inner", "2 in total", `"device", 1`},
			remedy:  "numVfs of a SriovNetworkNodePolicy",
		},
		"no device plugin": {
			change: func(in *plan.Input) {
				delete(in.Nodes[1].Status.Allocatable, corev1.ResourceName("openshift.io/gen_east"))
			},
			reason:  v1alpha1.ReasonResourceMissing,
			message: []string{"the traffic pod requests 1 of openshift.io/gen_east", "has 0 allocatable"},
			remedy:  "correct the name in the testbed",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := plantest.SRIOV(2)
			test.change(&in)
			expectFailure(t, failureOf(t, in), test.reason, test.message, test.remedy)
		})
	}
}

// TestBridgesOnVirtualFunctions checks that a function that bridges has no virtual function as a port, except on a user's
// own network.
func TestBridgesOnVirtualFunctions(t *testing.T) {
	const outer, inner = "west.attachment HostDevice", "attachments of a bridge for both ends of that link"
	for name, test := range map[string]struct {
		in     plan.Input
		change func(*plan.Input)
		remedy string
	}{
		"a pod":             {in: plantest.SRIOV(1), remedy: outer},
		"a virtual machine": {in: plantest.VMSRIOV(1), remedy: outer},
		"an inner port": {in: plantest.SRIOV(2), remedy: inner, change: func(in *plan.Input) {
			in.Testbed.Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortBridge}
			in.Run.Spec.Experiment.Chain[0].West.Attachment = v1alpha1.AttachmentVeth
			plantest.Offer(&in.Nodes[0], "openshift.io/gen_east", 1)
		}},
		"whole NICs": {in: plantest.HostDevices()},
		"own networks": {in: plantest.SRIOV(1), change: func(in *plan.Input) {
			withExistingNetworks(in)
			in.NetworkResources = map[string]string{"west-net": "openshift.io/gen_west", "east-net": "openshift.io/gen_east"}
			in.Nodes = in.Nodes[:1]
			plantest.Offer(&in.Nodes[0], "openshift.io/gen_west", 2)
			plantest.Offer(&in.Nodes[0], "openshift.io/gen_east", 2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(&test.in)
			}
			mustMake(t, withFirewall(test.in, 0, &v1alpha1.Firewall{}))
			bridged := withFirewall(test.in, 0, &v1alpha1.Firewall{Forwarding: v1alpha1.ForwardingBridged, Mode: v1alpha1.FirewallStateless})
			if test.remedy == "" {
				mustMake(t, bridged)
				return
			}
			expectFailure(t, failureOf(t, bridged), v1alpha1.ReasonIncompatibleAttachments, []string{`"router-1" bridges`, "is SRIOV"}, test.remedy)
		})
	}
}
