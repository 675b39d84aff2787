// Package benchmarkrun reconciles BenchmarkRuns: a run goes in; its status and
// its children come out.
//
// Each reconciliation reads everything into a scope (observe.go), names exactly
// one next action (decide.go), performs it (act.go), and computes the whole
// status from what was read and done (status.go). No action follows from what is
// kept in memory: a new operator finds its place from the cluster.
package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/pace"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/plan"
)

// Reconciler reconciles BenchmarkRuns.
type Reconciler struct {
	// Client reads from the cache, which has no data of ConfigMaps.
	Client client.Client
	// Reader reads from the API server.
	Reader client.Reader
	// VMs reads virtual machines, Console what their guests print.
	VMs      *VMs
	Console  Console
	Issuer   Issuer
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Metrics  *Metrics
	// Defaults are the settings of the operator's installation.
	Defaults plan.Defaults
	// Namespace is the operator's own, which has the Leases of nodes. Its rights there are an
	// option of an installation: they are in the chart and in config/rbac/bindings.yaml.
	Namespace string
	// Namespaces are those whose runs are reconciled; none: all.
	Namespaces []string

	memory memory
	looks  looks
	pages  pages
}

// The purpose of each verb: children are applied (create, patch) and deleted
// (delete), after a look at whose they are (get); only those that decide a run's
// course are watched. The operator can only grant the roles with which the measurer
// patches its results if it holds that verb itself. Secrets hold the configuration of
// functions in virtual machines: they are made and deleted, and cannot be read back.
// Of logs, only the console of a virtual machine that failed is read. The keys of the cluster's issuer are public.
//
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkruns,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkruns/status,verbs=patch
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkruns/finalizers,verbs=update
// +kubebuilder:rbac:groups=vnfbench.io,resources=testbeds,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;delete
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces;nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachineinstances,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:urls=/.well-known/openid-configuration;/openid/v1/jwks,verbs=get
// +kubebuilder:rbac:groups=k8s.cni.cncf.io,resources=network-attachment-definitions,verbs=list;create;patch;delete

// SetupWithManager registers the controller. It needs the cache's index queue.IndexUnfinished.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	made, err := ctrl.NewControllerManagedBy(mgr).
		Named("benchmarkrun").
		For(&v1alpha1.BenchmarkRun{}, builder.WithPredicates(runChanged)).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(r.runOfOwned)).
		// Without their data: who may write ConfigMaps decides how large they are.
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.runOfOwned), builder.OnlyMetadata).
		// The measurer cannot store a trial without them.
		Watches(&rbacv1.Role{}, handler.EnqueueRequestsFromMapFunc(r.runOfOwned), builder.OnlyMetadata).
		Watches(&rbacv1.RoleBinding{}, handler.EnqueueRequestsFromMapFunc(r.runOfOwned), builder.OnlyMetadata).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.runOfPod)).
		Watches(&v1alpha1.Testbed{}, handler.EnqueueRequestsFromMapFunc(r.runsOfTestbed)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.runsOfNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Build(pace.Limit(r.Clock, r))
	if err != nil {
		return err
	}
	if r.VMs != nil {
		r.VMs.controller, r.VMs.runOf = made, r.runOfOwned
	}
	return nil
}

// conflictDelay is how long a run waits whose action or status met a newer object than the cache showed.
const conflictDelay = time.Second

// Reconcile advances a run by one step.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.BenchmarkRun{}
	if err := r.Client.Get(ctx, request.NamespacedName, run); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s, err := r.observe(ctx, run)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide(s)
	logDecision(ctx, s, d)
	if d, err = r.act(ctx, s, d); apierrors.IsConflict(err) {
		// The cache is late, and its next event may be none that triggers the run.
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("action %s: %w", d.action, err)
	}
	if d.action == actRemoveFinalizer || d.action == actExpire {
		return ctrl.Result{}, nil
	}
	if d, err = r.storeStatus(ctx, s, d); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: conflictDelay}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if d.unarchived {
		r.Recorder.Eventf(s.run, nil, corev1.EventTypeWarning, v1alpha1.ReasonKeptUnarchived, string(actExpire),
			"spec.ttlSecondsAfterFinished is over, and the run is kept until the archive has its document: its condition Archived says what that waits for")
	}
	// A verdict is no error of the operator, whatever it says: its log line is that of logDecision.
	return ctrl.Result{RequeueAfter: d.after}, nil
}

