//go:build linux

// Package kernel puts a network function's configuration into the network
// namespace that the process runs in, and checks later whether it is still
// there. A vnf.Config goes in; links, addresses, routes and neighbors come
// out, by netlink. The capability NET_ADMIN is enough; /proc/sys may be read
// only if its parameters are already correct.
//
// Nothing repairs itself here: a router that restores its routes in the middle
// of a measurement would hide what the measurement is to find.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

// Function is one configuration in the process's network namespace.
type Function struct {
	config *vnf.Config
	log    *slog.Logger
	// part is nil for a function that only forwards.
	part Part
}

// New returns the function of a checked configuration; it changes nothing yet.
// Key files are in the folder keys.
func New(config *vnf.Config, keys string, log *slog.Logger) *Function {
	function := &Function{config: config, log: log}
	if makePart, found := parts[config.Function]; found {
		function.part = makePart(config, keys, log)
	}
	return function
}

// Apply puts the configuration into the kernel. It may run again, also in
// another process: it changes only what differs.
func (f *Function) Apply() error {
	if f.part != nil {
		if err := f.part.Prepare(); err != nil {
			return err
		}
	}
	for _, port := range f.config.Ports {
		if err := f.applyPort(port); err != nil {
			return fmt.Errorf("port %q: %w", port.Name, err)
		}
	}
	if err := f.applyBridge(); err != nil {
		return err
	}
	return f.applyPart()
}

// applyPart applies the function's part. If the part makes an interface, it also
// enables forwarding there, because an interface has its own parameters for it.
func (f *Function) applyPart() error {
	if f.part == nil {
		return nil
	}
	if err := f.part.Apply(); err != nil {
		return err
	}
	name := f.part.Interface()
	if name == "" {
		return nil
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("looking for interface %q of function %q: %w", name, f.config.Function, err)
	}
	return f.applySysctls(vnf.Port{Name: name}, link, f.config.Sysctls())
}

// Status returns the function's own state and counters; those of a router are empty.
func (f *Function) Status() vnf.FunctionStatus {
	if f.part == nil {
		return vnf.FunctionStatus{}
	}
	return f.part.Status()
}

// TakeDown takes one port down. The kernel then removes the port's routes,
// neighbors and IPv6 addresses.
func (f *Function) TakeDown(name string) error {
	port, err := f.port(name)
	if err != nil {
		return err
	}
	link, err := findLink(port)
	if err != nil {
		return fmt.Errorf("port %q: %w", name, err)
	}
	f.log.Info("taking down", "port", name, "interface", link.Attrs().Name)
	if err := netlink.LinkSetDown(link); err != nil {
		return fmt.Errorf("port %q: taking the link down: %w", name, explain(err))
	}
	return nil
}

// BringUp brings one port up, and restores what the kernel removed.
func (f *Function) BringUp(name string) error {
	port, err := f.port(name)
	if err != nil {
		return err
	}
	if err := f.applyPort(port); err != nil {
		return fmt.Errorf("port %q: %w", name, err)
	}
	return nil
}

// Watch calls changed whenever the kernel reports a change of any link, until
// the context ends or the kernel's messages cannot be followed any more.
func (f *Function) Watch(ctx context.Context, changed func()) error {
	updates, done := make(chan netlink.LinkUpdate, 64), make(chan struct{})
	defer close(done)
	var cause error
	err := netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{
		ErrorCallback: func(err error) { cause = err },
	})
	if err != nil {
		return fmt.Errorf("subscribing to link changes: %w", err)
	}
	// Notice changes from before the subscription.
	changed()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-updates:
			if !open {
				return fmt.Errorf("following link changes: %w", cause)
			}
			changed()
		}
	}
}

func (f *Function) port(name string) (vnf.Port, error) {
	for _, port := range f.config.Ports {
		if port.Name == name {
			return port, nil
		}
	}
	return vnf.Port{}, fmt.Errorf("no port is called %q", name)
}

// findLink returns the port's interface: by name, or else by hardware address.
func findLink(port vnf.Port) (netlink.Link, error) {
	if port.Interface != "" {
		link, err := netlink.LinkByName(port.Interface)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			return nil, fmt.Errorf("there is no interface %q", port.Interface)
		}
		if err != nil {
			return nil, fmt.Errorf("looking for interface %q: %w", port.Interface, err)
		}
		return link, nil
	}
	links, err := dump(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	var found netlink.Link
	for _, link := range links {
		// A bridge has the address of one of its ports, and a VLAN interface that of its port.
		if link.Type() == "bridge" || link.Type() == vlanKind || !sameMAC(link.Attrs().HardwareAddr, port.MAC) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("interfaces %q and %q both have the hardware address %s: name one",
				found.Attrs().Name, link.Attrs().Name, port.MAC)
		}
		found = link
	}
	if found == nil {
		return nil, fmt.Errorf("no interface has the hardware address %s", port.MAC)
	}
	return found, nil
}

// dump repeats a listing if the kernel reports that it changed meanwhile.
func dump[T any](list func() ([]T, error)) ([]T, error) {
	const attempts = 5
	var items []T
	var err error
	for range attempts {
		items, err = list()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return items, err
}

func sameMAC(mac net.HardwareAddr, text string) bool {
	want, err := net.ParseMAC(text)
	return err == nil && mac.String() == want.String()
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{
		IP:   prefix.Addr().AsSlice(),
		Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
	}
}

func family(address netip.Addr) int {
	if address.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// explain adds to the kernel's refusal what the container lacks.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: the container needs the capability NET_ADMIN", err)
	}
	return err
}
