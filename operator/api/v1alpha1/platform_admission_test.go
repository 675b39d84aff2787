package v1alpha1_test

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestMachinesAreRefusedWithFieldAndRemedy(t *testing.T) {
	machine := func(fields string) string {
		return "[{name: r, function: Router, runtime: VirtualMachine" + fields + "}]"
	}
	pod := func(fields string) string { return "[{name: r, function: Router" + fields + "}]" }
	tests := map[string]struct {
		chain string
		want  []string
	}{
		"queues of a virtual function": {machine(", west: {attachment: SRIOV, queues: 1}"), []string{"spec.experiment.chain[0].west.queues", "only for attachment Virtio of runtime VirtualMachine"}},
		"Veth in a machine":            {machine(", west: {attachment: Veth}"), []string{"spec.experiment.chain[", "west.attachment", "Veth is an attachment of runtime Pod"}},
		"E1000 in a pod":               {pod(", east: {attachment: E1000}"), []string{"spec.experiment.chain[", "east.attachment", "are attachments of runtime VirtualMachine"}},
		"platform of a pod":            {pod(", platform: {}"), []string{"spec.experiment.chain[0].platform", "for a pod set cpu and memory"}},
		"cpu of a machine":             {machine(", cpu: 1"), []string{"spec.experiment.chain[0].cpu", "set platform.vcpus"}},
		"memory of a machine":          {machine(", memory: 1Gi"), []string{"spec.experiment.chain[0].memory", "set platform.memory"}},
		"queues of a pod":              {pod(", west: {queues: 1}"), []string{"spec.experiment.chain[0].west.queues", "only for attachment Virtio of runtime VirtualMachine"}},
		"queues of an emulated NIC":    {machine(", west: {attachment: E1000, queues: 1}"), []string{"spec.experiment.chain[0].west.queues", "only for attachment Virtio of runtime VirtualMachine"}},
		"queues without vCPUs":         {machine(", west: {queues: 2}, east: {queues: 2}"), []string{"spec.experiment.chain[", "queues must be 1 or platform.vcpus"}},
		"fewer queues than vCPUs":      {machine(", platform: {vcpus: 4}, west: {queues: 2}, east: {queues: 2}"), []string{"spec.experiment.chain[", "queues must be 1 or platform.vcpus"}},
		"queues of one port":           {machine(", platform: {vcpus: 4}, west: {queues: 1}"), []string{"spec.experiment.chain[", "west.queues and east.queues must be equal"}},
		"NUMA with shared CPUs":        {machine(", platform: {numa: GuestMappingPassthrough, hugepages: 2Mi}"), []string{"spec.experiment.chain[0].platform.numa", "set cpuPlacement Dedicated"}},
		"NUMA without hugepages":       {machine(", platform: {numa: GuestMappingPassthrough, cpuPlacement: Dedicated}"), []string{"spec.experiment.chain[0].platform.numa", "set hugepages"}},
		"real time without NUMA":       {machine(", platform: {realtime: Enabled, cpuPlacement: Dedicated, hugepages: 2Mi}"), []string{"spec.experiment.chain[0].platform.realtime", "set numa GuestMappingPassthrough"}},
		"too little memory":            {machine(", platform: {memory: 64Mi}"), []string{"spec.experiment.chain[0].platform.memory", "128Mi to 16Ti"}},
		"half a page":                  {machine(", platform: {memory: 1536Mi, hugepages: 1Gi}"), []string{"spec.experiment.chain[r].platform.memory", "multiple of hugepages: round it up"}},
		"an odd number of bytes":       {machine(", platform: {memory: 268435457, hugepages: 2Mi}"), []string{"spec.experiment.chain[r].platform.memory", "multiple of hugepages: round it up"}},
		"no vCPU":                      {machine(", platform: {vcpus: 0}"), []string{"spec.experiment.chain[0].platform.vcpus", "greater than or equal to 1"}},
		"unknown boot":                 {machine(", platform: {boot: Network}"), []string{"spec.experiment.chain[0].platform.boot", "Unsupported value"}},
		"unknown answer to a change":   {machine(", platform: {onDifference: Ignore}"), []string{"spec.experiment.chain[0].platform.onDifference", "Unsupported value"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := create(object(t, goodRun, map[string]string{"spec.experiment.chain": test.chain}))
			if err == nil {
				t.Fatal("it was admitted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want it to say %q", err, want)
				}
			}
		})
	}
}

func TestMachinesAreAdmitted(t *testing.T) {
	for name, fields := range map[string]string{
		"plain":             "",
		"emulated NICs":     ", west: {attachment: E1000}, east: {attachment: RTL8139}",
		"mixed NICs":        ", platform: {vcpus: 2}, west: {queues: 2}, east: {attachment: E1000e}",
		"one queue":         ", platform: {vcpus: 4}, west: {queues: 1}, east: {queues: 1}",
		"queues by vCPUs":   ", platform: {vcpus: 4}, west: {queues: 4}",
		"tuned":             ", platform: {vcpus: 4, memory: 2Gi, cpuPlacement: DedicatedWithIsolatedEmulator, numa: GuestMappingPassthrough, hugepages: 1Gi, realtime: Enabled, onDifference: Fail}",
		"bytes":             ", platform: {memory: 268435456}",
		"one and a half":    ", platform: {memory: 1.5Gi, hugepages: 2Mi}",
		"two point zero":    ", platform: {memory: '2.0Gi', hugepages: 1Gi}",
		"virtual functions": ", west: {attachment: SRIOV}, east: {attachment: SRIOV}",
		"whole NICs":        ", west: {attachment: HostDevice}, east: {attachment: HostDevice}",
		"one of each":       ", platform: {vcpus: 2}, west: {attachment: SRIOV}, east: {queues: 1}",
		"from a disk":       ", platform: {boot: Disk}",
	} {
		t.Run(name, func(t *testing.T) {
			chain := "[{name: r, function: Router, runtime: VirtualMachine" + fields + "}]"
			if err := create(object(t, goodRun, map[string]string{"spec.experiment.chain": chain})); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDefaultsFollowTheRuntime: the schema sets nothing that the other runtime would refuse.
func TestDefaultsFollowTheRuntime(t *testing.T) {
	o := object(t, goodRun, map[string]string{"spec.experiment.chain": "[{name: p, function: Router}, {name: v, function: Router, runtime: VirtualMachine}, {name: w, function: Router, runtime: VirtualMachine, platform: {vcpus: 2}}]"})
	if err := create(o); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.BenchmarkRun{}
	if err := convert(o, run); err != nil {
		t.Fatal(err)
	}
	pod, machine, wide := &run.Spec.Experiment.Chain[0], &run.Spec.Experiment.Chain[1], &run.Spec.Experiment.Chain[2]
	if pod.EffectiveAttachment(pod.West) != v1alpha1.AttachmentVeth || machine.EffectiveAttachment(machine.West) != v1alpha1.AttachmentVirtio {
		t.Errorf("attachments are %s and %s, want Veth and Virtio", pod.EffectiveAttachment(pod.West), machine.EffectiveAttachment(machine.West))
	}
	// What Go fills in for an absent platform is what the schema fills into one that is there.
	absent, present := machine.EffectivePlatform(), *wide.Platform
	present.VCPUs = 1
	if absent.Memory != present.Memory {
		t.Errorf("memory is %s without a platform, %s with one", absent.Memory, present.Memory)
	}
	absent.Memory, present.Memory = "", ""
	if absent != present {
		t.Errorf("an absent platform is %+v, an empty one %+v", absent, present)
	}
}
