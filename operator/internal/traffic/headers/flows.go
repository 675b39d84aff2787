package headers

import (
	"encoding/binary"
	"fmt"
	"math"

	"vnfbench.io/operator/internal/measure"
)

// FlowWord is the 16-bit word of a header that a field of the flows counts up.
type FlowWord struct {
	Field measure.FlowField
	// First is the stream's own value.
	First uint16
	// Offset is the word's place in a frame without a VLAN tag.
	Offset int
}

// FlowWords returns the last words of both addresses, and the ports.
func FlowWords(s measure.Stream) [4]FlowWord {
	source, destination := s.SourceAddress.Unmap().AsSlice(), s.DestinationAddress.Unmap().AsSlice()
	last := func(address []byte) uint16 { return binary.BigEndian.Uint16(address[len(address)-2:]) }
	udp := Bytes(s) - UDPBytes
	return [4]FlowWord{
		{measure.FlowSourceAddress, last(source), udp - len(destination) - 2},
		{measure.FlowDestinationAddress, last(destination), udp - 2},
		{measure.FlowSourcePort, s.SourcePort, udp},
		{measure.FlowDestinationPort, s.DestinationPort, udp + 2},
	}
}

// checkFlows verifies that every field counts up within its word, so that no address
// leaves its network and no port its range.
func checkFlows(s measure.Stream) error {
	if err := s.Flows.Check(); err != nil {
		return fmt.Errorf("stream %s: %w", s.Direction, err)
	}
	for _, word := range FlowWords(s) {
		if last := int(word.First) + s.Flows.Values(word.Field) - 1; last > math.MaxUint16 {
			return fmt.Errorf("stream %s: %s counts up to %d, beyond 16 bits", s.Direction, word.Field, last)
		}
	}
	return nil
}
