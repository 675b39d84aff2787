package benchmarkrun

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/plan"
)

// Who may write objects in a namespace decides how large they are, and may give them the labels of a run. What is kept
// of one in memory is bounded, whatever it holds.
const (
	// maxCachedBytes is the longest text: that of a container's termination message.
	maxCachedBytes = 4 << 10
	// maxCachedItems is the most items of a list.
	maxCachedItems = 32
)

// keptLabels and keptAnnotations are those that decisions, selectors and reports read.
var (
	keptLabels = []string{
		v1alpha1.LabelRun, v1alpha1.LabelComponent, v1alpha1.LabelDeployment, v1alpha1.LabelExperiment,
		v1alpha1.LabelSuite, v1alpha1.LabelSuiteRun, v1alpha1.LabelCell, v1alpha1.LabelRepeat, v1alpha1.LabelTrigger,
	}
	keptAnnotations = []string{v1alpha1.AnnotationRun, v1alpha1.AnnotationKeep, v1alpha1.AnnotationRunNow, v1alpha1.AnnotationScheduledTime, v1alpha1.AnnotationSuspendedBySuite}
)

// keptMeta returns which object it is, whose, and the project's own labels and annotations. It leaves the finalizers
// out.
func keptMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
		OwnerReferences: keptOwner(m), Labels: keptOf(m.Labels, keptLabels), Annotations: keptOf(m.Annotations, keptAnnotations),
	}
	return kept
}

// keptOwner returns the controller of an object, which may be missing.
func keptOwner(m *metav1.ObjectMeta) []metav1.OwnerReference {
	owner := metav1.GetControllerOf(m)
	if owner == nil {
		return nil
	}
	for _, text := range []string{owner.APIVersion, owner.Kind, owner.Name, string(owner.UID)} {
		if len(text) > maxCachedBytes {
			// No object has such a name, so the garbage collector deletes what it owns.
			return nil
		}
	}
	return []metav1.OwnerReference{*owner}
}

func keptOf(all map[string]string, keys []string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		value, found := all[key]
		if !found {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = excerpt.Text(value, maxCachedBytes)
	}
	return kept
}

// hasFinalizers returns one finalizer if there are any: decisions ask no more.
func hasFinalizers(m *metav1.ObjectMeta) []string { return head(m.Finalizers, 1) }

// head returns a copy of at most so many items, without the memory of the others.
func head[T any](items []T, most int) []T {
	if len(items) == 0 {
		return nil
	}
	return slices.Clone(items[:min(len(items), most)])
}

// keepPod drops from a pod what no decision needs.
func keepPod(pod *corev1.Pod) {
	meta := keptMeta(&pod.ObjectMeta)
	meta.Finalizers = hasFinalizers(&pod.ObjectMeta)
	spec := corev1.PodSpec{NodeName: pod.Spec.NodeName, TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds}
	for _, c := range head(pod.Spec.Containers, maxCachedItems) {
		spec.Containers = append(spec.Containers, corev1.Container{Name: c.Name, Image: excerpt.Text(c.Image, maxCachedBytes)})
	}
	before := pod.Status
	status := corev1.PodStatus{
		Phase: before.Phase, PodIP: before.PodIP, StartTime: before.StartTime,
		Reason: excerpt.Text(before.Reason, maxCachedBytes), Message: excerpt.Text(before.Message, maxCachedBytes),
		InitContainerStatuses: keptContainers(before.InitContainerStatuses), ContainerStatuses: keptContainers(before.ContainerStatuses),
	}
	for _, c := range before.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			c.Reason, c.Message = excerpt.Text(c.Reason, maxCachedBytes), excerpt.Text(c.Message, maxCachedBytes)
			status.Conditions = append(status.Conditions, c)
		}
	}
	*pod = corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: meta, Spec: spec, Status: status}
}

func keptContainers(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, c := range head(all, maxCachedItems) {
		kept = append(kept, corev1.ContainerStatus{
			Name: c.Name, Ready: c.Ready, RestartCount: c.RestartCount,
			Image: excerpt.Text(c.Image, maxCachedBytes), ImageID: excerpt.Text(c.ImageID, maxCachedBytes),
			State: keptState(c.State), LastTerminationState: keptState(c.LastTerminationState),
		})
	}
	return kept
}

func keptState(state corev1.ContainerState) corev1.ContainerState {
	if w := state.Waiting; w != nil {
		state.Waiting = &corev1.ContainerStateWaiting{Reason: excerpt.Text(w.Reason, maxCachedBytes), Message: excerpt.Text(w.Message, maxCachedBytes)}
	}
	if end := state.Terminated; end != nil {
		kept := *end
		kept.Reason, kept.Message = excerpt.Text(end.Reason, maxCachedBytes), excerpt.Text(end.Message, maxCachedBytes)
		state.Terminated = &kept
	}
	return state
}

