package vnf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// FunctionFirewall forwards like a router, or like a bridge, and filters.
const FunctionFirewall = "Firewall"

// Backends of a firewall.
const (
	BackendNftables = "nftables"
	BackendIptables = "iptables"
)

// Modes of a firewall.
const (
	ModeNone      = "None"
	ModeStateful  = "Stateful"
	ModeStateless = "Stateless"
)

// Ways of a firewall's forwarding.
const (
	ForwardingRouted  = "Routed"
	ForwardingBridged = "Bridged"
)

// What a firewall's rules look at.
const (
	MatchByAddress = "Address"
	MatchByPort    = "Port"
)

// Places of the rule that the traffic matches.
const (
	PositionFirst  = "First"
	PositionMiddle = "Middle"
	PositionLast   = "Last"
	PositionNone   = "None"
)

// Ways of comparing a packet with the rules that the traffic does not match.
const (
	LookupList = "List"
	LookupSet  = "Set"
	LookupMap  = "Map"
)

// Verdicts of a rule and of the policy.
const (
	VerdictAccept = "Accept"
	VerdictDrop   = "Drop"
)

// MaximumRules is the highest number of rules besides the match rule.
const MaximumRules = 65_535

const maxPort = 65_535

// Firewall is what a firewall filters. With lookup List its rules are real and
// in sequence: no set, no map, no jump that would skip some of them.
type Firewall struct {
	// Backend is "nftables" or "iptables" (the kernel's x_tables).
	Backend string `json:"backend"`
	// Mode is "None" (no filter), "Stateful" (packets of a known flow pass
	// first) or "Stateless" (no connection tracking: every packet meets the rules).
	Mode string `json:"mode"`
	// Forwarding is "Routed" or "Bridged". A bridging firewall's ports have no addresses.
	Forwarding string `json:"forwarding"`
	// Rules that do not match the traffic, 0 to 65535; with mode None 0.
	Rules int `json:"rules"`
	// MatchBy is what the rules look at: "Address" (the source) or "Port" (UDP's destination).
	MatchBy string `json:"matchBy"`
	// MatchPosition is the position of the rule that the traffic matches: "First",
	// "Middle", "Last", or "None" where there is no such rule.
	MatchPosition string `json:"matchPosition"`
	// Lookup is "List" (the other rules, one after the other), "Set" (they are the
	// elements of a set, and one rule looks a packet up there) or "Map" (of a
	// verdict map, with backend nftables).
	Lookup string `json:"lookup"`
	// Verdict of the rule that the traffic matches: "Accept" or "Drop".
	Verdict string `json:"verdict"`
	// DefaultPolicy is the verdict on packets that no rule matches.
	DefaultPolicy string `json:"defaultPolicy"`
	// TrafficPorts are the traffic's UDP destination ports. With matchBy Port
	// the match rule covers them, and no other rule touches them.
	TrafficPorts PortRange `json:"trafficPorts,omitzero"`
	// TrackedFlows is how many flows connection tracking has to hold; with mode
	// Stateful the kernel must have room for them.
	TrackedFlows int `json:"trackedFlows,omitempty"`
}

// FirewallState is the state of a firewall's rules.
type FirewallState struct {
	// Implementation is the part of the kernel that holds the rules:
	// "nf_tables", "x_tables", or "none" with mode None.
	Implementation string `json:"implementation"`
	// Rules is how many rules the kernel holds for each IP version, including the
	// match rule, counted at loading. Rules around the sequence do not count.
	Rules int32 `json:"rules"`
	// Elements is how many elements of the set or map the kernel holds for each IP
	// version, counted at loading.
	Elements int32 `json:"elements,omitempty"`
	// LoadMilliseconds is how long it took to load them.
	LoadMilliseconds int64 `json:"loadMilliseconds"`
}

