//go:build linux

package tunnel

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"vnfbench.io/operator/internal/vnf"
)

const (
	// wireGuardDevice is the tunnel's interface.
	wireGuardDevice = "vnfwg"
	keyBytes        = 32
	// keepalive causes the first handshake without a packet to carry, so that a
	// gateway is ready before the first measured frame.
	keepalive = 25 * time.Second
	tunDevice = "/dev/net/tun"
)

// wireGuard is the kernel's WireGuard, or else wireguard-go on a TUN device.
type wireGuard struct {
	gateway *vnf.Gateway
	keys    string
	log     *slog.Logger

	mu             sync.Mutex
	implementation string
	userspace      *device.Device
}

type wireGuardKeys struct{ private, peerPublic, preshared []byte }

func (w *wireGuard) Prepare() error { return nil }

func (w *wireGuard) Interface() string { return wireGuardDevice }

func (w *wireGuard) Apply() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys, err := w.readKeys()
	if err != nil {
		return err
	}
	// A container left it before its restart.
	if link, err := netlink.LinkByName(wireGuardDevice); err == nil {
		if err := netlink.LinkDel(link); err != nil {
			return fmt.Errorf("removing the earlier WireGuard device: %w", explain(err))
		}
	}
	if err := w.make(keys); err != nil {
		return err
	}
	link, err := netlink.LinkByName(wireGuardDevice)
	if err != nil {
		return fmt.Errorf("looking for the WireGuard device: %w", err)
	}
	return w.connect(link)
}

func (w *wireGuard) readKeys() (keys wireGuardKeys, err error) {
	files := w.gateway.Keys
	if keys.private, err = readKey(w.keys, "private", files.Private, keyBytes); err != nil {
		return keys, err
	}
	if keys.peerPublic, err = readKey(w.keys, "peerPublic", files.PeerPublic, keyBytes); err != nil {
		return keys, err
	}
	keys.preshared, err = readKey(w.keys, "preshared", files.Preshared, keyBytes)
	return keys, err
}

// make makes the device, in the kernel where that is possible and allowed.
func (w *wireGuard) make(keys wireGuardKeys) error {
	if w.gateway.Implementation != vnf.ImplementationUserspace {
		err := w.makeInKernel(keys)
		if err == nil {
			w.implementation = vnf.ImplementationKernel
			w.log.Info("WireGuard is the kernel's")
			return nil
		}
		if w.gateway.Implementation == vnf.ImplementationKernel || !errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("making a WireGuard device in the kernel: %w; on the node: modprobe wireguard, or use implementation Userspace", explain(err))
		}
		w.log.Warn("the kernel has no WireGuard: encrypting in user space, which costs more processor time")
	}
	if err := w.makeInUserspace(keys); err != nil {
		return err
	}
	w.implementation = vnf.ImplementationUserspace
	return nil
}

func (w *wireGuard) makeInKernel(keys wireGuardKeys) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = wireGuardDevice, w.gateway.TunnelMTUBytes
	if err := netlink.LinkAdd(&netlink.Wireguard{LinkAttrs: attrs}); err != nil {
		return err
	}
	client, err := wgctrl.New()
	if err != nil {
		return err
	}
	defer client.Close()
	private, port, interval := wgtypes.Key(keys.private), w.gateway.ListenPort, keepalive
	preshared := wgtypes.Key(keys.preshared)
	peer := wgtypes.PeerConfig{
		PublicKey: wgtypes.Key(keys.peerPublic), PresharedKey: &preshared,
		Endpoint:                    &net.UDPAddr{IP: w.gateway.Peer.AsSlice(), Port: port},
		PersistentKeepaliveInterval: &interval, ReplaceAllowedIPs: true,
	}
	for _, network := range w.gateway.RemoteNetworks {
		peer.AllowedIPs = append(peer.AllowedIPs, *ipNet(network))
	}
	return client.ConfigureDevice(wireGuardDevice, wgtypes.Config{
		PrivateKey: &private, ListenPort: &port, ReplacePeers: true, Peers: []wgtypes.PeerConfig{peer},
	})
}

