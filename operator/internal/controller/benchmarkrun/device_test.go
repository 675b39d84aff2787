package benchmarkrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

func TestDeviceReport(t *testing.T) {
	s := newScope(launched, withRecords(open), functions(ready, ready))
	s.plan.Run.Namespace, s.plan.Run.Name, s.plan.Run.UID = s.run.Namespace, s.run.Name, s.run.UID
	s.plan.Functions = []plan.Function{{Name: "one", Runtime: v1alpha1.RuntimeVirtualMachine}, {Name: "two", Runtime: v1alpha1.RuntimePod}}
	if got := summarize(s, decide(s)).Device; got != nil {
		t.Errorf("%+v of a node that was not looked at", got)
	}
	guest := s.run.Namespace + "_" + s.names.Function("one")
	s.records.device = &measure.DeviceState{
		Node: &measure.NodeFacts{Fingerprint: &measure.Fingerprint{
			Digest: "sha256:1", CPUModel: "a CPU", CPUs: 4, Turbo: "Disabled", Hypervisor: true,
			Mitigations: map[string]string{"b": "two", "a": "one"}, Hugepages: map[int]int{2048: 512, 1048576: 4},
		}},
		Domains: []measure.Domain{
			{Name: "somebody_else"},
			{
				Name: guest, Accelerator: "kvm", MachineType: "q35", CPUModel: "host", VCPUs: 2, MemoryBacking: "Hugepages", HugepageKibibytes: new(int64(7)),
				NICs: []measure.DomainNIC{
					{Model: "virtio-net-pci", MAC: "02:00:00:00:00:01", Backend: "tap", Vhost: true, Queues: 2},
					{Model: "e1000", MAC: "02:00:00:00:00:02", Backend: "tap", Queues: 1},
					{Model: "vfio-pci", HostAddress: "0000:3b:02.1"},
				},
				Threads: []measure.DomainThreads{{Class: measure.ThreadVCPU, Count: 2, CPUs: []string{"2", "3"}, Scheduling: []measure.ThreadScheduling{{Policy: "FIFO", Priority: 1}, {Policy: "Other"}}}},
			},
		},
		CycleCounter: v1alpha1.CycleCounterNotPermitted,
		Problems:     []string{"a\nproblem"},
	}
	want := &v1alpha1.DeviceReport{
		Fingerprint: &v1alpha1.Fingerprint{
			Digest: "sha256:1", CPUModel: "a CPU", CPUs: 4, Turbo: "Disabled", Hypervisor: "Present",
			Vulnerabilities: []v1alpha1.Vulnerability{{Name: "a", State: "one"}, {Name: "b", State: "two"}},
			HugepagePools:   []v1alpha1.HugepagePool{{SizeKibibytes: 2048, Pages: 512}, {SizeKibibytes: 1048576, Pages: 4}},
		},
		Domains: []v1alpha1.DomainReport{{
			Function: "one", Accelerator: "kvm", MachineType: "q35", CPUModel: "host", VCPUs: 2, MemoryBacking: "Hugepages", HugepageKibibytes: new(int64(7)),
			Interfaces: []v1alpha1.DomainInterface{
				{Model: "virtio-net-pci", MACAddress: "02:00:00:00:00:01", Backend: "tap", Vhost: "Enabled", Queues: 2},
				{Model: "e1000", MACAddress: "02:00:00:00:00:02", Backend: "tap", Vhost: "Disabled", Queues: 1},
				{Model: "vfio-pci", HostAddress: "0000:3b:02.1"},
			},
			ThreadGroups: []v1alpha1.ThreadGroup{{
				Class: "VCPU", Count: 2, CPUs: []string{"2", "3"}, Scheduling: []v1alpha1.ThreadScheduling{{Policy: "FIFO", Priority: 1}, {Policy: "Other"}},
			}},
		}},
		CycleCounter: v1alpha1.CycleCounterNotPermitted,
		Problems:     []string{"a problem"},
	}
	if diff := cmp.Diff(want, summarize(s, decide(s)).Device); diff != "" {
		t.Error(diff)
	}
	s.records.device.CycleCounter = "What the API does not have"
	if got := summarize(s, decide(s)).Device.CycleCounter; got != "" {
		t.Errorf("the status has %q", got)
	}
}

// TestFingerprintIsBounded checks that however much a node reports, the status holds what the API accepts.
func TestFingerprintIsBounded(t *testing.T) {
	long := strings.Repeat("ä ", 600)
	f := measure.Fingerprint{
		Digest: long, CPUModel: long, Kernel: long, Turbo: "Sometimes", Mitigations: map[string]string{}, Hugepages: map[int]int{},
	}
	for i := range 100 {
		f.KernelParameters = append(f.KernelParameters, long)
		f.ScalingGovernors = append(f.ScalingGovernors, long)
		f.Mitigations[fmt.Sprint(i, long)] = long
		f.Hugepages[i+1] = i + 1
	}
	got := fingerprintOf(&f)
	if len(got.Digest) > 80 || len(got.CPUModel) > 200 || len(got.Kernel) > 200 || got.Turbo != "" ||
		len(got.KernelParameters) > 32 || len(got.KernelParameters[0]) > 200 || len(got.ScalingGovernors) > 8 ||
		len(got.Vulnerabilities) > 32 || len(got.Vulnerabilities[0].Name) > 200 || len(got.Vulnerabilities[0].State) > 200 || len(got.HugepagePools) > 8 {
		t.Errorf("%+v", got)
	}
	if fingerprintOf(nil) != nil {
		t.Error("a fingerprint of nothing")
	}
}

// TestInterfaces checks what the status holds of the generator's ports, and that it is bounded.
func TestInterfaces(t *testing.T) {
	got := interfacesOf([]measure.PortDriver{
		{Interface: "west", Driver: "iavf", Firmware: "4.40", Bus: "0000:3b:02.0", SpeedMegabitsPerSecond: 100_000, Queues: 8, RPSCPUMask: "f0", PCI: &measure.PCIDevice{
			Function: v1alpha1.PCIFunctionVirtual, PhysicalFunction: "0000:3b:00.0", NUMANode: new(int32(0)), IOMMUGroup: new(int32(81)), LinkMegatransfersPerSecond: 8000, LinkLanes: 16,
		}},
		{Interface: "east", Driver: "veth"},
	})
	want := []v1alpha1.NetworkInterface{
		{Name: "west", Driver: "iavf", FirmwareVersion: "4.40", BusAddress: "0000:3b:02.0", SpeedMegabitsPerSecond: 100_000, Queues: 8, RPSCPUMask: "f0", PCI: &v1alpha1.PCIDevice{
			Function: v1alpha1.PCIFunctionVirtual, PhysicalFunction: "0000:3b:00.0", NUMANode: new(int32(0)), IOMMUGroup: new(int32(81)), LinkMegatransfersPerSecond: 8000, LinkLanes: 16,
		}},
		{Name: "east", Driver: "veth"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	long := strings.Repeat("ä ", 600)
	got = interfacesOf(slices.Repeat([]measure.PortDriver{{Interface: long, Driver: long, Firmware: long, Bus: long, PCI: &measure.PCIDevice{PhysicalFunction: long}}}, 100))
	if len(got) > 4 || len(got[0].Name) > 32 || len(got[0].Driver) > 32 || len(got[0].FirmwareVersion) > 32 || len(got[0].BusAddress) > 32 || len(got[0].PCI.PhysicalFunction) > 32 {
		t.Errorf("%+v", got)
	}
}
