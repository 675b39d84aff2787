// Package suite reconciles BenchmarkSuites: a suite goes in; a BenchmarkSuiteRun for each change of its template, each
// time of its schedule and each request, the outcome of the latest one, and the verdicts of its series come out. Where a series needs
// interleaved runs of an old and a new version, a further BenchmarkSuiteRun makes them (judge.go, confirm.go).
//
// Each reconciliation reads everything into a scope, names one action (decide.go), performs it (act.go), and computes
// the whole status (status.go). Why an execution was made is also in the execution itself, so that an operator that ends
// between both writes makes no second one.
package suite

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/controller/pace"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/controller/suiterun"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/schedule"
	"vnfbench.io/operator/internal/suite"
)

// Subjects reads from images what is tested.
type Subjects interface {
	suiterun.Subjects
	// Check returns a *measure.Failure if the labels of an image may not be read.
	Check(image string) error
}

// Reconciler reconciles BenchmarkSuites.
type Reconciler struct {
	// Client reads from the cache, which has no templates of suites and executions.
	Client client.Client
	// Reader reads from the API server.
	Reader   client.Reader
	Subjects Subjects
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// AwaitsArchive keeps executions that are more than the limits until they are archived.
	AwaitsArchive bool

	// judging is held by the suite that is judged: the points of one may take as much memory as there is for all, and who may write suites
	// decides how many there are.
	judging sync.Mutex
}

// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuites,verbs=get;list;watch
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuites/status,verbs=patch
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuites/finalizers,verbs=update
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuiteruns,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkmeasurements,verbs=get;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("benchmarksuite").
		For(&v1alpha1.BenchmarkSuite{}).
		Owns(&v1alpha1.BenchmarkSuiteRun{}, builder.WithPredicates(executionChanged)).
		// A worker may wait for a registry. Those of others stay free.
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: max(1, mgr.GetControllerOptions().MaxConcurrentReconciles) + subject.AtOnce}).
		Watches(&v1alpha1.BenchmarkSuiteRun{}, handler.EnqueueRequestsFromMapFunc(suiteOfConfirmation), builder.WithPredicates(executionChanged)).
		Complete(pace.Limit(r.Clock, r))
}

// suiteOfConfirmation returns the suite that a confirmation names. Its owner is the execution that was judged.
func suiteOfConfirmation(_ context.Context, object client.Object) []reconcile.Request {
	of := object.(*v1alpha1.BenchmarkSuiteRun).Spec.Confirmation
	if of == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: of.Suite}}}
}

// executionChanged passes the changes of an execution that its suite depends on: its outcome, its subject, whether it is suspended, and
// its deletion. A measurement is none.
var executionChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.BenchmarkSuiteRun), e.ObjectNew.(*v1alpha1.BenchmarkSuiteRun)
	was, is := outcome(before), outcome(after)
	return before.Spec.Suspend != after.Spec.Suspend || isArchived(before) != isArchived(after) || (before.Status.Subject == nil) != (after.Status.Subject == nil) || !before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		(was == nil) != (is == nil) || was != nil && (was.Status != is.Status || was.Reason != is.Reason)
}}

// outcome returns the condition Succeeded of an execution, or nil.
func outcome(execution *v1alpha1.BenchmarkSuiteRun) *metav1.Condition {
	return meta.FindStatusCondition(execution.Status.Conditions, v1alpha1.ConditionSucceeded)
}

// Reconcile advances a suite by one step.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	// The cache has no templates.
	object := &v1alpha1.BenchmarkSuite{}
	if err := r.Reader.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the garbage collector deletes its executions
	}
	s, err := r.observe(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide(s)
	if d.action != actWait {
		ctrl.LoggerFrom(ctx).Info("Acting", "action", d.action, "trigger", d.trigger)
	}
	if err := r.act(ctx, s, &d); err != nil {
		return ctrl.Result{}, fmt.Errorf("action %s: %w", d.action, err)
	}
	if err := r.patchStatus(ctx, s, d); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: conflictDelay}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{RequeueAfter: d.after}, nil
}

