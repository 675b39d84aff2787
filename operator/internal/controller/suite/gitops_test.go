package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/testing/gitopstest"
)

var epoch = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

type with func(*scope)

// newScope returns a suite that has been executed once.
func newScope(changes ...with) *scope {
	s := &scope{
		now: epoch, digest: "d", cells: 2,
		suite: &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", Generation: 1, UID: "suite"}},
		known: v1alpha1.BenchmarkSuiteStatus{Executions: 1, LastExecution: &v1alpha1.SuiteExecution{Name: "nightly-1", Trigger: v1alpha1.TriggerChange, TemplateDigest: "d"}},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// executed adds an execution with an outcome.
func executed(name string, outcome metav1.ConditionStatus, reason string) with {
	return func(s *scope) {
		e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, Labels: map[string]string{v1alpha1.LabelSuite: "nightly"}}}
		e.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: outcome, Reason: reason, Message: "6 measurements"}}
		s.executions = append(s.executions, e)
	}
}

// TestGitOpsHealth checks how GitOps tools see a suite, with the expressions and scripts of config/gitops.
func TestGitOpsHealth(t *testing.T) {
	inProgress := gitopstest.Verdict{Kstatus: status.InProgressStatus, Flux: status.InProgressStatus}
	current := gitopstest.Verdict{Kstatus: status.CurrentStatus, Flux: status.CurrentStatus}
	failed := gitopstest.Verdict{Kstatus: status.FailedStatus, Flux: status.FailedStatus}
	never := func(s *scope) { s.suite.Spec.RunOn, s.known = v1alpha1.RunOnNever, v1alpha1.BenchmarkSuiteStatus{} }
	tests := map[string]struct {
		scope  *scope
		want   gitopstest.Verdict
		argoCD string
	}{
		"succeeded":       {newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)), current, "Healthy"},
		"failed":          {newScope(executed("nightly-1", metav1.ConditionFalse, v1alpha1.ReasonMeasurementsFailed)), failed, "Degraded"},
		"active":          {newScope(executed("nightly-1", metav1.ConditionUnknown, v1alpha1.ReasonProgressing)), inProgress, "Progressing"},
		"due":             {newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded), func(s *scope) { s.digest = "other" }), inProgress, "Progressing"},
		"due and waiting": {newScope(executed("nightly-1", metav1.ConditionUnknown, v1alpha1.ReasonProgressing), func(s *scope) { s.digest = "other" }), inProgress, "Progressing"},
		"suspended":       {newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded), func(s *scope) { s.digest, s.suite.Spec.Suspend = "other", true }), inProgress, "Suspended"},
		"not due yet":     {newScope(never), current, "Healthy"},
		"invalid":         {newScope(func(s *scope) { s.problem = &reporting.Cause{Reason: v1alpha1.ReasonAxesConflict, Message: "axis a"} }), failed, "Degraded"},
	}
	recorded := map[string]gitopstest.ArgoCD{}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := test.scope.suite.DeepCopy()
			object.Status = summarize(test.scope, decide(test.scope))
			succeeded := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionSucceeded)
			stored := gitopstest.Stored(t, "BenchmarkSuite", object)
			if diff := cmp.Diff(test.want, gitopstest.Judge(t, stored)); diff != "" {
				t.Error(diff)
			}
			recorded[name] = gitopstest.ArgoCD{Health: test.argoCD, Message: succeeded.Reason + ": " + succeeded.Message, Object: stored}
			if name == "succeeded" {
				object.Generation++
				recorded["changed"] = gitopstest.ArgoCD{Health: "Progressing", Message: gitopstest.UnseenMessage, Object: gitopstest.Stored(t, "BenchmarkSuite", object)}
			}
		})
	}
	recorded["just made"] = gitopstest.ArgoCD{Health: "Progressing", Message: gitopstest.UnseenMessage, Object: gitopstest.New("BenchmarkSuite")}
	gitopstest.CompareArgoCD(t, "BenchmarkSuite", recorded)
}

// TestHistory checks which executions are deleted: the oldest of each outcome that are more than the limit, none that is active or
// kept, and the latest one only when its outcome is in the suite's status.
func TestHistory(t *testing.T) {
	s := newScope(func(s *scope) {
		s.suite.Spec.SucceededHistoryLimit, s.suite.Spec.FailedHistoryLimit = ptr.To[int32](1), ptr.To[int32](0)
		s.known.LastExecution.Name = "nightly-6"
	}, executed("nightly-1", "True", "Succeeded"), executed("nightly-2", "True", "Succeeded"), executed("nightly-3", "False", "FailedFast"),
		executed("nightly-4", "True", "Succeeded"), executed("nightly-5", "Unknown", "Progressing"), executed("nightly-6", "False", "FailedFast"))
	s.executions[0].Annotations = map[string]string{v1alpha1.AnnotationKeep: "true"}
	names := func() (names []string) {
		for _, e := range s.surplus() {
			names = append(names, e.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"nightly-3", "nightly-2"}, names()); diff != "" {
		t.Error(diff)
	}
	s.suite.Status.LastExecution = s.known.LastExecution
	s.suite.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: "FailedFast"}}
	if diff := cmp.Diff([]string{"nightly-6", "nightly-3", "nightly-2"}, names()); diff != "" {
		t.Error(diff)
	}
}

