package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
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
		s.needed = map[types.NamespacedName]bool{{Namespace: "lab", Name: name}: true}
	}
}

func awaitsArchive(s *scope) { s.defaults.AwaitsArchive = true }

func archived(r *v1alpha1.BenchmarkRun) {
	r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonStored})
}

// TestAwaiting checks that it is said after a while, and not of each run that has just ended, that runs are kept because of the archive.
func TestAwaiting(t *testing.T) {
	s := newScope(awaitsArchive, keeps(1), run("a", 1, ended(1)), run("b", 2, ended(2)), run("c", 3, ended(3), archived))
	end := endOf(&s.runs[1])
	for wait, want := range map[time.Duration]int{time.Minute: 0, time.Hour: 2} {
		if s.now = end.Add(wait); s.awaiting() != want {
			t.Errorf("after %s %d runs wait, want %d", wait, s.awaiting(), want)
		}
	}
	s.defaults.AwaitsArchive = false
	if s.awaiting() != 0 {
		t.Error("without an archive runs wait for it")
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
		"one that is not archived":        {newScope(awaitsArchive, keeps(1), run("a", 1, ended(1)), run("b", 2, ended(2), archived), run("c", 3, ended(3), archived)), "b"},
		"none is archived":                {newScope(awaitsArchive, keeps(1), run("a", 1, ended(1)), run("b", 2, ended(2)), run("c", 3, ended(3))), ""},
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

// TestRunThatCannotBeDeleted: a policy protects the oldest finished run. The others go, the next run gets the testbed,
// and the deletion is tried again.
func TestRunThatCannotBeDeleted(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := newScope(keeps(1), run("a", 1, ended(1)), run("b", 2, ended(2)), run("c", 3, ended(3)), run("next", 4))
	lab := namespace("lab")
	objects := []client.Object{s.testbed, &s.nodes[0], &lab}
	for i := range s.runs {
		s.runs[i].Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: s.testbed.Name}
		objects = append(objects, &s.runs[i])
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(s.testbed).
		WithIndex(&v1alpha1.BenchmarkRun{}, queue.IndexTestbed, queue.TestbedOf).
		WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if object.GetName() == "a" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "benchmarkruns"}, "a", errors.New("protected"))
			}
			return c.Delete(ctx, object, options...)
		}, List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			var o client.ListOptions
			o.ApplyOptions(options)
			if _, ofRuns := list.(*v1alpha1.BenchmarkRunList); ofRuns && (o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy) {
				t.Error("runs of the cluster are copied")
			}
			return c.List(ctx, list, options...)
		}}).Build()
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{Client: c, Clock: clocktesting.NewFakePassiveClock(epoch), Recorder: recorder}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.testbed)})
	if err != nil || result.RequeueAfter != pruneInterval {
		t.Fatalf("%+v, %v", result, err)
	}
	testbed, left := &v1alpha1.Testbed{}, &v1alpha1.BenchmarkRunList{}
	if err := errors.Join(c.Get(t.Context(), client.ObjectKeyFromObject(s.testbed), testbed), c.List(t.Context(), left, client.UnsafeDisableDeepCopy)); err != nil {
		t.Fatal(err)
	}
	if active := testbed.Status.ActiveRuns; len(active) != 1 || active[0].Name != "next" {
		t.Errorf("the testbed has %+v", active)
	}
	var names []string
	for _, run := range left.Items {
		names = append(names, run.Name)
	}
	if got := strings.Join(names, ","); got != "a,c,next" {
		t.Errorf("left are %s", got)
	}
	close(recorder.Events)
	var named bool
	for text := range recorder.Events {
		named = named || strings.HasPrefix(text, "Warning HistoryLimit") && strings.Contains(text, `"lab/a"`) && strings.Contains(text, "protected")
	}
	if !named {
		t.Error("no event names the run that cannot be deleted")
	}
}

// TestHistoryKeepsWhatIsNotRecorded checks that a run stays whose outcome its execution has not recorded, as while a quota has no room for
// its figures, and that it goes afterwards.
func TestHistoryKeepsWhatIsNotRecorded(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.BenchmarkSuiteRun)
		want   string
	}{
		"not recorded":         {func(*v1alpha1.BenchmarkSuiteRun) {}, "b"},
		"recorded":             {func(e *v1alpha1.BenchmarkSuiteRun) { e.Status.ActiveRun = "" }, "a"},
		"of another namespace": {func(e *v1alpha1.BenchmarkSuiteRun) { e.Namespace = "bench" }, "a"},
		"deleted": {func(e *v1alpha1.BenchmarkSuiteRun) {
			e.DeletionTimestamp, e.Finalizers = ptr.To(metav1.NewTime(epoch)), []string{"example.com/x"}
		}, "a"},
	} {
		s := newScope(keeps(1), run("a", 1, ended(1)), run("b", 2, ended(2)), run("c", 3, ended(3)))
		execution := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "e"}}
		execution.Status.ActiveRun = "a"
		test.change(execution)
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(execution).Build()
		if err := (&Reconciler{Client: c}).readNeeded(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if surplus := s.surplus(); len(surplus) == 0 || surplus[0].Name != test.want {
			t.Errorf("%s: the first to be deleted of %d is not %q", name, len(surplus), test.want)
		}
	}
}

// TestDefaultHistoryLimit checks that the operator's default is that of the API.
func TestDefaultHistoryLimit(t *testing.T) {
	text, err := os.ReadFile("../../../../config/crd/bases/vnfbench.io_testbeds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`historyLimit:\s+default: (\d+)`).FindSubmatch(text)
	if found == nil || string(found[1]) != strconv.Itoa(defaultHistoryLimit) {
		t.Errorf("the API's default is %q, the operator's %d", found, defaultHistoryLimit)
	}
}
