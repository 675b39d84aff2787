package benchmarkrun

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// Metrics count the runs that end.
type Metrics struct {
	runs     *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	return &Metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vnfbench_runs_total",
			Help: "BenchmarkRuns that have ended, by the status and reason of their condition Succeeded.",
		}, []string{"result", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "vnfbench_run_duration_seconds",
			Help:    "Time from a BenchmarkRun's first admission to its end.",
			Buckets: []float64{30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400, 172800},
		}, []string{"result"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.runs.Describe(descriptions)
	m.duration.Describe(descriptions)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.runs.Collect(metrics)
	m.duration.Collect(metrics)
}

// ended counts a run whose verdict has been stored.
func (m *Metrics) ended(status *v1alpha1.BenchmarkRunStatus) {
	succeeded := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSucceeded)
	result := resultOf(succeeded)
	m.runs.WithLabelValues(result, succeeded.Reason).Inc()
	if status.StartTime != nil && status.CompletionTime != nil {
		m.duration.WithLabelValues(result).Observe(status.CompletionTime.Sub(status.StartTime.Time).Seconds())
	}
}

func resultOf(succeeded *metav1.Condition) string {
	switch {
	case succeeded.Status == metav1.ConditionTrue:
		return "succeeded"
	case succeeded.Reason == v1alpha1.ReasonInconclusive:
		return "inconclusive"
	}
	return "failed"
}
