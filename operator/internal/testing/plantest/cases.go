package plantest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// Case is an input whose plan and objects are kept as golden files.
type Case struct {
	Name string
	// Base names an earlier case that this one is similar to: its golden files are kept as
	// differences from that case.
	Base  string
	Input func() plan.Input
}

// Cases returns the inputs of all golden files.
func Cases() []Case {
	return []Case{
		{"one-router", "", func() plan.Input { return Input(1) }},
		{"real-time", "one-router", RealTime},
		{"ipv6", "one-router", IPv6},
		{"resolved", "one-router", Resolved},
		{"vlan", "one-router", VLAN},
		{"existing-networks", "one-router", ExistingNetworks},
		{"host-devices", "one-router", HostDevices},
		{"trex-afpacket", "one-router", TRexAFPacket},
		{"neighbors", "one-router", Neighbors},
		{"neighbor-vms", "neighbors", NeighborVMs},
		{"four-routers", "one-router", func() plan.Input { return Input(4) }},
		{"firewalls", "four-routers", Firewalls},
		{"gateways", "four-routers", Gateways},
		{"tcp", "one-router", TCP},
		{"sriov", "one-router", func() plan.Input { return SRIOV(2) }},
		{"trex-dpdk", "one-router", TRexDPDK},
		{"vm-tuned", "one-router", VMTuned},
		{"vm-with-pod", "one-router", VMWithPod},
		{"vms", "four-routers", VMs},
		{"gateway-vms", "vms", GatewayVMs},
		{"custom", "vms", CustomVMs},
		{"custom-pods", "four-routers", CustomPods},
		{"vms-sriov", "sriov", func() plan.Input { return VMSRIOV(2) }},
		{"vm-host-devices", "vms-sriov", VMHostDevices},
	}
}

// RealTime returns one router whose generator sends in real time.
func RealTime() plan.Input {
	in := Input(1)
	in.Testbed.Spec.Generator.CPU = "2"
	in.Testbed.Spec.Generator.XDP.Scheduling = v1alpha1.SchedulingRealTime
	return in
}

// IPv6 returns one router that forwards IPv6 in one direction.
func IPv6() plan.Input {
	in := Input(1)
	in.Run.Spec.Experiment.Traffic.IPFamily = v1alpha1.FamilyIPv6
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{128, 1518}
	in.Run.Spec.Experiment.Traffic.Directions = v1alpha1.DirectionsForward
	return in
}

// Resolved returns one router that finds the generator by ARP and neighbor discovery.
func Resolved() plan.Input {
	in := Input(1)
	in.Run.Spec.Experiment.Chain[0].AddressResolution = v1alpha1.AddressResolutionDynamic
	return in
}

// HostDevices returns one router whose ports are whole NICs.
func HostDevices() plan.Input {
	in := Input(1)
	Attach(&in, v1alpha1.AttachmentHostDevice)
	in.Testbed.Spec.Ports.West = HostDevicePort("0000:03:00.0")
	in.Testbed.Spec.Ports.East = HostDevicePort("0000:03:00.1")
	in.Testbed.Spec.SystemUnderTest.HostDevices = &v1alpha1.DeviceHostDevices{
		West: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.0"}, East: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.1"},
	}
	return in
}

// VLAN returns one router between a bridge's port with a tag and a port whose network removes the
// tag.
func VLAN() plan.Input {
	in := Input(1)
	in.Networks = map[string]bool{"east-net": true, "east-device": true}
	in.Testbed.Spec.Ports.East = ExistingNetwork("east-net", "east-device")
	in.Testbed.Spec.Ports.West.VLAN, in.Testbed.Spec.Ports.East.VLAN = new(int32(100)), new(int32(200))
	in.Testbed.Spec.Ports.East.NetworkAttachmentDefinition.DeviceVLAN = new(int32(0))
	return in
}

