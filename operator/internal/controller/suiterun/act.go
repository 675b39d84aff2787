package suiterun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/suite"
)

// act performs the action of a decision, and returns the decision with what became of it.
func (r *Reconciler) act(ctx context.Context, s *scope, d decision) (decision, error) {
	switch d.action {
	case actDescribe:
		return r.describe(ctx, s)
	case actPlan:
		return r.planCells(ctx, s)
	case actLaunch:
		return r.launch(ctx, s)
	case actRecord:
		return r.keep(ctx, s, d)
	case actSuspend:
		return d, r.setSuspend(ctx, s.run, true)
	case actResume:
		return d, r.setSuspend(ctx, s.run, false)
	case actFinish:
		return d, r.deleteRun(ctx, s)
	}
	return d, nil
}

// describe reads what is tested from the labels of its image. A registry that does not give them is asked again for as long as a run waits
// for what may pass; then the execution ends.
func (r *Reconciler) describe(ctx context.Context, s *scope) (decision, error) {
	found, err := r.Subjects.Read(ctx, s.suite.Image, &s.execution.Spec.Template.Subject.Subject)
	var failure *measure.Failure
	switch {
	case err == nil:
		return decision{action: actDescribe, subject: found}, nil
	case errors.Is(err, subject.ErrBusy):
		return decision{action: actWait, after: conflictDelay, waiting: s.waitsForLabels()}, nil
	case !errors.As(err, &failure):
		return decision{action: actDescribe}, err
	}
	left := s.waitsForLabelsSince().Add(s.suite.Startup).Sub(s.now)
	if failure.Passing && left > 0 {
		return decision{action: actWait, after: min(retryInterval, left), waiting: reporting.CauseOf(err)}, nil
	}
	return decision{action: actFinish, outcome: reporting.CauseOf(err)}, nil
}

// planCells tries the next cells as BenchmarkRuns and plans them. The first that cannot be measured ends the execution.
func (r *Reconciler) planCells(ctx context.Context, s *scope) (decision, error) {
	d := decision{action: actPlan}
	first := int(s.execution.Status.PlannedCells)
	for cell := first; cell < min(first+plannedAtOnce, len(s.suite.Cells)); cell++ {
		seconds, err := r.planCell(ctx, s, cell)
		var failure *measure.Failure
		switch {
		case err == nil:
			d.estimates = append(d.estimates, seconds)
		case !errors.As(err, &failure):
			return d, err
		case failure.Passing && len(d.estimates) > 0:
			return d, nil
		case failure.Passing:
			return decision{action: actWait, after: retryInterval, waiting: reporting.NewCause(failure.Reason, "cell %q: %s", s.suite.Cells[cell].Name, reporting.CauseOf(err).Message)}, nil
		default:
			return finish(failure.Reason, "cell %q: %s", s.suite.Cells[cell].Name, reporting.CauseOf(err).Message), nil
		}
	}
	return d, nil
}

// planCell tries one cell.
func (r *Reconciler) planCell(ctx context.Context, s *scope, cell int) (int64, error) {
	object, err := s.runOf(suite.Measurement{Cell: cell}, 1, r.Client.Scheme())
	if err != nil {
		return 0, err
	}
	err = r.Client.Create(ctx, object, client.DryRunAll)
	switch {
	case apierrors.IsAlreadyExists(err):
		return 0, &measure.Failure{Reason: v1alpha1.ReasonObjectTaken, Err: errors.New(taken(object.GetName()).Message), Passing: true}
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) && !isQuota(err):
		return 0, measure.Failf(v1alpha1.ReasonCellRefused, "correct spec.template", "the API server refuses it as a BenchmarkRun: %w", err)
	case isQuota(err):
		return 0, waitsForQuota(err)
	case err != nil:
		return 0, fmt.Errorf("trying cell %q: %w", s.suite.Cells[cell].Name, err)
	}
	run := &v1alpha1.BenchmarkRun{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, run); err != nil {
		return 0, measure.Failf(v1alpha1.ReasonInvalidExperiment, "", "it cannot be read: %w", err)
	}
	seconds, err := r.Planner.Preview(ctx, run)
	var failure *measure.Failure
	if errors.As(err, &failure) && !failure.Passing {
		err = &measure.Failure{Reason: v1alpha1.ReasonCellNotPlanned, Remedy: failure.Remedy, Err: fmt.Errorf("%s: %w", failure.Reason, failure.Err)}
	}
	return seconds, err
}

