package plan

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// flowsOf returns each direction's flows, and nil for one flow. It leaves out what has no meaning
// for them, so that it changes no digest.
func flowsOf(traffic v1alpha1.Traffic) *measure.Flows {
	if traffic.Flows <= 1 {
		return nil
	}
	flows := &measure.Flows{Count: int(traffic.Flows)}
	for _, known := range measure.FlowFields {
		if slices.Contains(traffic.FlowVariation, v1alpha1.FlowField(known.Field)) {
			flows.Fields = append(flows.Fields, known.Field)
		}
	}
	if traffic.FlowOrder == v1alpha1.FlowsRandom {
		flows.Random, flows.Seed = true, uint64(traffic.FlowSeed)
	}
	return flows
}

// portsOf returns the first flow's UDP ports: those of RFC 2544, except for a port that varies,
// which is at the start of its range.
func portsOf(flows *measure.Flows) (source, destination uint16) {
	source, destination = oneFlowSourcePort, oneFlowDestinationPort
	if flows == nil {
		return source, destination
	}
	if slices.Contains(flows.Fields, measure.FlowSourcePort) {
		source = measure.FirstSourcePort
	}
	if slices.Contains(flows.Fields, measure.FlowDestinationPort) {
		destination = measure.FirstDestinationPort
	}
	return source, destination
}
