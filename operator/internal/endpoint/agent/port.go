//go:build linux

package agent

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/endpoint"
)

// Port is the measured port of this machine.
type Port struct{ Config *endpoint.Config }

// Down takes the port out of the measured path: a bridge sends nothing to a port
// without a carrier. So an end that waits for its turn gets no copy of frames
// that a bridge floods, and does not affect other measurements. It switches on ARP
// again: a network card, or a virtual function, keeps its flags when it returns to
// the node, where the next program that has it expects ARP.
func (p Port) Down() error {
	link, err := p.find()
	if err != nil {
		return err
	}
	if err := netlink.LinkSetDown(link); err != nil {
		return fmt.Errorf("setting interface %q down: %w", p.Config.Interface, err)
	}
	if link.Attrs().RawFlags&unix.IFF_NOARP == 0 {
		return nil
	}
	if err := netlink.LinkSetARPOn(link); err != nil {
		return fmt.Errorf("switching on ARP at interface %q: %w", p.Config.Interface, err)
	}
	return nil
}

// Up sets the port up with its addresses, its gateways' hardware addresses and
// its routes. It may be called again.
func (p Port) Up() error {
	link, err := p.find()
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(link, p.Config.MTUBytes); err != nil {
		return fmt.Errorf("setting the MTU of interface %q to %d bytes: %w", p.Config.Interface, p.Config.MTUBytes, err)
	}
	// Before the neighbors: the switch empties their table.
	if err := netlink.LinkSetARPOff(link); err != nil {
		return fmt.Errorf("switching off ARP at interface %q: %w", p.Config.Interface, err)
	}
	if err := p.withoutLinkLocal(link); err != nil {
		return fmt.Errorf("switching off link-local addresses at interface %q: %w", p.Config.Interface, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting interface %q up: %w", p.Config.Interface, err)
	}
	return p.address(link)
}

// withoutLinkLocal keeps the port from sending unrequested messages; without IPv6
// it has nothing to do.
func (p Port) withoutLinkLocal(link netlink.Link) error {
	if !p.hasIPv6() {
		return nil
	}
	return netlink.LinkSetIP6AddrGenMode(link, nl.IN6_ADDR_GEN_MODE_NONE)
}

func (p Port) hasIPv6() bool {
	for _, address := range p.Config.Addresses {
		if address.Addr().Is6() {
			return true
		}
	}
	return false
}

// address sets what the kernel removes with the link.
func (p Port) address(link netlink.Link) error {
	for _, prefix := range p.Config.Addresses {
		address := &netlink.Addr{IPNet: network(prefix)}
		if prefix.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrReplace(link, address); err != nil {
			return fmt.Errorf("setting address %s: %w", prefix, err)
		}
	}
	mac, err := net.ParseMAC(p.Config.GatewayMAC)
	if err != nil {
		return err
	}
	for _, route := range p.Config.Routes {
		family := unix.AF_INET
		if route.Via.Is6() {
			family = unix.AF_INET6
		}
		err := netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, Family: family, State: netlink.NUD_PERMANENT,
			IP: route.Via.AsSlice(), HardwareAddr: mac,
		})
		if err != nil {
			return fmt.Errorf("setting neighbor %s: %w", route.Via, err)
		}
		err = netlink.RouteReplace(&netlink.Route{
			LinkIndex: link.Attrs().Index, Dst: network(route.Destination), Gw: route.Via.AsSlice(),
		})
		if err != nil {
			return fmt.Errorf("setting route %s via %s: %w", route.Destination, route.Via, err)
		}
	}
	return nil
}

// find returns the port, which must have the hardware address that the rest of
// the chain uses.
func (p Port) find() (netlink.Link, error) {
	link, err := netlink.LinkByName(p.Config.Interface)
	if err != nil {
		return nil, fmt.Errorf("interface %q: %w", p.Config.Interface, err)
	}
	if got := link.Attrs().HardwareAddr.String(); got != p.Config.MAC {
		return nil, fmt.Errorf("interface %q has hardware address %s, not %s: its network must take the MAC address that a pod asks for", p.Config.Interface, got, p.Config.MAC)
	}
	return link, nil
}

// offloads are those that make packets larger than the MTU, each with the kernel's
// names of its features.
var offloads = []struct {
	name     string
	features []string
}{
	{"TSO", []string{"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation"}},
	{"GSO", []string{"tx-generic-segmentation"}},
	{"GRO", []string{"rx-gro"}},
	{"LRO", []string{"rx-lro"}},
}

// Offloads returns those that are on at the port. It leaves out what the driver
// does not report.
func (p Port) Offloads() []string {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return nil
	}
	defer tool.Close()
	on, err := tool.Features(p.Config.Interface)
	if err != nil {
		return nil
	}
	var found []string
	for _, offload := range offloads {
		if slices.ContainsFunc(offload.features, func(feature string) bool { return on[feature] }) {
			found = append(found, offload.name)
		}
	}
	return found
}

func network(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
