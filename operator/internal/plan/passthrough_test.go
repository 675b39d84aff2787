package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestVMsVirtualFunctions checks that a VM takes what a pod in its place takes, and
// more memory.
func TestVMsVirtualFunctions(t *testing.T) {
	pods, vms := mustMake(t, plantest.SRIOV(2)), mustMake(t, plantest.VMSRIOV(2))
	if diff := cmp.Diff(pods.Segments, vms.Segments); diff != "" {
		t.Errorf("the segments differ:\n%s", diff)
	}
	if diff := cmp.Diff(pods.DevicesOf("router-1"), vms.DevicesOf("router-1")); diff != "" {
		t.Error(diff)
	}
	if got, want := vms.Functions[0].Resources.MemoryBytes-mustMake(t, plantest.VMInput(1)).Functions[0].Resources.MemoryBytes, int64(1<<30); got != want {
		t.Errorf("%d bytes more than without devices, want %d", got, want)
	}
}

// TestVMsWholeNICs checks that frames go to the MAC addresses that the NICs have.
func TestVMsWholeNICs(t *testing.T) {
	p := mustMake(t, plantest.VMHostDevices())
	ports := p.PortsOf("router-1")
	for i, want := range []plan.End{
		{Function: "router-1", Interface: "west", MAC: "3c:fd:fe:00:00:01", MTUBytes: 1500, ResourceName: "vnfbench.io/dut-nic"},
		{Function: "router-1", Interface: "east", MAC: "3c:fd:fe:00:00:02", MTUBytes: 1500, ResourceName: "vnfbench.io/dut-nic"},
	} {
		if diff := cmp.Diff(want, ports[i]); diff != "" || !ports[i].PassedThrough() {
			t.Error(diff)
		}
		if got := p.Functions[0].Config.Ports[i].MAC; got != want.MAC {
			t.Errorf("the guest looks for %s, want %s", got, want.MAC)
		}
		if got := p.Instructions.Chain.Streams[i].DestinationMAC; got != want.MAC {
			t.Errorf("frames go to %s, want %s", got, want.MAC)
		}
	}
	if got := p.DevicesOf("router-1"); got["vnfbench.io/dut-nic"] != 2 || p.DeviceNode != "device" {
		t.Errorf("%v on node %q", got, p.DeviceNode)
	}
}

// TestExistingNetworkOfVirtualFunctions checks that a VM joins the user's own network, if
// the network gives out a resource.
func TestExistingNetworkOfVirtualFunctions(t *testing.T) {
	input := func(resources map[string]string) plan.Input {
		in := plantest.Input(1)
		withExistingNetworks(&in)
		plantest.Attach(&in, v1alpha1.AttachmentSRIOV)
		plantest.InVMs(&in)
		in.NetworkResources = resources
		for _, resource := range resources {
			plantest.Offer(&in.Nodes[0], resource, 1)
		}
		return in
	}
	bare := input(nil)
	networks := []string{}
	for _, port := range []v1alpha1.TestbedPort{bare.Testbed.Spec.Ports.West, bare.Testbed.Spec.Ports.East} {
		network := port.NetworkAttachmentDefinition
		if network.DeviceRef == nil {
			network.DeviceRef = &v1alpha1.NetworkReference{Name: "device-" + network.GeneratorRef.Name}
			bare.Networks[network.DeviceRef.Name] = true
		}
		networks = append(networks, network.DeviceRef.Name)
	}
	expectFailure(t, failureOf(t, bare), v1alpha1.ReasonResourceMissing,
		[]string{`port west of function "router-1"`, networks[0], "names no resource"}, "k8s.v1.cni.cncf.io/resourceName")

	in := input(map[string]string{networks[0]: "a/west", networks[1]: "a/east"})
	for i, port := range []*v1alpha1.TestbedPort{&in.Testbed.Spec.Ports.West, &in.Testbed.Spec.Ports.East} {
		port.NetworkAttachmentDefinition.DeviceRef, in.Networks[networks[i]] = &v1alpha1.NetworkReference{Name: networks[i]}, true
	}
	if got := mustMake(t, in).DevicesOf("router-1"); got["a/west"] != 1 || got["a/east"] != 1 {
		t.Errorf("the VM takes %v", got)
	}
}

