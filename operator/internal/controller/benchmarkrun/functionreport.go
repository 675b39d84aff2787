package benchmarkrun

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/plan"
)

// reports returns what the chain's functions turned out to be. A function that is gone
// keeps its earlier report.
func (s *scope) reports() []v1alpha1.FunctionReport {
	var reports []v1alpha1.FunctionReport
	for i := range s.plan.Functions {
		f := &s.plan.Functions[i]
		var report *v1alpha1.FunctionReport
		if f.IsVM() {
			if vm := s.vm(f.Name); vm != nil {
				report = reportVM(f, vm, s.launcher(vm))
			}
		} else if pod := s.function(f.Name); pod != nil {
			report = &v1alpha1.FunctionReport{Name: f.Name, Runtime: f.Runtime, Node: pod.Spec.NodeName, ImageID: imageOf(pod, containers(pod))}
		}
		if report == nil {
			report = reportOf(s.run.Status.Chain, f.Name)
		}
		if report != nil {
			report = report.DeepCopy()
			report.Attachments = []v1alpha1.Attachment{f.WestAttachment, f.EastAttachment}
			s.addState(report)
			reports = append(reports, *report)
		}
	}
	return reports
}

// addState adds what the function itself reported to the measurer.
func (s *scope) addState(report *v1alpha1.FunctionReport) {
	if s.records == nil || s.records.device == nil {
		return
	}
	for _, state := range s.records.device.Functions {
		if state.Name == report.Name {
			report.FunctionState = plan.FunctionStateOf(state.State)
		}
	}
}

func reportOf(reports []v1alpha1.FunctionReport, name string) *v1alpha1.FunctionReport {
	if i := slices.IndexFunc(reports, func(r v1alpha1.FunctionReport) bool { return r.Name == name }); i >= 0 {
		return &reports[i]
	}
	return nil
}

// imageOf returns the digest of the first container's image, or "".
func imageOf(pod *corev1.Pod, statuses []corev1.ContainerStatus) string {
	if pod == nil || len(statuses) == 0 {
		return ""
	}
	return excerpt.Line(statuses[0].ImageID, maxImageIDBytes)
}

// reportVM returns what KubeVirt reports about a VM.
func reportVM(f *plan.Function, vm *kubevirtv1.VirtualMachineInstance, launcher *corev1.Pod) *v1alpha1.FunctionReport {
	actual := &v1alpha1.VirtualMachineReport{LauncherImage: excerpt.Line(vm.Status.LauncherContainerImageVersion, maxImageIDBytes)}
	if vm.Status.Machine != nil {
		actual.MachineType = excerpt.Line(vm.Status.Machine.Type, maxModelBytes)
	}
	if cpu := vm.Spec.Domain.CPU; cpu != nil {
		actual.CPUModel = excerpt.Line(cpu.Model, maxModelBytes)
	}
	if topology := vm.Status.CurrentCPUTopology; topology != nil {
		actual.VCPUs = int32(max(topology.Sockets, 1) * max(topology.Cores, 1) * max(topology.Threads, 1))
	}
	if memory := vm.Status.Memory; memory != nil && memory.GuestCurrent != nil {
		actual.MemoryBytes = memory.GuestCurrent.Value()
	}
	for _, port := range []string{plan.InterfaceWest, plan.InterfaceEast} {
		// KubeVirt reports no model in a VM's status: this is the model that it admitted.
		nic := v1alpha1.VirtualPortReport{Name: port, Model: excerpt.Line(chain.ModelOf(vm, port), maxKeywordBytes)}
		if status := nicStatus(vm, port); status != nil {
			nic.MAC, nic.Queues = strings.ToLower(excerpt.Line(status.MAC, maxMACBytes)), status.QueueCount
		}
		actual.Ports = append(actual.Ports, nic)
	}
	return &v1alpha1.FunctionReport{
		Name: f.Name, Runtime: f.Runtime, Node: vm.Status.NodeName, ImageID: guestImageOf(launcher, f.Image), VirtualMachine: actual,
	}
}

// guestImageOf returns the digest of the image that the VM booted from, as the
// launcher's pod has it.
func guestImageOf(launcher *corev1.Pod, image string) string {
	if launcher == nil {
		return ""
	}
	for _, c := range launcher.Spec.Containers {
		if c.Image != image {
			continue
		}
		for _, status := range launcher.Status.ContainerStatuses {
			if status.Name == c.Name {
				return excerpt.Line(status.ImageID, maxImageIDBytes)
			}
		}
	}
	return ""
}

