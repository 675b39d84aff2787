package controller

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestAwaitingArchive checks that runs which have ended, released their testbed and are not archived are counted, by a process that leads.
func TestAwaitingArchive(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, conditions ...metav1.Condition) *v1alpha1.BenchmarkRun {
		return &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}, Status: v1alpha1.BenchmarkRunStatus{Conditions: conditions}}
	}
	ended := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse}
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		run("active"), run("holds", ended, metav1.Condition{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionTrue}),
		run("ended", ended), run("failing", ended, metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionFalse}),
		run("archived", ended, metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue}),
	).Build()
	leading := make(chan struct{})
	gauge := awaitingArchive(cache, leading)
	if got := testutil.ToFloat64(gauge); got != 0 {
		t.Errorf("a process that does not lead shows %v", got)
	}
	close(leading)
	if got := testutil.ToFloat64(gauge); got != 2 {
		t.Errorf("%v runs wait, want 2", got)
	}
}
