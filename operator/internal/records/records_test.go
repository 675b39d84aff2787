package records

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// run returns a run that has results.
func run() *v1alpha1.BenchmarkRun {
	r := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "router", UID: "u"}}
	r.Status.ResultsRef = &v1alpha1.LocalReference{Name: plan.NamesOf(r).Results}
	return r
}

// of returns a ConfigMap of the run.
func of(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkRun", Name: "router", UID: "u", Controller: ptr.To(true)},
	}}, Data: data}
}

// TestRead checks that what is lost or another's is not confused with what the API server does not answer, and that neither gives half of the records.
func TestRead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	names := plan.NamesOf(run())
	foreign := of(names.Results, nil)
	foreign.OwnerReferences[0].UID = "other"
	unowned := of(names.Results, nil)
	unowned.OwnerReferences, unowned.Labels = nil, map[string]string{v1alpha1.LabelRun: "u"}
	away := errors.New("the API server is away")
	for name, test := range map[string]struct {
		objects []client.Object
		change  func(*v1alpha1.BenchmarkRun)
		err     error
		want    string
		lost    bool
	}{
		"no results yet":        {change: func(r *v1alpha1.BenchmarkRun) { r.Status.ResultsRef = nil }},
		"no plan":               {objects: []client.Object{of(names.Results, nil)}},
		"deleted":               {want: "not found", lost: true},
		"another run's":         {objects: []client.Object{foreign}, want: "another writer", lost: true},
		"no one's":              {objects: []client.Object{unowned}, want: "another writer", lost: true},
		"damaged":               {objects: []client.Object{of(names.Results, map[string]string{"trial-000000.json": "{"})}, want: "trial-000000", lost: true},
		"a chunk is missing":    {objects: []client.Object{of(names.Results, map[string]string{"chunks.json": `[{"trials":1,"bytes":9,"digest":"x"}]`})}, want: names.Results + "-0", lost: true},
		"another plan":          {objects: []client.Object{of(names.Results, nil), of(names.Plan, map[string]string{plan.KeyPlan: "{}"})}, change: digested, want: "not the one", lost: true},
		"a plan that is broken": {objects: []client.Object{of(names.Results, nil), of(names.Plan, map[string]string{plan.KeyPlan: "{"})}, want: "reading the plan", lost: true},
		"no answer":             {err: away, want: "is away"},
		"archived": {change: func(r *v1alpha1.BenchmarkRun) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue, Message: "runs/lab/router.u.json.zst, 9 bytes"}}
		}, want: "has them: runs/lab/router.u.json.zst", lost: true},
	} {
		reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.objects...).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if test.err != nil {
					return test.err
				}
				return c.Get(ctx, key, object, options...)
			},
		}).Build()
		r := run()
		if test.change != nil {
			test.change(r)
		}
		got, err := Read(t.Context(), reader, r, "1.2.3")
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || errors.As(err, new(Lost)) != test.lost {
			t.Errorf("%s: %v", name, err)
		}
		if got.Trials != nil || got.Inputs != nil || got.Version != "1.2.3" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPlan checks that a plan is read that is the run's own, and that there may be none.
func TestPlan(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	name := plan.NamesOf(run()).Plan
	stored := string((&plan.Plan{Version: plan.Version, GeneratorNode: "node-a"}).JSON())
	foreign := of(name, map[string]string{plan.KeyPlan: stored})
	foreign.OwnerReferences[0].UID = "other"
	for label, test := range map[string]struct {
		objects []client.Object
		change  func(*v1alpha1.BenchmarkRun)
		node    string
		want    string
	}{
		"none":           {},
		"its own":        {objects: []client.Object{of(name, map[string]string{plan.KeyPlan: stored})}, node: "node-a"},
		"another run's":  {objects: []client.Object{foreign}, want: "another writer"},
		"changed":        {objects: []client.Object{of(name, map[string]string{plan.KeyPlan: stored})}, change: digested, want: "not the one"},
		"broken":         {objects: []client.Object{of(name, map[string]string{plan.KeyPlan: "{"})}, want: "reading the plan"},
		"another layout": {objects: []client.Object{of(name, map[string]string{plan.KeyPlan: `{"version":1}`})}, want: "another version"},
	} {
		r := run()
		if test.change != nil {
			test.change(r)
		}
		got, err := Plan(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.objects...).Build(), r)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || !errors.As(err, new(Lost))) {
			t.Errorf("%s: %v", label, err)
		}
		if (got != nil) != (test.node != "") || got != nil && got.GeneratorNode != test.node {
			t.Errorf("%s: %+v", label, got)
		}
	}
}

func digested(r *v1alpha1.BenchmarkRun) {
	r.Status.Plan = &v1alpha1.PlanSummary{StoredDigest: "sha256:0"}
}
