package archiving

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// Kinds of documents, as metrics name them.
const (
	kindRun       = "run"
	kindExecution = "execution"
)

// Metrics count what is archived. It is a Prometheus collector.
type Metrics struct {
	documents *prometheus.CounterVec
	failures  *prometheus.CounterVec
	seconds   prometheus.Histogram
	waiting   *prometheus.Desc
	cache     client.Reader
}

// NewMetrics returns metrics that count from 0. The cache has the runs and executions.
func NewMetrics(cache client.Reader) *Metrics {
	return &Metrics{
		cache: cache,
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vnfbench_archive_documents_total", Help: "Documents that were stored in the archive, by the kind of object.",
		}, []string{"kind"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vnfbench_archive_failures_total", Help: "Attempts to store a document that failed, by the reason of the condition Archived.",
		}, []string{"reason"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "vnfbench_archive_seconds", Help: "How long it took to store a document.", Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30},
		}),
		waiting: prometheus.NewDesc("vnfbench_archive_waiting", "Runs and executions that have ended, and of which the archive has no document yet.", []string{"kind"}, nil),
	}
}

// stored counts a document and how long it took.
func (m *Metrics) stored(of client.Object, took time.Duration) {
	kind := kindRun
	if _, is := of.(*v1alpha1.BenchmarkSuiteRun); is {
		kind = kindExecution
	}
	m.documents.WithLabelValues(kind).Inc()
	m.seconds.Observe(took.Seconds())
}

func (m *Metrics) failed(reason string) { m.failures.WithLabelValues(reason).Inc() }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.documents.Describe(descriptions)
	m.failures.Describe(descriptions)
	m.seconds.Describe(descriptions)
	descriptions <- m.waiting
}

// Collect implements prometheus.Collector. What cannot be listed is left out.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.documents.Collect(metrics)
	m.failures.Collect(metrics)
	m.seconds.Collect(metrics)
	waiting := map[string]int{}
	var runs v1alpha1.BenchmarkRunList
	var executions v1alpha1.BenchmarkSuiteRunList
	// They are the cache's own: no one may change them.
	if m.cache.List(context.Background(), &runs, client.UnsafeDisableDeepCopy) != nil || m.cache.List(context.Background(), &executions, client.UnsafeDisableDeepCopy) != nil {
		return
	}
	for i := range runs.Items {
		if awaits(&runs.Items[i]) {
			waiting[kindRun]++
		}
	}
	for i := range executions.Items {
		if executionAwaits(&executions.Items[i]) {
			waiting[kindExecution]++
		}
	}
	for _, kind := range []string{kindRun, kindExecution} {
		metrics <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(waiting[kind]), kind)
	}
}
