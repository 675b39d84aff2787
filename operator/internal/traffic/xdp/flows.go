package xdp

import (
	"encoding/binary"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

// openFlows takes the words that vary out of the checksums.
func (t *template) openFlows(s measure.Stream) {
	var words uint64
	for i, word := range headers.FlowWords(s) {
		t.flowFields[i] = trafficFlowField{First: uint32(word.First), Values: uint32(s.Flows.Values(word.Field))}
		inMemory := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, word.First))
		if t.checksumOffset > 0 || i < 2 { // an IPv4 header has no ports
			words += uint64(inMemory)
		}
	}
	sum := uint64(t.checksumBase)
	if t.checksumOffset == 0 {
		header := append([]byte(nil), t.frame[ethernetBytes:][:ipv4Bytes]...)
		header[10], header[11] = 0, 0
		sum = headers.Sum(0, header)
	}
	// One's complement subtraction: the complement is added (RFC 1624).
	t.checksumBase = uint32(headers.Fold(sum + uint64(^headers.Fold(words))))
}
