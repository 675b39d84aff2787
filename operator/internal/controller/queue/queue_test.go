package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func run(name string, second int, change ...func(*v1alpha1.BenchmarkRun)) v1alpha1.BenchmarkRun {
	r := v1alpha1.BenchmarkRun{}
	r.Name, r.UID = name, types.UID(name)
	r.CreationTimestamp = metav1.NewTime(epoch.Add(time.Duration(second) * time.Second))
	for _, c := range change {
		c(&r)
	}
	return r
}

func suspended(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true }
func deleted(r *v1alpha1.BenchmarkRun)   { r.DeletionTimestamp = &metav1.Time{Time: epoch} }
func finished(r *v1alpha1.BenchmarkRun) {
	r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse}}
}

func TestWaitingIsOrderedByCreationThenName(t *testing.T) {
	testbed := &v1alpha1.Testbed{}
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{Name: "holder", UID: "holder"}}
	runs := []v1alpha1.BenchmarkRun{
		run("late", 9), run("b", 5), run("a", 5), run("holder", 0),
		run("suspended", 1, suspended), run("deleted", 1, deleted), run("finished", 1, finished),
	}
	var names []string
	for _, w := range Waiting(testbed, runs) {
		names = append(names, w.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "late"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestPositionCountsTheHolder(t *testing.T) {
	testbed := &v1alpha1.Testbed{}
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{Name: "holder", UID: "holder"}}
	runs := []v1alpha1.BenchmarkRun{run("holder", 0), run("first", 1), run("second", 2)}
	for name, want := range map[string][2]int{"first": {1, 1}, "second": {2, 2}, "holder": {0, 1}} {
		r := run(name, 0)
		position, before := Position(testbed, runs, &r)
		if got := [2]int{position, before}; got != want {
			t.Errorf("%s: position and runs before are %v, want %v", name, got, want)
		}
	}
}
