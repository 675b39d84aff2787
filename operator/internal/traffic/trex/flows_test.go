package trex

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

func inIPv6(s measure.Stream) measure.Stream {
	s.SourceAddress, s.DestinationAddress = netip.MustParseAddr("2001:2:0:1::2"), netip.MustParseAddr("2001:2:0:2::2")
	return s
}

// machine runs a stream's program as TRex does (trex_stl_stream_vm.h, v3.08), on one of
// this many cores.
type machine struct {
	packet       []byte
	instructions []any
	values       map[string]uint64
	flow         uint32
	random       uint32
	core, cores  uint64
	begun        bool
}

func newMachine(s stream, core, cores int) *machine {
	m := &machine{packet: slices.Clone(s.Packet.Binary), instructions: s.VM.Instructions, values: map[string]uint64{}, core: uint64(core), cores: uint64(cores)}
	m.random = s.RandomSeed * uint32((core+1)*514229)
	return m
}

func (m *machine) fastrand() uint64 {
	m.random = 214013*m.random + 2531011
	return uint64(m.random>>16) & 0x7fff
}

// next returns the packet after the program's next run.
func (m *machine) next() []byte {
	for _, one := range m.instructions {
		switch i := one.(type) {
		case flowVariable:
			m.run(i)
		case tupleVariable:
			m.runTuple(i)
		case writeVariable:
			binary.BigEndian.PutUint16(m.packet[i.PacketOffset:], uint16(int(m.values[i.Name])+i.AddValue))
		case writeLow:
			at := m.packet[i.PacketOffset:]
			value := uint32(m.values[i.Name]) + uint32(i.AddValue)
			before := uint32(binary.BigEndian.Uint16(at))
			binary.BigEndian.PutUint16(at, uint16(before&^i.Mask|value&i.Mask))
		case fixIPv4Checksum:
			ip := m.packet[i.PacketOffset:]
			ip[10], ip[11] = 0, 0
			headers.PutIPv4Checksum(ip)
		default:
			panic(fmt.Sprintf("%T", one))
		}
	}
	m.begun = true
	return m.packet
}

func (m *machine) run(i flowVariable) {
	span := i.MaxValue - i.MinValue + 1
	switch {
	case i.Op == "random":
		high := m.fastrand()
		m.values[i.Name] = i.MinValue + ((high<<16)+m.fastrand())%span
	case !m.begun && i.Op == "inc":
		m.values[i.Name] = i.MinValue + (i.InitValue-i.MinValue+m.core)%span
	case !m.begun:
		m.values[i.Name] = i.MinValue + (i.InitValue-i.MinValue+span-m.core%span)%span
	case i.Op == "inc":
		m.values[i.Name] = i.MinValue + (m.values[i.Name]-i.MinValue+m.cores)%span
	default:
		m.values[i.Name] = i.MinValue + (m.values[i.Name]-i.MinValue+span-m.cores%span)%span
	}
}

// runTuple runs for one core.
func (m *machine) runTuple(i tupleVariable) {
	ip, port := i.Name+".ip", i.Name+".port"
	m.flow++
	if !m.begun || m.flow > i.LimitFlows {
		m.flow, m.values[ip], m.values[port] = 1, uint64(i.IPMin), uint64(i.PortMin)
		return
	}
	if m.values[ip]++; m.values[ip] > uint64(i.IPMax) {
		m.values[ip] = uint64(i.IPMin)
		if m.values[port]++; m.values[port] > uint64(i.PortMax) {
			m.values[port] = uint64(i.PortMin)
		}
	}
}

// words returns the words that distinguish flows.
func words(s measure.Stream, frame []byte, shift int) (found [4]uint16) {
	for n, word := range headers.FlowWords(s) {
		found[n] = binary.BigEndian.Uint16(frame[word.Offset+shift:])
	}
	return found
}

// wantedWords returns those of flow n by measure.Flows.
func wantedWords(s measure.Stream, n int) (want [4]uint16) {
	for i, word := range headers.FlowWords(s) {
		want[i] = word.First + uint16(n%s.Flows.Values(word.Field))
	}
	return want
}

