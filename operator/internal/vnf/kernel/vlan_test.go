//go:build linux

package kernel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// knowsVLANs checks this machine's kernel in a separate namespace.
func knowsVLANs(t *testing.T, c *chain) bool {
	t.Helper()
	var err error
	c.west.Must(t, func() error {
		port, failed := netlink.LinkByName("east")
		if failed != nil {
			return failed
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.ParentIndex = "probe", port.Attrs().Index
		err = netlink.LinkAdd(&netlink.Vlan{LinkAttrs: attrs, VlanId: 1})
		if err == nil {
			return netlink.LinkDel(&netlink.Vlan{LinkAttrs: attrs})
		}
		return nil
	})
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		t.Fatal(err)
	}
	return err == nil
}

// TestTaggedPort checks that a kernel with 802.1Q has the port's addresses, neighbors and
// routes on an interface for the tag; one without 802.1Q reports what it lacks.
func TestTaggedPort(t *testing.T) {
	c := newChain(t, 1)
	c.configs[0].Ports[0].VLAN = 100
	function := c.function(0)
	err := c.namespaces[0].Run(function.Apply)
	if !knowsVLANs(t, c) {
		for _, want := range []string{`port "west": making interface "west.100" for VLAN tag 100`, "the kernel lacks 802.1Q; on the node: modprobe 8021q, or leave vlan out of the testbed's port"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c.namespaces[0].Must(t, function.Check)
	// Again, after a restart, and after the port was down.
	again := c.function(0)
	c.namespaces[0].Must(t, again.Apply)
	c.namespaces[0].Must(t, func() error { return again.TakeDown("west") })
	if err := c.namespaces[0].Run(again.Check); err == nil {
		t.Error("nothing is wrong with a port that is down")
	}
	c.namespaces[0].Must(t, func() error { return again.BringUp("west") })
	c.namespaces[0].Must(t, again.Check)
	c.namespaces[0].Must(t, func() error {
		tagged, err := netlink.LinkByName("west.100")
		if err != nil {
			return err
		}
		if got := tagged.Attrs().MTU; got != 1500 {
			t.Errorf("the tag's interface has an MTU of %d bytes", got)
		}
		return netlink.LinkDel(tagged)
	})
	if err := c.namespaces[0].Run(again.Check); err == nil || !strings.Contains(err.Error(), `there is no interface "west.100"`) {
		t.Errorf("without the tag's interface: %v", err)
	}
}

// TestOtherInterfaceForATag checks that an interface that another program made is not used.
func TestOtherInterfaceForATag(t *testing.T) {
	c := newChain(t, 1)
	c.configs[0].Ports[0].VLAN = 100
	c.namespaces[0].Must(t, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "west.100"
		return netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs})
	})
	err := c.namespaces[0].Run(c.function(0).Apply)
	if err == nil || !strings.Contains(err.Error(), `interface "west.100" is not the one for VLAN tag 100`) {
		t.Errorf("got %v", err)
	}
}
