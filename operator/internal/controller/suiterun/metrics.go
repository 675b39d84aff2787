package suiterun

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// Metrics count the executions that end and their measurements. Its gauges show the executions that have not ended.
type Metrics struct {
	// Cache has the executions, without their cells.
	Cache client.Reader
	// Leading is closed when this process leads and shows the state; nil: always.
	Leading <-chan struct{}

	executions   *prometheus.CounterVec
	measurements *prometheus.CounterVec
	duration     *prometheus.HistogramVec
}

var (
	activeDescription = prometheus.NewDesc("vnfbench_suite_runs_active",
		"BenchmarkSuiteRuns that have not ended.", nil, nil)
	measurementsDescription = prometheus.NewDesc("vnfbench_suite_measurements",
		"Measurements of the BenchmarkSuiteRuns that have not ended, by their state.", []string{"state"}, nil)
)

// scrapeTimeout limits the time for reading.
const scrapeTimeout = 5 * time.Second

// NewMetrics returns metrics that are not registered yet.
func NewMetrics(cache client.Reader, leading <-chan struct{}) *Metrics {
	return &Metrics{
		Cache: cache, Leading: leading,
		executions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vnfbench_suite_runs_total",
			Help: "BenchmarkSuiteRuns that have ended, by the status and reason of their condition Succeeded.",
		}, []string{"result", "reason"}),
		measurements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vnfbench_suite_measurements_total",
			Help: "Measurements of the BenchmarkSuiteRuns that have ended, by their state.",
		}, []string{"state"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "vnfbench_suite_run_duration_seconds",
			Help:    "Time from the start of a BenchmarkSuiteRun to its end.",
			Buckets: []float64{300, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 345600, 604800},
		}, []string{"result"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.executions.Describe(descriptions)
	m.measurements.Describe(descriptions)
	m.duration.Describe(descriptions)
	descriptions <- activeDescription
	descriptions <- measurementsDescription
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.executions.Collect(metrics)
	m.measurements.Collect(metrics)
	m.duration.Collect(metrics)
	if m.Leading != nil {
		select {
		case <-m.Leading:
		default:
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	m.collectActive(ctx, metrics)
}

// collectActive shows the executions that have not ended.
func (m *Metrics) collectActive(ctx context.Context, metrics chan<- prometheus.Metric) {
	var list v1alpha1.BenchmarkSuiteRunList
	if err := m.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		metrics <- prometheus.NewInvalidMetric(activeDescription, err)
		return
	}
	active, states := 0, map[string]int32{"pending": 0, "running": 0}
	for i := range list.Items {
		status := &list.Items[i].Status
		if Ended(&list.Items[i]) {
			continue
		}
		active++
		left := status.Counts.Total
		for state, count := range endedByState(status.Counts) {
			states[state] += count
			left -= count
		}
		if status.ActiveRun != "" {
			states["running"]++
			left--
		}
		states["pending"] += left
	}
	metrics <- prometheus.MustNewConstMetric(activeDescription, prometheus.GaugeValue, float64(active))
	for state, count := range states {
		metrics <- prometheus.MustNewConstMetric(measurementsDescription, prometheus.GaugeValue, float64(count), state)
	}
}

// endedByState returns the measurements that have ended, by their state as a label.
func endedByState(c v1alpha1.MeasurementCounts) map[string]int32 {
	return map[string]int32{"succeeded": c.Succeeded, "failed": c.Failed, "skipped": c.Skipped}
}

// ended counts an execution whose outcome has been stored.
func (m *Metrics) ended(status *v1alpha1.BenchmarkSuiteRunStatus) {
	c, result := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSucceeded), "failed"
	if c.Status == metav1.ConditionTrue {
		result = "succeeded"
	}
	m.executions.WithLabelValues(result, c.Reason).Inc()
	for state, count := range endedByState(status.Counts) {
		m.measurements.WithLabelValues(state).Add(float64(count))
	}
	if status.StartTime != nil && status.CompletionTime != nil {
		m.duration.WithLabelValues(result).Observe(status.CompletionTime.Sub(status.StartTime.Time).Seconds())
	}
}
