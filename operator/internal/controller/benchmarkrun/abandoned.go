package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	clocks "k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/controller/reporting"
)

const (
	// abandonedInterval is how often Abandoned looks.
	abandonedInterval = 20 * time.Second
	// abandonedPause is the time between two pages and between two runs: everyone who may make runs somewhere decides how many there
	// are, and the operator makes few requests in a second.
	abandonedPause = 200 * time.Millisecond
)

// Abandoned is a runnable that removes the finalizers of deleted runs in namespaces that the operator does not watch: those
// that were taken out of its list, and those in which it had no rights when it started. No controller sees these runs,
// and their finalizers would keep them, and their namespaces. The garbage collector deletes what they have.
type Abandoned struct {
	// Client patches runs and writes Leases, Reader reads both from the API server.
	Client client.Client
	Reader client.Reader
	Clock  clocks.PassiveClock
	// Namespace is the operator's own, which has the Leases of nodes.
	Namespace string
	// Namespaces are those that the operator watches.
	Namespaces []string
	// Interval is the time between two looks; 0: 20 s.
	Interval time.Duration

	pages pages
}

// NeedLeaderElection says that only the leader writes.
func (a *Abandoned) NeedLeaderElection() bool { return true }

// Start returns when the context ends.
func (a *Abandoned) Start(ctx context.Context) error {
	interval := a.Interval
	if interval == 0 {
		interval = abandonedInterval
	}
	for {
		if err := a.letGo(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Letting go of runs in namespaces that are not watched")
		}
		if clock.Sleep(ctx, interval) != nil {
			return nil
		}
	}
}

// letGo removes the finalizers of the runs that are deleted. Of runs it reads only the metadata.
func (a *Abandoned) letGo(ctx context.Context) error {
	var elsewhere []fields.Selector
	for _, namespace := range a.Namespaces {
		elsewhere = append(elsewhere, fields.OneTermNotEqualSelector("metadata.namespace", namespace))
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BenchmarkRun"))
	var failed []error
	_, err := a.pages.read(ctx, a.Reader, list, 0, func() error {
		for i := range list.Items {
			run := &list.Items[i]
			if run.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(run, v1alpha1.Finalizer) {
				continue
			}
			run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BenchmarkRun"))
			if err := a.letGoOf(ctx, run); client.IgnoreNotFound(err) != nil {
				failed = append(failed, fmt.Errorf("run %q of namespace %q: %w", run.Name, run.Namespace, err))
			}
			if err := clock.Sleep(ctx, abandonedPause); err != nil {
				return err
			}
		}
		if list.Continue == "" {
			return nil
		}
		return clock.Sleep(ctx, abandonedPause)
	}, client.MatchingFieldsSelector{Selector: fields.AndSelectors(elsewhere...)})
	if err != nil {
		return fmt.Errorf("listing runs: %w", err)
	}
	return errors.Join(failed...)
}

// letGoOf removes the finalizer of one run.
func (a *Abandoned) letGoOf(ctx context.Context, run *metav1.PartialObjectMetadata) error {
	after := run.DeepCopy()
	controllerutil.RemoveFinalizer(after, v1alpha1.Finalizer)
	if err := a.keepNodes(ctx, run); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Letting go of a run in a namespace that is not watched", "run", run.Namespace+"/"+run.Name)
	if err := reporting.StoreFinalizers(ctx, a.Client, run, after.Finalizers); err != nil {
		return fmt.Errorf("removing its finalizer: %w", err)
	}
	return nil
}

// keepNodes gives the Leases of the run's nodes a time to end: the operator cannot see its pods end.
func (a *Abandoned) keepNodes(ctx context.Context, run *metav1.PartialObjectMetadata) error {
	var leases coordinationv1.LeaseList
	if err := a.Reader.List(ctx, &leases, client.InNamespace(a.Namespace)); err != nil {
		return fmt.Errorf("listing the Leases of nodes: %w", err)
	}
	for i := range leases.Items {
		lease := &leases.Items[i]
		if ptr.Deref(lease.Spec.HolderIdentity, "") != holderIdentity(run) {
			continue
		}
		left, err := a.podsLeft(ctx, run, lease)
		if err != nil {
			return err
		}
		lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = new(metav1.NewMicroTime(a.Clock.Now())), new(int32(left/time.Second))
		if err := a.Client.Update(ctx, lease); err != nil {
			return fmt.Errorf("giving Lease %q a time to end: %w", lease.Name, err)
		}
	}
	return nil
}

// podsLeft returns how long the pods of a run may still use the node of a Lease. Those of a namespace that is being deleted are deleted with it.
// In another one the deletion of the run may have left them (--cascade=orphan). Nothing shows that later: the garbage collector
// removes the finalizer orphan at once.
func (a *Abandoned) podsLeft(ctx context.Context, run *metav1.PartialObjectMetadata, lease *coordinationv1.Lease) (time.Duration, error) {
	namespace := &corev1.Namespace{}
	err := a.Reader.Get(ctx, client.ObjectKey{Name: run.Namespace}, namespace)
	switch {
	case apierrors.IsNotFound(err) || err == nil && !namespace.DeletionTimestamp.IsZero():
		return heldTimeout, nil
	case err != nil:
		return 0, fmt.Errorf("reading its namespace: %w", err)
	}
	whole := &v1alpha1.BenchmarkRun{}
	if err := a.Reader.Get(ctx, client.ObjectKeyFromObject(run), whole); err != nil {
		return 0, fmt.Errorf("reading how long it may use its nodes: %w", err)
	}
	return max(heldTimeout, longestUse(whole, lease).Sub(a.Clock.Now())), nil
}
