// Package archiving stores the documents of runs and of executions of suites that have ended in the archive, and says so in their condition
// Archived, which it alone writes.
//
// Each reconciliation reads everything into a scope, makes the document and names the outcome (decide), and stores both (act). It begins when
// nothing else of the run can change: an archive that is away delays the document, and never a run. What is left to do follows from the
// conditions, so a new program continues where another one ended.
package archiving

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

const (
	// firstRetry and lastRetry are the shortest and the longest time until a document is tried again that could not be stored.
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
	// settleInterval is when an execution is looked at again that has ended, and cannot be archived yet; later each time, up to lastRetry, so that many
	// of a tenant do not take the time of the others.
	settleInterval = 15 * time.Second
)

// Store is what the controllers need of the archive.
type Store interface {
	// Store returns nil when the archive has the document, and archive.ErrKept where it keeps another one under the key.
	Store(ctx context.Context, key string, text []byte) error
}

// Archiver is what both controllers share.
type Archiver struct {
	// Client reads from the cache, which has what Cached keeps.
	Client client.Client
	// Reader reads from the API server.
	Reader  client.Reader
	Archive Store
	Clock   clock.PassiveClock
	Metrics *Metrics
	// Version is that of the program, which documents name.
	Version string
}

// SetupWithManager registers the controllers of runs and of executions. Each works on one object at a time: the document of a run takes
// some ten MiB of memory.
func (a *Archiver) SetupWithManager(mgr ctrl.Manager) error {
	options := ctrlcontroller.Options{
		MaxConcurrentReconciles: 1,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
	err := ctrl.NewControllerManagedBy(mgr).Named("archiving-runs").
		For(&v1alpha1.BenchmarkRun{}, builder.WithPredicates(begins(func(o client.Object) bool { return awaits(o.(*v1alpha1.BenchmarkRun)) }))).
		WithOptions(options).
		Complete(&runs{a})
	if err != nil {
		return fmt.Errorf("setting up the archiving of runs: %w", err)
	}
	options.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
	err = ctrl.NewControllerManagedBy(mgr).Named("archiving-executions").
		For(&v1alpha1.BenchmarkSuiteRun{}, builder.WithPredicates(begins(func(o client.Object) bool { return executionAwaits(o.(*v1alpha1.BenchmarkSuiteRun)) }))).
		Owns(&v1alpha1.BenchmarkRun{}, builder.WithPredicates(archived)).
		WithOptions(options).
		Complete(&executions{a})
	if err != nil {
		return fmt.Errorf("setting up the archiving of executions: %w", err)
	}
	return nil
}

// begins passes an object when it begins to wait for its document, whatever else changes in it: who writes labels without end does not make
// the archive be asked more often. Failures are tried again by the queue.
func begins(awaits func(client.Object) bool) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return awaits(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return awaits(e.ObjectNew) && (!awaits(e.ObjectOld) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID())
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// archived passes a run when the archive has it, or when it is deleted: its execution may wait for that.
var archived = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return queue.Archived(e.ObjectNew.(*v1alpha1.BenchmarkRun)) && !queue.Archived(e.ObjectOld.(*v1alpha1.BenchmarkRun))
	},
}

// awaits reports whether a run is to be archived: it has its verdict, has released its testbed, and no one has archived it.
func awaits(run *v1alpha1.BenchmarkRun) bool {
	return queue.Finished(run) && !queue.Occupies(run) && !queue.Archived(run)
}

// CacheOptions returns the options of the cache that the controllers need. No namespaces means all of them. A cache that cannot read calls onError.
func CacheOptions(namespaces []string, onError toolscache.WatchErrorHandlerWithContext) cache.Options {
	options := cache.Options{
		DefaultWatchErrorHandler: onError,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.BenchmarkRun{}:      {Transform: Cached},
			&v1alpha1.BenchmarkSuiteRun{}: {Transform: Cached},
		},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// Cached drops from an object what decides nothing here, before the cache keeps it. There may be a thousand runs, each with all its figures.
func Cached(object any) (any, error) {
	switch o := object.(type) {
	case *v1alpha1.BenchmarkRun:
		status := v1alpha1.BenchmarkRunStatus{Conditions: keptConditions(o.Status.Conditions)}
		return &v1alpha1.BenchmarkRun{TypeMeta: o.TypeMeta, ObjectMeta: keptMeta(&o.ObjectMeta), Status: status}, nil
	case *v1alpha1.BenchmarkSuiteRun:
		status := v1alpha1.BenchmarkSuiteRunStatus{Conditions: keptConditions(o.Status.Conditions)}
		return &v1alpha1.BenchmarkSuiteRun{TypeMeta: o.TypeMeta, ObjectMeta: keptMeta(&o.ObjectMeta), Status: status}, nil
	}
	return object, nil
}

// keptMeta keeps which object it is, and of which execution.
func keptMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	if name, of := m.Labels[v1alpha1.LabelSuiteRun]; of {
		kept.Labels = map[string]string{v1alpha1.LabelSuiteRun: name}
	}
	if owner := metav1.GetControllerOf(m); owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return kept
}

func keptConditions(all []metav1.Condition) []metav1.Condition {
	var kept []metav1.Condition
	for _, c := range all {
		switch c.Type {
		case v1alpha1.ConditionSucceeded, v1alpha1.ConditionAdmitted, v1alpha1.ConditionArchived:
			kept = append(kept, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	return kept
}
