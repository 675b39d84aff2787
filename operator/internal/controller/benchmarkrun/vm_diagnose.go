package benchmarkrun

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/plan"
)

// containerCompute is the launcher's container in which QEMU runs.
const containerCompute = "compute"

// diagnoseVMStart returns why a virtual machine is not ready yet, or nil if it is.
// bound is how long it may take from its creation; launcher is its pod, nil if KubeVirt has
// made none.
func diagnoseVMStart(vm *kubevirtv1.VirtualMachineInstance, launcher *corev1.Pod, bound time.Duration, w *chain.Workload) *problem {
	if t := leavingProblem("virtual machine", vm, bound); t != nil {
		return t
	}
	at := vm.CreationTimestamp.Add(bound)
	phase := vm.Status.Phase
	switch {
	case vmEnded(vm):
		return &problem{reason: w.NotStarted,
			message: sentence("virtual machine %q ended before it was ready: %s", vm.Name, vmEnding(vm, launcher))}
	case isReady(vm) && reported(vm):
		return nil
	case isReady(vm):
		return &problem{w.NotStarted, sentence("virtual machine %q is ready, but KubeVirt has not reported its NICs yet", vm.Name), at}
	case launcher == nil:
		return &problem{w.NotStarted,
			sentence("virtual machine %q has no pod yet: %s", vm.Name, cmp.Or(unsynchronized(vm), "KubeVirt's virt-controller has not said why; look at its pods")), at}
	case phase == kubevirtv1.Running:
		ready := vmCondition(vm, kubevirtv1.VirtualMachineInstanceReady)
		return &problem{w.NotReady,
			sentence("virtual machine %q runs, and the %s in it is not ready: %s", vm.Name, w.Component, cmp.Or(ready.Message, ready.Reason, "it has not reported yet")), at}
	}
	if t := diagnoseLauncher(launcher, at, w); t != nil {
		return t
	}
	return &problem{w.NotStarted,
		sentence("virtual machine %q does not start (phase %s): %s", vm.Name, cmp.Or(string(phase), "unknown"),
			cmp.Or(unsynchronized(vm), "its pod runs, and KubeVirt's virt-handler has not said why; look at its pod on the node")), at}
}

// diagnoseLauncher returns why a launcher's pod does not run, or nil. Its init
// containers end in order, so a container that has ended is not a problem by itself.
func diagnoseLauncher(pod *corev1.Pod, at time.Time, w *chain.Workload) *problem {
	if scheduled := podCondition(pod, corev1.PodScheduled); scheduled.Status == corev1.ConditionFalse {
		message := sentence("pod %q cannot be scheduled: %s", pod.Name, scheduled.Message)
		return &problem{v1alpha1.ReasonUnschedulable, sentence("%s%s", message, schedulingRemedy(scheduled.Message, w)), at}
	}
	if t := diagnoseImage(pod, at); t != nil {
		return t
	}
	if pod.Status.Phase == corev1.PodPending {
		return &problem{v1alpha1.ReasonPodStuck, sentence("pod %q does not start: %s", pod.Name, cmp.Or(waitingContainer(pod), "its containers are not created yet")), at}
	}
	return nil
}

// schedulingRemedies name the purpose of a resource that a node lacks.
var schedulingRemedies = []struct{ lacking, remedy string }{
	{"devices.kubevirt.io/kvm", "the node offers no /dev/kvm: switch on hardware virtualization, or let KubeVirt emulate it (useEmulation) where figures do not matter"},
	{"devices.kubevirt.io/vhost-net", "the node offers no /dev/vhost-net: load the kernel module vhost_net there"},
	{"devices.kubevirt.io/tun", "the node offers no /dev/net/tun: load the kernel module tun there"},
	{"hugepages-", "set aside more hugepages on the node, or leave out platform.hugepages"},
	{"node affinity/selector", "the node lacks a label that KubeVirt asks for, such as kubevirt.io/schedulable=true or, with dedicated CPUs, cpumanager=true"},
}

// schedulingRemedy returns a remedy for the scheduler's sentence, or "".
func schedulingRemedy(message string, w *chain.Workload) string {
	switch {
	case strings.Contains(message, "Insufficient cpu"):
		return "; " + w.FewerCPUs + ", or another node"
	case strings.Contains(message, "Insufficient memory"):
		return "; " + w.LessMemory + ", or another node"
	}
	for _, r := range schedulingRemedies {
		if strings.Contains(message, r.lacking) {
			return "; " + r.remedy
		}
	}
	return ""
}

// diagnoseVMLost returns why a virtual machine that was ready no longer is, or nil.
func diagnoseVMLost(title, reason string, vm *kubevirtv1.VirtualMachineInstance, launcher *corev1.Pod) *problem {
	broken := func(format string, args ...any) *problem {
		return &problem{reason: reason, message: sentence("%s"+format, append([]any{title}, args...)...)}
	}
	switch {
	case vm == nil:
		return broken(": its virtual machine is gone")
	case vmEnded(vm):
		return broken(": its virtual machine ended: %s", vmEnding(vm, launcher))
	case !vm.DeletionTimestamp.IsZero():
		return broken(": its virtual machine is being deleted")
	case isReady(vm):
		return nil
	}
	ready := vmCondition(vm, kubevirtv1.VirtualMachineInstanceReady)
	t := broken(" is no longer ready: %s", cmp.Or(ready.Message, ready.Reason, "its virtual machine says so"))
	t.deadline = ready.LastTransitionTime.Add(causeTimeout)
	return t
}

