package xdp

import (
	"encoding/binary"
	"fmt"
	"math"

	"vnfbench.io/operator/internal/measure"
)

// flowWord is a field's 16-bit word in a stream.
type flowWord struct {
	field measure.FlowField
	first uint16
}

// flowWords are in layout.h's order: the last words of both addresses, and the ports.
func flowWords(s measure.Stream) [4]flowWord {
	source, destination := s.SourceAddress.AsSlice(), s.DestinationAddress.AsSlice()
	last := func(address []byte) uint16 { return binary.BigEndian.Uint16(address[len(address)-2:]) }
	return [4]flowWord{
		{measure.FlowSourceAddress, last(source)},
		{measure.FlowDestinationAddress, last(destination)},
		{measure.FlowSourcePort, s.SourcePort},
		{measure.FlowDestinationPort, s.DestinationPort},
	}
}

// checkFlows wants every field to count up within its word: neither an address
// leaves its network nor a port its range.
func checkFlows(s measure.Stream) error {
	if err := s.Flows.Check(); err != nil {
		return fmt.Errorf("stream %s: %w", s.Direction, err)
	}
	for _, word := range flowWords(s) {
		if last := int(word.first) + s.Flows.Values(word.field) - 1; last > math.MaxUint16 {
			return fmt.Errorf("stream %s: %s counts up to %d, beyond 16 bits", s.Direction, word.field, last)
		}
	}
	return nil
}

// openFlows takes the words that vary out of the checksums.
func (t *template) openFlows(s measure.Stream) {
	var words uint64
	for i, word := range flowWords(s) {
		t.flowFields[i] = trafficFlowField{First: uint32(word.first), Values: uint32(s.Flows.Values(word.field))}
		inMemory := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, word.first))
		if t.checksumOffset > 0 || i < 2 { // an IPv4 header has no ports
			words += uint64(inMemory)
		}
	}
	sum := uint64(t.checksumBase)
	if t.checksumOffset == 0 {
		header := append([]byte(nil), t.frame[ethernetBytes:][:ipv4Bytes]...)
		header[10], header[11] = 0, 0
		sum = sumWords(0, header)
	}
	// One's complement subtraction: the complement is added (RFC 1624).
	t.checksumBase = uint32(fold(sum + uint64(^fold(words))))
}
