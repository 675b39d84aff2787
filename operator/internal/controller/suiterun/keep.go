package suiterun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
)

// keep stores the figures of the current measurement as BenchmarkMeasurements, before its outcome is in the status. It may be called
// again. A measurement whose figures cannot be kept fails.
func (r *Reconciler) keep(ctx context.Context, s *scope, d decision) (decision, error) {
	from, err := r.originOf(ctx, s)
	switch {
	case errors.Is(err, errNotAskedYet):
		return decision{action: actWait, after: retryInterval}, nil
	case err != nil:
		return d, err
	}
	objects, err := s.kept(from)
	if err != nil {
		d.failure = notKept("the figures of BenchmarkRun %q: %v", s.run.Name, err)
		return d, nil
	}
	for _, object := range objects {
		existing := &v1alpha1.BenchmarkMeasurement{}
		made, err := apply.Create(ctx, r.Client, r.Reader, object.DeepCopy(), existing)
		switch {
		case err == nil && !made:
			same, err := series.SameMeasurement(&existing.Spec, &object.Spec)
			if err != nil {
				return d, err
			}
			if !same {
				d.failure = notKept("BenchmarkMeasurement %q exists with other contents, and is never changed: give the suite another name, or let an administrator of the namespace delete it", object.Name)
				return d, nil
			}
		case apierrors.IsForbidden(err) && s.isLate():
			d.failure = notKept("spec.template.maximumDurationMinutes is over, and the figures of BenchmarkRun %q cannot be kept: %v", s.run.Name, err)
			return d, nil
		case isQuota(err):
			return s.waitToKeep(v1alpha1.ReasonWaiting, err), nil
		case apierrors.IsForbidden(err) && s.mayPass():
			return s.waitToKeep(v1alpha1.ReasonPointsNotKept, err), nil
		case apierrors.IsForbidden(err):
			d.failure = notKept("the API server has refused for startupSeconds, %d, to keep the figures of BenchmarkRun %q: let the operator create BenchmarkMeasurements: %v",
				s.run.Spec.Experiment.StartupSeconds, s.run.Name, err)
			return d, nil
		case apierrors.IsInvalid(err):
			d.failure = notKept("the API server refuses BenchmarkMeasurement %q: %v", object.Name, err)
			return d, nil
		case err != nil:
			return d, fmt.Errorf("creating BenchmarkMeasurement %q: %w", object.Name, err)
		}
	}
	return d, nil
}

// waitToKeep returns the wait until the figures of the current run can be kept.
func (s *scope) waitToKeep(reason string, refused error) decision {
	cause := reporting.NewCause(reason, "waiting until the figures of BenchmarkRun %q can be kept: %v", s.run.Name, refused)
	return decision{action: actWait, after: retryInterval, waiting: cause}
}

// mayPass reports whether the execution has waited for the right to keep figures no longer than the run itself waits for what may pass.
func (s *scope) mayPass() bool {
	since := reporting.WaitsSince(s.execution.Status.Conditions, v1alpha1.ConditionSucceeded, v1alpha1.ReasonPointsNotKept, s.now)
	return s.now.Sub(since) < time.Duration(s.run.Spec.Experiment.StartupSeconds)*time.Second
}

func notKept(format string, args ...any) *reporting.Cause {
	return reporting.NewCause(v1alpha1.ReasonPointsNotKept, format, args...)
}

// suiteName returns the name of the suite that made the execution, or "". A label alone makes it none of a suite.
func (s *scope) suiteName() string {
	if owner := metav1.GetControllerOf(s.execution); owner != nil && owner.Kind == "BenchmarkSuite" && owner.APIVersion == v1alpha1.GroupVersion.String() {
		return owner.Name
	}
	return ""
}

// origin says in which series the points of the current measurement are.
type origin struct {
	// suite is empty where they are in none.
	suite string
	// cell is that of the suite.
	cell    string
	subject *v1alpha1.Subject
	// leg marks the points of a confirmation.
	leg *series.Leg
}

// errNotAskedYet is returned while the suite's status does not have the UID of its confirmation.
var errNotAskedYet = errors.New("the suite has not stored the UID of the confirmation yet")

// originOf returns where the points of the current measurement belong. An execution by hand is in no series. Neither is a
// confirmation that its suite has not asked for, whatever its labels and owners say.
func (r *Reconciler) originOf(ctx context.Context, s *scope) (origin, error) {
	cell := s.execution.Status.Cells[s.current.Cell].Name
	asked := s.execution.Spec.Confirmation
	if asked == nil {
		return origin{suite: s.suiteName(), cell: cell, subject: s.execution.Subject()}, nil
	}
	is, err := r.isAsked(ctx, s.execution)
	if err != nil || !is {
		return origin{}, err
	}
	from := origin{suite: asked.Suite, cell: asked.Cell, subject: s.execution.Subject(), leg: &series.Leg{
		Run: asked.Run, Cause: string(asked.Cause), OldRun: asked.OldRun, Side: series.New, Pair: int(asked.FirstPair) + s.current.Repeat,
	}}
	switch cell {
	case suite.CellNew:
		return from, nil
	case suite.CellOld:
		from.leg.Side, from.subject = series.Old, asked.OldSubject
		return from, nil
	}
	return origin{}, nil
}

