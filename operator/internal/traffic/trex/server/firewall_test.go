//go:build linux

package server

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/netnstest"
)

// A neighbor cannot reach the server; the pod itself can.
func TestPortsAreClosed(t *testing.T) {
	portsAreClosed(t, fakeConfig(install(t, answers)), []string{"192.0.2.1", "fd00::1"})
}

// portsAreClosed starts a server that listens on some of the pod's addresses.
func portsAreClosed(t *testing.T, c Config, listening []string) {
	pod, neighbor := newPod(t), netnstest.New(t, "neighbor")
	netnstest.Cable(t,
		netnstest.End{Namespace: pod, Interface: "eth0", MAC: "02:00:00:00:00:0a"},
		netnstest.End{Namespace: neighbor, Interface: "eth0", MAC: "02:00:00:00:00:0b"})
	for _, prefix := range []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24"), netip.MustParsePrefix("fd00::1/64")} {
		address(t, pod, prefix)
		address(t, neighbor, netip.PrefixFrom(prefix.Addr().Next(), prefix.Bits()))
	}
	const open = 4600
	var listener net.Listener
	pod.Must(t, func() (err error) {
		listener, err = net.Listen("tcp", ":"+strconv.Itoa(open))
		return err
	})
	defer func() { _ = listener.Close() }()
	s, err := startIn(t, pod, t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	reach := func(from *netnstest.Namespace, to string, port int, wanted bool) {
		t.Helper()
		timeout := soon
		if !wanted {
			timeout = 500 * time.Millisecond
		}
		err := from.Run(func() error {
			connection, err := net.DialTimeout("tcp", net.JoinHostPort(to, strconv.Itoa(port)), timeout)
			if err == nil {
				_ = connection.Close()
			}
			return err
		})
		if (err == nil) != wanted {
			t.Errorf("port %d of %s: %v", port, to, err)
		}
	}
	for _, to := range listening {
		reach(neighbor, to, open, true)
		for _, port := range []int{publisherPort, rpcPort} {
			reach(neighbor, to, port, false)
			reach(pod, to, port, true)
			reach(pod, "127.0.0.1", port, true)
		}
	}
	pod.Must(t, closePorts) // one that already exists
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pod.Must(t, func() error {
		if err := openPorts(); err != nil {
			return fmt.Errorf("where there is no rule: %w", err)
		}
		return nil
	})
}

func address(t *testing.T, in *netnstest.Namespace, prefix netip.Prefix) {
	t.Helper()
	in.Must(t, func() error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		to := &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
		return netlink.AddrAdd(link, &netlink.Addr{IPNet: to, Flags: unix.IFA_F_NODAD})
	})
}

// Without the right to close them the ports stay open, and nothing is started.
func TestPortsThatCannotBeClosed(t *testing.T) {
	newPod(t).Must(t, func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			return err
		}
		data[0].Effective &^= 1 << unix.CAP_NET_ADMIN
		if err := unix.Capset(&header, &data[0]); err != nil {
			return err
		}
		err := closePorts()
		if measure.ReasonOf(err) != v1alpha1.ReasonControlPortsOpen || !strings.Contains(err.Error(), "NET_ADMIN") {
			t.Errorf("got %v", err)
		}
		return nil
	})
}
