package report

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// trafficFacts say how the traffic differs from one flow of equal frames, each
// direction with the same load; nothing where it does not.
func trafficFacts(t v1alpha1.Traffic) []fact {
	var facts []fact
	if t.Flows > 1 {
		facts = append(facts, fact{"Flows", flowsInWords(t)})
	}
	return facts
}

func flowsInWords(t v1alpha1.Traffic) string {
	fields := make([]string, len(t.FlowVariation))
	for i, field := range t.FlowVariation {
		fields[i] = string(field)
	}
	order := "one after the other"
	if t.FlowOrder == v1alpha1.FlowsRandom {
		order = fmt.Sprintf("in random order from seed %d", t.FlowSeed)
	}
	return fmt.Sprintf("%d of each direction, told apart by %s, %s", t.Flows, strings.Join(fields, " and "), order)
}
