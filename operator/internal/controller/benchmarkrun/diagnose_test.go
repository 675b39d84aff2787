package benchmarkrun

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestDiagnoseStart(t *testing.T) {
	const bound = 5 * time.Minute
	end := epoch.Add(bound)
	tests := map[string]struct {
		pod     corev1.Pod
		reason  string
		message string
		at      time.Time
	}{
		"ready":        {pod("p", ready), "", "", time.Time{}},
		"unscheduled":  {pod("p", unscheduled("0/3 nodes are available: 3 Insufficient cpu.")), v1alpha1.ReasonUnschedulable, `pod "p" cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu.`, end},
		"never pulled": {pod("p", waiting("ErrImageNeverPull", "absent")), v1alpha1.ReasonImageUnavailable, `pod "p": image "registry/image:1": ErrImageNeverPull: absent; load the image onto the node, or let it be pulled`, time.Time{}},
		"bad name":     {pod("p", waiting("InvalidImageName", "x")), v1alpha1.ReasonImageUnavailable, `pod "p": image "registry/image:1": InvalidImageName: x; correct the image's name`, time.Time{}},
		"pull fails":   {pod("p", waiting("ErrImagePull", "401 Unauthorized")), v1alpha1.ReasonImageUnavailable, `pod "p": image "registry/image:1" cannot be pulled; correct its name, or give the pod a pull secret`, epoch.Add(imagePullTimeout)},
		"no registry": {pod("p", waiting("ErrImagePull", "connection refused"), func(p *corev1.Pod) { p.Spec.NodeName = "node2" }), v1alpha1.ReasonImageUnavailable,
			`pod "p": image "registry/image:1" cannot be pulled on node "node2", and no registry has said that it does not exist; see that the node reaches the registry, or load the image onto it`, end},
		"being made": {pod("p", waiting("ContainerCreating", "")), v1alpha1.ReasonPodStuck, `pod "p" does not start: its containers are not created yet`, end},
		"cannot be made": {pod("p", waiting("CreateContainerConfigError", `configmap "x" not found`)), v1alpha1.ReasonPodStuck,
			`pod "p" does not start: container "c": CreateContainerConfigError: configmap "x" not found`, end},
		"crashes": {pod("p", restarted(1, "Error"), func(p *corev1.Pod) { p.Status.Conditions = nil }), v1alpha1.ReasonChainNotReady,
			`pod "p": container "c" ended with exit code 1`, end},
		"not ready": {pod("p", unready("no route")), v1alpha1.ReasonChainNotReady, `pod "p" runs and is not ready: no route`, end},
		"evicted":   {pod("p", evicted), v1alpha1.ReasonChainNotReady, `pod "p": Evicted: The node was low on resource: memory.`, time.Time{}},
		"silent":    {pod("p", running), v1alpha1.ReasonChainNotReady, `pod "p" runs and is not ready: it has not reported yet`, end},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := diagnoseStart(&test.pod, bound, v1alpha1.ReasonChainNotReady)
			if test.reason == "" {
				if got != nil {
					t.Fatalf("got %+v for a healthy pod", got)
				}
				return
			}
			if got == nil || got.reason != test.reason || got.message != test.message || !got.deadline.Equal(test.at) {
				t.Errorf("got %+v, want %s %q at %s", got, test.reason, test.message, test.at)
			}
		})
	}
}

func TestImageTimeoutEndsWithTheBound(t *testing.T) {
	p := pod("p", waiting("ImagePullBackOff", ""))
	if got := diagnoseStart(&p, 5*time.Second, v1alpha1.ReasonPodStuck); !got.deadline.Equal(epoch.Add(5 * time.Second)) {
		t.Errorf("gives up at %s, want the pod's own bound", got.deadline)
	}
}

