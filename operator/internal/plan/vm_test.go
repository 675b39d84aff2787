package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func TestVMDefaults(t *testing.T) {
	p := mustMake(t, plantest.VMInput(1))
	f := p.Functions[0]
	want := &plan.VM{
		VCPUs: 1, MemoryBytes: 512 << 20, Queues: 1, CPUPlacement: v1alpha1.CPUPlacementShared, NUMA: v1alpha1.NUMANone,
		Realtime: v1alpha1.RealtimeDisabled, Boot: v1alpha1.BootKernel, OnDifference: v1alpha1.OnDifferenceWarn,
	}
	if diff := cmp.Diff(want, f.VM); diff != "" {
		t.Error(diff)
	}
	if f.Image != "registry.example/vnf-guest:v1" || f.WestAttachment != v1alpha1.AttachmentVirtio || f.EastAttachment != v1alpha1.AttachmentVirtio {
		t.Errorf("image %q, attachments %s and %s", f.Image, f.WestAttachment, f.EastAttachment)
	}
	for i, end := range p.PortsOf(f.Name) {
		if port := f.Config.Ports[i]; port.Interface != "" || port.MAC != end.MAC || port.MTUBytes != end.MTUBytes {
			t.Errorf("port %+v, want the MAC address of %+v and no interface's name", port, end)
		}
	}
}

// TestVMsPathIsThePods checks that a virtual machine in a pod's place has the same
// addresses, bridges and neighbors.
func TestVMsPathIsThePods(t *testing.T) {
	pods, vms := mustMake(t, plantest.Input(2)), mustMake(t, plantest.VMInput(2))
	if diff := cmp.Diff(pods.Segments, vms.Segments); diff != "" {
		t.Errorf("the segments differ:\n%s", diff)
	}
	for i := range pods.Functions {
		of := func(p *plan.Plan) string {
			config := p.Functions[i].Config
			for j := range config.Ports {
				config.Ports[j].Interface = ""
			}
			return config.Digest()
		}
		if diff := cmp.Diff(of(pods), of(vms)); diff != "" {
			t.Errorf("function %d differs:\n%s", i, diff)
		}
	}
	if pods.Digest == vms.Digest {
		t.Error("pods and virtual machines have the same digest")
	}
}

