package trex

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

// program is what a stream's flows change in each packet.
type program struct {
	instructions []any
	seed         uint32
	// evens says that the instructions leave the sum of all words as it is in the packet,
	// so that its UDP checksum stays right.
	evens bool
}

const (
	flowName    = "flow"
	restName    = "rest"
	ofAddress   = flowName + ".ip"
	ofPort      = flowName + ".port"
	wordMask    = 0xffff
	firstOfPair = 1
)

// flowsAlike returns the largest number of flows that TRex makes by measure.Flows' own
// rule, with all fields counting up at once: that of the field with the fewest values.
func flowsAlike(f measure.Flows) int {
	count := measure.MaximumFlows
	for _, field := range f.Fields {
		one := f
		one.Count = measure.MaximumFlows
		count = min(count, one.Values(field))
	}
	return count
}

// checkFlows returns why TRex cannot send flows.
func checkFlows(s measure.Stream) error {
	if f := s.Flows; f != nil && f.Random && f.Count > flowsAlike(*f) {
		return fmt.Errorf("stream %s: %d random flows, and a field of theirs has %d values", s.Direction, f.Count, flowsAlike(*f))
	}
	return nil
}

// programOf makes the flows of a stream. shift is how far a VLAN tag moves the headers,
// number distinguishes streams of one direction, and payload is where words may be
// written that even out the UDP checksum, 0 if none may.
func programOf(s measure.Stream, shift, number, payload int) program {
	f := s.Flows
	if f == nil || f.Count < 2 || len(f.Fields) == 0 {
		return program{evens: true}
	}
	var varied []headers.FlowWord
	for _, word := range headers.FlowWords(s) {
		if slices.Contains(f.Fields, word.Field) {
			word.Offset += shift
			varied = append(varied, word)
		}
	}
	var p program
	switch {
	case f.Random:
		p = randomProgram(*f, varied, number)
	case f.Count > flowsAlike(*f):
		p = pairedProgram(*f, varied)
	default:
		p = countingProgram(*f, varied, payload)
	}
	if headers.IsIPv4(s) {
		p.instructions = append(p.instructions, fixIPv4Checksum{"fix_checksum_ipv4", headers.EthernetBytes + shift})
	}
	return p
}

// countingProgram makes flow n of packet n. In the payload it counts down as many words
// as it counts up in the headers.
func countingProgram(f measure.Flows, varied []headers.FlowWord, payload int) program {
	last := uint64(f.Count - 1)
	p := program{instructions: []any{variable(flowName, "inc", 2, 0, last)}}
	for _, word := range varied {
		p.write(flowName, word.Offset, int(word.First))
	}
	if payload > 0 {
		p.instructions = append(p.instructions, variable(restName, "dec", 2, last, last))
		for n := range varied {
			p.write(restName, payload+2*n, 0)
		}
		p.evens = true
	}
	return p
}

// randomProgram draws the flow of each packet. A variable of four bytes reaches every
// flow: one of two bytes has 32,768 values.
func randomProgram(f measure.Flows, varied []headers.FlowWord, number int) program {
	p := program{
		instructions: []any{variable(flowName, "random", 4, 0, uint64(f.Count-1))},
		// 0 would use the time.
		seed: max(1, uint32(f.Seed)^uint32(f.Seed>>32)+uint32(number)),
	}
	for _, word := range varied {
		p.writeLow(flowName, word.Offset, int(word.First))
	}
	return p
}

// pairedProgram makes more flows than a field has values, with TRex's pairs: when the
// field with the fewest values wraps, another increases by one, and after Count packets
// everything starts again. The other fields change with the first.
func pairedProgram(f measure.Flows, varied []headers.FlowWord) program {
	values := func(word headers.FlowWord) int { return f.Values(word.Field) }
	slices.SortStableFunc(varied, func(a, b headers.FlowWord) int { return values(a) - values(b) })
	inner, outer := varied[0], varied[1]
	rounds := (f.Count + values(inner) - 1) / values(inner)
	p := program{instructions: []any{tupleVariable{
		Type: "tuple_flow_var", Name: flowName,
		IPMin: firstOfPair, IPMax: uint32(firstOfPair + values(inner) - 1),
		PortMin: firstOfPair, PortMax: uint16(firstOfPair + rounds - 1),
		LimitFlows: uint32(f.Count),
	}}}
	for _, word := range varied {
		if word.Field == outer.Field {
			p.write(ofPort, word.Offset, int(word.First)-firstOfPair)
		} else {
			p.writeLow(ofAddress, word.Offset, int(word.First)-firstOfPair)
		}
	}
	return p
}

func variable(name, op string, size int, init, last uint64) flowVariable {
	return flowVariable{Type: "flow_var", Name: name, Size: size, Op: op, InitValue: init, MaxValue: last, Step: 1, SplitToCores: true}
}

func (p *program) write(name string, offset, add int) {
	p.instructions = append(p.instructions, writeVariable{"write_flow_var", name, offset, add, true})
}

func (p *program) writeLow(name string, offset, add int) {
	p.instructions = append(p.instructions, writeLow{"write_mask_flow_var", name, offset, 2, wordMask, 0, add, true})
}