func TestDiagnoseLost(t *testing.T) {
	tests := map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"healthy":     {ptr.To(pod("p", ready)), ""},
		"gone":        {nil, `function "f": its pod is gone`},
		"evicted":     {ptr.To(pod("p", evicted)), `function "f": Evicted: The node was low on resource: memory.`},
		"deleted":     {ptr.To(pod("p", ready, func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) })), `function "f": its pod is being deleted`},
		"killed":      {ptr.To(pod("p", restarted(137, "OOMKilled"))), `function "f": container "c" ended with exit code 137 (OOMKilled); give it more memory`},
		"crashed":     {ptr.To(pod("p", restarted(2, "Error"))), `function "f": container "c" ended with exit code 2`},
		"unready":     {ptr.To(pod("p", unready("port west is down"))), `function "f" is no longer ready: port west is down`},
		"node away":   {ptr.To(pod("p", running, func(p *corev1.Pod) { p.Spec.NodeName = "node2" })), `function "f" is no longer ready: its pod says so without a reason; see whether node "node2" is ready`},
		"unready too": {ptr.To(pod("p", running)), `function "f" is no longer ready: its pod says so`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if t := diagnoseLost(`function "f"`, v1alpha1.ReasonChainFailed, test.pod); t != nil {
				got = t.message
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestClockOfANodeIsLate checks that a function that is no longer ready has its time to end or to be ready again from when
// the operator sees it, whatever its node's clock says, and each time that it is lost.
func TestClockOfANodeIsLate(t *testing.T) {
	var k kept
	lost := func(at time.Duration, isReady bool) *problem {
		first := unreadySince(epoch.Add(at - time.Hour))
		if isReady {
			first = ready
		}
		s := newScope(launched, withRecords(open), functions(first, ready), after(at))
		for i := range s.chainPods {
			s.chainPods[i].UID = types.UID(s.chainPods[i].Name)
		}
		k.see(s)
		_, found := s.firstProblem(s.chainWorkloads())
		return found
	}
	for _, step := range []struct {
		at      time.Duration
		ready   bool
		expires time.Duration
	}{
		{0, false, causeTimeout},
		{time.Second, false, causeTimeout},
		{2 * time.Second, true, 0},
		{10 * time.Second, false, 10*time.Second + causeTimeout},
	} {
		var expires time.Duration
		if p := lost(step.at, step.ready); p != nil {
			expires = p.deadline.Sub(epoch)
		}
		if expires != step.expires {
			t.Errorf("after %s, ready %t: expires after %s, want %s", step.at, step.ready, expires, step.expires)
		}
	}
}

func TestDiagnoseMeasurer(t *testing.T) {
	tests := map[string]struct {
		pods    []corev1.Pod
		reason  string
		message string
	}{
		"said why": {[]corev1.Pod{pod("m", ended(42, "Error", `{"reason":"PortMissing","message":"no port west"}`))}, v1alpha1.ReasonPortMissing, "no port west"},
		"out of memory": {[]corev1.Pod{pod("m", ended(137, "OOMKilled", ""))}, v1alpha1.ReasonMeasurerFailed,
			`the measurer's pod "m": container "c" ended with exit code 137 (OOMKilled); give it more memory`},
		"panic":   {[]corev1.Pod{pod("m", ended(2, "Error", "panic: x"))}, v1alpha1.ReasonMeasurerFailed, `the measurer's pod "m": container "c" ended with exit code 2: panic: x`},
		"evicted": {[]corev1.Pod{pod("m", evicted)}, v1alpha1.ReasonMeasurerFailed, `the measurer's pod "m": Evicted: The node was low on resource: memory.`},
		"gone":    {nil, v1alpha1.ReasonMeasurerFailed, "the measurer failed, and its pods are gone: look at the events of its Job and node"},
		"an older one said why": {[]corev1.Pod{pod("new", ended(137, "Error", "")), pod("old", ended(42, "Error", `{"reason":"PortMissing","message":"no"}`))},
			v1alpha1.ReasonPortMissing, "no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reason, message := diagnoseMeasurer(test.pods)
			if reason != test.reason || message != test.message {
				t.Errorf("got %s %q, want %s %q", reason, message, test.reason, test.message)
			}
		})
	}
}

func TestEventsSayWhatThePodDoesNot(t *testing.T) {
	at := func(second int, kind, reason, message string) corev1.Event {
		return corev1.Event{Type: kind, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(epoch.Add(time.Duration(second) * time.Second))}
	}
	events := []corev1.Event{
		at(1, corev1.EventTypeWarning, "FailedScheduling", "old"),
		at(3, corev1.EventTypeWarning, "FailedMount", "volume x"),
		at(5, corev1.EventTypeNormal, "Pulled", "fine"),
	}
	if got, want := withEvents("it hangs", events), "it hangs (FailedMount: volume x)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := withEvents("it hangs", nil); got != "it hangs" {
		t.Errorf("got %q without events", got)
	}
}

func TestSentenceIsOneShortLine(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines, ":                         "two lines",
		"short":                                "short",
		strings.Repeat("x", 2*maxMessageBytes): strings.Repeat("x", maxMessageBytes-3) + "...",
	} {
		if got := sentence("%s", text); got != want {
			t.Errorf("sentence(%q) is %q, want %q", text, got, want)
		}
	}
}
