package testbed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// ended makes it a run that ended and released the testbed, some seconds after the epoch.
func ended(second int) func(*v1alpha1.BenchmarkRun) {
	return func(r *v1alpha1.BenchmarkRun) {
		is(v1alpha1.ConditionSucceeded, metav1.ConditionFalse)(r)
		r.Status.CompletionTime = ptr.To(metav1.NewTime(epoch.Add(time.Duration(second) * time.Second)))
	}
}

func keeps(number int32) with { return func(s *scope) { s.testbed.Spec.HistoryLimit = number } }

func kept(r *v1alpha1.BenchmarkRun) {
	r.Annotations = map[string]string{v1alpha1.AnnotationKeep: "true"}
}

func compared(name string) with {
	return func(s *scope) {
		s.baselines = map[types.NamespacedName]bool{{Namespace: "lab", Name: name}: true}
	}
}

func TestHistoryLimit(t *testing.T) {
	holds := is(v1alpha1.ConditionAdmitted, metav1.ConditionTrue)
	tests := map[string]struct {
		scope *scope
		want  string
	}{
		"below it":                        {newScope(keeps(2), run("a", 1, ended(1)), run("b", 2, ended(2))), ""},
		"the oldest end goes":             {newScope(keeps(2), run("a", 1, ended(9)), run("b", 2, ended(2)), run("c", 3, ended(3))), "b"},
		"two go":                          {newScope(keeps(1), run("a", 1, ended(1)), run("b", 2, ended(2)), run("c", 3, ended(3))), "a,b"},
		"unfinished do not count":         {newScope(keeps(1), run("a", 1), run("b", 2, suspended), run("c", 3, ended(3))), ""},
		"one that is not released":        {newScope(keeps(1), run("a", 1, ended(1), holds), run("c", 3, ended(3))), ""},
		"one that goes already":           {newScope(keeps(1), run("a", 1, ended(1), goes), run("c", 3, ended(3))), ""},
		"one that is kept":                {newScope(keeps(1), run("a", 1, ended(1), kept), run("b", 2, ended(2)), run("c", 3, ended(3))), "b"},
		"a baseline":                      {newScope(keeps(1), compared("a"), run("a", 1, ended(1)), run("b", 2, ended(2)), run("c", 3, ended(3))), "b"},
		"of the namespace with most":      {newScope(keeps(3), run("a", 1, ended(1), of("bench")), run("b", 2, ended(2)), run("c", 3, ended(3)), run("d", 4, ended(4))), "b"},
		"of two with as many, the oldest": {newScope(keeps(3), run("a", 1, ended(2), of("bench")), run("b", 2, ended(4), of("bench")), run("c", 3, ended(1)), run("d", 4, ended(3))), "c"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, run := range decide(test.scope).runs {
				names = append(names, run.Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, ","); got != test.want {
				t.Errorf("deletes %q, want %q", got, test.want)
			}
		})
	}
}

// TestHistoryOfManyRuns checks the default, and that one reconciliation does not delete hundreds of runs.
func TestHistoryOfManyRuns(t *testing.T) {
	s := newScope()
	for i := range 1000 {
		run(fmt.Sprintf("r%04d", i), i, ended(i))(s)
	}
	d := decide(s)
	if d.action != actPrune || len(d.runs) != maxPruned || d.runs[0].Name != "r0000" || d.runs[maxPruned-1].Name != "r0019" {
		t.Errorf("%s of %d runs", d.action, len(d.runs))
	}
	s.runs = s.runs[1000-defaultHistoryLimit:]
	if d := decide(s); d.action == actPrune {
		t.Errorf("deletes %d of %d runs", len(d.runs), defaultHistoryLimit)
	}
}
