package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
)

// The gauges show the runs that ended last: at most maxRunsWithFigures, and as many of them as have maxFigures together,
// but always the last one. Each figure is a series that takes about a kilobyte, and a run can have thousands.
const (
	maxRunsWithFigures = 100
	maxFigures         = 5000
)

// Gauges shows the stored state of runs and testbeds at the time of a scrape: a deleted run's figures
// vanish with it.
type Gauges struct {
	// Cache says which runs there are. It has no figures of those that are over.
	Cache client.Reader
	// Reader reads the figures from the API server, once for each run: they do not change any more.
	Reader client.Reader
	// Leading is closed when this process leads and exports the state; nil: always.
	Leading <-chan struct{}

	mutex sync.Mutex
	// figures are those of the runs that the last scrape showed.
	figures map[shownRun][]prometheus.Metric
}

// shownRun is a run with the one label of its figures that can still change.
type shownRun struct {
	uid        types.UID
	experiment string
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

// scrapeTimeout limits the time for reading.
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

// collectRuns shows the runs that ended last. Those whose figures cannot be read in time are left to
// the next scrape.
func (g *Gauges) collectRuns(ctx context.Context, metrics chan<- prometheus.Metric) {
	var runs v1alpha1.BenchmarkRunList
	if err := g.Cache.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		metrics <- prometheus.NewInvalidMetric(figureDescription, err)
		return
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	shown, series := map[shownRun][]prometheus.Metric{}, 0
	var failed error
	for _, run := range endedLast(runs.Items) {
		key := shownRun{run.UID, report.ExperimentName(run)}
		figures, known := g.figures[key]
		if !known {
			var err error
			if figures, err = g.read(ctx, run); err != nil {
				failed = err
				continue
			}
		}
		shown[key] = figures
		if series += len(figures); series > maxFigures && len(shown) > 1 {
			// It is kept, so that the next scrape need not read it.
			break
		}
		for _, figure := range figures {
			metrics <- figure
		}
	}
	g.figures = shown
	if failed != nil {
		ctrl.Log.WithName("metrics").Info("Some runs' figures are left to the next scrape", "err", failed.Error())
	}
}

// endedLast returns the runs that the gauges show.
func endedLast(runs []v1alpha1.BenchmarkRun) []*v1alpha1.BenchmarkRun {
	var ended []*v1alpha1.BenchmarkRun
	for i := range runs {
		if queue.Finished(&runs[i]) && runs[i].Status.CompletionTime != nil {
			ended = append(ended, &runs[i])
		}
	}
	slices.SortFunc(ended, func(a, b *v1alpha1.BenchmarkRun) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.UID, b.UID))
	})
	return ended[:min(len(ended), maxRunsWithFigures)]
}

// read returns the figures of a run that has ended; none if it is gone.
func (g *Gauges) read(ctx context.Context, ended *v1alpha1.BenchmarkRun) ([]prometheus.Metric, error) {
	run := &v1alpha1.BenchmarkRun{}
	if err := g.Reader.Get(ctx, client.ObjectKeyFromObject(ended), run); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading BenchmarkRun %q: %w", ended.Name, err)
	}
	if run.UID != ended.UID {
		return nil, nil
	}
	var metrics []prometheus.Metric
	figures := figure.Of(run.Status)
	of := figure.ByKey(figures)
	for _, c := range figure.Join(figures, nil) {
		metrics = append(metrics, gaugeOf(run, *figure.Worst(of[c.FigureKey], c.FigureKey)))
	}
	return metrics, nil
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
	if err := g.Cache.List(ctx, &testbeds); err != nil {
		metrics <- prometheus.NewInvalidMetric(queueDescription, err)
		return
	}
	for _, t := range testbeds.Items {
		metrics <- prometheus.MustNewConstMetric(queueDescription, prometheus.GaugeValue, float64(t.Status.QueuedRuns), t.Name)
	}
}