// storeStatus stores the outcome of the decision. It leaves out figures that the API server
// refuses: otherwise the run would never end and never release its testbed. In that case,
// the installed definition of the resource differs from this operator's, or the status is too large. A run that
// has all its figures ends with that reason; its trials stay in the results.
func (r *Reconciler) storeStatus(ctx context.Context, s *scope, d decision) (decision, error) {
	before := s.run.DeepCopy()
	if d.action == actFinish && s.stale {
		// Its last status has the figures of all trials.
		s.evaluate()
		logStack(ctx, s)
		s.stale = false
	}
	status := summarize(s, d)
	if wait := r.memory.reportsLater(s, status); wait > 0 {
		d.after = sooner(d.after, wait)
		return d, nil
	}
	if s.stale {
		d.after = sooner(d.after, reportInterval)
	}
	err := r.patchStatus(ctx, s, d, status)
	if !apierrors.IsInvalid(err) && !reporting.IsTooLarge(err) {
		return d, err
	}
	s.run = before.DeepCopy()
	switch {
	case d.action != actFinish || !d.measured:
	case reporting.IsTooLarge(err):
		d = fail(newCause(v1alpha1.ReasonStatusTooLarge,
			"the figures do not fit into the status, and all trials are kept in ConfigMap %q: measure fewer sizes, loads or repeats in each run: %v", s.names.Results, err))
	default:
		d = fail(newCause(v1alpha1.ReasonResultRejected,
			"the API server refuses the result, whose trials are kept in ConfigMap %q: apply the CustomResourceDefinitions of this operator's version, and the run again: %v", s.names.Results, err))
	}
	after := summarize(s, d)
	if err := r.patchStatus(ctx, s, d, withoutFigures(before.Status, after)); !reporting.IsTooLarge(err) {
		return d, err
	}
	// The figures that were stored before leave no room for the end.
	s.run = before.DeepCopy()
	return d, r.patchStatus(ctx, s, d, withoutFigures(v1alpha1.BenchmarkRunStatus{}, after))
}

// withoutFigures returns the earlier status with only those fields of the later one that
// say where the run is.
func withoutFigures(before, after v1alpha1.BenchmarkRunStatus) v1alpha1.BenchmarkRunStatus {
	kept := *before.DeepCopy()
	kept.ObservedGeneration, kept.Conditions = after.ObservedGeneration, after.Conditions
	kept.StartTime, kept.CompletionTime, kept.QueuePosition = after.StartTime, after.CompletionTime, after.QueuePosition
	kept.TestbedRef, kept.Plan, kept.ResultsRef, kept.Secrets = after.TestbedRef, after.Plan, after.ResultsRef, after.Secrets
	return kept
}

// patchStatus stores a status if it changed, and emits events once it is stored.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope, d decision, after v1alpha1.BenchmarkRunStatus) error {
	before := s.run.DeepCopy()
	// The answer is decoded into the status, and the figures in it may be kept.
	s.run.Status = *after.DeepCopy()
	if stored, err := reporting.StoreStatus(ctx, r.Client, r.Reader, before, s.run, Cached); !stored {
		return err
	}
	for _, e := range eventsBetween(&before.Status, &after) {
		r.Recorder.Eventf(s.run, nil, e.kind, e.reason, string(d.action), "%s", e.message)
	}
	if d.action == actFinish {
		r.Metrics.ended(&after)
	}
	return nil
}

// sooner returns the shorter of two times to wait, of which 0 is none.
func sooner(a, b time.Duration) time.Duration { return min(cmp.Or(a, b), cmp.Or(b, a)) }

// logStack logs where a panic over the records happened, if one did.
func logStack(ctx context.Context, s *scope) {
	if s.stack != nil {
		ctrl.LoggerFrom(ctx).Error(s.recordsErr, "Evaluating the records", "stack", string(s.stack))
	}
}

// failed reports whether the run ends here without having been measured.
func (d decision) failed() bool { return d.action == actFinish && !d.measured }

func logDecision(ctx context.Context, s *scope, d decision) {
	log := ctrl.LoggerFrom(ctx)
	switch {
	case d.outcome != nil:
		log.Info("Finishing", "reason", d.outcome.reason, "message", d.outcome.message)
	case d.action == actWait && d.wait != nil:
		log.V(1).Info("Waiting", "reason", d.wait.reason, "message", d.wait.message)
	case d.action == actWait:
		log.V(1).Info("Waiting", "after", d.after.Round(time.Second))
	default:
		log.Info("Acting", "action", d.action, "Testbed", s.testbedName())
	}
}
