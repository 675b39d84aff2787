//go:build linux

package serve

import (
	"context"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// listen listens on an address. For that of an interface it binds to the interface too: Linux accepts
// packets for any of its addresses on every interface, the measured ones too.
func listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{}
	if name := interfaceOf(net.ParseIP(host)); name != "" {
		config.Control = func(_, _ string, connection syscall.RawConn) error {
			var bound error
			err := connection.Control(func(fd uintptr) {
				bound = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, name)
			})
			if errors.Is(bound, unix.EPERM) {
				// Before Linux 5.7 only root may do so. The address alone closes less, and is enough to serve.
				return err
			}
			return errors.Join(err, bound)
		}
	}
	return config.Listen(context.Background(), "tcp", address)
}

// interfaceOf returns the interface that has an address; "" for all addresses and for those of loopback.
func interfaceOf(ip net.IP) string {
	if ip == nil || ip.IsUnspecified() || ip.IsLoopback() {
		return ""
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, address := range addresses {
			if network, ok := address.(*net.IPNet); ok && network.IP.Equal(ip) {
				return i.Name
			}
		}
	}
	return ""
}
