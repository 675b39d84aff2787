package testbed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// admission says who holds the testbed, and how many runs wait for it.
type admission struct {
	active []v1alpha1.ActiveRun
	queued int32
}

// admitNext decides who holds the testbed. A run keeps its place until it no longer wants
// it, has reported the release, and has no pod left. The next run of an allowed namespace
// gets the place when no pod of any other run is left either. While every node that matches
// is cordoned or not ready, runs wait. On a testbed that no node matches, runs are
// admitted, fail, and report it.
func admitNext(s *scope) admission {
	var active []v1alpha1.ActiveRun
	for _, a := range s.testbed.Status.ActiveRuns {
		run := s.run(a.UID)
		if s.hasPods(a.UID) || run != nil && (queue.Wants(run) || queue.Occupies(run)) {
			active = append(active, a)
		}
	}
	_, reason, _ := s.matchingNodes()
	open := reason != v1alpha1.ReasonNodesNotReady && !s.deleting()
	// A selector that cannot be read allows no namespace; the condition Ready says so.
	allowed, _ := queue.Allowed(s.testbed, s.namespaces)
	waiting := queue.Waiting(&v1alpha1.Testbed{Status: v1alpha1.TestbedStatus{ActiveRuns: active}}, s.runs, allowed)
	if open && len(waiting) > 0 && len(active) == 0 && !s.foreignPods(active) {
		next := waiting[0]
		waiting = waiting[1:]
		active = []v1alpha1.ActiveRun{{Namespace: next.Namespace, Name: next.Name, UID: string(next.UID), Since: s.timestamp()}}
	}
	return admission{active, int32(len(waiting))}
}

// foreignPods reports whether pods are left of runs that do not hold the testbed.
func (s *scope) foreignPods(active []v1alpha1.ActiveRun) bool {
	return slices.ContainsFunc(s.pods, func(p corev1.Pod) bool {
		return !slices.ContainsFunc(active, func(a v1alpha1.ActiveRun) bool { return a.UID == p.Labels[v1alpha1.LabelRun] })
	})
}