// TestFold checks that an operator that ended after it had made an execution does not make it again.
func TestFold(t *testing.T) {
	s := newScope(func(s *scope) { s.suite.Status = s.known }, executed("nightly-2", "Unknown", "Progressing"), executed("nightly-3", "Unknown", "Progressing"))
	s.executions[0].Labels[v1alpha1.LabelTrigger], s.executions[0].Annotations = "Annotation", map[string]string{v1alpha1.AnnotationRunNow: "now"}
	s.executions[1].Labels[v1alpha1.LabelTrigger], s.executions[1].Annotations = "Schedule", map[string]string{v1alpha1.AnnotationScheduledTime: "2026-11-23T11:00:00Z"}
	if err := s.fold(); err != nil {
		t.Fatal(err)
	}
	if k := s.known; k.Executions != 3 || k.LastExecution.Name != "nightly-3" || k.LastExecution.Trigger != v1alpha1.TriggerSchedule || k.LastRunNow != "now" || !k.LastScheduleTime.Time.Equal(epoch.Add(-time.Hour)) {
		t.Errorf("known are %+v", k)
	}
}

// TestHistoryOfALoop checks that old executions are deleted also while the next one is due: a program that asks for executions without end, or a
// quota that has no room, does not keep them.
func TestHistoryOfALoop(t *testing.T) {
	s := newScope(executed("nightly-1", "False", "CellRefused"), executed("nightly-2", "False", "CellRefused"), func(s *scope) {
		s.suite.Spec.FailedHistoryLimit = ptr.To[int32](1)
		s.suite.Annotations = map[string]string{v1alpha1.AnnotationRunNow: "again"}
		s.known.LastExecution.Name = "nightly-2"
	})
	if d := decide(s); d.action != actExecute || len(d.surplus) != 1 || d.surplus[0].Name != "nightly-1" {
		t.Errorf("%s, and deletes %v", d.action, d.surplus)
	}
}

// TestReadyTemplateIsNotCheckedAgain checks that the experiments of all cells are checked once for each generation of a suite, and not in each step.
func TestReadyTemplateIsNotCheckedAgain(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	r := &Reconciler{Client: c, Reader: c, Clock: clocktesting.NewFakePassiveClock(epoch)}
	object := newScope().suite
	object.Spec.Template.Experiment.Raw = []byte(`{"chain":[{"name":"fw","function":"Firewall"}]}`)
	object.Spec.Template.Matrix.Axes = []v1alpha1.Axis{{Name: "x", Path: "unknown", Values: []apiextensionsv1.JSON{{Raw: []byte("1")}, {Raw: []byte("2")}}}}
	for _, test := range []struct {
		ready      metav1.ConditionStatus
		generation int64
		reason     string
	}{{metav1.ConditionTrue, 1, ""}, {metav1.ConditionTrue, 0, v1alpha1.ReasonAxisPathNotFound}, {metav1.ConditionFalse, 1, v1alpha1.ReasonAxisPathNotFound}} {
		object.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: test.ready, ObservedGeneration: test.generation}}
		s, err := r.observe(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		if test.reason == "" && (s.problem != nil || s.cells != 2) || test.reason != "" && (s.problem == nil || s.problem.Reason != test.reason) {
			t.Errorf("%+v: %d cells, %+v", test, s.cells, s.problem)
		}
	}
}

// TestRefusedExecution checks that an execution that the API server refuses is none that was made, and is tried again soon.
func TestRefusedExecution(t *testing.T) {
	s := newScope(executed("nightly-1", "True", "Succeeded"), func(s *scope) { s.digest = "other" })
	d := decide(s)
	d.after = time.Hour
	d.wait("nightly-2", errors.New("exceeded quota: small"))
	status := summarize(s, d)
	if d.after != retryInterval || status.Executions != 1 || status.LastExecution.Name != "nightly-1" {
		t.Errorf("after %s, %+v", d.after, status)
	}
	c := succeeded(&status)
	if c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonWaiting || c.Message != `waiting until BenchmarkSuiteRun "nightly-2" can be made: exceeded quota: small` {
		t.Errorf("%+v", c)
	}
	if events := eventsBetween(&s.known, &status, d); len(events) != 1 || events[0].Reason != v1alpha1.ReasonWaiting {
		t.Errorf("%+v", events)
	}
	if events := eventsBetween(&status, &status, d); len(events) != 0 {
		t.Errorf("an event for each attempt: %+v", events)
	}
}

// TestConfirmationOfATakenName checks that a confirmation whose name another writer has taken gets the next number, and that one that the API server
// refuses waits.
func TestConfirmationOfATakenName(t *testing.T) {
	s := newScope(executed("nightly-1", "True", "Succeeded"), func(s *scope) {
		s.suite.Spec.Regression = &v1alpha1.SuiteRegression{}
		s.known.Regression = &v1alpha1.RegressionStatus{Execution: "nightly-1", Confirmations: 1, Confirmation: &v1alpha1.AskedConfirmation{Name: "nightly-1-confirm-1", Run: "r"}}
	})
	after := summarize(s, decision{action: actConfirm, foreign: "nightly-1-confirm-1"})
	if asked := after.Regression.Confirmation; asked.Name != "nightly-1-confirm-2" || asked.UID != "" || asked.Problem != "" || after.Regression.Confirmations != 2 {
		t.Errorf("%+v", after.Regression)
	}
	if events := eventsBetween(&s.known, &after, decision{action: actConfirm, foreign: "nightly-1-confirm-1"}); len(events) != 1 || events[0].Reason != v1alpha1.ReasonObjectTaken {
		t.Errorf("%+v", events)
	}
	d := decision{action: actConfirm}
	d.wait("nightly-1-confirm-1", errors.New("exceeded quota: small"))
	after = summarize(s, d)
	if c := succeeded(&after); c.Reason != v1alpha1.ReasonWaiting || after.Regression.Confirmation.Name != "nightly-1-confirm-1" || after.Regression.Confirmation.Problem != "" {
		t.Errorf("%+v, %+v", c, after.Regression)
	}
}