func TestVMRequests(t *testing.T) {
	const mi = 1 << 20
	tests := map[string]struct {
		platform *v1alpha1.Platform
		want     plan.Resources
	}{
		// 512 + 1 for page tables + 220 + 2·8, and 36 MB for console and image.
		"plain": {nil, plan.Resources{RequestMilliCPU: 106, MemoryBytes: 749*mi + 36_000_000}},
		"four vCPUs": {&v1alpha1.Platform{VCPUs: 4, Memory: "1Gi"},
			plan.Resources{RequestMilliCPU: 406, MemoryBytes: (1024+2+220+40)*mi + 36_000_000}},
		"dedicated": {&v1alpha1.Platform{VCPUs: 2, CPUPlacement: v1alpha1.CPUPlacementDedicated},
			plan.Resources{RequestMilliCPU: 2025, MemoryBytes: (512+1+220+24+100)*mi + 100_000_000}},
		"isolated, hugepages": {&v1alpha1.Platform{VCPUs: 2, CPUPlacement: v1alpha1.CPUPlacementDedicatedWithIsolatedEmulator, Hugepages: "2Mi"},
			plan.Resources{RequestMilliCPU: 3025, MemoryBytes: (1+220+24+100)*mi + 100_000_000}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := tuned(plantest.VMInput(1))
			in.Run.Spec.Experiment.Chain[0].Platform = test.platform
			if diff := cmp.Diff(test.want, mustMake(t, in).Functions[0].Resources); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// tuned gives the node what dedicated CPUs, hugepages and real time need.
func tuned(in plan.Input) plan.Input {
	node := &in.Nodes[0]
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8")
	node.Labels["cpumanager"] = "true"
	node.Labels["kubevirt.io/realtime"] = ""
	node.Status.Allocatable["hugepages-2Mi"] = resource.MustParse("1Gi")
	return in
}

func TestVMQueues(t *testing.T) {
	in := plantest.VMInput(3)
	for i := range in.Run.Spec.Experiment.Chain {
		in.Run.Spec.Experiment.Chain[i].Platform = &v1alpha1.Platform{VCPUs: 2}
	}
	in.Run.Spec.Experiment.Chain[1].West.Queues, in.Run.Spec.Experiment.Chain[1].East.Queues = new(int32(1)), new(int32(1))
	in.Run.Spec.Experiment.Chain[2].West.Attachment, in.Run.Spec.Experiment.Chain[2].East.Queues = v1alpha1.AttachmentE1000, new(int32(2))
	var got []int32
	for _, f := range mustMake(t, in).Functions {
		got = append(got, f.VM.Queues)
	}
	if diff := cmp.Diff([]int32{2, 1, 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVMDigest(t *testing.T) {
	digest := func(change func(*v1alpha1.NetworkFunction)) string {
		in := tuned(plantest.VMInput(1))
		change(&in.Run.Spec.Experiment.Chain[0])
		return mustMake(t, in).Digest
	}
	plain := digest(func(*v1alpha1.NetworkFunction) {})
	platform := func(p v1alpha1.Platform) func(*v1alpha1.NetworkFunction) {
		return func(f *v1alpha1.NetworkFunction) { f.Platform = &p }
	}
	for name, same := range map[string]func(*v1alpha1.NetworkFunction){
		"an empty platform":      platform(v1alpha1.Platform{}),
		"the answer to a change": platform(v1alpha1.Platform{OnDifference: v1alpha1.OnDifferenceFail}),
		"the default attachment": func(f *v1alpha1.NetworkFunction) { f.West.Attachment = v1alpha1.AttachmentVirtio },
	} {
		if digest(same) != plain {
			t.Errorf("%s changes the digest", name)
		}
	}
	for name, other := range map[string]func(*v1alpha1.NetworkFunction){
		"vCPUs":     platform(v1alpha1.Platform{VCPUs: 2}),
		"memory":    platform(v1alpha1.Platform{Memory: "1Gi"}),
		"placement": platform(v1alpha1.Platform{CPUPlacement: v1alpha1.CPUPlacementDedicated}),
		"hugepages": platform(v1alpha1.Platform{Hugepages: "2Mi"}),
		"boot":      platform(v1alpha1.Platform{Boot: v1alpha1.BootDisk}),
		"NIC":       func(f *v1alpha1.NetworkFunction) { f.East.Attachment = v1alpha1.AttachmentE1000 },
	} {
		if digest(other) == plain {
			t.Errorf("%s: the digest stays the same", name)
		}
	}
}

func TestVMFailures(t *testing.T) {
	tests := map[string]struct {
		change  func(*plan.Input)
		reason  string
		message []string
		remedy  string
	}{
		"no KubeVirt": {
			change: func(in *plan.Input) { in.KubeVirt = false },
			reason: v1alpha1.ReasonKubeVirtNotInstalled, message: []string{`"router-1"`, "VirtualMachineInstance"}, remedy: "install KubeVirt",
		},
		"not offered": {
			change: func(in *plan.Input) {
				in.Testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentVeth}
			},
			reason: v1alpha1.ReasonAttachmentNotOffered, message: []string{"attachment Virtio"}, remedy: "add Virtio to the testbed's",
		},
		"no virt-handler": {
			change: func(in *plan.Input) { in.Nodes[0].Labels["kubevirt.io/schedulable"] = "false" },
			reason: v1alpha1.ReasonNoMatchingNode, message: []string{"kubevirt.io/schedulable=true"}, remedy: "virt-handler",
		},
		"no CPU manager": {
			change: func(in *plan.Input) {
				in.Run.Spec.Experiment.Chain[0].Platform = &v1alpha1.Platform{CPUPlacement: v1alpha1.CPUPlacementDedicated}
			},
			reason: v1alpha1.ReasonNoMatchingNode, message: []string{"cpumanager=true"}, remedy: "cpuPlacement Shared",
		},
		"real time not offered": {
			change: func(in *plan.Input) {
				in.Run.Spec.Experiment.Chain[0].Platform = &v1alpha1.Platform{Realtime: v1alpha1.RealtimeEnabled}
			},
			reason: v1alpha1.ReasonRealtimeNotOffered, message: []string{`"router-1"`, `"lab"`}, remedy: "spec.systemUnderTest.realtime",
		},
		"no real time": {
			change: func(in *plan.Input) {
				in.Testbed.Spec.SystemUnderTest.Realtime = v1alpha1.RealtimeEnabled
				in.Run.Spec.Experiment.Chain[0].Platform = &v1alpha1.Platform{Realtime: v1alpha1.RealtimeEnabled}
			},
			reason: v1alpha1.ReasonNoMatchingNode, message: []string{"label kubevirt.io/realtime"}, remedy: "sched_rt_runtime_us",
		},
		"too few hugepages": {
			change: func(in *plan.Input) {
				in.Nodes[0].Status.Allocatable["hugepages-2Mi"] = resource.MustParse("512Mi")
				for i := range in.Run.Spec.Experiment.Chain {
					in.Run.Spec.Experiment.Chain[i].Platform = &v1alpha1.Platform{Hugepages: "2Mi"}
				}
			},
			reason: v1alpha1.ReasonInsufficientHugepages, message: []string{"ask for 1Gi of hugepages-2Mi"}, remedy: "set aside more pages",
		},
		"too little memory": {
			change: func(in *plan.Input) {
				in.Run.Spec.Experiment.Chain[0].Platform = &v1alpha1.Platform{Memory: "8Gi"}
			},
			reason: v1alpha1.ReasonInsufficientMemory, message: []string{"the largest node"}, remedy: "platform.memory",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := plantest.VMInput(2)
			test.change(&in)
			expectFailure(t, failureOf(t, in), test.reason, test.message, test.remedy)
		})
	}
}

// TestVMsNode checks that of two nodes the one with KubeVirt is taken, and for the generator
// too; a chain of pods takes the first.
func TestVMsNode(t *testing.T) {
	for name, want := range map[string]string{"pods": "node-a", "machines": "node-b"} {
		in := plantest.VMInput(1)
		if name == "pods" {
			in.Run.Spec.Experiment.Chain[0] = plantest.Router("router-1")
		}
		delete(in.Nodes[0].Labels, "kubevirt.io/schedulable")
		other := plantest.Node("node-b")
		other.Labels["kubevirt.io/schedulable"] = "true"
		in.Nodes = append(in.Nodes, other)
		if p := mustMake(t, in); p.DeviceNode != want || p.GeneratorNode != want {
			t.Errorf("%s: generator on %q, chain on %q, want %q", name, p.GeneratorNode, p.DeviceNode, want)
		}
	}
	in := plantest.VMInput(1)
	in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("west-net", "")
	in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "")
	in.Networks = map[string]bool{"west-net": true, "east-net": true}
	in.Nodes = append([]corev1.Node{plantest.Node("node-0")}, in.Nodes...)
	if p := mustMake(t, in); p.DeviceNode != "node-a" || p.GeneratorNode != "node-0" {
		t.Errorf("generator on %q, chain on %q, want them apart", p.GeneratorNode, p.DeviceNode)
	}
}

// TestVMMemory checks that what a function's configuration needs is added to the guest's
// memory, as it is to a pod's, in whole pages.
func TestVMMemory(t *testing.T) {
	const mi = 1 << 20
	firewall := func(rules int32, hugepages v1alpha1.HugepageSize) func(f *v1alpha1.NetworkFunction) {
		return func(f *v1alpha1.NetworkFunction) {
			f.Function, f.Firewall = v1alpha1.FunctionFirewall, &v1alpha1.Firewall{Rules: rules}
			f.Platform = &v1alpha1.Platform{Hugepages: hugepages}
		}
	}
	gateway := func(implementation v1alpha1.EncryptionImplementation) func(f *v1alpha1.NetworkFunction) {
		return func(f *v1alpha1.NetworkFunction) {
			f.Function, f.EncryptionGateway = v1alpha1.FunctionEncryptionGateway, &v1alpha1.EncryptionGateway{Implementation: implementation}
		}
	}
	for name, tc := range map[string]struct {
		change func(f *v1alpha1.NetworkFunction)
		bytes  int64
	}{
		"1,000 rules":                {firewall(1000, ""), 514 * mi},
		"20,000 rules":               {firewall(20_000, ""), 552 * mi},
		"1,000 rules in large pages": {firewall(1001, "2Mi"), 514 * mi},
		"WireGuard":                  {gateway(v1alpha1.EncryptionAuto), 512 * mi},
		"WireGuard in user space":    {gateway(v1alpha1.EncryptionUserspace), 960 * mi},
	} {
		t.Run(name, func(t *testing.T) {
			in := plantest.VMInput(2)
			in.Nodes[0].Status.Allocatable["hugepages-2Mi"] = resource.MustParse("4Gi")
			for i := range in.Run.Spec.Experiment.Chain {
				tc.change(&in.Run.Spec.Experiment.Chain[i])
			}
			f := mustMake(t, in).Functions[0]
			if f.VM.MemoryBytes != tc.bytes {
				t.Errorf("%d bytes, want %d", f.VM.MemoryBytes, tc.bytes)
			}
			if f.VM.Hugepages == "" && f.Resources.MemoryBytes <= tc.bytes {
				t.Errorf("the pod requests %d bytes", f.Resources.MemoryBytes)
			}
		})
	}
}
