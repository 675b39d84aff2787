package node

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"

	"vnfbench.io/test/lab/internal/config"
)

// setUpNetwork gives the node's network namespace a loopback, an isolated interface with the node's
// address, and the pods' bridge.
func setUpNetwork() error {
	if err := up("lo"); err != nil {
		return err
	}
	if err := addUplink(); err != nil {
		return fmt.Errorf("creating the node's interface: %w", err)
	}
	for _, setting := range []struct{ name, value string }{
		{"ipv4/ip_forward", "1"},
		{"ipv6/conf/all/forwarding", "1"},
		// Bridges of secondary networks stay pure layer 2 ...
		{"bridge/bridge-nf-call-iptables", "0"},
		{"bridge/bridge-nf-call-ip6tables", "0"},
	} {
		if err := os.WriteFile("/proc/sys/net/"+setting.name, []byte(setting.value), 0o644); err != nil {
			return fmt.Errorf("setting up the node's network: %w", err)
		}
	}
	// ... and only the pods' bridge uses netfilter, which service addresses need between pods of
	// one node.
	return addPodBridge()
}

func addUplink() error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "eth0"
	uplink := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0up"}
	if err := netlink.LinkAdd(uplink); err != nil {
		return err
	}
	for _, name := range []string{"eth0up", "eth0"} {
		if err := up(name); err != nil {
			return err
		}
	}
	address, err := netlink.ParseAddr(config.NodePrefix)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(uplink, address); err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: uplink.Attrs().Index, Gw: net.ParseIP(config.Gateway)})
}

func addPodBridge() error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = config.PodBridge
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil {
		return fmt.Errorf("creating the pods' bridge: %w", err)
	}
	file := "/sys/class/net/" + config.PodBridge + "/bridge/nf_call_iptables"
	if err := os.WriteFile(file, []byte("1"), 0o644); err != nil {
		return fmt.Errorf("setting up the pods' bridge: %w", err)
	}
	return up(config.PodBridge)
}

func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding the interface %q: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("starting the interface %q: %w", name, err)
	}
	return nil
}
