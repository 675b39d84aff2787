package plan_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

func withFirewall(in plan.Input, index int, settings *v1alpha1.Firewall) plan.Input {
	function := &in.Run.Spec.Experiment.Chain[index]
	function.Function, function.Firewall = v1alpha1.FunctionFirewall, settings
	return in
}

func TestFirewallDefaults(t *testing.T) {
	p := mustMake(t, withFirewall(plantest.Input(1), 0, nil))
	want := &vnf.Firewall{
		Backend: "nftables", Mode: "Stateful", Forwarding: "Routed", MatchBy: "Address", MatchPosition: "Last", Lookup: "List",
		Verdict: "Accept", DefaultPolicy: "Drop", TrackedFlows: 2,
	}
	if diff := cmp.Diff(want, p.Functions[0].Config.Firewall); diff != "" {
		t.Errorf("firewall (-want +got):\n%s", diff)
	}
}

// TestFirewallCoversTheFlows checks that the match rule has every port that a flow can have.
func TestFirewallCoversTheFlows(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Traffic)
		ports  vnf.PortRange
		flows  int
	}{
		"one flow": {func(*v1alpha1.Traffic) {}, vnf.PortRange{First: 7, Last: 7}, 2},
		"one way":  {func(t *v1alpha1.Traffic) { t.Directions = v1alpha1.DirectionsForward }, vnf.PortRange{First: 7, Last: 7}, 1},
		"other field": {func(t *v1alpha1.Traffic) {
			t.Flows, t.FlowVariation = 100, []v1alpha1.FlowField{v1alpha1.FlowSourcePort}
		}, vnf.PortRange{First: 7, Last: 7}, 200},
		"ports": {func(t *v1alpha1.Traffic) {
			t.Flows, t.FlowVariation = 100, []v1alpha1.FlowField{v1alpha1.FlowDestinationPort}
		}, vnf.PortRange{First: 1, Last: 100}, 200},
		"all ports": {func(t *v1alpha1.Traffic) {
			t.Flows, t.FlowVariation = 1_000_000, []v1alpha1.FlowField{v1alpha1.FlowDestinationPort, v1alpha1.FlowSourcePort}
		}, vnf.PortRange{First: 1, Last: 49_151}, 2_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			in := withFirewall(plantest.Input(1), 0, &v1alpha1.Firewall{MatchBy: v1alpha1.RuleMatchPort, Rules: 10})
			tc.change(&in.Run.Spec.Experiment.Traffic)
			firewall := mustMake(t, in).Functions[0].Config.Firewall
			if firewall.TrafficPorts != tc.ports || firewall.TrackedFlows != tc.flows {
				t.Errorf("ports %+v and %d flows, want %+v and %d", firewall.TrafficPorts, firewall.TrackedFlows, tc.ports, tc.flows)
			}
		})
	}
}

func TestFirewallMemoryAndDigest(t *testing.T) {
	plain := mustMake(t, withFirewall(plantest.Input(1), 0, nil))
	many := mustMake(t, withFirewall(plantest.Input(1), 0, &v1alpha1.Firewall{Rules: 65_535}))
	if more := many.Functions[0].Resources.MemoryBytes - plain.Functions[0].Resources.MemoryBytes; more != 65_535*2048 {
		t.Errorf("65535 rules request %d bytes more", more)
	}
	stateless := mustMake(t, withFirewall(plantest.Input(1), 0, &v1alpha1.Firewall{Mode: v1alpha1.FirewallStateless}))
	router := mustMake(t, plantest.Input(1))
	digests := map[string]bool{plain.Digest: true, many.Digest: true, stateless.Digest: true, router.Digest: true}
	if len(digests) != 4 {
		t.Error("different experiments have the same digest")
	}
}

// TestFirewallLookup checks that a set has room for its rules as a list does, and that a run whose ports do not fit into a
// set ends with the field and the ways out.
func TestFirewallLookup(t *testing.T) {
	set := &v1alpha1.Firewall{Lookup: v1alpha1.LookupSet, MatchBy: v1alpha1.RuleMatchPort, Rules: 65_534}
	p := mustMake(t, withFirewall(plantest.Input(1), 0, set))
	if config := p.Functions[0].Config.Firewall; config.Lookup != vnf.LookupSet || len(config.Elements(false)) != 65_534 {
		t.Errorf("lookup %s with %d elements", config.Lookup, len(config.Elements(false)))
	}
	in := withFirewall(plantest.Input(1), 0, set)
	in.Run.Spec.Experiment.Traffic.Flows, in.Run.Spec.Experiment.Traffic.FlowVariation = 100, []v1alpha1.FlowField{v1alpha1.FlowDestinationPort}
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonInvalidConfiguration, []string{
		"firewall.rules: a set has each port once, and the traffic leaves 65435 of them, but 65534 are asked for: lower rules, set matchBy to Address, or lookup to List",
	}, "")
}

// TestBridgedFirewall checks that the hosts on both sides are on one network, and that each
// sends to the other's hardware address.
func TestBridgedFirewall(t *testing.T) {
	bridged := &v1alpha1.Firewall{Forwarding: v1alpha1.ForwardingBridged}
	t.Run("alone", func(t *testing.T) {
		p := mustMake(t, withFirewall(plantest.Input(1), 0, bridged))
		west, east := p.Segments[0].West.MAC, p.Segments[1].East.MAC
		streams := p.Instructions.Chain.Streams
		if streams[0].DestinationMAC != east || streams[1].DestinationMAC != west {
			t.Errorf("streams go to %s and %s, want the generator's own ports", streams[0].DestinationMAC, streams[1].DestinationMAC)
		}
		config := p.Functions[0].Config
		if len(config.Routes)+len(config.Neighbors)+len(config.Ports[0].Addresses)+len(config.Ports[1].Addresses) != 0 {
			t.Errorf("a bridge has addresses or routes: %+v", config)
		}
	})
	t.Run("between routers", func(t *testing.T) {
		in := plantest.Input(4)
		withFirewall(withFirewall(in, 1, bridged), 2, bridged)
		p := mustMake(t, in)
		first, last := p.Functions[0].Config, p.Functions[3].Config
		if got := p.Instructions.Chain.Streams[0].DestinationMAC; got != first.Ports[0].MAC {
			t.Errorf("the stream goes to %s, want the first router's %s", got, first.Ports[0].MAC)
		}
		// Segments 1, 2 and 3 are one network: 198.18.1.0/24.
		if got := first.Ports[1].Addresses[0]; got != netip.MustParsePrefix("198.18.1.1/24") {
			t.Errorf("the first router's eastern port has %s", got)
		}
		if got := last.Ports[0].Addresses[0]; got != netip.MustParsePrefix("198.18.1.2/24") {
			t.Errorf("the last router's western port has %s", got)
		}
		for _, next := range []struct {
			of, to vnf.Config
			port   string
			mac    string
		}{
			{first, last, "east", last.Ports[0].MAC},
			{last, first, "west", first.Ports[1].MAC},
		} {
			for _, neighbor := range next.of.Neighbors {
				if neighbor.Port == next.port && neighbor.MAC != next.mac {
					t.Errorf("%s's next hop on %s has %s, want %s", next.of.Name, next.port, neighbor.MAC, next.mac)
				}
			}
		}
	})
}