func (w *wireGuard) makeInUserspace(keys wireGuardKeys) error {
	tunnel, err := tun.CreateTUN(wireGuardDevice, w.gateway.TunnelMTUBytes)
	if err != nil {
		return fmt.Errorf("making a TUN device for WireGuard in user space, which needs %s and the capability NET_ADMIN: %w", tunDevice, err)
	}
	if w.gateway.Threads > 0 {
		// The library starts a worker for each CPU; this many run at a time.
		runtime.GOMAXPROCS(w.gateway.Threads)
	}
	logger := &device.Logger{
		Verbosef: device.DiscardLogf,
		Errorf:   func(format string, arguments ...any) { w.log.Error("WireGuard: " + fmt.Sprintf(format, arguments...)) },
	}
	w.userspace = device.NewDevice(tunnel, conn.NewDefaultBind(), logger)
	var settings strings.Builder
	set := func(key, value string) { fmt.Fprintf(&settings, "%s=%s\n", key, value) }
	set("private_key", hex.EncodeToString(keys.private))
	set("listen_port", strconv.Itoa(w.gateway.ListenPort))
	set("replace_peers", "true")
	set("public_key", hex.EncodeToString(keys.peerPublic))
	set("preshared_key", hex.EncodeToString(keys.preshared))
	set("endpoint", netip.AddrPortFrom(w.gateway.Peer, uint16(w.gateway.ListenPort)).String())
	set("persistent_keepalive_interval", strconv.Itoa(int(keepalive.Seconds())))
	for _, network := range w.gateway.RemoteNetworks {
		set("allowed_ip", network.String())
	}
	if err := w.userspace.IpcSet(settings.String()); err != nil {
		return fmt.Errorf("configuring WireGuard in user space: %w", err)
	}
	if err := w.userspace.Up(); err != nil {
		return fmt.Errorf("starting WireGuard in user space: %w", err)
	}
	return nil
}

// connect sets the device up and adds the routes through the tunnel.
func (w *wireGuard) connect(link netlink.Link) error {
	if _, err := os.Stat("/proc/sys/net/ipv6"); err == nil {
		if err := netlink.LinkSetIP6AddrGenMode(link, nl.IN6_ADDR_GEN_MODE_NONE); err != nil {
			return fmt.Errorf("switching off link-local addresses of the tunnel: %w", explain(err))
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting the tunnel up: %w", explain(err))
	}
	for _, network := range w.gateway.RemoteNetworks {
		w.log.Info("setting route", "destination", network.String(), "interface", wireGuardDevice)
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(network), Scope: netlink.SCOPE_LINK}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("setting route %s into the tunnel: %w", network, explain(err))
		}
	}
	return nil
}

func (w *wireGuard) Check() error {
	link, err := netlink.LinkByName(wireGuardDevice)
	if err != nil {
		return fmt.Errorf("the tunnel's interface %q: %w", wireGuardDevice, err)
	}
	if link.Attrs().RawFlags&unix.IFF_UP == 0 {
		return fmt.Errorf("the tunnel's interface %q is down", wireGuardDevice)
	}
	if link.Attrs().MTU != w.gateway.TunnelMTUBytes {
		return fmt.Errorf("the tunnel's interface %q has an MTU of %d bytes, want %d", wireGuardDevice, link.Attrs().MTU, w.gateway.TunnelMTUBytes)
	}
	state, err := w.state()
	if err != nil {
		return fmt.Errorf("asking for WireGuard's state: %w", err)
	}
	if !state.handshake {
		return fmt.Errorf("there was no handshake with peer %s yet", w.gateway.Peer)
	}
	return nil
}

type wireGuardState struct {
	transmitted, received uint64
	handshake             bool
}

func (w *wireGuard) state() (wireGuardState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.implementation {
	case vnf.ImplementationKernel:
		return kernelState()
	case vnf.ImplementationUserspace:
		text, err := w.userspace.IpcGet()
		if err != nil {
			return wireGuardState{}, err
		}
		return parseState(text), nil
	default:
		return wireGuardState{}, errors.New("there is no device yet")
	}
}

func kernelState() (wireGuardState, error) {
	client, err := wgctrl.New()
	if err != nil {
		return wireGuardState{}, err
	}
	defer client.Close()
	device, err := client.Device(wireGuardDevice)
	if err != nil {
		return wireGuardState{}, err
	}
	var state wireGuardState
	for _, peer := range device.Peers {
		state.transmitted += uint64(peer.TransmitBytes)
		state.received += uint64(peer.ReceiveBytes)
		state.handshake = state.handshake || !peer.LastHandshakeTime.IsZero()
	}
	return state, nil
}

// parseState reads three of many lines; the others contain keys.
func parseState(text string) (state wireGuardState) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		number, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "tx_bytes":
			state.transmitted += number
		case "rx_bytes":
			state.received += number
		case "last_handshake_time_sec":
			state.handshake = state.handshake || number > 0
		}
	}
	return state
}

func (w *wireGuard) Status() vnf.FunctionStatus {
	state := &vnf.EncryptionGatewayState{Protocol: w.gateway.Protocol, TunnelMTUBytes: int32(w.gateway.TunnelMTUBytes)}
	status := vnf.FunctionStatus{State: vnf.State{EncryptionGateway: state}}
	counted, err := w.state()
	if err != nil {
		status.CountersProblem = err.Error()
		return status
	}
	w.mu.Lock()
	state.Implementation = w.implementation
	w.mu.Unlock()
	if state.Implementation == vnf.ImplementationUserspace {
		state.Threads = int32(min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	}
	status.Counters = map[string]int64{
		vnf.CounterEncryptedBytes: int64(counted.transmitted), vnf.CounterDecryptedBytes: int64(counted.received),
	}
	return status
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
