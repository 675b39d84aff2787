package chain_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/plan/plantest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// inputs are the runs whose objects are kept as golden files.
var inputs = map[string]func() plan.Input{
	"one-router":   func() plan.Input { return plantest.Input(1) },
	"four-routers": func() plan.Input { return plantest.Input(4) },
	"real-time": func() plan.Input {
		in := plantest.Input(1)
		in.Testbed.Spec.Generator.CPU = new(resource.MustParse("2"))
		in.Testbed.Spec.Generator.XDP.Scheduling = v1alpha1.SchedulingRealTime
		return in
	},
	"ipv6": func() plan.Input {
		in := plantest.Input(1)
		in.Run.Spec.Experiment.Traffic.IPFamily = v1alpha1.FamilyIPv6
		in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{128, 1518}
		in.Run.Spec.Experiment.Traffic.Directions = v1alpha1.DirectionsForward
		return in
	},
	"sriov": func() plan.Input { return plantest.SRIOV(2) },
	"host-devices": func() plan.Input {
		in := plantest.Input(1)
		plantest.Attach(&in, v1alpha1.AttachmentHostDevice)
		in.Testbed.Spec.Ports.West = plantest.HostDevicePort("0000:03:00.0")
		in.Testbed.Spec.Ports.East = plantest.HostDevicePort("0000:03:00.1")
		in.Testbed.Spec.SystemUnderTest.HostDevices = &v1alpha1.DeviceHostDevices{
			West: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.0"}, East: &v1alpha1.DeviceHostDevice{PCIAddress: "0000:05:00.1"},
		}
		return in
	},
	// A bridge's port with a tag, and one whose network takes the tag off.
	"vlan": func() plan.Input {
		in := plantest.Input(1)
		in.Networks = map[string]bool{"east-net": true, "east-device": true}
		in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "east-device")
		in.Testbed.Spec.Ports.West.VLAN, in.Testbed.Spec.Ports.East.VLAN = new(int32(100)), new(int32(200))
		in.Testbed.Spec.Ports.East.NetworkAttachmentDefinition.DeviceVLAN = new(int32(0))
		return in
	},
	// A bridging firewall between two routers, and a routing one behind them.
	"firewalls": func() plan.Input {
		in := plantest.Input(4)
		bridged, routed := &in.Run.Spec.Experiment.Chain[1], &in.Run.Spec.Experiment.Chain[3]
		bridged.Name, bridged.Function = "bridge", v1alpha1.FunctionFirewall
		bridged.Firewall = &v1alpha1.Firewall{Forwarding: v1alpha1.ForwardingBridged, Mode: v1alpha1.FirewallStateless, Rules: 1000}
		routed.Name, routed.Function = "filter", v1alpha1.FunctionFirewall
		routed.Firewall = &v1alpha1.Firewall{Backend: v1alpha1.BackendIptables, MatchBy: v1alpha1.RuleMatchPort, Rules: 25}
		return in
	},
	"gateways": gateways,
	"tcp": func() plan.Input {
		in := plantest.Input(2)
		in.Run.Spec.Experiment.Measurements = v1alpha1.Measurements{
			SettleMilliseconds: 100, Repeats: 3,
			TCP: &v1alpha1.TCP{
				Streams: []int32{1, 4}, Directions: v1alpha1.DirectionsBoth, DurationSeconds: 10, OmitSeconds: new(int32(2)),
				MSSBytes: new(int32(1400)), CongestionControl: "cubic", WindowBytes: new(int64(65536)), TargetBitsPerSecond: new(int64(1_000_000)),
			},
		}
		return in
	},
	"existing-networks": func() plan.Input {
		in := plantest.Input(1)
		in.Networks = map[string]bool{"west-net": true, "west-device": true, "east-net": true}
		in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("west-net", "west-device")
		in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "")
		in.Nodes = append(in.Nodes, plantest.Node("node-b"))
		in.Testbed.Spec.SystemUnderTest.NodeSelector = map[string]string{corev1.LabelHostname: "node-b"}
		tolerations := []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		in.Testbed.Spec.Generator.Tolerations = tolerations
		in.Testbed.Spec.SystemUnderTest.Tolerations = tolerations
		in.Testbed.Spec.Generator.CPU = new(resource.MustParse("2"))
		in.Defaults.ImagePullSecrets = []string{"registry"}
		return in
	},
}

