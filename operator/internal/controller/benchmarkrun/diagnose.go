package benchmarkrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// imagePullTimeout is how long pulls of an image may fail before the run gives up, if the registry answers that it
// does not have the image or does not give it: a typing error does not hold the testbed for longer. A registry that
// does not answer is waited for as long as any pod may take to start.
const imagePullTimeout = 30 * time.Second

// refusedPulls are the words of a registry that answers, in the messages of the container runtimes.
var refusedPulls = []string{
	": not found", "manifest unknown", "name unknown", "does not exist", "pull access denied", "access forbidden",
	"unauthorized", "authorization failed", "403 Forbidden", "401 Unauthorized", "no basic auth credentials", "no match for platform", "invalid reference",
}

// causeTimeout is how long a function that is no longer ready may take to end and report
// why: its pod's status often shows first that it is not ready. A function that is ready
// again by then has lost nothing.
const causeTimeout = 3 * time.Second

// problem is why a workload has not started or is not ready.
type problem struct {
	reason  string
	message string
	// deadline is when the run gives up; the zero time means at once.
	deadline time.Time
}

// expired reports whether the time to wait is over.
func (t *problem) expired(now time.Time) bool { return !now.Before(t.deadline) }

// never are the waiting reasons that time does not fix.
var never = map[string]string{
	"ErrImageNeverPull": "load the image onto the node, or let it be pulled",
	"InvalidImageName":  "correct the image's name",
}

// diagnoseStart returns why a pod is not ready yet, or nil if it is. bound is how long it
// may take from its creation. notReady is the reason if its containers run and it still is
// not ready.
func diagnoseStart(pod *corev1.Pod, bound time.Duration, notReady string) *problem {
	if t := leavingProblem("pod", pod, bound); t != nil {
		return t
	}
	if podCondition(pod, corev1.PodReady).Status == corev1.ConditionTrue {
		return nil
	}
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" {
		return &problem{reason: notReady, message: sentence("pod %q: %s: %s", pod.Name, pod.Status.Reason, pod.Status.Message)}
	}
	at := pod.CreationTimestamp.Add(bound)
	if scheduled := podCondition(pod, corev1.PodScheduled); scheduled.Status == corev1.ConditionFalse {
		return &problem{v1alpha1.ReasonUnschedulable, sentence("pod %q cannot be scheduled: %s", pod.Name, scheduled.Message), at}
	}
	if t := diagnoseImage(pod, at); t != nil {
		return t
	}
	if cause := brokenContainer(pod); cause != "" {
		return &problem{notReady, sentence("pod %q: %s", pod.Name, cause), at}
	}
	if waiting := waitingContainer(pod); waiting != "" || pod.Status.Phase != corev1.PodRunning {
		return &problem{v1alpha1.ReasonPodStuck, sentence("pod %q does not start: %s", pod.Name, cmp.Or(waiting, "its containers are not created yet")), at}
	}
	ready := podCondition(pod, corev1.PodReady)
	return &problem{notReady, sentence("pod %q runs and is not ready: %s", pod.Name, cmp.Or(ready.Message, ready.Reason, "it has not reported yet")), at}
}

// leavingProblem returns the problem of an object that is being deleted, or nil. A run that
// was suspended and resumed finds such objects: the next one with the name can be made when
// the old one is gone, and is not affected by how that one ended.
func leavingProblem(what string, object metav1.Object, bound time.Duration) *problem {
	since := object.GetDeletionTimestamp()
	if since.IsZero() {
		return nil
	}
	return &problem{v1alpha1.ReasonPodStuck, sentence("the previous %s %q is still being deleted", what, object.GetName()), since.Add(bound)}
}

// started reports whether the pod's containers have run.
func started(pod *corev1.Pod) bool {
	return slices.ContainsFunc(containers(pod), func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil || c.RestartCount > 0
	})
}

// containersSince returns when a pod's container was started last.
func containersSince(pod *corev1.Pod) time.Time {
	for _, c := range containers(pod) {
		if c.State.Running != nil {
			return c.State.Running.StartedAt.Time
		}
	}
	return podCondition(pod, corev1.PodReady).LastTransitionTime.Time
}

func diagnoseImage(pod *corev1.Pod, bound time.Time) *problem {
	for _, c := range containers(pod) {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		if remedy, found := never[w.Reason]; found {
			return &problem{reason: v1alpha1.ReasonImageUnavailable,
				message: sentence("pod %q: image %q: %s: %s; %s", pod.Name, c.Image, w.Reason, w.Message, remedy)}
		}
		if w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff" || w.Reason == "RegistryUnavailable" {
			if !slices.ContainsFunc(refusedPulls, func(words string) bool { return strings.Contains(w.Message, words) }) {
				return &problem{v1alpha1.ReasonImageUnavailable,
					sentence("pod %q: image %q cannot be pulled%s, and no registry has said that it does not exist; see that the node reaches the registry, or load the image onto it", pod.Name, c.Image, onNode(pod)), bound}
			}
			since := pod.CreationTimestamp.Time
			if scheduled := podCondition(pod, corev1.PodScheduled).LastTransitionTime.Time; scheduled.After(since) {
				since = scheduled
			}
			at := since.Add(imagePullTimeout)
			if bound.Before(at) {
				at = bound
			}
			// The two reasons alternate with every attempt: naming neither keeps the sentence steady.
			return &problem{v1alpha1.ReasonImageUnavailable,
				sentence("pod %q: image %q cannot be pulled; correct its name, or give the pod a pull secret", pod.Name, c.Image), at}
		}
	}
	return nil
}

