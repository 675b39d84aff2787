package vnf

import (
	"fmt"
	"net/netip"
	"path/filepath"
)

// FunctionEncryptionGateway encrypts what it sends to its peer, and decrypts
// what comes from there.
const FunctionEncryptionGateway = "EncryptionGateway"

// DefaultKeys is the folder that a pod mounts its keys in.
const DefaultKeys = "/etc/vnf/keys"

// Protocols between gateways.
const (
	ProtocolWireGuard = "WireGuard"
	ProtocolIPsec     = "IPsec"
)

// Implementations of WireGuard. IPsec is always the kernel's.
const (
	ImplementationAuto      = "Auto"
	ImplementationKernel    = "Kernel"
	ImplementationUserspace = "Userspace"
)

// The most bytes that a protocol adds to an IP packet, with an outer IPv4 header
// (20 bytes), so that no frame needs fragmentation.
const (
	// WireGuardOverheadBytes: UDP 8, message header 16, tag 16. Padding to 16
	// bytes never goes beyond the tunnel's MTU.
	WireGuardOverheadBytes = 20 + 8 + 16 + 16
	// IPsecOverheadBytes: ESP's SPI and sequence number 8, initialization vector
	// 8, padding to 4 bytes at most 3, pad length and next header 2, tag 16
	// (RFC 4303, RFC 4106).
	IPsecOverheadBytes = 20 + 8 + 8 + 3 + 2 + 16
)

// IPsecKeyBytes is a key of AES-256 and the salt after it (RFC 4106 section 8.1).
const IPsecKeyBytes = 32 + 4

// Gateway is the tunnel of an encryption gateway. Keys are files; the
// configuration has only their names.
type Gateway struct {
	// Protocol is "WireGuard" or "IPsec" (ESP in tunnel mode, AES-256-GCM).
	Protocol string `json:"protocol"`
	// Implementation is "Auto" (the kernel's where it has one), "Kernel" or
	// "Userspace"; with IPsec "Kernel".
	Implementation string `json:"implementation"`
	// Threads limits the processors that user-space WireGuard uses; 0 is one
	// for each CPU.
	Threads int `json:"threads,omitempty"`
	// Port is the name of the port toward the peer.
	Port string `json:"port"`
	// Local and Peer are the tunnel's outer IPv4 addresses, on that port's network.
	Local netip.Addr `json:"local"`
	Peer  netip.Addr `json:"peer"`
	// LocalNetworks are on this side of the tunnel, RemoteNetworks beyond it.
	LocalNetworks  []netip.Prefix `json:"localNetworks"`
	RemoteNetworks []netip.Prefix `json:"remoteNetworks"`
	// TunnelMTUBytes is the largest IP packet that goes into the tunnel.
	TunnelMTUBytes int `json:"tunnelMTUBytes"`

	// ListenPort is WireGuard's UDP port, the peer's too.
	ListenPort int `json:"listenPort,omitempty"`
	// SPIOut and SPIIn name IPsec's two associations; the peer has them swapped.
	SPIOut uint32 `json:"spiOut,omitempty"`
	SPIIn  uint32 `json:"spiIn,omitempty"`
	// Keys are the names of the files in the folder of keys.
	Keys KeyFiles `json:"keys"`
}

// EncryptionGatewayState is the state of the part that encrypts.
type EncryptionGatewayState struct {
	Protocol string `json:"protocol"`
	// Implementation is what encrypts: "Kernel" or "Userspace"; empty before it is there.
	Implementation string `json:"implementation,omitempty"`
	// Threads that may encrypt at a time in user space; 0 where the kernel does.
	Threads int32 `json:"threads,omitempty"`
	// TunnelMTUBytes is the largest IP packet that goes into the tunnel.
	TunnelMTUBytes int32 `json:"tunnelMTUBytes"`
}

// Counters of an encryption gateway.
const (
	// CounterEncryptedBytes went to the peer and CounterDecryptedBytes came from it,
	// as the protocol counts them: WireGuard with its own headers, IPsec without.
	CounterEncryptedBytes = "encryptedBytes"
	CounterDecryptedBytes = "decryptedBytes"
	// CounterFailedPackets arrived and were not valid packets of the peer; only IPsec counts them.
	CounterFailedPackets = "failedPackets"
)

// KeyFiles are names of files, each with one key in Base64 and nothing else.
type KeyFiles struct {
	// Private, PeerPublic and Preshared are WireGuard's.
	Private    string `json:"private,omitempty"`
	PeerPublic string `json:"peerPublic,omitempty"`
	Preshared  string `json:"preshared,omitempty"`
	// Out and In are IPsec's: a key of AES-256 and its salt, for each direction.
	Out string `json:"out,omitempty"`
	In  string `json:"in,omitempty"`
}

// Names of the key files that the operator makes.
const (
	KeyPrivate    = "private"
	KeyPeerPublic = "peer-public"
	KeyPreshared  = "psk"
	KeyOut        = "key-out"
	KeyIn         = "key-in"
)

