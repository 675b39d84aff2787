//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// applyPort sets up the link first and then its upper layers. It switches off ARP
// before it sets the neighbors, because the switch empties the neighbor table.
func (f *Function) applyPort(port vnf.Port) error {
	link, err := findLink(port)
	if err != nil {
		return err
	}
	if err := f.applySysctls(port, link, f.config.PortSysctls(port)); err != nil {
		return err
	}
	if err := f.applyLink(port, link); err != nil {
		return err
	}
	if link, err = f.applyVLAN(port, link); err != nil {
		return err
	}
	if err := f.applyAddresses(port, link); err != nil {
		return err
	}
	if err := f.applyNeighbors(port, link); err != nil {
		return err
	}
	return f.applyRoutes(port, link)
}

func (f *Function) applyLink(port vnf.Port, link netlink.Link) error {
	attrs := link.Attrs()
	log := f.log.With("port", port.Name, "interface", attrs.Name)
	if !sameMAC(attrs.HardwareAddr, port.MAC) {
		log.Info("setting hardware address", "mac", port.MAC, "was", attrs.HardwareAddr.String())
		if err := setMAC(link, port.MAC); err != nil {
			return fmt.Errorf("setting the hardware address %s: %w", port.MAC, explain(err))
		}
	}
	if attrs.MTU != port.MTUBytes {
		log.Info("setting MTU", "mtuBytes", port.MTUBytes, "was", attrs.MTU)
		if err := netlink.LinkSetMTU(link, port.MTUBytes); err != nil {
			return fmt.Errorf("setting the MTU to %d bytes: %w", port.MTUBytes, explain(err))
		}
	}
	if err := f.applyARP(port, link); err != nil {
		return err
	}
	if err := f.silenceIPv6(port, link); err != nil {
		return err
	}
	// Always, and not only when the link was down: setMAC may have taken it down.
	log.Info("setting link up")
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting the link up: %w", explain(err))
	}
	return nil
}

// applyARP switches ARP and neighbor discovery on or off.
func (f *Function) applyARP(port vnf.Port, link netlink.Link) error {
	log := f.log.With("port", port.Name, "interface", link.Attrs().Name)
	off := link.Attrs().RawFlags&unix.IFF_NOARP != 0
	switch {
	case port.Resolution == "" && !off:
		log.Info("switching off ARP")
		if err := netlink.LinkSetARPOff(link); err != nil {
			return fmt.Errorf("switching off ARP: %w", explain(err))
		}
	case port.Resolution != "" && off:
		log.Info("switching on ARP")
		if err := netlink.LinkSetARPOn(link); err != nil {
			return fmt.Errorf("switching on ARP: %w", explain(err))
		}
	}
	return nil
}

// Release restores what stays with a port after the pod: a network card, or a virtual function, keeps its flags when it
// returns to the node, where the next program that has it expects ARP. It returns the errors of all ports.
func (f *Function) Release() error {
	var failed []error
	for _, port := range f.config.Ports {
		link, err := findLink(port)
		if err == nil && link.Attrs().RawFlags&unix.IFF_NOARP != 0 {
			err = netlink.LinkSetARPOn(link)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("port %q: switching on ARP again: %w", port.Name, explain(err)))
		}
	}
	return errors.Join(failed...)
}

// setMAC sets the hardware address. It takes the link down only if the driver requires it.
func setMAC(link netlink.Link, text string) error {
	mac, err := net.ParseMAC(text)
	if err != nil {
		return err
	}
	err = netlink.LinkSetHardwareAddr(link, mac)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	if err := netlink.LinkSetDown(link); err != nil {
		return err
	}
	return netlink.LinkSetHardwareAddr(link, mac)
}

