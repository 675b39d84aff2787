package benchmarkrun

import (
	"fmt"
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
		t.Errorf("%+v of a node that nobody has looked at", got)
	}
	guest := s.run.Namespace + "_" + s.names.Function("one")
	s.records.device = &measure.DeviceState{
		Machine: &measure.Machine{Fingerprint: &measure.Fingerprint{
			Digest: "sha256:1", CPUModel: "a CPU", CPUs: 4, Turbo: "Disabled", Hypervisor: true,
			Mitigations: map[string]string{"b": "two", "a": "one"}, Hugepages: map[string]int{"2048": 512},
			Ports: []measure.PortDriver{{Interface: "west", Driver: "ice", Firmware: "4.40", Bus: "0000:3b:00.0"}, {Interface: "east", Driver: "veth"}},
		}},
		Domains: []measure.Domain{
			{Name: "somebody_else"},
			{
				Name: guest, Accelerator: "kvm", Machine: "q35", CPUModel: "host", VCPUs: 2, MemoryBacking: "Hugepages", HugepageKibibytes: new(int64(7)),
				NICs: []measure.DomainNIC{
					{Model: "virtio-net-pci", MAC: "02:00:00:00:00:01", Backend: "tap", Vhost: true, Queues: 2},
					{Model: "e1000", MAC: "02:00:00:00:00:02", Backend: "tap", Queues: 1},
					{Model: "vfio-pci", HostAddress: "0000:3b:02.1"},
				},
				Threads: []measure.DomainThreads{{Class: measure.ThreadVCPU, Count: 2, CPUs: []string{"2", "3"}, Scheduling: []string{"FIFO 1"}}},
			},
		},
		Problems: []string{"a\nproblem"},
	}
	want := &v1alpha1.DeviceReport{
		Fingerprint: &v1alpha1.Fingerprint{
			Digest: "sha256:1", CPUModel: "a CPU", CPUs: 4, Turbo: "Disabled", Hypervisor: "Present",
			Mitigations: []string{"a: one", "b: two"}, Hugepages: []string{"2048: 512"},
			Ports: []string{"west: ice, firmware 4.40, at 0000:3b:00.0", "east: veth"},
		},
		Domains: []v1alpha1.DomainReport{{
			Function: "one", Accelerator: "kvm", MachineType: "q35", CPUModel: "host", VCPUs: 2, MemoryBacking: "Hugepages", HugepageKibibytes: new(int64(7)),
			NICs: []string{
				"virtio-net-pci 02:00:00:00:00:01, tap with vhost, 2 queues",
				"e1000 02:00:00:00:00:02, tap without vhost, 1 queue",
				"vfio-pci, passed through from 0000:3b:02.1",
			},
			Threads: []string{"2 VCPU on CPUs 2, 3, scheduled FIFO 1"},
		}},
		Problems: []string{"a problem"},
	}
	if diff := cmp.Diff(want, summarize(s, decide(s)).Device); diff != "" {
		t.Error(diff)
	}
}

// However much a node says, the status takes what the API takes.
func TestFingerprintIsBounded(t *testing.T) {
	long := strings.Repeat("ä ", 600)
	f := measure.Fingerprint{
		Digest: long, CPUModel: long, Kernel: long, Turbo: "Sometimes", Mitigations: map[string]string{}, Hugepages: map[string]int{},
	}
	for i := range 100 {
		f.KernelParameters = append(f.KernelParameters, long)
		f.ScalingGovernors = append(f.ScalingGovernors, long)
		f.Mitigations[fmt.Sprint(i, long)] = long
		f.Hugepages[fmt.Sprint(i)] = i
		f.Ports = append(f.Ports, measure.PortDriver{Interface: long})
	}
	got := fingerprintOf(&f)
	if len(got.Digest) > 80 || len(got.CPUModel) > 200 || len(got.Kernel) > 200 || got.Turbo != "" ||
		len(got.KernelParameters) > 32 || len(got.KernelParameters[0]) > 200 || len(got.ScalingGovernors) > 8 ||
		len(got.Mitigations) > 32 || len(got.Mitigations[0]) > 402 || len(got.Hugepages) > 8 || len(got.Ports) > 4 || len(got.Ports[0]) > 512 {
		t.Errorf("%+v", got)
	}
	if fingerprintOf(nil) != nil {
		t.Error("a fingerprint of nothing")
	}
}
