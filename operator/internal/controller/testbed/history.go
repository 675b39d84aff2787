package testbed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

const (
	// defaultHistoryLimit is the API's default, for a Testbed that was stored without one.
	defaultHistoryLimit = 200
	// maxPruned is the number of runs that one reconciliation deletes. Their deletion triggers the next one.
	maxPruned = 20
	// pruneInterval is when runs that could not be deleted are tried again.
	pruneInterval = 5 * time.Minute
)

func (s *scope) historyLimit() int {
	return int(cmp.Or(s.testbed.Spec.HistoryLimit, defaultHistoryLimit))
}

// countsForHistory reports whether a run is one of those that historyLimit bounds: it has ended, has released the
// testbed, and it is not kept.
func countsForHistory(run *v1alpha1.BenchmarkRun) bool {
	return queue.Finished(run) && !queue.Occupies(run) && run.DeletionTimestamp.IsZero() && run.Annotations[v1alpha1.AnnotationKeep] != "true"
}

// awaitsArchive reports whether a run that has ended is kept until the archive has its document. It does not count for historyLimit: a limit with
// runs that cannot be deleted would take it out on those that are archived.
func (s *scope) awaitsArchive(run *v1alpha1.BenchmarkRun) bool {
	return s.defaults.AwaitsArchive && !queue.Archived(run)
}

// awaiting returns how many runs would be deleted if they were archived, of those that ended a while ago.
func (s *scope) awaiting() int {
	kept, archived := 0, 0
	for i := range s.runs {
		switch run := &s.runs[i]; {
		case !countsForHistory(run):
		case s.awaitsArchive(run) && s.now.Sub(endOf(run)) < queue.ArchiveOverdue:
		case s.awaitsArchive(run):
			kept++
		default:
			archived++
		}
	}
	return min(kept, max(0, kept+archived-s.historyLimit()))
}

// surplus returns the finished runs to delete, of which there are more than historyLimit: each time the oldest
// of the namespace that has most of them. So the runs of one namespace cannot push out those of another that has fewer.
func (s *scope) surplus() []*v1alpha1.BenchmarkRun {
	history, number := map[string][]*v1alpha1.BenchmarkRun{}, 0
	for i := range s.runs {
		run := &s.runs[i]
		if countsForHistory(run) && !s.awaitsArchive(run) && !s.needed[client.ObjectKeyFromObject(run)] {
			history[run.Namespace] = append(history[run.Namespace], run)
			number++
		}
	}
	for _, runs := range history {
		slices.SortFunc(runs, byEnd)
	}
	var out []*v1alpha1.BenchmarkRun
	for ; number > s.historyLimit() && len(out) < maxPruned; number-- {
		var most []*v1alpha1.BenchmarkRun
		for _, runs := range history {
			if len(runs) > len(most) || len(runs) == len(most) && len(runs) > 0 && byEnd(runs[0], most[0]) < 0 {
				most = runs
			}
		}
		out = append(out, most[0])
		history[most[0].Namespace] = most[1:]
	}
	return out
}

// byEnd orders runs by the time of their end.
func byEnd(a, b *v1alpha1.BenchmarkRun) int {
	return cmp.Or(endOf(a).Compare(endOf(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func endOf(run *v1alpha1.BenchmarkRun) time.Time {
	if run.Status.CompletionTime == nil {
		return run.CreationTimestamp.Time
	}
	return run.Status.CompletionTime.Time
}

// readNeeded reads which runs others compare with, which may be of any testbed, and which runs are those of executions that have
// not recorded their outcomes: the figures of such a run are kept nowhere else yet.
func (r *Reconciler) readNeeded(ctx context.Context, s *scope) error {
	if len(s.surplus()) == 0 {
		return nil
	}
	var all v1alpha1.BenchmarkRunList
	// They are the cache's own: no one may change them.
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing runs with a baseline: %w", err)
	}
	s.needed = map[types.NamespacedName]bool{}
	for i := range all.Items {
		run := &all.Items[i]
		if baseline := run.Spec.Experiment.Baseline; baseline != nil && run.DeletionTimestamp.IsZero() {
			s.needed[types.NamespacedName{Namespace: run.Namespace, Name: baseline.RunRef.Name}] = true
		}
	}
	var executions v1alpha1.BenchmarkSuiteRunList
	if err := r.Client.List(ctx, &executions, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing executions: %w", err)
	}
	for i := range executions.Items {
		if e := &executions.Items[i]; e.Status.ActiveRun != "" && e.DeletionTimestamp.IsZero() {
			s.needed[types.NamespacedName{Namespace: e.Namespace, Name: e.Status.ActiveRun}] = true
		}
	}
	return nil
}

// prune deletes finished runs, and reports whether it could delete all. An event about each says why. One that cannot
// be deleted, as a policy protects its namespace, is tried again later: it must not delay who is next on the testbed.
func (r *Reconciler) prune(ctx context.Context, s *scope, runs []*v1alpha1.BenchmarkRun) bool {
	all := true
	for _, run := range runs {
		name := run.Namespace + "/" + run.Name
		switch err := r.Client.Delete(ctx, run, client.Preconditions{UID: &run.UID, ResourceVersion: &run.ResourceVersion}); {
		case err == nil:
			r.Recorder.Eventf(run, s.testbed, corev1.EventTypeNormal, v1alpha1.ReasonHistoryLimit, string(actPrune),
				"the run was deleted: Testbed %q keeps %d finished runs; raise its spec.historyLimit, or annotate runs with %s=true", s.testbed.Name, s.historyLimit(), v1alpha1.AnnotationKeep)
		case apierrors.IsConflict(err): // it has changed: perhaps it is to be kept now
			all = false
		case !apierrors.IsNotFound(err):
			all = false
			ctrl.LoggerFrom(ctx).Error(err, "Deleting a finished run", "run", name)
			r.Recorder.Eventf(s.testbed, run, corev1.EventTypeWarning, v1alpha1.ReasonHistoryLimit, string(actPrune),
				"finished run %q is more than spec.historyLimit and cannot be deleted: let the operator delete it, or annotate it with %s=true: %v", name, v1alpha1.AnnotationKeep, err)
		}
	}
	return all
}
