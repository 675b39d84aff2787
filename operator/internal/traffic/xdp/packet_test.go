package xdp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/headers"
)

// packetTrial returns a trial of packets in fragments.
func packetTrial(payload, version, mtu int, rate uint64, duration time.Duration) measure.Trial {
	packet := measure.Packet{PayloadBytes: payload, IPVersion: version, MTUBytes: mtu}
	trial := trialOf(packet.FrameBytes(), rate, duration)
	trial.Packet = &packet
	return trial
}

// checkFragments verifies that all were sent, and came back once.
func checkFragments(t *testing.T, trial measure.Trial, o measure.Outcome) {
	t.Helper()
	n := uint64(trial.Packet.FragmentCount())
	for _, d := range o.Directions {
		if d.SentFragments != n*d.SentFrames || d.ReceivedFragments != n*d.ReceivedFrames {
			t.Errorf("%s: %d packets in %d fragments sent, %d in %d received; want %d for each",
				d.Direction, d.SentFrames, d.SentFragments, d.ReceivedFrames, d.ReceivedFragments, n)
		}
	}
}

// TestPacketsThroughARouter sends the packets of the study of fragmentation through a
// forwarding kernel, in both directions and on both ways out.
func TestPacketsThroughARouter(t *testing.T) {
	for name, build := range map[string]builder{"direct": routedWithNAPI, "inner veth": testpath.Bridged} {
		for _, version := range []int{4, 6} {
			t.Run(fmt.Sprintf("%s, IPv%d", name, version), func(t *testing.T) {
				p := buildPath(t, build)
				path := p.IPv4()
				if version == 6 {
					path = p.IPv6()
				}
				d := open(t, p, Config{Path: path})
				for _, payload := range []int{1500, 4096, 8192, 16384, 32768, 65507} {
					trial := packetTrial(payload, version, 1500, 200, 200*time.Millisecond)
					o := run(t, d, trial)
					checkWhole(t, o)
					checkFragments(t, trial, o)
					t.Logf("%d bytes: %d packets, median delay %v", payload, o.Directions[0].ReceivedFrames, time.Duration(o.Directions[0].Latency.P50Nanoseconds))
				}
			})
		}
	}
}

// piece is a fragment as a device sees it.
type piece struct {
	id       uint32
	offset   int
	more     bool
	data     []byte
	header   int // bytes before the data
	sequence uint64
}

// parse reads a frame of either IP version; ok is false if it is not a fragment.
func parse(frame []byte) (f piece, ok bool) {
	ip := frame[ethernetBytes:]
	if binary.BigEndian.Uint16(frame[12:]) == headers.EtherTypeIPv4 {
		field := binary.BigEndian.Uint16(ip[6:])
		f = piece{
			id: uint32(binary.BigEndian.Uint16(ip[4:])), offset: int(field&0x1fff) * 8, more: field&0x2000 != 0,
			header: ethernetBytes + ipv4Bytes, data: ip[ipv4Bytes:binary.BigEndian.Uint16(ip[2:])],
		}
		ok = field&0x3fff != 0
	} else if ip[6] == protocolFragment {
		field := binary.BigEndian.Uint16(ip[ipv6Bytes+2:])
		f = piece{
			id: binary.BigEndian.Uint32(ip[ipv6Bytes+4:]), offset: int(field &^ 7), more: field&1 != 0,
			header: ethernetBytes + ipv6Bytes + ipv6FragmentBytes,
			data:   ip[ipv6Bytes+ipv6FragmentBytes : ipv6Bytes+int(binary.BigEndian.Uint16(ip[4:]))],
		}
		ok = true
	}
	if ok {
		at := 8 * (1 - f.offset/8%2)
		f.sequence = uint64(binary.NativeEndian.Uint32(f.data[at+4:]))
	}
	return f, ok
}

