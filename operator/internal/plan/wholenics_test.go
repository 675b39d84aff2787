package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestOneNICHasOneTaker checks that two ports of one node do not take the same whole NIC.
func TestOneNICHasOneTaker(t *testing.T) {
	const requests = "requests 1 of NIC 0000:0a:00.0 and the functions with their observer 1 in total"
	hostDevices := func(in *plan.Input) *v1alpha1.DeviceHostDevices { return in.Testbed.Spec.SystemUnderTest.HostDevices }
	sameWest := func(in *plan.Input) {
		in.Testbed.Spec.Ports.West = plantest.HostDevicePort("0000:0A:00.0")
		hostDevices(in).West.PCIAddress = "0000:0a:00.0"
	}
	for name, test := range map[string]struct {
		in      plan.Input
		change  func(*plan.Input)
		message []string
	}{
		"generator and function": {plantest.HostDevices(), sameWest, []string{requests, `"node-a", has 1 allocatable`}},
		"crosswise": {plantest.HostDevices(), func(in *plan.Input) { hostDevices(in).East.PCIAddress = "0000:03:00.0" },
			[]string{"requests 1 of NIC 0000:03:00.0"}},
		"two ports of the generator": {plantest.HostDevices(), func(in *plan.Input) { in.Testbed.Spec.Ports.East = in.Testbed.Spec.Ports.West },
			[]string{"requests 2 of NIC 0000:03:00.0"}},
		"two ports of a function": {plantest.HostDevices(), func(in *plan.Input) { hostDevices(in).East = hostDevices(in).West },
			[]string{"requests 0 of NIC 0000:05:00.0", "2 in total"}},
		"two nodes that a bridge makes one": {plantest.HostDevices(), func(in *plan.Input) {
			sameWest(in)
			in.Nodes = append(in.Nodes, plantest.Node("other"))
			in.Testbed.Spec.Ports.East = v1alpha1.TestbedPort{Attachment: v1alpha1.PortBridge}
			in.Run.Spec.Experiment.Chain[0].East.Attachment = v1alpha1.AttachmentVeth
		}, []string{requests, "the largest node for both"}},
		"a virtual machine whose NIC has an address": {plantest.VMHostDevices(), func(in *plan.Input) {
			hostDevices(in).West.PCIAddress = "0000:03:00.0"
			in.Testbed.Spec.Generator.NodeSelector = map[string]string{corev1.LabelHostname: "device"}
		}, []string{"requests 1 of NIC 0000:03:00.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.change(&test.in)
			failure := failureOf(t, test.in)
			expectFailure(t, failure, v1alpha1.ReasonResourceMissing, test.message, "spec.systemUnderTest.hostDevices")
			if failure.Passing {
				t.Error("the run waits for what does not come")
			}
		})
	}
	in := plantest.HostDevices()
	sameWest(&in)
	in.Nodes = append(in.Nodes, plantest.Node("other"))
	if p := mustMake(t, in); p.GeneratorNode == p.DeviceNode {
		t.Errorf("generator and device are on node %q, and there are two nodes with the address", p.DeviceNode)
	}
}