func vmEnded(vm *kubevirtv1.VirtualMachineInstance) bool {
	return vm.Status.Phase == kubevirtv1.Failed || vm.Status.Phase == kubevirtv1.Succeeded
}

// vmEnding returns how a VM ended, from the pod in which it ran.
func vmEnding(vm *kubevirtv1.VirtualMachineInstance, launcher *corev1.Pod) string {
	how := "phase " + string(vm.Status.Phase)
	if vm.Status.Reason != "" {
		how += ", " + vm.Status.Reason
	}
	if launcher == nil {
		return how + ", and its pod is gone"
	}
	if launcher.Status.Phase == corev1.PodFailed && launcher.Status.Reason != "" {
		return how + "; " + launcher.Status.Reason + ": " + launcher.Status.Message
	}
	for _, c := range launcher.Status.ContainerStatuses {
		if end := c.State.Terminated; c.Name == containerCompute && end != nil {
			// Its message is the end of virt-launcher's log, which says less than the console.
			quiet := *end
			quiet.Message = ""
			how += "; " + ending(c.Name, &quiet)
		}
	}
	return how
}

func isReady(vm *kubevirtv1.VirtualMachineInstance) bool {
	return vmCondition(vm, kubevirtv1.VirtualMachineInstanceReady).Status == corev1.ConditionTrue
}

// reported reports whether KubeVirt has reported the actual VM, with the ports that it
// has. Without an agent in the guest, KubeVirt knows nothing about node devices in it.
func reported(vm *kubevirtv1.VirtualMachineInstance) bool {
	for _, port := range []string{plan.InterfaceWest, plan.InterfaceEast} {
		if model := chain.ModelOf(vm, port); model == "" || model == chain.NICModel(v1alpha1.AttachmentSRIOV) || model == chain.NICModel(v1alpha1.AttachmentHostDevice) {
			continue
		}
		if nic := nicStatus(vm, port); nic == nil || nic.MAC == "" {
			return false
		}
	}
	return true
}

// booting returns the problem of a VM or pod that runs since a time, and not yet for the
// boot time that its user set, or nil. Such a problem never expires: at the time that it
// names it no longer exists.
func booting(what, name string, since time.Time, seconds int32, now time.Time) *problem {
	boot := time.Duration(seconds) * time.Second
	until := since.Add(boot)
	if seconds == 0 || !now.Before(until) {
		return nil
	}
	return &problem{v1alpha1.ReasonChainNotReady,
		sentence("%s %q boots: custom.readiness.bootSeconds gives it %s", what, name, boot), until}
}

// runningSince returns when the VM entered its phase Running.
func runningSince(vm *kubevirtv1.VirtualMachineInstance) time.Time {
	for _, transition := range vm.Status.PhaseTransitionTimestamps {
		if transition.Phase == kubevirtv1.Running {
			return transition.PhaseTransitionTimestamp.Time
		}
	}
	return vmCondition(vm, kubevirtv1.VirtualMachineInstanceReady).LastTransitionTime.Time
}

// unsynchronized returns why KubeVirt could not do what the VM's spec asks, or "".
func unsynchronized(vm *kubevirtv1.VirtualMachineInstance) string {
	c := vmCondition(vm, kubevirtv1.VirtualMachineInstanceSynchronized)
	if c.Status != corev1.ConditionFalse {
		return ""
	}
	return strings.TrimPrefix(c.Reason+": "+c.Message, ": ")
}

func vmCondition(vm *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType) kubevirtv1.VirtualMachineInstanceCondition {
	for _, c := range vm.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return kubevirtv1.VirtualMachineInstanceCondition{}
}

// consoleLimit leaves room for what comes before the console in a message.
const consoleLimit = 240

// lastLines returns the end of a console as one short line: without control
// sequences, as many whole lines as fit, joined by " | ".
func lastLines(text string) string {
	joined := ""
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		switch line = printable(line); {
		case line == "":
		case joined == "" && len(line) > consoleLimit:
			return "..." + strings.ToValidUTF8(line[len(line)-consoleLimit+3:], "")
		case joined == "":
			joined = line
		case len(line)+len(" | ")+len(joined) > consoleLimit:
			return joined
		default:
			joined = line + " | " + joined
		}
	}
	return joined
}

// printable drops control characters and a terminal's sequences (ESC [ … letter).
func printable(line string) string {
	var b strings.Builder
	sequence := false
	for _, r := range line {
		switch {
		case r == '\x1b':
			sequence = true
		case sequence:
			sequence = r == '[' || r == ';' || r == '?' || unicode.IsDigit(r)
		case unicode.IsPrint(r) || r == '\t':
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// withConsole adds what the guest printed last.
func withConsole(t *problem, console string) *problem {
	if t == nil || console == "" {
		return t
	}
	added := *t
	added.message = addConsole(t.message, "its console", console)
	return &added
}

// addConsole returns a message with the end of a console and the name of its owner.
func addConsole(message, whose, console string) string {
	if console == "" {
		return message
	}
	words := "; " + whose + " ends: "
	return excerpt.Line(message, maxMessageBytes-consoleLimit-len(words)) + words + console
}
