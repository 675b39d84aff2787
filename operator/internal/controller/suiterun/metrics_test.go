package suiterun

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestMetrics checks what is counted of executions that end, and what is shown of those that have not ended.
func TestMetrics(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	counted := v1alpha1.MeasurementCounts{Total: 10, Succeeded: 3, Failed: 1}
	execution := func(name string, status metav1.ConditionStatus, reason, run string, counts v1alpha1.MeasurementCounts) client.Object {
		e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name}}
		e.Labels = map[string]string{v1alpha1.LabelSuite: "nightly"}
		e.Status = v1alpha1.BenchmarkSuiteRunStatus{Counts: counts, ActiveRun: run, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: status, Reason: reason}}}
		if status != metav1.ConditionUnknown {
			e.Status.CompletionTime = ptr.To(metav1.NewTime(time.Unix(1000, 0)))
		}
		return e
	}
	leading := make(chan struct{})
	m := NewMetrics(fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		execution("a", metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "a-router-2", counted),
		execution("b", metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "", v1alpha1.MeasurementCounts{}),
		execution("c", metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "", counted),
	).Build(), leading)
	if n := testutil.CollectAndCount(m); n != 0 {
		t.Errorf("an operator that does not lead shows %d series", n)
	}
	close(leading)
	start := metav1.NewTime(epoch)
	for reason, status := range map[string]metav1.ConditionStatus{v1alpha1.ReasonSucceeded: metav1.ConditionTrue, v1alpha1.ReasonFailedFast: metav1.ConditionFalse} {
		m.ended(&v1alpha1.BenchmarkSuiteRunStatus{
			StartTime: &start, CompletionTime: ptr.To(metav1.NewTime(epoch.Add(time.Hour))), Counts: v1alpha1.MeasurementCounts{Total: 6, Succeeded: 4, Skipped: 2},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: status, Reason: reason}},
		})
	}
	want := `
# HELP vnfbench_suite_measurements Measurements of the BenchmarkSuiteRuns that have not ended, by their state.
# TYPE vnfbench_suite_measurements gauge
vnfbench_suite_measurements{state="failed"} 1
vnfbench_suite_measurements{state="pending"} 5
vnfbench_suite_measurements{state="running"} 1
vnfbench_suite_measurements{state="skipped"} 0
vnfbench_suite_measurements{state="succeeded"} 3
# HELP vnfbench_suite_measurements_total Measurements of the BenchmarkSuiteRuns that have ended, by their state.
# TYPE vnfbench_suite_measurements_total counter
vnfbench_suite_measurements_total{state="failed"} 0
vnfbench_suite_measurements_total{state="skipped"} 4
vnfbench_suite_measurements_total{state="succeeded"} 8
# HELP vnfbench_suite_run_completion_timestamp_seconds When a BenchmarkSuiteRun ended, with the status and reason of its condition Succeeded.
# TYPE vnfbench_suite_run_completion_timestamp_seconds gauge
vnfbench_suite_run_completion_timestamp_seconds{execution="c",namespace="bench",reason="Succeeded",result="succeeded",suite="nightly"} 1000
# HELP vnfbench_suite_runs_active BenchmarkSuiteRuns that have not ended.
# TYPE vnfbench_suite_runs_active gauge
vnfbench_suite_runs_active 2
# HELP vnfbench_suite_runs_total BenchmarkSuiteRuns that have ended, by the status and reason of their condition Succeeded.
# TYPE vnfbench_suite_runs_total counter
vnfbench_suite_runs_total{reason="FailedFast",result="failed"} 1
vnfbench_suite_runs_total{reason="Succeeded",result="succeeded"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "vnfbench_suite_measurements", "vnfbench_suite_measurements_total", "vnfbench_suite_runs_active", "vnfbench_suite_runs_total", "vnfbench_suite_run_completion_timestamp_seconds"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m, "vnfbench_suite_run_duration_seconds"); n != 2 {
		t.Errorf("%d durations, want one for each result", n)
	}
	problems, err := testutil.CollectAndLint(m)
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
}
