// Package testbed reconciles Testbeds. It is the only writer of their status, so
// it alone decides which run holds a testbed.
//
// Each reconciliation reads everything into a scope, names one action in addition
// to the status (decide.go), performs it, and computes the whole status from what
// was read (status.go). The two controllers only meet in the API: this one writes
// who holds a testbed, a run writes that it has started and released the testbed.
package testbed

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/pace"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/placement"
	"vnfbench.io/operator/internal/plan"
)

// Reconciler reconciles Testbeds.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client
	// Reader reads from the API server.
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Defaults are the settings of the operator's installation.
	Defaults plan.Defaults
	// Namespace is the operator's own, where Jobs remove bridges if the namespaces of the runs are gone. Its rights
	// there are in the chart and in config/rbac/bindings.yaml.
	Namespace string
}

// +kubebuilder:rbac:groups=vnfbench.io,resources=testbeds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=vnfbench.io,resources=testbeds/status,verbs=patch
// +kubebuilder:rbac:groups=vnfbench.io,resources=testbeds/finalizers,verbs=update
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkruns,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuiteruns,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces;nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller. It needs the cache's index queue.IndexTestbed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("testbed").
		For(&v1alpha1.Testbed{}).
		Watches(&v1alpha1.BenchmarkRun{}, handler.EnqueueRequestsFromMapFunc(testbedOfRun), builder.WithPredicates(runChanged)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.allTestbeds), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.allTestbeds), builder.WithPredicates(nodeChanged)).
		Complete(pace.Limit(r.Clock, r))
}

func testbedOfRun(_ context.Context, run client.Object) []reconcile.Request {
	name := run.(*v1alpha1.BenchmarkRun).TestbedName()
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// runChanged passes the changes of a run that affect its testbed: who wants it and who uses it, where,
// and what the run has found out about the generator and the nodes. A trial is none.
var runChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.BenchmarkRun), e.ObjectNew.(*v1alpha1.BenchmarkRun)
	return before.UID != after.UID || before.TestbedName() != after.TestbedName() ||
		queue.Archived(before) != queue.Archived(after) ||
		queue.Wants(before) != queue.Wants(after) || queue.Occupies(before) != queue.Occupies(after) ||
		!equality.Semantic.DeepEqual(before.Status.Plan, after.Status.Plan) || !before.Status.StartTime.Equal(after.Status.StartTime) ||
		!equality.Semantic.DeepEqual(found(before), found(after))
}}

// finding is what a testbed's status takes from a run. Semantic.DeepEqual compares exported fields.
type finding struct {
	Calibration       []v1alpha1.CalibrationFrame
	Generator, Device *v1alpha1.Fingerprint
}

func found(run *v1alpha1.BenchmarkRun) (f finding) {
	if g := run.Status.Generator; g != nil {
		f.Calibration, f.Generator = g.Calibration, g.Fingerprint
	}
	if d := run.Status.Device; d != nil {
		f.Device = d.Fingerprint
	}
	return f
}

func (r *Reconciler) allTestbeds(ctx context.Context, _ client.Object) []reconcile.Request {
	var list v1alpha1.TestbedList
	if err := r.Client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing testbeds")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// nodeChanged passes the changes that affect a testbed, and not each heartbeat.
var nodeChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
	return !equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		!equality.Semantic.DeepEqual(before.Status.NodeInfo, after.Status.NodeInfo) ||
		!equality.Semantic.DeepEqual(before.Status.Allocatable, after.Status.Allocatable) ||
		placement.Ready(before) != placement.Ready(after)
}}

// Reconcile advances a testbed by one step.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	testbed := &v1alpha1.Testbed{}
	if err := r.Client.Get(ctx, request.NamespacedName, testbed); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !testbed.DeletionTimestamp.IsZero() {
		// The cache may still have a testbed whose finalizer was removed, and its Jobs would be made again.
		if err := r.Reader.Get(ctx, request.NamespacedName, testbed); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	s, err := r.observe(ctx, testbed)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide(s)
	if d.action != actWait {
		ctrl.LoggerFrom(ctx).Info("Acting", "action", d.action, "nodes", d.nodes)
	}
	if err := r.act(ctx, s, d); err != nil {
		return ctrl.Result{}, fmt.Errorf("action %s: %w", d.action, err)
	}
	if d.action == actRemoveFinalizer {
		return ctrl.Result{}, nil
	}
	if err := r.patchStatus(ctx, s, d); err != nil && !apierrors.IsConflict(err) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if s.awaiting() > 0 {
		// The same text each time: then it is one event with a count.
		r.Recorder.Eventf(testbed, nil, corev1.EventTypeWarning, v1alpha1.ReasonKeptUnarchived, string(actPrune),
			"there are more finished runs than spec.historyLimit, and the oldest are kept until the archive has their documents: their conditions Archived say what that waits for")
	}
	if !r.prune(ctx, s, d.runs) && (d.after == 0 || d.after > pruneInterval) {
		d.after = pruneInterval
	}
	return ctrl.Result{RequeueAfter: d.after}, nil
}

// observe reads everything. Nothing else reads.
func (r *Reconciler) observe(ctx context.Context, testbed *v1alpha1.Testbed) (*scope, error) {
	s := &scope{now: r.Clock.Now(), testbed: testbed, home: r.Namespace, cleanups: map[string]*batchv1.Job{}, clean: map[string]bool{}, defaults: r.Defaults}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	s.nodes = nodes.Items
	var namespaces corev1.NamespaceList
	if err := r.Client.List(ctx, &namespaces); err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	s.namespaces = namespaces.Items
	var runs v1alpha1.BenchmarkRunList
	// They are the cache's own: no one may change them.
	if err := r.Client.List(ctx, &runs, client.MatchingFields{queue.IndexTestbed: testbed.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing its runs: %w", err)
	}
	s.runs = runs.Items
	err := r.readNeeded(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.deleting() {
		err = r.readCleanups(ctx, s)
	}
	return s, err
}

// patchStatus stores the status if it changed, and emits events once it is stored.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope, d decision) error {
	before := s.testbed.DeepCopy()
	after := summarize(s, d)
	s.testbed.Status = after
	if stored, err := reporting.StoreStatus(ctx, r.Client, r.Reader, before, s.testbed, nil); !stored {
		return err
	}
	r.emitEvents(s, &before.Status, &after)
	return nil
}
