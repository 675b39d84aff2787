//go:build linux

package agent

import (
	"fmt"
	"net"
	"net/netip"
	"unsafe"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/endpoint"
)

// Port is the measured port of this machine.
type Port struct{ Config *endpoint.Config }

// Down takes the port out of the measured path: a bridge sends nothing to a port
// without a carrier. So an end that waits for its turn takes no copy of frames
// that a bridge floods, and does not change what other measurements find.
func (p Port) Down() error {
	link, err := p.find()
	if err != nil {
		return err
	}
	if err := netlink.LinkSetDown(link); err != nil {
		return fmt.Errorf("setting interface %q down: %w", p.Config.Interface, err)
	}
	return nil
}

// Up sets the port up with its addresses, its gateways' hardware addresses and
// its routes. It can be called again.
func (p Port) Up() error {
	link, err := p.find()
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(link, p.Config.MTUBytes); err != nil {
		return fmt.Errorf("setting the MTU of interface %q to %d bytes: %w", p.Config.Interface, p.Config.MTUBytes, err)
	}
	// Before the neighbours: the switch empties their table.
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

// withoutLinkLocal keeps the port from speaking of itself; where there is no
// IPv6 there is nothing to keep it from.
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

// address sets what the kernel forgets with the link.
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
			return fmt.Errorf("setting neighbour %s: %w", route.Via, err)
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

// find is the port, which must have the hardware address that the rest of the
// chain was told.
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

// Offloads that are on at the port, of those that make packets larger than its
// MTU. What the driver does not tell is left out.
func (p Port) Offloads() []string {
	var on []string
	for _, offload := range []struct {
		name    string
		command uint32
		mask    uint32
	}{
		// ETHTOOL_GTSO, ETHTOOL_GGSO, ETHTOOL_GGRO; ETHTOOL_GFLAGS with ETH_FLAG_LRO.
		{"TSO", 0x1e, 1}, {"GSO", 0x23, 1}, {"GRO", 0x2b, 1}, {"LRO", 0x25, 1 << 15},
	} {
		request := struct{ command, data uint32 }{command: offload.command}
		if ethtool(p.Config.Interface, unsafe.Pointer(&request)) == nil && request.data&offload.mask != 0 {
			on = append(on, offload.name)
		}
	}
	return on
}

// ethtool is for requests that rtnetlink does not carry.
func ethtool(name string, request unsafe.Pointer) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var ifreq struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(ifreq.name[:unix.IFNAMSIZ-1], name)
	ifreq.data = request
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifreq))); errno != 0 {
		return errno
	}
	return nil
}

func network(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
