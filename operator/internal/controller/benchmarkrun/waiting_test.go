package benchmarkrun

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// waitingSinceEpoch makes the status say that the run waits for something to pass.
func waitingSinceEpoch(s *scope) {
	condition(v1alpha1.ConditionChainReady, metav1.ConditionUnknown, v1alpha1.ReasonWaiting)(s)
}

// testbedIs gives the testbed its condition Ready, since the epoch.
func testbedIs(status metav1.ConditionStatus, reason string) with {
	return func(s *scope) {
		s.testbed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(epoch)}}
	}
}

// cordoned gives the run a cluster whose nodes take no pods.
func cordoned(s *scope) {
	withInput(s)
	s.input.Nodes = []corev1.Node{plantest.Node("a")}
	s.input.Nodes[0].Spec.Unschedulable = true
}

// unlabeled gives the run a cluster whose nodes have lost the testbed's label.
func unlabeled(s *scope) {
	withInput(s)
	s.testbed.Spec.Generator.NodeSelector = map[string]string{"role": "lab"}
	s.input.Testbed = s.testbed
}

// TestPassingCausesAreWaitedFor checks which causes end a run at once, and which when startupSeconds are over.
func TestPassingCausesAreWaitedFor(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	noNode := &measure.Failure{Reason: v1alpha1.ReasonNoMatchingNode, Err: errors.New("none of 1 nodes")}
	tests := map[string]struct {
		err    error
		change with
		waits  time.Duration
	}{
		"quota":                          {apierrors.NewForbidden(pods, "p", errors.New("exceeded quota")), withInput, retryInterval},
		"no PriorityClass":               {apierrors.NewForbidden(pods, "p", errors.New("no PriorityClass with name lab was found")), withInput, retryInterval},
		"Pod Security":                   {apierrors.NewForbidden(pods, "p", errors.New("violates PodSecurity")), withInput, 0},
		"a webhook is away":              {apierrors.NewInternalError(errors.New("failed calling webhook")), withInput, retryInterval},
		"too many requests":              {apierrors.NewTooManyRequests("later", 1), withInput, 0},
		"a conflict":                     {apierrors.NewConflict(pods, "p", errors.New("changed")), withInput, 0},
		"a passing failure":              {&measure.Failure{Reason: v1alpha1.ReasonResourceMissing, Passing: true, Err: errors.New("0 devices")}, withInput, retryInterval},
		"a lasting failure":              {&measure.Failure{Reason: v1alpha1.ReasonResourceMissing, Err: errors.New("0 devices")}, withInput, 0},
		"no node, the testbed has some":  {noNode, func(s *scope) { unlabeled(s); testbedIs("True", v1alpha1.ReasonReady)(s) }, retryInterval},
		"no node, the testbed lost them": {noNode, func(s *scope) { unlabeled(s); testbedIs("False", v1alpha1.ReasonNodesNotReady)(s) }, retryInterval},
		"no node ever":                   {noNode, func(s *scope) { unlabeled(s); testbedIs("False", v1alpha1.ReasonNoMatchingNode)(s) }, 0},
		"no node for a virtual machine":  {noNode, func(s *scope) { withInput(s); testbedIs("True", v1alpha1.ReasonReady)(s) }, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, ok := newScope(admitted, test.change).waitOut(test.err)
			if ok != (test.waits > 0) || ok && d.after != test.waits {
				t.Errorf("waits %t, for %s", ok, d.after)
			}
			if _, ok := newScope(admitted, test.change, waitingSinceEpoch, after(300*time.Second)).waitOut(test.err); ok {
				t.Error("waits after startupSeconds")
			}
		})
	}
}

// TestNodesWereWaitedForInTheQueue checks that a run does not wait for nodes a second time that its testbed has missed
// for startupSeconds.
func TestNodesWereWaitedForInTheQueue(t *testing.T) {
	missing := &measure.Failure{Reason: v1alpha1.ReasonResourceMissing, Passing: true, Err: errors.New("0 devices")}
	s := newScope(admitted, withInput, testbedIs("False", v1alpha1.ReasonResourceMissing), after(301*time.Second))
	if d, ok := s.waitOut(missing); ok {
		t.Errorf("waits %s", d.after)
	}
	for reason, waits := range map[string]bool{v1alpha1.ReasonInsufficientCPU: true, v1alpha1.ReasonNoMatchingNode: true} {
		if _, ok := s.waitOut(&measure.Failure{Reason: reason, Passing: true, Err: errors.New("cordoned")}); ok != waits {
			t.Errorf("%s, which the testbed has not missed: waits %t", reason, ok)
		}
	}
	s = newScope(admitted, withInput, testbedIs("False", v1alpha1.ReasonNodesNotReady), after(301*time.Second))
	if _, ok := s.waitOut(&measure.Failure{Reason: v1alpha1.ReasonNoMatchingNode, Passing: true, Err: errors.New("cordoned")}); ok {
		t.Error("waits again for nodes that are not ready")
	}
	full := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("exceeded quota"))
	if _, ok := s.waitOut(full); !ok {
		t.Error("a quota that is full since now")
	}
}

