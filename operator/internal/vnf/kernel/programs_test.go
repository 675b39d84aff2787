//go:build linux

package kernel_test

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/vnf"
)

// TestFirewallAsItsOwnToolsSeeIt checks that independent tools read the tables as the
// intended rules.
func TestFirewallAsItsOwnToolsSeeIt(t *testing.T) {
	cases := map[string]struct {
		change  func(*vnf.Firewall)
		command []string
		want    []string
	}{
		"nftables": {
			change:  func(f *vnf.Firewall) { f.Rules, f.Mode = 2, vnf.ModeStateful },
			command: []string{"nft", "list", "table", "ip", "vnfbench"},
			want: []string{
				"ct state established,related counter name \"established4\" accept",
				"ct status confirmed counter name \"known4\" accept",
				"ct state invalid counter name \"invalid4\" drop",
				"ip saddr 10.0.0.1 drop", "ip saddr 10.0.0.2 drop",
				"ip saddr 198.18.0.0/15 counter name \"match4\" accept",
				"counter name \"unmatched4\" drop",
			},
		},
		"nftables without state": {
			change:  func(f *vnf.Firewall) {},
			command: []string{"nft", "list", "chain", "ip", "vnfbench", "untracked"},
			want:    []string{"type filter hook prerouting priority raw; policy accept;", "notrack"},
		},
		"nftables by port": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.MatchBy, f.TrafficPorts = 2, vnf.MatchByPort, vnf.PortRange{First: 1, Last: 7}
			},
			command: []string{"nft", "list", "table", "ip6", "vnfbench"},
			want:    []string{"udp dport 8 drop", "udp dport 9 drop", "udp dport 1-7 counter name \"match6\" accept"},
		},
		"iptables": {
			change: func(f *vnf.Firewall) {
				f.Backend, f.Rules, f.Mode = vnf.BackendIptables, 2, vnf.ModeStateful
			},
			command: []string{"iptables-legacy-save", "-t", "filter"},
			want: []string{
				":INPUT ACCEPT", ":FORWARD DROP", ":OUTPUT ACCEPT",
				"-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
				"-A FORWARD -m conntrack --ctstatus CONFIRMED -j ACCEPT",
				"-A FORWARD -m conntrack --ctstate INVALID -j DROP",
				"-A FORWARD\n",
				"-A FORWARD -s 10.0.0.1/32 -j DROP", "-A FORWARD -s 10.0.0.2/32 -j DROP",
				"-A FORWARD -s 198.18.0.0/15 -j ACCEPT",
				"-A FORWARD -j DROP",
			},
		},
		"iptables by port": {
			change: func(f *vnf.Firewall) {
				f.Backend, f.Rules, f.MatchBy, f.TrafficPorts = vnf.BackendIptables, 2, vnf.MatchByPort, vnf.PortRange{First: 1, Last: 7}
			},
			command: []string{"ip6tables-legacy-save"},
			want: []string{
				"-A FORWARD -p udp -m udp --dport 8 -j DROP", "-A FORWARD -p udp -m udp --dport 9 -j DROP",
				"-A FORWARD -p udp -m udp --dport 1:7 -j ACCEPT", "-A PREROUTING -j CT --notrack",
			},
		},
		"a set of nftables": {
			change:  func(f *vnf.Firewall) { f.Rules, f.Lookup = 2, vnf.LookupSet },
			command: []string{"nft", "list", "table", "ip", "vnfbench"},
			want: []string{
				"set others4 {", "type ipv4_addr", "size 2", "elements = { 10.0.0.1, 10.0.0.2 }",
				"ip saddr @others4 drop", "ip saddr 198.18.0.0/15 counter name \"match4\" accept",
			},
		},
		"a map of nftables, after the match": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.Lookup, f.MatchBy, f.TrafficPorts, f.MatchPosition = 2, vnf.LookupMap, vnf.MatchByPort, vnf.PortRange{First: 1, Last: 7}, vnf.PositionFirst
			},
			command: []string{"nft", "list", "table", "ip6", "vnfbench"},
			want: []string{
				"map others6 {", "type inet_service : verdict", "size 2", "elements = { 8 : drop, 9 : drop }",
				"udp dport 1-7 counter name \"match6\" accept", "udp dport vmap @others6",
			},
		},
		"ipset": {
			change: func(f *vnf.Firewall) {
				f.Backend, f.Rules, f.Lookup, f.Mode = vnf.BackendIptables, 2, vnf.LookupSet, vnf.ModeStateful
			},
			command: []string{"iptables-legacy-save", "-t", "filter"},
			want: []string{
				"-A FORWARD -m conntrack --ctstate INVALID -j DROP", "-A FORWARD\n",
				"-A FORWARD -m set --match-set vnfbench4 src -j DROP", "-A FORWARD -s 198.18.0.0/15 -j ACCEPT", "-A FORWARD -j DROP",
			},
		},
		"ipset by port": {
			change: func(f *vnf.Firewall) {
				f.Backend, f.Rules, f.Lookup, f.MatchBy, f.TrafficPorts = vnf.BackendIptables, 2, vnf.LookupSet, vnf.MatchByPort, vnf.PortRange{First: 1, Last: 7}
			},
			command: []string{"ip6tables-legacy-save", "-t", "filter"},
			want: []string{
				"-A FORWARD -p udp -m set --match-set vnfbench6 dst -j DROP", "-A FORWARD -p udp -m udp --dport 1:7 -j ACCEPT",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := newFirewall(t, tc.change)
			var output []byte
			c.namespaces[0].Must(t, func() (err error) {
				output, err = exec.Command(tc.command[0], tc.command[1:]...).CombinedOutput()
				return err
			})
			rest := string(output)
			for _, want := range tc.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("no %q, in this order, in\n%s", want, output)
				}
				rest = after
			}
		})
	}
}

// TestFirewallCheck checks that the function notices when another program changes its rules, or their set.
func TestFirewallCheck(t *testing.T) {
	program := func(command ...string) func() error {
		return func() error { return exec.Command(command[0], command[1:]...).Run() }
	}
	for name, tc := range map[string]struct {
		backend, lookup string
		change          func() error
	}{
		"nftables":          {vnf.BackendNftables, vnf.LookupList, program("nft", "delete", "table", "ip", "vnfbench")},
		"iptables":          {vnf.BackendIptables, vnf.LookupList, program("iptables-legacy", "-D", "FORWARD", "-s", "10.0.0.2", "-j", "DROP")},
		"a set of nftables": {vnf.BackendNftables, vnf.LookupSet, program("nft", "delete", "element", "ip6", "vnfbench", "others6", "{ 2001:db8::2 }")},
		"ipset": {vnf.BackendIptables, vnf.LookupSet, func() error {
			return netlink.IpsetDel("vnfbench6", &netlink.IPSetEntry{IP: net.ParseIP("2001:db8::2")})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, function := newFirewall(t, func(f *vnf.Firewall) { f.Backend, f.Lookup, f.Rules = tc.backend, tc.lookup, 10 })
			c.namespaces[0].Must(t, tc.change)
			err := c.namespaces[0].Run(function.Check)
			if err == nil || !strings.Contains(err.Error(), "the firewall's rules were changed by another process") {
				t.Errorf("got %v", err)
			}
			// A restarted container restores them.
			again := c.function(0)
			c.namespaces[0].Must(t, again.Apply)
			c.namespaces[0].Must(t, again.Check)
			if came := c.pass(t, 1, 1024, 9); came != 2 {
				t.Errorf("%d packets came through, want 2", came)
			}
		})
	}
}
