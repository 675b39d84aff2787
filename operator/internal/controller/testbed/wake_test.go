package testbed

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestRunChanged checks that a trial of a run does not wake its testbed, and that what admission and the
// testbed's status follow from does.
func TestRunChanged(t *testing.T) {
	admitted := func(status metav1.ConditionStatus, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionAdmitted, Status: status, Message: message}}
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkRun)
		wakes  bool
	}{
		"nothing": {func(*v1alpha1.BenchmarkRun) {}, false},
		"a trial": {func(r *v1alpha1.BenchmarkRun) {
			r.ResourceVersion, r.Status.Progress = "2", &v1alpha1.Progress{Trials: 8}
			r.Status.Results = []v1alpha1.FrameResult{{FrameBytes: 64}}
			r.Status.Generator.Threads = 2
		}, false},
		"a place in the queue": {func(r *v1alpha1.BenchmarkRun) { r.Status.QueuePosition = ptr.To[int32](2) }, false},
		"a message":            {func(r *v1alpha1.BenchmarkRun) { r.Status.Conditions[0].Message = "2 runs before it" }, false},
		"recreated":            {func(r *v1alpha1.BenchmarkRun) { r.UID = "other" }, true},
		"admitted":             {func(r *v1alpha1.BenchmarkRun) { r.Status.Conditions = admitted(metav1.ConditionTrue, "") }, true},
		"suspended":            {func(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true }, true},
		"deleted":              {func(r *v1alpha1.BenchmarkRun) { r.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) }, true},
		"ended": {func(r *v1alpha1.BenchmarkRun) {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse})
		}, true},
		"planned": {func(r *v1alpha1.BenchmarkRun) { r.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "a"} }, true},
		"started": {func(r *v1alpha1.BenchmarkRun) { r.Status.StartTime = ptr.To(metav1.NewTime(epoch)) }, true},
		"calibrated": {func(r *v1alpha1.BenchmarkRun) {
			r.Status.Generator.Calibration = []v1alpha1.CalibrationFrame{{Size: "64"}}
		}, true},
		"a fingerprint": {func(r *v1alpha1.BenchmarkRun) {
			r.Status.Device = &v1alpha1.DeviceReport{Fingerprint: &v1alpha1.Fingerprint{Digest: "x"}}
		}, true},
		"a default testbed": {func(r *v1alpha1.BenchmarkRun) { r.Status.TestbedRef = &v1alpha1.TestbedReference{Name: "bench"} }, true},
	} {
		before := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{UID: "run", ResourceVersion: "1"}}
		before.Status.Conditions, before.Status.Generator = admitted(metav1.ConditionFalse, "1 run before it"), &v1alpha1.GeneratorReport{Threads: 1}
		after := before.DeepCopy()
		test.change(after)
		if got := runChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.wakes {
			t.Errorf("%s: the testbed is woken: %t, want %t", name, got, test.wakes)
		}
	}
}

// TestCalibrationIsACopy checks that the status shares nothing with the cache, into whose objects the answer
// to the patch would be written.
func TestCalibrationIsACopy(t *testing.T) {
	s := newScope(run("x", 1, func(r *v1alpha1.BenchmarkRun) {
		r.Status.StartTime = ptr.To(metav1.NewTime(epoch))
		r.Status.Generator = &v1alpha1.GeneratorReport{Calibration: []v1alpha1.CalibrationFrame{{Size: "64"}}}
	}))
	summarize(s, decide(s)).Calibration.Frames[0].Size = "1518"
	if got := s.runs[0].Status.Generator.Calibration[0].Size; got != "64" {
		t.Errorf("the cache's run has a calibration of size %q", got)
	}
}
