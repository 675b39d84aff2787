//go:build linux

package netnstest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	ethernetBytes = 14
	ipv4Bytes     = 20
	ipv6Bytes     = 40
	udpBytes      = 8
	protocolUDP   = 17
	protocolICMP6 = 58
	initialTTL    = 64
)

// Packet is a UDP packet in an Ethernet frame, as a generator sends it and as it arrives at the
// other end.
type Packet struct {
	SourceMAC, DestinationMAC string
	Source, Destination       netip.AddrPort
	// TTL is the time to live, or IPv6's hop limit. 0 sends 64.
	TTL     int
	Payload string
}

// Socket is a raw socket on one interface.
type Socket struct{ fd int }

// Open makes a raw socket on an interface of the namespace.
func (n *Namespace) Open(t testing.TB, iface string) *Socket {
	t.Helper()
	socket := &Socket{fd: -1}
	n.Must(t, func() error {
		link, err := netlink.LinkByName(iface)
		if err != nil {
			return err
		}
		socket.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Bind(socket.fd, &unix.SockaddrLinklayer{
			Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: link.Attrs().Index,
		})
	})
	t.Cleanup(func() { _ = unix.Close(socket.fd) })
	return socket
}

// Send sends one packet.
func (s *Socket) Send(t testing.TB, packet Packet) {
	t.Helper()
	frame, err := packet.Frame()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(s.fd, frame); err != nil {
		t.Fatalf("sending: %v", err)
	}
}

// Receive returns the first UDP packet that arrives within the time, and every other frame that
// came before it. ok is false if no packet arrived.
func (s *Socket) Receive(t testing.TB, within time.Duration) (packet Packet, others [][]byte, ok bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	buffer := make([]byte, 1<<16)
	for {
		remaining := time.Until(deadline)
		if remaining <= 0 {
			return Packet{}, others, false
		}
		timeout := unix.NsecToTimeval(max(remaining, time.Millisecond).Nanoseconds())
		if err := unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
			t.Fatalf("receiving: %v", err)
		}
		n, from, err := unix.Recvfrom(s.fd, buffer, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			t.Fatalf("receiving: %v", err)
		}
		if sender, isLink := from.(*unix.SockaddrLinklayer); isLink && sender.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		packet, err := Parse(buffer[:n])
		if err == nil {
			return packet, others, true
		}
		others = append(others, append([]byte(nil), buffer[:n]...))
	}
}

// IsResolution reports whether a frame is ARP, or neighbor or router discovery (RFC 4861).
func IsResolution(frame []byte) bool {
	if len(frame) < ethernetBytes {
		return false
	}
	switch binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_ARP:
		return true
	case unix.ETH_P_IPV6:
		const icmp = ethernetBytes + ipv6Bytes
		return len(frame) > icmp && frame[ethernetBytes+6] == protocolICMP6 && frame[icmp] >= 133 && frame[icmp] <= 137
	}
	return false
}

// Frame returns the packet as bytes, without the frame check sequence.
func (p Packet) Frame() ([]byte, error) {
	destination, err := net.ParseMAC(p.DestinationMAC)
	if err != nil {
		return nil, err
	}
	source, err := net.ParseMAC(p.SourceMAC)
	if err != nil {
		return nil, err
	}
	ttl := p.TTL
	if ttl == 0 {
		ttl = initialTTL
	}
	udp := make([]byte, udpBytes, udpBytes+len(p.Payload))
	binary.BigEndian.PutUint16(udp[0:], p.Source.Port())
	binary.BigEndian.PutUint16(udp[2:], p.Destination.Port())
	binary.BigEndian.PutUint16(udp[4:], uint16(udpBytes+len(p.Payload)))
	udp = append(udp, p.Payload...)

	frame := append(append([]byte{}, destination...), source...)
	from, to := p.Source.Addr().AsSlice(), p.Destination.Addr().AsSlice()
	if p.Source.Addr().Is4() {
		ip := make([]byte, ipv4Bytes)
		ip[0] = 0x45
		binary.BigEndian.PutUint16(ip[2:], uint16(ipv4Bytes+len(udp)))
		ip[8], ip[9] = byte(ttl), protocolUDP
		copy(ip[12:], from)
		copy(ip[16:], to)
		binary.BigEndian.PutUint16(ip[10:], checksum(ip))
		frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_IP)
		return append(append(frame, ip...), udp...), nil
	}
	// The UDP checksum is mandatory over IPv6 (RFC 8200 section 8.1).
	pseudo := append(append(append([]byte{}, from...), to...), 0, 0, udp[4], udp[5], 0, 0, 0, protocolUDP)
	binary.BigEndian.PutUint16(udp[6:], checksum(append(pseudo, udp...)))
	ip := make([]byte, ipv6Bytes)
	ip[0] = 0x60
	binary.BigEndian.PutUint16(ip[4:], uint16(len(udp)))
	ip[6], ip[7] = protocolUDP, byte(ttl)
	copy(ip[8:], from)
	copy(ip[24:], to)
	frame = binary.BigEndian.AppendUint16(frame, unix.ETH_P_IPV6)
	return append(append(frame, ip...), udp...), nil
}

// Parse reads a UDP packet out of an Ethernet frame.
func Parse(frame []byte) (Packet, error) {
	if len(frame) < ethernetBytes+ipv4Bytes {
		return Packet{}, errors.New("too short")
	}
	packet := Packet{
		DestinationMAC: net.HardwareAddr(frame[0:6]).String(),
		SourceMAC:      net.HardwareAddr(frame[6:12]).String(),
	}
	ip := frame[ethernetBytes:]
	var source, destination, udp []byte
	switch kind := binary.BigEndian.Uint16(frame[12:]); {
	case kind == unix.ETH_P_IP && ip[0] == 0x45 && ip[9] == protocolUDP:
		if checksum(ip[:ipv4Bytes]) != 0 {
			return Packet{}, errors.New("the header's check sum is wrong")
		}
		packet.TTL = int(ip[8])
		source, destination, udp = ip[12:16], ip[16:20], ip[ipv4Bytes:]
	case kind == unix.ETH_P_IPV6 && len(ip) >= ipv6Bytes && ip[6] == protocolUDP:
		packet.TTL = int(ip[7])
		source, destination, udp = ip[8:24], ip[24:40], ip[ipv6Bytes:]
	default:
		return Packet{}, fmt.Errorf("not UDP: type %#x", kind)
	}
	if len(udp) < udpBytes || len(udp) < int(binary.BigEndian.Uint16(udp[4:])) {
		return Packet{}, errors.New("cut off")
	}
	from, _ := netip.AddrFromSlice(source)
	to, _ := netip.AddrFromSlice(destination)
	packet.Source = netip.AddrPortFrom(from, binary.BigEndian.Uint16(udp[0:]))
	packet.Destination = netip.AddrPortFrom(to, binary.BigEndian.Uint16(udp[2:]))
	packet.Payload = string(udp[udpBytes:binary.BigEndian.Uint16(udp[4:])])
	return packet, nil
}

// checksum returns the Internet checksum (RFC 1071); over data that includes its checksum, it is 0.
func checksum(data []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	if len(data)%2 == 1 {
		sum += uint32(data[len(data)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func networkOrder(value uint16) uint16 {
	var bytes [2]byte
	binary.BigEndian.PutUint16(bytes[:], value)
	return binary.NativeEndian.Uint16(bytes[:])
}
