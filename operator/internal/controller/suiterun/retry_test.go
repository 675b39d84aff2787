package suiterun

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/suite"
)

// TestRetriesAndFailFast checks that a failure for a cause that may pass is tried again while there are attempts, with failFast too; that any other one,
// and the last attempt, is recorded; and that only a recorded failure ends an execution with failFast.
func TestRetriesAndFailFast(t *testing.T) {
	for _, test := range []struct {
		reason            string
		attempt, attempts int32
		want              action
	}{
		{v1alpha1.ReasonImageUnavailable, 1, 2, actRetry},
		{v1alpha1.ReasonImageUnavailable, 2, 3, actRetry},
		{v1alpha1.ReasonImageUnavailable, 2, 2, actRecord},
		{v1alpha1.ReasonImageUnavailable, 1, 1, actRecord},
		// A template that was stored without a number.
		{v1alpha1.ReasonImageUnavailable, 1, 0, actRecord},
		{v1alpha1.ReasonNotAccepted, 1, 5, actRecord},
		{v1alpha1.ReasonNoPathThroughChain, 1, 5, actRecord},
		{v1alpha1.ReasonSucceeded, 1, 5, actRecord},
	} {
		for _, failFast := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s in attempt %d of %d, failFast %t", test.reason, test.attempt, test.attempts, failFast), func(t *testing.T) {
				s := newScope(t, 5, 1)
				s.execution.Status.PlannedCells = int32(len(s.execution.Status.Cells))
				s.execution.Spec.Template.FailFast, s.execution.Spec.Template.MaximumAttempts = failFast, test.attempts
				s.current = &suite.Measurement{}
				s.measurement(*s.current).State, s.measurement(*s.current).Attempts = v1alpha1.MeasurementRunning, test.attempt
				s.run = &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: s.runName()}}
				condition := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: test.reason, Message: "m"}
				succeeds := test.reason == v1alpha1.ReasonSucceeded
				if succeeds {
					condition.Status = metav1.ConditionTrue
				}
				s.run.Status.Conditions = []metav1.Condition{condition}

				d := decide(s)
				if d.action != test.want || (d.failure == nil) != succeeds || !succeeds && d.failure.Reason != test.reason {
					t.Fatalf("%+v, want %s", d, test.want)
				}
				s.execution.Status = summarize(s, d)
				m := s.measurement(suite.Measurement{})
				wantAttempts, wantState := test.attempt, v1alpha1.MeasurementFailed
				switch {
				case test.want == actRetry:
					wantAttempts, wantState = test.attempt+1, v1alpha1.MeasurementRunning
				case succeeds:
					wantState = v1alpha1.MeasurementSucceeded
				}
				if m.Attempts != wantAttempts || m.State != wantState {
					t.Errorf("%+v, want %s in attempt %d", m, wantState, wantAttempts)
				}

				// The next step.
				s.current, s.run = nil, nil
				s.findCurrent()
				next := decide(s)
				want := actStart
				switch {
				case test.want == actRetry:
					want = actLaunch
				case failFast && !succeeds:
					want = actFinish
				}
				if next.action != want || want == actFinish && next.outcome.Reason != v1alpha1.ReasonFailedFast {
					t.Errorf("then %+v, want %s", next, want)
				}
			})
		}
	}
}
