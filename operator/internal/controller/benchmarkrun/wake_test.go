package benchmarkrun

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	updates "sigs.k8s.io/controller-runtime/pkg/event"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
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

// TestPodsWakeTheRunThatLaunchedThem checks that the annotation and the label of a run, which any pod can have, wake
// no run that did not launch the pod, and that nothing wakes a run that has ended and holds nothing.
func TestPodsWakeTheRunThatLaunchedThem(t *testing.T) {
	active := newScope(admitted)
	for name, test := range map[string]struct {
		of     *scope
		change func(*corev1.Pod)
		wakes  bool
	}{
		"of the Job":            {active, controlledBy("batch/v1", "Job", active.names.Job, "any"), true},
		"of the run":            {active, controlledBy(v1alpha1.GroupVersion.String(), "BenchmarkRun", "run", "run-uid"), true},
		"of its name":           {active, func(p *corev1.Pod) { p.Name = active.names.Function("one") }, true},
		"of no one":             {active, func(p *corev1.Pod) { p.Name = "other" }, false},
		"of another Job":        {active, controlledBy("batch/v1", "Job", "other", "any"), false},
		"of an earlier run":     {active, func(p *corev1.Pod) { p.Labels[v1alpha1.LabelRun], p.Name = "earlier", active.names.Function("one") }, false},
		"of a run that is gone": {active, func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationRun] = "gone" }, false},
		"of a run that ended":   {newScope(admitted, finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)), controlledBy("batch/v1", "Job", active.names.Job, "any"), true},
		"of a run that released": {newScope(condition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonReleased), finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)),
			controlledBy("batch/v1", "Job", active.names.Job, "any"), false},
	} {
		reconciler := &Reconciler{Client: fakeCluster(t, test.of.run)}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: "pod", Labels: map[string]string{v1alpha1.LabelRun: "run-uid"}, Annotations: map[string]string{v1alpha1.AnnotationRun: "run"},
		}}
		test.change(pod)
		if got := reconciler.runOfPod(t.Context(), pod); len(got) > 0 != test.wakes {
			t.Errorf("a pod %s wakes %v", name, got)
		}
		// A ConfigMap has no other sign than its controller.
		if got := reconciler.runOfOwned(t.Context(), &corev1.ConfigMap{ObjectMeta: pod.ObjectMeta}); len(got) > 0 != (name == "of the run") {
			t.Errorf("a ConfigMap %s wakes %v", name, got)
		}
	}
}

func controlledBy(version, kind, name, uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: types.UID(uid), Controller: ptr.To(true)}}
	}
}

// cacheOf reads one run as the cache does where it need not copy.
type cacheOf struct {
	client.Client
	run *v1alpha1.BenchmarkRun
}

func (c cacheOf) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	*into.(*v1alpha1.BenchmarkRun) = *c.run
	return nil
}

// strangers returns a run with a long chain, and pods with its label and its annotation that it did not launch.
func strangers(count int) (*v1alpha1.BenchmarkRun, []corev1.Pod) {
	run := newScope(admitted).run
	run.Spec.Experiment.Measurements = v1alpha1.Measurements{Profile: v1alpha1.ProfileQuick, TCP: &v1alpha1.TCP{}}
	run.Spec.Experiment.Chain = nil
	for i := range 8 {
		run.Spec.Experiment.Chain = append(run.Spec.Experiment.Chain, v1alpha1.NetworkFunction{Name: fmt.Sprint("f", i), Function: v1alpha1.FunctionRouter})
	}
	pods := make([]corev1.Pod, count)
	for i := range pods {
		pods[i].ObjectMeta = metav1.ObjectMeta{
			Namespace: run.Namespace, Name: fmt.Sprint("stranger-", i),
			Labels: map[string]string{v1alpha1.LabelRun: string(run.UID)}, Annotations: map[string]string{v1alpha1.AnnotationRun: run.Name},
		}
	}
	return run, pods
}

// TestPodsOfOthersCostLittle checks that a pod that anyone labels as that of a run costs an event some names, and a reconciliation nothing
// more than the first such pod.
func TestPodsOfOthersCostLittle(t *testing.T) {
	const most = 50
	run, pods := strangers(100)
	reconciler := &Reconciler{Client: cacheOf{run: run}}
	if n := testing.AllocsPerRun(100, func() {
		if got := reconciler.runOfPod(t.Context(), &pods[0]); got != nil {
			t.Fatal(got)
		}
	}); n > most {
		t.Errorf("an event makes %.0f allocations, want at most %d", n, most)
	}
	if n := testing.AllocsPerRun(100, func() {
		s := &scope{run: run, names: plan.NamesOf(run)}
		for i := range pods {
			if s.isOwn(&pods[i]) {
				t.Fatal(pods[i].Name)
			}
		}
	}); n > most {
		t.Errorf("a reconciliation with %d pods makes %.0f allocations, want at most %d", len(pods), n, most)
	}
}

