package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/measure"
)

// act performs the action of a decision, and deletes the executions that are more than the limits: who asks for executions without
// end, or fills a quota with them, does not keep old ones from being deleted.
func (r *Reconciler) act(ctx context.Context, s *scope, d *decision) error {
	failed := []error{r.perform(ctx, s, d)}
	for _, execution := range d.surplus {
		failed = append(failed, r.delete(ctx, execution))
	}
	return errors.Join(failed...)
}

func (r *Reconciler) perform(ctx context.Context, s *scope, d *decision) error {
	switch d.action {
	case actExecute:
		return r.execute(ctx, s, d)
	case actReplace, actAbandon:
		return r.delete(ctx, d.execution)
	case actRead:
		return r.readRevision(ctx, s, d)
	case actJudge:
		return r.judge(ctx, s, d)
	case actConfirm:
		return r.confirm(ctx, s, d)
	case actSuspend:
		// The annotation says that the suite suspended it, and no one else.
		by := "null"
		if d.suspend {
			by = `"true"`
		}
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%s}},"spec":{"suspend":%t}}`, d.execution.UID, v1alpha1.AnnotationSuspendedBySuite, by, d.suspend))
		return client.IgnoreNotFound(r.Client.Patch(ctx, &v1alpha1.BenchmarkSuiteRun{ObjectMeta: d.execution.ObjectMeta}, patch))
	}
	return nil
}

func (r *Reconciler) delete(ctx context.Context, execution *v1alpha1.BenchmarkSuiteRun) error {
	err := r.Client.Delete(ctx, execution, client.Preconditions{UID: &execution.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return client.IgnoreNotFound(err)
}

// execute makes the next execution. If an object of someone else has its name, the next number is used the next time. A suite that has no
// execution yet continues after the numbers of an earlier suite of its name, whose measurements are kept.
func (r *Reconciler) execute(ctx context.Context, s *scope, d *decision) error {
	if s.known.Executions == 0 {
		var err error
		switch d.taken, err = r.lastKept(ctx, s); {
		case apierrors.IsForbidden(err):
			d.block(retryInterval, v1alpha1.ReasonWaiting, "waiting until it can be seen which executions an earlier suite of the name had: %v", err)
			return nil
		case err != nil || d.taken > 0:
			return err
		}
	}
	execution := executionOf(s, d)
	if err := controllerutil.SetControllerReference(s.suite, execution, r.Client.Scheme()); err != nil {
		return err
	}
	existing := &v1alpha1.BenchmarkSuiteRun{}
	made, err := apply.Create(ctx, r.Client, r.Reader, execution, existing)
	switch {
	case err == nil && !made && !apply.IsOf(existing, s.suite, "BenchmarkSuite"):
		d.taken, d.foreign = s.known.Executions+1, existing.Name
	case isRefused(err):
		d.wait(execution.Name, err)
	case err != nil:
		return fmt.Errorf("creating execution %q: %w", execution.Name, err)
	}
	return nil
}

// labelsInterval is how often a suite reads the labels of an image again that do not give a revision. It holds nothing meanwhile.
const labelsInterval = time.Minute

// readRevision reads the revision of the image. While a registry does not give it, the suite waits. With labels that cannot be used it is not ready.
func (r *Reconciler) readRevision(ctx context.Context, s *scope, d *decision) error {
	found, err := r.Subjects.Read(ctx, s.image, &s.suite.Spec.Template.Subject.Subject)
	var failure *measure.Failure
	switch {
	case err == nil:
		d.revision = found.Revision
		return nil
	case errors.Is(err, subject.ErrBusy):
		d.blocked, s.unusable = s.knownOfLabels()
		d.checkAfter(conflictDelay)
		return nil
	case !errors.As(err, &failure):
		return err
	case failure.Passing:
		d.blocked = reporting.CauseOf(err)
	default:
		s.unusable = reporting.CauseOf(err)
	}
	d.checkAfter(labelsInterval)
	return nil
}

// isRefused reports whether the API server refuses to make an object: a quota has no room, or a policy forbids it.
func isRefused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) }

// wait turns the making of an execution that the API server refuses into a wait.
func (d *decision) wait(name string, refused error) {
	d.block(retryInterval, v1alpha1.ReasonWaiting, "waiting until BenchmarkSuiteRun %q can be made: %v", name, refused)
}

// metadataOfPage is how many BenchmarkMeasurements are read at once of which only the metadata is read. That has what the API server notes of the
// fields of each, which is about as much as the experiment that a tenant wrote.
const metadataOfPage = 50

// lastKept returns the highest number of an execution of which a measurement is kept, or 0.
func (r *Reconciler) lastKept(ctx context.Context, s *scope) (last int64, err error) {
	for next := ""; ; {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BenchmarkMeasurementList"))
		options := []client.ListOption{client.InNamespace(s.suite.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.suite.Name}, client.Limit(metadataOfPage), client.Continue(next)}
		if err := r.Reader.List(ctx, page, options...); err != nil {
			return 0, fmt.Errorf("listing BenchmarkMeasurements: %w", err)
		}
		for i := range page.Items {
			last = max(last, s.numberOf(page.Items[i].Labels[v1alpha1.LabelSuiteRun]))
		}
		if next = page.Continue; next == "" {
			return last, nil
		}
	}
}

// executionOf returns the execution that a decision asks for.
func executionOf(s *scope, d *decision) *v1alpha1.BenchmarkSuiteRun {
	execution := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.suite.Namespace, Name: executionName(s.suite, s.known.Executions+1),
		Labels:      map[string]string{v1alpha1.LabelSuite: s.suite.Name, v1alpha1.LabelTrigger: string(d.trigger)},
		Annotations: map[string]string{},
	}}
	execution.Spec.Template = *s.suite.Spec.Template.DeepCopy()
	if d.trigger == v1alpha1.TriggerAnnotation {
		execution.Annotations[v1alpha1.AnnotationRunNow] = runNow(s.suite)
	}
	if !d.scheduled.IsZero() {
		execution.Annotations[v1alpha1.AnnotationScheduledTime] = d.scheduled.UTC().Format(time.RFC3339)
	}
	return execution
}
