package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/suite"
)

// defaultMaximumAttempts is the API's default.
const defaultMaximumAttempts = 2

// judge reads the series and judges them, one suite at a time. Series that cannot be judged are a problem that the status names.
func (r *Reconciler) judge(ctx context.Context, s *scope, d *decision) error {
	if !r.judging.TryLock() {
		// No worker waits meanwhile, so that others are executed. A wait for the right to read has its reason still, and so its start.
		reason := v1alpha1.ReasonProgressing
		if c := succeeded(&s.known); c != nil && c.Status == metav1.ConditionUnknown && c.Reason == v1alpha1.ReasonNotJudged {
			reason = c.Reason
		}
		d.block(turnInterval, reason, "execution %s: its series are judged after those of another suite", s.toJudge())
		return nil
	}
	defer r.judging.Unlock()
	h, err := r.readHistory(ctx, s, s.toJudge())
	if apierrors.IsForbidden(err) {
		since := reporting.WaitsSince(s.known.Conditions, v1alpha1.ConditionSucceeded, v1alpha1.ReasonNotJudged, s.now)
		if s.now.Sub(since) < refusedTimeout {
			d.block(retryInterval, v1alpha1.ReasonNotJudged, "execution %s: waiting until the measurements of its series can be read: %v", s.toJudge(), err)
			return nil
		}
		err = measure.Failf(v1alpha1.ReasonNotJudged, "let the operator list them, and execute the suite again or change spec.regression",
			"the API server has refused for %s to list the measurements: %w", refusedTimeout, err)
	}
	if err == nil {
		h.isDeleted = s.latest() == nil
		if d.verdicts, err = judge(s.suite.Spec.Regression, h, s.known.Regression, endOf(s.confirmation)); err != nil {
			err = measure.Failf(v1alpha1.ReasonNotJudged, "", "%w", err)
		}
	}
	var failure *measure.Failure
	if errors.As(err, &failure) {
		d.verdicts = unjudged(s, reporting.CauseOf(err).Message)
	} else if err != nil {
		return err
	}
	d.verdicts.Digest = s.judged
	return nil
}

// unjudged returns the status of an execution whose series cannot be judged: what was known of it before, and the problem.
func unjudged(s *scope, problem string) *v1alpha1.RegressionStatus {
	after := &v1alpha1.RegressionStatus{}
	if before := s.known.Regression; before != nil && before.Execution == s.toJudge() {
		after = before.DeepCopy()
	}
	after.Execution, after.Problem = s.toJudge(), problem
	j := judging{spec: s.suite.Spec.Regression, history: newHistory(after.Execution), after: after}
	j.conclude(after.Confirmation, endOf(s.confirmation))
	after.Confirmation = nil
	return after
}

// endOf says how a confirmation has ended, which is nil if it was deleted.
func endOf(confirmation *v1alpha1.BenchmarkSuiteRun) ending {
	if confirmation == nil {
		return ending{problem: "a confirmation was deleted before its end", isDeleted: true}
	}
	c := outcome(confirmation)
	if c == nil || c.Status == metav1.ConditionTrue {
		return ending{}
	}
	return ending{problem: reporting.NewCause(c.Reason, "%s: %s: %s", confirmation.Name, c.Reason, c.Message).Message}
}

// confirm makes the confirmation that the status names. The decision has its UID, or why it cannot be made.
func (r *Reconciler) confirm(ctx context.Context, s *scope, d *decision) error {
	asked := s.asked()
	wanted, err := r.confirmationOf(ctx, s, asked)
	switch {
	case apierrors.IsNotFound(err):
		d.unmade = fmt.Sprintf("the measurement of run %q or %q was deleted", asked.OldRun, asked.Run)
		return nil
	case apierrors.IsForbidden(err):
		d.block(retryInterval, v1alpha1.ReasonWaiting, "waiting until the measurements of runs %q and %q can be read: %v", asked.OldRun, asked.Run, err)
		return nil
	case err != nil:
		return err
	}
	object, existing := wanted.DeepCopy(), &v1alpha1.BenchmarkSuiteRun{}
	made, err := apply.Create(ctx, r.Client, r.Reader, object, existing)
	switch {
	case err == nil && made:
		d.made = object.UID
		return nil
	case apierrors.IsInvalid(err):
		d.unmade = reporting.NewCause("", "the API server refuses %q: %v", wanted.Name, err).Message
		return nil
	case isRefused(err):
		d.wait(wanted.Name, err)
		return nil
	case err != nil:
		return fmt.Errorf("creating confirmation %q: %w", wanted.Name, err)
	case !apply.IsOf(existing, s.latest(), "BenchmarkSuiteRun"):
		d.foreign = existing.Name
		return nil
	}
	same, err := isSame(existing, wanted)
	if err != nil {
		return err
	}
	if !same {
		d.foreign = existing.Name
		return nil
	}
	d.made = existing.UID
	return nil
}

