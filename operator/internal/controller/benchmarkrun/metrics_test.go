package benchmarkrun

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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
	gauges := &Gauges{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(ended, going, testbed).Build()}
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

	gauges.Leading = make(chan struct{})
	if n := testutil.CollectAndCount(gauges); n != 0 {
		t.Errorf("%d figures from a manager that does not lead", n)
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
