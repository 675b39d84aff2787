//go:build linux

package kernel_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/filter"
	"vnfbench.io/operator/internal/vnf/kernel"
)

// absence is how long a test waits for a packet that must not arrive.
const absence = 300 * time.Millisecond

// newFirewall returns a chain of one firewall, with the test's changes.
func newFirewall(t *testing.T, change func(*vnf.Firewall)) (*chain, *kernel.Function) {
	t.Helper()
	c := newChain(t, 1)
	config := c.configs[0]
	config.Function = vnf.FunctionFirewall
	config.Firewall = &vnf.Firewall{
		Backend: vnf.BackendNftables, Mode: vnf.ModeStateless, Forwarding: vnf.ForwardingRouted,
		MatchBy: vnf.MatchByAddress, MatchPosition: vnf.PositionLast, Lookup: vnf.LookupList,
		Verdict: vnf.VerdictAccept, DefaultPolicy: vnf.VerdictDrop,
	}
	change(config.Firewall)
	if config.Bridged() {
		config.Routes, config.Neighbors = nil, nil
		for i := range config.Ports {
			config.Ports[i].Addresses = nil
		}
	}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	function := c.function(0)
	c.namespaces[0].Must(t, function.Apply)
	// A bridge starts to use its ports a moment after they have a carrier.
	deadline := time.Now().Add(arrival)
	for err := c.namespaces[0].Run(function.Check); err != nil; err = c.namespaces[0].Run(function.Check) {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return c, function
}

// next returns the hardware address to which the western machine sends.
func (c *chain) next() string {
	if c.configs[0].Bridged() {
		return eastMAC(1)
	}
	return eastMAC(0)
}

// pass sends packets from west to east in each IP version, and returns how many arrived.
func (c *chain) pass(t *testing.T, packets int, source, destination uint16) (came int) {
	t.Helper()
	west, east := c.west.Open(t, "east"), c.east.Open(t, "west")
	for _, address := range []func(segment, host int) netip.Prefix{address4, address6} {
		for range packets {
			west.Send(t, netnstest.Packet{
				SourceMAC: westMAC(0), DestinationMAC: c.next(),
				Source:      netip.AddrPortFrom(address(0, 1).Addr(), source),
				Destination: netip.AddrPortFrom(address(1, 2).Addr(), destination),
				Payload:     "walk",
			})
			within := arrival
			if f := c.configs[0].Firewall; came == 0 && (f.Verdict == vnf.VerdictDrop || f.MatchPosition == vnf.PositionNone) {
				within = absence
			}
			if _, _, ok := east.Receive(t, within); ok {
				came++
			}
		}
	}
	return came
}

// firewallStatus returns the rules that the kernel holds, their counters other
// than 0, and the number of flows in connection tracking.
func (c *chain) firewallStatus(t *testing.T, function *kernel.Function) (state vnf.FirewallState, counted map[string]int64, flows int) {
	t.Helper()
	var status vnf.FunctionStatus
	c.namespaces[0].Must(t, func() error {
		status = function.Status()
		text, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_count")
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		_, err = fmt.Sscan(string(text), &flows)
		return err
	})
	if status.CountersProblem != "" {
		t.Fatal(status.CountersProblem)
	}
	counted = map[string]int64{}
	for name, value := range status.Counters {
		if value != 0 {
			counted[name] = value
		}
	}
	return *status.Firewall, counted, flows
}

var ignoreLoad = cmpopts.IgnoreFields(vnf.FirewallState{}, "LoadMilliseconds")

// TestFirewallWalk checks by counters which rules packets reached, in both backends.
func TestFirewallWalk(t *testing.T) {
	const packets = 3
	walked := map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterMatchedPackets: 6, vnf.CounterMatchedBytes: 3*32 + 3*52}
	cases := map[string]struct {
		change   func(*vnf.Firewall)
		rules    int32
		elements int32
		want     map[string]int64
		// flows are in connection tracking afterwards.
		flows int
		came  int
	}{
		"1000 rules, the last matches": {
			change: func(f *vnf.Firewall) { f.Rules = 1000 },
			rules:  1001, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterMatchedPackets: 6, vnf.CounterMatchedBytes: 3*32 + 3*52},
			came: 6,
		},
		"20000 rules, the last matches": {
			change: func(f *vnf.Firewall) { f.Rules = 20_000 },
			rules:  20_001, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterMatchedPackets: 6, vnf.CounterMatchedBytes: 3*32 + 3*52},
			came: 6,
		},
		"the middle one matches by port": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.MatchPosition, f.MatchBy, f.TrafficPorts = 100, vnf.PositionMiddle, vnf.MatchByPort, vnf.PortRange{First: 7, Last: 9}
			},
			rules: 101, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterMatchedPackets: 6, vnf.CounterMatchedBytes: 3*32 + 3*52},
			came: 6,
		},
		"the first matches one port": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.MatchPosition, f.MatchBy, f.TrafficPorts = 100, vnf.PositionFirst, vnf.MatchByPort, vnf.PortRange{First: 9, Last: 9}
			},
			rules: 101, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterMatchedPackets: 6, vnf.CounterMatchedBytes: 3*32 + 3*52},
			came: 6,
		},
		"the match drops": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.Verdict, f.DefaultPolicy = 10, vnf.VerdictDrop, vnf.VerdictAccept
			},
			rules: 11, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterMatchedPackets: 6, vnf.CounterMatchedBytes: 3*32 + 3*52},
		},
		"nothing matches, the policy accepts": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.MatchPosition, f.DefaultPolicy = 10, vnf.PositionNone, vnf.VerdictAccept
			},
			rules: 10, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterUnmatchedPackets: 6},
			came: 6,
		},
		"nothing matches, the policy drops": {
			change: func(f *vnf.Firewall) { f.Rules, f.MatchPosition = 10, vnf.PositionNone },
			rules:  10, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterUnmatchedPackets: 6},
		},
		// Only the first packet of a flow reaches the rules, although no machine answers it.
		"stateful": {
			change: func(f *vnf.Firewall) { f.Rules, f.Mode, f.TrackedFlows = 1000, vnf.ModeStateful, 2 },
			rules:  1001, flows: 2, want: map[string]int64{vnf.CounterEnteredPackets: 2, vnf.CounterMatchedPackets: 2, vnf.CounterMatchedBytes: 32 + 52, vnf.CounterKnownFlowPackets: 4},
			came: 6,
		},
		"no filter": {
			change: func(f *vnf.Firewall) { f.Mode = vnf.ModeNone },
			came:   6,
		},
		"a set of 1000, the last matches": {
			change: func(f *vnf.Firewall) { f.Rules, f.Lookup = 1000, vnf.LookupSet },
			rules:  2, elements: 1000, want: walked, came: 6,
		},
		"a set of every rule": {
			change: func(f *vnf.Firewall) { f.Rules, f.Lookup = vnf.MaximumRules, vnf.LookupSet },
			rules:  2, elements: vnf.MaximumRules, want: walked, came: 6,
		},
		// The kernel takes time for the square of the ports: it looks for each one in a list first.
		"a set of ports, the first matches": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.Lookup, f.MatchPosition, f.MatchBy, f.TrafficPorts = 5000, vnf.LookupSet, vnf.PositionFirst, vnf.MatchByPort, vnf.PortRange{First: 7, Last: 9}
			},
			rules: 2, elements: 5000, want: walked, came: 6,
		},
		"a set, and the policy accepts": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.Lookup, f.MatchPosition, f.DefaultPolicy = 501, vnf.LookupSet, vnf.PositionNone, vnf.VerdictAccept
			},
			rules: 1, elements: 501, want: map[string]int64{vnf.CounterEnteredPackets: 6, vnf.CounterUnmatchedPackets: 6}, came: 6,
		},
		"a set, stateful": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.Lookup, f.Mode, f.TrackedFlows = 1000, vnf.LookupSet, vnf.ModeStateful, 2
			},
			rules: 2, elements: 1000, flows: 2, want: map[string]int64{vnf.CounterEnteredPackets: 2, vnf.CounterMatchedPackets: 2, vnf.CounterMatchedBytes: 32 + 52, vnf.CounterKnownFlowPackets: 4},
			came: 6,
		},
		"a set of no rules": {
			change: func(f *vnf.Firewall) { f.Lookup = vnf.LookupSet },
			rules:  1, want: walked, came: 6,
		},
		"a map of every rule": {
			change: func(f *vnf.Firewall) { f.Rules, f.Lookup = vnf.MaximumRules, vnf.LookupMap },
			rules:  2, elements: vnf.MaximumRules, want: walked, came: 6,
		},
		"a map of ports, stateful": {
			change: func(f *vnf.Firewall) {
				f.Rules, f.Lookup, f.MatchBy, f.TrafficPorts = 1000, vnf.LookupMap, vnf.MatchByPort, vnf.PortRange{First: 9, Last: 9}
				f.Mode, f.TrackedFlows = vnf.ModeStateful, 2
			},
			rules: 2, elements: 1000, flows: 2, want: map[string]int64{vnf.CounterEnteredPackets: 2, vnf.CounterMatchedPackets: 2, vnf.CounterMatchedBytes: 32 + 52, vnf.CounterKnownFlowPackets: 4},
			came: 6,
		},
	}
	for _, backend := range []string{vnf.BackendNftables, vnf.BackendIptables} {
		for _, forwarding := range []string{vnf.ForwardingRouted, vnf.ForwardingBridged} {
			for name, tc := range cases {
				if strings.HasPrefix(name, "a map") && backend == vnf.BackendIptables {
					continue // the API refuses it
				}
				t.Run(fmt.Sprintf("%s, %s, %s", backend, forwarding, name), func(t *testing.T) {
					c, function := newFirewallOrSkip(t, func(f *vnf.Firewall) {
						f.Backend, f.Forwarding = backend, forwarding
						tc.change(f)
					})
					if came := c.pass(t, packets, 1024, 9); came != tc.came {
						t.Errorf("%d packets came through, want %d", came, tc.came)
					}
					want := vnf.FirewallState{Rules: tc.rules, Elements: tc.elements, Implementation: map[string]string{
						vnf.BackendNftables: filter.ImplementationNFTables, vnf.BackendIptables: filter.ImplementationXTables,
					}[backend]}
					if c.configs[0].Firewall.Mode == vnf.ModeNone {
						want.Implementation = filter.ImplementationNone
					}
					state, counted, flows := c.firewallStatus(t, function)
					if diff := cmp.Diff(want, state, ignoreLoad); diff != "" {
						t.Errorf("state (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tc.want, counted, cmpopts.EquateEmpty()); diff != "" || flows != tc.flows {
						t.Errorf("%d tracked flows, want %d; counters (-want +got):\n%s", flows, tc.flows, diff)
					}
					t.Logf("loaded in %d ms", state.LoadMilliseconds)
				})
			}
		}
	}
}

