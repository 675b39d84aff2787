package benchmarkrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
)

// Bounds of a fingerprint's and a device's parts, as the API sets them.
const (
	textLimit       = 200
	nameLimit       = 100
	maximumLines    = 32
	maximumProblems = 8
	maximumNICs     = 16
	maximumPorts    = 4
)

// device returns what the chain ran on, once its node has been looked at.
func (w *writer) device() *v1alpha1.DeviceReport {
	if w.records == nil || w.records.device == nil || w.plan == nil {
		return nil
	}
	state := w.records.device
	report := &v1alpha1.DeviceReport{Problems: boundedLines(state.Problems, maximumProblems, messageLimit)}
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
		Digest:   bounded(f.Digest, 80),
		CPUModel: bounded(f.CPUModel, textLimit), Microcode: bounded(f.Microcode, textLimit),
		CPUs: int32(f.CPUs), Cores: int32(f.Cores), Sockets: int32(f.Sockets), SMT: bounded(f.SMT, textLimit), NUMANodes: int32(f.NUMANodes),
		Kernel: bounded(f.Kernel, textLimit), KernelParameters: boundedLines(f.KernelParameters, maximumLines, textLimit),
		ScalingDriver: bounded(f.ScalingDriver, textLimit), ScalingGovernors: boundedLines(f.ScalingGovernors, maximumFallbacks, textLimit),
		IsolatedCPUs: bounded(f.IsolatedCPUs, textLimit), TicklessCPUs: bounded(f.TicklessCPUs, textLimit),
		TransparentHugepages: bounded(f.TransparentHugepages, textLimit), ClockSource: bounded(f.ClockSource, textLimit),
		Product: bounded(f.Product, textLimit),
	}
	if f.Turbo == "Enabled" || f.Turbo == "Disabled" {
		out.Turbo = f.Turbo
	}
	if f.Hypervisor {
		out.Hypervisor = "Present"
	}
	for _, name := range first(slices.Sorted(maps.Keys(f.Mitigations)), maximumLines) {
		out.Mitigations = append(out.Mitigations, bounded(name, textLimit)+": "+bounded(f.Mitigations[name], textLimit))
	}
	for _, size := range first(slices.Sorted(maps.Keys(f.Hugepages)), maximumFallbacks) {
		out.Hugepages = append(out.Hugepages, bounded(fmt.Sprintf("%s: %d", size, f.Hugepages[size]), 64))
	}
	for _, port := range first(f.Ports, maximumPorts) {
		text := port.Interface + ": " + port.Driver
		if port.Firmware != "" {
			text += ", firmware " + port.Firmware
		}
		if port.Bus != "" {
			text += ", at " + port.Bus
		}
		out.Ports = append(out.Ports, bounded(text, messageLimit))
	}
	return out
}

func domainOf(function string, d measure.Domain) v1alpha1.DomainReport {
	out := v1alpha1.DomainReport{
		Function: function, Accelerator: bounded(d.Accelerator, nameLimit), MachineType: bounded(d.Machine, nameLimit),
		CPUModel: bounded(d.CPUModel, nameLimit), VCPUs: int32(d.VCPUs), MemoryBacking: d.MemoryBacking,
		HugepageKibibytes: d.HugepageKibibytes, Problems: boundedLines(d.Problems, maximumProblems, messageLimit),
	}
	for _, nic := range first(d.NICs, maximumNICs) {
		out.NICs = append(out.NICs, bounded(nicLine(nic), messageLimit))
	}
	for _, t := range first(d.Threads, maximumProblems) {
		line := fmt.Sprintf("%d %s", t.Count, t.Class)
		if len(t.CPUs) > 0 {
			line += " on CPUs " + strings.Join(t.CPUs, ", ")
		}
		if len(t.Scheduling) > 0 {
			line += ", scheduled " + strings.Join(t.Scheduling, ", ")
		}
		out.Threads = append(out.Threads, bounded(line, messageLimit))
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

func boundedLines(lines []string, most, limit int) []string {
	var out []string
	for _, line := range first(lines, most) {
		out = append(out, bounded(line, limit))
	}
	return out
}
