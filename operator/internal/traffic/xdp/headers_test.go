package xdp

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

func streamIPv4() measure.Stream {
	return measure.Stream{
		Direction: measure.Forward, SourceMAC: "02:00:00:00:00:01", DestinationMAC: "02:00:00:00:00:02",
		SourceAddress: netip.MustParseAddr("198.18.0.2"), DestinationAddress: netip.MustParseAddr("198.19.0.2"),
		SourcePort: 1024, DestinationPort: 2048,
	}
}

func streamIPv6() measure.Stream {
	s := streamIPv4()
	s.SourceAddress, s.DestinationAddress = netip.MustParseAddr("2001:2:0:1::2"), netip.MustParseAddr("2001:2:0:2::2")
	return s
}

func TestTemplateBytes(t *testing.T) {
	for name, c := range map[string]struct {
		stream measure.Stream
		bytes  int
		want   string
	}{
		"IPv4, 64 bytes": {streamIPv4(), 64, `020000000002 020000000001 0800
			45 00 002e 0000 0000 40 11 ee95 c6120002 c6130002
			0400 0800 001a 0000` + strings.Repeat("00", 18)},
		"IPv6, 82 bytes": {streamIPv6(), 82, `020000000002 020000000001 86dd
			60000000 0018 11 40 20010002000000010000000000000002 20010002000000020000000000000002
			0400 0800 0018 0000` + strings.Repeat("00", 16)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newTemplate(c.stream, c.bytes)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(strings.Fields(c.want), "")
			if hex.EncodeToString(got.frame) != want {
				t.Errorf("got  %x\nwant %s", got.frame, want)
			}
		})
	}
}

// referenceSum follows RFC 1071 literally: big-endian words.
func referenceSum(parts ...[]byte) uint16 {
	var sum uint32
	for _, b := range parts {
		if len(b)%2 == 1 {
			b = append(append([]byte{}, b...), 0)
		}
		for ; len(b) > 0; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
			sum = sum&0xffff + sum>>16
		}
	}
	return uint16(sum)
}

// checkChecksums returns what is wrong with a finished frame's.
func checkChecksums(frame []byte) string {
	ip := frame[ethernetBytes:]
	if binary.BigEndian.Uint16(frame[12:]) == headers.EtherTypeIPv4 {
		if referenceSum(ip[:ipv4Bytes]) != 0xffff {
			return "the IPv4 header's checksum is wrong"
		}
		return ""
	}
	udp := ip[ipv6Bytes:]
	if binary.BigEndian.Uint16(udp[6:]) == 0 {
		return "there is no UDP checksum over IPv6"
	}
	pseudo := binary.BigEndian.AppendUint32(nil, uint32(len(udp)))
	pseudo = binary.BigEndian.AppendUint32(pseudo, headers.ProtocolUDP)
	if referenceSum(ip[8:ipv6Bytes], pseudo, udp) != 0xffff {
		return "the UDP checksum is wrong"
	}
	return ""
}

func TestTemplateChecksums(t *testing.T) {
	for bytes := 82; bytes < 200; bytes++ {
		four, err := newTemplate(streamIPv4(), bytes)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := checkChecksums(four.frame); wrong != "" {
			t.Fatalf("%d bytes: %s", bytes, wrong)
		}
		six, err := newTemplate(streamIPv6(), bytes)
		if err != nil {
			t.Fatal(err)
		}
		// Finish the frame as the program does.
		signature := six.frame[six.payloadOffset:][:signatureBytes]
		copy(signature, "an odd signature")
		binary.NativeEndian.PutUint16(six.frame[six.checksumOffset:], ^headers.Fold(headers.Sum(uint64(six.checksumBase), signature)))
		if wrong := checkChecksums(six.frame); wrong != "" {
			t.Fatalf("%d bytes: %s", bytes, wrong)
		}
	}
}

func TestTemplateRefusesBadStreams(t *testing.T) {
	for name, spoil := range map[string]func(*measure.Stream){
		"no source MAC":     func(s *measure.Stream) { s.SourceMAC = "" },
		"an InfiniBand MAC": func(s *measure.Stream) { s.DestinationMAC = "02:00:5e:10:00:00:00:01" },
		"no address":        func(s *measure.Stream) { s.SourceAddress = netip.Addr{} },
		"two families":      func(s *measure.Stream) { s.DestinationAddress = netip.MustParseAddr("2001:2::1") },
	} {
		s := streamIPv4()
		spoil(&s)
		if _, err := newTemplate(s, 128); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
