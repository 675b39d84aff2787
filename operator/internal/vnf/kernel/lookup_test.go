//go:build linux

package kernel_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
)

// TestFirewallLookup checks that the elements of a set or map are dropped, the first and the last one, and
// that others are not: they reach the policy, or the match rule.
func TestFirewallLookup(t *testing.T) {
	const rules = 600
	type traffic struct {
		source [2]string
		port   uint16
	}
	benchmark := [2]string{"198.18.0.1", "2001:2::1"}
	for matchBy, tc := range map[string]struct{ dropped, passed []traffic }{
		vnf.MatchByAddress: {
			dropped: []traffic{{[2]string{"10.0.0.1", "2001:db8::1"}, 9}, {[2]string{"10.0.2.88", "2001:db8::258"}, 9}},
			passed:  []traffic{{[2]string{"10.0.2.89", "2001:db8::259"}, 9}, {benchmark, 9}},
		},
		// The traffic has ports 7 to 9, so the last of 600 others is 603.
		vnf.MatchByPort: {
			dropped: []traffic{{benchmark, 1}, {benchmark, 603}},
			passed:  []traffic{{benchmark, 604}, {benchmark, 9}},
		},
	} {
		for _, of := range [][2]string{
			{vnf.BackendNftables, vnf.LookupSet}, {vnf.BackendNftables, vnf.LookupMap}, {vnf.BackendIptables, vnf.LookupSet},
		} {
			for _, forwarding := range []string{vnf.ForwardingRouted, vnf.ForwardingBridged} {
				t.Run(strings.Join(append(of[:], matchBy, forwarding), ", "), func(t *testing.T) {
					c, function := newFirewall(t, func(f *vnf.Firewall) {
						f.Backend, f.Lookup, f.Forwarding, f.MatchBy, f.Rules, f.DefaultPolicy = of[0], of[1], forwarding, matchBy, rules, vnf.VerdictAccept
						if matchBy == vnf.MatchByPort {
							f.TrafficPorts = vnf.PortRange{First: 7, Last: 9}
						}
					})
					west, east := c.west.Open(t, "east"), c.east.Open(t, "west")
					for _, packets := range [][]traffic{tc.dropped, tc.passed} {
						for i, p := range packets {
							for version, address := range []netip.Prefix{address4(1, 2), address6(1, 2)} {
								west.Send(t, netnstest.Packet{
									SourceMAC: westMAC(0), DestinationMAC: c.next(),
									Source:      netip.AddrPortFrom(netip.MustParseAddr(p.source[version]), 1024),
									Destination: netip.AddrPortFrom(address.Addr(), p.port),
									Payload:     fmt.Sprintf("packet %d", i),
								})
							}
						}
					}
					// Packets keep their order, so one that should have been dropped would come first.
					for i, p := range tc.passed {
						for _, source := range p.source {
							got, _, ok := east.Receive(t, arrival)
							if !ok || got.Source.Addr() != netip.MustParseAddr(source) || got.Destination.Port() != p.port || got.Payload != fmt.Sprintf("packet %d", i) {
								t.Fatalf("got %+v, %t, want a packet of %s to port %d", got, ok, source, p.port)
							}
						}
					}
					want := map[string]int64{vnf.CounterEnteredPackets: 8, vnf.CounterUnmatchedPackets: 2, vnf.CounterMatchedPackets: 2, vnf.CounterMatchedBytes: 36 + 56}
					if _, counted, _ := c.firewallStatus(t, function); !cmp.Equal(want, counted) {
						t.Errorf("counters (-want +got):\n%s", cmp.Diff(want, counted))
					}
				})
			}
		}
	}
}
