package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"vnfbench.io/operator/internal/measure"
)

const (
	ethernetBytes = 14
	ipv4Bytes     = 20
	ipv6Bytes     = 40
	udpBytes      = 8
	// signatureBytes is layout.h's struct signature.
	signatureBytes = 16

	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	protocolUDP   = 17
	hopLimit      = 64
)

// template is one stream's frame without its check sequence: all headers, a
// zero signature and zero payload. The program writes it whole into every
// buffer and then fills in what changes.
type template struct {
	frame         []byte
	payloadOffset int
	// checksumOffset is 0 over IPv4, where UDP may go without.
	checksumOffset int
	// checksumBase is the sum that the UDP checksum starts from: all of its
	// words in the CPU's byte order, the signature's left out.
	checksumBase uint32
	// flowFields are the words that the program counts up, where there are many
	// flows: then checksumBase is without them, and over IPv4 it is that of the
	// IP header, whose checksum the program completes.
	flowFields [4]trafficFlowField
}

// minFrameBytes is the least size that holds the signature: 64 over IPv4, 82 over IPv6.
func minFrameBytes(s measure.Stream) int {
	if s.SourceAddress.Unmap().Is4() {
		return 64
	}
	return ethernetBytes + ipv6Bytes + udpBytes + signatureBytes + measure.FrameCheckSequenceBytes
}

func newTemplate(s measure.Stream, frameBytes int) (template, error) {
	if err := checkStream(s); err != nil {
		return template{}, err
	}
	frame := make([]byte, frameBytes-measure.FrameCheckSequenceBytes)
	source, _ := net.ParseMAC(s.SourceMAC)
	destination, _ := net.ParseMAC(s.DestinationMAC)
	copy(frame[0:], destination)
	copy(frame[6:], source)
	var out template
	if s.SourceAddress.Unmap().Is4() {
		putIPv4(frame, s)
		out = template{frame: frame, payloadOffset: ethernetBytes + ipv4Bytes + udpBytes}
	} else {
		base := putIPv6(frame, s)
		at := ethernetBytes + ipv6Bytes + udpBytes
		out = template{frame: frame, payloadOffset: at, checksumOffset: at - 2, checksumBase: base}
	}
	if s.Flows != nil {
		out.openFlows(s)
	}
	return out, nil
}

func checkStream(s measure.Stream) error {
	for _, mac := range []string{s.SourceMAC, s.DestinationMAC} {
		if parsed, err := net.ParseMAC(mac); err != nil || len(parsed) != 6 {
			return fmt.Errorf("stream %s: %q is no Ethernet address", s.Direction, mac)
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

// putIPv4Header writes all of it but the checksum, and returns the IP packet.
func putIPv4Header(frame []byte, s measure.Stream) []byte {
	binary.BigEndian.PutUint16(frame[12:], etherTypeIPv4)
	ip := frame[ethernetBytes:]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[8], ip[9] = hopLimit, protocolUDP
	source, destination := s.SourceAddress.Unmap().As4(), s.DestinationAddress.Unmap().As4()
	copy(ip[12:], source[:])
	copy(ip[16:], destination[:])
	return ip
}

func putIPv4(frame []byte, s measure.Stream) {
	ip := putIPv4Header(frame, s)
	binary.NativeEndian.PutUint16(ip[10:], ^fold(sumWords(0, ip[:ipv4Bytes])))
	putUDP(ip[ipv4Bytes:], s)
}

func putIPv6(frame []byte, s measure.Stream) (checksumBase uint32) {
	binary.BigEndian.PutUint16(frame[12:], etherTypeIPv6)
	ip := frame[ethernetBytes:]
	ip[0] = 0x60
	udp := ip[ipv6Bytes:]
	binary.BigEndian.PutUint16(ip[4:], uint16(len(udp)))
	ip[6], ip[7] = protocolUDP, hopLimit
	source, destination := s.SourceAddress.As16(), s.DestinationAddress.As16()
	copy(ip[8:], source[:])
	copy(ip[24:], destination[:])
	putUDP(udp, s)

	// The pseudo-header of RFC 8200 section 8.1 ends in length and protocol.
	pseudo := make([]byte, 8)
	binary.BigEndian.PutUint32(pseudo, uint32(len(udp)))
	pseudo[7] = protocolUDP
	sum := sumWords(0, ip[8:ipv6Bytes])
	sum = sumWords(sum, pseudo)
	sum = sumWords(sum, udp[:udpBytes])
	return uint32(fold(sum))
}

func putUDP(udp []byte, s measure.Stream) {
	binary.BigEndian.PutUint16(udp[0:], s.SourcePort)
	binary.BigEndian.PutUint16(udp[2:], s.DestinationPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
}

// sumWords adds up 16-bit words as they lie in memory: the one's complement
// sum comes out right in either byte order when its result is stored the same
// way (RFC 1071 section 2B).
func sumWords(sum uint64, b []byte) uint64 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint64(binary.NativeEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(binary.NativeEndian.Uint16([]byte{b[0], 0}))
	}
	return sum
}

func fold(sum uint64) uint16 {
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}