// Firewalls returns a bridging firewall between two routers, and a routing one at the east end.
func Firewalls() plan.Input {
	in := Input(4)
	bridged, routed := &in.Run.Spec.Experiment.Chain[1], &in.Run.Spec.Experiment.Chain[3]
	bridged.Name, bridged.Function = "bridge", v1alpha1.FunctionFirewall
	bridged.Firewall = &v1alpha1.Firewall{Forwarding: v1alpha1.ForwardingBridged, Mode: v1alpha1.FirewallStateless, Rules: 1000}
	routed.Name, routed.Function = "filter", v1alpha1.FunctionFirewall
	routed.Firewall = &v1alpha1.Firewall{Backend: v1alpha1.BackendIptables, MatchBy: v1alpha1.RuleMatchPort, Rules: 25, Lookup: v1alpha1.LookupSet}
	return in
}

// TCP returns two routers that carry TCP connections.
func TCP() plan.Input {
	in := Input(2)
	in.Run.Spec.Experiment.Measurements = v1alpha1.Measurements{
		SettleMilliseconds: 100, Repeats: 3,
		TCP: &v1alpha1.TCP{
			Streams: []int32{1, 4}, Directions: v1alpha1.DirectionsBoth, DurationSeconds: 10, OmitSeconds: new(int32(2)),
			MSSBytes: new(int32(1400)), CongestionControl: "cubic", WindowBytes: new(int64(65536)), TargetBitsPerSecond: new(int64(1_000_000)),
		},
	}
	return in
}

// ExistingNetworks returns one router on the user's own networks, generator and device on two nodes
// that have taints.
func ExistingNetworks() plan.Input {
	in := Input(1)
	in.Networks = map[string]bool{"west-net": true, "west-device": true, "east-net": true, "lab/loop-west": true, "loop-east": true}
	in.Testbed.Spec.Ports.West = ExistingNetwork("west-net", "west-device")
	in.Testbed.Spec.Ports.East = ExistingNetwork("east-net", "")
	in.Testbed.Spec.Ports.CalibrationNetworks = []v1alpha1.NetworkReference{{Namespace: "lab", Name: "loop-west"}, {Name: "loop-east"}}
	in.Nodes = append(in.Nodes, Node("node-b"))
	in.Testbed.Spec.SystemUnderTest.NodeSelector = map[string]string{corev1.LabelHostname: "node-b"}
	tolerations := []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	in.Testbed.Spec.Generator.Tolerations = tolerations
	in.Testbed.Spec.SystemUnderTest.Tolerations = tolerations
	in.Testbed.Spec.Generator.CPU = "2"
	in.Defaults.ImagePullSecrets = []string{"registry"}
	return in
}

// Machines returns four routers in virtual machines, each with another NIC model.
func VMs() plan.Input {
	in := VMInput(4)
	in.Defaults.ImagePullSecrets = []string{"registry"}
	in.Testbed.Spec.SystemUnderTest.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	models := []v1alpha1.Attachment{"", v1alpha1.AttachmentE1000, v1alpha1.AttachmentE1000e, v1alpha1.AttachmentRTL8139}
	for i, model := range models {
		in.Run.Spec.Experiment.Chain[i].West.Attachment, in.Run.Spec.Experiment.Chain[i].East.Attachment = model, model
	}
	return in
}

// VMTuned returns one router in a virtual machine with every setting of its platform.
func VMTuned() plan.Input {
	in := VMInput(1)
	node := &in.Nodes[0]
	node.Labels["cpumanager"], node.Labels["kubevirt.io/realtime"] = "true", ""
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8")
	node.Status.Allocatable["hugepages-1Gi"] = resource.MustParse("4Gi")
	in.Testbed.Spec.SystemUnderTest.Realtime = v1alpha1.RealtimeEnabled
	in.Run.Spec.Experiment.Chain[0].Platform = &v1alpha1.Platform{
		VCPUs: 2, Memory: "2Gi", CPUPlacement: v1alpha1.CPUPlacementDedicatedWithIsolatedEmulator,
		NUMA: v1alpha1.NUMAGuestMappingPassthrough, Hugepages: "1Gi", Realtime: v1alpha1.RealtimeEnabled, Boot: v1alpha1.BootDisk,
	}
	return in
}

