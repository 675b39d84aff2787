package reporting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func TestCauseOf(t *testing.T) {
	failure := &measure.Failure{Reason: v1alpha1.ReasonImageUnavailable, Err: errors.New("no image\nhere")}
	withRemedy := &measure.Failure{Reason: v1alpha1.ReasonImageUnavailable, Err: failure.Err, Remedy: "load it"}
	for name, test := range map[string]struct {
		err  error
		want Cause
	}{
		"without a reason": {errors.New("bad"), Cause{v1alpha1.ReasonInvalidExperiment, "bad"}},
		"without a remedy": {failure, Cause{v1alpha1.ReasonImageUnavailable, "no image here"}},
		"with a remedy":    {withRemedy, Cause{v1alpha1.ReasonImageUnavailable, "no image here; load it"}},
		"wrapped":          {fmt.Errorf("cell: %w", withRemedy), Cause{v1alpha1.ReasonImageUnavailable, "no image here; load it"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CauseOf(test.err); *got != test.want {
				t.Errorf("got %+v, want %+v", *got, test.want)
			}
		})
	}
	if long := NewCause("r", "%s", strings.Repeat("x", 2*MaxMessageBytes)); len(long.Message) != MaxMessageBytes {
		t.Errorf("a message has %d bytes, want %d", len(long.Message), MaxMessageBytes)
	}
}

func TestStoreStatus(t *testing.T) {
	stored := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "pod"}}
	c := fake.NewClientBuilder().WithObjects(stored).WithStatusSubresource(stored).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	before, pod := stored.DeepCopy(), stored.DeepCopy()
	if did, err := StoreStatus(t.Context(), c, c, before, pod, nil); did || err != nil {
		t.Errorf("the same status is stored: %v, %v", did, err)
	}
	pod.Status.Message = "first"
	if did, err := StoreStatus(t.Context(), c, c, before, pod, nil); !did || err != nil {
		t.Errorf("another status is not stored: %v, %v", did, err)
	}
	stale := before.DeepCopy()
	stale.Status.Message = "second"
	if did, err := StoreStatus(t.Context(), c, c, before, stale, nil); did || err == nil {
		t.Errorf("a status that follows from an old object is stored: %v, %v", did, err)
	}
}

// TestStatusOfAnObjectThatOthersWrite checks that only another status keeps one from being stored, and that
// what the cache does not have stays.
func TestStatusOfAnObjectThatOthersWrite(t *testing.T) {
	ctx := t.Context()
	first := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "pod", UID: "u", Generation: 1}}
	first.Status.Reason, first.Status.HostIP = "Reason", "192.0.2.1"
	withoutHost := func(object any) (any, error) {
		object.(*corev1.Pod).Status.HostIP = ""
		return object, nil
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		stored bool
	}{
		"annotation": {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, true},
		"generation": {func(p *corev1.Pod) { p.Generation++ }, true},
		"status":     {func(p *corev1.Pod) { p.Status.Reason = "Other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithObjects(first.DeepCopy()).Build()
			before := &corev1.Pod{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(first), before); err != nil {
				t.Fatal(err)
			}
			changed := before.DeepCopy()
			test.change(changed)
			status := changed.Status
			if err := c.Update(ctx, changed); err != nil {
				t.Fatal(err)
			}
			changed.Status = status
			if err := c.Status().Update(ctx, changed); err != nil {
				t.Fatal(err)
			}
			before.Status.HostIP = ""
			after := before.DeepCopy()
			after.Status.Message = "new"
			did, err := StoreStatus(ctx, c, c, before, after, withoutHost)
			if did != test.stored || apierrors.IsConflict(err) == test.stored {
				t.Errorf("stored %v, %v", did, err)
			}
			now := &corev1.Pod{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(first), now); err != nil {
				t.Fatal(err)
			}
			if now.Status.HostIP == "" || (now.Status.Message == "new") != test.stored {
				t.Errorf("the status is %+v", now.Status)
			}
		})
	}
}

// TestStatusThatCannotBeRead checks that a status that cannot be compared is an error, and no conflict, which callers try again silently.
func TestStatusThatCannotBeRead(t *testing.T) {
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "pod", errors.New("changed"))
		},
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			object.(*unstructured.Unstructured).Object["status"] = map[string]any{"conditions": "none"}
			return nil
		},
	}).Build()
	before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "pod"}}
	after := before.DeepCopy()
	after.Status.Message = "new"
	if did, err := StoreStatus(t.Context(), c, c, before, after, nil); did || err == nil || apierrors.IsConflict(err) {
		t.Errorf("%v, %v", did, err)
	}
}

// BenchmarkSameStatus compares the status of an execution that has a template of 256 KiB.
func BenchmarkSameStatus(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"l":"v"`)
	for n := range 2_400 {
		fmt.Fprintf(&text, `,"l%04d":"v"`, n)
	}
	text.WriteString("}")
	execution := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "e"}}
	for i := range 8 {
		execution.Spec.Template.Matrix.Axes = append(execution.Spec.Template.Matrix.Axes, v1alpha1.Axis{Name: fmt.Sprint("a", i), Variants: []v1alpha1.Variant{{Name: "v"}}})
		execution.Spec.Template.Matrix.Axes[i].Variants[0].Patch.Raw = []byte(text.String())
	}
	execution.Spec.Template.Experiment.Raw = []byte("{}")
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		b.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(execution)
	if err != nil {
		b.Fatal(err)
	}
	stored := &unstructured.Unstructured{Object: content}
	stored.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BenchmarkSuiteRun"))
	b.ReportAllocs()
	for b.Loop() {
		if same, err := sameStatus(scheme, stored, execution, nil); err != nil || !same {
			b.Fatal(same, err)
		}
	}
}