// isAsked reports whether the suite that a confirmation names has asked for it: the confirmation is of an execution of that suite, by their
// UIDs, and the suite's status, which the operator alone writes, names this object and its question.
func (r *Reconciler) isAsked(ctx context.Context, e *v1alpha1.BenchmarkSuiteRun) (bool, error) {
	judged, of := &v1alpha1.BenchmarkSuiteRun{}, &v1alpha1.BenchmarkSuite{}
	owner := metav1.GetControllerOf(e)
	if owner == nil || owner.Kind != "BenchmarkSuiteRun" {
		return false, nil
	}
	for name, object := range map[string]client.Object{owner.Name: judged, e.Spec.Confirmation.Suite: of} {
		if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, object); apierrors.IsNotFound(err) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("reading what asked for confirmation %q: %w", e.Name, err)
		}
	}
	if !apply.IsOf(e, judged, "BenchmarkSuiteRun") || !apply.IsOf(judged, of, "BenchmarkSuite") || of.Status.Regression == nil {
		return false, nil
	}
	asked := of.Status.Regression.Confirmation
	if asked == nil || asked.Name != e.Name || !suite.Answers(e.Spec.Confirmation, asked) {
		return false, nil
	}
	if asked.UID == "" {
		return false, errNotAskedYet
	}
	return asked.UID == string(e.UID), nil
}

// kept returns the objects that keep what the current run measured. There are none where no series has it, and for a run without figures.
func (s *scope) kept(from origin) ([]*v1alpha1.BenchmarkMeasurement, error) {
	if from.suite == "" || s.run == nil {
		return nil, nil
	}
	cell := s.execution.Status.Cells[s.current.Cell].Name
	points, err := s.points(from)
	if err != nil || len(points) == 0 {
		return nil, err
	}
	common, parts, err := series.Parts(points)
	if err != nil {
		return nil, err
	}
	experiment, err := s.suite.Experiment(s.current.Cell)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(experiment)
	if err != nil {
		return nil, err
	}
	spec := v1alpha1.BenchmarkMeasurementSpec{
		Suite: from.suite, Execution: s.execution.Name, Cell: cell, Repeat: int32(s.current.Repeat + 1), Run: s.run.Name, RunUID: string(s.run.UID),
		Testbed: s.run.TestbedName(), CompletionTime: *s.run.Status.CompletionTime, Subject: from.subject,
		Experiment: apiextensionsv1.JSON{Raw: text}, Common: common,
	}
	objects := make([]*v1alpha1.BenchmarkMeasurement, len(parts))
	for i, part := range parts {
		spec.Part, spec.Points = int32(i+1), part
		objects[i] = &v1alpha1.BenchmarkMeasurement{Spec: *spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
			Namespace: s.execution.Namespace, Name: s.run.Name,
			Labels: map[string]string{v1alpha1.LabelSuite: from.suite, v1alpha1.LabelSuiteRun: spec.Execution, v1alpha1.LabelCell: cell, v1alpha1.LabelRepeat: fmt.Sprint(spec.Repeat)},
		}}
		if i > 0 {
			// No name of a run ends so: the last part of each is the number of its repeat or attempt, after "-".
			objects[i].Name += fmt.Sprintf(".%d", i+1)
		}
	}
	return objects, nil
}

// points returns the points of the current run, none if it was not measured. Its label, which users can change, does not name the experiment.
func (s *scope) points(from origin) ([]series.Point, error) {
	run := s.run.DeepCopy()
	run.Labels = map[string]string{v1alpha1.LabelExperiment: suite.ExperimentName(from.suite, from.cell)}
	doc, err := report.Build(run, report.Source{}, s.now)
	if err != nil || doc.Completeness != report.Complete {
		return nil, err
	}
	var subject series.Subject
	if of := from.subject; of != nil {
		subject = series.Subject{Name: of.Name, Version: of.Version, Revision: of.Revision, Image: of.Image}
	}
	points, err := report.Points(doc, subject, s.execution.Name, from.leg)
	if errors.Is(err, report.ErrNoFigure) {
		return nil, nil
	}
	if of := from.subject; of != nil && err == nil {
		at, problem := of.Time.At()
		err = problem
		for i := range points {
			points[i].SubjectTime = at
		}
	}
	return points, err
}