func loadStream(t *testing.T, s measure.Stream, bytes, vlan int, purpose purpose) stream {
	t.Helper()
	if err := headers.Check(s); err != nil {
		t.Fatal(err)
	}
	return streamOf(s, part{purpose: purpose, frameBytes: bytes, frames: 10, framesPerSecond: 10, group: 1}, 0, vlan)
}

// checksumsAreRight checks the IPv4 header's checksum, and UDP's if there is one.
func checksumsAreRight(s measure.Stream, frame []byte, shift int) string {
	ip := frame[headers.EthernetBytes+shift:]
	if headers.IsIPv4(s) {
		if headers.Fold(headers.Sum(0, ip[:headers.IPv4Bytes])) != 0xffff {
			return "the IPv4 header's checksum is wrong"
		}
		if binary.BigEndian.Uint16(ip[headers.IPv4Bytes+6:]) != 0 {
			return "there is a UDP checksum over IPv4"
		}
		return ""
	}
	udp := ip[headers.IPv6Bytes:]
	if binary.BigEndian.Uint16(udp[6:]) == 0 {
		return "no UDP checksum"
	}
	if headers.Fold(headers.Sum(headers.PseudoSum(ip, len(udp)), udp)) != 0xffff {
		return "the UDP checksum is wrong"
	}
	return ""
}

func TestCountingFlows(t *testing.T) {
	fields := []measure.FlowField{measure.FlowSourceAddress, measure.FlowDestinationAddress, measure.FlowSourcePort, measure.FlowDestinationPort}
	for name, c := range map[string]struct {
		ipv6   bool
		vlan   int
		count  int
		fields []measure.FlowField
		cores  int
	}{
		"all fields":                   {count: 1000, fields: fields, cores: 1},
		"all fields, two cores":        {count: 1000, fields: fields, cores: 2},
		"three cores, not divisible":   {count: 1000, fields: fields, cores: 3},
		"two flows":                    {count: 2, fields: fields[:1], cores: 1},
		"as many as a field has":       {count: 32_766, fields: fields[:1], cores: 1},
		"source ports":                 {count: 64_512, fields: fields[2:3], cores: 1},
		"with a tag":                   {count: 100, fields: fields, vlan: 100, cores: 1},
		"over IPv6":                    {count: 1000, fields: fields, ipv6: true, cores: 1},
		"over IPv6, tagged, two cores": {count: 777, fields: fields[1:3], ipv6: true, vlan: 4094, cores: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := streamTo(measure.Forward)
			if c.ipv6 {
				s = inIPv6(s)
			}
			s.Flows = &measure.Flows{Count: c.count, Fields: c.fields}
			shift := 0
			if c.vlan != 0 {
				shift = 4
			}
			made := loadStream(t, s, 100, c.vlan, load)
			for core := range c.cores {
				m := newMachine(made, core, c.cores)
				for n := core; n < 2*c.count+5; n += c.cores {
					frame := m.next()
					if got, want := words(s, frame, shift), wantedWords(s, n%c.count); got != want {
						t.Fatalf("packet %d: %v, want %v", n, got, want)
					}
					if problem := checksumsAreRight(s, frame, shift); problem != "" {
						t.Fatalf("packet %d: %s", n, problem)
					}
				}
			}
		})
	}
}

// With more flows than a field has values there are as many as requested, and each field
// has its values and no others.
func TestPairedFlows(t *testing.T) {
	for name, fields := range map[string][]measure.FlowField{
		"addresses":           {measure.FlowSourceAddress, measure.FlowDestinationAddress},
		"ports":               {measure.FlowSourcePort, measure.FlowDestinationPort},
		"all":                 {measure.FlowSourceAddress, measure.FlowDestinationAddress, measure.FlowSourcePort, measure.FlowDestinationPort},
		"a port, an address":  {measure.FlowDestinationPort, measure.FlowSourceAddress},
		"both of one station": {measure.FlowSourcePort, measure.FlowSourceAddress},
	} {
		counts := []int{65_000}
		if name == "all" {
			counts = append(counts, measure.MaximumFlows)
		}
		for _, count := range counts {
			t.Run(fmt.Sprintf("%s, %d", name, count), func(t *testing.T) {
				s := streamTo(measure.Forward)
				s.Flows = &measure.Flows{Count: count, Fields: fields}
				if count <= flowsAlike(*s.Flows) {
					t.Fatalf("%d flows need no pairs", count)
				}
				m := newMachine(loadStream(t, s, 64, 0, load), 0, 1)
				seen := map[[4]uint16]int{}
				firstWords := headers.FlowWords(s)
				for n := range 2 * count {
					found := words(s, m.next(), 0)
					if before, there := seen[found]; there && n < count {
						t.Fatalf("packets %d and %d are of one flow", before, n)
					} else if !there && n >= count {
						t.Fatalf("packet %d is of a new flow", n)
					}
					seen[found] = n
					for i, word := range firstWords {
						if delta := int(found[i]) - int(word.First); delta < 0 || delta >= s.Flows.Values(word.Field) {
							t.Fatalf("packet %d: %s is %d above its own value", n, word.Field, delta)
						}
					}
				}
				if len(seen) != count {
					t.Errorf("%d flows, want %d", len(seen), count)
				}
			})
		}
	}
}

