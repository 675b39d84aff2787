package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/headers"
)

// flowOf mirrors flow_of in flows.h.
func flowOf(f measure.Flows, sequence uint64) uint64 {
	if !f.Random {
		return sequence % uint64(f.Count)
	}
	mixed := f.Seed + (sequence+1)*0x9e3779b97f4a7c15
	mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
	mixed ^= mixed >> 31
	return mixed >> 32 * uint64(f.Count) >> 32
}

// wordsOf returns the four words that identify a frame's flow, in layout.h's order.
func wordsOf(frame []byte) (words [4]uint16) {
	at := [4]int{28, 32, 34, 36}
	if binary.BigEndian.Uint16(frame[12:]) == headers.EtherTypeIPv6 {
		at = [4]int{36, 52, 54, 56}
	}
	for i := range at {
		words[i] = binary.BigEndian.Uint16(frame[at[i]:])
	}
	return words
}

// wordsWanted returns those of a stream's frame, by the rule and not by its program.
func wordsWanted(s measure.Stream, sequence uint64) (words [4]uint16) {
	flow := flowOf(*s.Flows, sequence)
	for i, word := range headers.FlowWords(s) {
		words[i] = word.First + uint16(flow%uint64(s.Flows.Values(word.Field)))
	}
	return words
}

// stubs routes the networks of a plan's addresses through the device.
func stubs(t *testing.T, p *testpath.Path) {
	t.Helper()
	if err := testpath.Do(p.Device, func() error {
		var failed []error
		for network, via := range map[string]string{
			"198.18.128.0/17": "198.18.0.2", "198.19.128.0/17": "198.19.0.2",
			"2001:2:0:8000::/64": "2001:2:0:1::2", "2001:2:0:9000::/64": "2001:2:0:2::2",
		} {
			_, destination, err := net.ParseCIDR(network)
			failed = append(failed, err, netlink.RouteAdd(&netlink.Route{Dst: destination, Gw: net.ParseIP(via)}))
		}
		return errors.Join(failed...)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestFlowsThroughARouter(t *testing.T) {
	all := []measure.FlowField{
		measure.FlowSourceAddress, measure.FlowDestinationAddress, measure.FlowSourcePort, measure.FlowDestinationPort,
	}
	for name, flows := range map[string]measure.Flows{
		"two source ports":         {Count: 2, Fields: all[2:3]},
		"destination ports":        {Count: 1000, Fields: all[3:]},
		"source addresses":         {Count: 300, Fields: all[:1]},
		"all addresses":            {Count: 32_749, Fields: all[1:2]},
		"addresses and ports":      {Count: 5000, Fields: all},
		"random ports":             {Count: 500, Fields: all[2:3], Random: true, Seed: 1},
		"a million, random":        {Count: measure.MaximumFlows, Fields: all[:3], Random: true, Seed: 1 << 60},
		"a million, in their turn": {Count: measure.MaximumFlows, Fields: all[2:]},
	} {
		for family, hosts := range map[string][2]string{
			"IPv4": {"198.18.128.1", "198.19.128.1"}, "IPv6": {"2001:2:0:8000::1", "2001:2:0:9000::1"},
		} {
			t.Run(name+", "+family, func(t *testing.T) {
				p := buildPath(t, routedWithNAPI)
				stubs(t, p)
				path := p.IPv4(measure.Forward)
				path.Streams[0].SourceAddress, path.Streams[0].DestinationAddress = netip.MustParseAddr(hosts[0]), netip.MustParseAddr(hosts[1])
				path.Streams[0].SourcePort, path.Streams[0].DestinationPort = measure.FirstSourcePort, measure.FirstDestinationPort
				path.Streams[0].Flows = &flows
				checkFlowsSeen(t, p, path)
			})
		}
	}
}

// checkFlowsSeen captures what the router receives and compares every frame with the
// rule.
func checkFlowsSeen(t *testing.T, p *testpath.Path, path measure.Path) {
	t.Helper()
	var mutex sync.Mutex
	seen, wanted, wrong := map[[4]uint16]bool{}, map[[4]uint16]bool{}, ""
	var captured atomic.Uint64
	const bytes = 100
	capture, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, _ func([]byte)) {
		mutex.Lock()
		defer mutex.Unlock()
		if len(frame) != bytes-measure.FrameCheckSequenceBytes {
			return // a probe
		}
		sequence := sequenceIn(frame)
		got, want := wordsOf(frame), wordsWanted(path.Streams[0], sequence)
		seen[got] = true
		if broken := checkChecksums(frame); broken != "" {
			wrong = fmt.Sprintf("frame %d, flow %v: %s", sequence, got, broken)
		}
		if got != want {
			wrong = fmt.Sprintf("frame %d is of flow %v, want %v", sequence, got, want)
		}
		captured.Add(1)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(capture.Stop)
	d := open(t, p, Config{Path: path, TransmitPath: Direct})
	o := run(t, d, trialOf(bytes, 20_000, 100*time.Millisecond))
	checkWhole(t, o)
	// The capture is a program, and may lag.
	for end := time.Now().Add(busyTimeout); captured.Load() < o.Directions[0].SentFrames && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	mutex.Lock()
	defer mutex.Unlock()
	for n := range o.Directions[0].SentFrames {
		wanted[wordsWanted(path.Streams[0], n)] = true
	}
	if wrong != "" {
		t.Error(wrong)
	}
	if len(seen) != len(wanted) {
		t.Errorf("the router saw %d flows, want %d", len(seen), len(wanted))
	}
}

// sequenceIn reads the signature of a frame of either family.
func sequenceIn(frame []byte) uint64 {
	at := ethernetBytes + ipv4Bytes + udpBytes
	if binary.BigEndian.Uint16(frame[12:]) == headers.EtherTypeIPv6 {
		at = ethernetBytes + ipv6Bytes + udpBytes
	}
	return uint64(binary.NativeEndian.Uint32(frame[at+4:]))
}

// TestFlowsBothWays uses two threads and the inner veth.
func TestFlowsBothWays(t *testing.T) {
	p := buildPath(t, testpath.Bridged)
	path := p.IPv4()
	for i := range path.Streams {
		path.Streams[i].Flows = &measure.Flows{Count: 100, Fields: []measure.FlowField{measure.FlowSourcePort}}
	}
	for _, threads := range []int{1, 2} {
		d := open(t, p, Config{Path: path, Threads: threads})
		checkWhole(t, run(t, d, trialOf(64, 3000, 100*time.Millisecond)))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFlowsBeyondTheirWord(t *testing.T) {
	s := streamIPv4()
	s.SourcePort, s.Flows = 65_500, &measure.Flows{Count: 100, Fields: []measure.FlowField{measure.FlowSourcePort}}
	if err := headers.Check(s); err == nil {
		t.Error("ports beyond 65535 were accepted")
	}
	s.SourcePort, s.Flows.Count = 1024, 70_000
	if err := headers.Check(s); err == nil {
		t.Error("more flows than ports were accepted")
	}
}

// TestRandomFlowsAreSpread holds the generator to RFC 4814's even distribution: no flow
// of a hundred occurs twice as often or half as often as the mean.
func TestRandomFlowsAreSpread(t *testing.T) {
	counts := make([]int, 100)
	for n := range uint64(100_000) {
		counts[flowOf(measure.Flows{Count: len(counts), Random: true, Seed: 1}, n)]++
	}
	for flow, count := range counts {
		if count < 500 || count > 2000 {
			t.Errorf("flow %d has %d of 100,000 frames", flow, count)
		}
	}
}
