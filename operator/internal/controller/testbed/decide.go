package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

const (
	// cleanupTimeout is how long a Job may take to remove a node's bridges. In the namespaces of runs it counts from the
	// testbed's deletion: users may delete and make Jobs there.
	cleanupTimeout = 2 * time.Minute
	// cleanupInterval is how often the Jobs are read: no cache has those in the operator's own namespace.
	cleanupInterval = 2 * time.Second
)

// action is the one thing that a reconciliation does in addition to the status.
type action string

const (
	actWait            action = "Wait"
	actAddFinalizer    action = "AddFinalizer"
	actCleanUp         action = "CleanUp"
	actRemoveFinalizer action = "RemoveFinalizer"
	// actPrune deletes finished runs that are more than historyLimit.
	actPrune action = "Prune"
)

type decision struct {
	action action
	// nodes are those with which CleanUp starts.
	nodes []string
	// runs are those that Prune deletes.
	runs []*v1alpha1.BenchmarkRun
	// left are nodes that keep their bridges, with CleanUp and RemoveFinalizer.
	left []string
	// busy is true, with CleanUp, if Jobs of other nodes are active.
	busy bool
	// after is when to check again.
	after time.Duration
	// deleting names what a deletion waits for.
	deleting string
	// admission is who holds the testbed from now on.
	admission admission
}

// decide names exactly one next action, and who holds the testbed. It is pure.
func decide(s *scope) decision {
	admission := admitNext(s)
	d := decideAction(s, admission)
	d.admission = admission
	if admission.after > 0 && (d.after == 0 || admission.after < d.after) {
		d.after = admission.after
	}
	return d
}

func decideAction(s *scope, holders admission) decision {
	switch {
	case s.deleting() && !s.hasFinalizer():
		return decision{action: actWait}
	case s.deleting():
		return decideDeletion(s, holders)
	case !s.hasFinalizer():
		return decision{action: actAddFinalizer}
	}
	if surplus := s.surplus(); len(surplus) > 0 {
		return decision{action: actPrune, runs: surplus}
	}
	return decision{action: actWait}
}

func decideDeletion(s *scope, holders admission) decision {
	if len(holders.active) > 0 {
		var names []string
		for _, a := range holders.active {
			names = append(names, fmt.Sprintf("%q", a.Namespace+"/"+a.Name))
		}
		return decision{action: actWait, deleting: "waiting for run " + strings.Join(names, ", ") + ", which holds it: delete or suspend the run to continue"}
	}
	if leaving := s.leaving(nil); len(leaving) > 0 {
		return decision{action: actWait, deleting: "waiting for the pods of run " + strings.Join(leaving, ", ") + " to end"}
	}
	return decideCleanup(s)
}

// decideCleanup plans the removal of bridges from each node, with a limit for each Job. Where the Job of a run's
// namespace does not manage it, one in the operator's namespace tries again.
func decideCleanup(s *scope) decision {
	var begin, busy, left []string
	for _, node := range slices.Sorted(maps.Keys(s.bridgeNodes())) {
		job := s.cleanups[node]
		switch {
		case !s.nodeExists(node) || s.clean[node]:
		case job == nil:
			begin = append(begin, node)
		case job.Namespace != s.home && (hasEnded(job) || s.onlyHome()):
			begin = append(begin, node)
		case job.Namespace == s.home && (hasEnded(job) || !s.now.Before(job.CreationTimestamp.Add(cleanupTimeout))):
			left = append(left, node)
		default:
			busy = append(busy, node)
		}
	}
	switch {
	case len(begin) > 0 && len(busy) > 0:
		return decision{action: actCleanUp, nodes: begin, busy: true, after: cleanupInterval, deleting: "removing its bridges from node " + strings.Join(slices.Concat(begin, busy), ", ")}
	case len(begin) > 0:
		return decision{action: actCleanUp, nodes: begin, left: left, after: cleanupInterval, deleting: "removing its bridges from node " + strings.Join(begin, ", ")}
	case len(busy) > 0:
		return decision{action: actWait, after: cleanupInterval, deleting: "removing its bridges from node " + strings.Join(busy, ", ")}
	}
	return decision{action: actRemoveFinalizer, left: left}
}

func hasEnded(job *batchv1.Job) bool {
	return jobIs(job, batchv1.JobFailed) || jobIs(job, batchv1.JobComplete)
}

func jobIs(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
