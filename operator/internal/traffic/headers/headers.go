// Package headers writes the headers of a stream's frames, the same for every driver. It
// takes a measure.Stream and a buffer, and writes Ethernet II, IPv4 or IPv6, and UDP. A
// frame here is without its check sequence, as all software sees it.
package headers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"vnfbench.io/operator/internal/measure"
)

// The headers' sizes and numbers.
const (
	EthernetBytes = 14
	IPv4Bytes     = 20
	IPv6Bytes     = 40
	UDPBytes      = 8

	EtherTypeIPv4 = 0x0800
	EtherTypeIPv6 = 0x86dd
	ProtocolUDP   = 17
	HopLimit      = 64

	// MinFrameBytes is Ethernet's, check sequence included (IEEE 802.3).
	MinFrameBytes = 64
)

// Check returns why no frame can be made of a stream.
func Check(s measure.Stream) error {
	for _, mac := range []string{s.SourceMAC, s.DestinationMAC} {
		if parsed, err := net.ParseMAC(mac); err != nil || len(parsed) != 6 {
			return fmt.Errorf("stream %s: %q is not an Ethernet address", s.Direction, mac)
		}
	}
	if !s.SourceAddress.IsValid() || !s.DestinationAddress.IsValid() {
		return fmt.Errorf("stream %s: an IP address is missing", s.Direction)
	}
	if s.SourceAddress.Unmap().Is4() != s.DestinationAddress.Unmap().Is4() {
		return errors.New("stream " + string(s.Direction) + ": both IP addresses must be of one family")
	}
	if s.LoadPercent < 0 || s.LoadPercent > 100 {
		return fmt.Errorf("stream %s: a share of %d %% of the load", s.Direction, s.LoadPercent)
	}
	if s.Flows != nil {
		return checkFlows(s)
	}
	return nil
}

// IsIPv4 reports whether a stream is IPv4.
func IsIPv4(s measure.Stream) bool { return s.SourceAddress.Unmap().Is4() }

// Bytes returns the size of a stream's headers before the payload, without a VLAN tag.
func Bytes(s measure.Stream) int {
	if IsIPv4(s) {
		return EthernetBytes + IPv4Bytes + UDPBytes
	}
	return EthernetBytes + IPv6Bytes + UDPBytes
}

// MinimumFrameBytes returns the size of the smallest frame with this payload, check
// sequence included.
func MinimumFrameBytes(s measure.Stream, payloadBytes int) int {
	return max(MinFrameBytes, Bytes(s)+payloadBytes+measure.FrameCheckSequenceBytes)
}

// PutEthernet writes both addresses and the EtherType of the stream's IP.
func PutEthernet(frame []byte, s measure.Stream) {
	source, _ := net.ParseMAC(s.SourceMAC)
	destination, _ := net.ParseMAC(s.DestinationMAC)
	copy(frame[0:], destination)
	copy(frame[6:], source)
	etherType := uint16(EtherTypeIPv6)
	if IsIPv4(s) {
		etherType = EtherTypeIPv4
	}
	binary.BigEndian.PutUint16(frame[12:], etherType)
}

// PutIPv4 writes the IPv4 header except its checksum, and returns the packet.
func PutIPv4(frame []byte, s measure.Stream) []byte {
	ip := frame[EthernetBytes:]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[8], ip[9] = HopLimit, ProtocolUDP
	source, destination := s.SourceAddress.Unmap().As4(), s.DestinationAddress.Unmap().As4()
	copy(ip[12:], source[:])
	copy(ip[16:], destination[:])
	return ip
}

// PutIPv4Checksum completes an IPv4 header.
func PutIPv4Checksum(ip []byte) {
	binary.NativeEndian.PutUint16(ip[10:], ^Fold(Sum(0, ip[:IPv4Bytes])))
}

// PutIPv6 writes the IPv6 header and returns the packet.
func PutIPv6(frame []byte, s measure.Stream, nextHeader byte) []byte {
	ip := frame[EthernetBytes:]
	ip[0] = 0x60
	binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-IPv6Bytes))
	ip[6], ip[7] = nextHeader, HopLimit
	source, destination := s.SourceAddress.As16(), s.DestinationAddress.As16()
	copy(ip[8:], source[:])
	copy(ip[24:], destination[:])
	return ip
}

// PseudoSum returns the sum of the pseudo-header of RFC 8200 section 8.1 for this many
// bytes of UDP, as a start for Sum.
func PseudoSum(ip []byte, udpBytes int) uint64 {
	// It ends in length and protocol.
	pseudo := make([]byte, 8)
	binary.BigEndian.PutUint32(pseudo, uint32(udpBytes))
	pseudo[7] = ProtocolUDP
	return Sum(Sum(0, ip[8:IPv6Bytes]), pseudo)
}

// PutUDP writes the UDP header except its checksum; the datagram fills udp to its end.
func PutUDP(udp []byte, s measure.Stream) {
	binary.BigEndian.PutUint16(udp[0:], s.SourcePort)
	binary.BigEndian.PutUint16(udp[2:], s.DestinationPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
}

// Put writes all headers of a frame, with the IPv4 header's checksum, and returns the UDP
// datagram, whose checksum is 0: none (RFC 768).
func Put(frame []byte, s measure.Stream) (udp []byte) {
	PutEthernet(frame, s)
	if IsIPv4(s) {
		ip := PutIPv4(frame, s)
		PutIPv4Checksum(ip)
		udp = ip[IPv4Bytes:]
	} else {
		udp = PutIPv6(frame, s, ProtocolUDP)[IPv6Bytes:]
	}
	PutUDP(udp, s)
	return udp
}

// Sum adds up 16-bit words in the byte order of memory: the one's complement sum is right
// in either byte order if its result is stored the same way (RFC 1071 section 2B).
func Sum(sum uint64, b []byte) uint64 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint64(binary.NativeEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(binary.NativeEndian.Uint16([]byte{b[0], 0}))
	}
	return sum
}

// Fold returns the one's complement sum of what Sum added up.
func Fold(sum uint64) uint16 {
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}
