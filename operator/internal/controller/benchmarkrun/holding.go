package benchmarkrun

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

// Users of a namespace may write its pods, Jobs and virtual machines, with any label, finalizer, owner and time to end.
// What counts as a run's use of its testbed has bounds that those fields do not move.

// heldTimeout is how long an object counts after the time in which it had to end.
const heldTimeout = 5 * time.Minute

// heldFor returns how long a pod still counts that has ended and only exists because of a finalizer,
// which who may write pods can add, and whether it is such a pod.
func heldFor(pod *corev1.Pod, now time.Time) (time.Duration, bool) {
	ended := hasEnded(pod) || pod.Spec.NodeName == ""
	if pod.DeletionTimestamp.IsZero() || len(pod.Finalizers) == 0 || !ended {
		return 0, false
	}
	return pod.DeletionTimestamp.Add(heldTimeout).Sub(now), true
}

// heldFor returns when to check again whether pods that have ended still count; 0 without any.
func (s *scope) heldFor() time.Duration {
	var after time.Duration
	for _, pod := range slices.Concat(s.measurers, s.chainPods) {
		if left, held := heldFor(&pod, s.now); held && (after == 0 || left < after) {
			after = left
		}
	}
	return after
}

// podsRemain reports whether something of the run may still use the testbed.
func (s *scope) podsRemain() bool {
	return s.job != nil && !s.isSpent(s.job) || len(s.measurers) > 0 || len(s.chainPods) > 0 ||
		slices.ContainsFunc(s.vms, func(vm kubevirtv1.VirtualMachineInstance) bool { return !s.isSpent(&vm) })
}

// isSpent reports whether a Job or a virtual machine no longer counts. Neither uses cores: its pods do, and count on their own.
func (s *scope) isSpent(object metav1.Object) bool { return s.isOverdue(object) || s.isLate(object) }

// isOverdue reports whether an object is being deleted for so long that something else than its pods keeps it.
func (s *scope) isOverdue(object metav1.Object) bool {
	since := object.GetDeletionTimestamp()
	return !since.IsZero() && !s.now.Before(since.Add(heldTimeout))
}

// isLate reports whether an object was made after the end of the run, which launches nothing then. The pod of a Job that
// replaces another at the end is made within heldTimeout.
func (s *scope) isLate(object metav1.Object) bool {
	end := s.run.Status.CompletionTime
	if end == nil || s.run.DeletionTimestamp.Before(end) {
		end = s.run.DeletionTimestamp
	}
	return end != nil && object.GetCreationTimestamp().After(end.Add(heldTimeout))
}

// isOwn reports whether the run launched a pod: its controller is the run, the measurer's Job or a virtual machine of
// the run. A pod that lost its controller, as with --cascade=orphan, has a name that the operator gives. The
// label alone says nothing.
func (s *scope) isOwn(pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	switch {
	case controller == nil:
		vm, isLauncher := strings.CutPrefix(pod.Name, launcherPrefix)
		return isGenerated(pod.Name, s.names.Job) || slices.ContainsFunc(s.launches(), func(name string) bool {
			return pod.Name == name || isLauncher && isGenerated(vm, name)
		})
	case controller.UID == s.run.UID:
		return true
	case controller.APIVersion == batchv1.SchemeGroupVersion.String():
		// By name: the pods of a deleted Job outlive it.
		return controller.Kind == "Job" && controller.Name == s.names.Job
	case controller.Kind == kubevirtv1.VirtualMachineInstanceGroupVersionKind.Kind:
		return slices.Contains(s.launches(), controller.Name)
	}
	return false
}

// launcherPrefix begins the name of a pod in which KubeVirt runs a virtual machine.
const launcherPrefix = "virt-launcher-"

// isGenerated reports whether a name was generated from that of the object that makes it.
func isGenerated(name, from string) bool {
	rest, found := strings.CutPrefix(name, from)
	return found && strings.HasPrefix(rest, "-")
}

// launches returns the names of the run's workloads, which need no plan. Any pod can have the run's label, so they are computed once.
func (s *scope) launches() []string {
	if s.workloadNames == nil {
		s.workloadNames = s.names.Workloads(&s.run.Spec.Experiment)
	}
	return s.workloadNames
}

// graceOf returns how long a pod has to end: its own time, and not longer than any pod of a run has.
func graceOf(pod *corev1.Pod) int64 {
	if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
		return min(*own, chain.MaxGraceSeconds)
	}
	return chain.MaxGraceSeconds
}

// isEnding reports whether a pod is being deleted and ends within its time.
func isEnding(pod *corev1.Pod) bool {
	left := pod.DeletionGracePeriodSeconds
	return !pod.DeletionTimestamp.IsZero() && (left == nil || *left <= graceOf(pod))
}

// maxUse returns how long a run may use its nodes: the measurer's time, and the time of all that the run starts
// to start and to end.
func maxUse(run *v1alpha1.BenchmarkRun) time.Duration {
	e := &run.Spec.Experiment
	return time.Duration(e.DeadlineSeconds+2*e.StartupSeconds) * time.Second
}

// jobLeft returns how long the operator still waits for the Job. The Job ends itself before, unless another writer
// suspends it or raises its deadline.
func (s *scope) jobLeft() time.Duration {
	return s.job.CreationTimestamp.Add(maxUse(s.run)).Sub(s.now)
}