func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

func waitsForQuota(err error) *measure.Failure {
	return &measure.Failure{Reason: v1alpha1.ReasonWaiting, Err: fmt.Errorf("waiting for room in a quota of the namespace: %w", err), Passing: true}
}

// launch makes the run of the current measurement. One that the API server refuses fails.
func (r *Reconciler) launch(ctx context.Context, s *scope) (decision, error) {
	d := decision{action: actLaunch}
	object, err := s.runOf(*s.current, int(s.measurement(*s.current).Attempts), r.Client.Scheme())
	switch {
	case measure.ReasonOf(err) != "":
		return decision{action: actRecord, failure: reporting.CauseOf(err)}, nil
	case err != nil:
		return d, err
	}
	err = r.Client.Create(ctx, object)
	switch {
	case apierrors.IsAlreadyExists(err):
		// The cache is late.
		return decision{action: actWait, after: conflictDelay}, nil
	case isQuota(err):
		return decision{action: actWait, after: retryInterval, waiting: reporting.CauseOf(waitsForQuota(err))}, nil
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		return decision{action: actRecord, failure: reporting.NewCause(v1alpha1.ReasonCellRefused, "the API server refuses BenchmarkRun %q: %v", object.GetName(), err)}, nil
	}
	return d, err
}

// runOf returns the run of a measurement. It has what the template says and nothing more, so that the API server's defaults
// apply to what the template leaves out.
func (s *scope) runOf(m suite.Measurement, attempt int, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	experiment, err := s.suite.Experiment(m.Cell)
	if err != nil {
		return nil, err
	}
	cell := s.suite.Cells[m.Cell].Name
	run := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"experiment": experiment}}}
	run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BenchmarkRun"))
	run.SetNamespace(s.execution.Namespace)
	run.SetName(suite.RunName(s.execution.Name, cell, m.Repeat+1, attempt))
	labels := map[string]string{
		v1alpha1.LabelSuiteRun: s.execution.Name, v1alpha1.LabelCell: cell, v1alpha1.LabelRepeat: fmt.Sprint(m.Repeat + 1),
		v1alpha1.LabelExperiment: s.experimentName(cell),
	}
	if name := s.execution.Labels[v1alpha1.LabelSuite]; name != "" {
		labels[v1alpha1.LabelSuite] = name
	}
	run.SetLabels(labels)
	return run, controllerutil.SetControllerReference(s.execution, run, scheme)
}

// experimentName returns the label of a cell's runs. Both cells of a confirmation measure the cell that it asks about.
func (s *scope) experimentName(cell string) string {
	if asked := s.execution.Spec.Confirmation; asked != nil {
		return suite.ExperimentName(asked.Suite, asked.Cell)
	}
	return suite.ExperimentName(cmp.Or(s.execution.Labels[v1alpha1.LabelSuite], s.execution.Name), cell)
}

func (r *Reconciler) setSuspend(ctx context.Context, run *v1alpha1.BenchmarkRun, suspend bool) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"suspend":%t}}`, run.UID, suspend))
	return client.IgnoreNotFound(r.Client.Patch(ctx, &v1alpha1.BenchmarkRun{ObjectMeta: run.ObjectMeta}, patch))
}

// deleteRun deletes the run of an execution that ends before it.
func (r *Reconciler) deleteRun(ctx context.Context, s *scope) error {
	if s.run == nil || s.hasOutcome() {
		return nil
	}
	return client.IgnoreNotFound(r.Client.Delete(ctx, s.run, client.Preconditions{UID: &s.run.UID}))
}
