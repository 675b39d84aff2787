package acceptance

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

// compared says what the figure is, where it is not the mean.
func compared(criterion v1alpha1.Criterion) string {
	switch {
	case criterion.Statistic != v1alpha1.StatisticConfidenceLimit:
		return ""
	case criterion.AtLeast != nil:
		return " at the lower end of its 95 % confidence interval"
	}
	return " at the upper end of its 95 % confidence interval"
}

// confidenceLimit is the end of the 95 % confidence interval that is nearer to
// missing the threshold, of the worse direction.
func confidenceLimit(criterion v1alpha1.Criterion, result v1alpha1.FrameResult) (int64, error) {
	lower := criterion.AtLeast != nil
	if criterion.Goal != "" {
		for _, t := range result.Throughput {
			if t.Goal == criterion.Goal {
				return limitOf(criterion.Metric, t.Statistics, lower)
			}
		}
		return 0, fmt.Errorf("the goal was not measured")
	}
	for _, l := range result.Latency {
		if l.Load == criterion.Load {
			return worseLimit(criterion.Metric, l.Directions, lower)
		}
	}
	return 0, fmt.Errorf("the load was not measured")
}

func worseLimit(metric v1alpha1.Metric, directions []v1alpha1.DirectionResult, lower bool) (int64, error) {
	if len(directions) == 0 {
		return 0, fmt.Errorf("the load has no directions")
	}
	var worst int64
	for i, d := range directions {
		limit, err := limitOf(metric, d.Statistics, lower)
		if err != nil {
			return 0, fmt.Errorf("direction %s: %w", d.Direction, err)
		}
		if i == 0 || lower && limit < worst || !lower && limit > worst {
			worst = limit
		}
	}
	return worst, nil
}

func limitOf(metric v1alpha1.Metric, list []v1alpha1.Statistics, lower bool) (int64, error) {
	for _, s := range list {
		if s.Metric != metric {
			continue
		}
		if lower {
			return s.ConfidenceLow, nil
		}
		return s.ConfidenceHigh, nil
	}
	return 0, fmt.Errorf("there is no confidence interval: it takes two repeats with the figure in each")
}