// TestWaitIsInTheStatus checks that the condition names the cause and keeps the time of its start.
func TestWaitIsInTheStatus(t *testing.T) {
	r := &Reconciler{Client: fakeCluster(t)}
	s := newScope(admitted, cordoned, condition(v1alpha1.ConditionChainReady, metav1.ConditionUnknown, v1alpha1.ReasonPending), after(time.Minute))
	for range 2 {
		d, err := r.act(t.Context(), s, decide(s))
		if err != nil || d.action != actWait || d.chain == nil {
			t.Fatalf("%s, %+v, %v", d.action, d.outcome, err)
		}
		s.run.Status = summarize(s, d)
		c := meta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionChainReady)
		if c.Reason != v1alpha1.ReasonWaiting || !strings.Contains(c.Message, "are cordoned") || !c.LastTransitionTime.Time.Equal(epoch.Add(time.Minute)) {
			t.Fatalf("%+v", c)
		}
		if c := meta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionSucceeded); c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonWaiting {
			t.Fatalf("%+v", c)
		}
		s.now = s.now.Add(20 * time.Second)
	}
	s.now = epoch.Add(time.Minute + 300*time.Second)
	if d, err := r.act(t.Context(), s, decide(s)); err != nil || d.outcome == nil || d.outcome.reason != v1alpha1.ReasonNoMatchingNode {
		t.Errorf("%s, %+v, %v", d.action, d.outcome, err)
	}
}

// TestEveryFailureOfPlanningHasAReason checks that neither a panic nor an error without a reason is tried again without end.
func TestEveryFailureOfPlanningHasAReason(t *testing.T) {
	if _, err := planOf(t.Context(), plan.Input{Run: nil}); measure.ReasonOf(err) != v1alpha1.ReasonInvalidConfiguration {
		t.Errorf("%v", err)
	}
}

// TestRefusedReplacement checks that a run ends when its Job may not create another pod, and waits for a quota.
func TestRefusedReplacement(t *testing.T) {
	refused := func(message string) with {
		return func(s *scope) {
			s.jobEvents = []corev1.Event{
				{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "of an earlier pod", LastTimestamp: metav1.NewTime(epoch.Add(-time.Hour))},
				{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "created", LastTimestamp: metav1.NewTime(epoch.Add(time.Hour))},
				{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: message, FirstTimestamp: metav1.NewTime(epoch.Add(time.Hour)), LastTimestamp: metav1.NewTime(epoch.Add(time.Hour))},
			}
		}
	}
	later := func(kind, reason, message string) with {
		return func(s *scope) {
			at := metav1.NewTime(epoch.Add(time.Hour + time.Minute))
			s.jobEvents = append(s.jobEvents, corev1.Event{Type: kind, Reason: reason, Message: message, FirstTimestamp: at, LastTimestamp: at})
		}
	}
	thenRefused := later(corev1.EventTypeWarning, "FailedCreate", `pods "m" is forbidden: violates PodSecurity`)
	thenCreated := later(corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: m")
	crashed := measurers(pod("m", ended(137, "Error", "")))
	if podCheckInterval > time.Minute {
		t.Errorf("a refusal is noticed after %s", podCheckInterval)
	}
	checkDecisions(t, map[string]decisionTest{
		"no replacement yet":             {newScope(launched, withRecords(open), functions(ready, ready), crashed, after(time.Hour)), actWait, "", podCheckInterval},
		"the replacement is refused":     {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused(`pods "m" is forbidden: violates PodSecurity`), after(time.Hour)), actFinish, v1alpha1.ReasonPodForbidden, 0},
		"the pod is gone and refused":    {newScope(launched, withRecords(open), functions(ready, ready), heldBy(""), refused("denied the request"), after(time.Hour)), actFinish, v1alpha1.ReasonPodForbidden, 0},
		"the quota is full":              {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused(`pods "m" is forbidden: exceeded quota: compute`), after(time.Hour)), actWait, v1alpha1.ReasonPending, podCheckInterval},
		"the quota stays full":           {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused(`pods "m" is forbidden: exceeded quota: compute`), after(time.Hour+300*time.Second)), actFinish, v1alpha1.ReasonPodForbidden, 0},
		"refused while the chain starts": {newScope(launched, withRecords(calibrated), functions(ready, running), crashed, refused(`pods "m" is forbidden: violates PodSecurity`), after(time.Minute)), actFinish, v1alpha1.ReasonPodForbidden, 0},
		"the PriorityClass is missing":   {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused(`pods "m" is forbidden: no PriorityClass with name lab was found`), after(time.Hour)), actWait, v1alpha1.ReasonPending, podCheckInterval},
		"the PriorityClass stays away":   {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused(`pods "m" is forbidden: no PriorityClass with name lab was found`), after(time.Hour+300*time.Second)), actFinish, v1alpha1.ReasonPodForbidden, 0},
		"the API server was slow":        {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused("etcdserver: request timed out"), after(time.Hour)), actWait, v1alpha1.ReasonPending, podCheckInterval},
		"the API server stays slow":      {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused("etcdserver: request timed out"), after(time.Hour+300*time.Second)), actFinish, v1alpha1.ReasonPodForbidden, 0},
		"the quota was just made":        {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused(`pods "m" is forbidden: status unknown for quota: compute`), after(time.Hour)), actWait, v1alpha1.ReasonPending, podCheckInterval},
		"slow, and then refused":         {newScope(launched, withRecords(open), functions(ready, ready), crashed, refused("etcdserver: request timed out"), thenRefused, after(time.Hour+2*time.Minute)), actFinish, v1alpha1.ReasonPodForbidden, 0},
		"refused before the pod that is gone": {newScope(launched, withRecords(open), functions(ready, ready), heldBy(""), refused(`pods "m" is forbidden: exceeded quota: compute`), thenCreated, after(2*time.Hour)),
			actWait, "", podCheckInterval},
		"the measurer runs": {newScope(launched, withRecords(open), functions(ready, ready), measurers(pod("m", running)), refused("denied the request"), after(time.Hour)), actWait, "", maxUse(newScope().run) - time.Hour},
	})
}