// VMWithPod returns one router in a pod and one in a virtual machine.
func VMWithPod() plan.Input {
	in := VMInput(2)
	in.Run.Spec.Experiment.Chain[0] = Router("router-1")
	in.Run.Spec.Experiment.Chain[1].Platform = &v1alpha1.Platform{VCPUs: 2}
	in.Run.Spec.Experiment.Chain[1].West.Queues, in.Run.Spec.Experiment.Chain[1].East.Queues = new(int32(1)), new(int32(1))
	return in
}

// Gateways returns a WireGuard pair and an IPsec pair.
func Gateways() plan.Input {
	in := Input(4)
	for i := range in.Run.Spec.Experiment.Chain {
		function := &in.Run.Spec.Experiment.Chain[i]
		function.Function = v1alpha1.FunctionEncryptionGateway
		function.Name = []string{"wg-west", "wg-east", "ipsec-west", "ipsec-east"}[i]
		if i >= 2 {
			function.EncryptionGateway = &v1alpha1.EncryptionGateway{Protocol: v1alpha1.ProtocolIPsec}
		}
	}
	return in
}

// GatewayVMs returns the same pairs as virtual machines.
func GatewayVMs() plan.Input {
	in := VMInput(4)
	pods := Gateways()
	for i := range in.Run.Spec.Experiment.Chain {
		function := &in.Run.Spec.Experiment.Chain[i]
		function.Name, function.Function, function.EncryptionGateway = pods.Run.Spec.Experiment.Chain[i].Name, pods.Run.Spec.Experiment.Chain[i].Function, pods.Run.Spec.Experiment.Chain[i].EncryptionGateway
	}
	return in
}

// Neighbors returns one neighbor of each kind.
func Neighbors() plan.Input {
	in := Input(1)
	in.Nodes[0].Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("8Gi")
	in.Run.Spec.Experiment.Measurements.NoisyNeighbors = v1alpha1.NeighborsWithAndWithout
	in.Run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{
		{Name: "cpu", Kind: v1alpha1.NeighborCPU, Workers: 2},
		{Name: "memory", Kind: v1alpha1.NeighborMemory, Workers: 1},
		{Name: "disk", Kind: v1alpha1.NeighborDisk, Workers: 1},
		{Name: "frames", Kind: v1alpha1.NeighborNetwork, Workers: 1, FramesPerSecond: new(int64(1000))},
	}
	return in
}

// NeighborVMs returns one neighbor of each kind, as virtual machines.
func NeighborVMs() plan.Input {
	in := Neighbors()
	in.KubeVirt = true
	in.Nodes[0].Labels["kubevirt.io/schedulable"] = "true"
	for i := range in.Run.Spec.Experiment.NoisyNeighbors {
		in.Run.Spec.Experiment.NoisyNeighbors[i].Runtime = v1alpha1.RuntimeVirtualMachine
	}
	in.Run.Spec.Experiment.NoisyNeighbors[0].CPU = "1500m"
	in.Run.Spec.Experiment.NoisyNeighbors[3].Attachment = v1alpha1.AttachmentE1000
	return in
}

