package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestTrafficFacts(t *testing.T) {
	for name, c := range map[string]struct {
		traffic v1alpha1.Traffic
		want    []fact
	}{
		"one flow": {v1alpha1.Traffic{Flows: 1, FlowVariation: []v1alpha1.FlowField{v1alpha1.FlowSourcePort}}, nil},
		"in their turn": {v1alpha1.Traffic{Flows: 5, FlowVariation: []v1alpha1.FlowField{v1alpha1.FlowSourcePort}, FlowOrder: v1alpha1.FlowsSequential, FlowSeed: 1},
			[]fact{{"Flows", "5 of each direction, told apart by SourcePort, one after the other"}}},
		"random": {v1alpha1.Traffic{Flows: 9, FlowVariation: []v1alpha1.FlowField{v1alpha1.FlowSourcePort, v1alpha1.FlowSourceAddress}, FlowOrder: v1alpha1.FlowsRandom, FlowSeed: 7},
			[]fact{{"Flows", "9 of each direction, told apart by SourcePort and SourceAddress, in random order from seed 7"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, trafficFacts(c.traffic), cmp.AllowUnexported(fact{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
