//go:build linux

package guest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/clock"
)

const (
	leaseTimeout = 2 * time.Second
	leaseRetries = 5
	retryPause   = time.Second
)

// serve gets an address for the management card and serves the handler only
// there, until the context ends. It retries what fails.
func serve(ctx context.Context, c Card, port int, handler http.Handler, log *slog.Logger) {
	last := ""
	for ctx.Err() == nil {
		err := serveOnce(ctx, c, port, handler, log)
		if err != nil && err.Error() != last && ctx.Err() == nil {
			log.Error("management", "interface", c.Interface, "problem", err.Error())
			last = err.Error()
		}
		_ = clock.Sleep(ctx, retryPause) // the loop looks at the context
	}
}

func serveOnce(ctx context.Context, c Card, port int, handler http.Handler, log *slog.Logger) error {
	link, err := netlink.LinkByName(c.Interface)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting the link up: %w", err)
	}
	address, err := lease(ctx, link)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, c.Interface, address, port)
	if err != nil {
		return err
	}
	log.Info("listening", "interface", c.Interface, "address", listener.Addr().String())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.Serve(listener)
}

// lease requests an address by DHCP (RFC 2131) and sets it, with the routes that
// come with it. It does not renew the lease: the server serves only this guest
// (KubeVirt's in the pod, QEMU's), and gives the address to no other.
func lease(ctx context.Context, link netlink.Link) (net.IP, error) {
	client, err := nclient4.New(link.Attrs().Name, nclient4.WithTimeout(leaseTimeout), nclient4.WithRetry(leaseRetries))
	if err != nil {
		return nil, fmt.Errorf("DHCP: %w", err)
	}
	defer client.Close()
	got, err := client.Request(ctx, dhcpv4.WithRequestedOptions(dhcpv4.OptionInterfaceMTU, dhcpv4.OptionClasslessStaticRoute))
	if err != nil {
		return nil, fmt.Errorf("DHCP: %w", err)
	}
	if mtu, err := dhcpv4.GetUint16(dhcpv4.OptionInterfaceMTU, got.ACK.Options); err == nil {
		if err := netlink.LinkSetMTU(link, int(mtu)); err != nil {
			return nil, fmt.Errorf("setting the MTU to %d bytes: %w", mtu, err)
		}
	}
	address := got.ACK.YourIPAddr
	mask := got.ACK.SubnetMask()
	if mask == nil {
		mask = address.DefaultMask()
	}
	if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: &net.IPNet{IP: address, Mask: mask}}); err != nil {
		return nil, fmt.Errorf("setting address %s: %w", address, err)
	}
	for _, route := range routes(got.ACK) {
		route.LinkIndex = link.Attrs().Index
		if err := netlink.RouteReplace(&route); err != nil {
			return nil, fmt.Errorf("setting route %s: %w", route, err)
		}
	}
	return address, nil
}

// routes returns the classless ones, or else the default route (RFC 3442).
func routes(ack *dhcpv4.DHCPv4) []netlink.Route {
	var found []netlink.Route
	for _, route := range ack.ClasslessStaticRoute() {
		if route.Router.IsUnspecified() {
			found = append(found, netlink.Route{Dst: route.Dest, Scope: netlink.SCOPE_LINK})
			continue
		}
		found = append(found, netlink.Route{Dst: route.Dest, Gw: route.Router, Flags: int(netlink.FLAG_ONLINK)})
	}
	if routers := ack.Router(); len(found) == 0 && len(routers) > 0 {
		everything := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
		found = append(found, netlink.Route{Dst: everything, Gw: routers[0], Flags: int(netlink.FLAG_ONLINK)})
	}
	return found
}

// listen binds to the address, and to the interface: Linux accepts packets for
// any of its addresses on every interface, the measured ones too.
func listen(ctx context.Context, iface string, address net.IP, port int) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, connection syscall.RawConn) error {
		var bound error
		err := connection.Control(func(fd uintptr) {
			bound = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, iface)
		})
		if err != nil {
			return err
		}
		return bound
	}}
	return config.Listen(ctx, "tcp", net.JoinHostPort(address.String(), strconv.Itoa(port)))
}
