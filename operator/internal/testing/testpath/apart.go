package testpath

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// part puts East into a separate namespace. It is called before all links are made.
func (p *Path) part() (err error) {
	p.Sink, err = newNamespace()
	return err
}

// address gives a port its address, and the route to the other port: through the device's port
// towards it or, without one, directly. Neighbors are static.
func (p *Path) address(ns netns.NsHandle, port, device string) error {
	own, other, gatewayMAC := westIPv4, eastIPv4, p.deviceWest
	gateway := netip.MustParseAddr("198.18.0.1")
	if port == East {
		own, other, gatewayMAC = eastIPv4, westIPv4, p.deviceEast
		gateway = netip.MustParseAddr("198.19.0.1")
	}
	if device == "" {
		gateway = other
	}
	mac, err := net.ParseMAC(gatewayMAC)
	if err != nil {
		return err
	}
	return Do(ns, func() error {
		l, err := netlink.LinkByName(port)
		if err != nil {
			return err
		}
		index := l.Attrs().Index
		if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: hostNet(own)}); err != nil {
			return fmt.Errorf("address %s: %w", own, err)
		}
		if err := netlink.NeighSet(&netlink.Neigh{
			LinkIndex: index, State: netlink.NUD_PERMANENT, IP: gateway.AsSlice(), HardwareAddr: mac,
		}); err != nil {
			return fmt.Errorf("neighbor %s: %w", gateway, err)
		}
		route := netlink.Route{LinkIndex: index, Dst: hostNet(other), Scope: netlink.SCOPE_LINK}
		if device != "" {
			route.Scope, route.Gw, route.Flags = netlink.SCOPE_UNIVERSE, gateway.AsSlice(), int(netlink.FLAG_ONLINK)
		}
		if err := netlink.RouteAdd(&route); err != nil {
			return fmt.Errorf("route to %s: %w", other, err)
		}
		return nil
	})
}

func hostNet(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}
