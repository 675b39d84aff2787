//go:build linux

package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

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
