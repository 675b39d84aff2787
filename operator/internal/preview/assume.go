// Package preview shows what a run would be, before it is one: it assumes a cluster that has everything a testbed asks for, and lists
// what a plan has decided.
package preview

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/plan"
)

// Defaults returns the images of an operator that was not asked. Their names say what they stand in for.
func Defaults() plan.Defaults {
	d := plan.Defaults{
		TrafficImage: "(the operator's) measurer", FunctionImage: "(the operator's) vnf", GuestImage: "(the operator's) vnf-guest", EndpointImage: "(the operator's) endpoint",
		NeighborImage: "(the operator's) neighbor", NeighborGuestImage: "(the operator's) neighbor-guest", GeneratorImages: map[v1alpha1.GeneratorDriver]string{},
	}
	for _, g := range registry.All() {
		if g.OwnImage != nil {
			d.GeneratorImages[g.Name] = "(the operator's) " + strings.ToLower(string(g.Name))
		}
	}
	return d
}

// Assume returns the input of a plan on a cluster that was not asked: nodes that match the testbed's selectors and are as large as any,
// with every device, network and label that the testbed names, and KubeVirt. What a plan refuses there no cluster can measure.
func Assume(run *v1alpha1.BenchmarkRun, testbed *v1alpha1.Testbed) plan.Input {
	in := plan.Input{Run: run, Testbed: testbed, KubeVirt: true, Networks: map[string]bool{}, NetworkResources: map[string]string{}, Defaults: Defaults()}
	in.Nodes = nodesOf(testbed)
	ports := testbed.Spec.Ports
	join := func(network v1alpha1.NetworkReference) {
		key := network.Name
		if network.Namespace != "" && network.Namespace != run.Namespace {
			key = network.Namespace + "/" + network.Name
		}
		in.Networks[key] = true
		// DPDK takes ports from a device plugin alone.
		if trex := testbed.Spec.Generator.TRex; trex != nil && trex.Mode == v1alpha1.TRexDPDK {
			name := "assumed.vnfbench.io/" + network.Name
			in.NetworkResources[key] = name
			for i := range in.Nodes {
				offer(&in.Nodes[i], name, maxDevices)
			}
		}
	}
	for _, port := range []v1alpha1.TestbedPort{ports.West, ports.East} {
		if existing := port.NetworkAttachmentDefinition; existing != nil {
			join(existing.GeneratorRef)
			if existing.DeviceRef != nil {
				join(*existing.DeviceRef)
			}
		}
	}
	for _, network := range ports.CalibrationNetworks {
		join(network)
	}
	return in
}

// maxDevices is as many as a run can ask for.
const maxDevices = 1 << 20

// nodesOf returns two nodes that take what the testbed places. Where one node cannot match both selectors, each matches one.
func nodesOf(testbed *v1alpha1.Testbed) []corev1.Node {
	generator, device := testbed.Spec.Generator.NodeSelector, testbed.Spec.SystemUnderTest.NodeSelector
	both, conflict := map[string]string{}, false
	for _, selector := range []map[string]string{generator, device} {
		for key, value := range selector {
			other, has := both[key]
			conflict = conflict || has && other != value
			both[key] = value
		}
	}
	if conflict {
		return []corev1.Node{node("assumed-generator", testbed, generator), node("assumed-device", testbed, device)}
	}
	if both[corev1.LabelHostname] != "" {
		return []corev1.Node{node("assumed", testbed, both)}
	}
	return []corev1.Node{node("assumed-1", testbed, both), node("assumed-2", testbed, both)}
}

func node(name string, testbed *v1alpha1.Testbed, labels map[string]string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		kubevirtv1.NodeSchedulable: "true", kubevirtv1.CPUManager: "true", kubevirtv1.RealtimeLabel: "",
	}}}
	for key, value := range labels {
		n.Labels[key] = value
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.NodeInfo.OperatingSystem = "linux"
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100k"), corev1.ResourceMemory: *resource.NewQuantity(math.MaxInt64/4, resource.BinarySI)}
	for _, size := range []v1alpha1.HugepageSize{"2Mi", "1Gi"} {
		offer(&n, string(generator.HugepagesResource(size)), math.MaxInt64/4)
	}
	for _, name := range resourcesOf(testbed) {
		offer(&n, name, maxDevices)
	}
	n.Status.Capacity = n.Status.Allocatable
	return n
}

func offer(n *corev1.Node, name string, amount int64) {
	n.Status.Allocatable[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
}

// resourcesOf returns the resources of device plugins that a testbed names: the fields whose names end so.
func resourcesOf(testbed *v1alpha1.Testbed) []string {
	text, err := json.Marshal(testbed.Spec)
	if err != nil {
		// The API's types always marshal.
		panic(fmt.Sprintf("encoding a Testbed: %v", err))
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		panic(fmt.Sprintf("reading a Testbed: %v", err))
	}
	var out []string
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				walk(item)
			}
		case map[string]any:
			for key, member := range value {
				if name, isText := member.(string); isText && strings.HasSuffix(strings.ToLower(key), "resourcename") {
					out = append(out, name)
				}
				walk(member)
			}
		}
	}
	walk(document)
	return out
}
