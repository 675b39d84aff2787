package plan_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// offering returns a node that can take pods and has a name as its label.
func offering(name string, pools map[corev1.ResourceName]string) corev1.Node {
	n := corev1.Node{}
	n.Name, n.Labels = name, map[string]string{"name": name}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.Allocatable = corev1.ResourceList{}
	for pool, number := range pools {
		n.Status.Allocatable[pool] = resource.MustParse(number)
	}
	return n
}

func TestMissingResource(t *testing.T) {
	sriov := func(pool string) v1alpha1.TestbedPort {
		return v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: pool}}
	}
	bridge := v1alpha1.TestbedPort{Attachment: v1alpha1.PortBridge}
	whole := func(side string) *v1alpha1.DeviceHostDevices {
		nic := &v1alpha1.DeviceHostDevice{PCIAddress: "0000:03:00.0"}
		if side == "both" {
			return &v1alpha1.DeviceHostDevices{West: nic, East: nic}
		}
		return &v1alpha1.DeviceHostDevices{West: nic}
	}
	pools := map[corev1.ResourceName]string{"x.io/west": "2", "x.io/east": "2"}
	for name, test := range map[string]struct {
		west, east v1alpha1.TestbedPort
		device     v1alpha1.SystemUnderTest
		nodes      []corev1.Node
		want       string
	}{
		"bridges need nothing": {west: bridge, east: bridge, nodes: []corev1.Node{offering("a", nil)}},
		"no node at all":       {west: sriov("x.io/west"), east: sriov("x.io/east")},
		"two of each":          {west: sriov("x.io/west"), east: sriov("x.io/east"), nodes: []corev1.Node{offering("a", pools)}},
		"one of each, two nodes": {west: sriov("x.io/west"), east: sriov("x.io/east"), nodes: []corev1.Node{
			offering("a", map[corev1.ResourceName]string{"x.io/west": "1", "x.io/east": "1"}), offering("b", map[corev1.ResourceName]string{"x.io/west": "1", "x.io/east": "1"}),
		}},
		"one of each": {
			west: sriov("x.io/west"), east: sriov("x.io/east"), nodes: []corev1.Node{offering("a", map[corev1.ResourceName]string{"x.io/west": "1", "x.io/east": "1"})},
			want: "take 1 of x.io/east for the generator and 1 for the functions",
		},
		"no node has it": {
			west: sriov("x.io/west"), east: sriov("x.io/est"), nodes: []corev1.Node{offering("a", pools)},
			want: `take 1 of x.io/est for the generator and 1 for the functions, but the largest node for the one, "a", has 0 allocatable`,
		},
		"the functions' own pools": {
			west: sriov("x.io/west"), east: sriov("x.io/east"), nodes: []corev1.Node{offering("a", pools)},
			device: v1alpha1.SystemUnderTest{SRIOV: &v1alpha1.DeviceSRIOV{EastResourceName: "x.io/device"}},
			want:   "take 0 of x.io/device for the generator and 1 for the functions",
		},
		"a link has two ends": {
			west: bridge, east: bridge, nodes: []corev1.Node{offering("a", map[corev1.ResourceName]string{"x.io/inner": "1"})},
			device: v1alpha1.SystemUnderTest{SRIOV: &v1alpha1.DeviceSRIOV{InnerResourceName: "x.io/inner"}},
			want:   "0 of x.io/inner for the generator and 2 for the functions, but the largest node for both",
		},
		"a whole NIC instead of one": {
			west: sriov("x.io/west"), east: sriov("x.io/east"), device: v1alpha1.SystemUnderTest{HostDevices: whole("both")},
			nodes: []corev1.Node{offering("a", map[corev1.ResourceName]string{"x.io/west": "1", "x.io/east": "1"})},
		},
		"a whole NIC at one side": {
			west: sriov("x.io/west"), east: sriov("x.io/east"), device: v1alpha1.SystemUnderTest{HostDevices: whole("west")},
			nodes: []corev1.Node{offering("a", map[corev1.ResourceName]string{"x.io/west": "1", "x.io/east": "1"})}, want: "x.io/east",
		},
		"only on a node that is not selected": {
			west: sriov("x.io/west"), east: sriov("x.io/east"), device: v1alpha1.SystemUnderTest{NodeSelector: map[string]string{"name": "b"}},
			nodes: []corev1.Node{offering("a", pools), offering("b", nil)}, want: "x.io/east",
		},
	} {
		t.Run(name, func(t *testing.T) {
			testbed := &v1alpha1.Testbed{Spec: v1alpha1.TestbedSpec{Ports: v1alpha1.TestbedPorts{West: test.west, East: test.east}, SystemUnderTest: test.device}}
			failure := plan.MissingResource(testbed, test.nodes)
			switch {
			case failure == nil:
				if test.want != "" {
					t.Errorf("nothing is missing, want %q", test.want)
				}
			case test.want == "" || failure.Reason != v1alpha1.ReasonResourceMissing || failure.Remedy == "" || !strings.Contains(failure.Err.Error(), test.want):
				t.Errorf("got %v, want %q", failure, test.want)
			}
		})
	}
}
