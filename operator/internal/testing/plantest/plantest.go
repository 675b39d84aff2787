// Package plantest makes the input of plans, for tests: objects as the API server returns them,
// with every default filled in.
package plantest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/plan"
)

// Namespace contains all objects.
const Namespace = "benchmarks"

// Input returns a run of a chain of routers on a testbed with two bridges and one node.
func Input(routers int) plan.Input {
	return plan.Input{
		Run:      Run(routers),
		Testbed:  Testbed(),
		Nodes:    []corev1.Node{Node("node-a")},
		Networks: map[string]bool{},
		Defaults: plan.Defaults{
			TrafficImage:       "registry.example/traffic:v1",
			FunctionImage:      "registry.example/vnf:v1",
			NeighborImage:      "registry.example/neighbor:v1",
			NeighborGuestImage: "registry.example/neighbor-guest:v1",
			GuestImage:         "registry.example/vnf-guest:v1",
			EndpointImage:      "registry.example/endpoint:v1",
			ImagePullPolicy:    corev1.PullIfNotPresent,
			AgentTokens:        true,
		},
	}
}

// Issuer returns the issuer of a cluster's tokens.
func Issuer() *caller.Issuer {
	return &caller.Issuer{
		URL:  "https://kubernetes.default.svc.cluster.local",
		Keys: []byte(`{"keys":[{"use":"sig","kty":"EC","kid":"of-the-cluster","crv":"P-256","alg":"ES256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]}`),
	}
}

// Run returns a run of a chain of routers.
func Run(routers int) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "routers", UID: "11111111-2222-3333-4444-555555555555"},
		Spec: v1alpha1.BenchmarkRunSpec{Experiment: v1alpha1.Experiment{
			TestbedRef:      &v1alpha1.TestbedReference{Name: "lab"},
			StartupSeconds:  300,
			DeadlineSeconds: 86400,
			Traffic: v1alpha1.Traffic{
				Kind: "UDP", IPFamily: v1alpha1.FamilyIPv4, Directions: v1alpha1.DirectionsBoth,
				FrameBytes: []int32{64, 512, 1518}, Flows: 1,
			},
			Measurements: v1alpha1.Measurements{
				Throughput:         throughput(),
				Latency:            latency(),
				WarmUpMilliseconds: new(int32(1000)),
				SettleMilliseconds: 100,
			},
		}},
	}
	for i := range routers {
		run.Spec.Experiment.Chain = append(run.Spec.Experiment.Chain, Router(fmt.Sprintf("router-%d", i+1)))
	}
	return run
}

// Router returns a function with every default.
func Router(name string) v1alpha1.NetworkFunction {
	return v1alpha1.NetworkFunction{
		Name: name, Function: v1alpha1.FunctionRouter, Runtime: v1alpha1.RuntimePod,
		Memory: "64Mi",
		West:   v1alpha1.FunctionPort{Attachment: v1alpha1.AttachmentVeth},
		East:   v1alpha1.FunctionPort{Attachment: v1alpha1.AttachmentVeth},
	}
}

// VMInput returns a run of a chain of routers in virtual machines, with what KubeVirt adds to
// the cluster.
func VMInput(routers int) plan.Input {
	in := Input(routers)
	in.KubeVirt = true
	in.Nodes[0].Labels["kubevirt.io/schedulable"] = "true"
	in.Testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{
		v1alpha1.AttachmentVeth, v1alpha1.AttachmentVirtio, v1alpha1.AttachmentE1000, v1alpha1.AttachmentE1000e, v1alpha1.AttachmentRTL8139,
	}
	for i := range routers {
		in.Run.Spec.Experiment.Chain[i] = VM(in.Run.Spec.Experiment.Chain[i].Name)
	}
	return in
}

// Machine returns a router in a virtual machine with every default.
func VM(name string) v1alpha1.NetworkFunction {
	return v1alpha1.NetworkFunction{Name: name, Function: v1alpha1.FunctionRouter, Runtime: v1alpha1.RuntimeVirtualMachine}
}

