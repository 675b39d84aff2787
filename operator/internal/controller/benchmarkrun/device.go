package benchmarkrun

import (
	"maps"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// device returns what the chain ran on, once its node has been read.
func (w *writer) device() *v1alpha1.DeviceReport {
	if w.records == nil || w.records.device == nil {
		return nil
	}
	state := w.records.device
	report := &v1alpha1.DeviceReport{Problems: excerpt.Lines(state.Problems, maxProblems, maxMessageBytes)}
	if state.Node != nil {
		report.Fingerprint = fingerprintOf(state.Node.Fingerprint)
	}
	// Any other text is not the observer's.
	switch state.CycleCounter {
	case v1alpha1.CycleCounterCounted, v1alpha1.CycleCounterNoCounter, v1alpha1.CycleCounterNotPermitted, v1alpha1.CycleCounterFailed:
		report.CycleCounter = state.CycleCounter
	}
	for _, function := range w.plan.Functions {
		guest := chain.GuestName(w.plan, function)
		for _, domain := range state.Domains {
			if guest != "" && domain.Name == guest {
				report.Domains = append(report.Domains, domainOf(function.Name, domain))
			}
		}
	}
	return report
}

func fingerprintOf(f *measure.Fingerprint) *v1alpha1.Fingerprint {
	if f == nil {
		return nil
	}
	out := &v1alpha1.Fingerprint{
		Digest:   excerpt.Line(f.Digest, maxDigestBytes),
		CPUModel: excerpt.Line(f.CPUModel, maxTextBytes), Microcode: excerpt.Line(f.Microcode, maxTextBytes),
		CPUs: int32(f.CPUs), Cores: int32(f.Cores), Sockets: int32(f.Sockets), SMT: excerpt.Line(f.SMT, maxTextBytes), NUMANodes: int32(f.NUMANodes),
		Kernel: excerpt.Line(f.Kernel, maxTextBytes), KernelParameters: excerpt.Lines(f.KernelParameters, maxLines, maxTextBytes),
		ScalingDriver: excerpt.Line(f.ScalingDriver, maxTextBytes), ScalingGovernors: excerpt.Lines(f.ScalingGovernors, maxFallbacks, maxTextBytes),
		IsolatedCPUs: excerpt.Line(f.IsolatedCPUs, maxTextBytes), TicklessCPUs: excerpt.Line(f.TicklessCPUs, maxTextBytes),
		TransparentHugepages: excerpt.Line(f.TransparentHugepages, maxTextBytes), ClockSource: excerpt.Line(f.ClockSource, maxTextBytes),
		Product: excerpt.Line(f.Product, maxTextBytes),
	}
	if f.Turbo == "Enabled" || f.Turbo == "Disabled" {
		out.Turbo = f.Turbo
	}
	if f.Hypervisor {
		out.Hypervisor = "Present"
	}
	for _, name := range first(slices.Sorted(maps.Keys(f.Mitigations)), maxLines) {
		out.Vulnerabilities = append(out.Vulnerabilities, v1alpha1.Vulnerability{
			Name: excerpt.Line(name, maxTextBytes), State: excerpt.Line(f.Mitigations[name], maxTextBytes),
		})
	}
	for _, size := range first(slices.Sorted(maps.Keys(f.Hugepages)), maxFallbacks) {
		out.HugepagePools = append(out.HugepagePools, v1alpha1.HugepagePool{SizeKibibytes: int64(size), Pages: int64(f.Hugepages[size])})
	}
	return out
}

// interfacesOf returns what drives the generator's ports.
func interfacesOf(ports []measure.PortDriver) []v1alpha1.NetworkInterface {
	var out []v1alpha1.NetworkInterface
	for _, port := range first(ports, maxPorts) {
		out = append(out, v1alpha1.NetworkInterface{
			Name: excerpt.Line(port.Interface, maxKeywordBytes), Driver: excerpt.Line(port.Driver, maxKeywordBytes),
			FirmwareVersion: excerpt.Line(port.Firmware, maxKeywordBytes), BusAddress: excerpt.Line(port.Bus, maxKeywordBytes),
			SpeedMegabitsPerSecond: port.SpeedMegabitsPerSecond, Queues: int32(port.Queues),
			RPSCPUMask: excerpt.Line(port.RPSCPUMask, maxTextBytes), PCI: pciOf(port.PCI),
		})
	}
	return out
}

func pciOf(d *measure.PCIDevice) *v1alpha1.PCIDevice {
	if d == nil {
		return nil
	}
	out := &v1alpha1.PCIDevice{
		PhysicalFunction: excerpt.Line(d.PhysicalFunction, maxKeywordBytes), NUMANode: d.NUMANode, IOMMUGroup: d.IOMMUGroup,
		LinkMegatransfersPerSecond: d.LinkMegatransfersPerSecond, LinkLanes: d.LinkLanes,
	}
	if d.Function == v1alpha1.PCIFunctionPhysical || d.Function == v1alpha1.PCIFunctionVirtual {
		out.Function = d.Function
	}
	return out
}

func domainOf(function string, d measure.Domain) v1alpha1.DomainReport {
	out := v1alpha1.DomainReport{
		Function: function, Accelerator: excerpt.Line(d.Accelerator, maxNameBytes), MachineType: excerpt.Line(d.MachineType, maxNameBytes),
		CPUModel: excerpt.Line(d.CPUModel, maxNameBytes), VCPUs: int32(d.VCPUs), MemoryBacking: d.MemoryBacking,
		HugepageKibibytes: d.HugepageKibibytes, Problems: excerpt.Lines(d.Problems, maxProblems, maxMessageBytes),
	}
	for _, nic := range first(d.NICs, maxNICs) {
		out.Interfaces = append(out.Interfaces, domainInterfaceOf(nic))
	}
	for _, t := range first(d.Threads, maxProblems) {
		threads := v1alpha1.ThreadGroup{Class: t.Class, Count: int32(t.Count), CPUs: excerpt.Lines(t.CPUs, maxLines, maxTextBytes)}
		for _, s := range first(t.Scheduling, maxProblems) {
			threads.Scheduling = append(threads.Scheduling, v1alpha1.ThreadScheduling{Policy: excerpt.Line(s.Policy, maxKeywordBytes), Priority: int32(s.Priority)})
		}
		out.ThreadGroups = append(out.ThreadGroups, threads)
	}
	return out
}

// domainInterfaceOf leaves out of a device that is passed through what only QEMU's own
// devices have.
func domainInterfaceOf(nic measure.DomainNIC) v1alpha1.DomainInterface {
	out := v1alpha1.DomainInterface{
		Model: excerpt.Line(nic.Model, maxNameBytes), MACAddress: excerpt.Line(nic.MAC, maxMACBytes), HostAddress: excerpt.Line(nic.HostAddress, maxNameBytes),
	}
	if nic.HostAddress != "" {
		return out
	}
	out.Backend, out.Queues, out.Vhost = excerpt.Line(nic.Backend, maxNameBytes), int32(nic.Queues), "Disabled"
	if nic.Vhost {
		out.Vhost = "Enabled"
	}
	return out
}
