// Package testpath builds, in new network namespaces, the paths on which the XDP driver is tested
// and compared: two ports of a generator and a device between them. The namespaces have no name, so
// they vanish with the process, however it ends.
package testpath

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"vnfbench.io/operator/internal/measure"
)

// The generator's ports, and the device's towards them.
const (
	West       = "west"
	East       = "east"
	DeviceWest = "dwest"
	DeviceEast = "deast"
)

// Addresses from RFC 2544's and RFC 5180's benchmarking ranges.
var (
	westIPv4, eastIPv4 = netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.19.0.2")
	westIPv6, eastIPv6 = netip.MustParseAddr("2001:2:0:1::2"), netip.MustParseAddr("2001:2:0:2::2")
)

// Path is a built path. Its zero namespaces are closed.
type Path struct {
	// Generator holds both ports; Device what is between them. Sink is the Generator's except on
	// paths whose ports are apart: there it holds East.
	Generator, Device, Node, Sink netns.NsHandle

	westMAC, eastMAC       string
	deviceWest, deviceEast string
	programs               []io.Closer
}

// Direct joins both ports by one veth pair.
func Direct() (*Path, error) {
	return build((*Path).join)
}

// DirectApart builds Direct with each port in a separate namespace, for generators that go through
// the kernel's stack at both ends. The ports have addresses.
func DirectApart() (*Path, error) {
	return build(func(p *Path) error {
		if err := errors.Join(p.part(), p.join()); err != nil {
			return err
		}
		return errors.Join(p.address(p.Generator, West, ""), p.address(p.Sink, East, ""))
	})
}

func (p *Path) join() error {
	if err := p.veth(p.Generator, West, p.Sink, East, false); err != nil {
		return err
	}
	return p.facing()
}

// Wired joins each port to a port of an empty device, whose ends have NAPI.
func Wired() (*Path, error) { return build((*Path).wire) }

// Routed connects the ports through a forwarding kernel with static neighbors. Its veth ends have
// NAPI if napi is set.
func Routed(napi bool) (*Path, error) {
	return build(func(p *Path) error { return p.routeBetween(napi) })
}

// RoutedApart builds Routed with each port in a separate namespace. The ports have addresses.
func RoutedApart(napi bool) (*Path, error) {
	return build(func(p *Path) error {
		if err := errors.Join(p.part(), p.routeBetween(napi)); err != nil {
			return err
		}
		return errors.Join(p.address(p.Generator, West, DeviceWest), p.address(p.Sink, East, DeviceEast))
	})
}

func (p *Path) routeBetween(napi bool) error {
	if err := errors.Join(
		p.veth(p.Generator, West, p.Device, DeviceWest, napi),
		p.veth(p.Sink, East, p.Device, DeviceEast, napi),
	); err != nil {
		return err
	}
	return p.route()
}

// Bridged builds what two pods on one node have: bridge ports without NAPI on both sides, and a
// forwarding kernel between them.
func Bridged() (*Path, error) { return build((*Path).bridgeBetween) }

// BridgedTagged builds Bridged with ports whose frames have that VLAN tag: the node removes it, and adds it to what
// the device sends.
func BridgedTagged(tag int) (*Path, error) {
	return build(func(p *Path) error {
		if err := p.bridgeBetween(); err != nil {
			return err
		}
		return errors.Join(p.tagAt("nwest", tag), p.tagAt("neast", tag))
	})
}

func (p *Path) bridgeBetween() (err error) {
	if p.Node, err = newNamespace(); err != nil {
		return err
	}
	if err := errors.Join(
		p.veth(p.Generator, West, p.Node, "nwest", false),
		p.veth(p.Generator, East, p.Node, "neast", false),
		p.veth(p.Device, DeviceWest, p.Node, "rwest", false),
		p.veth(p.Device, DeviceEast, p.Node, "reast", false),
		p.bridge("brwest", "nwest", "rwest"),
		p.bridge("breast", "neast", "reast"),
	); err != nil {
		return err
	}
	return p.route()
}

// Unresolved makes a path's device forget its static neighbors, and gives it link-local addresses, from which it asks
// for neighbors over IPv6.
func Unresolved(build func() (*Path, error)) (*Path, error) {
	p, err := build()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.addLinkLocal(), p.Forget()); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Switched joins both ports by a bridge without a device. It forwards tags unchanged; if vlan is
// not 0, frames have that tag at the western port and none at the eastern one.
func Switched(vlan int) (*Path, error) {
	return build(func(p *Path) (err error) {
		if p.Node, err = newNamespace(); err != nil {
			return err
		}
		if err := errors.Join(
			p.veth(p.Generator, West, p.Node, "nwest", false),
			p.veth(p.Generator, East, p.Node, "neast", false),
			p.bridge("br", "nwest", "neast"),
		); err != nil {
			return err
		}
		if vlan != 0 {
			if err := p.tagAt("nwest", vlan); err != nil {
				return err
			}
		}
		return p.facing()
	})
}

// facing has each port send to the other one.
func (p *Path) facing() (err error) {
	if p.westMAC, err = readMAC(p.Generator, West); err == nil {
		p.eastMAC, err = readMAC(p.Sink, East)
	}
	p.deviceWest, p.deviceEast = p.eastMAC, p.westMAC
	return err
}

