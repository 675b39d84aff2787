package benchmarkrun

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestTestbedIsNotReleasedByTheCache checks that a run that is suspended, deleted or over does not release its testbed while the API
// server has a Job or pods of it that the cache does not show yet.
func TestTestbedIsNotReleasedByTheCache(t *testing.T) {
	over := func(s *scope) { finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)(s) }
	lost := func(s *scope) { s.testbed.Status.ActiveRuns = nil }
	for name, test := range map[string]struct {
		change with
		real   func(*scope) client.Object
		want   action
	}{
		"suspended, with a Job": {suspended, realJob, actStopPods},
		"deleted, with a Job":   {deleted, realJob, actStopPods},
		"over, with a pod":      {over, realPod, actStopPods},
		"no longer admitted":    {lost, realJob, actStopPods},
		"suspended":             {suspended, nil, actRelease},
		"deleted":               {deleted, nil, actRelease},
		"over":                  {over, nil, actRelease},
	} {
		t.Run(name, func(t *testing.T) {
			given := newScope(admitted, test.change)
			real := []client.Object{given.testbed}
			if test.real != nil {
				real = append(real, test.real(given))
			}
			r := &Reconciler{Client: fakeCluster(t, given.testbed, given.run), Reader: fakeCluster(t, real...), Clock: clocktesting.NewFakePassiveClock(epoch), Issuer: &counting{}}
			s, err := r.observe(t.Context(), given.run)
			if err != nil {
				t.Fatal(err)
			}
			if got := decide(s).action; got != test.want {
				t.Errorf("the next action is %s, want %s", got, test.want)
			}
		})
	}
}

// TestNamespaceGoesWithTheOperatorsRights checks that a run in a namespace that is being deleted loses its
// finalizer when the operator's rights there are gone already, and in no other namespace.
func TestNamespaceGoesWithTheOperatorsRights(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, "x", errors.New("no rights"))
	for name, deletionTimestamp := range map[string]*metav1.Time{"going": new(metav1.NewTime(epoch)), "there": nil} {
		t.Run(name, func(t *testing.T) {
			given := newScope(admitted, deleted)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: given.run.Namespace, DeletionTimestamp: deletionTimestamp, Finalizers: []string{"kubernetes"}}}
			all := interceptor.NewClient(fakeCluster(t, given.testbed, given.run, namespace).(client.WithWatch), interceptor.Funcs{
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return forbidden },
			})
			live := interceptor.NewClient(all, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return forbidden
				},
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
					return forbidden
				},
			})
			r := &Reconciler{Client: all, Reader: live, Clock: clocktesting.NewFakePassiveClock(epoch), Issuer: &counting{}}
			s, err := r.observe(t.Context(), given.run)
			if deletionTimestamp == nil {
				if !apierrors.IsForbidden(err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d, err := r.act(t.Context(), s, decide(s))
			if err != nil || d.action != actRelease {
				t.Errorf("%s, %v", d.action, err)
			}
			if err := r.unlessTerminating(t.Context(), s, r.deleteRecords(t.Context(), s)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHeldPods checks that a pod that has ended does not keep its testbed occupied for longer than a while by a
// finalizer, and that one that may still run does.
func TestHeldPods(t *testing.T) {
	const grace = time.Minute
	held := func(s *scope) *corev1.Pod {
		p := realPod(s).(*corev1.Pod)
		p.Finalizers, p.DeletionTimestamp = []string{"example.com/held"}, new(metav1.NewTime(epoch.Add(grace)))
		p.Spec.NodeName, p.Status.Phase = "a", corev1.PodFailed
		return p
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		after  time.Duration
		want   action
		again  time.Duration
	}{
		"ended":           {func(*corev1.Pod) {}, 2 * time.Minute, actStopPods, 4 * time.Minute},
		"ended long ago":  {func(*corev1.Pod) {}, grace + heldTimeout, actRelease, 0},
		"never scheduled": {func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending }, grace + heldTimeout, actRelease, 0},
		"may still run":   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, 24 * time.Hour, actStopPods, podCheckInterval},
	} {
		t.Run(name, func(t *testing.T) {
			given := newScope(admitted, deleted)
			p := held(given)
			test.change(p)
			all := fakeCluster(t, given.testbed, given.run, p)
			r := &Reconciler{Client: all, Reader: all, Clock: clocktesting.NewFakePassiveClock(epoch.Add(test.after)), Issuer: &counting{}}
			s, err := r.observe(t.Context(), given.run)
			if err != nil {
				t.Fatal(err)
			}
			if got := decide(s); got.action != test.want || got.after != test.again {
				t.Errorf("%s after %s, want %s after %s", got.action, got.after, test.want, test.again)
			}
		})
	}
}

// TestResultsAreNotReadFromTheCache checks that a chain that the operator itself closed and deleted is not
// lost: the cache may show the pods' deletion before it shows the closed chain.
func TestResultsAreNotReadFromTheCache(t *testing.T) {
	given := newScope(admitted)
	made, run := ownPlan(t, given)
	progress := `{"stage":"waiting for the chain","calibrated":true,"deployment":2}`
	results := func(chain string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: given.names.Results},
			Data:       map[string]string{measure.KeyProgress: progress, measure.KeyChain: chain, measure.KeyDeployments: `[{"number":1}]`},
		}
	}
	job := realJob(given)
	r := &Reconciler{
		Client: fakeCluster(t, given.testbed, run, job, made, results(measure.ChainReady)),
		Reader: fakeCluster(t, given.testbed, run, job, made, results("")),
		Clock:  clocktesting.NewFakePassiveClock(epoch), Issuer: &counting{},
	}
	s, err := r.observe(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if d := decide(s); d.action != actLaunchChain {
		t.Errorf("the next action is %s, %+v, want that the next deployment is launched", d.action, d.outcome)
	}
}

