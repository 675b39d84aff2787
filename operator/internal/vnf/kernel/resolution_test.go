//go:build linux

package kernel_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/kernel"
)

// withoutNeighbors removes the static neighbors of a port that asks for them.
func withoutNeighbors(config *vnf.Config, port int) {
	config.Ports[port].Resolution = vnf.ResolutionAsks
	config.Neighbors = slices.DeleteFunc(config.Neighbors, func(n vnf.Neighbor) bool { return n.Port == config.Ports[port].Name })
}

// TestRoutersResolveEachOther has one router of two ask for the other, which asks too or has static neighbors.
func TestRoutersResolveEachOther(t *testing.T) {
	for name, other := range map[string]func(config *vnf.Config){
		"both ask":    func(config *vnf.Config) { withoutNeighbors(config, 0) },
		"one answers": func(config *vnf.Config) { config.Ports[0].Resolution = vnf.ResolutionAnswers },
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, 2)
			withoutNeighbors(c.configs[0], 1)
			other(c.configs[1])
			c.apply(t)
			c.cross(t)
			for i, namespace := range c.namespaces {
				// A second time changes nothing, also of the link-local address from which a port asks.
				var log bytes.Buffer
				namespace.Must(t, kernel.New(c.configs[i], "", slog.New(slog.NewTextHandler(&log, nil))).Apply)
				if strings.Contains(log.String(), "removing address") {
					t.Errorf("function %d: %s", i, log.String())
				}
				namespace.Must(t, c.function(i).Check)
			}
			c.cross(t)
		})
	}
}

// TestReleaseSwitchesARPOn checks that ports are as they were before, also where one of them is gone.
func TestReleaseSwitchesARPOn(t *testing.T) {
	c := newChain(t, 1)
	withoutNeighbors(c.configs[0], 1)
	c.apply(t)
	c.namespaces[0].Must(t, c.function(0).Release)
	c.namespaces[0].Must(t, func() error {
		for _, port := range []string{"west", "east"} {
			link, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			if link.Attrs().RawFlags&unix.IFF_NOARP != 0 {
				t.Errorf("port %s has no ARP", port)
			}
		}
		west, err := netlink.LinkByName("west")
		if err != nil {
			return err
		}
		if err := netlink.LinkDel(west); err != nil {
			return err
		}
		if err := c.function(0).Release(); err == nil || !strings.Contains(err.Error(), `port "west"`) {
			t.Errorf("a port that is gone gives the error %v", err)
		}
		return nil
	})
}

// TestCheckFindsARPSwitchedOff checks both directions of the difference.
func TestCheckFindsARPSwitchedOff(t *testing.T) {
	c := newChain(t, 1)
	withoutNeighbors(c.configs[0], 1)
	c.apply(t)
	c.namespaces[0].Must(t, c.function(0).Check)
	for port, change := range map[string]func(netlink.Link) error{"west": netlink.LinkSetARPOn, "east": netlink.LinkSetARPOff} {
		c.namespaces[0].Must(t, func() error {
			link, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			return change(link)
		})
	}
	err := c.namespaces[0].Run(c.function(0).Check)
	for _, want := range []string{`interface "west" has ARP switched off: false, want true`, `interface "east" has ARP switched off: true, want false`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v, want %q", err, want)
		}
	}
}
