package vnf_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/vnf"
)

func firewall() *vnf.Config {
	config := router()
	config.Function = vnf.FunctionFirewall
	config.Firewall = &vnf.Firewall{
		Backend: vnf.BackendNftables, Mode: vnf.ModeStateful, Forwarding: vnf.ForwardingRouted, Rules: 10,
		MatchBy: vnf.MatchByAddress, MatchPosition: vnf.PositionLast, Lookup: vnf.LookupList, Verdict: vnf.VerdictAccept, DefaultPolicy: vnf.VerdictDrop,
	}
	return config
}

func TestValidateFirewall(t *testing.T) {
	if err := firewall().Validate(); err != nil {
		t.Fatal(err)
	}
	bridged := firewall()
	bridged.Firewall.Forwarding = vnf.ForwardingBridged
	bridged.Routes, bridged.Neighbors = nil, nil
	bridged.Ports[0].Addresses, bridged.Ports[1].Addresses = nil, nil
	if err := bridged.Validate(); err != nil {
		t.Fatal(err)
	}
	set := firewall()
	set.Firewall.Lookup, set.Firewall.Backend, set.Firewall.MatchBy = vnf.LookupSet, vnf.BackendIptables, vnf.MatchByPort
	set.Firewall.TrafficPorts, set.Firewall.Rules = vnf.PortRange{First: 1, Last: 49_151}, 16_384
	if err := set.Validate(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		change func(*vnf.Config)
		want   string
	}{
		"no firewall":       {func(c *vnf.Config) { c.Firewall = nil }, "firewall: is missing"},
		"router":            {func(c *vnf.Config) { c.Function = vnf.FunctionRouter }, "firewall: is for function"},
		"backend":           {func(c *vnf.Config) { c.Firewall.Backend = "pf" }, "firewall.backend: "},
		"mode":              {func(c *vnf.Config) { c.Firewall.Mode = "" }, "firewall.mode: "},
		"forwarding":        {func(c *vnf.Config) { c.Firewall.Forwarding = "" }, "firewall.forwarding: "},
		"match by":          {func(c *vnf.Config) { c.Firewall.MatchBy = "Name" }, "firewall.matchBy: "},
		"match position":    {func(c *vnf.Config) { c.Firewall.MatchPosition = "" }, "firewall.matchPosition: "},
		"verdict":           {func(c *vnf.Config) { c.Firewall.Verdict = "Reject" }, "firewall.verdict: "},
		"policy":            {func(c *vnf.Config) { c.Firewall.DefaultPolicy = "" }, "firewall.defaultPolicy: "},
		"too many rules":    {func(c *vnf.Config) { c.Firewall.Rules = 65_536 }, "firewall.rules: 65536"},
		"negative rules":    {func(c *vnf.Config) { c.Firewall.Rules = -1 }, "firewall.rules: -1"},
		"rules without one": {func(c *vnf.Config) { c.Firewall.Mode = vnf.ModeNone }, "firewall.rules: mode None has no rules"},
		"negative flows":    {func(c *vnf.Config) { c.Firewall.TrackedFlows = -1 }, "firewall.trackedFlows: "},
		"no ports":          {func(c *vnf.Config) { c.Firewall.MatchBy = vnf.MatchByPort }, "firewall.trafficPorts: 0 to 0"},
		"all ports": {func(c *vnf.Config) {
			c.Firewall.MatchBy, c.Firewall.TrafficPorts = vnf.MatchByPort, vnf.PortRange{First: 1, Last: 65_535}
		}, "firewall.trafficPorts: the traffic takes every port"},
		"lookup":          {func(c *vnf.Config) { c.Firewall.Lookup = "Tree" }, "firewall.lookup: "},
		"map of iptables": {func(c *vnf.Config) { c.Firewall.Lookup, c.Firewall.Backend = vnf.LookupMap, vnf.BackendIptables }, "firewall.lookup: iptables has no verdict map: set lookup to Set, or backend to nftables"},
		"middle of a set": {func(c *vnf.Config) { c.Firewall.Lookup, c.Firewall.MatchPosition = vnf.LookupSet, vnf.PositionMiddle }, "firewall.matchPosition: lookup Set has no middle: "},
		"more rules than ports": {func(c *vnf.Config) {
			c.Firewall.Lookup, c.Firewall.MatchBy, c.Firewall.TrafficPorts, c.Firewall.Rules = vnf.LookupMap, vnf.MatchByPort, vnf.PortRange{First: 1, Last: 49_151}, 16_385
		}, "firewall.rules: a set has each port once, and the traffic leaves 16384 of them, but 16385 are asked for: "},
		"bridge with addresses": {func(c *vnf.Config) { c.Firewall.Forwarding = vnf.ForwardingBridged }, "ports[0].addresses: a bridging function"},
		"bridge with routes": {func(c *vnf.Config) {
			c.Firewall.Forwarding = vnf.ForwardingBridged
			c.Ports[0].Addresses, c.Ports[1].Addresses = nil, nil
		}, "routes: a bridging function"},
		"bridge with neighbors": {func(c *vnf.Config) {
			c.Firewall.Forwarding = vnf.ForwardingBridged
			c.Ports[0].Addresses, c.Ports[1].Addresses, c.Routes = nil, nil, nil
		}, "neighbors: a bridging function"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := firewall()
			tc.change(config)
			err := config.Validate()
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want it to start with %q", err, tc.want)
			}
		})
	}
}

