package vnf_test

import (
	"slices"
	"testing"

	"vnfbench.io/operator/internal/vnf"
)

// TestModules checks that modules that the kernel does not load on demand are loaded only
// for functions that need them.
func TestModules(t *testing.T) {
	firewall := func(backend, mode, forwarding string) *vnf.Config {
		return &vnf.Config{Function: vnf.FunctionFirewall, Settings: vnf.Settings{Firewall: &vnf.Firewall{Backend: backend, Mode: mode, Forwarding: forwarding}}}
	}
	set := func(matchBy, forwarding string, rules int) *vnf.Config {
		config := firewall(vnf.BackendIptables, vnf.ModeStateless, forwarding)
		config.Firewall.Lookup, config.Firewall.MatchBy, config.Firewall.Rules = vnf.LookupSet, matchBy, rules
		return config
	}
	gateway := func(protocol, implementation string) *vnf.Config {
		return &vnf.Config{Function: vnf.FunctionEncryptionGateway, Settings: vnf.Settings{Gateway: &vnf.Gateway{Protocol: protocol, Implementation: implementation}}}
	}
	for name, tc := range map[string]struct {
		config *vnf.Config
		want   []string
	}{
		"router":             {&vnf.Config{Function: vnf.FunctionRouter}, nil},
		"nftables":           {firewall(vnf.BackendNftables, vnf.ModeStateless, vnf.ForwardingBridged), nil},
		"iptables":           {firewall(vnf.BackendIptables, vnf.ModeStateful, vnf.ForwardingRouted), []string{"ip_tables", "ip6_tables"}},
		"iptables, bridged":  {firewall(vnf.BackendIptables, vnf.ModeStateless, vnf.ForwardingBridged), []string{"ip_tables", "ip6_tables", "br_netfilter"}},
		"iptables, no rules": {firewall(vnf.BackendIptables, vnf.ModeNone, vnf.ForwardingRouted), nil},
		"ipset":              {set(vnf.MatchByAddress, vnf.ForwardingRouted, 10), []string{"ip_tables", "ip6_tables", "ip_set", "ip_set_hash_ip", "xt_set"}},
		"ipset, bridged":     {set(vnf.MatchByPort, vnf.ForwardingBridged, 10), []string{"ip_tables", "ip6_tables", "ip_set", "ip_set_bitmap_port", "xt_set", "br_netfilter"}},
		"ipset of no rules":  {set(vnf.MatchByPort, vnf.ForwardingRouted, 0), []string{"ip_tables", "ip6_tables"}},
		"IPsec":              {gateway(vnf.ProtocolIPsec, vnf.ImplementationKernel), nil},
		"WireGuard":          {gateway(vnf.ProtocolWireGuard, vnf.ImplementationAuto), []string{"tun"}},
		"kernel's WireGuard": {gateway(vnf.ProtocolWireGuard, vnf.ImplementationKernel), nil},
	} {
		if got := tc.config.Needs().Modules; !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
