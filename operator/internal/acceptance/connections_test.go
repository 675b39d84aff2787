package acceptance

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

func TestConnections(t *testing.T) {
	result := &v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{
		{Name: "web", EstablishedConnectionsPerSecond: new(int64(980)), FailedPartsPerMillion: 20,
			Statistics: []v1alpha1.Statistics{{Metric: v1alpha1.MetricConnectionsEstablished, N: 3, ConfidenceLow: new(int64(900)), ConfidenceHigh: new(int64(1060))}}},
		{Name: "table", HeldConnections: new(int64(5000))},
	}}
	for name, test := range map[string]struct {
		criterion v1alpha1.Criterion
		want      v1alpha1.VerdictResult
		words     string
	}{
		"a rate":          {v1alpha1.Criterion{AtLeast: new(int64(980)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsEstablished, Load: "web"}}, v1alpha1.VerdictPassed, "at web is 980, at least 980"},
		"a limit":         {v1alpha1.Criterion{AtLeast: new(int64(950)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsEstablished, Load: "web"}, Statistic: v1alpha1.StatisticConfidenceLimit}, v1alpha1.VerdictFailed, "900"},
		"failed":          {v1alpha1.Criterion{AtMost: new(int64(10)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsFailed, Load: "web"}}, v1alpha1.VerdictFailed, "at web is 20, at most 10"},
		"held":            {v1alpha1.Criterion{AtLeast: new(int64(5000)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsHeld, Load: "table"}}, v1alpha1.VerdictPassed, "at table is 5000"},
		"held, of a rate": {v1alpha1.Criterion{AtLeast: new(int64(1)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsHeld, Load: "web"}}, v1alpha1.VerdictInconclusive, "load web has none"},
		"an unknown load": {v1alpha1.Criterion{AtLeast: new(int64(1)), FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsHeld, Load: "other"}}, v1alpha1.VerdictInconclusive, "load other was not measured"},
	} {
		t.Run(name, func(t *testing.T) {
			test.criterion.Name = name
			criteria := []v1alpha1.Criterion{test.criterion, {Name: "of frames", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLoss, Load: "idle"}, AtMost: new(int64(0))}}
			got := Evaluate(v1alpha1.Experiment{Acceptance: criteria}, figure.Results{Connections: result}.Figures())
			if len(got) != 1 || got[0].Result != test.want || !strings.Contains(got[0].Message, test.words) || got[0].Load != test.criterion.Load {
				t.Errorf("got %+v", got)
			}
			if About(got[0].FigureKey) != "load "+test.criterion.Load {
				t.Errorf("it is about %q", About(got[0].FigureKey))
			}
		})
	}
	if got := evaluate([]v1alpha1.Criterion{{FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsHeld, Load: "web"}}}, nil, nil); got[0].Result != v1alpha1.VerdictInconclusive {
		t.Errorf("without a result: %+v", got)
	}
}