// keepJob drops from a Job what no decision needs: its pods' template is most of it.
func keepJob(job *batchv1.Job) {
	meta := keptMeta(&job.ObjectMeta)
	meta.Finalizers = hasFinalizers(&job.ObjectMeta)
	spec := batchv1.JobSpec{
		Parallelism: job.Spec.Parallelism, Completions: job.Spec.Completions, BackoffLimit: job.Spec.BackoffLimit,
		ActiveDeadlineSeconds: job.Spec.ActiveDeadlineSeconds, Suspend: job.Spec.Suspend,
	}
	before := job.Status
	status := batchv1.JobStatus{
		StartTime: before.StartTime, CompletionTime: before.CompletionTime, Active: before.Active, Ready: before.Ready,
		Succeeded: before.Succeeded, Failed: before.Failed, Terminating: before.Terminating,
	}
	for _, c := range head(before.Conditions, maxCachedItems) {
		c.Reason, c.Message = excerpt.Text(c.Reason, maxCachedBytes), excerpt.Text(c.Message, maxCachedBytes)
		status.Conditions = append(status.Conditions, c)
	}
	*job = batchv1.Job{TypeMeta: job.TypeMeta, ObjectMeta: meta, Spec: spec, Status: status}
}

// keepVM drops from a virtual machine what no decision and no report needs.
func keepVM(vm *kubevirtv1.VirtualMachineInstance) {
	meta := keptMeta(&vm.ObjectMeta)
	meta.Finalizers = hasFinalizers(&vm.ObjectMeta)
	isPort := func(name string) bool { return name == plan.InterfaceWest || name == plan.InterfaceEast }
	spec, before := kubevirtv1.VirtualMachineInstanceSpec{}, vm.Status
	if cpu := vm.Spec.Domain.CPU; cpu != nil {
		spec.Domain.CPU = &kubevirtv1.CPU{Model: excerpt.Text(cpu.Model, maxCachedBytes)}
	}
	for _, nic := range vm.Spec.Domain.Devices.Interfaces {
		if kept := (kubevirtv1.Interface{Name: nic.Name, Model: excerpt.Text(nic.Model, maxCachedBytes)}); isPort(nic.Name) {
			if nic.SRIOV != nil {
				kept.SRIOV = &kubevirtv1.InterfaceSRIOV{}
			}
			spec.Domain.Devices.Interfaces = append(spec.Domain.Devices.Interfaces, kept)
		}
	}
	for _, device := range vm.Spec.Domain.Devices.HostDevices {
		if isPort(device.Name) {
			spec.Domain.Devices.HostDevices = append(spec.Domain.Devices.HostDevices, kubevirtv1.HostDevice{Name: device.Name})
		}
	}
	spec.Domain.Devices.Interfaces = head(spec.Domain.Devices.Interfaces, maxCachedItems)
	spec.Domain.Devices.HostDevices = head(spec.Domain.Devices.HostDevices, maxCachedItems)
	status := kubevirtv1.VirtualMachineInstanceStatus{
		Phase: before.Phase, Reason: excerpt.Text(before.Reason, maxCachedBytes), NodeName: excerpt.Text(before.NodeName, maxCachedBytes),
		LauncherContainerImageVersion: excerpt.Text(before.LauncherContainerImageVersion, maxCachedBytes),
		CurrentCPUTopology:            before.CurrentCPUTopology, PhaseTransitionTimestamps: head(before.PhaseTransitionTimestamps, maxCachedItems),
	}
	if before.Machine != nil {
		status.Machine = &kubevirtv1.Machine{Type: excerpt.Text(before.Machine.Type, maxCachedBytes)}
	}
	if before.Memory != nil {
		status.Memory = &kubevirtv1.MemoryStatus{GuestCurrent: before.Memory.GuestCurrent}
	}
	for _, nic := range before.Interfaces {
		if isPort(nic.Name) && len(status.Interfaces) < maxCachedItems {
			status.Interfaces = append(status.Interfaces, kubevirtv1.VirtualMachineInstanceNetworkInterface{
				Name: nic.Name, MAC: excerpt.Text(nic.MAC, maxCachedBytes), QueueCount: nic.QueueCount,
			})
		}
	}
	for _, c := range head(before.Conditions, maxCachedItems) {
		c.Reason, c.Message = excerpt.Text(c.Reason, maxCachedBytes), excerpt.Text(c.Message, maxCachedBytes)
		status.Conditions = append(status.Conditions, c)
	}
	*vm = kubevirtv1.VirtualMachineInstance{TypeMeta: vm.TypeMeta, ObjectMeta: meta, Spec: spec, Status: status}
}

// keepSuite drops from a suite its template, of which each patch has up to 32 KiB, and what is known of its series but the counts, which the gauges
// show. Its controller reads a suite without the cache.
func keepSuite(suite *v1alpha1.BenchmarkSuite) {
	suite.ObjectMeta = keptMeta(&suite.ObjectMeta)
	suite.Spec.Template, suite.Spec.Regression = v1alpha1.SuiteTemplate{}, nil
	if judged := suite.Status.Regression; judged != nil {
		suite.Status.Regression = &v1alpha1.RegressionStatus{Counts: judged.Counts}
	}
}

// keepExecution drops from an execution its template and its cells. What is left says whether it has ended, when and how.
func keepExecution(execution *v1alpha1.BenchmarkSuiteRun) {
	execution.ObjectMeta = keptMeta(&execution.ObjectMeta)
	execution.Spec.Template, execution.Status.Cells = v1alpha1.SuiteTemplate{}, nil
}
