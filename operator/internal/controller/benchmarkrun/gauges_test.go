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

// clusterOf returns a cluster with objects. Before each Get, it calls onGet, whose error is the answer.
func clusterOf(t *testing.T, onGet func(name string) error, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if onGet != nil {
				if err := onGet(key.Name); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
}

// measured returns a run of an experiment that ended some seconds after the epoch, with the throughputs of some goals.
func measured(namespace, experiment, name string, second, goals int) *v1alpha1.BenchmarkRun {
	run := newScope(finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded), condition(v1alpha1.ConditionMeasured, metav1.ConditionTrue, v1alpha1.ReasonMeasured)).run
	run.Namespace, run.Name, run.UID, run.Finalizers = namespace, name, types.UID(namespace+name), nil
	run.Labels = map[string]string{v1alpha1.LabelExperiment: experiment}
	run.Status.CompletionTime, run.Status.Results = ptr.To(metav1.NewTime(epoch.Add(time.Duration(second)*time.Second))), ndr(int64(second))
	one := run.Status.Results[0].Throughput[0]
	run.Status.Results[0].Throughput = nil
	for goal := range goals {
		one.Goal = fmt.Sprint(goal)
		run.Status.Results[0].Throughput = append(run.Status.Results[0].Throughput, one)
	}
	return run
}