// isSame reports whether an execution of the operator that exists is the confirmation that was wanted: the operator ended after it had made it. The
// limits of the suite may have changed since.
func isSame(existing, wanted *v1alpha1.BenchmarkSuiteRun) (bool, error) {
	made := existing.Spec.Template.DeepCopy()
	made.MaximumDurationMinutes, made.MaximumAttempts = wanted.Spec.Template.MaximumDurationMinutes, wanted.Spec.Template.MaximumAttempts
	before, err := suite.Digest(made)
	if err != nil {
		return false, err
	}
	after, err := suite.Digest(&wanted.Spec.Template)
	return before == after && equality.Semantic.DeepEqual(existing.Spec.Confirmation, wanted.Spec.Confirmation), err
}

// maxDurationMinutes is the API's bound of maximumDurationMinutes.
const maxDurationMinutes = 43200

// limitOf returns how long a confirmation may take: as long as an execution of the suite, and in proportion longer where it has more runs.
func (s *scope) limitOf(pairs int32) *int32 {
	limit := s.suite.Spec.Template.MaximumDurationMinutes
	if limit == nil {
		return nil
	}
	runs := max(1, int64(s.cells)*int64(s.suite.Spec.Template.Repeats))
	scaled := (int64(*limit)*runsOfPair*int64(pairs) + runs - 1) / runs
	return ptr.To(int32(min(max(int64(*limit), scaled), maxDurationMinutes)))
}

// confirmationOf returns the execution that measures the old and the new version by turns. What both are is in the stored measurements.
func (r *Reconciler) confirmationOf(ctx context.Context, s *scope, asked *v1alpha1.AskedConfirmation) (*v1alpha1.BenchmarkSuiteRun, error) {
	var older, newer v1alpha1.BenchmarkMeasurement
	var experiments [2][]byte
	for i, side := range []struct {
		run    string
		stored *v1alpha1.BenchmarkMeasurement
	}{{asked.OldRun, &older}, {asked.Run, &newer}} {
		if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.suite.Namespace, Name: side.run}, side.stored); err != nil {
			return nil, fmt.Errorf("reading the measurement of run %q: %w", side.run, err)
		}
		var err error
		if experiments[i], err = suite.Comparable(side.stored.Spec.Experiment); err != nil {
			return nil, err
		}
	}
	template, err := suite.Confirmation(experiments[0], experiments[1], asked.Pairs)
	if err != nil {
		return nil, err
	}
	if newer.Spec.Subject != nil {
		template.Subject = &v1alpha1.SuiteSubject{Subject: *newer.Spec.Subject}
	}
	template.MaximumDurationMinutes = s.limitOf(asked.Pairs)
	template.MaximumAttempts = cmp.Or(s.suite.Spec.Template.MaximumAttempts, defaultMaximumAttempts)
	confirmation := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.suite.Namespace, Name: asked.Name, Labels: map[string]string{v1alpha1.LabelSuite: s.suite.Name},
	}, Spec: v1alpha1.BenchmarkSuiteRunSpec{Template: template, Confirmation: &v1alpha1.SuiteConfirmation{
		Suite: s.suite.Name, Cell: newer.Spec.Cell, Run: asked.Run, Cause: asked.Cause, OldRun: asked.OldRun, FirstPair: asked.FirstPair, OldSubject: older.Spec.Subject,
	}}}
	return confirmation, controllerutil.SetControllerReference(s.latest(), confirmation, r.Client.Scheme())
}