// Counters of a firewall, both IP versions together.
const (
	// CounterEnteredPackets reached the first rule.
	CounterEnteredPackets = "enteredPackets"
	// CounterMatchedPackets and CounterMatchedBytes reached the match rule and matched it.
	CounterMatchedPackets = "matchedPackets"
	CounterMatchedBytes   = "matchedBytes"
	// CounterUnmatchedPackets passed all rules and reached the policy.
	CounterUnmatchedPackets = "unmatchedPackets"
	// CounterEstablishedPackets, CounterKnownFlowPackets and CounterInvalidPackets did
	// not reach the rules, because connection tracking knew about them.
	CounterEstablishedPackets = "establishedPackets"
	CounterKnownFlowPackets   = "knownFlowPackets"
	CounterInvalidPackets     = "invalidPackets"
)

// PortRange is UDP ports, both ends included.
type PortRange struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// FirewallRule is one rule in the sequence, or one element of a set. It matches
// the source address, or else the destination port.
type FirewallRule struct {
	Source netip.Prefix
	Ports  PortRange
	Accept bool
	// Match reports whether this is the rule that the traffic matches.
	Match bool
	// Lookup reports whether this is the rule that matches all elements of the set
	// or map; it has neither a source nor ports itself.
	Lookup bool
}

// Addresses of the rules that match no traffic, from RFC 1918 and RFC 3849.
// Traffic is always from the ranges reserved for benchmarks.
var (
	strangersIPv4 = netip.MustParseAddr("10.0.0.1")
	strangersIPv6 = netip.MustParseAddr("2001:db8::1")
)

// needs lists the kernel's parts that a firewall needs: x_tables does not answer
// before it is loaded, and nothing requests br_netfilter.
func (f *Firewall) needs() Needs {
	needs := Needs{Bridge: f.Forwarding == ForwardingBridged}
	if !f.Filtered() || f.Backend != BackendIptables {
		return needs
	}
	needs.Modules = []string{"ip_tables", "ip6_tables"}
	if f.LooksUp() {
		needs.Modules = append(needs.Modules, f.SetModules()...)
	}
	if needs.BridgeNetfilter = needs.Bridge; needs.Bridge {
		needs.Modules = append(needs.Modules, "br_netfilter")
	}
	return needs
}

// SetModules lists the modules of the kernel that an ipset and a rule with it need.
func (f *Firewall) SetModules() []string {
	kind := "ip_set_hash_ip"
	if f.MatchBy == MatchByPort {
		kind = "ip_set_bitmap_port"
	}
	return []string{"ip_set", kind, "xt_set"}
}

// Filtered reports whether there is a filter at all.
func (f *Firewall) Filtered() bool { return f.Mode != ModeNone }

// LooksUp reports whether one rule with a lookup replaces the rules that do not
// match the traffic. Without such rules there is no set.
func (f *Firewall) LooksUp() bool {
	return f.Filtered() && f.Rules > 0 && (f.Lookup == LookupSet || f.Lookup == LookupMap)
}

// Walk returns the rules in their order, for one IP version.
func (f *Firewall) Walk(ipv6 bool) []FirewallRule {
	if !f.Filtered() {
		return nil
	}
	rules := []FirewallRule{{Lookup: true}}
	if !f.LooksUp() {
		rules = f.others(ipv6)
	}
	match := FirewallRule{Accept: f.Verdict == VerdictAccept, Match: true}
	switch {
	case f.MatchBy == MatchByPort:
		match.Ports = f.TrafficPorts
	case ipv6:
		match.Source = benchmarkIPv6
	default:
		match.Source = benchmarkIPv4
	}
	switch f.MatchPosition {
	case PositionFirst:
		return slices.Insert(rules, 0, match)
	case PositionMiddle:
		return slices.Insert(rules, f.Rules/2, match)
	case PositionLast:
		return append(rules, match)
	}
	return rules
}

// Elements returns what the set or map has for one IP version; nil without one.
func (f *Firewall) Elements(ipv6 bool) []FirewallRule {
	if !f.LooksUp() {
		return nil
	}
	return f.others(ipv6)
}