// Custom returns the user's own VM with every default.
func Custom(name string, custom v1alpha1.CustomFunction) v1alpha1.NetworkFunction {
	f := VM(name)
	f.Function, f.Custom = v1alpha1.FunctionCustom, &custom
	return f
}

// CustomPod returns the user's own container with every default.
func CustomPod(name string, custom v1alpha1.CustomFunction) v1alpha1.NetworkFunction {
	f := Router(name)
	f.Function, f.Custom = v1alpha1.FunctionCustom, &custom
	return f
}

func throughput() *v1alpha1.Throughput {
	goal := func(name string, loss int32) v1alpha1.Goal {
		return v1alpha1.Goal{
			Name: name, LossPartsPerMillion: loss,
			TrialMilliseconds: 1000, DurationSumMilliseconds: 1000, WidthPartsPerMillion: 20000,
		}
	}
	return &v1alpha1.Throughput{
		Method:                 v1alpha1.MethodMLRsearch,
		Goals:                  []v1alpha1.Goal{goal("NDR", 0), goal("PDR", 1000)},
		MinimumFramesPerSecond: 1000,
		MaximumSearchSeconds:   1200,
	}
}

func latency() *v1alpha1.Latency {
	return &v1alpha1.Latency{
		TrialMilliseconds: 5000,
		Loads: []v1alpha1.LatencyLoad{
			{Name: "idle", FramesPerSecond: new(int64(1000))},
			{Name: "pdr50", Goal: "PDR", Percent: new(int32(50))},
			{Name: "pdr90", Goal: "PDR", Percent: new(int32(90))},
		},
	}
}

// Testbed returns one with two bridges and no node selector.
func Testbed() *v1alpha1.Testbed {
	return &v1alpha1.Testbed{
		ObjectMeta: metav1.ObjectMeta{Name: "lab", UID: "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"},
		Spec: v1alpha1.TestbedSpec{
			Generator: v1alpha1.Generator{
				Driver: v1alpha1.DriverXDP,
				Memory: "256Mi",
				XDP:    v1alpha1.XDPGenerator{TransmitPath: v1alpha1.TransmitAuto, Scheduling: v1alpha1.SchedulingAuto},
			},
			Ports: v1alpha1.TestbedPorts{
				LinkBitsPerSecond: 10_000_000_000,
				MTUBytes:          1500,
				West:              v1alpha1.TestbedPort{Attachment: v1alpha1.PortBridge},
				East:              v1alpha1.TestbedPort{Attachment: v1alpha1.PortBridge},
			},
			SystemUnderTest: v1alpha1.SystemUnderTest{Attachments: []v1alpha1.Attachment{v1alpha1.AttachmentVeth}},
		},
	}
}

// ExistingNetwork returns a port on the user's own networks. With an empty device, the device uses
// the generator's.
func ExistingNetwork(generator, device string) v1alpha1.TestbedPort {
	network := &v1alpha1.ExistingNetwork{GeneratorRef: v1alpha1.NetworkReference{Name: generator}}
	if device != "" {
		network.DeviceRef = &v1alpha1.NetworkReference{Name: device}
	}
	return v1alpha1.TestbedPort{Attachment: v1alpha1.PortNetworkAttachmentDefinition, NetworkAttachmentDefinition: network}
}

// SRIOVPort returns a port that takes a virtual function of a pool.
func SRIOVPort(resourceName string, vlan int32) v1alpha1.TestbedPort {
	return v1alpha1.TestbedPort{
		Attachment: v1alpha1.PortSRIOV,
		SRIOV:      &v1alpha1.SRIOVPort{ResourceName: resourceName, VLAN: vlan},
	}
}

// HostDevicePort returns a port that takes a whole NIC.
func HostDevicePort(pciAddress string) v1alpha1.TestbedPort {
	return v1alpha1.TestbedPort{
		Attachment: v1alpha1.PortHostDevice,
		HostDevice: &v1alpha1.HostDevicePort{PCIAddress: pciAddress},
	}
}