// needs lists what the tunnel needs: keys, and a TUN device for WireGuard that may
// run in user space. The driver of TUN makes the device file when it is loaded.
func (g *Gateway) needs() Needs {
	needs := Needs{
		Keys: true, Ciphers: true,
		Interfaces: g.Protocol == ProtocolWireGuard,
		TUN:        g.Protocol == ProtocolWireGuard && g.Implementation != ImplementationKernel,
	}
	if needs.TUN {
		needs.Modules = []string{"tun"}
	}
	return needs
}

// TunnelOverheadBytes returns the most bytes that a protocol adds to a packet.
func TunnelOverheadBytes(protocol string) int {
	if protocol == ProtocolIPsec {
		return IPsecOverheadBytes
	}
	return WireGuardOverheadBytes
}

func (g *Gateway) validate(c *Config) error {
	for _, err := range []error{
		oneOf("protocol", g.Protocol, ProtocolWireGuard, ProtocolIPsec),
		oneOf("implementation", g.Implementation, ImplementationAuto, ImplementationKernel, ImplementationUserspace),
	} {
		if err != nil {
			return err
		}
	}
	if g.Protocol == ProtocolIPsec && g.Implementation != ImplementationKernel {
		return fmt.Errorf("implementation: IPsec is the kernel's, want %q", ImplementationKernel)
	}
	if g.Threads < 0 || g.Threads > 0 && g.Implementation != ImplementationUserspace {
		return fmt.Errorf("threads: %d, but only WireGuard in user space can be bound; leave it out, or set implementation to %q", g.Threads, ImplementationUserspace)
	}
	var tunnelPort *Port
	for i := range c.Ports {
		if c.Ports[i].Name == g.Port {
			tunnelPort = &c.Ports[i]
		}
	}
	if tunnelPort == nil {
		return fmt.Errorf("port: no port is called %q", g.Port)
	}
	if err := g.validateAddresses(c, tunnelPort); err != nil {
		return err
	}
	if least := g.TunnelMTUBytes + TunnelOverheadBytes(g.Protocol); g.TunnelMTUBytes < minMTUBytes || least > tunnelPort.MTUBytes {
		return fmt.Errorf("tunnelMTUBytes: %d is not between %d and %d, which is what port %q carries less %d bytes of overhead",
			g.TunnelMTUBytes, minMTUBytes, tunnelPort.MTUBytes-TunnelOverheadBytes(g.Protocol), g.Port, TunnelOverheadBytes(g.Protocol))
	}
	return g.validateProtocol()
}

func (g *Gateway) validateAddresses(c *Config, port *Port) error {
	if !g.Local.Is4() || !slicesContainAddress(port.Addresses, g.Local) {
		return fmt.Errorf("local: %q is not an IPv4 address of port %q", g.Local, g.Port)
	}
	known := false
	for _, neighbor := range c.Neighbors {
		known = known || neighbor.Address == g.Peer && neighbor.Port == g.Port
	}
	if !g.Peer.Is4() || !known {
		return fmt.Errorf("peer: %q is not an IPv4 neighbor on port %q", g.Peer, g.Port)
	}
	for field, networks := range map[string][]netip.Prefix{"localNetworks": g.LocalNetworks, "remoteNetworks": g.RemoteNetworks} {
		if len(networks) == 0 {
			return fmt.Errorf("%s: one or more needed", field)
		}
		for i, network := range networks {
			if err := validateNetwork(network); err != nil {
				return fmt.Errorf("%s[%d]: %w", field, i, err)
			}
			if network != network.Masked() {
				return fmt.Errorf("%s[%d]: %q has host bits, want %q", field, i, network, network.Masked())
			}
			if overlapsAny(network, port.Addresses) {
				return fmt.Errorf("%s[%d]: %q overlaps the network between the gateways", field, i, network)
			}
		}
	}
	return nil
}

func (g *Gateway) validateProtocol() error {
	files := map[string]string{"keys.private": g.Keys.Private, "keys.peerPublic": g.Keys.PeerPublic, "keys.preshared": g.Keys.Preshared}
	if g.Protocol == ProtocolIPsec {
		files = map[string]string{"keys.out": g.Keys.Out, "keys.in": g.Keys.In}
		// 0 to 255 are reserved (RFC 4303 section 2.1).
		if g.SPIOut < 256 || g.SPIIn < 256 || g.SPIOut == g.SPIIn {
			return fmt.Errorf("spiOut: %d and spiIn: %d must differ and be at least 256", g.SPIOut, g.SPIIn)
		}
	} else if g.ListenPort < 1 || g.ListenPort > maxPort {
		return fmt.Errorf("listenPort: %d is not a UDP port", g.ListenPort)
	}
	for field, name := range files {
		if name == "" || name != filepath.Base(name) || name == ".." || name == "." {
			return fmt.Errorf("%s: %q is not a file name", field, name)
		}
	}
	return nil
}

func slicesContainAddress(prefixes []netip.Prefix, address netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Addr() == address {
			return true
		}
	}
	return false
}
