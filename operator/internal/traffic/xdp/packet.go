package xdp

import (
	"encoding/binary"
	"fmt"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

const (
	ipv6FragmentBytes = 8
	protocolFragment  = 44
)

// fragment is the template of some of a packet's fragments.
type fragment struct {
	frame []byte
	// wordsAt is where the signature's repetition starts, and stampFirst says that it
	// starts with the second half.
	wordsAt    int
	stampFirst bool
	// checksumBase is, over IPv4, the sum of the header's words except identification,
	// offset and checksum; over IPv6, in the first fragment, that of all that the
	// packet's UDP checksum covers except the signatures.
	checksumBase uint32
}

// fragmentsOf returns a packet's templates by layout.h's FIRST_FRAGMENT and so on; those
// that the packet does not have are empty.
func fragmentsOf(s measure.Stream, p measure.Packet) (templates [4]fragment) {
	last := p.FragmentCount() - 1
	templates[0], templates[3] = newFragment(s, p, 0), newFragment(s, p, last)
	for n := 1; n < min(last, 3); n++ {
		templates[2-n%2] = newFragment(s, p, n)
	}
	return templates
}

// newFragment makes the fragment with number n, without what the program fills in.
func newFragment(s measure.Stream, p measure.Packet, n int) fragment {
	offset := n * p.ChunkBytes()
	data := min(p.ChunkBytes(), p.DataBytes()-offset)
	header := ipv4Bytes
	if p.IPVersion == 6 {
		header = ipv6Bytes + ipv6FragmentBytes
	}
	f := fragment{frame: make([]byte, ethernetBytes+header+data), wordsAt: ethernetBytes + header, stampFirst: (offset/8)%2 == 0}
	headers.PutEthernet(f.frame, s)
	ip := f.frame[ethernetBytes:]
	if n == 0 {
		// The signatures begin after the UDP header.
		f.wordsAt, f.stampFirst = f.wordsAt+udpBytes, false
		headers.PutUDP(ip[header:], s)
		binary.BigEndian.PutUint16(ip[header+4:], uint16(p.DataBytes()))
	}
	if p.IPVersion == 6 {
		f.checksumBase = putIPv6Fragment(f.frame, s, p)
	} else {
		f.checksumBase = putIPv4Fragment(f.frame, s)
	}
	return f
}

func putIPv4Fragment(frame []byte, s measure.Stream) (checksumBase uint32) {
	ip := headers.PutIPv4(frame, s)
	return uint32(headers.Fold(headers.Sum(0, ip[:ipv4Bytes])))
}

func putIPv6Fragment(frame []byte, s measure.Stream, p measure.Packet) (checksumBase uint32) {
	ip := headers.PutIPv6(frame, s, protocolFragment)
	ip[ipv6Bytes] = headers.ProtocolUDP
	// The pseudo-header has the whole packet's length.
	sum := headers.PseudoSum(ip, p.DataBytes())
	return uint32(headers.Fold(headers.Sum(sum, ip[ipv6Bytes+ipv6FragmentBytes:][:udpBytes])))
}

// checkPacket returns why a stream cannot carry a packet.
func checkPacket(s measure.Stream, trial measure.Trial) error {
	p := trial.Packet
	switch {
	case trial.Mix != nil:
		return fmt.Errorf("a trial of packets in fragments has no mix of sizes")
	case s.SourceAddress.Unmap().Is4() != (p.IPVersion == 4):
		return fmt.Errorf("stream %s: its addresses are not those of IP version %d", s.Direction, p.IPVersion)
	case s.Flows != nil && s.Flows.Count > 1:
		return fmt.Errorf("stream %s: packets in fragments are of one flow", s.Direction)
	}
	return nil
}

// putFragments writes a packet's templates into the programs' memory and returns the
// largest, which sets the size of every buffer.
func (d *Driver) putFragments(direction int, s measure.Stream, p measure.Packet) template {
	all := fragmentsOf(s, p)
	for slot, f := range all {
		size := trafficFrameSize{Bytes: uint32(len(f.frame)), ChecksumBase: f.checksumBase, WordsAt: uint32(f.wordsAt)}
		if f.stampFirst {
			size.StampFirst = 1
		}
		d.state.Sizes[direction][slot] = size
		place := &d.state.Templates[direction][slot]
		clear(place[:])
		copy(place[:], f.frame)
	}
	words := p.PayloadBytes / (signatureBytes / 2)
	t := &d.state.Transmitters[direction]
	t.Fragments, t.Chunk = uint32(p.FragmentCount()), uint32(p.ChunkBytes())
	t.SignatureHeads, t.SignatureStamps = uint32(words+1)/2, uint32(words)/2
	r := &d.state.Receivers[direction]
	r.Chunk, r.PacketBytes = t.Chunk, uint32(p.DataBytes())
	if p.IPVersion == 6 {
		t.IsIpv6 = 1
	}
	return template{frame: all[0].frame}
}
