package benchmarkrun

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	updates "sigs.k8s.io/controller-runtime/pkg/event"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestRunChanged checks that what the controller reports does not trigger it again, and that everything else does.
func TestRunChanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkRun)
		wakes  bool
	}{
		"nothing":  {func(r *v1alpha1.BenchmarkRun) { r.ResourceVersion = "2" }, false},
		"progress": {func(r *v1alpha1.BenchmarkRun) { r.Status.Progress = &v1alpha1.Progress{Trials: 3} }, false},
		"figures": {func(r *v1alpha1.BenchmarkRun) {
			r.Status.Results, r.Status.Summary = ndr(1), &v1alpha1.ResultSummary{}
		}, false},
		"a message":       {func(r *v1alpha1.BenchmarkRun) { r.Status.Conditions[0].Message = "other" }, false},
		"a place":         {func(r *v1alpha1.BenchmarkRun) { r.Status.QueuePosition = ptr.To[int32](1) }, false},
		"a reason":        {func(r *v1alpha1.BenchmarkRun) { r.Status.Conditions[0].Reason = "Other" }, true},
		"a status":        {func(r *v1alpha1.BenchmarkRun) { r.Status.Conditions[0].Status = metav1.ConditionTrue }, true},
		"another":         {func(r *v1alpha1.BenchmarkRun) { r.UID = "other" }, true},
		"the spec":        {func(r *v1alpha1.BenchmarkRun) { r.Generation++ }, true},
		"an annotation":   {func(r *v1alpha1.BenchmarkRun) { r.Annotations = map[string]string{"a": "b"} }, true},
		"the finalizer":   {func(r *v1alpha1.BenchmarkRun) { r.Finalizers = nil }, true},
		"deletion":        {func(r *v1alpha1.BenchmarkRun) { r.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) }, true},
		"the plan":        {func(r *v1alpha1.BenchmarkRun) { r.Status.Plan = &v1alpha1.PlanSummary{StoredDigest: "x"} }, true},
		"results' name":   {func(r *v1alpha1.BenchmarkRun) { r.Status.ResultsRef = &v1alpha1.LocalReference{Name: "x"} }, true},
		"the end":         {func(r *v1alpha1.BenchmarkRun) { r.Status.CompletionTime = ptr.To(metav1.NewTime(epoch)) }, true},
		"a baseline":      {func(r *v1alpha1.BenchmarkRun) { r.Status.Baseline = &v1alpha1.BaselineReport{UID: "x"} }, true},
		"the testbed":     {func(r *v1alpha1.BenchmarkRun) { r.Status.TestbedRef = &v1alpha1.TestbedReference{Name: "x"} }, true},
		"the acceptance":  {func(r *v1alpha1.BenchmarkRun) { r.Status.Acceptance = []v1alpha1.Verdict{{Criterion: "x"}} }, true},
		"the deployments": {func(r *v1alpha1.BenchmarkRun) { r.Status.Deployments = []v1alpha1.Deployment{{Number: 1}} }, true},
	} {
		before := newScope(condition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonQueued)).run
		after := before.DeepCopy()
		test.change(after)
		if got := runChanged.Update(updates.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.wakes {
			t.Errorf("%s triggers the run: %t, want %t", name, got, test.wakes)
		}
	}
}

// TestTestbedWakesWhomItConcerns checks that of a hundred runs that wait, an admission wakes the one that is admitted
// and those whose shown place changes.
func TestTestbedWakesWhomItConcerns(t *testing.T) {
	const waiting = 100
	testbed := newScope().testbed
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{UID: "ended"}}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}, testbed}
	var runs []*v1alpha1.BenchmarkRun
	for i := 1; i <= waiting; i++ {
		s := newScope(func(s *scope) {
			s.run.Name, s.run.UID = fmt.Sprintf("run-%03d", i), types.UID(fmt.Sprint(i))
			s.run.CreationTimestamp = metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
			s.testbed, s.position, s.before = testbed, i, i
		})
		s.run.Status = summarize(s, decide(s))
		runs, objects = append(runs, s.run), append(objects, s.run)
	}
	ended := newScope(finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)).run
	ended.Name, ended.UID = "ended", "ended"
	reconciler := &Reconciler{Client: fakeCluster(t, append(objects, ended)...)}
	woken := func() []string {
		var names []string
		for _, request := range reconciler.runsOfTestbed(t.Context(), testbed) {
			names = append(names, request.Name)
		}
		return names
	}
	if got := woken(); len(got) > 0 {
		t.Fatalf("a testbed that did not change wakes %q", got)
	}
	if err := reconciler.Client.Get(t.Context(), client.ObjectKeyFromObject(testbed), testbed); err != nil {
		t.Fatal(err)
	}
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{UID: string(runs[0].UID)}}
	if err := reconciler.Client.Update(t.Context(), testbed); err != nil {
		t.Fatal(err)
	}
	want := []string{"run-001", "run-002", "run-003", "run-004", "run-005", "run-006", "run-007", "run-008", "run-009", "run-010", "run-020", "run-050", "run-100"}
	if got := woken(); !slices.Equal(got, want) {
		t.Errorf("the admission of the first wakes %q, want %q", got, want)
	}
	if err := reconciler.Client.Delete(t.Context(), testbed); err != nil {
		t.Fatal(err)
	}
	if got := woken(); len(got) != waiting {
		t.Errorf("a testbed that is gone wakes %d of %d runs", len(got), waiting)
	}
}