// others returns the rules that do not match the traffic.
func (f *Firewall) others(ipv6 bool) []FirewallRule {
	rules := make([]FirewallRule, 0, f.Rules+1)
	stranger := strangersIPv4
	if ipv6 {
		stranger = strangersIPv6
	}
	ports := f.otherPorts()
	for i := range f.Rules {
		rule := FirewallRule{}
		if f.MatchBy == MatchByPort {
			port := ports[i%len(ports)]
			rule.Ports = PortRange{port, port}
		} else {
			rule.Source = netip.PrefixFrom(stranger, stranger.BitLen())
			stranger = stranger.Next()
		}
		rules = append(rules, rule)
	}
	return rules
}

// otherPorts returns the ports that the traffic does not use. If there are more
// rules than ports, they repeat; each rule is still evaluated.
func (f *Firewall) otherPorts() []uint16 {
	var ports []uint16
	for port := 1; port <= maxPort; port++ {
		if port < int(f.TrafficPorts.First) || port > int(f.TrafficPorts.Last) {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}

func (f *Firewall) validate(*Config) error {
	for _, err := range []error{
		oneOf("backend", f.Backend, BackendNftables, BackendIptables),
		oneOf("mode", f.Mode, ModeNone, ModeStateful, ModeStateless),
		oneOf("forwarding", f.Forwarding, ForwardingRouted, ForwardingBridged),
		oneOf("matchBy", f.MatchBy, MatchByAddress, MatchByPort),
		oneOf("matchPosition", f.MatchPosition, PositionFirst, PositionMiddle, PositionLast, PositionNone),
		oneOf("lookup", f.Lookup, LookupList, LookupSet, LookupMap),
		oneOf("verdict", f.Verdict, VerdictAccept, VerdictDrop),
		oneOf("defaultPolicy", f.DefaultPolicy, VerdictAccept, VerdictDrop),
	} {
		if err != nil {
			return err
		}
	}
	if f.Rules < 0 || f.Rules > MaximumRules {
		return fmt.Errorf("rules: %d is not between 0 and %d", f.Rules, MaximumRules)
	}
	if f.Mode == ModeNone && f.Rules > 0 {
		return fmt.Errorf("rules: mode None has no rules, but %d are given: set them to 0, or the mode to Stateful or Stateless", f.Rules)
	}
	if f.TrackedFlows < 0 {
		return fmt.Errorf("trackedFlows: %d is negative", f.TrackedFlows)
	}
	if f.MatchBy == MatchByPort {
		if f.TrafficPorts.First == 0 || f.TrafficPorts.Last < f.TrafficPorts.First {
			return fmt.Errorf("trafficPorts: %d to %d is not a range of ports, and matchBy Port needs one", f.TrafficPorts.First, f.TrafficPorts.Last)
		}
		if f.TrafficPorts.First == 1 && f.TrafficPorts.Last == maxPort && f.Rules > 0 {
			return errors.New("trafficPorts: the traffic takes every port, so no rule can look at another")
		}
	}
	return f.validateLookup()
}

// validateLookup checks that the rules fit into one set or map.
func (f *Firewall) validateLookup() error {
	if f.Lookup == LookupList {
		return nil
	}
	if f.Lookup == LookupMap && f.Backend == BackendIptables {
		return errors.New("lookup: iptables has no verdict map: set lookup to Set, or backend to nftables")
	}
	if f.MatchPosition == PositionMiddle {
		return fmt.Errorf("matchPosition: lookup %s has no middle: set matchPosition to First or Last, or lookup to List", f.Lookup)
	}
	if f.MatchBy == MatchByPort {
		if free := len(f.otherPorts()); f.Rules > free {
			return fmt.Errorf("rules: a set has each port once, and the traffic leaves %d of them, but %d are asked for: lower rules, set matchBy to Address, or lookup to List", free, f.Rules)
		}
	}
	return nil
}
