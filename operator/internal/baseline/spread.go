package baseline

import (
	"fmt"
	"strconv"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/statistics"
)

// Warnings returns a warning for each size with a judged figure whose known spread is above the
// tolerance: such a figure fails by chance.
func Warnings(experiment v1alpha1.Experiment, figures []v1alpha1.BaselineFigure, measured []figure.Figure) []v1alpha1.Warning {
	baseline := experiment.Baseline
	allowed := tolerance(baseline) * 10_000
	type found struct {
		figure v1alpha1.BaselineFigure
		spread spread
		others int
	}
	var sizes []string
	worst := map[string]*found{}
	for _, f := range judged(baseline, figures) {
		s := spreadOf(f, experiment.Measurements, figure.Worst(measured, f.FigureKey))
		if code, _ := unusable(f); code != "" || s.partsPerMillion <= allowed {
			continue
		}
		of := worst[f.Size]
		if of == nil {
			sizes = append(sizes, f.Size)
			worst[f.Size] = &found{f, s, 0}
			continue
		}
		of.others++
		if s.partsPerMillion > of.spread.partsPerMillion {
			of.figure, of.spread = f, s
		}
	}
	var out []v1alpha1.Warning
	for _, size := range sizes {
		w := worst[size]
		also := ""
		if w.others > 0 {
			also = fmt.Sprintf(", and more than is allowed of %d more", w.others)
		}
		out = append(out, v1alpha1.Warning{Code: v1alpha1.WarningToleranceBelowSpread, Size: size, Message: fmt.Sprintf(
			"spec.experiment.baseline.maximumRegressionPercent is %d, and the known spread of %s for %s is %s %% (%s)%s: chance alone may fail it. Raise the percentage, or measure with more repeats in both runs.",
			tolerance(baseline), acceptance.Subject(w.figure.FigureKey), acceptance.About(w.figure.FigureKey), percent(w.spread.partsPerMillion), w.spread.of, also)})
	}
	return out
}

func percent(partsPerMillion int64) string {
	return strconv.FormatFloat(float64(partsPerMillion)/1e4, 'f', 1, 64)
}

// spread is how far a figure may be from that of another run of the same device, as a share of the
// figure, and what shows it.
type spread struct {
	partsPerMillion int64
	of              string
}

// spreadOf returns the widest spread that is known of a figure in one of the two runs.
func spreadOf(f v1alpha1.BaselineFigure, measurements v1alpha1.Measurements, now *figure.Figure) spread {
	widest := halfWidth(f.Values, "half of the 95 % confidence interval in the baseline")
	if now != nil {
		widest = wider(widest, halfWidth(now.Values, "half of the 95 % confidence interval in this run"))
	}
	if throughput := measurements.Filled().Throughput; throughput != nil && f.Metric == v1alpha1.MetricThroughputFramesPerSecond {
		for _, goal := range throughput.Goals {
			if goal.Name == f.Goal {
				widest = wider(widest, spread{int64(goal.WidthPartsPerMillion), "the goal's widthPartsPerMillion"})
			}
		}
	}
	return widest
}

func wider(a, b spread) spread {
	if b.partsPerMillion > a.partsPerMillion {
		return b
	}
	return a
}

// halfWidth returns half of the confidence interval of the values' mean.
func halfWidth(values []int64, of string) spread {
	s, ok := statistics.Summarize(values)
	if !ok || s.Mean <= 0 {
		return spread{}
	}
	return spread{int64((s.High - s.Mean) / s.Mean * 1e6), fmt.Sprintf("%s, of %d values", of, len(values))}
}
