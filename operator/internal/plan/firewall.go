package plan

import (
	"cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf"
)

// bytesPerRule is the memory that a rule, or an element of a set, needs in addition to the function's own: the kernel
// charges rules of both IP versions to the container that loads them, and holds old and new ones
// while it loads.
const bytesPerRule = 2 << 10

// firewall plans function Firewall.
type firewall struct{ router }

func (firewall) bridges(function v1alpha1.NetworkFunction) bool {
	return function.Firewall != nil && function.Firewall.Forwarding == v1alpha1.ForwardingBridged
}

func (firewall) configure(in Input, index int, _ []Segment, config *vnf.Config) {
	config.Firewall = firewallOf(in.Run.Spec.Experiment.Chain[index], in.Run.Spec.Experiment)
}

func (firewall) memoryBytes(function Function) int64 {
	return int64(function.Config.Firewall.Rules) * bytesPerRule
}

// doubt warns about rules that most of the traffic skips: with mode Stateful only the first
// packet of each flow is matched with them, and the others pass as packets of a known flow.
func (firewall) doubt(function *Function, _ v1alpha1.FunctionState) (Doubt, bool) {
	config := function.Config.Firewall
	if config == nil || config.Mode != vnf.ModeStateful || config.Rules == 0 {
		return Doubt{}, false
	}
	return Doubt{v1alpha1.WarningRulesNotWalked, "Only the first packet of each flow walks the rules of %s (mode Stateful), so the figures show little of what rules cost: use mode Stateless to measure the rules."}, true
}

// firewallOf returns what a firewall filters. Absent settings are the API's defaults, which the
// API server fills in only where the object is there.
func firewallOf(function v1alpha1.NetworkFunction, run v1alpha1.Experiment) *vnf.Firewall {
	spec := v1alpha1.Firewall{}
	if function.Firewall != nil {
		spec = *function.Firewall
	}
	firewall := &vnf.Firewall{
		Backend:       string(cmp.Or(spec.Backend, v1alpha1.BackendNftables)),
		Mode:          string(cmp.Or(spec.Mode, v1alpha1.FirewallStateful)),
		Forwarding:    string(cmp.Or(spec.Forwarding, v1alpha1.ForwardingRouted)),
		Rules:         int(spec.Rules),
		MatchBy:       string(cmp.Or(spec.MatchBy, v1alpha1.RuleMatchAddress)),
		MatchPosition: string(cmp.Or(spec.MatchPosition, v1alpha1.MatchLast)),
		Lookup:        string(cmp.Or(spec.Lookup, v1alpha1.LookupList)),
		Verdict:       string(cmp.Or(spec.Verdict, v1alpha1.VerdictAccept)),
		DefaultPolicy: string(cmp.Or(spec.DefaultPolicy, v1alpha1.VerdictDrop)),
	}
	if firewall.MatchBy == vnf.MatchByPort {
		firewall.TrafficPorts = trafficPorts(run.Traffic)
	}
	if firewall.Mode == vnf.ModeStateful {
		firewall.TrackedFlows = max(trackedFlows(run.Traffic), trackedConnections(run.Measurements))
	}
	return firewall
}

// trafficPorts returns all UDP destination ports that the flows have.
func trafficPorts(traffic v1alpha1.Traffic) vnf.PortRange {
	flows := flowsOf(traffic)
	_, first := portsOf(flows)
	last := first
	if flows != nil {
		last += uint16(flows.Values(measure.FlowDestinationPort) - 1)
	}
	return vnf.PortRange{First: first, Last: last}
}

// trackedFlows counts each direction's flows, as neither direction answers the other.
func trackedFlows(traffic v1alpha1.Traffic) int {
	flows := max(int(traffic.Flows), 1)
	if traffic.Directions == v1alpha1.DirectionsBoth {
		return 2 * flows
	}
	return flows
}
