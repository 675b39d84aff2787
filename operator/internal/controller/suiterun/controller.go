// Package suiterun reconciles BenchmarkSuiteRuns: an execution of a suite goes in; BenchmarkRuns, one at a time, and the
// table of its cells come out.
//
// Each reconciliation reads everything into a scope, names one action (decide.go), performs it (act.go), and computes
// the whole status (status.go). What is made next follows from the template, the seed and the states of the measurements
// in the status, so an execution continues with its next cell after any interruption. The status names a BenchmarkRun
// before it is made.
package suiterun

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/controller/pace"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/suite"
)

// Planner plans a run that does not exist.
type Planner interface {
	// Preview returns how long the trials of a run take, or a *measure.Failure.
	Preview(ctx context.Context, run *v1alpha1.BenchmarkRun) (seconds int64, err error)
}

// Subjects reads from images what is tested.
type Subjects interface {
	// Read returns what is given of a subject, and for the rest what the labels of an image say: subject.ErrBusy or a *measure.Failure.
	Read(ctx context.Context, image string, given *v1alpha1.Subject) (*v1alpha1.Subject, error)
}

// Reconciler reconciles BenchmarkSuiteRuns.
type Reconciler struct {
	// Client reads from the cache, which has no figures of runs that are over, and no templates and cells of executions.
	Client client.Client
	// Reader reads from the API server.
	Reader   client.Reader
	Planner  Planner
	Subjects Subjects
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Metrics  *Metrics
}

// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuiteruns,verbs=get;list;watch
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuiteruns/status,verbs=patch
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuiteruns/finalizers,verbs=update
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuites,verbs=get
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkruns,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkmeasurements,verbs=create;get;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("benchmarksuiterun").
		For(&v1alpha1.BenchmarkSuiteRun{}).
		Owns(&v1alpha1.BenchmarkRun{}, builder.WithPredicates(runChanged)).
		// A worker may wait for a registry. Those of others stay free.
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: max(1, mgr.GetControllerOptions().MaxConcurrentReconciles) + subject.AtOnce}).
		Complete(pace.Limit(r.Clock, r))
}

// runChanged passes the changes of a run that its execution depends on: its end. Its deletion always passes.
var runChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return queue.Finished(e.ObjectOld.(*v1alpha1.BenchmarkRun)) != queue.Finished(e.ObjectNew.(*v1alpha1.BenchmarkRun))
}}

// Reconcile advances an execution by one step.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cached := &v1alpha1.BenchmarkSuiteRun{}
	if err := r.Client.Get(ctx, request.NamespacedName, cached); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if Ended(cached) && cached.Status.ObservedGeneration == cached.Generation {
		return ctrl.Result{}, nil
	}
	// The cache has no templates and no cells.
	execution := &v1alpha1.BenchmarkSuiteRun{}
	if err := r.Reader.Get(ctx, request.NamespacedName, execution); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s, err := r.observe(ctx, execution)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide(s)
	if d.action != actWait {
		ctrl.LoggerFrom(ctx).Info("Acting", "action", d.action, "run", s.runName())
	}
	if d, err = r.act(ctx, s, d); err != nil {
		return ctrl.Result{}, fmt.Errorf("action %s: %w", d.action, err)
	}
	if err := r.storeStatus(ctx, s, d); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: conflictDelay}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{RequeueAfter: d.after}, nil
}

// observe reads everything. Nothing else reads.
func (r *Reconciler) observe(ctx context.Context, execution *v1alpha1.BenchmarkSuiteRun) (*scope, error) {
	s := &scope{now: r.Clock.Now(), execution: execution}
	if s.ended() || s.deleting() {
		return s, nil
	}
	cellsOf := suite.Parse
	if len(execution.Status.Cells) > 0 {
		// The template, which cannot change, was taken when the execution began.
		cellsOf = suite.Resume
	}
	s.suite, s.problem = cellsOf(&execution.Spec.Template)
	if s.problem != nil && measure.ReasonOf(s.problem) == "" {
		return nil, s.problem
	}
	s.findCurrent()
	if s.current == nil {
		return s, nil
	}
	run, err := readRun(ctx, r.Client, s)
	if err == nil && (run == nil || queue.Finished(run)) {
		// The cache may be late, and it has no figures of a run that is over.
		run, err = readRun(ctx, r.Reader, s)
	}
	if run != nil && !apply.IsOf(run, execution, "BenchmarkSuiteRun") {
		s.foreign, run = run, nil
	}
	s.run = run
	return s, err
}

// readRun reads the run of the current measurement, or returns nil.
func readRun(ctx context.Context, reader client.Reader, s *scope) (*v1alpha1.BenchmarkRun, error) {
	run := &v1alpha1.BenchmarkRun{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: s.execution.Namespace, Name: s.runName()}, run)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading BenchmarkRun %q: %w", s.runName(), err)
	}
	return run, nil
}

// storeStatus stores the status of a decision. An execution whose status does not fit into its object ends, with as much of its table
// as there is room for.
func (r *Reconciler) storeStatus(ctx context.Context, s *scope, d decision) error {
	before := s.execution.DeepCopy()
	after := summarize(s, d)
	err := r.patchStatus(ctx, s, before, after, d)
	if !reporting.IsTooLarge(err) || d.action == actLaunch {
		// The next step has the run that was just made, and can delete it.
		return err
	}
	if err := r.deleteRun(ctx, s); err != nil {
		return err
	}
	s.execution.Status = after
	if d.action != actFinish {
		d = finish(v1alpha1.ReasonStatusTooLarge, "the status has no room in its object, which has what its author and others wrote too: remove annotations, labels and finalizers of it, "+
			"or make several suites of the matrix; the table has the means of its cells alone: %v", err)
		after = summarize(s, d)
	}
	for _, shorten := range []func([]v1alpha1.SuiteCell) []v1alpha1.SuiteCell{onlyMeans, noCells} {
		after.Cells = shorten(after.Cells)
		if err = r.patchStatus(ctx, s, before, after, d); !reporting.IsTooLarge(err) {
			return err
		}
	}
	return err
}

// patchStatus stores a status if it changed, and emits events once it is stored.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope, before *v1alpha1.BenchmarkSuiteRun, after v1alpha1.BenchmarkSuiteRunStatus, d decision) error {
	s.execution = before.DeepCopy()
	s.execution.Status = after
	if stored, err := reporting.StoreStatus(ctx, r.Client, r.Reader, before, s.execution, nil); !stored {
		return err
	}
	for _, e := range eventsBetween(&before.Status, &after, d) {
		r.Recorder.Eventf(s.execution, nil, e.Kind, e.Reason, string(d.action), "%s", e.Message)
	}
	if d.action == actFinish {
		r.Metrics.ended(&after)
	}
	return nil
}
