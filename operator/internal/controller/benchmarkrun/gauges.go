package benchmarkrun

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/fair"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/report"
)

// maxShownRuns is how many runs that have ended the gauges show, and for how many experiments they show figures.
const maxShownRuns = 100

// Gauges shows the stored state of runs and testbeds at the time of a scrape: what belongs to a deleted run vanishes
// with it.
type Gauges struct {
	// Cache says which runs there are. It has no figures of those that are over.
	Cache client.Reader
	// Reader reads the figures from the API server, once for each run: they do not change any more.
	Reader client.Reader
	// Leading is closed when this process leads and exports the state; nil: always.
	Leading <-chan struct{}

	mutex sync.Mutex
	// figures are those of the runs that the last scrape showed.
	figures map[shownRun]shownFigures
}

// identity is what figures of an experiment have in common, whichever of its runs found them. Suite and cell are empty
// for a run of no suite.
type identity struct{ namespace, suite, cell, experiment, testbed string }

var identityLabels = []string{"namespace", "suite", "cell", "experiment", "testbed"}

func identityOf(run *v1alpha1.BenchmarkRun) identity {
	return identity{run.Namespace, run.Labels[v1alpha1.LabelSuite], run.Labels[v1alpha1.LabelCell], report.ExperimentName(run), run.TestbedName()}
}

func (i identity) values() []string {
	return []string{i.namespace, i.suite, i.cell, i.experiment, i.testbed}
}

var (
	figureDescription = prometheus.NewDesc("vnfbench_figure",
		"Figure of the last measured BenchmarkRun of an experiment on a Testbed, in the unit that the label metric ends with.",
		figureLabels, nil)
	uncertainDescription = prometheus.NewDesc("vnfbench_uncertain_figure",
		"Value of the last measured BenchmarkRun of an experiment on a Testbed that is no figure of the device, for the reason in the label doubt: a floor, an irregular search, or a load that was not reached.",
		append(slices.Clone(figureLabels), "doubt"), nil)
	leftOutDescription = prometheus.NewDesc("vnfbench_experiments_left_out",
		"Experiments on a Testbed whose figures are not shown, or not all of them.", nil, nil)
	completionDescription = prometheus.NewDesc("vnfbench_run_completion_timestamp_seconds",
		"When a BenchmarkRun ended, with the status and reason of its condition Succeeded.",
		append(slices.Clone(identityLabels), "run", "result", "reason"), nil)
	queueDescription = prometheus.NewDesc("vnfbench_testbed_queue_length",
		"BenchmarkRuns that wait for a Testbed.", []string{"testbed"}, nil)
	admissionDescription = prometheus.NewDesc("vnfbench_active_run_admission_timestamp_seconds",
		"Since when a BenchmarkRun has held its Testbed.", append(slices.Clone(identityLabels), "run"), nil)
	queuedDescription = prometheus.NewDesc("vnfbench_queued_run_creation_timestamp_seconds",
		"When the BenchmarkRun was created that is next on a Testbed.", append(slices.Clone(identityLabels), "run"), nil)
)

// scrapeTimeout limits the time for reading.
const scrapeTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		figureDescription, uncertainDescription, leftOutDescription, completionDescription, queueDescription, admissionDescription, queuedDescription,
	} {
		descriptions <- d
	}
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
	var list v1alpha1.BenchmarkRunList
	if err := g.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		metrics <- prometheus.NewInvalidMetric(figureDescription, err)
		return
	}
	var testbeds v1alpha1.TestbedList
	if err := g.Cache.List(ctx, &testbeds); err != nil {
		metrics <- prometheus.NewInvalidMetric(queueDescription, err)
		return
	}
	ended := endedRuns(list.Items)
	for _, run := range fair.Share(ended, maxShownRuns, namespaceOf) {
		succeeded := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
		metrics <- seconds(completionDescription, run.Status.CompletionTime.Time, append(identityOf(run).values(), run.Name, resultOf(succeeded), succeeded.Reason)...)
	}
	g.collectFigures(ctx, lastMeasured(ended), metrics)
	collectTestbeds(testbeds.Items, list.Items, metrics)
}

func namespaceOf(run *v1alpha1.BenchmarkRun) string { return run.Namespace }

// seconds returns a gauge of a time.
func seconds(description *prometheus.Desc, at time.Time, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(description, prometheus.GaugeValue, float64(at.Unix()), labels...)
}

// endedRuns returns the runs that have ended, the last one first.
func endedRuns(runs []v1alpha1.BenchmarkRun) []*v1alpha1.BenchmarkRun {
	var ended []*v1alpha1.BenchmarkRun
	for i := range runs {
		if queue.Finished(&runs[i]) && runs[i].Status.CompletionTime != nil {
			ended = append(ended, &runs[i])
		}
	}
	slices.SortFunc(ended, func(a, b *v1alpha1.BenchmarkRun) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.UID, b.UID))
	})
	return ended
}

// collectTestbeds shows how many runs wait for each testbed, which one holds it, and which one is next.
func collectTestbeds(testbeds []v1alpha1.Testbed, runs []v1alpha1.BenchmarkRun, metrics chan<- prometheus.Metric) {
	byUID, next := map[types.UID]*v1alpha1.BenchmarkRun{}, map[string]*v1alpha1.BenchmarkRun{}
	for i := range runs {
		run := &runs[i]
		byUID[run.UID] = run
		admitted := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAdmitted)
		if name := run.TestbedName(); queue.Wants(run) && admitted != nil && admitted.Reason == v1alpha1.ReasonQueued && (next[name] == nil || queue.Compare(run, next[name]) < 0) {
			next[name] = run
		}
	}
	for i := range testbeds {
		t := &testbeds[i]
		metrics <- prometheus.MustNewConstMetric(queueDescription, prometheus.GaugeValue, float64(t.Status.QueuedRuns), t.Name)
		for _, active := range t.Status.ActiveRuns {
			if run := byUID[types.UID(active.UID)]; run != nil {
				metrics <- seconds(admissionDescription, active.Since.Time, append(identityOf(run).values(), run.Name)...)
			}
		}
		if run := next[t.Name]; run != nil && !queue.Holds(t, run) {
			metrics <- seconds(queuedDescription, run.CreationTimestamp.Time, append(identityOf(run).values(), run.Name)...)
		}
	}
}
