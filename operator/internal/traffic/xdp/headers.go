package xdp

import (
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

const (
	ethernetBytes = headers.EthernetBytes
	ipv4Bytes     = headers.IPv4Bytes
	ipv6Bytes     = headers.IPv6Bytes
	udpBytes      = headers.UDPBytes
	// signatureBytes is the size of layout.h's struct signature.
	signatureBytes = 16
)

// template is one stream's frame without its check sequence: all headers, a zero
// signature and zero payload. The program writes all of it into every buffer and then
// fills in what changes.
type template struct {
	frame         []byte
	payloadOffset int
	// checksumOffset is 0 over IPv4, where UDP needs no checksum.
	checksumOffset int
	// checksumBase is the sum that the UDP checksum starts from: all of its words in the
	// CPU's byte order, except the signature's.
	checksumBase uint32
	// flowFields are the words that the program counts up if there are many flows: then
	// checksumBase excludes them, and over IPv4 it is that of the IP header, whose
	// checksum the program completes.
	flowFields [4]trafficFlowField
}

func newTemplate(s measure.Stream, frameBytes int) (template, error) {
	if err := headers.Check(s); err != nil {
		return template{}, err
	}
	frame := make([]byte, frameBytes-measure.FrameCheckSequenceBytes)
	udp := headers.Put(frame, s)
	out := template{frame: frame, payloadOffset: headers.Bytes(s)}
	if !headers.IsIPv4(s) {
		out.checksumOffset = out.payloadOffset - 2
		sum := headers.PseudoSum(frame[ethernetBytes:], len(udp))
		out.checksumBase = uint32(headers.Fold(headers.Sum(sum, udp[:udpBytes])))
	}
	if s.Flows != nil {
		out.openFlows(s)
	}
	return out, nil
}
