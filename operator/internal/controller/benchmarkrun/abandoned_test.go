package benchmarkrun

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
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

// TestAbandonedRuns: of the runs in namespaces that are not watched, those that are deleted lose the operator's finalizer, and nothing
// else. The Leases of their nodes get a time to end before.
func TestAbandonedRuns(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	deleted := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "run", UID: "run"}}
	lease := func(name, holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	}
	patched := false
	c := goingCluster(t, now).WithObjects(
		&v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "measures", Finalizers: []string{v1alpha1.Finalizer}}},
		lease("its", holderIdentity(deleted)), lease("others", "going/run/earlier"),
	).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return listBySelector(ctx, c, list, options)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			patched = true
			return c.Patch(ctx, object, patch, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			if patched {
				t.Error("a Lease was written after the run was let go")
			}
			return c.Update(ctx, object, options...)
		},
	}).Build()
	a := &Abandoned{Client: c, Reader: c, Clock: clocktesting.NewFakePassiveClock(now), Namespace: "home", Namespaces: []string{"stays"}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[client.ObjectKey][]string{
		{Namespace: "going", Name: "run"}:      {"test"},
		{Namespace: "going", Name: "measures"}: {v1alpha1.Finalizer},
		{Namespace: "stays", Name: "run"}:      {v1alpha1.Finalizer},
	} {
		run := &v1alpha1.BenchmarkRun{}
		if err := c.Get(t.Context(), key, run); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, run.Finalizers); diff != "" {
			t.Errorf("run %s: %s", key, diff)
		}
	}
	for name, want := range map[string]time.Time{"its": now.Add(heldTimeout), "others": {}} {
		found := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "home", Name: name}, found); err != nil {
			t.Fatal(err)
		}
		if got := endOf(found); !got.Equal(want) {
			t.Errorf("Lease %q ends at %s, want %s", name, got, want)
		}
	}
}

// TestNodesOfAbandonedRuns: a run that is deleted alone may leave its pods, so its nodes are free when its longest use is over. The pods of a
// namespace that is being deleted, or is gone, end with it.
func TestNodesOfAbandonedRuns(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	tests := map[string]struct {
		namespace string
		used      time.Duration
		want      time.Duration
	}{
		"its namespace is being deleted": {"going", 0, heldTimeout},
		"its namespace is gone":          {"gone", 0, heldTimeout},
		"it is deleted alone":            {"stays", 10 * time.Minute, time.Hour},
		"its longest use is over":        {"stays", 2 * time.Hour, heldTimeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			deleted := ptr.To(metav1.NewTime(now))
			run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "its", UID: "its", DeletionTimestamp: deleted, Finalizers: []string{v1alpha1.Finalizer, "test"}}}
			run.Spec.Experiment.DeadlineSeconds, run.Spec.Experiment.StartupSeconds = 3600, 300
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "node-a"}, Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new(holderIdentity(run)), AcquireTime: new(metav1.NewMicroTime(now.Add(-test.used))),
			}}
			c := goingCluster(t, now).WithObjects(run, lease).Build()
			a := &Abandoned{Client: c, Reader: c, Clock: clocktesting.NewFakePassiveClock(now), Namespace: "home"}
			metadata := &metav1.PartialObjectMetadata{ObjectMeta: run.ObjectMeta}
			if err := a.keepNodes(t.Context(), metadata); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
				t.Fatal(err)
			}
			if got := endOf(lease).Sub(now); got != test.want {
				t.Errorf("the Lease ends after %s, want %s", got, test.want)
			}
		})
	}
}

// listBySelector lists as the API server does: the fake one does not know field selectors that exclude.
func listBySelector(ctx context.Context, c client.Client, list client.ObjectList, options []client.ListOption) error {
	given := (&client.ListOptions{}).ApplyOptions(options)
	selector := given.FieldSelector
	given.FieldSelector = nil
	if err := c.List(ctx, list, given); err != nil || selector == nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(items, func(item runtime.Object) bool {
		return !selector.Matches(fields.Set{"metadata.namespace": item.(client.Object).GetNamespace()})
	}))
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
