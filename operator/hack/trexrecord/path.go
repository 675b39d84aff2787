//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The server's ports, and the router's towards them. The recordings' streams have these addresses.
var ends = [2]struct {
	port, router         string
	portMAC, routerMAC   string
	portAddress, gateway string
	routerIPv6, portIPv6 string
	remote               string
}{
	{"west", "rwest", "02:00:00:00:00:01", "02:00:00:00:01:01", "10.10.0.2", "10.10.0.1", "2001:db8:10::1/64", "2001:db8:10::2", "16.0.0.0/8"},
	{"east", "reast", "02:00:00:00:00:02", "02:00:00:00:01:02", "10.20.0.2", "10.20.0.1", "2001:db8:20::1/64", "2001:db8:20::2", "48.0.0.0/8"},
}

// router is the network namespace between the ports. This process is in the generator's.
type router struct{ handle netns.NsHandle }

// newRouter makes the path: a forwarding kernel between two veth pairs.
func newRouter(ipv6 bool) (*router, error) {
	r := &router{}
	if err := unix.Sethostname([]byte(hostName)); err != nil {
		return nil, fmt.Errorf("setting the name %q in the own namespace: %w", hostName, err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return nil, err
	}
	if err := onOwnThread(func() (err error) { r.handle, err = netns.New(); return err }); err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	for _, end := range ends {
		if err := r.cable(end.port, end.portMAC, end.router, end.routerMAC); err != nil {
			return nil, errors.Join(fmt.Errorf("veth pair %s-%s: %w", end.port, end.router, err), r.close())
		}
	}
	if err := r.do(func() error { return forward(ipv6) }); err != nil {
		return nil, errors.Join(fmt.Errorf("the router: %w", err), r.close())
	}
	return r, nil
}

// close removes the veth pairs, and with the last handle the namespace.
func (r *router) close() error {
	var failed []error
	for _, end := range ends {
		if link, err := netlink.LinkByName(end.port); err == nil {
			failed = append(failed, netlink.LinkDel(link))
		}
	}
	return errors.Join(append(failed, r.handle.Close())...)
}

func (r *router) cable(port, portMAC, router, routerMAC string) error {
	own, err := net.ParseMAC(portMAC)
	if err != nil {
		return err
	}
	peer, err := net.ParseMAC(routerMAC)
	if err != nil {
		return err
	}
	// The kernel's own frames would be among those of the trial.
	if err := set("net/ipv6/conf/default/disable_ipv6", "1"); err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.HardwareAddr = port, own
	err = netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: attributes, PeerName: router, PeerHardwareAddr: peer, PeerNamespace: netlink.NsFd(int(r.handle)),
	})
	if err != nil {
		return err
	}
	link, err := netlink.LinkByName(port)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// forward sets up the router, in its namespace: addresses, neighbors, routes.
func forward(ipv6 bool) error {
	off := "1"
	if ipv6 {
		off = "0"
	}
	for name, value := range map[string]string{
		"net/ipv4/ip_forward": "1", "net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/default/rp_filter": "0",
		"net/ipv6/conf/all/disable_ipv6": off, "net/ipv6/conf/all/forwarding": "1",
	} {
		if err := set(name, value); err != nil {
			return err
		}
	}
	for _, end := range ends {
		if err := attach(end.router, end.gateway, end.portAddress, end.portMAC, end.remote, end.routerIPv6, end.portIPv6, ipv6); err != nil {
			return fmt.Errorf("%s: %w", end.router, err)
		}
	}
	return nil
}

func attach(router, gateway, port, portMAC, remote, routerIPv6, portIPv6 string, ipv6 bool) error {
	link, err := netlink.LinkByName(router)
	if err != nil {
		return err
	}
	if err := set("net/ipv4/conf/"+router+"/rp_filter", "0"); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	mac, err := net.ParseMAC(portMAC)
	if err != nil {
		return err
	}
	index := link.Attrs().Index
	addresses, neighbors := []string{gateway + "/24"}, []string{port}
	if ipv6 {
		addresses, neighbors = append(addresses, routerIPv6), append(neighbors, portIPv6)
	}
	for _, text := range addresses {
		address, err := netlink.ParseAddr(text)
		if err != nil {
			return err
		}
		address.Flags = unix.IFA_F_NODAD
		if err := netlink.AddrAdd(link, address); err != nil {
			return fmt.Errorf("address %s: %w", text, err)
		}
	}
	for _, text := range neighbors {
		if err := netlink.NeighSet(&netlink.Neigh{LinkIndex: index, State: netlink.NUD_PERMANENT, IP: net.ParseIP(text), HardwareAddr: mac}); err != nil {
			return fmt.Errorf("neighbor %s: %w", text, err)
		}
	}
	_, network, err := net.ParseCIDR(remote)
	if err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: index, Dst: network, Gw: net.ParseIP(port)}); err != nil {
		return fmt.Errorf("route to %s: %w", remote, err)
	}
	return nil
}

// narrow lets at most bitsPerSecond through from west to east.
func (r *router) narrow(bitsPerSecond uint64) error {
	return r.do(func() error {
		link, err := netlink.LinkByName(ends[1].router)
		if err != nil {
			return err
		}
		const bucketBytes, queueBytes = 10_000, 30_000
		return netlink.QdiscAdd(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
			Rate:       bitsPerSecond / 8, Limit: queueBytes,
			Buffer: netlink.Xmittime(bitsPerSecond/8, bucketBytes),
		})
	})
}

func (r *router) do(do func() error) error {
	return onOwnThread(func() error {
		if err := netns.Set(r.handle); err != nil {
			return err
		}
		return do()
	})
}

// onOwnThread never unlocks the thread, so Go ends it with the goroutine.
func onOwnThread(do func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		result <- do()
	}()
	return <-result
}

// set writes a sysctl of the calling thread's network namespace.
func set(name, value string) error {
	if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil {
		return fmt.Errorf("setting %s in the own namespace: %w", name, err)
	}
	return nil
}
