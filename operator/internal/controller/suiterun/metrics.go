package suiterun

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/fair"
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
	completionDescription = prometheus.NewDesc("vnfbench_suite_run_completion_timestamp_seconds",
		"When a BenchmarkSuiteRun ended, with the status and reason of its condition Succeeded.",
		[]string{"namespace", "suite", "execution", "result", "reason"}, nil)
	measurementsDescription = prometheus.NewDesc("vnfbench_suite_measurements",
		"Measurements of the BenchmarkSuiteRuns that have not ended, by their state.", []string{"state"}, nil)
)

// maxShownExecutions is how many executions that have ended are shown.
const maxShownExecutions = 100

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
	descriptions <- completionDescription
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
	var list v1alpha1.BenchmarkSuiteRunList
	if err := m.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		metrics <- prometheus.NewInvalidMetric(activeDescription, err)
		return
	}
	collectActive(list.Items, metrics)
	collectEnded(list.Items, metrics)
}

// collectEnded shows the executions that ended last.
func collectEnded(executions []v1alpha1.BenchmarkSuiteRun, metrics chan<- prometheus.Metric) {
	var ended []*v1alpha1.BenchmarkSuiteRun
	for i := range executions {
		if e := &executions[i]; Ended(e) && e.Status.CompletionTime != nil {
			ended = append(ended, e)
		}
	}
	slices.SortFunc(ended, func(a, b *v1alpha1.BenchmarkSuiteRun) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.UID, b.UID))
	})
	for _, e := range fair.Share(ended, maxShownExecutions, func(e *v1alpha1.BenchmarkSuiteRun) string { return e.Namespace }) {
		result, reason := resultOf(&e.Status)
		metrics <- prometheus.MustNewConstMetric(completionDescription, prometheus.GaugeValue, float64(e.Status.CompletionTime.Unix()),
			e.Namespace, e.Labels[v1alpha1.LabelSuite], e.Name, result, reason)
	}
}

// collectActive shows the executions that have not ended.
func collectActive(executions []v1alpha1.BenchmarkSuiteRun, metrics chan<- prometheus.Metric) {
	active, states := 0, map[string]int32{"pending": 0, "running": 0}
	for i := range executions {
		status := &executions[i].Status
		if Ended(&executions[i]) {
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
	result, reason := resultOf(status)
	m.executions.WithLabelValues(result, reason).Inc()
	for state, count := range endedByState(status.Counts) {
		m.measurements.WithLabelValues(state).Add(float64(count))
	}
	if status.StartTime != nil && status.CompletionTime != nil {
		m.duration.WithLabelValues(result).Observe(status.CompletionTime.Sub(status.StartTime.Time).Seconds())
	}
}

// resultOf returns how an execution ended, and the reason.
func resultOf(status *v1alpha1.BenchmarkSuiteRunStatus) (result, reason string) {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSucceeded)
	if c.Status == metav1.ConditionTrue {
		return "succeeded", c.Reason
	}
	return "failed", c.Reason
}
