package acceptance

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

// connectionFigures are the metrics of connections; nil where there is no figure.
var connectionFigures = map[v1alpha1.Metric]func(v1alpha1.ConnectionsLoadResult) *int64{
	v1alpha1.MetricConnectionsEstablished: func(l v1alpha1.ConnectionsLoadResult) *int64 { return l.EstablishedConnectionsPerSecond },
	v1alpha1.MetricConnectionsHeld:        func(l v1alpha1.ConnectionsLoadResult) *int64 { return l.HeldConnections },
	v1alpha1.MetricConnectionsFailed:      func(l v1alpha1.ConnectionsLoadResult) *int64 { return &l.FailedPartsPerMillion },
}

// AboutConnections says that a criterion looks at a load of connections.
func AboutConnections(criterion v1alpha1.Criterion) bool {
	_, ok := connectionFigures[criterion.Metric]
	return ok
}

// EvaluateConnections returns a verdict for each criterion about connections, in
// their order. Without a figure the verdict is Failed.
func EvaluateConnections(criteria []v1alpha1.Criterion, result *v1alpha1.ConnectionsResult) []v1alpha1.Verdict {
	var verdicts []v1alpha1.Verdict
	for _, criterion := range criteria {
		if !AboutConnections(criterion) {
			continue
		}
		verdict := v1alpha1.Verdict{Criterion: criterion.Name, Load: criterion.Load, Result: v1alpha1.VerdictFailed}
		measured, err := ConnectionsFigure(criterion, result)
		verdicts = append(verdicts, compare(verdict, criterion, measured, err))
	}
	return verdicts
}

// ConnectionsFigure is the value that a criterion would judge. The error says, for
// people, why there is none.
func ConnectionsFigure(criterion v1alpha1.Criterion, result *v1alpha1.ConnectionsResult) (int64, error) {
	if result == nil {
		return 0, fmt.Errorf("connections were not measured")
	}
	for _, load := range result.Loads {
		if load.Name != criterion.Load {
			continue
		}
		if criterion.Statistic == v1alpha1.StatisticConfidenceLimit {
			return limitOf(criterion.Metric, load.Statistics, criterion.AtLeast != nil)
		}
		if value := connectionFigures[criterion.Metric](load); value != nil {
			return *value, nil
		}
		return 0, fmt.Errorf("load %s has none", criterion.Load)
	}
	return 0, fmt.Errorf("load %s was not measured", criterion.Load)
}
