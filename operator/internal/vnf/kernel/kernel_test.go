//go:build linux

package kernel_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/kernel"
)

// arrival is long, because the machine may be busy with other tests.
const arrival = 20 * time.Second

// chain is gen-west, routers in series, gen-east. Segment i joins machine i to
// machine i+1; its west end is .1, its east end .2.
type chain struct {
	west, east *netnstest.Namespace
	namespaces []*netnstest.Namespace
	configs    []*vnf.Config
}

func westMAC(segment int) string { return fmt.Sprintf("02:00:00:00:%02x:01", segment) }
func eastMAC(segment int) string { return fmt.Sprintf("02:00:00:00:%02x:02", segment) }

func address4(segment, host int) netip.Prefix {
	return netip.MustParsePrefix(fmt.Sprintf("198.18.%d.%d/24", segment, host))
}

func address6(segment, host int) netip.Prefix {
	return netip.MustParsePrefix(fmt.Sprintf("2001:2:0:%x::%d/64", segment, host))
}

// newChain cables the machines and applies no configuration.
func newChain(t *testing.T, routers int) *chain {
	t.Helper()
	c := &chain{west: netnstest.New(t, "gen-west"), east: netnstest.New(t, "gen-east")}
	machines := []*netnstest.Namespace{c.west}
	for i := range routers {
		namespace := netnstest.New(t, fmt.Sprintf("router-%d", i))
		c.namespaces = append(c.namespaces, namespace)
		machines = append(machines, namespace)
		c.configs = append(c.configs, routerConfig(i, routers))
	}
	machines = append(machines, c.east)
	for segment := range routers + 1 {
		netnstest.Cable(t,
			netnstest.End{Namespace: machines[segment], Interface: "east", MAC: westMAC(segment)},
			netnstest.End{Namespace: machines[segment+1], Interface: "west", MAC: eastMAC(segment)})
	}
	return c
}

// routerConfig returns the configuration of router i of n, between segment i and segment i+1.
func routerConfig(i, n int) *vnf.Config {
	config := &vnf.Config{
		Function: vnf.FunctionRouter,
		Name:     fmt.Sprintf("router-%d", i),
		Ports: []vnf.Port{
			{Name: "west", MAC: eastMAC(i), MTUBytes: 1500, Addresses: []netip.Prefix{address4(i, 2), address6(i, 2)}},
			{Name: "east", Interface: "east", MAC: westMAC(i + 1), MTUBytes: 1500, Addresses: []netip.Prefix{address4(i+1, 1), address6(i+1, 1)}},
		},
		Routes: []vnf.Route{},
	}
	for _, address := range []func(segment, host int) netip.Prefix{address4, address6} {
		config.Neighbors = append(config.Neighbors,
			vnf.Neighbor{Address: address(i, 1).Addr(), MAC: westMAC(i), Port: "west"},
			vnf.Neighbor{Address: address(i+1, 2).Addr(), MAC: eastMAC(i + 1), Port: "east"})
		if i > 0 {
			config.Routes = append(config.Routes, vnf.Route{Destination: address(0, 0).Masked(), Via: address(i, 1).Addr(), Port: "west"})
		}
		if i < n-1 {
			config.Routes = append(config.Routes, vnf.Route{Destination: address(n, 0).Masked(), Via: address(i+1, 2).Addr(), Port: "east"})
		}
	}
	return config
}

func (c *chain) function(i int) *kernel.Function {
	return kernel.New(c.configs[i], "", slog.New(slog.NewJSONHandler(io.Discard, nil)))
}

func (c *chain) apply(t *testing.T) {
	t.Helper()
	for i, namespace := range c.namespaces {
		if err := c.configs[i].Validate(); err != nil {
			t.Fatal(err)
		}
		namespace.Must(t, c.function(i).Apply)
	}
}