func BenchmarkPodsOfOthers(b *testing.B) {
	run, pods := strangers(100)
	b.Run("an event", func(b *testing.B) {
		reconciler := &Reconciler{Client: cacheOf{run: run}}
		b.ReportAllocs()
		for b.Loop() {
			reconciler.runOfPod(b.Context(), &pods[0])
		}
	})
	b.Run("a reconciliation with 100 pods", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := &scope{run: run, names: plan.NamesOf(run)}
			for i := range pods {
				s.isOwn(&pods[i])
			}
		}
	})
}

// TestPlacesAreStoredSeldom checks that a tenant who suspends and resumes a run without end causes few writes of the statuses of the
// runs after it, that a first place and an admission are stored at once, and that the last place is stored in the end.
func TestPlacesAreStoredSeldom(t *testing.T) {
	testbed := newScope().testbed
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{UID: "other"}}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}, testbed}
	var runs []*v1alpha1.BenchmarkRun
	for i, name := range []string{"loop", "one", "two"} {
		run := newScope().run
		run.Name, run.UID, run.CreationTimestamp = name, types.UID(name), metav1.NewTime(epoch.Add(time.Duration(i)*time.Second))
		runs, objects = append(runs, run), append(objects, run)
	}
	loop, others := runs[0], runs[1:]
	writes := map[string]int{}
	cluster := interceptor.NewClient(fakeCluster(t, objects...).(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			writes[object.GetName()]++
			return c.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	})
	clock := clocktesting.NewFakePassiveClock(epoch)
	reconciler := &Reconciler{Client: cluster, Reader: cluster, Clock: clock, Metrics: NewMetrics(), Recorder: events.NewFakeRecorder(100)}
	var asked time.Duration
	reconcile := func(run *v1alpha1.BenchmarkRun) {
		t.Helper()
		result, err := reconciler.Reconcile(t.Context(), requestOf(run))
		if err != nil {
			t.Fatal(err)
		}
		asked = result.RequeueAfter
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			t.Fatal(err)
		}
	}
	place := func(run *v1alpha1.BenchmarkRun) int32 { return ptr.Deref(run.Status.QueuePosition, 0) }
	for i, run := range runs {
		if reconcile(run); int(place(run)) != i+1 {
			t.Fatalf("the first place of run %q is %d, want %d", run.Name, place(run), i+1)
		}
	}
	clear(writes)
	const (
		toggles = 200
		pause   = 100 * time.Millisecond
	)
	for i := range toggles {
		clock.SetTime(clock.Now().Add(pause))
		loop.Spec.Suspend = i%2 == 0
		if err := cluster.Update(t.Context(), loop); err != nil {
			t.Fatal(err)
		}
		for _, run := range others {
			reconcile(run)
		}
	}
	most := int(toggles * pause / reportInterval)
	for _, run := range others {
		if n := writes[run.Name]; n == 0 || n > most {
			t.Errorf("the status of run %q was stored %d times in %s, want 1 to %d", run.Name, n, toggles*pause, most)
		}
	}
	// The run that waits is triggered when the next report is due, and has the last place then.
	loop.Spec.Suspend = true
	if err := cluster.Update(t.Context(), loop); err != nil {
		t.Fatal(err)
	}
	reconcile(others[1])
	if place(others[1]) != 2 && (asked <= 0 || asked > reportInterval) {
		t.Errorf("the place of the last run is %d, and it is looked at after %s", place(others[1]), asked)
	}
	clock.SetTime(clock.Now().Add(asked))
	if reconcile(others[1]); place(others[1]) != 2 {
		t.Errorf("the last run has place %d, want 2", place(others[1]))
	}
	// It may be admitted right after its place was stored.
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(testbed), testbed); err != nil {
		t.Fatal(err)
	}
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{UID: string(others[1].UID)}}
	if err := cluster.Update(t.Context(), testbed); err != nil {
		t.Fatal(err)
	}
	if reconcile(others[1]); !meta.IsStatusConditionTrue(others[1].Status.Conditions, v1alpha1.ConditionAdmitted) || place(others[1]) != 0 {
		t.Errorf("the run that is admitted has %+v", others[1].Status)
	}
}