func TestGaugesShowWhatIsStored(t *testing.T) {
	last := measured("lab", "", "last", 20, 0)
	last.Labels = nil
	last.Status.Results = ndr(123456)
	last.Status.Results[0].Throughput = append(last.Status.Results[0].Throughput,
		v1alpha1.ThroughputResult{Goal: "PDR", FramesPerSecond: 200, UpperBoundCause: v1alpha1.CauseMaximumLoad},
		v1alpha1.ThroughputResult{Goal: "short", FramesPerSecond: 100, Regularity: v1alpha1.Irregular})
	last.Status.Results[0].Latency = []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{
		{DirectionResult: v1alpha1.DirectionResult{Direction: "Forward", SentFrames: 10, Latency: v1alpha1.Delays{Samples: 10, P99Nanoseconds: 9}}},
		{DirectionResult: v1alpha1.DirectionResult{Direction: "Reverse", SentFrames: 10, LossPartsPerMillion: 5}},
	}}}
	earlier := measured("lab", "", "earlier", 10, 0)
	earlier.Labels, earlier.Status.Results = nil, ndr(99)
	ofSuite := measured("lab", "nightly-router", "nightly-router-1", 5, 0)
	ofSuite.Labels[v1alpha1.LabelSuite], ofSuite.Labels[v1alpha1.LabelCell], ofSuite.Status.Results = "nightly", "router", ndr(7)
	failed := newScope(finished(metav1.ConditionFalse, v1alpha1.ReasonPodStuck)).run
	failed.Name, failed.UID, failed.Finalizers, failed.Status.Results = "failed", "failed", nil, ndr(1)
	failed.Status.CompletionTime = ptr.To(metav1.NewTime(epoch.Add(30 * time.Second)))
	going := newScope(condition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.ReasonAdmitted)).run
	going.Name, going.UID, going.Status.Results = "going", "going", last.Status.Results
	queued := func(name string, second int) *v1alpha1.BenchmarkRun {
		run := newScope(condition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonQueued)).run
		run.Name, run.UID, run.CreationTimestamp = name, types.UID(name), metav1.NewTime(epoch.Add(time.Duration(second)*time.Second))
		return run
	}
	testbed := newScope().testbed
	testbed.Status.QueuedRuns = 2
	testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{Namespace: "lab", Name: "going", UID: "going", Since: metav1.NewTime(epoch.Add(40 * time.Second))}}
	reader := clusterOf(t, nil, last.DeepCopy(), earlier, ofSuite.DeepCopy(), failed)
	cache := clusterOf(t, nil, cached(t, last.DeepCopy()), cached(t, earlier.DeepCopy()), cached(t, ofSuite.DeepCopy()), failed.DeepCopy(), going, queued("second", 60), queued("next", 50), testbed)
	gauges := &Gauges{Cache: cache, Reader: reader}
	at := func(second int) string { return fmt.Sprintf("%.10e", float64(epoch.Unix()+int64(second))) }
	want := `
# HELP vnfbench_active_run_admission_timestamp_seconds Since when a BenchmarkRun has held its Testbed.
# TYPE vnfbench_active_run_admission_timestamp_seconds gauge
vnfbench_active_run_admission_timestamp_seconds{cell="",experiment="bench-one-two",namespace="lab",run="going",suite="",testbed="bench"} ` + at(40) + `
# HELP vnfbench_experiments_left_out Experiments on a Testbed whose figures are not shown, or not all of them.
# TYPE vnfbench_experiments_left_out gauge
vnfbench_experiments_left_out 0
# HELP vnfbench_figure Figure of the last measured BenchmarkRun of an experiment on a Testbed, in the unit that the label metric ends with.
# TYPE vnfbench_figure gauge
vnfbench_figure{cell="",direction="",experiment="bench-one-two",function="",goal="NDR",load="",metric="ThroughputFramesPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 123456
vnfbench_figure{cell="",direction="",experiment="bench-one-two",function="",goal="NDR",load="",metric="ThroughputLayer1BitsPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
vnfbench_figure{cell="",direction="Forward",experiment="bench-one-two",function="",goal="",load="idle",metric="LatencyMaxNanoseconds",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
vnfbench_figure{cell="",direction="Forward",experiment="bench-one-two",function="",goal="",load="idle",metric="LatencyMeanNanoseconds",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
vnfbench_figure{cell="",direction="Forward",experiment="bench-one-two",function="",goal="",load="idle",metric="LatencyP50Nanoseconds",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
vnfbench_figure{cell="",direction="Forward",experiment="bench-one-two",function="",goal="",load="idle",metric="LatencyP90Nanoseconds",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
vnfbench_figure{cell="",direction="Forward",experiment="bench-one-two",function="",goal="",load="idle",metric="LatencyP99Nanoseconds",namespace="lab",size="64",streams="",suite="",testbed="bench"} 9
vnfbench_figure{cell="",direction="Forward",experiment="bench-one-two",function="",goal="",load="idle",metric="LossPartsPerMillion",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
vnfbench_figure{cell="",direction="Reverse",experiment="bench-one-two",function="",goal="",load="idle",metric="LossPartsPerMillion",namespace="lab",size="64",streams="",suite="",testbed="bench"} 5
vnfbench_figure{cell="router",direction="",experiment="nightly-router",function="",goal="NDR",load="",metric="ThroughputFramesPerSecond",namespace="lab",size="64",streams="",suite="nightly",testbed="bench"} 7
vnfbench_figure{cell="router",direction="",experiment="nightly-router",function="",goal="NDR",load="",metric="ThroughputLayer1BitsPerSecond",namespace="lab",size="64",streams="",suite="nightly",testbed="bench"} 0
# HELP vnfbench_queued_run_creation_timestamp_seconds When the BenchmarkRun was created that is next on a Testbed.
# TYPE vnfbench_queued_run_creation_timestamp_seconds gauge
vnfbench_queued_run_creation_timestamp_seconds{cell="",experiment="bench-one-two",namespace="lab",run="next",suite="",testbed="bench"} ` + at(50) + `
# HELP vnfbench_run_completion_timestamp_seconds When a BenchmarkRun ended, with the status and reason of its condition Succeeded.
# TYPE vnfbench_run_completion_timestamp_seconds gauge
vnfbench_run_completion_timestamp_seconds{cell="",experiment="bench-one-two",namespace="lab",reason="PodStuck",result="failed",run="failed",suite="",testbed="bench"} ` + at(30) + `
vnfbench_run_completion_timestamp_seconds{cell="",experiment="bench-one-two",namespace="lab",reason="Succeeded",result="succeeded",run="earlier",suite="",testbed="bench"} ` + at(10) + `
vnfbench_run_completion_timestamp_seconds{cell="",experiment="bench-one-two",namespace="lab",reason="Succeeded",result="succeeded",run="last",suite="",testbed="bench"} ` + at(20) + `
vnfbench_run_completion_timestamp_seconds{cell="router",experiment="nightly-router",namespace="lab",reason="Succeeded",result="succeeded",run="nightly-router-1",suite="nightly",testbed="bench"} ` + at(5) + `
# HELP vnfbench_testbed_queue_length BenchmarkRuns that wait for a Testbed.
# TYPE vnfbench_testbed_queue_length gauge
vnfbench_testbed_queue_length{testbed="bench"} 2
# HELP vnfbench_uncertain_figure Value of the last measured BenchmarkRun of an experiment on a Testbed that is no figure of the device, for the reason in the label doubt: a floor, an irregular search, or a load that was not reached.
# TYPE vnfbench_uncertain_figure gauge
vnfbench_uncertain_figure{cell="",direction="",doubt="IrregularResult",experiment="bench-one-two",function="",goal="short",load="",metric="ThroughputFramesPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 100
vnfbench_uncertain_figure{cell="",direction="",doubt="IrregularResult",experiment="bench-one-two",function="",goal="short",load="",metric="ThroughputLayer1BitsPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
vnfbench_uncertain_figure{cell="",direction="",doubt="MaximumLoad",experiment="bench-one-two",function="",goal="PDR",load="",metric="ThroughputFramesPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 200
vnfbench_uncertain_figure{cell="",direction="",doubt="MaximumLoad",experiment="bench-one-two",function="",goal="PDR",load="",metric="ThroughputLayer1BitsPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
`
	check := func(what, want string) {
		t.Helper()
		if err := testutil.CollectAndCompare(gauges, strings.NewReader(want)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("first", want)
	lint(t, gauges)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(gauges)
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
	gauges.Reader = nil
	check("figures are read once", want)
	// A label names the experiment, and can change.
	gauges.Reader = reader
	for _, c := range []client.Client{reader, cache} {
		if err := c.Patch(t.Context(), last.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.LabelExperiment+`":"renamed"}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	if n := testutil.CollectAndCount(gauges, "vnfbench_figure"); n != 13 {
		t.Errorf("%d figures of three experiments", n)
	}
	// Without the last run, the one before it is the last.
	for _, run := range []client.Object{last, ofSuite, failed} {
		if err := cache.Delete(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	if err := testutil.CollectAndCompare(gauges, strings.NewReader(`
# HELP vnfbench_figure Figure of the last measured BenchmarkRun of an experiment on a Testbed, in the unit that the label metric ends with.
# TYPE vnfbench_figure gauge
vnfbench_figure{cell="",direction="",experiment="bench-one-two",function="",goal="NDR",load="",metric="ThroughputFramesPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 99
vnfbench_figure{cell="",direction="",experiment="bench-one-two",function="",goal="NDR",load="",metric="ThroughputLayer1BitsPerSecond",namespace="lab",size="64",streams="",suite="",testbed="bench"} 0
`), "vnfbench_figure"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(gauges, "vnfbench_run_completion_timestamp_seconds"); n != 1 {
		t.Errorf("%d runs have ended, want 1", n)
	}

	gauges.Leading = make(chan struct{})
	if n := testutil.CollectAndCount(gauges); n != 0 {
		t.Errorf("%d metrics from a manager that does not lead", n)
	}
}

// TestGaugesAreBounded checks that the number of series does not grow with the number of finished runs, that a namespace with many leaves room for
// others, and that a run whose figures cannot be read is left to the next scrape.
func TestGaugesAreBounded(t *testing.T) {
	objects := []client.Object{measured("small", "quiet", "run", 1, 1)}
	for i := range maxShownRuns + 5 {
		objects = append(objects, measured("large", fmt.Sprint("experiment-", i), fmt.Sprintf("run-%03d", i), 10+i, 1))
	}
	failing := true
	reader := clusterOf(t, func(name string) error {
		if failing && name == "run-010" {
			return errors.New("later")
		}
		return nil
	}, objects...)
	gauges := &Gauges{Cache: reader, Reader: reader}
	// Each has its throughput on two layers.
	for _, want := range []int{2 * (maxShownRuns - 1), 2 * maxShownRuns} {
		if n := testutil.CollectAndCount(gauges, "vnfbench_figure"); n != want {
			t.Errorf("%d figures, want %d", n, want)
		}
		failing = false
	}
	if n := testutil.CollectAndCount(gauges, "vnfbench_run_completion_timestamp_seconds"); n != maxShownRuns {
		t.Errorf("%d ends, want %d", n, maxShownRuns)
	}
	found := gather(t, gauges, "vnfbench_figure", "namespace")
	if found["small"] != 2 {
		t.Errorf("figures of the namespaces: %v", found)
	}
	if err := testutil.CollectAndCompare(gauges, strings.NewReader(`
# HELP vnfbench_experiments_left_out Experiments on a Testbed whose figures are not shown, or not all of them.
# TYPE vnfbench_experiments_left_out gauge
vnfbench_experiments_left_out 6
`), "vnfbench_experiments_left_out"); err != nil {
		t.Error(err)
	}
}

// gather counts the series of a metric for each value of a label.
func gather(t *testing.T, collector prometheus.Collector, metric, label string) map[string]int {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				if family.GetName() == metric && pair.GetName() == label {
					counts[pair.GetValue()]++
				}
			}
		}
	}
	return counts
}

// TestFiguresAreBounded checks that the runs that are shown have a number of figures together, that of one with more some are shown, and that
// a run that does not fit is not read again at each scrape.
func TestFiguresAreBounded(t *testing.T) {
	for name, test := range map[string]struct{ goals, shown, leftOut, reads int }{
		"some fit":         {maxRunFigures / 2, maxFigures, 2, maxFigures/maxRunFigures + 1},
		"all are large":    {3 * maxRunFigures, maxFigures, 7, maxFigures/maxRunFigures + 1},
		"there is no more": {3, 42, 0, 7},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for i := range 7 {
				objects = append(objects, measured("lab", fmt.Sprint("experiment-", i), fmt.Sprint("run-", i), i, test.goals))
			}
			reads := 0
			reader := clusterOf(t, func(string) error { reads++; return nil }, objects...)
			gauges := &Gauges{Cache: reader, Reader: reader}
			for range 3 {
				if n := testutil.CollectAndCount(gauges, "vnfbench_figure"); n != test.shown {
					t.Errorf("%d figures, want %d", n, test.shown)
				}
			}
			if want := fmt.Sprintf("# HELP vnfbench_experiments_left_out Experiments on a Testbed whose figures are not shown, or not all of them.\n# TYPE vnfbench_experiments_left_out gauge\nvnfbench_experiments_left_out %d\n", test.leftOut); testutil.CollectAndCompare(gauges, strings.NewReader(want), "vnfbench_experiments_left_out") != nil {
				t.Errorf("want %s", want)
			}
			if reads != test.reads {
				t.Errorf("%d runs were read, want %d", reads, test.reads)
			}
		})
	}
}

// TestFiguresAreSmall checks what a figure takes in memory.
func TestFiguresAreSmall(t *testing.T) {
	run := measured("lab", "router", "run", 1, maxRunFigures)
	one := bytesOf(func() any { return figuresOf(identityOf(run), run.Status) }) / maxRunFigures
	t.Logf("%d bytes for a figure", one)
	if one > 400 {
		t.Errorf("a figure takes %d bytes, want at most 400", one)
	}
}