// silenceIPv6 keeps the kernel from making a link-local address, which would
// cause router solicitations and duplicate detection on the measured path.
func (f *Function) silenceIPv6(port vnf.Port, link netlink.Link) error {
	if _, err := os.Stat(procSys + "/net/ipv6"); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	f.log.Info("switching off link-local addresses", "port", port.Name, "interface", link.Attrs().Name)
	if err := netlink.LinkSetIP6AddrGenMode(link, nl.IN6_ADDR_GEN_MODE_NONE); err != nil {
		return fmt.Errorf("switching off link-local addresses: %w", explain(err))
	}
	addresses, err := listAddresses(link, unix.AF_INET6)
	if err != nil {
		return err
	}
	wanted, err := addressesOf(port)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		// applyAddresses set one with this flag before, and the kernel's own has it not.
		kept := address.Flags&unix.IFA_F_NODAD != 0 &&
			slices.ContainsFunc(wanted, func(p netip.Prefix) bool { return ipNet(p).String() == address.IPNet.String() })
		if !address.IP.IsLinkLocalUnicast() || kept {
			continue
		}
		f.log.Info("removing address", "port", port.Name, "address", address.IPNet.String())
		if err := netlink.AddrDel(link, &address); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("removing address %s: %w", address.IPNet, explain(err))
		}
	}
	return nil
}

// addressesOf returns the port's addresses. A port that asks has a link-local one too: from it the
// kernel asks for the next hop of a packet that it forwards.
func addressesOf(port vnf.Port) ([]netip.Prefix, error) {
	hasIPv6 := slices.ContainsFunc(port.Addresses, func(p netip.Prefix) bool { return p.Addr().Is6() })
	if port.Resolution != vnf.ResolutionAsks || !hasIPv6 {
		return port.Addresses, nil
	}
	address, err := linkLocal(port.MAC)
	return append(slices.Clone(port.Addresses), address), err
}

// linkLocal returns the address of a port by RFC 4291 appendix A.
func linkLocal(text string) (netip.Prefix, error) {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return netip.Prefix{}, fmt.Errorf("%q is not a hardware address", text)
	}
	address := [16]byte{0xfe, 0x80, 8: mac[0] ^ 0x02, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]}
	return netip.PrefixFrom(netip.AddrFrom16(address), 64), nil
}

func (f *Function) applyAddresses(port vnf.Port, link netlink.Link) error {
	addresses, err := addressesOf(port)
	if err != nil {
		return err
	}
	for _, prefix := range addresses {
		f.log.Info("setting address", "port", port.Name, "interface", link.Attrs().Name, "address", prefix.String())
		address := &netlink.Addr{IPNet: ipNet(prefix)}
		if prefix.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrReplace(link, address); err != nil {
			return fmt.Errorf("setting address %s: %w", prefix, explain(err))
		}
	}
	return nil
}

func (f *Function) applyNeighbors(port vnf.Port, link netlink.Link) error {
	for _, neighbor := range f.config.Neighbors {
		if neighbor.Port != port.Name {
			continue
		}
		mac, err := net.ParseMAC(neighbor.MAC)
		if err != nil {
			return fmt.Errorf("neighbor %s: %w", neighbor.Address, err)
		}
		f.log.Info("setting neighbor", "port", port.Name, "address", neighbor.Address.String(), "mac", neighbor.MAC)
		err = netlink.NeighSet(&netlink.Neigh{
			LinkIndex:    link.Attrs().Index,
			Family:       family(neighbor.Address),
			State:        netlink.NUD_PERMANENT,
			IP:           neighbor.Address.AsSlice(),
			HardwareAddr: mac,
		})
		if err != nil {
			return fmt.Errorf("setting neighbor %s: %w", neighbor.Address, explain(err))
		}
	}
	return nil
}

func (f *Function) applyRoutes(port vnf.Port, link netlink.Link) error {
	for _, route := range f.config.Routes {
		if route.Port != port.Name {
			continue
		}
		f.log.Info("setting route", "port", port.Name, "destination", route.Destination.String(), "via", route.Via.String())
		err := netlink.RouteReplace(&netlink.Route{
			LinkIndex: link.Attrs().Index,
			Dst:       ipNet(route.Destination),
			Gw:        route.Via.AsSlice(),
		})
		if err != nil {
			return fmt.Errorf("setting route %s via %s: %w", route.Destination, route.Via, explain(err))
		}
	}
	return nil
}