// TestRegistryThatIsAway checks that a run waits for a registry that does not answer, and not for long for one that
// does not have the image.
func TestRegistryThatIsAway(t *testing.T) {
	for message, want := range map[string]time.Duration{
		`failed to do request: Head "https://registry.example/v2": dial tcp: lookup registry.example: no such host`: 300 * time.Second,
		"dial tcp 192.0.2.1:443: connect: connection refused":                                                       300 * time.Second,
		"unexpected status from HEAD request: 503 Service Unavailable":                                              300 * time.Second,
		`Back-off pulling image "registry/image:1"`:                                                                 300 * time.Second,
		"failed to resolve reference \"registry/image:1\": registry/image:1: not found":                             imagePullTimeout,
		"manifest unknown": imagePullTimeout,
		"pull access denied, repository does not exist or may require authorization": imagePullTimeout,
	} {
		p := pod("f", waiting("ErrImagePull", message))
		if got := diagnoseImage(&p, epoch.Add(300*time.Second)); got == nil || got.reason != v1alpha1.ReasonImageUnavailable || got.deadline.Sub(epoch) != want {
			t.Errorf("%s: %+v", message, got)
		}
	}
}

// TestRightsAreRestored checks that a run whose measurer has lost its rights gives them back, and does nothing else.
func TestRightsAreRestored(t *testing.T) {
	lost := func(s *scope) { s.rightsLost = true }
	s := newScope(launched, withRecords(open), functions(ready, ready), measurers(pod("m", running)), lost)
	if d := decide(s); d.action != actRestoreRights {
		t.Errorf("%s", d.action)
	}
	var kinds []string
	for _, object := range s.rights() {
		kinds = append(kinds, rightsKind(object))
	}
	if got := strings.Join(kinds, ","); got != "Role,RoleBinding" {
		t.Errorf("restores %s", got)
	}
}

// TestAFailedRunIsNoError checks that a verdict, whatever it says, is no error of the operator: tenants' runs that fail
// must not raise its alert.
func TestAFailedRunIsNoError(t *testing.T) {
	s := newScope(admitted)
	s.run.Spec.Experiment.Baseline = &v1alpha1.Baseline{RunRef: v1alpha1.LocalReference{Name: "absent"}}
	c := fakeCluster(t, s.run, s.testbed)
	r := &Reconciler{Client: c, Reader: c, Clock: clocktesting.NewFakePassiveClock(epoch), Recorder: events.NewFakeRecorder(10), Metrics: NewMetrics()}
	if result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.run)}); err != nil || result != (ctrl.Result{}) {
		t.Fatalf("%+v, %v", result, err)
	}
	stored := &v1alpha1.BenchmarkRun{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), stored); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionSucceeded); c == nil || c.Reason != v1alpha1.ReasonBaselineUnusable {
		t.Errorf("%+v", c)
	}
}