// TestWalk checks that only the match rule can match the traffic, at any number of rules
// and at any position.
func TestWalk(t *testing.T) {
	traffic := []netip.Addr{
		netip.MustParseAddr("198.18.128.1"), netip.MustParseAddr("198.18.255.254"), netip.MustParseAddr("198.19.255.254"),
		netip.MustParseAddr("2001:2:0:8000::1"), netip.MustParseAddr("2001:2:0:9000::ffff"),
	}
	for _, matchBy := range []string{vnf.MatchByAddress, vnf.MatchByPort} {
		for position, index := range map[string]int{vnf.PositionFirst: 0, vnf.PositionMiddle: 32_767, vnf.PositionLast: 65_535, vnf.PositionNone: -1} {
			for _, ipv6 := range []bool{false, true} {
				f := firewall().Firewall
				f.Rules, f.MatchBy, f.MatchPosition, f.TrafficPorts = vnf.MaximumRules, matchBy, position, vnf.PortRange{First: 1, Last: 49_151}
				rules := f.Walk(ipv6)
				if got := slices.IndexFunc(rules, func(r vnf.FirewallRule) bool { return r.Match }); got != index {
					t.Errorf("%s, %s: the match rule is at %d, want %d", matchBy, position, got, index)
				}
				for i, rule := range rules {
					for _, address := range traffic {
						if address.Is6() != ipv6 {
							continue
						}
						matches := rule.Source.Contains(address)
						if matchBy == vnf.MatchByPort {
							matches = rule.Ports.First <= 49_151
						}
						if matches != (i == index) || rule.Accept != (i == index) {
							t.Fatalf("%s, %s: rule %d is %+v", matchBy, position, i, rule)
						}
					}
				}
			}
		}
	}
}

// TestElements checks that a set has the rules that a list would have without the match rule, each once, and that
// one rule takes their place.
func TestElements(t *testing.T) {
	for _, matchBy := range []string{vnf.MatchByAddress, vnf.MatchByPort} {
		for position, index := range map[string]int{vnf.PositionFirst: 0, vnf.PositionLast: 1, vnf.PositionNone: -1} {
			for _, ipv6 := range []bool{false, true} {
				f := firewall().Firewall
				f.Rules, f.MatchBy, f.MatchPosition, f.TrafficPorts = 65_532, matchBy, position, vnf.PortRange{First: 7, Last: 9}
				if elements := f.Elements(ipv6); elements != nil {
					t.Fatalf("a list has %d elements", len(elements))
				}
				list := slices.DeleteFunc(f.Walk(ipv6), func(r vnf.FirewallRule) bool { return r.Match })
				f.Lookup = vnf.LookupSet
				seen := map[vnf.FirewallRule]bool{}
				for _, element := range f.Elements(ipv6) {
					seen[element] = true
				}
				if !slices.Equal(list, f.Elements(ipv6)) || len(seen) != f.Rules {
					t.Errorf("%s, %s: there are %d elements, %d of them once, want the %d rules of the list", matchBy, position, len(f.Elements(ipv6)), len(seen), len(list))
				}
				rules := f.Walk(ipv6)
				if got := slices.IndexFunc(rules, func(r vnf.FirewallRule) bool { return r.Match }); got != index || slices.IndexFunc(rules, func(r vnf.FirewallRule) bool { return r.Lookup }) < 0 {
					t.Errorf("%s, %s: the rules are %+v", matchBy, position, rules)
				}
			}
		}
	}
	f := firewall().Firewall
	f.Lookup, f.Rules = vnf.LookupSet, 0
	if f.LooksUp() || len(f.Walk(false)) != 1 || f.Elements(false) != nil {
		t.Errorf("without rules there is a set, and rules %+v", f.Walk(false))
	}
}
