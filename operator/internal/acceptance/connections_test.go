package acceptance

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestConnections(t *testing.T) {
	result := &v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{
		{Name: "web", EstablishedConnectionsPerSecond: new(int64(980)), FailedPartsPerMillion: 20,
			Statistics: []v1alpha1.Statistics{{Metric: v1alpha1.MetricConnectionsEstablished, N: 3, ConfidenceLow: 900, ConfidenceHigh: 1060}}},
		{Name: "table", HeldConnections: new(int64(5000))},
	}}
	for name, test := range map[string]struct {
		criterion v1alpha1.Criterion
		want      v1alpha1.VerdictResult
		words     string
	}{
		"a rate":          {v1alpha1.Criterion{Metric: v1alpha1.MetricConnectionsEstablished, Load: "web", AtLeast: new(int64(980))}, v1alpha1.VerdictPassed, "at web is 980, at least 980"},
		"a limit":         {v1alpha1.Criterion{Metric: v1alpha1.MetricConnectionsEstablished, Load: "web", AtLeast: new(int64(950)), Statistic: v1alpha1.StatisticConfidenceLimit}, v1alpha1.VerdictFailed, "900"},
		"failed":          {v1alpha1.Criterion{Metric: v1alpha1.MetricConnectionsFailed, Load: "web", AtMost: new(int64(10))}, v1alpha1.VerdictFailed, "at web is 20, at most 10"},
		"held":            {v1alpha1.Criterion{Metric: v1alpha1.MetricConnectionsHeld, Load: "table", AtLeast: new(int64(5000))}, v1alpha1.VerdictPassed, "at table is 5000"},
		"held, of a rate": {v1alpha1.Criterion{Metric: v1alpha1.MetricConnectionsHeld, Load: "web", AtLeast: new(int64(1))}, v1alpha1.VerdictFailed, "load web has none"},
		"an unknown load": {v1alpha1.Criterion{Metric: v1alpha1.MetricConnectionsHeld, Load: "other", AtLeast: new(int64(1))}, v1alpha1.VerdictFailed, "load other was not measured"},
	} {
		t.Run(name, func(t *testing.T) {
			test.criterion.Name = name
			criteria := []v1alpha1.Criterion{test.criterion, {Name: "of frames", Metric: v1alpha1.MetricLoss, Load: "idle", AtMost: new(int64(0))}}
			got := EvaluateConnections(criteria, result)
			if len(got) != 1 || got[0].Result != test.want || !strings.Contains(got[0].Message, test.words) || got[0].Load != test.criterion.Load {
				t.Errorf("got %+v", got)
			}
			if Subject(got[0]) != "load "+test.criterion.Load {
				t.Errorf("it is about %q", Subject(got[0]))
			}
			if frames := Evaluate(criteria, []int32{64}, nil); len(frames) != 1 || frames[0].Criterion != "of frames" {
				t.Errorf("verdicts on frames are %+v", frames)
			}
		})
	}
	if got := EvaluateConnections([]v1alpha1.Criterion{{Metric: v1alpha1.MetricConnectionsHeld, Load: "web"}}, nil); got[0].Result != v1alpha1.VerdictFailed {
		t.Errorf("without a result: %+v", got)
	}
}
