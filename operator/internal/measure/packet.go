package measure

import "fmt"

// Packet is a UDP packet that is too large for one frame and is sent as IP fragments (RFC
// 791 section 2.3, RFC 8200 section 4.5). If a trial has one, a frame in its load, its
// counts and its delays is such a packet; what is on the wire is called a fragment.
type Packet struct {
	// PayloadBytes of UDP, up to MaximumPacketPayloadBytes.
	PayloadBytes int `json:"payloadBytes"`
	// IPVersion is 4 or 6.
	IPVersion int `json:"ipVersion"`
	// MTUBytes is the size limit of each fragment's IP packet.
	MTUBytes int `json:"mtuBytes"`
}

const (
	// MaximumPacketPayloadBytes is the most that UDP carries over IPv4.
	MaximumPacketPayloadBytes = 65_507
	// MaximumFragments is the most that a packet can have, so that a driver can mark each in
	// one word.
	MaximumFragments = 64

	ethernetHeaderBytes = 14
	udpHeaderBytes      = 8
	ipv4HeaderBytes     = 20
	ipv6HeaderBytes     = 40
	// ipv6FragmentHeaderBytes follow the IPv6 header of a fragment.
	ipv6FragmentHeaderBytes = 8
	// leastFragmentBytes of data are in every fragment, so that it has room for a
	// driver's signature wherever it begins, and fills the smallest frame.
	leastFragmentBytes = 32
)

// Check returns why a packet cannot be sent in fragments.
func (p Packet) Check() error {
	switch {
	case p.IPVersion != 4 && p.IPVersion != 6:
		return fmt.Errorf("a packet of IP version %d", p.IPVersion)
	case p.PayloadBytes < 1 || p.PayloadBytes > MaximumPacketPayloadBytes:
		return fmt.Errorf("a packet of %d bytes of UDP payload: there can be 1 to %d", p.PayloadBytes, MaximumPacketPayloadBytes)
	case p.MTUBytes < p.headerBytes()+2*leastFragmentBytes:
		return fmt.Errorf("fragments of an MTU of %d bytes", p.MTUBytes)
	case p.FragmentCount() < 2:
		return fmt.Errorf("a packet of %d bytes of UDP payload fits one frame with an MTU of %d bytes", p.PayloadBytes, p.MTUBytes)
	case p.FragmentCount() > MaximumFragments:
		return fmt.Errorf("a packet of %d bytes of UDP payload makes %d fragments with an MTU of %d bytes: there can be %d",
			p.PayloadBytes, p.FragmentCount(), p.MTUBytes, MaximumFragments)
	}
	return nil
}

// headerBytes returns the size of the IP headers in each fragment.
func (p Packet) headerBytes() int {
	if p.IPVersion == 6 {
		return ipv6HeaderBytes + ipv6FragmentHeaderBytes
	}
	return ipv4HeaderBytes
}

// FrameBytes returns the size of the frame that the packet would be in one piece,
// check sequence included.
func (p Packet) FrameBytes() int {
	ip := ipv4HeaderBytes
	if p.IPVersion == 6 {
		ip = ipv6HeaderBytes
	}
	return ethernetHeaderBytes + ip + p.DataBytes() + FrameCheckSequenceBytes
}

// DataBytes returns the size of what the fragments share: UDP header and payload.
func (p Packet) DataBytes() int { return udpHeaderBytes + p.PayloadBytes }

// ChunkBytes returns the size of the data in every fragment but the last: the largest
// multiple of 8 that fits the MTU, or a few bytes less if the last one would be too small.
// A device that reassembles and fragments again for the same size finds the same bounds.
func (p Packet) ChunkBytes() int {
	chunk := (p.MTUBytes - p.headerBytes()) / 8 * 8
	for chunk > leastFragmentBytes {
		if last := p.DataBytes() % chunk; last == 0 || last >= leastFragmentBytes {
			break
		}
		chunk -= 8
	}
	return chunk
}

// FragmentCount returns the number of fragments, each a frame, of the packet.
func (p Packet) FragmentCount() int {
	return (p.DataBytes() + p.ChunkBytes() - 1) / p.ChunkBytes()
}

// FragmentFrameBytes returns the sizes of the fragments' frames, check sequence included.
func (p Packet) FragmentFrameBytes() []int {
	var sizes []int
	for rest := p.DataBytes(); rest > 0; rest -= p.ChunkBytes() {
		sizes = append(sizes, ethernetHeaderBytes+p.headerBytes()+min(rest, p.ChunkBytes())+FrameCheckSequenceBytes)
	}
	return sizes
}

// onWire returns the packet's frames and bytes on the wire.
func (p Packet) onWire() (bytes, frames int) {
	for _, size := range p.FragmentFrameBytes() {
		bytes += size
		frames++
	}
	return bytes, frames
}

// Layer1BitsPerSecond returns the packets' rate on the wire, including preamble and gap of
// every fragment.
func (p Packet) Layer1BitsPerSecond(packetsPerSecond float64) float64 {
	bytes, frames := p.onWire()
	return packetsPerSecond * float64(bytes+frames*FrameOverheadBytes) * 8
}

// bitsInto returns the number of packets in bits per second with an overhead for each
// frame.
func (p Packet) bitsInto(bitsPerSecond uint64, overhead int) uint64 {
	bytes, frames := p.onWire()
	return bitsPerSecond / (uint64(bytes+frames*overhead) * 8)
}