// newFirewallOrSkip skips the test on a kernel of this age that lacks the one
// known part. The refusal must then name that part.
func newFirewallOrSkip(t *testing.T, change func(*vnf.Firewall)) (*chain, *kernel.Function) {
	t.Helper()
	f := vnf.Firewall{}
	change(&f)
	if f.Forwarding != vnf.ForwardingBridged || f.Backend != vnf.BackendNftables || f.Mode != vnf.ModeStateful {
		return newFirewall(t, change)
	}
	probe := newChain(t, 1)
	probe.configs[0].Firewall = &vnf.Firewall{
		Backend: vnf.BackendNftables, Mode: vnf.ModeStateful, Forwarding: vnf.ForwardingBridged, MatchBy: vnf.MatchByAddress,
		MatchPosition: vnf.PositionLast, Lookup: vnf.LookupList, Verdict: vnf.VerdictAccept, DefaultPolicy: vnf.VerdictDrop,
	}
	if err := probe.namespaces[0].Run(filter.New(probe.configs[0].Firewall, slog.New(slog.DiscardHandler)).Prepare); err != nil {
		if !strings.Contains(err.Error(), "modprobe nf_conntrack_bridge") {
			t.Fatalf("refused without naming what is missing: %v", err)
		}
		t.Skipf("this kernel lacks nf_conntrack_bridge, and says so: %v", err)
	}
	return newFirewall(t, change)
}

func TestFirewallNeedsRoomForFlows(t *testing.T) {
	c := newChain(t, 1)
	c.configs[0].Function = vnf.FunctionFirewall
	c.configs[0].Firewall = &vnf.Firewall{Backend: vnf.BackendNftables, Mode: vnf.ModeStateful, TrackedFlows: 1 << 40}
	err := c.namespaces[0].Run(c.function(0).Apply)
	if err == nil || !strings.Contains(err.Error(), "raise sysctl net.netfilter.nf_conntrack_max") {
		t.Errorf("got %v", err)
	}
}
