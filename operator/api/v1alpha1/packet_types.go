package v1alpha1

import "fmt"

// Packet is a UDP packet that is sent in fragments.
type Packet struct {
	// payloadBytes of UDP. With the headers of UDP and IP it must be more than the path's
	// MTU. Use frameBytes for what fits a frame.
	// +required
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65507
	PayloadBytes int32 `json:"payloadBytes,omitempty"`
}

// Bytes of Ethernet II, IP, UDP and check sequence that a packet's frame would have in one piece,
// in addition to the UDP payload.
const (
	packetOverIPv4Bytes = 46
	packetOverIPv6Bytes = 66
)

// FrameBytes returns the size of the frame that the packet would be in one piece: the frameBytes
// of its results.
func (p Packet) FrameBytes(family IPFamily) int32 {
	if family == FamilyIPv6 {
		return p.PayloadBytes + packetOverIPv6Bytes
	}
	return p.PayloadBytes + packetOverIPv4Bytes
}

// SizeName returns the name of the packet in results, such as "udp-4096".
func (p Packet) SizeName() string { return fmt.Sprintf("udp-%d", p.PayloadBytes) }

// PacketResult says how a packet was sent.
type PacketResult struct {
	// payloadBytes of UDP.
	// +required
	PayloadBytes int32 `json:"payloadBytes,omitempty"`

	// fragments of each packet, one in a frame.
	// +required
	Fragments int32 `json:"fragments,omitempty"`
}
