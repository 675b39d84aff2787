package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestMetricsCountVerdicts(t *testing.T) {
	m := NewMetrics()
	m.ended(&v1alpha1.BenchmarkRunStatus{
		StartTime: ptr.To(metav1.NewTime(epoch)), CompletionTime: ptr.To(metav1.NewTime(epoch.Add(90 * time.Second))),
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAccepted}},
	})
	m.ended(&v1alpha1.BenchmarkRunStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInconclusive}},
	})
	want := `
# HELP vnfbench_runs_total BenchmarkRuns that have ended, by the status and reason of their condition Succeeded.
# TYPE vnfbench_runs_total counter
vnfbench_runs_total{reason="Inconclusive",result="inconclusive"} 1
vnfbench_runs_total{reason="NotAccepted",result="failed"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "vnfbench_runs_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m, "vnfbench_run_duration_seconds"); n != 1 {
		t.Errorf("%d durations, want 1", n)
	}
	lint(t, m)
}

func TestGaugesShowWhatIsStored(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	ended := newScope(finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)).run
	ended.Status.Results = ndr(123456)
	ended.Status.Results[0].Throughput = append(ended.Status.Results[0].Throughput,
		v1alpha1.ThroughputResult{Goal: "PDR", FramesPerSecond: 200, UpperBoundCause: v1alpha1.CauseMaximumLoad},
		v1alpha1.ThroughputResult{Goal: "short", FramesPerSecond: 100, Regularity: v1alpha1.Irregular})
	going := newScope().run
	going.Name = "going"
	going.Status.Results = ended.Status.Results
	testbed := newScope().testbed
	testbed.Status.QueuedRuns = 2
	ended.Finalizers, ended.Status.CompletionTime = nil, ptr.To(metav1.NewTime(epoch))
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(ended.DeepCopy(), going, testbed).Build()
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cached(t, ended.DeepCopy()), going, testbed).Build()
	gauges := &Gauges{Cache: cache, Reader: reader}
	want := `
# HELP vnfbench_run_figure Figure that a finished BenchmarkRun found, of the worse direction, in the unit that its metric's name ends with.
# TYPE vnfbench_run_figure gauge
vnfbench_run_figure{experiment="bench-one-two",goal="NDR",load="",metric="ThroughputFramesPerSecond",namespace="lab",run="run",size="64",streams=""} 123456
# HELP vnfbench_run_uncertain_figure Value that a finished BenchmarkRun found and that is no figure of the device, for the reason in the label doubt: a floor, an irregular search, or a load that was not reached.
# TYPE vnfbench_run_uncertain_figure gauge
vnfbench_run_uncertain_figure{doubt="IrregularResult",experiment="bench-one-two",goal="short",load="",metric="ThroughputFramesPerSecond",namespace="lab",run="run",size="64",streams=""} 100
vnfbench_run_uncertain_figure{doubt="MaximumLoad",experiment="bench-one-two",goal="PDR",load="",metric="ThroughputFramesPerSecond",namespace="lab",run="run",size="64",streams=""} 200
# HELP vnfbench_testbed_queue_length BenchmarkRuns that wait for a Testbed.
# TYPE vnfbench_testbed_queue_length gauge
vnfbench_testbed_queue_length{testbed="bench"} 2
`
	if err := testutil.CollectAndCompare(gauges, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	lint(t, gauges)
	// They are read once.
	gauges.Reader = nil
	if err := testutil.CollectAndCompare(gauges, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	// A label names the experiment, and can change.
	gauges.Reader = reader
	for _, c := range []client.Client{reader, cache} {
		if err := c.Patch(t.Context(), ended.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.LabelExperiment+`":"renamed"}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	if err := testutil.CollectAndCompare(gauges, strings.NewReader(strings.ReplaceAll(want, "bench-one-two", "renamed"))); err != nil {
		t.Error(err)
	}
	if err := cache.Delete(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(gauges, "vnfbench_run_figure"); n != 0 {
		t.Errorf("%d figures of a run that is gone", n)
	}

	gauges.Leading = make(chan struct{})
	if n := testutil.CollectAndCount(gauges); n != 0 {
		t.Errorf("%d figures from a manager that does not lead", n)
	}
}

// TestGaugesShowTheLastRuns checks that the number of series does not grow with the number of finished runs, and that a run
// whose figures cannot be read is left to the next scrape.
func TestGaugesShowTheLastRuns(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var runs []client.Object
	for i := range maxRunsWithFigures + 5 {
		run := newScope(finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)).run
		run.Name, run.UID = fmt.Sprintf("run-%03d", i), types.UID(fmt.Sprint(i))
		run.Status.CompletionTime, run.Status.Results = ptr.To(metav1.NewTime(epoch.Add(time.Duration(i)*time.Second))), ndr(int64(i+1))
		runs = append(runs, run)
	}
	failing := true
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(runs...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if failing && key.Name == "run-010" {
				return errors.New("later")
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
	gauges := &Gauges{Cache: reader, Reader: reader}
	if n := testutil.CollectAndCount(gauges, "vnfbench_run_figure"); n != maxRunsWithFigures-1 {
		t.Errorf("%d figures, want one of %d runs", n, maxRunsWithFigures-1)
	}
	failing = false
	if n := testutil.CollectAndCount(gauges, "vnfbench_run_figure"); n != maxRunsWithFigures {
		t.Errorf("%d figures, want one of %d runs", n, maxRunsWithFigures)
	}
	oldest := endedLast([]v1alpha1.BenchmarkRun{*runs[0].(*v1alpha1.BenchmarkRun), *runs[1].(*v1alpha1.BenchmarkRun)})
	if oldest[0].Name != "run-001" {
		t.Errorf("the first of those that ended last is %q", oldest[0].Name)
	}
}

// TestFiguresAreBounded checks that the runs that are shown have a number of figures together, that one with more is shown
// alone, and that a run that does not fit is not read again at each scrape.
func TestFiguresAreBounded(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ goals, shown int }{"some fit": {2000, 2}, "one is too large": {maxFigures + 1, 1}} {
		t.Run(name, func(t *testing.T) {
			var runs []client.Object
			for i := range 5 {
				run := newScope(finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)).run
				run.Name, run.UID, run.Finalizers = fmt.Sprint("run-", i), types.UID(fmt.Sprint(i)), nil
				run.Status.CompletionTime, run.Status.Results = ptr.To(metav1.NewTime(epoch.Add(time.Duration(i)*time.Second))), ndr(1)
				one := run.Status.Results[0].Throughput[0]
				run.Status.Results[0].Throughput = nil
				for goal := range test.goals {
					one.Goal = fmt.Sprint(goal)
					run.Status.Results[0].Throughput = append(run.Status.Results[0].Throughput, one)
				}
				runs = append(runs, run)
			}
			reads := 0
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(runs...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, object, options...)
				},
			}).Build()
			gauges := &Gauges{Cache: reader, Reader: reader}
			for range 3 {
				if n := testutil.CollectAndCount(gauges, "vnfbench_run_figure"); n != test.shown*test.goals {
					t.Errorf("%d figures, want those of %d runs", n, test.shown)
				}
			}
			if reads != test.shown+1 {
				t.Errorf("%d runs were read, want %d and the next", reads, test.shown)
			}
		})
	}
}

func lint(t *testing.T, collector prometheus.Collector) {
	t.Helper()
	problems, err := testutil.CollectAndLint(collector)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
