package archiving

import (
	"bytes"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

// executions reconciles BenchmarkSuiteRuns.
type executions struct{ *Archiver }

// pendingAfter is how long an execution that has ended may wait for its runs and its suite before its condition says so.
const pendingAfter = time.Minute

// executionScope is everything that was read of an execution.
type executionScope struct {
	now       time.Time
	execution *v1alpha1.BenchmarkSuiteRun
	// suite is nil where the execution was made by hand, or its suite was deleted.
	suite *v1alpha1.BenchmarkSuite
	// unarchived names those of its runs of which the archive has no document.
	unarchived []string
	runs       map[string]report.RunOutcome
	version    string
}

// executionAwaits reports whether an execution is to be archived: it has its outcome, and no one has archived it.
func executionAwaits(execution *v1alpha1.BenchmarkSuiteRun) bool {
	return report.HasEnded(execution) && !meta.IsStatusConditionTrue(execution.Status.Conditions, v1alpha1.ConditionArchived)
}

// Reconcile archives an execution, if it is to be archived.
func (r *executions) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, request)
	if err != nil || s == nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return r.act(ctx, s.execution, s.execution.Status.Conditions, decideExecution(s))
}

// observe reads everything, or returns nil where there is nothing to do.
func (r *executions) observe(ctx context.Context, request ctrl.Request) (*executionScope, error) {
	s := &executionScope{now: r.Clock.Now(), execution: &v1alpha1.BenchmarkSuiteRun{}, version: r.Version}
	if err := r.Reader.Get(ctx, request.NamespacedName, s.execution); err != nil {
		return nil, err
	}
	if !executionAwaits(s.execution) {
		return nil, nil
	}
	var of v1alpha1.BenchmarkRunList
	if err := r.Client.List(ctx, &of, client.InNamespace(request.Namespace), client.MatchingLabels{v1alpha1.LabelSuiteRun: request.Name}); err != nil {
		return nil, fmt.Errorf("listing the runs of the execution: %w", err)
	}
	for i := range of.Items {
		if run := &of.Items[i]; metav1.IsControlledBy(run, s.execution) && !queue.Archived(run) {
			s.unarchived = append(s.unarchived, run.Name)
		}
	}
	if err := r.readSuite(ctx, s); err != nil || s.pending() != "" {
		return s, err
	}
	var err error
	s.runs, err = records.Outcomes(ctx, r.Reader, s.execution)
	return s, err
}

// readSuite reads the suite that made the execution, if it still exists.
func (r *executions) readSuite(ctx context.Context, s *executionScope) error {
	owner := metav1.GetControllerOf(s.execution)
	if owner == nil || owner.Kind != "BenchmarkSuite" {
		return nil
	}
	suite := &v1alpha1.BenchmarkSuite{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.execution.Namespace, Name: owner.Name}, suite)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the suite of the execution: %w", err)
	case suite.UID == owner.UID:
		s.suite = suite
	}
	return nil
}

// pending says why the document cannot be made yet; "" if it can. What is in it has to be final, and the document of an execution is the last one:
// where the archive has it, it has those of all its runs.
func (s *executionScope) pending() string {
	switch {
	case len(s.unarchived) > 0:
		return "it is stored when the documents of all its runs are; missing are " + excerpt.List(s.unarchived, ", ")
	case !report.IsSettled(s.suite, s.execution):
		return "it is stored when its suite has judged the series after it, with all confirmations"
	}
	return ""
}

// decideExecution makes the document. It is pure, and the same execution gives the same bytes.
func decideExecution(s *executionScope) decision {
	d := decision{key: archive.SuiteKey(s.execution.Namespace, s.execution.Name, string(s.execution.UID)), reason: v1alpha1.ReasonStored}
	end := s.execution.Status.CompletionTime
	if end == nil {
		end = &s.execution.CreationTimestamp
	}
	if why := s.pending(); why != "" {
		waited := s.now.Sub(end.Time)
		d.wait = min(max(settleInterval, waited/10), lastRetry)
		if waited >= pendingAfter {
			d.refused = &outcome{metav1.ConditionUnknown, reporting.NewCause(v1alpha1.ReasonPending, "%s", why)}
		}
		return d
	}
	doc := report.BuildSuite(s.execution, s.runs, s.suite, s.version, end.Time)
	var out bytes.Buffer
	err := document.WriteSuite(&out, doc, true)
	if err == nil {
		_, err = document.ReadSuite(bytes.NewReader(out.Bytes()))
	}
	if err != nil {
		d.refused = refusal(err)
		return d
	}
	d.text = out.Bytes()
	return d
}
