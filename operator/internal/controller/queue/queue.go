// Package queue says which Testbed a BenchmarkRun uses, which runs want one and
// may have it, and in which order.
//
// The runs that name a testbed and its status go in; who holds it and who waits
// comes out. It is pure: the Testbed controller admits runs with it, and the
// BenchmarkRun controller shows a waiting run its place with it.
package queue

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

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

// Occupies reports whether the run's status says that it holds its testbed. The run sets
// this before it makes its first object and clears it when the last pod is gone.
func Occupies(run *v1alpha1.BenchmarkRun) bool {
	return meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionAdmitted)
}

// Archived reports whether the archive has the run's document.
func Archived(run *v1alpha1.BenchmarkRun) bool {
	return meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionArchived)
}

// ArchiveOverdue is how long the archive has for a document before it is said that a run is kept because of it.
const ArchiveOverdue = 10 * time.Minute

// Holds reports whether the testbed's status names the run.
func Holds(testbed *v1alpha1.Testbed, run *v1alpha1.BenchmarkRun) bool {
	return slices.ContainsFunc(testbed.Status.ActiveRuns, func(a v1alpha1.ActiveRun) bool {
		return a.UID == string(run.UID)
	})
}

// Ready returns the testbed's condition Ready, or nil.
func Ready(testbed *v1alpha1.Testbed) *metav1.Condition {
	return meta.FindStatusCondition(testbed.Status.Conditions, v1alpha1.ConditionReady)
}

// Allowed returns the names of the namespaces whose runs may use the testbed. Its error
// means that the testbed's selector cannot be read: no namespace is allowed.
func Allowed(testbed *v1alpha1.Testbed, namespaces []corev1.Namespace) (map[string]bool, error) {
	selector := labels.Everything()
	if testbed.Spec.Namespaces.From == v1alpha1.NamespacesFromSelector {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(testbed.Spec.Namespaces.Selector); err != nil {
			return nil, fmt.Errorf("spec.namespaces.selector: %w", err)
		}
	}
	allowed := map[string]bool{}
	for i := range namespaces {
		if selector.Matches(labels.Set(namespaces[i].Labels)) {
			allowed[namespaces[i].Name] = true
		}
	}
	return allowed, nil
}

// Default returns the cluster's default testbed, or nil: of those that are marked
// and not being deleted, the one that was created last.
func Default(testbeds []v1alpha1.Testbed) *v1alpha1.Testbed {
	var latest *v1alpha1.Testbed
	for i := range testbeds {
		t := &testbeds[i]
		if t.Annotations[v1alpha1.AnnotationDefaultTestbed] != "true" || !t.DeletionTimestamp.IsZero() {
			continue
		}
		if latest == nil || cmp.Or(t.CreationTimestamp.Compare(latest.CreationTimestamp.Time), cmp.Compare(latest.Name, t.Name)) > 0 {
			latest = t
		}
	}
	return latest
}

// Waiting returns the runs of allowed namespaces that want the testbed and do not
// hold it, the next one first.
func Waiting(testbed *v1alpha1.Testbed, runs []v1alpha1.BenchmarkRun, allowed map[string]bool) []*v1alpha1.BenchmarkRun {
	var waiting []*v1alpha1.BenchmarkRun
	for i := range runs {
		if allowed[runs[i].Namespace] && Wants(&runs[i]) && !Holds(testbed, &runs[i]) {
			waiting = append(waiting, &runs[i])
		}
	}
	slices.SortFunc(waiting, Compare)
	return waiting
}

// Compare returns a negative number when a waits before b, and a positive one when it waits after it.
func Compare(a, b *v1alpha1.BenchmarkRun) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
}

// Positions returns the place of each run that waits, by its UID: 1 for the next.
func Positions(testbed *v1alpha1.Testbed, runs []v1alpha1.BenchmarkRun, allowed map[string]bool) map[types.UID]int {
	positions := map[types.UID]int{}
	for i, run := range Waiting(testbed, runs, allowed) {
		positions[run.UID] = i + 1
	}
	return positions
}

// exactPlaces is the number of places at the front of a queue that are shown as they are.
const exactPlaces = 10

// Shown returns a place, or a number of runs, as a run's status has it, and whether it is exact: from
// 10 on it is rounded down to 10, 20, 50, 100, 200 and so on. So an admission changes the status of
// some fifteen runs that wait, and not of all.
func Shown(number int) (shown int, exact bool) {
	if number < exactPlaces {
		return number, true
	}
	scale := exactPlaces
	for number >= 10*scale {
		scale *= 10
	}
	for _, step := range []int{5, 2} {
		if number >= step*scale {
			return step * scale, false
		}
	}
	return scale, false
}

const (
	// IndexTestbed is the cache's index of runs by the testbed that they use.
	IndexTestbed = "testbedRef.name"
	// IndexUnfinished is the same index of the runs that have no verdict yet.
	IndexUnfinished = "unfinished.testbedRef.name"
	// NoTestbed is the index's value for a run that has no testbed yet. No object
	// can have this name.
	NoTestbed = "(none)"
)

// TestbedOf returns the value of IndexTestbed for a run.
func TestbedOf(object client.Object) []string {
	return []string{cmp.Or(object.(*v1alpha1.BenchmarkRun).TestbedName(), NoTestbed)}
}

// UnfinishedOf returns the value of IndexUnfinished for a run.
func UnfinishedOf(object client.Object) []string {
	if Finished(object.(*v1alpha1.BenchmarkRun)) {
		return nil
	}
	return TestbedOf(object)
}
