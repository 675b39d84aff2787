// Package queue says which BenchmarkRuns want a testbed and in which order.
//
// In go the runs that name a testbed and its status; out come who holds it and
// who waits. It is pure: the Testbed controller admits by it, and the
// BenchmarkRun controller shows a waiting run its place by it.
package queue

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// Finished reports whether the run has its verdict.
func Finished(run *v1alpha1.BenchmarkRun) bool {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && c.Status != metav1.ConditionUnknown
}

// Wants reports whether the run asks for its testbed: it has not ended, is not
// suspended and is not being deleted.
func Wants(run *v1alpha1.BenchmarkRun) bool {
	return !Finished(run) && !run.Spec.Suspend && run.DeletionTimestamp.IsZero()
}

// Occupies reports whether the run believes that it holds its testbed. It writes so
// before it makes its first object and takes it back when the last pod is gone.
func Occupies(run *v1alpha1.BenchmarkRun) bool {
	return meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionAdmitted)
}

// Holds reports whether the testbed's status names the run.
func Holds(testbed *v1alpha1.Testbed, run *v1alpha1.BenchmarkRun) bool {
	return slices.ContainsFunc(testbed.Status.ActiveRuns, func(a v1alpha1.ActiveRun) bool {
		return a.UID == string(run.UID)
	})
}

// Waiting returns the runs that want the testbed and do not hold it, the next one first.
func Waiting(testbed *v1alpha1.Testbed, runs []v1alpha1.BenchmarkRun) []*v1alpha1.BenchmarkRun {
	var waiting []*v1alpha1.BenchmarkRun
	for i := range runs {
		if Wants(&runs[i]) && !Holds(testbed, &runs[i]) {
			waiting = append(waiting, &runs[i])
		}
	}
	slices.SortFunc(waiting, func(a, b *v1alpha1.BenchmarkRun) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return waiting
}

// Position returns the run's place among those that wait, 1 for the next, and how
// many runs are before it, those that hold the testbed included. A run that
// does not wait has position 0.
func Position(testbed *v1alpha1.Testbed, runs []v1alpha1.BenchmarkRun, run *v1alpha1.BenchmarkRun) (position, before int) {
	waiting := Waiting(testbed, runs)
	i := slices.IndexFunc(waiting, func(w *v1alpha1.BenchmarkRun) bool { return w.UID == run.UID })
	if i < 0 {
		return 0, len(testbed.Status.ActiveRuns)
	}
	return i + 1, i + len(testbed.Status.ActiveRuns)
}

// IndexTestbed is the cache's index of runs by the testbed that they name.
const IndexTestbed = "spec.experiment.testbedRef.name"

// TestbedOf returns the index's value for a run.
func TestbedOf(object client.Object) []string {
	return []string{object.(*v1alpha1.BenchmarkRun).Spec.Experiment.TestbedRef.Name}
}