// cross sends a packet from end to end in each direction and IP version.
func (c *chain) cross(t *testing.T) {
	t.Helper()
	last := len(c.configs)
	west, east := c.west.Open(t, "east"), c.east.Open(t, "west")
	for name, address := range map[string]func(segment, host int) netip.Prefix{"IPv4": address4, "IPv6": address6} {
		source := netip.AddrPortFrom(address(0, 1).Addr(), 1024)
		destination := netip.AddrPortFrom(address(last, 2).Addr(), 9)
		t.Run(name+" east", func(t *testing.T) {
			expect(t, west, east,
				netnstest.Packet{SourceMAC: westMAC(0), DestinationMAC: eastMAC(0), Source: source, Destination: destination, TTL: 64, Payload: "east"},
				netnstest.Packet{SourceMAC: westMAC(last), DestinationMAC: eastMAC(last), Source: source, Destination: destination, TTL: 64 - last, Payload: "east"})
		})
		t.Run(name+" west", func(t *testing.T) {
			expect(t, east, west,
				netnstest.Packet{SourceMAC: eastMAC(last), DestinationMAC: westMAC(last), Source: destination, Destination: source, TTL: 64, Payload: "west"},
				netnstest.Packet{SourceMAC: eastMAC(0), DestinationMAC: westMAC(0), Source: destination, Destination: source, TTL: 64 - last, Payload: "west"})
		})
	}
}

func expect(t *testing.T, from, to *netnstest.Socket, sent, want netnstest.Packet) {
	t.Helper()
	from.Send(t, sent)
	got, _, ok := to.Receive(t, arrival)
	if !ok {
		t.Fatal("the packet did not arrive")
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("packet (-want +got):\n%s", diff)
	}
}

func TestForwarding(t *testing.T) {
	for _, routers := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d in series", routers), func(t *testing.T) {
			c := newChain(t, routers)
			c.apply(t)
			for i, namespace := range c.namespaces {
				namespace.Must(t, c.function(i).Check)
			}
			c.cross(t)
		})
	}
}

func TestApplyAgain(t *testing.T) {
	c := newChain(t, 1)
	c.apply(t)
	before := c.state(t)
	c.apply(t)
	if diff := cmp.Diff(before, c.state(t)); diff != "" {
		t.Errorf("the second time changed something (-before +after):\n%s", diff)
	}
	c.namespaces[0].Must(t, c.function(0).Check)
	c.cross(t)
}

// state returns, as text, what a second Apply must not change.
func (c *chain) state(t *testing.T) (lines []string) {
	t.Helper()
	c.namespaces[0].Must(t, func() error {
		for _, name := range []string{"west", "east"} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			attrs := link.Attrs()
			lines = append(lines, fmt.Sprint(name, attrs.HardwareAddr, attrs.MTU, attrs.Flags, attrs.RawFlags))
			addresses, err := netlink.AddrList(link, unix.AF_UNSPEC)
			if err != nil {
				return err
			}
			for _, address := range addresses {
				lines = append(lines, fmt.Sprint(name, address.IPNet, address.Flags, address.Scope))
			}
			neighbors, err := netlink.NeighList(attrs.Index, unix.AF_UNSPEC)
			if err != nil {
				return err
			}
			for _, neighbor := range neighbors {
				lines = append(lines, fmt.Sprint(name, neighbor.IP, neighbor.HardwareAddr, neighbor.State))
			}
		}
		routes, err := netlink.RouteList(nil, unix.AF_UNSPEC)
		for _, route := range routes {
			lines = append(lines, route.String())
		}
		return err
	})
	return lines
}

// TestSilence checks that nothing resolves addresses on the measured path, not even an
// address without a neighbor.
func TestSilence(t *testing.T) {
	c := newChain(t, 1)
	west, east := c.west.Open(t, "east"), c.east.Open(t, "west")
	c.apply(t)
	for _, address := range []func(segment, host int) netip.Prefix{address4, address6} {
		west.Send(t, netnstest.Packet{
			SourceMAC: westMAC(0), DestinationMAC: eastMAC(0),
			Source:      netip.AddrPortFrom(address(0, 1).Addr(), 1024),
			Destination: netip.AddrPortFrom(address(1, 77).Addr(), 9),
			Payload:     "no one",
		})
	}
	for name, socket := range map[string]*netnstest.Socket{"west": west, "east": east} {
		deadline := time.Now().Add(2 * time.Second)
		for time.Now().Before(deadline) {
			_, others, _ := socket.Receive(t, time.Until(deadline))
			for _, frame := range others {
				if netnstest.IsResolution(frame) {
					t.Errorf("the router's port %s sent % x", name, frame)
				}
			}
		}
	}
}

