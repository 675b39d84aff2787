package benchmarkrun

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestLooks checks how often a run that waits for its nodes is planned again.
func TestLooks(t *testing.T) {
	l := &looks{}
	one, two := map[string]bool{"a": true, "b": false}, map[string]bool{"a": true, "b": true}
	for _, step := range []struct {
		name  string
		after time.Duration
		busy  map[string]bool
		want  bool
	}{
		{"first", 0, two, true},
		{"nothing changed", nodesInterval, two, false},
		{"a node is idle", 2 * nodesInterval, one, true},
		{"the idle node does not fit", 3 * nodesInterval, one, false},
		{"a node without a Lease", 4 * nodesInterval, map[string]bool{"a": true}, false},
		{"almost a minute", 2*nodesInterval + elsewhereInterval - time.Second, one, false},
		{"a minute", 2*nodesInterval + elsewhereInterval, one, true},
	} {
		if got := l.isDue("run", step.busy, epoch.Add(step.after)); got != step.want {
			t.Errorf("%s: due %t", step.name, got)
		}
	}
	if !l.isDue("other", one, epoch) {
		t.Error("another run is not due")
	}
	l.isDue("later", one, epoch.Add(time.Hour))
	if len(l.runs) != 1 {
		t.Errorf("%d runs are remembered that no longer wait", len(l.runs)-1)
	}
}

// TestBusyNodesTakeFewRequests checks that the Leases of 32 nodes are read at once.
func TestBusyNodesTakeFewRequests(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	lease := func(node, holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: leaseName(node)}, Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder)}}
	}
	s := newScope()
	requests := 0
	c := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(lease("a", "a person"), lease("b", "lab/gone/1"), lease("c", holderIdentity(s.run)), lease("z", "a person")).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				requests++
				return w.Get(ctx, key, o, options...)
			},
			List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				requests++
				return w.List(ctx, list, options...)
			},
		}).Build()
	nodes := []string{"a", "b", "c"}
	for range maxCountedNodes - len(nodes) {
		nodes = append(nodes, "n"+nodes[len(nodes)-1])
	}
	busy, err := (&Reconciler{Reader: c, Namespace: "home"}).busyNodes(t.Context(), s, nodes)
	if err != nil || !busy["a"] || busy["b"] || busy["c"] || busy["z"] {
		t.Errorf("busy: %v, %v", busy, err)
	}
	if requests > 2 {
		t.Errorf("%d requests", requests)
	}
}

// TestPlanElsewhereWaits checks that a run which waits for its nodes reads pods and networks only when it is due.
func TestPlanElsewhereWaits(t *testing.T) {
	a, b := plantest.Node("a"), plantest.Node("b")
	busy := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: leaseName("a")}, Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a person")}}
	planned := 0
	c := interceptor.NewClient(fakeCluster(t, &a, &b, busy).(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, isPods := list.(*corev1.PodList); isPods {
				planned++
				return apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
			}
			return w.List(ctx, list, options...)
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return apierrors.NewForbidden(corev1.Resource("serviceaccounts"), "", nil)
		},
	})
	r := &Reconciler{Client: c, Reader: c, Namespace: "home", Defaults: plantest.Input(1).Defaults}
	s := newScope()
	s.run, s.testbed = plantest.Run(1), plantest.Testbed()
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {nodesInterval, 1}, {2 * nodesInterval, 1}, {elsewhereInterval, 2}} {
		s.now = epoch.Add(step.after)
		if err := r.planElsewhere(t.Context(), s); err != nil || planned != step.want {
			t.Errorf("after %v: planned %d times, want %d: %v", step.after, planned, step.want, err)
		}
	}
}
