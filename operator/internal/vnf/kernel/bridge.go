//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	// bridgeName is the bridge of a bridging function, in its own namespace.
	bridgeName = "vnfbridge"

	// IFLA_BR_NF_CALL_IPTABLES and IFLA_BR_NF_CALL_IP6TABLES of linux/if_link.h.
	attributeCallIPTables  = 36
	attributeCallIP6Tables = 37
)

// applyBridge makes the bridge and joins the ports to it. The bridge sends
// nothing itself: no spanning tree, no multicast queries, no address.
func (f *Function) applyBridge() error {
	if !f.config.Bridged() {
		return nil
	}
	bridge, err := f.makeBridge()
	if err != nil {
		return err
	}
	if err := callIPTables(bridge, f.config.Needs().BridgeNetfilter); err != nil {
		return err
	}
	if err := netlink.LinkSetIP6AddrGenMode(bridge, nl.IN6_ADDR_GEN_MODE_NONE); err != nil && !errors.Is(err, unix.EAFNOSUPPORT) {
		return fmt.Errorf("bridge %q: switching off link-local addresses: %w", bridgeName, explain(err))
	}
	for _, port := range f.config.Ports {
		link, err := findTop(port)
		if err != nil {
			return fmt.Errorf("port %q: %w", port.Name, err)
		}
		if link.Attrs().MasterIndex == bridge.Attrs().Index {
			continue
		}
		f.log.Info("joining to the bridge", "port", port.Name, "bridge", bridgeName)
		if err := netlink.LinkSetMaster(link, bridge); err != nil {
			return fmt.Errorf("port %q: joining it to bridge %q: %w", port.Name, bridgeName, explain(err))
		}
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("bridge %q: setting it up: %w", bridgeName, explain(err))
	}
	return nil
}

func (f *Function) makeBridge() (netlink.Link, error) {
	if bridge, err := netlink.LinkByName(bridgeName); err == nil {
		return bridge, nil
	}
	f.log.Info("making the bridge", "bridge", bridgeName)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: new(false)}); err != nil {
		return nil, fmt.Errorf("making bridge %q: %w: the kernel may lack it; on the node: modprobe bridge", bridgeName, explain(err))
	}
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return nil, fmt.Errorf("looking for bridge %q: %w", bridgeName, err)
	}
	return bridge, nil
}

// callIPTables sets the bridge's own switch of br_netfilter. It cannot overrule
// the namespace's sysctl if that is on.
func callIPTables(bridge netlink.Link, on bool) error {
	const settings = procSys + "/net/bridge"
	if _, err := os.Stat(settings); on && errors.Is(err, os.ErrNotExist) {
		return errors.New("a bridging firewall with backend iptables needs br_netfilter in the node's kernel; on the node: modprobe br_netfilter, or use backend nftables")
	} else if err != nil && !on {
		return nil
	}
	value := []byte{0}
	if on {
		value[0] = 1
	}
	request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(bridge.Attrs().Index)
	request.AddData(message)
	information := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	information.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("bridge"))
	data := information.AddRtAttr(nl.IFLA_INFO_DATA, nil)
	data.AddRtAttr(attributeCallIPTables, value)
	data.AddRtAttr(attributeCallIP6Tables, value)
	request.AddData(information)
	if _, err := request.Execute(unix.NETLINK_ROUTE, 0); err != nil {
		return fmt.Errorf("bridge %q: showing packets to iptables: %w", bridgeName, explain(err))
	}
	return nil
}

// checkBridge requires the port on the bridge and forwarding, and the bridge up.
func (f *Function) checkBridge(port netlink.Link) error {
	if !f.config.Bridged() {
		return nil
	}
	bridge, err := netlink.LinkByName(bridgeName)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return fmt.Errorf("there is no bridge %q", bridgeName)
	}
	if err != nil {
		return fmt.Errorf("looking for bridge %q: %w", bridgeName, err)
	}
	if bridge.Attrs().RawFlags&unix.IFF_UP == 0 {
		return fmt.Errorf("bridge %q is down", bridgeName)
	}
	if port.Attrs().MasterIndex != bridge.Attrs().Index {
		return fmt.Errorf("interface %q is not on bridge %q", port.Attrs().Name, bridgeName)
	}
	return checkForwarding(port)
}

// checkForwarding requires that the port's state is forwarding: a bridge uses a
// port only after the kernel has noticed its carrier.
func checkForwarding(port netlink.Link) error {
	const stateForwarding = 3 // BR_STATE_FORWARDING
	name := port.Attrs().Name
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_ACK)
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(port.Attrs().Index)
	request.AddData(message)
	replies, err := request.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil {
		return fmt.Errorf("asking for the state of interface %q on the bridge: %w", name, err)
	}
	for _, reply := range replies {
		state, err := attribute(reply[message.Len():], unix.IFLA_LINKINFO, nl.IFLA_INFO_SLAVE_DATA, nl.IFLA_BRPORT_STATE)
		if err != nil {
			return fmt.Errorf("reading the state of interface %q on the bridge: %w", name, err)
		}
		if len(state) == 1 && state[0] == stateForwarding {
			return nil
		}
	}
	return fmt.Errorf("interface %q is on bridge %q, but does not forward yet", name, bridgeName)
}

// attribute finds an attribute inside of others; nil when it is absent.
func attribute(data []byte, path ...uint16) ([]byte, error) {
	for _, kind := range path {
		attributes, err := nl.ParseRouteAttr(data)
		if err != nil {
			return nil, err
		}
		data = nil
		for _, a := range attributes {
			if a.Attr.Type&^unix.NLA_F_NESTED == kind {
				data = a.Value
			}
		}
	}
	return data, nil
}
