package benchmarkrun

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
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

// Gauges shows the stored state of runs and testbeds at the time of a scrape: nothing is
// remembered, so a deleted run's figures vanish with it.
type Gauges struct {
	// Reader is the cache.
	Reader client.Reader
	// Leading is closed when this process leads and exports the state; nil: always.
	Leading <-chan struct{}
}

var figureLabels = []string{"namespace", "experiment", "run", "metric", "size", "goal", "load", "streams"}

var (
	figureDescription = prometheus.NewDesc("vnfbench_run_figure",
		"Figure that a finished BenchmarkRun found, of the worse direction, in the unit that its metric's name ends with.",
		figureLabels, nil)
	uncertainDescription = prometheus.NewDesc("vnfbench_run_uncertain_figure",
		"Value that a finished BenchmarkRun found and that is no figure of the device, for the reason in the label doubt: a floor, an irregular search, or a load that was not reached.",
		append(figureLabels[:len(figureLabels):len(figureLabels)], "doubt"), nil)
	queueDescription = prometheus.NewDesc("vnfbench_testbed_queue_length",
		"BenchmarkRuns that wait for a Testbed.", []string{"testbed"}, nil)
)

// scrapeTimeout limits the time for reading the cache.
const scrapeTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- figureDescription
	descriptions <- uncertainDescription
	descriptions <- queueDescription
}

// Collect implements prometheus.Collector.
func (g *Gauges) Collect(metrics chan<- prometheus.Metric) {
	if g.Leading != nil {
		select {
		case <-g.Leading:
		default:
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	g.collectRuns(ctx, metrics)
	g.collectTestbeds(ctx, metrics)
}

func (g *Gauges) collectRuns(ctx context.Context, metrics chan<- prometheus.Metric) {
	var runs v1alpha1.BenchmarkRunList
	if err := g.Reader.List(ctx, &runs); err != nil {
		metrics <- prometheus.NewInvalidMetric(figureDescription, err)
		return
	}
	for i := range runs.Items {
		run := &runs.Items[i]
		if !queue.Finished(run) {
			continue
		}
		figures := figure.Of(run.Status)
		for _, c := range figure.Join(figures, nil) {
			metrics <- gaugeOf(run, *figure.Worst(figures, c.FigureKey))
		}
	}
}

// gaugeOf shows a figure. One that is uncertain has another name, so that no dashboard, alert or
// average takes it for a figure.
func gaugeOf(run *v1alpha1.BenchmarkRun, f figure.Figure) prometheus.Metric {
	streams := ""
	if f.Streams > 0 {
		streams = strconv.Itoa(int(f.Streams))
	}
	labels := []string{run.Namespace, report.ExperimentName(run), run.Name, string(f.Metric), f.Size, f.Goal, f.Load, streams}
	for _, code := range f.Codes() {
		if figure.IsUncertain(code) {
			return prometheus.MustNewConstMetric(uncertainDescription, prometheus.GaugeValue, float64(f.Value), append(labels, string(code))...)
		}
	}
	return prometheus.MustNewConstMetric(figureDescription, prometheus.GaugeValue, float64(f.Value), labels...)
}

func (g *Gauges) collectTestbeds(ctx context.Context, metrics chan<- prometheus.Metric) {
	var testbeds v1alpha1.TestbedList
	if err := g.Reader.List(ctx, &testbeds); err != nil {
		metrics <- prometheus.NewInvalidMetric(queueDescription, err)
		return
	}
	for _, t := range testbeds.Items {
		metrics <- prometheus.MustNewConstMetric(queueDescription, prometheus.GaugeValue, float64(t.Status.QueuedRuns), t.Name)
	}
}