func TestImpossibleVMDevices(t *testing.T) {
	tests := map[string]struct {
		in      plan.Input
		change  func(*plan.Input)
		reason  string
		message []string
		remedy  string
	}{
		"the generator's pool": {
			in: plantest.VMSRIOV(1),
			change: func(in *plan.Input) {
				in.Testbed.Spec.SystemUnderTest.SRIOV.WestResourceName = ""
				plantest.Offer(&in.Nodes[1], "openshift.io/gen_west", 2)
			},
			reason: v1alpha1.ReasonResourceMissing, message: []string{"the traffic pod and port west of function \"router-1\"", "openshift.io/gen_west", "vfio-pci"},
			remedy: "spec.systemUnderTest.sriov",
		},
		"a pod's pool": {
			in: plantest.VMSRIOV(2),
			change: func(in *plan.Input) {
				in.Run.Spec.Experiment.Chain[0].Runtime = v1alpha1.RuntimePod
			},
			reason: v1alpha1.ReasonResourceMissing, message: []string{`function "router-1" in a pod`, `port west of function "router-2"`, "dut_inner"},
			remedy: "deviceType vfio-pci",
		},
		"too few virtual functions": {
			in:     plantest.VMSRIOV(2),
			change: func(in *plan.Input) { plantest.Offer(&in.Nodes[0], "openshift.io/dut_inner", 1) },
			reason: v1alpha1.ReasonResourceMissing, message: []string{"dut_inner", "2 in total"}, remedy: "numVfs of a SriovNetworkNodePolicy",
		},
		"a NIC by its address alone": {
			in: plantest.VMHostDevices(),
			change: func(in *plan.Input) {
				in.Testbed.Spec.SystemUnderTest.HostDevices.East = &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.1"}
			},
			reason: v1alpha1.ReasonResourceMissing, message: []string{`port east of function "router-1"`, "for a virtual machine"}, remedy: "spec.systemUnderTest.hostDevices.east",
		},
		"a pod's NIC by its resource alone": {
			in:     plantest.VMHostDevices(),
			change: func(in *plan.Input) { in.Run.Spec.Experiment.Chain[0].Runtime = v1alpha1.RuntimePod },
			reason: v1alpha1.ReasonResourceMissing, message: []string{`port west of function "router-1"`, "does not say which"}, remedy: "hostDevices.west.pciAddress",
		},
		"not permitted": {
			in:     plantest.VMHostDevices(),
			change: func(in *plan.Input) { plantest.Offer(&in.Nodes[0], "vnfbench.io/dut-nic", 0) },
			reason: v1alpha1.ReasonResourceMissing, message: []string{"vnfbench.io/dut-nic", "has 0 allocatable"}, remedy: "permittedHostDevices",
		},
		"a NIC on a network": {
			in: plantest.VMHostDevices(),
			change: func(in *plan.Input) {
				in.Networks["net"] = true
				in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("net", "")
			},
			reason: v1alpha1.ReasonIncompatibleAttachments, message: []string{"joins no network"}, remedy: "use attachment SRIOV",
		},
		"a bridge": {
			in: plantest.VMSRIOV(1),
			change: func(in *plan.Input) {
				in.Testbed.Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortBridge}
			},
			reason: v1alpha1.ReasonIncompatibleAttachments, message: []string{"port west is Bridge"}, remedy: "spec.ports.west.attachment",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.change(&test.in)
			expectFailure(t, failureOf(t, test.in), test.reason, test.message, test.remedy)
		})
	}
}