func TestApplySetsLink(t *testing.T) {
	c := newChain(t, 1)
	c.configs[0].Ports[1].MAC = "02:00:00:00:aa:aa"
	c.configs[0].Ports[1].MTUBytes = 9000
	c.apply(t)
	c.namespaces[0].Must(t, c.function(0).Check)
	var port vnf.PortStatus
	c.namespaces[0].Must(t, func() error {
		port = c.function(0).Ports()[1]
		return nil
	})
	if port.MAC != "02:00:00:00:aa:aa" || port.MTUBytes != 9000 || !port.Up || !port.LowerUp || port.Counters == nil {
		t.Errorf("port is %+v", port)
	}
}

// TestLinkLocalAddresses starts as a pod does: the CNI plugin has set the link up, and the
// kernel has given it a link-local address.
func TestLinkLocalAddresses(t *testing.T) {
	c := newChain(t, 1)
	c.namespaces[0].Must(t, func() error {
		for _, name := range []string{"west", "east"} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := errors.Join(
				netlink.LinkSetDown(link),
				netlink.LinkSetIP6AddrGenMode(link, nl.IN6_ADDR_GEN_MODE_EUI64),
				netlink.LinkSetUp(link),
			); err != nil {
				return err
			}
		}
		return nil
	})
	if !strings.Contains(strings.Join(c.state(t), "\n"), "fe80::") {
		t.Fatal("the kernel gave no link-local address: the test proves nothing")
	}
	c.apply(t)
	if state := strings.Join(c.state(t), "\n"); strings.Contains(state, "fe80::") {
		t.Errorf("still there:\n%s", state)
	}
	c.cross(t)
}

