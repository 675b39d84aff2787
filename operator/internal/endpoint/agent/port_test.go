//go:build linux

package agent

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/testing/netnstest"
)

// TestOffloads checks that each offload has its own name in the result while it is on, and no longer when
// it is off.
func TestOffloads(t *testing.T) {
	namespace := netnstest.New(t, "offloads")
	namespace.Must(t, func() error {
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "east"}, PeerName: "peer"})
	})
	port := Port{Config: &endpoint.Config{Interface: "east"}}
	for name, set := range map[string]map[string]bool{
		"TSO": {"tx-tcp-segmentation": true, "tx-tcp6-segmentation": false, "tx-tcp-ecn-segmentation": false, "tx-tcp-mangleid-segmentation": false, "tx-generic-segmentation": false, "rx-gro": false},
		"GSO": {"tx-tcp-segmentation": false, "tx-tcp6-segmentation": false, "tx-tcp-ecn-segmentation": false, "tx-tcp-mangleid-segmentation": false, "tx-generic-segmentation": true, "rx-gro": false},
		"GRO": {"tx-tcp-segmentation": false, "tx-tcp6-segmentation": false, "tx-tcp-ecn-segmentation": false, "tx-tcp-mangleid-segmentation": false, "tx-generic-segmentation": false, "rx-gro": true},
	} {
		var got []string
		namespace.Must(t, func() error {
			tool, err := ethtool.NewEthtool()
			if err != nil {
				return err
			}
			defer tool.Close()
			err = tool.Change("east", set)
			got = port.Offloads()
			return err
		})
		if diff := cmp.Diff([]string{name}, got); diff != "" {
			t.Error(diff)
		}
	}
	var got []string
	namespace.Must(t, func() error {
		got = Port{Config: &endpoint.Config{Interface: "none"}}.Offloads()
		return nil
	})
	if got != nil {
		t.Errorf("offloads of a port that is not there: %v", got)
	}
}

// TestDownSwitchesARPOn checks that a port asks and answers again once it is down, and that it can be set up after that.
func TestDownSwitchesARPOn(t *testing.T) {
	const mac = "02:00:00:00:00:29"
	namespace, other := netnstest.New(t, "end"), netnstest.New(t, "other")
	netnstest.Cable(t, netnstest.End{Namespace: namespace, Interface: "port", MAC: mac}, netnstest.End{Namespace: other, Interface: "port", MAC: "02:00:00:00:00:02"})
	port := Port{Config: &endpoint.Config{
		Interface: "port", MAC: mac, MTUBytes: 1500, GatewayMAC: "02:00:00:00:00:02",
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.3/24"), netip.MustParsePrefix("2001:2::3/64")},
		Routes:    []endpoint.Route{{Destination: netip.MustParsePrefix("198.19.128.0/17"), Via: netip.MustParseAddr("198.18.0.2")}},
	}}
	for _, step := range []struct {
		name    string
		do      func() error
		up, arp bool
	}{
		{"before its turn", port.Down, false, true},
		{"up", port.Up, true, false},
		{"up again", port.Up, true, false},
		{"down", port.Down, false, true},
		{"a second turn", port.Up, true, false},
		{"the end", port.Down, false, true},
	} {
		namespace.Must(t, func() error {
			if err := step.do(); err != nil {
				return err
			}
			link, err := netlink.LinkByName("port")
			if err != nil {
				return err
			}
			flags := link.Attrs().RawFlags
			if up, arp := flags&unix.IFF_UP != 0, flags&unix.IFF_NOARP == 0; up != step.up || arp != step.arp {
				t.Errorf("%s: up %t, ARP %t, want %t and %t", step.name, up, arp, step.up, step.arp)
			}
			neighbors, err := netlink.NeighList(link.Attrs().Index, unix.AF_INET)
			if err != nil {
				return err
			}
			if step.up && (len(neighbors) != 1 || neighbors[0].State != netlink.NUD_PERMANENT) {
				t.Errorf("%s: the neighbors are %v, want one that is permanent", step.name, neighbors)
			}
			return nil
		})
	}
}