// onNode says which node a pod is on: another one may have what this one lacks.
func onNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return ""
	}
	return fmt.Sprintf(" on node %q", pod.Spec.NodeName)
}

// diagnoseLost returns why a pod that was ready no longer is, or nil. The reason is that of
// the pod's role in the run.
func diagnoseLost(what, reason string, pod *corev1.Pod) *problem {
	broken := func(format string, args ...any) *problem {
		return &problem{reason: reason, message: sentence("%s"+format, append([]any{what}, args...)...)}
	}
	switch {
	case pod == nil:
		return broken(": its pod is gone")
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		return broken(": %s: %s", pod.Status.Reason, pod.Status.Message)
	case !pod.DeletionTimestamp.IsZero():
		return broken(": its pod is being deleted")
	}
	if cause := brokenContainer(pod); cause != "" {
		return broken(": %s", cause)
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return broken(": its pod has ended")
	}
	if ready := podCondition(pod, corev1.PodReady); ready.Status != corev1.ConditionTrue {
		t := broken(" is no longer ready: %s", cmp.Or(ready.Message, ready.Reason, withoutReason(pod)))
		t.deadline = ready.LastTransitionTime.Add(causeTimeout)
		return t
	}
	return nil
}

// withoutReason says why a pod may be not ready that gives no reason. Kubernetes writes that into the pods of a node whose
// kubelet no longer reports.
func withoutReason(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return "its pod says so"
	}
	return fmt.Sprintf("its pod says so without a reason; see whether node %q is ready", pod.Spec.NodeName)
}

// brokenContainer returns how a container ended, whether or not it was started again.
func brokenContainer(pod *corev1.Pod) string {
	for _, c := range containers(pod) {
		if end := lastEnd(c); end != nil {
			return ending(c.Name, end)
		}
		if c.RestartCount > 0 {
			return fmt.Sprintf("container %q was started again", c.Name)
		}
	}
	return ""
}

// lastEnd returns how a container ended last, or nil.
func lastEnd(c corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	return cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
}

func ending(container string, end *corev1.ContainerStateTerminated) string {
	how := fmt.Sprintf("container %q ended with exit code %d", container, end.ExitCode)
	if end.Reason != "" && end.Reason != "Error" && end.Reason != "Completed" {
		how += " (" + end.Reason + ")"
	}
	if end.Reason == "OOMKilled" {
		// Before the message, which may be long.
		how += "; give it more memory"
	}
	if message := strings.TrimSpace(end.Message); message != "" {
		how += ": " + message
	}
	return how
}

func waitingContainer(pod *corev1.Pod) string {
	for _, c := range containers(pod) {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return strings.TrimSuffix(fmt.Sprintf("container %q: %s: %s", c.Name, w.Reason, w.Message), ": ")
		}
	}
	return ""
}

// diagnoseMeasurer returns why the measurer failed permanently. It first checks the
// termination message of the last pod, then how the pod ended.
func diagnoseMeasurer(pods []corev1.Pod) (reason, message string) {
	for i := range pods {
		for _, c := range containers(&pods[i]) {
			if left := termination(c); left != nil {
				return left.Reason, sentence("%s", left.Message)
			}
		}
	}
	for i := range pods {
		if p := &pods[i]; p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" {
			return v1alpha1.ReasonMeasurerFailed, sentence("the measurer's pod %q: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
		}
		if cause := brokenContainer(&pods[i]); cause != "" {
			return v1alpha1.ReasonMeasurerFailed, sentence("the measurer's pod %q: %s", pods[i].Name, cause)
		}
	}
	return v1alpha1.ReasonMeasurerFailed, "the measurer failed, and its pods are gone: look at the events of its Job and node"
}

// termination returns the FailureState that a measurer left, or nil.
func termination(c corev1.ContainerStatus) *measure.FailureState {
	for _, end := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
		if end == nil {
			continue
		}
		var left measure.FailureState
		if json.Unmarshal([]byte(end.Message), &left) == nil && left.Reason != "" {
			left = left.Checked()
			return &left
		}
	}
	return nil
}

// withEvents adds what the kubelet reported about a pod that does not start: the only place
// that names a volume or network that fails.
func withEvents(message string, events []corev1.Event) string {
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return eventTime(b).Compare(eventTime(a)) })
	for _, e := range events {
		if e.Type == corev1.EventTypeWarning && !strings.Contains(message, e.Message) {
			return sentence("%s (%s: %s)", message, e.Reason, e.Message)
		}
	}
	return message
}

func eventTime(e corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

func containers(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// sentence returns one bounded line.
func sentence(format string, args ...any) string {
	return excerpt.Line(strings.TrimRight(fmt.Sprintf(format, args...), ":;, \n"), maxMessageBytes)
}
