package benchmarkrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// device is what the chain ran on, once its node has been looked at.
func (w *writer) device() *v1alpha1.DeviceReport {
	if w.records == nil || w.records.device == nil || w.plan == nil {
		return nil
	}
	state := w.records.device
	report := &v1alpha1.DeviceReport{Problems: excerpt.Lines(state.Problems, maxProblems, maxMessageBytes)}
	if state.Machine != nil {
		report.Fingerprint = fingerprintOf(state.Machine.Fingerprint)
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
		out.Mitigations = append(out.Mitigations, excerpt.Line(name, maxTextBytes)+": "+excerpt.Line(f.Mitigations[name], maxTextBytes))
	}
	for _, size := range first(slices.Sorted(maps.Keys(f.Hugepages)), maxFallbacks) {
		out.Hugepages = append(out.Hugepages, excerpt.Line(fmt.Sprintf("%s: %d", size, f.Hugepages[size]), 64))
	}
	for _, port := range first(f.Ports, maxPorts) {
		text := port.Interface + ": " + port.Driver
		if port.Firmware != "" {
			text += ", firmware " + port.Firmware
		}
		if port.Bus != "" {
			text += ", at " + port.Bus
		}
		out.Ports = append(out.Ports, excerpt.Line(text, maxMessageBytes))
	}
	return out
}

func domainOf(function string, d measure.Domain) v1alpha1.DomainReport {
	out := v1alpha1.DomainReport{
		Function: function, Accelerator: excerpt.Line(d.Accelerator, maxNameBytes), MachineType: excerpt.Line(d.Machine, maxNameBytes),
		CPUModel: excerpt.Line(d.CPUModel, maxNameBytes), VCPUs: int32(d.VCPUs), MemoryBacking: d.MemoryBacking,
		HugepageKibibytes: d.HugepageKibibytes, Problems: excerpt.Lines(d.Problems, maxProblems, maxMessageBytes),
	}
	for _, nic := range first(d.NICs, maxNICs) {
		out.NICs = append(out.NICs, excerpt.Line(nicLine(nic), maxMessageBytes))
	}
	for _, t := range first(d.Threads, maxProblems) {
		line := fmt.Sprintf("%d %s", t.Count, t.Class)
		if len(t.CPUs) > 0 {
			line += " on CPUs " + strings.Join(t.CPUs, ", ")
		}
		if len(t.Scheduling) > 0 {
			line += ", scheduled " + strings.Join(t.Scheduling, ", ")
		}
		out.Threads = append(out.Threads, excerpt.Line(line, maxMessageBytes))
	}
	return out
}

func nicLine(nic measure.DomainNIC) string {
	line := strings.TrimSpace(nic.Model + " " + nic.MAC)
	if nic.HostAddress != "" {
		return line + ", passed through from " + nic.HostAddress
	}
	with := "without vhost"
	if nic.Vhost {
		with = "with vhost"
	}
	queues := "1 queue"
	if nic.Queues != 1 {
		queues = fmt.Sprintf("%d queues", nic.Queues)
	}
	return fmt.Sprintf("%s, %s %s, %s", line, nic.Backend, with, queues)
}
