package benchmarkrun

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	updates "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/plan"
)

// What makes the controller look at a run. A thousand runs may wait: a change that means nothing to
// one of them does not wake it.

// runChanged passes the changes of a run that a decision can follow from. What the controller itself
// reports about a measurement is none of them.
var runChanged = predicate.Funcs{UpdateFunc: func(e updates.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.BenchmarkRun), e.ObjectNew.(*v1alpha1.BenchmarkRun)
	return before.UID != after.UID || before.Generation != after.Generation ||
		!before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(before.Finalizers, after.Finalizers) ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		!equality.Semantic.DeepEqual(unreported(before), unreported(after))
}}

// unreported returns a run's status without what is only reported: the figures, the texts of
// conditions and the place in the queue.
func unreported(run *v1alpha1.BenchmarkRun) v1alpha1.BenchmarkRunStatus {
	status := run.Status
	status.Conditions = make([]metav1.Condition, len(run.Status.Conditions))
	for i, c := range run.Status.Conditions {
		status.Conditions[i] = metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason}
	}
	status.QueuePosition, status.Progress, status.Sessions, status.Summary = nil, nil, nil, nil
	status.Generator, status.Chain, status.Device, status.NoisyNeighbors = nil, nil, nil, nil
	status.Results, status.TCP, status.Connections, status.CPU, status.Warnings = nil, nil, nil, nil, nil
	status.Deployments = slices.Clone(status.Deployments)
	for i := range status.Deployments {
		status.Deployments[i].Trials = 0
	}
	if status.Baseline != nil {
		status.Baseline = &v1alpha1.BaselineReport{UID: status.Baseline.UID}
	}
	return status
}

// runOfPod returns the run that launched a pod, if it is to be woken. The annotation names the run: the owner of a traffic
// pod is its Job. Who may write pods can give it to any pod.
func (r *Reconciler) runOfPod(ctx context.Context, object client.Object) []reconcile.Request {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil
	}
	run := r.woken(ctx, pod.Namespace, pod.Annotations[v1alpha1.AnnotationRun], types.UID(pod.Labels[v1alpha1.LabelRun]))
	if run == nil {
		return nil
	}
	s := &scope{run: run, names: plan.NamesOf(run)}
	if !s.isOwn(pod) {
		return nil
	}
	return []reconcile.Request{requestOf(run)}
}

// runOfOwned returns the run that is the controller of an object, if it is to be woken.
func (r *Reconciler) runOfOwned(ctx context.Context, object client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != "BenchmarkRun" {
		return nil
	}
	run := r.woken(ctx, object.GetNamespace(), owner.Name, owner.UID)
	if run == nil {
		return nil
	}
	return []reconcile.Request{requestOf(run)}
}

// woken returns the run with a name and a UID if its objects can mean something to it, or nil. One that has its
// verdict and has released its testbed has no use for them. It is the cache's own: no one may change it.
func (r *Reconciler) woken(ctx context.Context, namespace, name string, uid types.UID) *v1alpha1.BenchmarkRun {
	if name == "" {
		return nil
	}
	stored := &v1alpha1.BenchmarkRun{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, stored, client.UnsafeDisableDeepCopy); err != nil {
		if !apierrors.IsNotFound(err) {
			ctrl.LoggerFrom(ctx).Error(err, "Reading the run of an object", "run", name)
		}
		return nil
	}
	if stored.UID != uid || queue.Finished(stored) && !queue.Occupies(stored) && stored.DeletionTimestamp.IsZero() {
		return nil
	}
	return stored
}

// runsOfTestbed returns the runs that a change of a testbed means something to: those that have or
// get it, and those whose status now says something else about the queue than it should.
func (r *Reconciler) runsOfTestbed(ctx context.Context, changed client.Object) []reconcile.Request {
	requests, err := r.wokenBy(ctx, changed.GetName())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing runs", "Testbed", changed.GetName())
	}
	return requests
}