// cut makes a fragment of a part of another one's data, with its header.
func cut(frame []byte, f piece, from, to int) []byte {
	out := append(slices.Clone(frame[:f.header]), f.data[from:to]...)
	ip := out[ethernetBytes:]
	offset, more := f.offset+from, f.more || to < len(f.data)
	if f.header == ethernetBytes+ipv4Bytes {
		field := uint16(offset / 8)
		if more {
			field |= 0x2000
		}
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint16(ip[6:], field)
		ip[10], ip[11] = 0, 0
		binary.NativeEndian.PutUint16(ip[10:], ^headers.Fold(headers.Sum(0, ip[:ipv4Bytes])))
		return out
	}
	field := uint16(offset)
	if more {
		field |= 1
	}
	binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-ipv6Bytes))
	binary.BigEndian.PutUint16(ip[ipv6Bytes+2:], field)
	return out
}

// TestEveryFragment puts the packets together as a device does and reads every byte:
// bounds, identification, both checksums, and the signature at each 16 bytes of the
// payload.
func TestEveryFragment(t *testing.T) {
	for version, path := range map[int]func(*testpath.Path) measure.Path{4: ipv4Forward, 6: ipv6Forward} {
		// With the tail shortened, odd MTUs, chunks of 16 and not of 16 bytes.
		for _, c := range [][2]int{{4096, 1500}, {65507, 1500}, {2960, 1500}, {2961, 1501}, {3000, 1285}, {40001, 3390}, {1481, 1492}} {
			t.Run(fmt.Sprintf("IPv%d, %d bytes, MTU %d", version, c[0], c[1]), func(t *testing.T) {
				var mutex sync.Mutex
				var first []byte
				whole, wrong, next := []byte{}, "", uint64(0)
				trial := throughProgram(packetTrial(c[0], version, c[1], 100, 100*time.Millisecond))
				d, _ := forward(t, path, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
					send(frame)
					f, ok := parse(frame)
					if !ok {
						return
					}
					mutex.Lock()
					defer mutex.Unlock()
					switch {
					case len(frame) > c[1]+ethernetBytes || len(frame) < 60:
						wrong = fmt.Sprintf("a frame of %d bytes", len(frame))
					case version == 4 && referenceSum(frame[ethernetBytes:][:ipv4Bytes]) != 0xffff:
						wrong = "the IPv4 header's checksum is wrong"
					case f.offset != len(whole) || f.id != uint32(next) || f.sequence != next:
						wrong = fmt.Sprintf("fragment at %d with ID %d of packet %d, want %d, %d", f.offset, f.id, f.sequence, len(whole), next)
					}
					if f.offset == 0 {
						first = slices.Clone(frame[:f.header])
					}
					whole = append(whole, f.data...)
					if f.more {
						return
					}
					if problem := checkPacketBytes(first, whole, version, c[0], uint32(next)); problem != "" {
						wrong = problem
					}
					whole, next = nil, next+1
				})
				o := run(t, d, trial)
				checkWhole(t, o)
				checkFragments(t, trial, o)
				mutex.Lock()
				defer mutex.Unlock()
				if wrong != "" {
					t.Error(wrong)
				}
				if next < o.Directions[0].SentFrames {
					t.Errorf("looked at %d of %d packets", next, o.Directions[0].SentFrames)
				}
			})
		}
	}
}

// checkPacketBytes returns what is wrong with a packet that was put together.
func checkPacketBytes(first, data []byte, version, payload int, sequence uint32) string {
	if len(data) != udpBytes+payload || int(binary.BigEndian.Uint16(data[4:])) != len(data) {
		return fmt.Sprintf("%d bytes of data, the UDP header says %d, want %d", len(data), binary.BigEndian.Uint16(data[4:]), udpBytes+payload)
	}
	if version == 6 {
		pseudo := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		pseudo = binary.BigEndian.AppendUint32(pseudo, headers.ProtocolUDP)
		if referenceSum(first[ethernetBytes+8:ethernetBytes+ipv6Bytes], pseudo, data) != 0xffff {
			return "the UDP checksum is wrong"
		}
	} else if data[6] != 0 || data[7] != 0 {
		return "there is a UDP checksum over IPv4"
	}
	body := data[udpBytes:]
	signature := body[:signatureBytes]
	if binary.NativeEndian.Uint16(signature) != 0x7664 || binary.NativeEndian.Uint32(signature[4:]) != sequence {
		return fmt.Sprintf("signature %x of packet %d", signature, sequence)
	}
	want := bytes.Repeat(signature, payload/signatureBytes+1)[:payload/8*8]
	if !bytes.Equal(body[:len(want)], want) || !bytes.Equal(body[len(want):], make([]byte, payload%8)) {
		return "the signature does not go through the payload"
	}
	return ""
}

