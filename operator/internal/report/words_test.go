package report

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestFactsInWords(t *testing.T) {
	for want, got := range map[string]string{
		"":           programInWords(nil),
		"iperf3":     programInWords(&v1alpha1.Program{Name: v1alpha1.ProgramIperf3}),
		"TRex v3.08": programInWords(&v1alpha1.Program{Name: v1alpha1.ProgramTRex, Version: "v3.08"}),
		"east: veth": interfaceInWords(v1alpha1.NetworkInterface{Name: "east", Driver: "veth"}),
		"west: ice, firmware 4.40, at 0000:3b:00.0, 100000 Mbit/s, 8 queues, packets steered to CPUs f0": interfaceInWords(v1alpha1.NetworkInterface{
			Name: "west", Driver: "ice", FirmwareVersion: "4.40", BusAddress: "0000:3b:00.0", SpeedMegabitsPerSecond: 100_000, Queues: 8, RPSCPUMask: "f0",
		}),
		"west: iavf, virtual function of 0000:3b:00.0, NUMA node 0, IOMMU group 81, PCIe at 2.5 GT/s, 16 lanes": interfaceInWords(v1alpha1.NetworkInterface{
			Name: "west", Driver: "iavf", PCI: &v1alpha1.PCIDevice{
				Function: v1alpha1.PCIFunctionVirtual, PhysicalFunction: "0000:3b:00.0", NUMANode: new(int32(0)), IOMMUGroup: new(int32(81)), LinkMegatransfersPerSecond: 2500, LinkLanes: 16,
			},
		}),
		"west: ice, physical function": interfaceInWords(v1alpha1.NetworkInterface{Name: "west", Driver: "ice", PCI: &v1alpha1.PCIDevice{Function: v1alpha1.PCIFunctionPhysical}}),
		"virtio-net-pci 02:00:00:00:00:01, tap with vhost, 2 queues": nicInWords(v1alpha1.DomainInterface{
			Model: "virtio-net-pci", MACAddress: "02:00:00:00:00:01", Backend: "tap", Vhost: "Enabled", Queues: 2,
		}),
		"e1000 02:00:00:00:00:02, tap without vhost, 1 queue": nicInWords(v1alpha1.DomainInterface{
			Model: "e1000", MACAddress: "02:00:00:00:00:02", Backend: "tap", Vhost: "Disabled", Queues: 1,
		}),
		"vfio-pci, passed through from 0000:3b:02.1": nicInWords(v1alpha1.DomainInterface{Model: "vfio-pci", HostAddress: "0000:3b:02.1"}),
		"2 VCPU on CPUs 2, 3, scheduled FIFO 1, Other": threadsInWords(v1alpha1.ThreadGroup{
			Class: "VCPU", Count: 2, CPUs: []string{"2", "3"}, Scheduling: []v1alpha1.ThreadScheduling{{Policy: "FIFO", Priority: 1}, {Policy: "Other"}},
		}),
		"1 Other": threadsInWords(v1alpha1.ThreadGroup{Class: "Other", Count: 1}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
