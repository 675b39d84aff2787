package suite

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/regression"
)

// maxShownSuites is how many suites each gauge shows: those with regressions, and those that their gate fails, first. Each has a metric for each
// verdict, and one for the reason why it failed.
const maxShownSuites = 500

// scrapeTimeout limits the time for reading.
const scrapeTimeout = 5 * time.Second

// Gauges shows the verdicts of the series of each suite that judges them, and which suites failed, at the time of a scrape: those of a deleted suite
// vanish with it.
type Gauges struct {
	// Cache has the suites, with their conditions and the counts of their verdicts.
	Cache client.Reader
	// Leading is closed when this process leads and shows the state; nil: always.
	Leading <-chan struct{}
}

var (
	seriesDescription = prometheus.NewDesc("vnfbench_suite_series",
		"Series of a BenchmarkSuite that judges them, by their verdict after its latest execution.", []string{"namespace", "suite", "verdict"}, nil)
	failedDescription = prometheus.NewDesc("vnfbench_suite_failed",
		"1 for a BenchmarkSuite whose condition Succeeded is False, with its reason.", []string{"namespace", "suite", "reason"}, nil)
)

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- seriesDescription
	descriptions <- failedDescription
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
	var list v1alpha1.BenchmarkSuiteList
	if err := g.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		metrics <- prometheus.NewInvalidMetric(seriesDescription, err)
		return
	}
	for _, s := range shownSuites(list.Items) {
		for verdict, count := range byVerdict(s.Status.Regression.Counts) {
			metrics <- prometheus.MustNewConstMetric(seriesDescription, prometheus.GaugeValue, float64(count), s.Namespace, s.Name, string(verdict))
		}
	}
	for _, s := range failedSuites(list.Items) {
		metrics <- prometheus.MustNewConstMetric(failedDescription, prometheus.GaugeValue, 1, s.Namespace, s.Name, succeeded(&s.Status).Reason)
	}
}

// failedSuites returns the suites whose condition Succeeded is False, at most maxShownSuites of them: those that their gate fails first.
func failedSuites(all []v1alpha1.BenchmarkSuite) []*v1alpha1.BenchmarkSuite {
	var out []*v1alpha1.BenchmarkSuite
	for i := range all {
		if c := succeeded(&all[i].Status); c != nil && c.Status == metav1.ConditionFalse {
			out = append(out, &all[i])
		}
	}
	place := func(s *v1alpha1.BenchmarkSuite) int {
		if isOfSeries(succeeded(&s.Status)) {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b *v1alpha1.BenchmarkSuite) int {
		return cmp.Or(place(a)-place(b), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), maxShownSuites)]
}

// shownSuites returns the suites that judge their series, at most maxShownSuites of them: those with the most regressions first.
func shownSuites(all []v1alpha1.BenchmarkSuite) []*v1alpha1.BenchmarkSuite {
	var out []*v1alpha1.BenchmarkSuite
	for i := range all {
		if all[i].Status.Regression != nil {
			out = append(out, &all[i])
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.BenchmarkSuite) int {
		return cmp.Or(cmp.Compare(b.Status.Regression.Counts.Regression, a.Status.Regression.Counts.Regression),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), maxShownSuites)]
}

func byVerdict(c v1alpha1.VerdictCounts) map[regression.Verdict]int32 {
	return map[regression.Verdict]int32{
		regression.VerdictPass: c.Pass, regression.VerdictRegression: c.Regression, regression.VerdictImprovement: c.Improvement,
		regression.VerdictInconclusive: c.Inconclusive, regression.VerdictNotEnoughData: c.NotEnoughData,
	}
}