// Attach gives every function's ports an attachment, and makes the testbed offer it.
func Attach(in *plan.Input, attachment v1alpha1.Attachment) {
	in.Testbed.Spec.SystemUnderTest.Attachments = append(in.Testbed.Spec.SystemUnderTest.Attachments, attachment)
	for i := range in.Run.Spec.Experiment.Chain {
		in.Run.Spec.Experiment.Chain[i].West.Attachment, in.Run.Spec.Experiment.Chain[i].East.Attachment = attachment, attachment
	}
}

// Offer makes a node's device plugin offer a number of a resource.
func Offer(node *corev1.Node, resourceName string, number int64) {
	quantity := *resource.NewQuantity(number, resource.DecimalSI)
	node.Status.Capacity[corev1.ResourceName(resourceName)] = quantity
	node.Status.Allocatable[corev1.ResourceName(resourceName)] = quantity
}

// SRIOV returns a run of a chain of routers whose every port is a virtual function, generator and
// device on two nodes.
func SRIOV(routers int) plan.Input {
	in := Input(routers)
	Attach(&in, v1alpha1.AttachmentSRIOV)
	in.Testbed.Spec.Ports.West = SRIOVPort("openshift.io/gen_west", 11)
	in.Testbed.Spec.Ports.East = SRIOVPort("openshift.io/gen_east", 12)
	in.Testbed.Spec.SystemUnderTest.SRIOV = &v1alpha1.DeviceSRIOV{
		WestResourceName: "openshift.io/dut_west", EastResourceName: "openshift.io/dut_east", InnerResourceName: "openshift.io/dut_inner",
	}
	generator, device := Node("generator"), Node("device")
	Offer(&generator, "openshift.io/gen_west", 1)
	Offer(&generator, "openshift.io/gen_east", 1)
	Offer(&device, "openshift.io/dut_west", 2)
	Offer(&device, "openshift.io/dut_east", 2)
	Offer(&device, "openshift.io/dut_inner", 8)
	in.Nodes = []corev1.Node{device, generator}
	return in
}

// VMSRIOV returns the input of SRIOV with virtual machines instead of the pods.
func VMSRIOV(routers int) plan.Input {
	in := SRIOV(routers)
	InVMs(&in)
	return in
}

// VMHostDevices returns a run of one router in a virtual machine whose ports are whole NICs,
// generator and device on two nodes.
func VMHostDevices() plan.Input {
	in := Input(1)
	Attach(&in, v1alpha1.AttachmentHostDevice)
	in.Testbed.Spec.Ports.West = HostDevicePort("0000:03:00.0")
	in.Testbed.Spec.Ports.East = HostDevicePort("0000:03:00.1")
	in.Testbed.Spec.SystemUnderTest.HostDevices = &v1alpha1.DeviceHostDevices{
		West: &v1alpha1.DeviceHostDevice{ResourceName: "vnfbench.io/dut-nic", MACAddress: "3C:FD:FE:00:00:01"},
		East: &v1alpha1.DeviceHostDevice{ResourceName: "vnfbench.io/dut-nic", MACAddress: "3c:fd:fe:00:00:02"},
	}
	generator, device := Node("generator"), Node("device")
	Offer(&device, "vnfbench.io/dut-nic", 2)
	in.Nodes = []corev1.Node{device, generator}
	InVMs(&in)
	return in
}

// InVMs replaces the chain's pods with virtual machines, and adds KubeVirt to every node.
func InVMs(in *plan.Input) {
	in.KubeVirt = true
	for i := range in.Nodes {
		in.Nodes[i].Labels["kubevirt.io/schedulable"] = "true"
	}
	for i := range in.Run.Spec.Experiment.Chain {
		pod := in.Run.Spec.Experiment.Chain[i]
		in.Run.Spec.Experiment.Chain[i] = VM(pod.Name)
		in.Run.Spec.Experiment.Chain[i].West, in.Run.Spec.Experiment.Chain[i].East = pod.West, pod.East
	}
}

// Node returns a ready node with 4 CPUs, 8 GiB, and a label with its name.
func Node(name string) corev1.Node {
	size := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity:    size,
			Allocatable: size.DeepCopy(),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", OperatingSystem: "linux", KernelVersion: "6.12.0",
				OSImage: "Example Linux 1", ContainerRuntimeVersion: "containerd://2.0.0",
			},
		},
	}
}