// Close closes the namespaces, which removes all that is in them.
func (p *Path) Close() {
	for _, program := range p.programs {
		_ = program.Close()
	}
	if p.Sink.IsOpen() && p.Sink != p.Generator {
		_ = p.Sink.Close()
	}
	for _, ns := range []*netns.NsHandle{&p.Generator, &p.Device, &p.Node} {
		if ns.IsOpen() {
			_ = ns.Close()
		}
	}
}

// IPv4 returns the measure.Path with the given directions, or both.
func (p *Path) IPv4(directions ...measure.Direction) measure.Path {
	return p.path(westIPv4, eastIPv4, directions)
}

// IPv6 returns the same over IPv6.
func (p *Path) IPv6(directions ...measure.Direction) measure.Path {
	return p.path(westIPv6, eastIPv6, directions)
}

func (p *Path) path(west, east netip.Addr, directions []measure.Direction) measure.Path {
	if len(directions) == 0 {
		directions = []measure.Direction{measure.Forward, measure.Reverse}
	}
	path := measure.Path{Ports: [2]measure.Port{{Interface: West}, {Interface: East}}, Hop: measure.HopInline}
	for _, d := range directions {
		s := measure.Stream{
			Direction: measure.Forward, SourceMAC: p.westMAC, DestinationMAC: p.deviceWest,
			SourceAddress: west, DestinationAddress: east, SourcePort: 1024, DestinationPort: 2048,
		}
		if d == measure.Reverse {
			s = measure.Stream{
				Direction: measure.Reverse, SourceMAC: p.eastMAC, DestinationMAC: p.deviceEast,
				SourceAddress: east, DestinationAddress: west, SourcePort: 2048, DestinationPort: 1024,
			}
		}
		path.Streams = append(path.Streams, s)
	}
	return path
}

// Resolving gives a path's ports their streams' source addresses, and has them resolve the device's. The streams'
// destinations on Ethernet are wrong until then.
func Resolving(path measure.Path) measure.Path {
	path.Ports[0].Addresses, path.Ports[1].Addresses = []netip.Addr{westIPv4, westIPv6}, []netip.Addr{eastIPv4, eastIPv6}
	is4 := path.Streams[0].SourceAddress.Is4()
	path.Ports[0].NextHop, path.Ports[1].NextHop = deviceAddresses(is4)
	path.Streams = slices.Clone(path.Streams)
	for i := range path.Streams {
		path.Streams[i].DestinationMAC = "02:00:00:00:00:ff"
	}
	return path
}

// Do runs f on a thread that is in a namespace, and leaves the caller's thread where it was.
func Do(ns netns.NsHandle, f func() error) error {
	runtime.LockOSThread()
	origin, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = origin.Close() }()
	if err := netns.Set(ns); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = f()
	// A thread that cannot return is abandoned: it stays locked.
	if back := netns.Set(origin); back != nil {
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}

func build(add func(*Path) error) (*Path, error) {
	p := &Path{Generator: netns.None(), Device: netns.None(), Node: netns.None(), Sink: netns.None()}
	var err error
	if p.Generator, err = newNamespace(); err == nil {
		p.Sink = p.Generator
		p.Device, err = newNamespace()
	}
	if err == nil {
		err = add(p)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("building a path: %w", err)
	}
	return p, nil
}

func newNamespace() (netns.NsHandle, error) {
	runtime.LockOSThread()
	origin, err := netns.Get()
	if err != nil {
		return netns.None(), err
	}
	defer func() { _ = origin.Close() }()
	ns, err := netns.New()
	if err != nil {
		runtime.UnlockOSThread()
		return netns.None(), fmt.Errorf("making a network namespace: %w", err)
	}
	err = quiet()
	if back := netns.Set(origin); back != nil {
		return ns, errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return ns, err
}

// quiet keeps the namespace's own packets off the measured path.
func quiet() error {
	for _, setting := range [][2]string{
		{"ipv6/conf/default/accept_dad", "0"},
		{"ipv6/conf/default/router_solicitations", "0"},
		{"ipv6/conf/default/addr_gen_mode", "1"},
		{"ipv4/conf/all/rp_filter", "0"},
		{"ipv4/conf/default/rp_filter", "0"},
	} {
		if err := os.WriteFile("/proc/sys/net/"+setting[0], []byte(setting[1]), 0o644); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func (p *Path) wire() error {
	if err := errors.Join(
		p.veth(p.Generator, West, p.Device, DeviceWest, true),
		p.veth(p.Generator, East, p.Device, DeviceEast, true),
	); err != nil {
		return err
	}
	return p.readMACs(p.Device, DeviceWest, DeviceEast)
}

// readMACs reads all four addresses; the device's ports are in ns.
func (p *Path) readMACs(ns netns.NsHandle, deviceWest, deviceEast string) (err error) {
	if p.westMAC, err = readMAC(p.Generator, West); err != nil {
		return err
	}
	if p.eastMAC, err = readMAC(p.Sink, East); err != nil {
		return err
	}
	if p.deviceWest, err = readMAC(ns, deviceWest); err != nil {
		return err
	}
	p.deviceEast, err = readMAC(ns, deviceEast)
	return err
}

func readMAC(ns netns.NsHandle, name string) (mac string, err error) {
	err = Do(ns, func() error {
		l, err := netlink.LinkByName(name)
		if err == nil {
			mac = l.Attrs().HardwareAddr.String()
		}
		return err
	})
	return mac, err
}
