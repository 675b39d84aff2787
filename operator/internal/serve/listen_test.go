//go:build linux

package serve

import (
	"net"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/testing/netnstest"
)

// TestOtherInterfacesAreClosed: a stranger at the cable of a measured port knows the pod's address on the pod network. On
// the pod network the agent answers, on the measured port it does not.
func TestOtherInterfacesAreClosed(t *testing.T) {
	pod, node, stranger := netnstest.New(t, "pod"), netnstest.New(t, "node"), netnstest.New(t, "stranger")
	netnstest.Cable(t, netnstest.End{Namespace: pod, Interface: "eth0", MAC: "02:00:00:00:00:01"}, netnstest.End{Namespace: node, Interface: "cali0", MAC: "02:00:00:00:00:02"})
	netnstest.Cable(t, netnstest.End{Namespace: pod, Interface: "west", MAC: "02:00:00:00:01:01"}, netnstest.End{Namespace: stranger, Interface: "tap", MAC: "02:00:00:00:01:02"})
	for _, at := range []struct {
		namespace        *netnstest.Namespace
		iface, addresses string
	}{{pod, "eth0", "192.0.2.1/24"}, {node, "cali0", "192.0.2.2/24"}, {pod, "west", "198.51.100.1/24"}, {stranger, "tap", "198.51.100.2/24"}} {
		at.namespace.Must(t, func() error {
			link, err := netlink.LinkByName(at.iface)
			if err != nil {
				return err
			}
			address, err := netlink.ParseAddr(at.addresses)
			if err != nil {
				return err
			}
			return netlink.AddrAdd(link, address)
		})
	}
	stranger.Must(t, func() error {
		link, err := netlink.LinkByName("tap")
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4(192, 0, 2, 1), Mask: net.CIDRMask(32, 32)}, Gw: net.IPv4(198, 51, 100, 1)})
	})
	pod.Must(t, func() error {
		server, err := Start("[192.0.2.1]:8080", hello)
		if err == nil {
			t.Cleanup(func() { _ = server.Close() })
		}
		return err
	})
	ask := func() error {
		connection, err := net.DialTimeout("tcp", "192.0.2.1:8080", 2*time.Second)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	node.Must(t, ask)
	if err := stranger.Run(ask); err == nil {
		t.Error("the agent answers on the measured port")
	}
}
