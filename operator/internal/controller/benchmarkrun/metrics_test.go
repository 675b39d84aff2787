package benchmarkrun

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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