func TestApplyErrors(t *testing.T) {
	cases := map[string]struct {
		change func(*vnf.Config)
		want   string
	}{
		"missing interface": {
			change: func(c *vnf.Config) { c.Ports[1].Interface = "net9" },
			want:   `port "east": there is no interface "net9"`,
		},
		"wrong hardware address": {
			change: func(c *vnf.Config) { c.Ports[0].MAC = "02:00:00:00:bb:bb" },
			want:   `port "west": no interface has the hardware address 02:00:00:00:bb:bb`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, 1)
			tc.change(c.configs[0])
			err := c.namespaces[0].Run(c.function(0).Apply)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestAmbiguousHardwareAddress(t *testing.T) {
	c := newChain(t, 1)
	c.namespaces[0].Must(t, func() error {
		link, err := netlink.LinkByName("east")
		if err != nil {
			return err
		}
		return netlink.LinkSetHardwareAddr(link, []byte{2, 0, 0, 0, 0, 2}) // west's
	})
	err := c.namespaces[0].Run(c.function(0).Apply)
	if err == nil || !strings.Contains(err.Error(), "both have the hardware address 02:00:00:00:00:02") {
		t.Errorf("got %v", err)
	}
}

// TestReadOnlySysctls reproduces a pod, where /proc/sys cannot be written.
func TestReadOnlySysctls(t *testing.T) {
	sealed := func(do func() error) func() error {
		return func() error {
			if err := sealSysctls(); err != nil {
				return fmt.Errorf("sealing /proc/sys: %w", err)
			}
			return do()
		}
	}
	t.Run("forwarding off", func(t *testing.T) {
		c := newChain(t, 1)
		// A kernel may pass its own setting on to new namespaces.
		c.write(t, "net/ipv4/conf/west/forwarding", "0")
		err := c.namespaces[0].Run(sealed(c.function(0).Apply))
		if err == nil {
			t.Fatal("applied without forwarding")
		}
		for _, want := range []string{
			`sysctl net.ipv4.conf.west.forwarding is "0", must be "1"`,
			"cannot be written here (read-only file system)",
			`tuning CNI plugin`,
			`"net.ipv4.conf.IFNAME.forwarding" to "1"`,
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		}
	})
	t.Run("set before by the tuning plugin", func(t *testing.T) {
		c := newChain(t, 1)
		for _, iface := range []string{"west", "east"} {
			for _, sysctl := range vnf.Sysctls(c.configs[0].Families()) {
				c.write(t, sysctl.Path(iface), sysctl.Value)
			}
		}
		c.namespaces[0].Must(t, sealed(c.function(0).Apply))
		c.cross(t)
	})
}

// sealSysctls makes /proc/sys read only for the calling thread alone.
func sealSysctls() error {
	return errors.Join(
		unix.Unshare(unix.CLONE_NEWNS),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND, ""),
		unix.Mount("", "/proc/sys", "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""),
	)
}

func (c *chain) write(t *testing.T, path, value string) {
	t.Helper()
	c.namespaces[0].Must(t, func() error { return os.WriteFile("/proc/sys/"+path, []byte(value), 0o644) })
}

// TestCheck changes one thing at a time from outside the function.
func TestCheck(t *testing.T) {
	cases := map[string]struct {
		change func(east netlink.Link) error
		want   string
	}{
		"link down": {
			change: func(east netlink.Link) error { return netlink.LinkSetDown(east) },
			want:   `port "east": interface "east" is down`,
		},
		"link gone": {
			change: func(east netlink.Link) error { return netlink.LinkDel(east) },
			want:   `port "east": there is no interface "east"`,
		},
		"link bounced": {
			change: func(east netlink.Link) error {
				return errors.Join(netlink.LinkSetDown(east), netlink.LinkSetUp(east))
			},
			want: `port "east": address 2001:2:0:1::1/64 is missing`,
		},
		"MTU": {
			change: func(east netlink.Link) error { return netlink.LinkSetMTU(east, 1400) },
			want:   `port "east": interface "east" has an MTU of 1400 bytes, want 1500`,
		},
		"forwarding off": {
			change: func(netlink.Link) error {
				return os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("0"), 0o644)
			},
			want: `port "west": sysctl net.ipv6.conf.all.forwarding is "0"`,
		},
		"neighbor": {
			change: func(east netlink.Link) error {
				return netlink.NeighDel(&netlink.Neigh{LinkIndex: east.Attrs().Index, IP: address4(1, 2).Addr().AsSlice()})
			},
			want: `port "east": neighbor 198.18.1.2 is missing`,
		},
		"route": {
			change: func(netlink.Link) error {
				return netlink.RouteDel(&netlink.Route{Dst: &net.IPNet{IP: net.IPv4(198, 18, 2, 0), Mask: net.CIDRMask(24, 32)}})
			},
			want: `port "east": route 198.18.2.0/24 via 198.18.1.2 is missing`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, 2)
			c.apply(t)
			var checked error
			c.namespaces[0].Must(t, func() error {
				east, err := netlink.LinkByName("east")
				if err != nil {
					return err
				}
				err = tc.change(east)
				checked = c.function(0).Check()
				return err
			})
			if checked == nil || !strings.Contains(checked.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", checked, tc.want)
			}
		})
	}
}

func TestTakeDownAndBringUp(t *testing.T) {
	c := newChain(t, 2)
	c.apply(t)
	function := c.function(0)
	c.namespaces[0].Must(t, func() error { return function.TakeDown("east") })
	if err := c.namespaces[0].Run(function.Check); err == nil {
		t.Fatal("ready with a port down")
	}
	// The cable's other end reports the fault to its own router.
	err := c.namespaces[1].Run(c.function(1).Check)
	if err == nil || !strings.Contains(err.Error(), `port "west": interface "west" is up but has no carrier`) {
		t.Errorf("beyond the cable: got %v", err)
	}
	c.namespaces[0].Must(t, func() error { return function.BringUp("east") })
	c.namespaces[0].Must(t, function.Check)
	c.cross(t)
	if err := c.namespaces[0].Run(func() error { return function.TakeDown("north") }); err == nil {
		t.Error("took a port down that there is not")
	}
}
