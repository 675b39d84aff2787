package benchmarkrun

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/plan"
)

// TestCached checks that the cache has all of a run that is not over, and of one that is over what decisions need.
func TestCached(t *testing.T) {
	full := func(changes ...with) *v1alpha1.BenchmarkRun {
		run := newScope(changes...).run
		run.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		run.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "yes", v1alpha1.AnnotationKeep: "true"}
		run.Labels = map[string]string{"mine": "yes", v1alpha1.LabelExperiment: "router"}
		run.Finalizers = append(run.Finalizers, "mine.example/hold")
		run.OwnerReferences = []metav1.OwnerReference{{UID: "friend"}, {UID: "execution", Controller: ptr.To(true)}}
		run.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		run.Spec.Experiment.Traffic.FrameBytes = []int32{64}
		run.Spec.Experiment.Measurements.Throughput = &v1alpha1.Throughput{}
		run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{{Name: "fast"}}
		run.Spec.Experiment.Baseline = &v1alpha1.Baseline{RunRef: v1alpha1.LocalReference{Name: "earlier"}}
		run.Status.StartTime, run.Status.CompletionTime = ptr.To(metav1.NewTime(epoch)), ptr.To(metav1.NewTime(epoch))
		run.Status.Plan, run.Status.ResultsRef = &v1alpha1.PlanSummary{DeviceNode: "a"}, &v1alpha1.LocalReference{Name: "results"}
		run.Status.Results, run.Status.Warnings = ndr(1), []v1alpha1.Warning{{Code: "x"}}
		run.Status.Generator = &v1alpha1.GeneratorReport{
			Calibration: []v1alpha1.CalibrationFrame{{Size: "64"}}, Fingerprint: &v1alpha1.Fingerprint{Digest: "g"}, Interfaces: []v1alpha1.NetworkInterface{{}}, Log: []string{"line"},
		}
		run.Status.Device = &v1alpha1.DeviceReport{Fingerprint: &v1alpha1.Fingerprint{Digest: "d"}}
		return run
	}
	verdict := finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	occupies := condition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.ReasonAdmitted)
	for name, changes := range map[string][]with{"waits": nil, "is measured": {occupies}, "has its verdict, and the testbed": {verdict, occupies}} {
		want := withOwnMeta(full(changes...))
		if diff := cmp.Diff(want, cached(t, full(changes...))); diff != "" {
			t.Errorf("a run that %s is not whole:\n%s", name, diff)
		}
	}

	want := withOwnMeta(full(verdict))
	want.Status.Results, want.Status.Warnings, want.Status.Generator.Log = nil, nil, nil
	want.Status.Generator.Interfaces = nil
	want.Spec.Experiment.Traffic, want.Spec.Experiment.Measurements, want.Spec.Experiment.Acceptance = v1alpha1.Traffic{}, v1alpha1.Measurements{}, nil
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

// withOwnMeta returns a run of TestCached with the metadata that the cache keeps.
func withOwnMeta(run *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	run.ManagedFields, run.Finalizers = nil, []string{v1alpha1.Finalizer}
	run.Annotations = map[string]string{v1alpha1.AnnotationKeep: "true"}
	run.Labels = map[string]string{v1alpha1.LabelExperiment: "router"}
	run.OwnerReferences = []metav1.OwnerReference{{UID: "execution", Controller: ptr.To(true)}}
	return run
}

func cached(t *testing.T, run *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	t.Helper()
	kept, err := Cached(run)
	if err != nil {
		t.Fatal(err)
	}
	return kept.(*v1alpha1.BenchmarkRun)
}

// TestCachedRunsAreSmall compares what runs take in memory as the API server sends them with what the cache keeps of them.
func TestCachedRunsAreSmall(t *testing.T) {
	l := newKeptLab(t, judged, func(in *plan.Input) {
		in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64, 128, 256, 512, 1024, 1280, 1518}
	})
	l.append(len(l.records))
	s, err := l.observe(l.operator())
	if err != nil {
		t.Fatal(err)
	}
	waits := l.run.DeepCopy()
	waits.Status = newScope().run.Status
	ended := l.run.DeepCopy()
	ended.Status = summarize(s, decision{action: actFinish, outcome: s.verdict(), measured: true})
	if len(ended.Status.Results) != 7 || !queue.Finished(ended) {
		t.Fatalf("%d sizes were measured", len(ended.Status.Results))
	}
	meta.SetStatusCondition(&ended.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonReleased})
	for name, test := range map[string]struct {
		run  *v1alpha1.BenchmarkRun
		most int
	}{"waits": {waits, 6 << 10}, "has ended": {ended, 6 << 10}} {
		spec, err := json.Marshal(test.run.Spec)
		if err != nil {
			t.Fatal(err)
		}
		test.run.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: string(spec), "mine": strings.Repeat("a", 250<<10)}
		sent, err := json.Marshal(test.run)
		if err != nil {
			t.Fatal(err)
		}
		read := func() any {
			run := &v1alpha1.BenchmarkRun{}
			if err := json.Unmarshal(sent, run); err != nil {
				t.Fatal(err)
			}
			return run
		}
		whole, kept := bytesOf(read), bytesOf(func() any { return cached(t, read().(*v1alpha1.BenchmarkRun)) })
		t.Logf("a run that %s: %d bytes of JSON, %d in memory, %d in the cache", name, len(sent), whole, kept)
		if kept > test.most || kept > whole {
			t.Errorf("a run that %s takes %d bytes in the cache, want at most %d", name, kept, test.most)
		}
	}
}

// bytesOf returns how much memory an object takes, with all that belongs to it.
func bytesOf(make func() any) int {
	const count = 50
	objects := [count]any{}
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	for i := range objects {
		objects[i] = make()
	}
	after := heap()
	runtime.KeepAlive(&objects)
	return int(after-before) / count
}

// TestCachedRunTakesNothingAway checks that the status of a run that is over is written without its figures, and so cannot
// remove them.
func TestCachedRunTakesNothingAway(t *testing.T) {
	stored := newScope(finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded), condition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonReleased)).run
	stored.Status.Results, stored.Status.ObservedGeneration = ndr(1), 1
	scheme := kuberuntime.NewScheme()
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
