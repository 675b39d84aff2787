package baseline

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// Loads returns the rates of the earlier run's judged figures at latency loads that are shares of a throughput: one for
// each size and load. This run measures its delays at these rates too, because its own shares are other rates.
func Loads(experiment v1alpha1.Experiment, figures []v1alpha1.BaselineFigure) (out []measure.BaselineLoad) {
	latency := experiment.Measurements.Filled().Latency
	if latency == nil {
		return nil
	}
	for _, f := range judged(experiment.Baseline, figures) {
		isShare := slices.ContainsFunc(latency.Loads, func(l v1alpha1.LatencyLoad) bool { return l.Name == f.Load && l.Goal != "" })
		if code, _ := unusable(f); !isShare || code != "" || f.BaselineLoadFramesPerSecond == nil {
			continue
		}
		load := measure.BaselineLoad{Size: f.Size, Load: f.Load, FramesPerSecond: *f.BaselineLoadFramesPerSecond}
		if !slices.Contains(out, load) {
			out = append(out, load)
		}
	}
	return out
}

// atBaselineLoads returns figures in which those of a load at the baseline's rate take the place of the load's own.
func atBaselineLoads(figures []figure.Figure) []figure.Figure {
	type load struct{ size, load string }
	measured := map[load]bool{}
	for _, f := range figures {
		if name, ok := figure.OfBaselineLoad(f.Load); ok {
			measured[load{f.Size, name}] = true
		}
	}
	if len(measured) == 0 {
		return figures
	}
	var out []figure.Figure
	for _, f := range figures {
		if measured[load{f.Size, f.Load}] && f.Metric != shareOf {
			continue
		}
		f.Load, _ = figure.OfBaselineLoad(f.Load)
		out = append(out, f)
	}
	return out
}

// shareOf is the metric of the throughput that a load is a share of.
const shareOf v1alpha1.Metric = "LoadShareOfFramesPerSecond"

// notCarried says that this run did not measure at the baseline's rate because its throughput is lower; "" where that is
// not the reason.
func notCarried(f v1alpha1.BaselineFigure, measured []figure.Figure) string {
	for _, share := range measured {
		if share.Metric == shareOf && share.Side == "" && share.Size == f.Size && share.Load == f.Load && share.Value < *f.BaselineLoadFramesPerSecond {
			return fmt.Sprintf("%d frames/s, at which the baseline measured it, are more than this run's throughput of %s, %d frames/s", *f.BaselineLoadFramesPerSecond, share.Goal, share.Value)
		}
	}
	return ""
}
