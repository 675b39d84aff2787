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
// +kubebuilder:validation:XValidation:rule="self.mode != 'None' || self.rules == 0",message="mode None has no rules: leave rules out, or set mode to Stateful or Stateless",fieldPath=".rules"
// +kubebuilder:validation:XValidation:rule="self.verdict == 'Accept'",message="verdict Drop loses every frame, and a run measures frames that arrive: use Accept",fieldPath=".verdict"
// +kubebuilder:validation:XValidation:rule="self.mode == 'None' || self.matchPosition != 'None' || self.defaultPolicy == 'Accept'",message="with matchPosition None the default policy applies to the traffic, and Drop loses every frame: set defaultPolicy to Accept",fieldPath=".defaultPolicy"
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

	// forwarding is Routed, or Bridged: both ports in one bridge, without addresses (a
	// transparent firewall). Default Routed.
	// +optional
	// +kubebuilder:default=Routed
	Forwarding FirewallForwarding `json:"forwarding,omitempty"`

	// rules is the number of rules in addition to the one that the traffic matches. None of
	// them matches the traffic. Default 0; with mode None it must be 0.
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

	// matchPosition is the place of the rule that the traffic matches, or None where there is
	// no such rule. Default Last.
	// +optional
	// +kubebuilder:default=Last
	MatchPosition MatchPosition `json:"matchPosition,omitempty"`

	// verdict of the rule that the traffic matches. Default Accept, the only one with which
	// frames arrive and can be measured.
	// +optional
	// +kubebuilder:default=Accept
	Verdict RuleVerdict `json:"verdict,omitempty"`

	// defaultPolicy is the verdict on packets that no rule matches. Default Drop;
	// matchPosition None needs Accept.
	// +optional
	// +kubebuilder:default=Drop
	DefaultPolicy RuleVerdict `json:"defaultPolicy,omitempty"`
}

// FirewallReport is what holds a firewall's rules.
type FirewallReport struct {
	// implementation is the part of the kernel that holds the rules: nf_tables,
	// x_tables, or none with mode None. Absent: not reported.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Implementation string `json:"implementation,omitempty"`

	// rules that the kernel holds for each IP version, with the one that the traffic matches,
	// counted in the kernel after they were loaded.
	// +required
	// +kubebuilder:validation:Minimum=0
	Rules int32 `json:"rules"`

	// loadMilliseconds is how long it took to load them.
	// +required
	// +kubebuilder:validation:Minimum=0
	LoadMilliseconds int64 `json:"loadMilliseconds"`
}

// Summary describes the rules in a few words.
func (r *FirewallReport) Summary() string {
	switch r.Rules {
	case 0:
		return "no rules"
	case 1:
		return fmt.Sprintf("%s, 1 rule loaded in %d ms", r.Implementation, r.LoadMilliseconds)
	default:
		return fmt.Sprintf("%s, %d rules loaded in %d ms", r.Implementation, r.Rules, r.LoadMilliseconds)
	}
}
