package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func run(name string, second int, change ...func(*v1alpha1.BenchmarkRun)) v1alpha1.BenchmarkRun {
	r := v1alpha1.BenchmarkRun{}
	r.Namespace, r.Name, r.UID = "lab", name, types.UID(name)
	r.CreationTimestamp = metav1.NewTime(epoch.Add(time.Duration(second) * time.Second))
	for _, c := range change {
		c(&r)
	}
	return r
}

var allowed = map[string]bool{"lab": true, "bench": true}

func in(namespace string) func(*v1alpha1.BenchmarkRun) {
	return func(r *v1alpha1.BenchmarkRun) { r.Namespace = namespace }
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
		run("late", 9), run("b", 5), run("a", 5), run("next", 6, in("bench")), run("stranger", 1, in("elsewhere")), run("holder", 0),
		run("suspended", 1, suspended), run("deleted", 1, deleted), run("finished", 1, finished),
	}
	var names []string
	for _, w := range Waiting(testbed, runs, allowed) {
		names = append(names, w.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "next", "late"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestPositions(t *testing.T) {
	testbed := &v1alpha1.Testbed{}
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{Name: "holder", UID: "holder"}}
	runs := []v1alpha1.BenchmarkRun{run("second", 2), run("holder", 0), run("first", 1), run("finished", 0, finished)}
	want := map[types.UID]int{"first": 1, "second": 2}
	if diff := cmp.Diff(want, Positions(testbed, runs, allowed)); diff != "" {
		t.Error(diff)
	}
}

func TestShown(t *testing.T) {
	for number, want := range map[int]int{0: 0, 1: 1, 9: 9, 10: 10, 11: 10, 19: 10, 20: 20, 49: 20, 50: 50, 99: 50, 100: 100, 199: 100, 1234: 1000, 4999: 2000, 5000: 5000} {
		if got, exact := Shown(number); got != want || exact != (number < 10) {
			t.Errorf("%d is shown as %d, exact %t, want %d", number, got, exact, want)
		}
	}
	changes := 0
	for number := 1; number < 1000; number++ {
		before, _ := Shown(number + 1)
		if after, _ := Shown(number); before != after {
			changes++
		}
	}
	if changes > 20 {
		t.Errorf("one admission changes the place of %d runs of 1000 that wait", changes)
	}
}

func TestIndexes(t *testing.T) {
	named := func(r *v1alpha1.BenchmarkRun) {
		r.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: "bench"}
	}
	waiting, ended, alone := run("waiting", 1, named), run("ended", 1, named, finished), run("alone", 1)
	for _, test := range []struct {
		run             v1alpha1.BenchmarkRun
		all, unfinished []string
	}{
		{waiting, []string{"bench"}, []string{"bench"}},
		{ended, []string{"bench"}, nil},
		{alone, []string{NoTestbed}, []string{NoTestbed}},
	} {
		if all, unfinished := TestbedOf(&test.run), UnfinishedOf(&test.run); !slices.Equal(all, test.all) || !slices.Equal(unfinished, test.unfinished) {
			t.Errorf("run %q is indexed as %q and %q", test.run.Name, all, unfinished)
		}
	}
}

func TestAllowed(t *testing.T) {
	namespace := func(name, team string) corev1.Namespace {
		return corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name, "team": team}}}
	}
	namespaces := []corev1.Namespace{namespace("lab", "network"), namespace("bench", "network"), namespace("shop", "sales")}
	match := func(labels map[string]string) v1alpha1.TestbedNamespaces {
		return v1alpha1.TestbedNamespaces{From: v1alpha1.NamespacesFromSelector, Selector: &metav1.LabelSelector{MatchLabels: labels}}
	}
	everything := map[string]bool{"lab": true, "bench": true, "shop": true}
	for name, test := range map[string]struct {
		namespaces v1alpha1.TestbedNamespaces
		want       map[string]bool
	}{
		"all":             {v1alpha1.TestbedNamespaces{From: v1alpha1.NamespacesFromAll}, everything},
		"labels":          {match(map[string]string{"team": "network"}), map[string]bool{"lab": true, "bench": true}},
		"a name":          {match(map[string]string{corev1.LabelMetadataName: "shop"}), map[string]bool{"shop": true}},
		"nothing matches": {match(map[string]string{"team": "other"}), map[string]bool{}},
		"empty selector":  {match(nil), everything},
	} {
		got, err := Allowed(&v1alpha1.Testbed{Spec: v1alpha1.TestbedSpec{Namespaces: test.namespaces}}, namespaces)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	broken := match(nil)
	broken.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}
	if got, err := Allowed(&v1alpha1.Testbed{Spec: v1alpha1.TestbedSpec{Namespaces: broken}}, namespaces); err == nil || len(got) != 0 {
		t.Errorf("a selector that cannot be read allows %v", got)
	}
}

func TestDefault(t *testing.T) {
	testbed := func(name string, second int, mark string) v1alpha1.Testbed {
		return v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{v1alpha1.AnnotationDefaultTestbed: mark},
			CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(second) * time.Second)),
		}}
	}
	going := testbed("going", 9, "true")
	going.DeletionTimestamp = &metav1.Time{Time: epoch}
	for name, test := range map[string]struct {
		testbeds []v1alpha1.Testbed
		want     string
	}{
		"none":              {nil, ""},
		"none is marked":    {[]v1alpha1.Testbed{testbed("a", 1, "false"), testbed("b", 2, "")}, ""},
		"one":               {[]v1alpha1.Testbed{testbed("a", 1, "true"), testbed("b", 2, "false")}, "a"},
		"the newest":        {[]v1alpha1.Testbed{testbed("a", 1, "true"), testbed("b", 2, "true"), testbed("c", 1, "true")}, "b"},
		"of the same time":  {[]v1alpha1.Testbed{testbed("b", 1, "true"), testbed("a", 1, "true")}, "a"},
		"not one that goes": {[]v1alpha1.Testbed{testbed("a", 1, "true"), going}, "a"},
	} {
		got := ""
		if found := Default(test.testbeds); found != nil {
			got = found.Name
		}
		if got != test.want {
			t.Errorf("%s: the default is %q, want %q", name, got, test.want)
		}
	}
}