// CustomPods returns three users' own containers: a program that reads its ports from packet sockets, one that
// the kernel forwards for, and one with hugepages whose east port is a virtual function.
func CustomPods() plan.Input {
	in := Input(3)
	in.Defaults.ImagePullSecrets = []string{"registry"}
	in.Testbed.Spec.SystemUnderTest.Attachments = append(in.Testbed.Spec.SystemUnderTest.Attachments, v1alpha1.AttachmentSRIOV)
	in.Testbed.Spec.SystemUnderTest.SRIOV = &v1alpha1.DeviceSRIOV{EastResourceName: "openshift.io/dpdk"}
	in.Testbed.Spec.Ports.East = SRIOVPort("openshift.io/east", 200)
	node := &in.Nodes[0]
	Offer(node, "openshift.io/dpdk", 1)
	Offer(node, "openshift.io/east", 1)
	Offer(node, "hugepages-2Mi", 1<<30)
	packets := CustomPod("testpmd", v1alpha1.CustomFunction{
		Container: &v1alpha1.CustomContainer{
			Image: "registry.example/testpmd:22.11", Command: []string{"dpdk-testpmd"}, Args: []string{"--", "--eth-peer=0,$(VNFBENCH_WEST_NEXT_HOP_MAC)"},
			Capabilities: []v1alpha1.ContainerCapability{v1alpha1.CapabilityNetRaw},
		},
		ImagePullSecretRef: &v1alpha1.LocalReference{Name: "vendor"}, ImagePullPolicy: corev1.PullAlways,
	})
	packets.AddressResolution = v1alpha1.AddressResolutionStatic
	kernel := CustomPod("frr", v1alpha1.CustomFunction{
		Container: &v1alpha1.CustomContainer{
			Image: "registry.example/frr:10", Env: []v1alpha1.ContainerVariable{{Name: "ROUTER_ID", Value: "$(VNFBENCH_WEST_HOST_IPV4)"}},
			Capabilities: []v1alpha1.ContainerCapability{v1alpha1.CapabilityNetAdmin}, Forwarding: v1alpha1.ForwardingKernel,
		},
		UserData:  "interface west\n ip address {{ .West.AddressIPv4 }}\n",
		Readiness: &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessExec, Command: []string{"vtysh", "-c", "show version"}},
	})
	device := CustomPod("vpp", v1alpha1.CustomFunction{
		Container: &v1alpha1.CustomContainer{
			Image: "registry.example/vpp:25.10", Capabilities: []v1alpha1.ContainerCapability{v1alpha1.CapabilityIPCLock, v1alpha1.CapabilityNetRaw},
			Hugepages: &v1alpha1.ContainerHugepages{PageSize: "2Mi", Pages: 256},
		},
		UserDataSecretRef: &v1alpha1.LocalReference{Name: "license"},
		Readiness:         &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessTCP, Port: 5002, BootSeconds: 5},
	})
	device.CPU, device.East.Attachment = "2", v1alpha1.AttachmentSRIOV
	in.Run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{packets, kernel, device}
	return in
}

// CustomVMs returns three users' own VMs: a disk image with user data, a claim with a
// secret and network data, and a DataVolume without further settings.
func CustomVMs() plan.Input {
	in := VMInput(3)
	in.Defaults.ImagePullSecrets = []string{"registry"}
	in.Run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{
		Custom("vyos", v1alpha1.CustomFunction{
			ContainerDisk: "registry.example/vyos:1", ImagePullSecretRef: &v1alpha1.LocalReference{Name: "vendor"}, ImagePullPolicy: corev1.PullAlways,
			UserData:  "#cloud-config\nvyos_config_commands:\n- set interfaces ethernet eth1 address {{ .West.AddressIPv4 }}\n",
			Readiness: &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessTCP, Port: 22, BootSeconds: 60},
		}),
		Custom("firewall", v1alpha1.CustomFunction{
			PersistentVolumeClaimRef: &v1alpha1.LocalReference{Name: "firewall"}, UserDataSecretRef: &v1alpha1.LocalReference{Name: "firewall-seed"},
			NetworkData: "version: 2 # {{ .East.MAC }}\n", CloudInit: v1alpha1.CloudInitConfigDrive,
			Firmware: v1alpha1.FirmwareEFISecureBoot, MachineType: "q35", DiskBus: v1alpha1.DiskBusSATA,
			Readiness: &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessHTTP, Port: 443, Path: "/login"},
		}),
		Custom("silent", v1alpha1.CustomFunction{
			DataVolumeRef: &v1alpha1.LocalReference{Name: "silent"}, Firmware: v1alpha1.FirmwareEFI, DiskBus: v1alpha1.DiskBusSCSI,
			ManagementNIC: v1alpha1.ManagementNICNone, InterfaceOrder: v1alpha1.InterfaceOrderEastWest,
		}),
	}
	return in
}
