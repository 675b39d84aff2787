package benchmarkrun

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// Cached drops from an object what no decision needs, before the cache keeps it. It may be called with an object that it
// has returned before.
//
// A patch of such an object cannot remove what was dropped: it has the differences between two objects
// that both lack it. Only a list of finalizers is replaced as a whole: setFinalizer reads it without the cache.
func Cached(object any) (any, error) {
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		m := &o.ObjectMeta
		*m = metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
			DeletionTimestamp: m.DeletionTimestamp, OwnerReferences: keptOwner(m),
		}
	case *corev1.Pod:
		keepPod(o)
	case *batchv1.Job:
		keepJob(o)
	case *kubevirtv1.VirtualMachineInstance:
		keepVM(o)
	case *v1alpha1.BenchmarkSuite:
		keepSuite(o)
	case *v1alpha1.BenchmarkSuiteRun:
		keepExecution(o)
	case *v1alpha1.BenchmarkRun:
		return cachedRun(o), nil
	}
	return object, nil
}

// cachedRun drops from a run what no decision needs: there may be a thousand
// runs that have ended, each with all its results. Of a run that has its verdict and has released
// its testbed, it keeps where the run was, when, and what the testbed's status takes from it, and not
// what it measured. Of any run it keeps the finalizer of the operator alone.
func cachedRun(run *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	meta := keptMeta(&run.ObjectMeta)
	if slices.Contains(run.Finalizers, v1alpha1.Finalizer) {
		meta.Finalizers = []string{v1alpha1.Finalizer}
	}
	run.ObjectMeta = meta
	if !queue.Finished(run) || queue.Occupies(run) {
		return run
	}
	experiment := &run.Spec.Experiment
	experiment.Traffic, experiment.Measurements, experiment.Acceptance = v1alpha1.Traffic{}, v1alpha1.Measurements{}, nil
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
	return run
}
