package node

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/config"
)

// setUpNetwork gives the node's network namespace a loopback, an interface with the node's address in the
// network of the nodes, routes to the pods of the others, and the pods' bridge. A worker gets node 1's
// network namespace, which has the bridge that joins the nodes.
func setUpNetwork(n config.Node, first *os.File) error {
	if err := up("lo"); err != nil {
		return err
	}
	if err := addUplink(n, first); err != nil {
		return fmt.Errorf("creating the node's interface: %w", err)
	}
	if err := addRoutes(n); err != nil {
		return fmt.Errorf("adding the node's routes: %w", err)
	}
	return setUpForwarding()
}

// setUpForwarding makes the node forward packets, and gives it the pods' bridge.
func setUpForwarding() error {
	for _, setting := range []struct{ name, value string }{
		{"ipv4/ip_forward", "1"},
		{"ipv6/conf/all/forwarding", "1"},
		// Bridges of secondary networks stay pure layer 2 ...
		{"bridge/bridge-nf-call-iptables", "0"},
		{"bridge/bridge-nf-call-ip6tables", "0"},
	} {
		if err := writeSetting(setting.name, setting.value); err != nil {
			return err
		}
	}
	// ... and only the pods' bridge uses netfilter, which service addresses need between pods of
	// one node.
	return addPodBridge()
}

// writeSetting writes a setting of the network namespace.
func writeSetting(name, value string) error {
	if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0o644); err != nil {
		return fmt.Errorf("setting up the node's network: %w", err)
	}
	return nil
}

// uplink is the node's interface in the network of the nodes.
const uplink = "eth0"

// uplinkPeer is the other end of node 1's: in its own namespace, and in the bridge once there are workers.
const uplinkPeer = uplink + "up"

func addUplink(n config.Node, first *os.File) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = uplink
	if n.ControlPlane() {
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: uplinkPeer}); err != nil {
			return err
		}
		if err := up(uplinkPeer); err != nil {
			return err
		}
	} else {
		handle, err := netlink.NewHandleAt(netns.NsHandle(first.Fd()))
		if err != nil {
			return fmt.Errorf("entering node 1's network: %w", err)
		}
		defer handle.Close()
		peer := n.Name() + "up"
		if err := prepareBridge(handle, peer); err != nil {
			return err
		}
		pair := &netlink.Veth{LinkAttrs: attributes, PeerName: peer, PeerNamespace: netlink.NsFd(first.Fd())}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		if err := joinBridge(handle, peer); err != nil {
			return err
		}
	}
	return up(uplink)
}

// prepareBridge makes the bridge that joins the nodes, in node 1's namespace, if no other worker did. It
// also removes the link of that name: the kernel has not yet removed what a worker left that was killed.
func prepareBridge(handle *netlink.Handle, leftover string) error {
	if link, err := handle.LinkByName(leftover); err == nil {
		if err := handle.LinkDel(link); err != nil {
			return fmt.Errorf("removing the interface %q that was left: %w", leftover, err)
		}
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = config.NodeBridge
	bridge := &netlink.Bridge{LinkAttrs: attributes}
	if err := handle.LinkAdd(bridge); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("creating the nodes' bridge: %w", err)
	}
	if err := handle.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("starting the nodes' bridge: %w", err)
	}
	return joinBridge(handle, uplinkPeer)
}

// joinBridge puts an interface of node 1's namespace into the bridge that joins the nodes.
func joinBridge(handle *netlink.Handle, name string) error {
	bridge, err := handle.LinkByName(config.NodeBridge)
	if err != nil {
		return fmt.Errorf("finding the nodes' bridge: %w", err)
	}
	link, err := handle.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding the interface %q: %w", name, err)
	}
	if err := errors.Join(handle.LinkSetMaster(link, bridge), handle.LinkSetUp(link)); err != nil {
		return fmt.Errorf("joining the interface %q to the nodes' bridge: %w", name, err)
	}
	return nil
}

// addRoutes gives the interface its address and its routes.
func addRoutes(n config.Node) error {
	link, err := netlink.LinkByName(uplink)
	if err != nil {
		return err
	}
	address, err := netlink.ParseAddr(n.Prefix())
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, address); err != nil {
		return err
	}
	for _, r := range n.Routes() {
		route := netlink.Route{LinkIndex: link.Attrs().Index, Gw: net.ParseIP(r.Via)}
		if r.Destination != "" {
			if _, route.Dst, err = net.ParseCIDR(r.Destination); err != nil {
				return err
			}
		}
		if err := netlink.RouteAdd(&route); err != nil {
			return fmt.Errorf("to %v: %w", route.Dst, err)
		}
	}
	return nil
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
