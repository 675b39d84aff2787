package node

import (
	"errors"
	"fmt"
	"os"

	"github.com/vishvananda/netlink"

	"vnfbench.io/test/lab/internal/machine"
)

// connectMachine makes the interfaces by which QEMU connects the machine, in node 1's network, where this program is:
// one in the bridge that joins the nodes, and one for each cable that leads to node 1. It returns them in the order of
// machine.Taps. This program keeps them open: a QEMU that starts again continues with the same ones, also with one that a pod
// has taken into its network namespace meanwhile.
func connectMachine() ([]*os.File, error) {
	handle, err := netlink.NewHandle()
	if err != nil {
		return nil, fmt.Errorf("opening node 1's network: %w", err)
	}
	defer handle.Close()
	if err := prepareBridge(handle, machine.UplinkTap); err != nil {
		return nil, err
	}
	var taps []*os.File
	for _, name := range machine.Taps() {
		tap, err := openTap(name)
		if err != nil {
			return nil, err
		}
		taps = append(taps, tap)
		if name == machine.UplinkTap {
			err = joinBridge(handle, name)
		} else {
			err = writeSetting("ipv6/conf/"+name+"/disable_ipv6", "1") // it stays silent
		}
		if err != nil {
			return nil, err
		}
	}
	return taps, nil
}

// openTap makes a tap interface, or takes the one that an earlier machine used, starts it, and returns the file by which
// its frames are read and written. It stays when the file is closed: a pod that has it could not be removed without it.
func openTap(name string) (*os.File, error) {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	tap := &netlink.Tuntap{
		LinkAttrs: attributes, Mode: netlink.TUNTAP_MODE_TAP, Flags: netlink.TUNTAP_NO_PI | netlink.TUNTAP_VNET_HDR, Queues: 1,
	}
	if err := netlink.LinkAdd(tap); err != nil {
		return nil, fmt.Errorf("creating the interface %q: %w", name, err)
	}
	if err := up(name); err != nil {
		return nil, errors.Join(err, tap.Fds[0].Close())
	}
	return tap.Fds[0], nil
}
