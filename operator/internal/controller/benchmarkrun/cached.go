package benchmarkrun

import (
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// Cached drops from a run what no decision needs, before the cache keeps it: there may be a thousand
// runs that have ended, each with all its results. Of a run that has its verdict and has released
// its testbed, it keeps where the run was, when, and what the testbed's status takes from it. It may
// be called with a run that it has returned before.
//
// A patch of such a run cannot remove what was dropped: it has the differences between two statuses
// that both lack it.
func Cached(object any) (any, error) {
	run, ok := object.(*v1alpha1.BenchmarkRun)
	if !ok {
		return object, nil
	}
	run.ManagedFields = nil
	if !queue.Finished(run) || queue.Occupies(run) {
		return run, nil
	}
	// A copy of the spec.
	delete(run.Annotations, corev1.LastAppliedConfigAnnotation)
	before := run.Status
	run.Status = v1alpha1.BenchmarkRunStatus{
		Conditions: before.Conditions, ObservedGeneration: before.ObservedGeneration, TestbedRef: before.TestbedRef,
		StartTime: before.StartTime, CompletionTime: before.CompletionTime, Plan: before.Plan, ResultsRef: before.ResultsRef,
	}
	if g := before.Generator; g != nil {
		run.Status.Generator = &v1alpha1.GeneratorReport{Calibration: g.Calibration, Fingerprint: g.Fingerprint}
	}
	if d := before.Device; d != nil && d.Fingerprint != nil {
		run.Status.Device = &v1alpha1.DeviceReport{Fingerprint: d.Fingerprint}
	}
	return run, nil
}
