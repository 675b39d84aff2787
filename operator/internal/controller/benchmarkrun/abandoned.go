package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
)

// abandonedInterval is how often Abandoned looks.
const abandonedInterval = 20 * time.Second

// Abandoned is a runnable that removes the finalizers of runs in namespaces that are being deleted and that the
// operator could not read when it started. No controller sees these runs, and their finalizers keep the namespaces.
type Abandoned struct {
	// Client patches runs and reads namespaces, Reader reads runs from the API server.
	Client client.Client
	Reader client.Reader
	Clock  clock.PassiveClock
	// Namespaces are those that the operator could not read.
	Namespaces []string

	pages pages
}

// NeedLeaderElection says that only the leader writes.
func (a *Abandoned) NeedLeaderElection() bool { return true }

// Start returns when the context ends.
func (a *Abandoned) Start(ctx context.Context) error {
	for {
		for _, namespace := range a.Namespaces {
			if err := a.letGo(ctx, namespace); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Letting go of runs", "namespace", namespace)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(abandonedInterval):
		}
	}
}

// letGo removes the finalizers in one namespace, if it is being deleted for so long that the runs' pods have had
// their time to end.
func (a *Abandoned) letGo(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{}
	if err := a.Client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return client.IgnoreNotFound(err)
	}
	if namespace.DeletionTimestamp.IsZero() || a.Clock.Now().Before(namespace.DeletionTimestamp.Add(heldTimeout)) {
		return nil
	}
	var runs v1alpha1.BenchmarkRunList
	var failed []error
	_, err := a.pages.read(ctx, a.Reader, &runs, 0, func() error {
		for i := range runs.Items {
			run := &runs.Items[i]
			before := client.MergeFromWithOptions(run.DeepCopy(), client.MergeFromWithOptimisticLock{})
			if run.DeletionTimestamp.IsZero() || !controllerutil.RemoveFinalizer(run, v1alpha1.Finalizer) {
				continue
			}
			if err := a.Client.Patch(ctx, run, before); err != nil && !apierrors.IsNotFound(err) {
				failed = append(failed, fmt.Errorf("removing the finalizer of run %q: %w", run.Name, err))
			}
		}
		return nil
	}, client.InNamespace(name))
	if err != nil {
		return fmt.Errorf("listing runs: %w", err)
	}
	return errors.Join(failed...)
}