func nicStatus(vm *kubevirtv1.VirtualMachineInstance, port string) *kubevirtv1.VirtualMachineInstanceNetworkInterface {
	for i := range vm.Status.Interfaces {
		if vm.Status.Interfaces[i].Name == port {
			return &vm.Status.Interfaces[i]
		}
	}
	return nil
}

// differences returns, in words, where a report differs from the plan. What is not reported
// is not a difference.
func differences(p *plan.Plan, f *plan.Function, report *v1alpha1.FunctionReport) []string {
	if !f.IsVM() || report == nil || report.VirtualMachine == nil {
		return nil
	}
	var found []string
	differ := func(what string, asked, reported any) {
		found = append(found, fmt.Sprintf("%s %v instead of %v", what, reported, asked))
	}
	actual := report.VirtualMachine
	if report.Node != "" && report.Node != p.DeviceNode {
		differ("node", p.DeviceNode, report.Node)
	}
	if actual.VCPUs != 0 && actual.VCPUs != f.VM.VCPUs {
		differ("vCPUs", f.VM.VCPUs, actual.VCPUs)
	}
	if actual.MemoryBytes != 0 && actual.MemoryBytes != f.VM.MemoryBytes {
		differ("memory in bytes", f.VM.MemoryBytes, actual.MemoryBytes)
	}
	for i, port := range actual.Ports {
		if i >= len(f.Config.Ports) {
			break
		}
		attachment := []v1alpha1.Attachment{f.WestAttachment, f.EastAttachment}[i]
		if asked := chain.NICModel(attachment); port.Model != asked {
			differ("model of port "+port.Name, asked, port.Model)
		}
		if asked := f.Config.Ports[i].MAC; port.MAC != "" && port.MAC != asked {
			differ("MAC address of port "+port.Name, asked, port.MAC)
		}
		if attachment == v1alpha1.AttachmentVirtio && port.Queues != 0 && port.Queues != f.VM.Queues {
			differ("queues of port "+port.Name, f.VM.Queues, port.Queues)
		}
	}
	return found
}

// vmWarnings returns the differences of each VM as a warning about the figures.
func vmWarnings(p *plan.Plan, reports []v1alpha1.FunctionReport) []v1alpha1.Warning {
	var warnings []v1alpha1.Warning
	for i := range p.Functions {
		f := &p.Functions[i]
		if found := differences(p, f, reportOf(reports, f.Name)); len(found) > 0 {
			warnings = append(warnings, v1alpha1.Warning{Code: v1alpha1.WarningVirtualMachineMismatch, Message: differsSentence(f.Name, found)})
		}
	}
	return warnings
}

// functionWarnings returns the warnings that follow from what functions reported, each with
// the names of all functions that it is about.
func functionWarnings(p *plan.Plan, reports []v1alpha1.FunctionReport) []v1alpha1.Warning {
	var doubts []plan.Doubt
	names := map[plan.Doubt][]string{}
	for i := range p.Functions {
		report := reportOf(reports, p.Functions[i].Name)
		if report == nil {
			continue
		}
		if doubt, found := plan.DoubtAbout(&p.Functions[i], report.FunctionState); found {
			if names[doubt] == nil {
				doubts = append(doubts, doubt)
			}
			names[doubt] = append(names[doubt], fmt.Sprintf("%q", report.Name))
		}
	}
	var warnings []v1alpha1.Warning
	for _, doubt := range doubts {
		warnings = append(warnings, v1alpha1.Warning{Code: doubt.Code, Message: sentence(doubt.Sentence, strings.Join(names[doubt], ", "))})
	}
	return warnings
}

func differsSentence(name string, found []string) string {
	return sentence("KubeVirt runs function %q with %s", name, strings.Join(found, ", "))
}

// disallowedDifference returns the first VM with a difference that is not allowed, or
// nil.
func (s *scope) disallowedDifference() *cause {
	reports := s.reports()
	for i := range s.plan.Functions {
		f := &s.plan.Functions[i]
		if !f.IsVM() || f.VM.OnDifference != v1alpha1.OnDifferenceFail {
			continue
		}
		if differing := differences(s.plan, f, reportOf(reports, f.Name)); len(differing) > 0 {
			return newCause(v1alpha1.ReasonVirtualMachineMismatch, "%s; correct KubeVirt's settings, or set platform.onDifference Warn", differsSentence(f.Name, differing))
		}
	}
	return nil
}
