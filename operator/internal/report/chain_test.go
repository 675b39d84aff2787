package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestChainSection(t *testing.T) {
	doc := Document{Chain: []v1alpha1.FunctionReport{
		{Name: "p", Runtime: v1alpha1.RuntimePod, Node: "a", ImageID: "sha256:1"},
		{Name: "v", Runtime: v1alpha1.RuntimeVirtualMachine, Node: "b", ImageID: "sha256:2", VirtualMachine: &v1alpha1.VirtualMachineReport{
			MachineType: "pc-q35-9.2", VCPUs: 2, MemoryBytes: 512 << 20,
			Ports: []v1alpha1.VirtualPortReport{{Name: "west", Model: "virtio", Queues: 2}, {Name: "east", Model: "e1000", Queues: 1}},
		}},
		{Name: "w", Runtime: v1alpha1.RuntimeVirtualMachine, VirtualMachine: &v1alpha1.VirtualMachineReport{
			VCPUs: 1, MemoryBytes: 256 << 20, Ports: []v1alpha1.VirtualPortReport{{Name: "west", Model: "rtl8139"}},
		}},
	}}
	want := [][]string{
		{"p", "Pod", "a", "", "", "", "sha256:1"},
		{"v", "VirtualMachine", "b", "pc-q35-9.2, 2 vCPU, 512 MiB", "virtio, 2 queues", "e1000, 1 queue", "sha256:2"},
		{"w", "VirtualMachine", "", "unknown type, 1 vCPU, 256 MiB", "rtl8139", "", ""},
	}
	if diff := cmp.Diff(want, chainSection(doc).rows); diff != "" {
		t.Error(diff)
	}
}

func TestChainSectionStates(t *testing.T) {
	gateway := func(implementation string, threads int32) *v1alpha1.EncryptionGatewayReport {
		return &v1alpha1.EncryptionGatewayReport{Protocol: "WireGuard", Implementation: implementation, Threads: threads}
	}
	doc := Document{Chain: []v1alpha1.FunctionReport{
		{Name: "r"},
		{Name: "k", FunctionState: v1alpha1.FunctionState{EncryptionGateway: gateway("Kernel", 0)}},
		{Name: "u", FunctionState: v1alpha1.FunctionState{EncryptionGateway: gateway("Userspace", 4)}},
		{Name: "v", FunctionState: v1alpha1.FunctionState{EncryptionGateway: gateway("Userspace", 1)}},
		{Name: "w", FunctionState: v1alpha1.FunctionState{Firewall: &v1alpha1.FirewallReport{Implementation: "nf_tables", Rules: 1001, LoadMilliseconds: 40}}},
		{Name: "o", FunctionState: v1alpha1.FunctionState{Firewall: &v1alpha1.FirewallReport{Implementation: "x_tables", Rules: 1, LoadMilliseconds: 4}}},
		{Name: "s", FunctionState: v1alpha1.FunctionState{Firewall: &v1alpha1.FirewallReport{Implementation: "nf_tables", Rules: 2, Elements: 1000, LoadMilliseconds: 12}}},
		{Name: "e", FunctionState: v1alpha1.FunctionState{Firewall: &v1alpha1.FirewallReport{Implementation: "x_tables", Rules: 1, Elements: 1, LoadMilliseconds: 1}}},
		{Name: "n", FunctionState: v1alpha1.FunctionState{Firewall: &v1alpha1.FirewallReport{Implementation: "none"}}},
	}}
	var got []string
	s := chainSection(doc)
	for _, row := range s.rows {
		if len(row) != len(s.columns) {
			t.Fatalf("%d cells under %d heads", len(row), len(s.columns))
		}
		got = append(got, row[3])
	}
	want := []string{"", "WireGuard in the kernel", "WireGuard in user space, 4 threads", "WireGuard in user space, 1 thread",
		"nf_tables, 1001 rules loaded in 40 ms", "x_tables, 1 rule loaded in 4 ms",
		"nf_tables, 2 rules and 1000 elements loaded in 12 ms", "x_tables, 1 rule and 1 element loaded in 1 ms", "no rules"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
