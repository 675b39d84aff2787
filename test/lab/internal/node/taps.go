package node

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"vnfbench.io/test/lab/internal/machine"
)

// connectMachine makes the interfaces by which QEMU connects the machine, in node 1's network, where this program is:
// one in the bridge that joins the nodes, and one for each cable that leads to node 1.
func connectMachine() error {
	handle, err := netlink.NewHandle()
	if err != nil {
		return fmt.Errorf("opening node 1's network: %w", err)
	}
	defer handle.Close()
	if err := prepareBridge(handle, machine.UplinkTap); err != nil {
		return err
	}
	if err := addTap(machine.UplinkTap); err != nil {
		return err
	}
	if err := joinBridge(handle, machine.UplinkTap); err != nil {
		return err
	}
	for _, name := range machine.Taps() {
		if err := addTap(name); err != nil {
			return err
		}
		if err := writeSetting("ipv6/conf/"+name+"/disable_ipv6", "1"); err != nil { // it stays silent
			return err
		}
	}
	return nil
}

// addTap makes a tap interface, or leaves the one that an earlier QEMU used, and starts it.
func addTap(name string) error {
	_, err := netlink.LinkByName(name)
	if missing := (netlink.LinkNotFoundError{}); errors.As(err, &missing) {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = name
		err = netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attributes, Mode: netlink.TUNTAP_MODE_TAP})
	}
	if err != nil {
		return fmt.Errorf("creating the interface %q: %w", name, err)
	}
	return up(name)
}
