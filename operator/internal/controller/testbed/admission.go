package testbed

import (
	"fmt"
	"math"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// admission says who holds the testbed, and how many runs wait for it.
type admission struct {
	active []v1alpha1.ActiveRun
	queued int32
	// freed is true if a run gives the testbed back now.
	freed bool
	// after is when the next run no longer waits for the testbed to be ready; 0 if no time changes who holds it.
	after time.Duration
}

// admitNext decides who holds the testbed. A run keeps its place until it no longer wants
// it, and has reported the release, which it does when its last pod is gone. The next run of an
// allowed namespace gets the place when no other run is left that has not reported it either. While an obstacle may
// pass, runs wait. On a testbed that no node matches, runs are admitted, fail, and report it.
//
// Pods are not counted here: who may make pods could label any pod as one of a run.
func admitNext(s *scope) admission {
	var active []v1alpha1.ActiveRun
	for _, a := range s.testbed.Status.ActiveRuns {
		if run := s.run(a.UID); run != nil && (queue.Wants(run) || queue.Occupies(run)) {
			active = append(active, a)
		}
	}
	// A selector that cannot be read allows no namespace; the condition Ready says so.
	allowed, _ := queue.Allowed(s.testbed, s.namespaces)
	waiting := queue.Waiting(&v1alpha1.Testbed{Status: v1alpha1.TestbedStatus{ActiveRuns: active}}, s.runs, allowed)
	freed := len(active) < len(s.testbed.Status.ActiveRuns)
	if s.deleting() || len(waiting) == 0 || len(active) > 0 || len(s.leaving(active)) > 0 {
		return admission{active: active, queued: int32(len(waiting)), freed: freed}
	}
	next := waiting[0]
	_, found := s.obstacle()
	switch wait := s.timeLeft(found, next, freed); {
	case wait == math.MaxInt64:
		return admission{queued: int32(len(waiting)), freed: freed}
	case wait > 0:
		return admission{queued: int32(len(waiting)), freed: freed, after: wait}
	}
	active = []v1alpha1.ActiveRun{{Namespace: next.Namespace, Name: next.Name, UID: string(next.UID), Since: s.timestamp()}}
	return admission{active: active, queued: int32(len(waiting) - 1), freed: freed}
}

// leaving returns the runs that do not hold the testbed and have not reported the release: their
// pods may still use it.
func (s *scope) leaving(active []v1alpha1.ActiveRun) []string {
	var names []string
	for i := range s.runs {
		run := &s.runs[i]
		if queue.Occupies(run) && !slices.ContainsFunc(active, func(a v1alpha1.ActiveRun) bool { return a.UID == string(run.UID) }) {
			names = append(names, fmt.Sprintf("%q", run.Namespace+"/"+run.Name))
		}
	}
	return names
}