// packetDevice measures packets of 4096 bytes, which are three fragments, through a
// device that calls each for every fragment.
func packetDevice(t *testing.T, version int, each func(f piece, frame []byte, send func([]byte))) (measure.Outcome, *Driver) {
	t.Helper()
	path := ipv4Forward
	if version == 6 {
		path = ipv6Forward
	}
	d, _ := forward(t, path, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if f, ok := parse(frame); ok {
			each(f, frame, send)
		} else {
			send(frame)
		}
	})
	return run(t, d, throughProgram(packetTrial(4096, version, 1500, 500, 200*time.Millisecond))), d
}

func hasDoubt(o measure.Outcome, code string) *measure.Doubt {
	for i := range o.Doubts {
		if o.Doubts[i].Code == code {
			return &o.Doubts[i]
		}
	}
	return nil
}

// A packet with a missing fragment is lost, and its others count only as fragments.
func TestLostFragments(t *testing.T) {
	o, _ := packetDevice(t, 4, func(f piece, frame []byte, send func([]byte)) {
		if f.sequence%5 != 2 || f.offset != 1480 {
			send(frame)
		}
	})
	d := o.Directions[0]
	lost := (d.SentFrames + 2) / 5
	if d.LostFrames() != lost || d.ReceivedFragments != d.SentFragments-lost || d.Latency.Samples != d.ReceivedFrames {
		t.Errorf("lost %d of %d packets and %d of %d fragments, want %d of each",
			d.LostFrames(), d.SentFrames, d.SentFragments-d.ReceivedFragments, d.SentFragments, lost)
	}
}

// Fragments that come twice make one packet; a packet counts twice when all of its
// fragments do.
func TestDuplicateFragments(t *testing.T) {
	o, driver := packetDevice(t, 6, func(f piece, frame []byte, send func([]byte)) {
		send(frame)
		if f.sequence%2 == 0 || f.offset == 0 {
			send(frame)
		}
	})
	d := o.Directions[0]
	if d.ReceivedFrames != d.SentFrames || d.ReceivedFragments != d.SentFragments {
		t.Errorf("received %d of %d packets, %d of %d fragments", d.ReceivedFrames, d.SentFrames, d.ReceivedFragments, d.SentFragments)
	}
	if want := (d.SentFrames + 1) / 2; d.DuplicateFrames != want {
		t.Errorf("%d packets came twice, want %d", d.DuplicateFrames, want)
	}
	if r := &driver.state.Receivers[0]; r.DuplicateFragments != d.SentFrames/2+(d.SentFrames+1)/2*3 {
		t.Errorf("%d fragments came twice", r.DuplicateFragments)
	}
}

// A fragment that is missing and one of the same size that came twice do not
// cancel out.
func TestDuplicatesDoNotHideLoss(t *testing.T) {
	o, _ := packetDevice(t, 4, func(f piece, frame []byte, send func([]byte)) {
		if f.offset == 0 {
			send(frame)
			send(frame)
		} else if !f.more {
			send(frame)
		}
	})
	if d := o.Directions[0]; d.ReceivedFrames != 0 || d.DuplicateFrames != 0 || d.ReceivedFragments != 2*d.SentFrames {
		t.Errorf("received %d packets and %d fragments of %d packets without a middle", d.ReceivedFrames, d.ReceivedFragments, d.SentFrames)
	}
}

// Fragments in any order make a packet; a packet is reordered if it is complete after a
// later one.
func TestReorderedFragments(t *testing.T) {
	var held [][]byte
	o, _ := packetDevice(t, 4, func(f piece, frame []byte, send func([]byte)) {
		held = append(held, slices.Clone(frame))
		// Of two packets the second comes first, each from its end to its start.
		if f.sequence%2 == 0 || f.more {
			return
		}
		for _, frame := range slices.Backward(held) {
			send(frame)
		}
		held = nil
	})
	d := o.Directions[0]
	pairs := d.SentFrames / 2
	if d.ReceivedFrames != 2*pairs || d.ReorderedFrames != pairs || d.DuplicateFrames != 0 {
		t.Errorf("received %d of %d packets, %d reordered, want %d of them reordered", d.ReceivedFrames, d.SentFrames, d.ReorderedFrames, pairs)
	}
}

