package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestIsOf checks that the UID of an owner proves nothing alone: who may write objects can name any owner outside of this API.
func TestIsOf(t *testing.T) {
	owner := &metav1.ObjectMeta{Name: "nightly", UID: "u"}
	good := metav1.OwnerReference{APIVersion: "vnfbench.io/v1alpha1", Kind: "BenchmarkSuite", Name: "nightly", UID: "u", Controller: ptr.To(true)}
	for name, test := range map[string]struct {
		change func(*metav1.OwnerReference)
		is     bool
	}{
		"it":                 {func(*metav1.OwnerReference) {}, true},
		"another kind":       {func(r *metav1.OwnerReference) { r.Kind = "BenchmarkSuiteRun" }, false},
		"another API":        {func(r *metav1.OwnerReference) { r.APIVersion = "v1" }, false},
		"another name":       {func(r *metav1.OwnerReference) { r.Name = "weekly" }, false},
		"an earlier object":  {func(r *metav1.OwnerReference) { r.UID = "before" }, false},
		"not the controller": {func(r *metav1.OwnerReference) { r.Controller = nil }, false},
	} {
		ref := good
		test.change(&ref)
		if is := IsOf(&metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ref}}, owner, "BenchmarkSuite"); is != test.is {
			t.Errorf("%s: %v", name, is)
		}
	}
	if IsOf(&metav1.ObjectMeta{}, owner, "BenchmarkSuite") {
		t.Error("an object without an owner is of the suite")
	}
}

// TestCreate checks that an object that exists is read, and stays as it is.
func TestCreate(t *testing.T) {
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "taken"}, Data: map[string]string{"of": "them"}}
	c := fake.NewClientBuilder().WithObjects(theirs).Build()
	for name, want := range map[string]string{"taken": "them", "free": ""} {
		existing := &corev1.ConfigMap{}
		made, err := Create(t.Context(), c, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}, existing)
		if err != nil || made != (want == "") || existing.Data["of"] != want {
			t.Errorf("%s: made %v, found %v, %v", name, made, existing.Data, err)
		}
	}
}