func init() {
	inputs["machines"] = func() plan.Input {
		in := plantest.MachineInput(4)
		in.Defaults.ImagePullSecrets = []string{"registry"}
		in.Testbed.Spec.SystemUnderTest.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		models := []v1alpha1.Attachment{"", v1alpha1.AttachmentE1000, v1alpha1.AttachmentE1000e, v1alpha1.AttachmentRTL8139}
		for i, model := range models {
			in.Run.Spec.Experiment.Chain[i].West.Attachment, in.Run.Spec.Experiment.Chain[i].East.Attachment = model, model
		}
		return in
	}
	inputs["trex-afpacket"], inputs["trex-dpdk"] = plantest.TRexAFPacket, plantest.TRexDPDK
	inputs["gateway-machines"] = gatewayMachines
	inputs["machine-tuned"] = func() plan.Input {
		in := plantest.MachineInput(1)
		node := &in.Nodes[0]
		node.Labels["cpumanager"], node.Labels["kubevirt.io/realtime"] = "true", ""
		node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8")
		node.Status.Allocatable["hugepages-1Gi"] = resource.MustParse("4Gi")
		in.Testbed.Spec.SystemUnderTest.Realtime = v1alpha1.RealtimeEnabled
		in.Run.Spec.Experiment.Chain[0].Platform = &v1alpha1.Platform{
			VCPUs: 2, Memory: new(resource.MustParse("2Gi")), CPUPlacement: v1alpha1.CPUPlacementDedicatedWithIsolatedEmulator,
			NUMA: v1alpha1.NUMAGuestMappingPassthrough, Hugepages: "1Gi", Realtime: v1alpha1.RealtimeEnabled, Boot: v1alpha1.BootDisk,
		}
		return in
	}
	inputs["custom"] = custom
	inputs["machines-sriov"] = func() plan.Input { return plantest.MachineSRIOV(2) }
	inputs["machine-host-devices"] = plantest.MachineHostDevices
	inputs["machine-beside-pod"] = func() plan.Input {
		in := plantest.MachineInput(2)
		in.Run.Spec.Experiment.Chain[0] = plantest.Router("router-1")
		in.Run.Spec.Experiment.Chain[1].Platform = &v1alpha1.Platform{VCPUs: 2}
		in.Run.Spec.Experiment.Chain[1].West.Queues, in.Run.Spec.Experiment.Chain[1].East.Queues = new(int32(1)), new(int32(1))
		return in
	}
}

// custom is three users' own machines: a disk image with user data, a claim with
// a secret and network data, and a DataVolume with nothing but itself.
func custom() plan.Input {
	in := plantest.MachineInput(3)
	in.Defaults.ImagePullSecrets = []string{"registry"}
	in.Run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{
		plantest.Custom("vyos", v1alpha1.CustomFunction{
			ContainerDisk: "registry.example/vyos:1", ImagePullSecretRef: &v1alpha1.LocalReference{Name: "vendor"}, ImagePullPolicy: corev1.PullAlways,
			UserData:  "#cloud-config\nvyos_config_commands:\n- set interfaces ethernet eth1 address {{ .West.AddressIPv4 }}\n",
			Readiness: &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessTCP, Port: 22, BootSeconds: 60},
		}),
		plantest.Custom("firewall", v1alpha1.CustomFunction{
			PersistentVolumeClaimRef: &v1alpha1.LocalReference{Name: "firewall"}, UserDataSecretRef: &v1alpha1.LocalReference{Name: "firewall-seed"},
			NetworkData: "version: 2 # {{ .East.MAC }}\n", CloudInit: v1alpha1.CloudInitConfigDrive,
			Firmware: v1alpha1.FirmwareEFISecureBoot, MachineType: "q35", DiskBus: v1alpha1.DiskBusSATA,
			Readiness: &v1alpha1.CustomReadiness{Kind: v1alpha1.ReadinessHTTP, Port: 443, Path: "/login"},
		}),
		plantest.Custom("silent", v1alpha1.CustomFunction{
			DataVolumeRef: &v1alpha1.LocalReference{Name: "silent"}, Firmware: v1alpha1.FirmwareEFI, DiskBus: v1alpha1.DiskBusSCSI,
			ManagementNIC: v1alpha1.ManagementNICNone, InterfaceOrder: v1alpha1.InterfaceOrderEastWest,
		}),
	}
	return in
}

func mustMake(t *testing.T, in plan.Input) *plan.Plan {
	t.Helper()
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// objectsOf are all objects of a run.
func objectsOf(p *plan.Plan) []chain.Object {
	objects := []chain.Object{
		chain.PlanConfigMap(p), chain.ResultsConfigMap(p),
		chain.ServiceAccount(p), chain.Role(p), chain.RoleBinding(p),
	}
	for _, policy := range chain.NetworkPolicies(p) {
		objects = append(objects, policy)
	}
	for _, network := range chain.Networks(p) {
		objects = append(objects, network)
	}
	for _, function := range chain.Functions(p) {
		objects = append(objects, function.Objects()...)
	}
	if pod := chain.Observer(p); pod != nil {
		objects = append(objects, pod)
	}
	for _, end := range chain.Endpoints(p) {
		objects = append(objects, end.ConfigMap, end.Pod)
	}
	for _, neighbor := range chain.Neighbors(p) {
		objects = append(objects, neighbor.Object())
	}
	return append(objects, chain.MeasurerJob(p))
}

func render(t *testing.T, objects []chain.Object) []byte {
	t.Helper()
	var documents bytes.Buffer
	for _, object := range objects {
		content, err := chain.Unstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(content.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&documents, "---\n%s", text)
	}
	return documents.Bytes()
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			p := mustMake(t, input())
			compare(t, name, render(t, objectsOf(p)))
		})
	}
}

func TestCleanupGolden(t *testing.T) {
	in := plantest.Input(1)
	job := chain.BridgeCleanup(in.Testbed, plantest.Namespace, "node-a", in.Defaults)
	compare(t, "cleanup", render(t, []chain.Object{job}))
}

// TestStoredPlan: the controller renders from the plan that it reads back.
func TestStoredPlan(t *testing.T) {
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			p := mustMake(t, input())
			back, err := plan.Parse([]byte(chain.PlanConfigMap(p).Data[plan.KeyPlan]))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(render(t, objectsOf(p))), string(render(t, objectsOf(back)))); diff != "" {
				t.Errorf("the objects differ (-made +read back):\n%s", diff)
			}
		})
	}
}
