package benchmarkrun

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
)

// An API server whose definition of the resource is another refuses the figures:
// the run ends with that reason, and where its trials are.
func TestStatusIsRefused(t *testing.T) {
	s := newScope(launched, withPlan, withRecords(done))
	s.figures.Frames = []v1alpha1.FrameResult{{FrameBytes: 64}}
	s.run.ResourceVersion = ""
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	refusals := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s.run).WithStatusSubresource(s.run).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if run := object.(*v1alpha1.BenchmarkRun); len(run.Status.Results) > 0 {
				refusals++
				return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("BenchmarkRun").GroupKind(), run.Name,
					field.ErrorList{field.Required(field.NewPath("status", "results").Index(0), "the field is required")})
			}
			return c.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	}).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), s.run); err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Client: c, Recorder: events.NewFakeRecorder(10), Metrics: NewMetrics()}
	d, err := r.storeStatus(t.Context(), s, decision{action: actFinish, measured: true, outcome: found(v1alpha1.ReasonSucceeded, "there are no acceptance criteria")})
	if err != nil || !d.failed() || refusals != 1 {
		t.Fatalf("%+v after %d refusals, %v", d, refusals, err)
	}
	var stored v1alpha1.BenchmarkRun
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), &stored); err != nil {
		t.Fatal(err)
	}
	succeeded := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionSucceeded)
	if succeeded == nil || succeeded.Status != "False" || succeeded.Reason != v1alpha1.ReasonResultRefused ||
		!strings.Contains(succeeded.Message, s.names.Results) || !strings.Contains(succeeded.Message, "status.results[0]") {
		t.Errorf("Succeeded is %+v", succeeded)
	}
	if stored.Status.CompletionTime == nil || stored.Status.ResultsRef != s.names.Results || stored.Status.Results != nil {
		t.Errorf("the status is %+v", stored.Status)
	}
}
