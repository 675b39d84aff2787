//go:build linux

package kernel

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// vlanKind is the kernel's name for the kind of a tag's interfaces.
const vlanKind = "vlan"

// applyVLAN makes the interface for the port's tag and sets it up like the port.
// Without a tag it returns the port's own interface.
func (f *Function) applyVLAN(port vnf.Port, link netlink.Link) (netlink.Link, error) {
	if port.VLAN == 0 {
		return link, nil
	}
	name := port.VLANInterface()
	if _, err := netlink.LinkByName(name); errors.As(err, &netlink.LinkNotFoundError{}) {
		f.log.Info("making the interface for the tag", "port", port.Name, "interface", name, "vlan", port.VLAN)
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.ParentIndex, attrs.MTU = name, link.Attrs().Index, port.MTUBytes
		if err := netlink.LinkAdd(&netlink.Vlan{LinkAttrs: attrs, VlanId: port.VLAN}); err != nil {
			return nil, fmt.Errorf("making interface %q for VLAN tag %d: %w", name, port.VLAN, explainVLAN(err))
		}
	} else if err != nil {
		return nil, fmt.Errorf("looking for interface %q: %w", name, err)
	}
	tagged, err := findVLAN(port, link)
	if err != nil {
		return nil, err
	}
	if err := f.applySysctls(port, tagged, f.config.Sysctls()); err != nil {
		return nil, err
	}
	return tagged, f.applyLink(port, tagged)
}

// explainVLAN names what a kernel needs that does not know the kind.
func explainVLAN(err error) error {
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: the kernel lacks 802.1Q; on the node: modprobe 8021q, or leave vlan out of the testbed's port", err)
	}
	return explain(err)
}

// findVLAN returns the interface for the port's tag, above the port's own.
func findVLAN(port vnf.Port, link netlink.Link) (netlink.Link, error) {
	name := port.VLANInterface()
	found, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, fmt.Errorf("there is no interface %q for VLAN tag %d", name, port.VLAN)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for interface %q: %w", name, err)
	}
	tagged, ok := found.(*netlink.Vlan)
	if !ok || tagged.VlanId != port.VLAN || tagged.VlanProtocol != netlink.VLAN_PROTOCOL_8021Q || tagged.ParentIndex != link.Attrs().Index {
		return nil, fmt.Errorf("interface %q is not the one for VLAN tag %d at %q: remove it", name, port.VLAN, link.Attrs().Name)
	}
	return tagged, nil
}

// findTop returns the interface that has the port's addresses.
func findTop(port vnf.Port) (netlink.Link, error) {
	link, err := findLink(port)
	if err != nil || port.VLAN == 0 {
		return link, err
	}
	return findVLAN(port, link)
}

// checkVLAN requires that the interface for the tag exists and is up.
func checkVLAN(port vnf.Port, link netlink.Link) (netlink.Link, error) {
	tagged, err := findVLAN(port, link)
	if err != nil {
		return nil, err
	}
	attrs := tagged.Attrs()
	switch {
	case attrs.RawFlags&unix.IFF_UP == 0:
		return nil, fmt.Errorf("interface %q is down", attrs.Name)
	case attrs.MTU != port.MTUBytes:
		return nil, fmt.Errorf("interface %q has an MTU of %d bytes, want %d", attrs.Name, attrs.MTU, port.MTUBytes)
	}
	return tagged, nil
}