// TestOnlyARunThatIsMeasuredIsEvaluated checks that records are not evaluated while nothing follows from
// them, so that a run whose records take long can still be suspended and deleted.
func TestOnlyARunThatIsMeasuredIsEvaluated(t *testing.T) {
	queued := func(s *scope) { s.testbed.Status.ActiveRuns, s.run.Status.Conditions = nil, nil }
	over := func(s *scope) { finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)(s) }
	for name, test := range map[string]struct {
		change with
		want   bool
	}{
		"measured": {func(*scope) {}, true}, "suspended": {suspended, false}, "deleted": {deleted, false}, "queued": {queued, false}, "over": {over, false},
	} {
		t.Run(name, func(t *testing.T) {
			given := newScope(admitted, test.change)
			made, run := ownPlan(t, given)
			records := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: given.names.Results},
				Data:       map[string]string{"trial-000000.json": `{"index":0,"stage":"WarmUp","outcome":{"directions":[{"direction":"Forward"}]}}`},
			}
			all := fakeCluster(t, given.testbed, run, made, records)
			r := &Reconciler{Client: all, Reader: all, Clock: clocktesting.NewFakePassiveClock(epoch), Issuer: &counting{}}
			s, err := r.observe(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.plan != nil && s.records != nil; got != test.want {
				t.Errorf("read: %t, want %t; the plan: %v, the records: %v", got, test.want, s.planErr, s.recordsErr)
			}
		})
	}
}

// ownPlan returns the ConfigMap of a plan for a scope's run, and the run with its digest.
func ownPlan(t *testing.T, s *scope) (*corev1.ConfigMap, *v1alpha1.BenchmarkRun) {
	t.Helper()
	made, err := plan.Make(plantest.Input(1))
	if err != nil {
		t.Fatal(err)
	}
	made.Run, made.Testbed = plan.Reference{Namespace: s.run.Namespace, Name: s.run.Name, UID: s.run.UID}, plan.Reference{Name: s.testbed.Name, UID: s.testbed.UID}
	configMap := chain.PlanConfigMap(made)
	s.run.Status.Plan = &v1alpha1.PlanSummary{Digest: made.Digest, StoredDigest: plan.Sum(configMap.Data), GeneratorNode: made.GeneratorNode, DeviceNode: made.DeviceNode}
	return configMap, s.run
}

// fakeCluster returns an API server, or a cache, that has the objects.
func fakeCluster(t testing.TB, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	copies := make([]client.Object, len(objects))
	for i, o := range objects {
		copies[i] = o.DeepCopyObject().(client.Object)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(copies...).WithStatusSubresource(&v1alpha1.BenchmarkRun{}).
		WithIndex(&v1alpha1.BenchmarkRun{}, queue.IndexTestbed, queue.TestbedOf).
		WithIndex(&v1alpha1.BenchmarkRun{}, queue.IndexUnfinished, queue.UnfinishedOf).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).Build()
}

func realJob(s *scope) client.Object {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: s.names.Job, CreationTimestamp: metav1.NewTime(epoch)}}
}

func realPod(s *scope) client.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: s.names.Function("one"), Labels: map[string]string{v1alpha1.LabelRun: string(s.run.UID)}}}
}