func (r *Reconciler) wokenBy(ctx context.Context, name string) ([]reconcile.Request, error) {
	testbed := &v1alpha1.Testbed{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, testbed); apierrors.IsNotFound(err) {
		testbed = nil
	} else if err != nil {
		return nil, err
	}
	runs, err := r.unfinished(ctx, client.MatchingFields{queue.IndexUnfinished: name})
	if err != nil {
		return nil, err
	}
	places, err := r.places(ctx, testbed, runs)
	if err != nil {
		return nil, err
	}
	var requests []reconcile.Request
	for i := range runs {
		s := &scope{run: &runs[i], testbed: testbed}
		s.setPlace(places)
		if s.outdated() {
			requests = append(requests, requestOf(&runs[i]))
		}
	}
	if testbed == nil || testbed.Annotations[v1alpha1.AnnotationDefaultTestbed] != "true" {
		return requests, nil
	}
	// A run without a testbed waits for a default.
	runs, err = r.unfinished(ctx, client.MatchingFields{queue.IndexUnfinished: queue.NoTestbed})
	return append(requests, requestsOf(runs)...), err
}

// outdated reports whether a reconciliation could change something about a run that has no verdict.
func (s *scope) outdated() bool {
	if queue.Occupies(s.run) || !s.run.DeletionTimestamp.IsZero() || !s.hasFinalizer() {
		return true
	}
	wait, shown := whyNotAdmitted(s), meta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionAdmitted)
	return wait == nil || shown == nil || shown.Reason != wait.reason || shown.Message != wait.message ||
		!ptr.Equal(s.run.Status.QueuePosition, s.queuePosition())
}

// places says which namespaces may use a testbed, and the places of the runs that wait for it.
type places struct {
	allowed map[string]bool
	// unreadable means that the testbed's selector of namespaces cannot be read.
	unreadable bool
	positions  map[types.UID]int
}

// places reads the namespaces and orders the runs that have no verdict. A testbed that does not exist has no places.
func (r *Reconciler) places(ctx context.Context, testbed *v1alpha1.Testbed, runs []v1alpha1.BenchmarkRun) (places, error) {
	if testbed == nil {
		return places{}, nil
	}
	var namespaces corev1.NamespaceList
	if err := r.Client.List(ctx, &namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return places{}, err
	}
	allowed, err := queue.Allowed(testbed, namespaces.Items)
	return places{allowed, err != nil, queue.Positions(testbed, runs, allowed)}, nil
}

// setPlace sets the place of a run that does not have its testbed.
func (s *scope) setPlace(p places) {
	if s.testbed == nil || s.holds() || !queue.Wants(s.run) {
		return
	}
	// The testbed's condition Ready says what is wrong with a selector that cannot be read.
	s.refused = !p.unreadable && !p.allowed[s.run.Namespace]
	s.position = p.positions[s.run.UID]
	s.before = max(s.position-1, 0) + len(s.testbed.Status.ActiveRuns)
}

// queuePosition returns the place as the status shows it, or nil.
func (s *scope) queuePosition() *int32 {
	if s.position == 0 {
		return nil
	}
	shown, _ := queue.Shown(s.position)
	return ptr.To(int32(shown))
}

// runsOfNamespace returns the runs that a namespace's labels can affect.
func (r *Reconciler) runsOfNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	runs, err := r.unfinished(ctx, client.InNamespace(namespace.GetName()))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing runs", "namespace", namespace.GetName())
	}
	return requestsOf(runs)
}

// unfinished returns the runs that have no verdict. They are the cache's own: no one may change them.
func (r *Reconciler) unfinished(ctx context.Context, which client.ListOption) ([]v1alpha1.BenchmarkRun, error) {
	var runs v1alpha1.BenchmarkRunList
	err := r.Client.List(ctx, &runs, which, client.UnsafeDisableDeepCopy)
	return runs.Items, err
}

func requestsOf(runs []v1alpha1.BenchmarkRun) []reconcile.Request {
	var requests []reconcile.Request
	for i := range runs {
		if !queue.Finished(&runs[i]) {
			requests = append(requests, requestOf(&runs[i]))
		}
	}
	return requests
}

func requestOf(run *v1alpha1.BenchmarkRun) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)}
}
