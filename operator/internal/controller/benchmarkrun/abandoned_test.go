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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// goingCluster has a namespace that is being deleted since a time, with a run that is too, and one that is there to stay.
func goingCluster(t *testing.T, since time.Time) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	deleted := ptr.To(metav1.NewTime(since))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going", DeletionTimestamp: deleted, Finalizers: []string{"test"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stays"}},
		&v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "run", UID: "run", DeletionTimestamp: deleted, Finalizers: []string{v1alpha1.Finalizer, "test"}}},
		&v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "stays", Name: "run", DeletionTimestamp: deleted, Finalizers: []string{v1alpha1.Finalizer}}},
	)
}

// TestAbandonedRuns: the operator starts again while a namespace is being deleted in which it has no rights any more.
func TestAbandonedRuns(t *testing.T) {
	since := time.Now().Truncate(time.Second)
	for after, want := range map[time.Duration][2]int{time.Minute: {2, 1}, heldTimeout: {1, 1}} {
		c := goingCluster(t, since).Build()
		a := &Abandoned{Client: c, Reader: c, Clock: clocktesting.NewFakePassiveClock(since.Add(after)), Namespaces: []string{"going", "stays", "gone"}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Start(ctx); err != nil {
			t.Fatal(err)
		}
		for i, namespace := range []string{"going", "stays"} {
			run := &v1alpha1.BenchmarkRun{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "run"}, run); err != nil {
				t.Fatal(err)
			}
			if len(run.Finalizers) != want[i] {
				t.Errorf("after %s, namespace %q: %v", after, namespace, run.Finalizers)
			}
		}
	}
}

// TestPodsThatCannotBeRead: a watched namespace is deleted, its RoleBinding is gone, and a pod of a deleted run is on a
// node that is lost. The cache keeps the pod permanently.
func TestPodsThatCannotBeRead(t *testing.T) {
	since := time.Now().Truncate(time.Second)
	tests := map[string]struct {
		namespace string
		forbidden bool
		after     time.Duration
		remain    bool
	}{
		"the time has passed": {"going", true, heldTimeout, false},
		"it may still end":    {"going", true, heldTimeout - time.Second, true},
		"it can be read":      {"going", false, time.Hour, true},
		"the namespace stays": {"stays", true, time.Hour, true},
	}
	for name, test := range tests {
		c := goingCluster(t, since).WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, ofJob := object.(*batchv1.Job); ofJob && test.forbidden {
				return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, key.Name, errors.New("no rights"))
			}
			return c.Get(ctx, key, object, options...)
		}}).Build()
		run := &v1alpha1.BenchmarkRun{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: test.namespace, Name: "run"}, run); err != nil {
			t.Fatal(err)
		}
		s := &scope{now: since.Add(test.after), run: run, names: plan.NamesOf(run), chainPods: []corev1.Pod{{}}}
		if err := (&Reconciler{Client: c, Reader: c}).readRemains(t.Context(), s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.podsRemain() != test.remain {
			t.Errorf("%s: pods remain: %t", name, s.podsRemain())
		}
	}
}
