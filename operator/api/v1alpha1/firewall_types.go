package v1alpha1

import "fmt"

// FirewallBackend is what holds the rules.
// +kubebuilder:validation:Enum=nftables;iptables
type FirewallBackend string

const (
	// BackendNftables is the kernel's nf_tables.
	BackendNftables FirewallBackend = "nftables"
	// BackendIptables is the kernel's x_tables, what iptables-legacy uses.
	BackendIptables FirewallBackend = "iptables"
)

// FirewallMode is how packets are checked against the rules.
// +kubebuilder:validation:Enum=None;Stateful;Stateless
type FirewallMode string

const (
	// FirewallNone has no filter.
	FirewallNone FirewallMode = "None"
	// FirewallStateful accepts packets of known flows before the rules.
	FirewallStateful FirewallMode = "Stateful"
	// FirewallStateless checks every packet against the rules, without connection tracking.
	FirewallStateless FirewallMode = "Stateless"
)

// FirewallForwarding is the layer that a firewall forwards on.
// +kubebuilder:validation:Enum=Routed;Bridged
type FirewallForwarding string

const (
	// ForwardingRouted forwards by routes, as a router does.
	ForwardingRouted FirewallForwarding = "Routed"
	// ForwardingBridged joins both ports in a bridge; the firewall has no address.
	ForwardingBridged FirewallForwarding = "Bridged"
)

// RuleMatch is what a firewall's rules look at.
// +kubebuilder:validation:Enum=Address;Port
type RuleMatch string

const (
	// RuleMatchAddress looks at the source address.
	RuleMatchAddress RuleMatch = "Address"
	// RuleMatchPort looks at UDP's destination port.
	RuleMatchPort RuleMatch = "Port"
)

// MatchPosition is the place of the rule that the traffic matches.
// +kubebuilder:validation:Enum=First;Middle;Last;None
type MatchPosition string

const (
	// MatchFirst is before all others.
	MatchFirst MatchPosition = "First"
	// MatchMiddle has half of the others before it.
	MatchMiddle MatchPosition = "Middle"
	// MatchLast is after all others.
	MatchLast MatchPosition = "Last"
	// MatchNone is nowhere: the default policy applies to the traffic.
	MatchNone MatchPosition = "None"
)

// RuleLookup is how a packet is compared with the rules that the traffic does not match.
// +kubebuilder:validation:Enum=List;Set;Map
type RuleLookup string

const (
	// LookupList compares it with one rule after the other.
	LookupList RuleLookup = "List"
	// LookupSet looks it up in a set of nf_tables, or in an ipset, with one rule.
	LookupSet RuleLookup = "Set"
	// LookupMap looks its verdict up in a verdict map of nf_tables, with one rule.
	LookupMap RuleLookup = "Map"
)

// RuleVerdict is what a firewall does with a packet.
// +kubebuilder:validation:Enum=Accept;Drop
type RuleVerdict string

const (
	// VerdictAccept forwards the packet.
	VerdictAccept RuleVerdict = "Accept"
	// VerdictDrop discards it without an answer.
	VerdictDrop RuleVerdict = "Drop"
)

// Firewall sets a firewall's rules. They are the same in both directions and for both IP
// versions; a packet is checked against those of its IP version.
// +kubebuilder:validation:XValidation:rule="self.mode != 'None' || self.rules == 0",message="mode None has no rules: leave rules out, or change mode",fieldPath=".rules"
// +kubebuilder:validation:XValidation:rule="self.verdict == 'Accept'",message="verdict Drop loses every frame: use Accept",fieldPath=".verdict"
// +kubebuilder:validation:XValidation:rule="self.lookup != 'Map' || self.backend != 'iptables'",message="iptables has no map: set lookup to Set, or backend to nftables",fieldPath=".lookup"
// +kubebuilder:validation:XValidation:rule="self.lookup == 'List' || self.matchPosition != 'Middle'",message="a set has no middle: set matchPosition to First or Last",fieldPath=".matchPosition"
// +kubebuilder:validation:XValidation:rule="self.lookup == 'List' || self.matchBy != 'Port' || self.rules != 65535",message="a set has each port once: set rules to at most 65534, or matchBy to Address",fieldPath=".rules"
// +kubebuilder:validation:XValidation:rule="self.mode == 'None' || self.matchPosition != 'None' || self.defaultPolicy == 'Accept'",message="with matchPosition None, policy Drop loses every frame: set defaultPolicy to Accept",fieldPath=".defaultPolicy"
type Firewall struct {
	// backend is nftables (the kernel's nf_tables) or iptables (iptables-legacy, the kernel's
	// x_tables). Default nftables.
	// +optional
	// +kubebuilder:default=nftables
	Backend FirewallBackend `json:"backend,omitempty"`

	// mode is None (no filter), Stateful (packets of a known flow are accepted before the rules) or
	// Stateless (every packet is checked against the rules). Default Stateful.
	// +optional
	// +kubebuilder:default=Stateful
	Mode FirewallMode `json:"mode,omitempty"`

	// forwarding is Routed, or Bridged: both ports in one bridge, without addresses.
	// Default Routed.
	// +optional
	// +kubebuilder:default=Routed
	Forwarding FirewallForwarding `json:"forwarding,omitempty"`

	// rules is the number of rules in addition to the one that the traffic matches. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Rules int32 `json:"rules,omitempty"`

	// matchBy is what the rules look at: Address (the source address) or Port
	// (the destination port of UDP). Default Address.
	// +optional
	// +kubebuilder:default=Address
	MatchBy RuleMatch `json:"matchBy,omitempty"`

	// matchPosition is the place of the rule that the traffic matches, or None without
	// one. Default Last.
	// +optional
	// +kubebuilder:default=Last
	MatchPosition MatchPosition `json:"matchPosition,omitempty"`

	// lookup is List (one rule after the other), Set (one rule with a set or ipset of the others) or
	// Map (with a verdict map of nftables). Default List.
	// +optional
	// +kubebuilder:default=List
	Lookup RuleLookup `json:"lookup,omitempty"`

	// verdict of the rule that the traffic matches. Default Accept.
	// +optional
	// +kubebuilder:default=Accept
	Verdict RuleVerdict `json:"verdict,omitempty"`

	// defaultPolicy is the verdict on packets that no rule matches. Default Drop.
	// +optional
	// +kubebuilder:default=Drop
	DefaultPolicy RuleVerdict `json:"defaultPolicy,omitempty"`
}

// FirewallReport is what holds a firewall's rules.
type FirewallReport struct {
	// implementation is the part of the kernel that holds the rules: nf_tables,
	// x_tables, or none. Absent: not reported.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Implementation string `json:"implementation,omitempty"`

	// rules that the kernel holds for each IP version, the match rule among them, counted after
	// loading.
	// +required
	// +kubebuilder:validation:Minimum=0
	Rules int32 `json:"rules"`

	// elements of the set or map, counted like rules. Absent: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Elements int32 `json:"elements,omitempty"`

	// loadMilliseconds is how long it took to load them.
	// +required
	// +kubebuilder:validation:Minimum=0
	LoadMilliseconds int64 `json:"loadMilliseconds"`
}

// Summary describes the rules in a few words.
func (r *FirewallReport) Summary() string {
	if r.Rules == 0 {
		return "no rules"
	}
	held := number(r.Rules, "rule")
	if r.Elements > 0 {
		held += " and " + number(r.Elements, "element")
	}
	return fmt.Sprintf("%s, %s loaded in %d ms", r.Implementation, held, r.LoadMilliseconds)
}

// number writes how many there are of something.
func number(n int32, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