// Random flows are those of measure.Flows, each about equally often, the same in every
// trial, and others with another seed.
func TestRandomFlows(t *testing.T) {
	fields := []measure.FlowField{measure.FlowSourceAddress, measure.FlowDestinationPort}
	for _, count := range []int{2, 100, 1000, 32_766} {
		s := streamTo(measure.Forward)
		s.Flows = &measure.Flows{Count: count, Fields: fields, Random: true, Seed: 42}
		made := loadStream(t, s, 64, 0, load)
		numbers := map[[4]uint16]int{}
		for n := range count {
			numbers[wantedWords(s, n)] = n
		}
		m, again := newMachine(made, 0, 1), newMachine(made, 0, 1)
		seen := map[int]int{}
		for n := range 20 * count {
			found := words(s, m.next(), 0)
			if found != words(s, again.next(), 0) {
				t.Fatalf("packet %d differs from one trial to the next", n)
			}
			flow, there := numbers[found]
			if !there {
				t.Fatalf("packet %d: %v is none of %d flows", n, found, count)
			}
			seen[flow]++
		}
		if len(seen) < count*99/100 {
			t.Errorf("of %d flows, %d came in %d packets", count, len(seen), 20*count)
		}
		for flow, n := range seen {
			if n > 80 {
				t.Errorf("of %d flows, number %d came %d times, 20 on average", count, flow, n)
			}
		}
		s.Flows.Seed = 43
		if other := loadStream(t, s, 64, 0, load); other.RandomSeed == made.RandomSeed || other.RandomSeed == 0 {
			t.Errorf("seed %d and %d", made.RandomSeed, other.RandomSeed)
		}
	}
}

// A timed frame ends in TRex's own bytes: nothing is written there, and over IPv6 there
// is no checksum that they would make wrong.
func TestTimedFrames(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		s := streamTo(measure.Forward)
		bytes := 64
		if ipv6 {
			s, bytes = inIPv6(s), 82
		}
		s.Flows = &measure.Flows{Count: 100, Fields: []measure.FlowField{measure.FlowSourcePort, measure.FlowDestinationAddress}}
		m := newMachine(loadStream(t, s, bytes, 0, timed), 0, 1)
		for n := range 150 {
			frame := m.next()
			if got, want := words(s, frame, 0), wantedWords(s, n%100); got != want {
				t.Fatalf("packet %d: %v, want %v", n, got, want)
			}
			for _, b := range frame[len(frame)-signatureBytes:] {
				if b != 0 {
					t.Fatalf("packet %d ends in %x", n, frame[len(frame)-signatureBytes:])
				}
			}
			if sum := frame[headers.Bytes(s)-2:][:2]; sum[0]|sum[1] != 0 {
				t.Fatalf("packet %d has the UDP checksum %x", n, sum)
			}
		}
	}
}

// One flow over IPv6 has a right checksum too, and no program.
func TestOneFlow(t *testing.T) {
	for name, s := range map[string]measure.Stream{"IPv4": streamTo(measure.Forward), "IPv6": inIPv6(streamTo(measure.Forward))} {
		made := loadStream(t, s, 100, 0, load)
		if len(made.VM.Instructions) != 0 || made.VM.Instructions == nil {
			t.Errorf("%s: %v", name, made.VM.Instructions)
		}
		if problem := checksumsAreRight(s, made.Packet.Binary, 0); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}
