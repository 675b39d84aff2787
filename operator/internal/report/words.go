package report

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// Facts in words: the status holds them as fields, and only a report makes
// sentences of them.

// programInWords returns a program's name with its version, or "" for none.
func programInWords(program *v1alpha1.Program) string {
	if program == nil {
		return ""
	}
	return strings.TrimSpace(string(program.Name) + " " + program.Version)
}

// interfaceInWords returns a line such as "west: ice, firmware 4.40, at 0000:3b:00.0,
// 100000 Mbit/s, 8 queues, packets steered to CPUs f0, NUMA node 0".
func interfaceInWords(port v1alpha1.NetworkInterface) string {
	line := port.Name + ": " + orNone(port.Driver)
	if port.FirmwareVersion != "" {
		line += ", firmware " + port.FirmwareVersion
	}
	if port.BusAddress != "" {
		line += ", at " + port.BusAddress
	}
	if port.SpeedMegabitsPerSecond > 0 {
		line += fmt.Sprintf(", %d Mbit/s", port.SpeedMegabitsPerSecond)
	}
	if port.Queues > 0 {
		line += ", " + queues(port.Queues)
	}
	if port.RPSCPUMask != "" {
		line += ", packets steered to CPUs " + port.RPSCPUMask
	}
	return line + pciInWords(port.PCI)
}

// pciInWords returns what follows a port, such as ", virtual function of 0000:3b:00.0, NUMA node 0, IOMMU group 81,
// PCIe at 8 GT/s, 16 lanes".
func pciInWords(d *v1alpha1.PCIDevice) string {
	if d == nil {
		return ""
	}
	var line string
	switch d.Function {
	case v1alpha1.PCIFunctionVirtual:
		line += ", virtual function of " + orNone(d.PhysicalFunction)
	case v1alpha1.PCIFunctionPhysical:
		line += ", physical function"
	}
	if d.NUMANode != nil {
		line += fmt.Sprintf(", NUMA node %d", *d.NUMANode)
	}
	if d.IOMMUGroup != nil {
		line += fmt.Sprintf(", IOMMU group %d", *d.IOMMUGroup)
	}
	if d.LinkMegatransfersPerSecond > 0 {
		line += fmt.Sprintf(", PCIe at %g GT/s", float64(d.LinkMegatransfersPerSecond)/1000)
	}
	if d.LinkLanes > 0 {
		line += fmt.Sprintf(", %d lanes", d.LinkLanes)
	}
	return line
}

// nicInWords returns a line such as "virtio-net-pci 02:00:00:00:00:01, tap with
// vhost, 2 queues".
func nicInWords(nic v1alpha1.DomainInterface) string {
	line := strings.TrimSpace(nic.Model + " " + nic.MACAddress)
	if nic.HostAddress != "" {
		return line + ", passed through from " + nic.HostAddress
	}
	with := "without vhost"
	if nic.Vhost == "Enabled" {
		with = "with vhost"
	}
	return fmt.Sprintf("%s, %s %s, %s", line, nic.Backend, with, queues(nic.Queues))
}

func queues(n int32) string {
	if n == 1 {
		return "1 queue"
	}
	return fmt.Sprintf("%d queues", n)
}

// threadsInWords returns a line such as "2 VCPU on CPUs 2, 3, scheduled FIFO 1".
func threadsInWords(threads v1alpha1.ThreadGroup) string {
	line := fmt.Sprintf("%d %s", threads.Count, threads.Class)
	if len(threads.CPUs) > 0 {
		line += " on CPUs " + strings.Join(threads.CPUs, ", ")
	}
	var ways []string
	for _, s := range threads.Scheduling {
		way := s.Policy
		if s.Priority > 0 {
			way += fmt.Sprintf(" %d", s.Priority)
		}
		ways = append(ways, way)
	}
	if len(ways) > 0 {
		line += ", scheduled " + strings.Join(ways, ", ")
	}
	return line
}