// A packet's delay ends with its last fragment.
func TestDelayOfAPacket(t *testing.T) {
	const held = 3 * time.Millisecond
	o, _ := packetDevice(t, 4, func(f piece, frame []byte, send func([]byte)) {
		if f.offset == 1480 && f.sequence%2 == 0 {
			time.Sleep(held)
		}
		send(frame)
	})
	d := o.Directions[0]
	if got := time.Duration(d.Latency.MaxNanoseconds); d.ReceivedFrames != d.SentFrames || got < held {
		t.Errorf("received %d of %d packets, the largest delay is %v, want %v or more", d.ReceivedFrames, d.SentFrames, got, held)
	}
}

// The driver refuses what it cannot send, and names the field that is wrong.
func TestPacketsRefused(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	path := p.IPv4()
	d := open(t, p, Config{Path: path})
	for name, trial := range map[string]measure.Trial{
		"fits a frame":       packetTrial(1000, 4, 1500, 100, time.Second),
		"too large":          packetTrial(65508, 4, 1500, 100, time.Second),
		"too many fragments": packetTrial(65507, 4, 600, 100, time.Second),
		"another family":     packetTrial(4096, 6, 1500, 100, time.Second),
		"above the MTU":      packetTrial(9000, 4, 3500, 100, time.Second),
	} {
		if _, err := d.Measure(t.Context(), trial); measure.ReasonOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path.Streams[0].Flows = &measure.Flows{Count: 2, Fields: []measure.FlowField{measure.FlowSourcePort}}
	d = open(t, p, Config{Path: path})
	if _, err := d.Measure(t.Context(), packetTrial(4096, 4, 1500, 100, time.Second)); measure.ReasonOf(err) != v1alpha1.ReasonInvalidTrial {
		t.Errorf("many flows: %v", err)
	}
}

// A trial of packets leaves no state: whole frames follow, and a tagged packet.
func TestPacketsAndFramesInTurn(t *testing.T) {
	p := buildPath(t, testpath.Bridged)
	d := open(t, p, Config{Path: p.IPv6(), ReceiveMode: Generic})
	for range 2 {
		trial := packetTrial(16384, 6, 1500, 100, 200*time.Millisecond)
		trial.TaggedFrameNanoseconds = int64(100 * time.Millisecond)
		o := run(t, d, trial)
		checkWhole(t, o)
		checkFragments(t, trial, o)
		for _, direction := range o.Directions {
			if tagged := direction.TaggedFrame; tagged == nil || tagged.DelayNanoseconds == 0 {
				t.Errorf("%s: tagged packet %+v", direction.Direction, tagged)
			}
		}
		whole := run(t, d, trialOf(128, 1000, 100*time.Millisecond))
		checkWhole(t, whole)
		if whole.Directions[0].SentFragments != 0 {
			t.Errorf("%d fragments of whole frames", whole.Directions[0].SentFragments)
		}
	}
}

// At the maximum rate, packets are also whole, from one thread and from two.
func TestPacketsAtTheMaximumRate(t *testing.T) {
	for _, threads := range []int{1, 2} {
		p := buildPath(t, testpath.Direct)
		d := open(t, p, Config{Path: p.IPv4(), Threads: threads})
		trial := packetTrial(65507, 4, 1500, 0, 100*time.Millisecond)
		for _, direction := range run(t, d, trial).Directions {
			if n := uint64(trial.Packet.FragmentCount()); direction.SentFrames == 0 || direction.SentFragments < n*direction.SentFrames {
				t.Errorf("%d threads, %s: %d fragments of %d packets", threads, direction.Direction, direction.SentFragments, direction.SentFrames)
			}
			t.Logf("%d threads: %d packets sent, %d received", threads, direction.SentFrames, direction.ReceivedFrames)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
