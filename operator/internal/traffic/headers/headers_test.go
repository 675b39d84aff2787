package headers

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/measure"
)

func streamIPv4() measure.Stream {
	return measure.Stream{
		Direction: measure.Forward, SourceMAC: "02:00:00:00:00:01", DestinationMAC: "02:00:00:00:00:02",
		SourceAddress: netip.MustParseAddr("198.18.0.2"), DestinationAddress: netip.MustParseAddr("198.19.0.2"),
		SourcePort: 49152, DestinationPort: 7,
	}
}

func streamIPv6() measure.Stream {
	s := streamIPv4()
	s.SourceAddress, s.DestinationAddress = netip.MustParseAddr("2001:2:0:1::2"), netip.MustParseAddr("2001:2:0:2::2")
	return s
}

// reference computes the one's complement sum as RFC 1071's own program does: big-endian
// words, one after the other.
func reference(parts ...[]byte) uint16 {
	sum := uint32(0)
	for _, part := range parts {
		for i := 0; i+1 < len(part); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(part[i:]))
			sum = sum&0xffff + sum>>16
		}
	}
	return uint16(sum)
}

func TestPutIPv4(t *testing.T) {
	frame := make([]byte, 60)
	udp := Put(frame, streamIPv4())
	want := "020000000002" + "020000000001" + "0800" +
		"4500002e" + "00000000" + "4011" + "0000" + "c6120002" + "c6130002" +
		"c000" + "0007" + "001a" + "0000"
	got := bytes.Clone(frame[:Bytes(streamIPv4())])
	copy(got[24:], []byte{0, 0}) // the checksum, which the test checks below
	if hex.EncodeToString(got) != want {
		t.Errorf("got  %x\nwant %s", got, want)
	}
	if reference(frame[EthernetBytes:][:IPv4Bytes]) != 0xffff {
		t.Error("the IPv4 header's checksum is wrong")
	}
	if len(udp) != 60-EthernetBytes-IPv4Bytes {
		t.Errorf("%d bytes of UDP", len(udp))
	}
}

func TestPutIPv6(t *testing.T) {
	frame := make([]byte, 100)
	s := streamIPv6()
	udp := Put(frame, s)
	ip := frame[EthernetBytes:]
	if binary.BigEndian.Uint16(frame[12:]) != EtherTypeIPv6 || ip[0] != 0x60 || ip[6] != ProtocolUDP || ip[7] != HopLimit ||
		int(binary.BigEndian.Uint16(ip[4:])) != len(udp) {
		t.Errorf("header %x", ip[:IPv6Bytes])
	}
	binary.NativeEndian.PutUint16(udp[6:], ^Fold(Sum(PseudoSum(ip, len(udp)), udp)))
	pseudo := binary.BigEndian.AppendUint32(nil, uint32(len(udp)))
	pseudo = binary.BigEndian.AppendUint32(pseudo, ProtocolUDP)
	if reference(ip[8:IPv6Bytes], pseudo, udp) != 0xffff {
		t.Error("the UDP checksum is wrong")
	}
}

func TestInVLAN(t *testing.T) {
	frame := make([]byte, 60)
	Put(frame, streamIPv4())
	tagged := InVLAN(frame, 4094)
	want := append(append(bytes.Clone(frame[:12]), 0x81, 0x00, 0x0f, 0xfe), frame[12:]...)
	if !bytes.Equal(tagged, want) {
		t.Errorf("got %x\nwant %x", tagged, want)
	}
	path := measure.Path{Ports: [2]measure.Port{{Interface: "west", VLAN: MaximumVLAN + 1}, {}}}
	if err := CheckVLANs(path); err == nil || !strings.Contains(err.Error(), `"west"`) {
		t.Errorf("a reserved number: %v", err)
	}
}

func TestFlowWordsAreWhereTheFrameHasThem(t *testing.T) {
	for name, s := range map[string]measure.Stream{"IPv4": streamIPv4(), "IPv6": streamIPv6()} {
		frame := make([]byte, 100)
		Put(frame, s)
		for _, word := range FlowWords(s) {
			if got := binary.BigEndian.Uint16(frame[word.Offset:]); got != word.First {
				t.Errorf("%s: %s is %d in the frame, want %d", name, word.Field, got, word.First)
			}
		}
	}
}

func TestMinimumFrameBytes(t *testing.T) {
	if got := MinimumFrameBytes(streamIPv4(), 16); got != 64 {
		t.Errorf("IPv4: %d", got)
	}
	if got := MinimumFrameBytes(streamIPv6(), 16); got != 82 {
		t.Errorf("IPv6: %d", got)
	}
}

func TestCheck(t *testing.T) {
	for name, spoil := range map[string]func(*measure.Stream){
		"no Ethernet address": func(s *measure.Stream) { s.SourceMAC = "02:00" },
		"no address":          func(s *measure.Stream) { s.DestinationAddress = netip.Addr{} },
		"two families":        func(s *measure.Stream) { s.DestinationAddress = streamIPv6().DestinationAddress },
		"a share of 101 %":    func(s *measure.Stream) { s.LoadPercent = 101 },
		"too many flows": func(s *measure.Stream) {
			s.Flows = &measure.Flows{Count: 40_000, Fields: []measure.FlowField{measure.FlowSourceAddress}}
		},
		"a port beyond its word": func(s *measure.Stream) {
			s.Flows = &measure.Flows{Count: 20_000, Fields: []measure.FlowField{measure.FlowSourcePort}}
		},
	} {
		s := streamIPv4()
		spoil(&s)
		if err := Check(s); err == nil {
			t.Errorf("%s: nothing was wrong", name)
		}
	}
	if err := Check(streamIPv6()); err != nil {
		t.Error(err)
	}
}
