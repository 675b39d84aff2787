package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/fair"
	"vnfbench.io/operator/internal/figure"
)

// maxRunFigures is how many figures of a run the gauges show, and maxFigures how many of all runs. A run can have thousands.
const (
	maxRunFigures = 1000
	maxFigures    = 5000
)

var figureLabels = append(slices.Clone(identityLabels), "metric", "size", "goal", "load", "streams", "direction", "function")

// shownRun is a run with what can still change of the labels of its figures.
type shownRun struct {
	uid types.UID
	identity
}

// shownFigures are the figures of a run, of which some may be left out.
type shownFigures struct {
	gauges  []*gauge
	partial bool
}

// gauge is a figure as a metric. Equal labels of a run's figures are in memory once, where each constant metric of the library has its
// own copies, which take a kilobyte.
type gauge struct {
	description *prometheus.Desc
	labels      []*dto.LabelPair
	value       float64
}

// Desc implements prometheus.Metric.
func (g *gauge) Desc() *prometheus.Desc { return g.description }

// Write implements prometheus.Metric.
func (g *gauge) Write(out *dto.Metric) error {
	out.Label, out.Gauge = g.labels, &dto.Gauge{Value: &g.value}
	return nil
}

// lastMeasured returns the last of the runs of each identity that were measured to their end. The runs are those that have ended, the
// last one first.
func lastMeasured(ended []*v1alpha1.BenchmarkRun) []*v1alpha1.BenchmarkRun {
	var last []*v1alpha1.BenchmarkRun
	known := map[identity]bool{}
	for _, run := range ended {
		if of := identityOf(run); meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionMeasured) && !known[of] {
			known[of] = true
			last = append(last, run)
		}
	}
	return last
}

// collectFigures shows the figures of runs. Those that cannot be read in time are left to the next scrape.
func (g *Gauges) collectFigures(ctx context.Context, last []*v1alpha1.BenchmarkRun, metrics chan<- prometheus.Metric) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	shown, series, whole := map[shownRun]shownFigures{}, 0, 0
	var failed error
	for _, run := range fair.Share(last, maxShownRuns, namespaceOf) {
		key := shownRun{run.UID, identityOf(run)}
		figures, known := g.figures[key]
		if !known {
			var err error
			if figures, err = g.read(ctx, run); err != nil {
				failed = err
				continue
			}
		}
		shown[key] = figures
		if series += len(figures.gauges); series > maxFigures {
			// It is kept, so that the next scrape need not read it.
			break
		}
		for _, figure := range figures.gauges {
			metrics <- figure
		}
		if !figures.partial {
			whole++
		}
	}
	g.figures = shown
	metrics <- prometheus.MustNewConstMetric(leftOutDescription, prometheus.GaugeValue, float64(len(last)-whole))
	if failed != nil {
		ctrl.Log.WithName("metrics").Info("Some runs' figures are left to the next scrape", "err", failed.Error())
	}
}

// read returns the figures of a run that has ended; none if it is gone.
func (g *Gauges) read(ctx context.Context, ended *v1alpha1.BenchmarkRun) (shownFigures, error) {
	run := &v1alpha1.BenchmarkRun{}
	if err := g.Reader.Get(ctx, client.ObjectKeyFromObject(ended), run); apierrors.IsNotFound(err) {
		return shownFigures{}, nil
	} else if err != nil {
		return shownFigures{}, fmt.Errorf("reading BenchmarkRun %q: %w", ended.Name, err)
	}
	if run.UID != ended.UID {
		return shownFigures{}, nil
	}
	return figuresOf(identityOf(ended), run.Status), nil
}

// figuresOf returns the figures of a status as metrics. One that is uncertain has another name, so that no dashboard, alert or
// average takes it for a figure.
func figuresOf(of identity, status v1alpha1.BenchmarkRunStatus) shownFigures {
	figures := figure.Export(figure.Of(status))
	shown, pairs := shownFigures{partial: len(figures) > maxRunFigures}, labelPairs{}
	for _, f := range figures[:min(len(figures), maxRunFigures)] {
		streams := ""
		if f.Streams > 0 {
			streams = strconv.Itoa(int(f.Streams))
		}
		description, names := figureDescription, figureLabels
		values := append(of.values(), string(f.Metric), f.Size, f.Goal, f.Load, streams, f.Direction, f.Function)
		if i := slices.IndexFunc(f.Codes(), figure.IsUncertain); i >= 0 {
			description, names, values = uncertainDescription, append(slices.Clone(figureLabels), "doubt"), append(values, string(f.Codes()[i]))
		}
		shown.gauges = append(shown.gauges, &gauge{description, pairs.of(names, values), float64(f.Value)})
	}
	return shown
}

// labelPairs has each pair of a label and its value once.
type labelPairs map[[2]string]*dto.LabelPair

// of returns the pairs in the order of the names of the labels, as a metric has to have them.
func (p labelPairs) of(names, values []string) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, len(names))
	for i, name := range names {
		key := [2]string{name, values[i]}
		if p[key] == nil {
			p[key] = &dto.LabelPair{Name: &key[0], Value: &key[1]}
		}
		pairs[i] = p[key]
	}
	slices.SortFunc(pairs, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return pairs
}