// observe reads everything. Nothing else reads, except for what has the name of the next execution, or is kept of it.
func (r *Reconciler) observe(ctx context.Context, object *v1alpha1.BenchmarkSuite) (*scope, error) {
	s := &scope{now: r.Clock.Now(), suite: object, awaitsArchive: r.AwaitsArchive}
	var list v1alpha1.BenchmarkSuiteRunList
	if err := r.Client.List(ctx, &list, client.InNamespace(object.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: object.Name}); err != nil {
		return nil, fmt.Errorf("listing its executions: %w", err)
	}
	for i := range list.Items {
		if apply.IsOf(&list.Items[i], object, "BenchmarkSuite") && s.numberOf(list.Items[i].Name) > 0 {
			s.executions = append(s.executions, &list.Items[i])
		}
	}
	slices.SortFunc(s.executions, func(a, b *v1alpha1.BenchmarkSuiteRun) int { return int(s.numberOf(a.Name) - s.numberOf(b.Name)) })
	err := r.whole(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.digest, err = suite.Digest(&object.Spec.Template); err != nil {
		return nil, err
	}
	cellsOf := suite.Parse
	ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == object.Generation {
		// It was taken before.
		cellsOf = suite.Resume
	}
	parsed, err := cellsOf(&object.Spec.Template)
	if err == nil && parsed.Image != "" {
		err = r.Subjects.Check(parsed.Image)
	}
	switch {
	case err == nil:
		s.cells, s.image = len(parsed.Cells), parsed.Image
	case measure.ReasonOf(err) == "":
		return nil, err
	default:
		s.problem = reporting.CauseOf(err)
	}
	if object.Spec.Schedule != "" {
		if s.schedule, err = schedule.Parse(object.Spec.Schedule, s.timeZone(), s.now); err != nil {
			s.problem = reporting.NewCause(v1alpha1.ReasonInvalidSchedule, "spec.schedule: %v", err)
		}
	}
	if err := s.fold(); err != nil {
		return nil, err
	}
	return s, r.observeRegression(ctx, s)
}

// observeRegression reads the confirmation that the status names. The cache may not have one that was just made.
func (r *Reconciler) observeRegression(ctx context.Context, s *scope) error {
	latest := s.latest()
	if execution := s.toJudge(); execution != "" {
		var uid types.UID
		if latest != nil {
			uid = latest.UID
		}
		var err error
		if s.judged, err = digestOf(s.suite.Spec.Regression, execution, uid); err != nil {
			return err
		}
	}
	asked := s.asked()
	if asked == nil || asked.UID == "" && s.confirms() {
		return nil
	}
	confirmation := &v1alpha1.BenchmarkSuiteRun{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.suite.Namespace, Name: asked.Name}, confirmation)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading confirmation %q: %w", asked.Name, err)
	}
	if err == nil && (string(confirmation.UID) == asked.UID || asked.UID == "" && isMadeFor(confirmation, latest, asked)) {
		s.confirmation = confirmation
	}
	return nil
}

// isMadeFor reports whether an execution is the confirmation that was asked for, which the operator made before it ended or spec.regression changed.
func isMadeFor(confirmation, latest *v1alpha1.BenchmarkSuiteRun, asked *v1alpha1.AskedConfirmation) bool {
	return latest != nil && apply.IsOf(confirmation, latest, "BenchmarkSuiteRun") && suite.Answers(confirmation.Spec.Confirmation, asked)
}

// whole reads executions that the status does not have yet, whose templates the cache does not have. Those that are gone stay
// as the cache has them.
func (r *Reconciler) whole(ctx context.Context, s *scope) error {
	for i, cached := range s.executions {
		if s.numberOf(cached.Name) <= s.suite.Status.Executions {
			continue
		}
		execution := &v1alpha1.BenchmarkSuiteRun{}
		if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(cached), execution); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading execution %q: %w", cached.Name, err)
		} else if err == nil {
			s.executions[i] = execution
		}
	}
	return nil
}

// patchStatus stores the status if it changed, and emits events once it is stored.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope, d decision) error {
	before := s.suite.DeepCopy()
	after := summarize(s, d)
	s.suite.Status = after
	if stored, err := reporting.StoreStatus(ctx, r.Client, r.Reader, before, s.suite, nil); !stored {
		return err
	}
	for _, e := range eventsBetween(&before.Status, &after, d) {
		r.Recorder.Eventf(s.suite, nil, e.Kind, e.Reason, string(d.action), "%s", e.Message)
	}
	return nil
}
