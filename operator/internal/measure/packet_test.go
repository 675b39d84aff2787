package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPacketFragments(t *testing.T) {
	for name, c := range map[string]struct {
		packet Packet
		frame  int
		want   []int
	}{
		// 4096 + 8 = 1480 + 1480 + 1144, with 38 bytes of Ethernet and IPv4.
		"IPv4":              {Packet{4096, 4, 1500}, 4142, []int{1518, 1518, 1182}},
		"IPv6":              {Packet{4096, 6, 1500}, 4162, []int{1448 + 66, 1448 + 66, 1208 + 66}},
		"full to the end":   {Packet{2952, 4, 1500}, 2998, []int{1518, 1518}},
		"no multiple of 8":  {Packet{2952, 4, 1507}, 2998, []int{1518, 1518}},
		"a tail of 8 bytes": {Packet{2960, 4, 1500}, 3006, []int{1472 - 8 + 38 + 0, 1464 + 38, 40 + 38}},
		"a tail of 1 byte":  {Packet{2953, 4, 1500}, 2999, []int{1464 + 38, 1464 + 38, 33 + 38}},
	} {
		if err := c.packet.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, c.packet.FragmentFrameBytes()); diff != "" || c.packet.FragmentCount() != len(c.want) || c.packet.FrameBytes() != c.frame {
			t.Errorf("%s: goes by %d bytes, want %d; fragments (-want +got):\n%s", name, c.packet.FrameBytes(), c.frame, diff)
		}
	}
}

// For every size and MTU: all data is sent, only the last fragment may be no multiple of 8,
// and each fits the MTU and holds a signature.
func TestEveryPacketIsSharedOut(t *testing.T) {
	for _, version := range []int{4, 6} {
		for mtu := 1280; mtu <= 3394; mtu += 37 {
			for payload := 3400; payload <= MaximumPacketPayloadBytes; payload += 101 {
				p := Packet{payload, version, mtu}
				if err := p.Check(); err != nil {
					t.Fatal(err)
				}
				sizes, sum := p.FragmentFrameBytes(), 0
				overhead := ethernetHeaderBytes + p.headerBytes() + FrameCheckSequenceBytes
				for i, size := range sizes {
					data := size - overhead
					sum += data
					if size-18 > mtu || data < 32 || (i < len(sizes)-1 && (data%8 != 0 || data != p.ChunkBytes())) {
						t.Fatalf("%+v: fragment %d has %d bytes", p, i, size)
					}
				}
				if sum != payload+8 || len(sizes) != p.FragmentCount() {
					t.Fatalf("%+v: %d bytes in %d fragments", p, sum, len(sizes))
				}
			}
		}
	}
}

func TestPacketsRefused(t *testing.T) {
	for name, p := range map[string]Packet{
		"fits": {1472, 4, 1500}, "nothing": {0, 4, 1500}, "too large": {65508, 4, 1500}, "no family": {4096, 5, 1500},
		"no MTU": {4096, 4, 20}, "too many": {65507, 4, 576},
	} {
		if p.Check() == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
}

// The rates are those of all fragments on the wire.
func TestRatesOfPackets(t *testing.T) {
	p := Packet{4096, 4, 1500}
	size := PacketSize(p)
	i := Instructions{Sizes: []Size{FrameSize(64), size}, LinkBitsPerSecond: 1e9}
	if err := i.CheckSizes(); err != nil {
		t.Fatal(err)
	}
	const wire uint64 = (1518 + 1518 + 1182 + 3*20) * 8
	for name, c := range map[string]struct{ got, want uint64 }{
		"line rate":   {i.LineRateFramesPerSecond(size), 1_000_000_000 / wire},
		"layer 1":     {i.FramesPerSecond(layer1(int64(10*wire)), size), 10},
		"layer 2":     {i.FramesPerSecond(layer2(int64(10*(wire-60*8))), size), 10},
		"percent":     {i.FramesPerSecond(ofLineRate(50), size), 1_000_000_000 / wire / 2},
		"packets":     {i.FramesPerSecond(frames(7), size), 7},
		"bits":        {uint64(p.Layer1BitsPerSecond(3)), 3 * wire},
		"other sizes": {i.LineRateFramesPerSecond(FrameSize(64)), LineRateFramesPerSecond(1e9, 64)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	impossible := p
	impossible.PayloadBytes = 100
	for name, bad := range map[string][]Size{
		"twice":      {size, size},
		"impossible": {PacketSize(impossible)},
		"nameless":   {{FrameBytes: 64}},
		"two things": {{Name: "both", Mix: new(simple()), Packet: &p}},
	} {
		i.Sizes = bad
		if i.CheckSizes() == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
}
