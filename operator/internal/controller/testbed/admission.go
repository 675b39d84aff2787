package testbed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// admitNext decides who holds the testbed. A run keeps its place until it wants it
// no more, has said that it gave it back, and has no pod left. The next one of an
// allowed namespace comes, where the testbed is open, when no pod of any other run
// is left either.
func (s *scope) admitNext(open bool) (active []v1alpha1.ActiveRun, queued int32) {
	for _, a := range s.testbed.Status.ActiveRuns {
		run := s.run(a.UID)
		if s.hasPods(a.UID) || run != nil && (queue.Wants(run) || queue.Occupies(run)) {
			active = append(active, a)
		}
	}
	now := &v1alpha1.Testbed{Status: v1alpha1.TestbedStatus{ActiveRuns: active}}
	// A selector that cannot be read allows no namespace; the condition Ready says so.
	allowed, _ := queue.Allowed(s.testbed, s.namespaces)
	waiting := queue.Waiting(now, s.runs, allowed)
	if len(waiting) > 0 && len(active) == 0 && open && !s.deleting() && !s.foreignPods(active) {
		next := waiting[0]
		waiting = waiting[1:]
		active = []v1alpha1.ActiveRun{{Namespace: next.Namespace, Name: next.Name, UID: string(next.UID), Since: s.timestamp()}}
	}
	return active, int32(len(waiting))
}

// foreignPods says that pods of runs are left that do not hold the testbed.
func (s *scope) foreignPods(active []v1alpha1.ActiveRun) bool {
	return slices.ContainsFunc(s.pods, func(p corev1.Pod) bool {
		return !slices.ContainsFunc(active, func(a v1alpha1.ActiveRun) bool { return a.UID == p.Labels[v1alpha1.LabelRun] })
	})
}
