package benchmarkrun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// TestCached checks that the cache has all of a run that is not over, and of one that is over what decisions need.
func TestCached(t *testing.T) {
	full := func(changes ...with) *v1alpha1.BenchmarkRun {
		run := newScope(changes...).run
		run.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		run.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "yes"}
		run.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		run.Status.StartTime, run.Status.CompletionTime = ptr.To(metav1.NewTime(epoch)), ptr.To(metav1.NewTime(epoch))
		run.Status.Plan, run.Status.ResultsRef = &v1alpha1.PlanSummary{DeviceNode: "a"}, &v1alpha1.LocalReference{Name: "results"}
		run.Status.Results, run.Status.Warnings = ndr(1), []v1alpha1.Warning{{Code: "x"}}
		run.Status.Generator = &v1alpha1.GeneratorReport{
			Calibration: []v1alpha1.CalibrationFrame{{Size: "64"}}, Fingerprint: &v1alpha1.Fingerprint{Digest: "g"}, Log: []string{"line"},
		}
		run.Status.Device = &v1alpha1.DeviceReport{Fingerprint: &v1alpha1.Fingerprint{Digest: "d"}}
		return run
	}
	verdict := finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	occupies := condition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.ReasonAdmitted)
	for name, changes := range map[string][]with{"waits": nil, "is measured": {occupies}, "has its verdict, and the testbed": {verdict, occupies}} {
		want := full(changes...)
		want.ManagedFields = nil
		if diff := cmp.Diff(want, cached(t, full(changes...))); diff != "" {
			t.Errorf("a run that %s is not whole:\n%s", name, diff)
		}
	}

	want := full(verdict)
	want.ManagedFields, want.Annotations = nil, map[string]string{"mine": "yes"}
	want.Status.Results, want.Status.Warnings, want.Status.Generator.Log = nil, nil, nil
	got := cached(t, full(verdict))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a run that is over:\n%s", diff)
	}
	if diff := cmp.Diff(want, cached(t, got)); diff != "" {
		t.Errorf("the second time:\n%s", diff)
	}
	if !queue.Finished(got) {
		t.Error("it has no verdict any more")
	}
}

func cached(t *testing.T, run *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	t.Helper()
	kept, err := Cached(run)
	if err != nil {
		t.Fatal(err)
	}
	return kept.(*v1alpha1.BenchmarkRun)
}

// TestCachedRunTakesNothingAway checks that the status of a run that is over is written without its figures, and so cannot
// remove them.
func TestCachedRunTakesNothingAway(t *testing.T) {
	stored := newScope(finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded), condition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonReleased)).run
	stored.Status.Results, stored.Status.ObservedGeneration = ndr(1), 1
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).Build()
	run, key := &v1alpha1.BenchmarkRun{}, client.ObjectKeyFromObject(stored)
	if err := cluster.Get(t.Context(), key, run); err != nil {
		t.Fatal(err)
	}
	s := newScope()
	s.run = cached(t, run)
	r := &Reconciler{Client: cluster}
	if err := r.patchStatus(t.Context(), s, decision{action: actWait}, summarize(s, decision{action: actWait})); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Get(t.Context(), key, run); err != nil {
		t.Fatal(err)
	}
	if run.Status.ObservedGeneration != run.Generation || len(run.Status.Results) != 1 {
		t.Errorf("generation %d of %d, %d results, want 1", run.Status.ObservedGeneration, run.Generation, len(run.Status.Results))
	}
}
