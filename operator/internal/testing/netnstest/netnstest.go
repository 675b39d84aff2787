//go:build linux

// Package netnstest gives tests real network namespaces. They have no name and exist only through a
// file descriptor, so the kernel removes them and everything in them when the test ends, however it
// ends.
package netnstest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
)

// SkipVariable, set to "1", skips the tests that need a real kernel. Without it they fail on a
// machine that cannot run them, so that a skipped test is not mistaken for success.
const SkipVariable = "VNFBENCH_NO_KERNEL_TESTS"

// Namespace is one network namespace of a test.
type Namespace struct {
	name   string
	handle netns.NsHandle
}

// New makes a namespace with its loopback up. The name is only for messages.
func New(t testing.TB, name string) *Namespace {
	t.Helper()
	if os.Getenv(SkipVariable) == "1" {
		t.Skipf("%s=1", SkipVariable)
	}
	n := &Namespace{name: name, handle: netns.None()}
	err := onOwnThread(func() error {
		handle, err := netns.New()
		if err != nil {
			return err
		}
		n.handle = handle
		loopback, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(loopback)
	})
	if err != nil {
		t.Fatalf("making network namespace %q: %v: run as root, or set %s=1 to skip", name, err, SkipVariable)
	}
	t.Cleanup(func() { _ = n.handle.Close() })
	return n
}

// Run calls do on a separate thread in the namespace. The thread ends afterwards, so do may also
// change the thread's mounts and capabilities.
func (n *Namespace) Run(do func() error) error {
	err := onOwnThread(func() error {
		if err := netns.Set(n.handle); err != nil {
			return err
		}
		return do()
	})
	if err != nil {
		return fmt.Errorf("in namespace %q: %w", n.name, err)
	}
	return nil
}

// Must calls Run for a step that must succeed.
func (n *Namespace) Must(t testing.TB, do func() error) {
	t.Helper()
	if err := n.Run(do); err != nil {
		t.Fatal(err)
	}
}

// End is one end of a cable.
type End struct {
	Namespace *Namespace
	Interface string
	MAC       string
}

// Cable joins two namespaces with a veth pair. The ends are up, and have no address, not even a
// link-local one, so they send nothing.
func Cable(t testing.TB, west, east End) {
	t.Helper()
	westMAC, eastMAC := mustMAC(t, west.MAC), mustMAC(t, east.MAC)
	west.Namespace.Must(t, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.HardwareAddr = west.Interface, westMAC
		err := netlink.LinkAdd(&netlink.Veth{
			LinkAttrs:        attrs,
			PeerName:         east.Interface,
			PeerHardwareAddr: eastMAC,
			PeerNamespace:    netlink.NsFd(int(east.Namespace.handle)),
		})
		if err != nil {
			return fmt.Errorf("adding veth %q: %w", west.Interface, err)
		}
		return raise(west.Interface)
	})
	east.Namespace.Must(t, func() error { return raise(east.Interface) })
}

func raise(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return errors.Join(
		netlink.LinkSetIP6AddrGenMode(link, nl.IN6_ADDR_GEN_MODE_NONE),
		netlink.LinkSetUp(link),
	)
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

func mustMAC(t testing.TB, text string) net.HardwareAddr {
	t.Helper()
	mac, err := net.ParseMAC(text)
	if err != nil {
		t.Fatal(err)
	}
	return mac
}
