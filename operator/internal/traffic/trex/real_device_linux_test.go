package trex

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/headers"
)

// A device in user space sees the frames as they are on the wire, and drops every tenth:
// the test knows exactly what TRex sent and what is missing.
func TestRealServerFrames(t *testing.T) {
	p := realPath(t, testpath.Wired)
	r := startReal(t, p, p.IPv4())
	ports := []measure.FlowField{measure.FlowSourceAddress, measure.FlowSourcePort}
	for name, c := range map[string]struct {
		path  measure.Path
		flows measure.Flows
		// alike flows have every field count up at once.
		alike bool
		bytes int
	}{
		"counting":           {p.IPv4(measure.Forward), measure.Flows{Count: 100, Fields: ports}, true, 64},
		"counting over IPv6": {p.IPv6(measure.Forward), measure.Flows{Count: 100, Fields: ports}, true, 128},
		"random":             {p.IPv4(measure.Forward), measure.Flows{Count: 100, Fields: ports, Random: true, Seed: 3}, true, 64},
		"paired":             {p.IPv4(measure.Forward), measure.Flows{Count: 40_000, Fields: ports}, false, 64},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path
			s := &path.Streams[0]
			s.Flows, s.SourcePort = &c.flows, 1024
			var mutex sync.Mutex
			flows := map[[4]uint16]int{}
			var wrong []string
			seen, dropped := uint64(0), uint64(0)
			f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
				if len(frame) < headers.Bytes(*s) || frame[0] == 0xff || frame[0]&1 == 1 {
					return
				}
				mutex.Lock()
				defer mutex.Unlock()
				seen++
				found := words(*s, frame, 0)
				flows[found]++
				timedFrame := frame[len(frame)-signatureBytes] == 0xab // TRex's FLOW_STAT_PAYLOAD_MAGIC
				if problem := checksumsAreRight(*s, frame, 0); problem != "" && (!timedFrame || headers.IsIPv4(*s)) {
					wrong = append(wrong, problem)
				}
				if len(frame) != c.bytes-measure.FrameCheckSequenceBytes && len(frame) != frames.ProbeFrameBytes-measure.FrameCheckSequenceBytes {
					wrong = append(wrong, fmt.Sprintf("%d bytes", len(frame)))
				}
				if seen%10 == 0 {
					dropped++
					return
				}
				send(frame)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Stop()
			d := openReal(t, r, path)
			defer func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}()
			mutex.Lock()
			seen, dropped = 0, 0
			clear(flows)
			mutex.Unlock()
			trial := trialOf(c.bytes, 2000, 2*time.Second)
			trial.SettleNanoseconds = int64(300 * time.Millisecond)
			o, err := d.Measure(t.Context(), trial)
			if err != nil {
				t.Fatal(err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			got := o.Directions[0]
			t.Logf("%+v, doubts %+v, %d flows", got, o.Doubts, len(flows))
			if got.SentFrames != seen || got.LostFrames() != dropped {
				t.Errorf("sent %d and lost %d, the device saw %d and dropped %d", got.SentFrames, got.LostFrames(), seen, dropped)
			}
			if len(wrong) > 0 {
				t.Errorf("%d frames are wrong: %s", len(wrong), slices.Compact(wrong))
			}
			if c.alike {
				known := map[[4]uint16]bool{}
				for n := range c.flows.Count {
					known[wantedWords(*s, n)] = true
				}
				for found := range flows {
					if !known[found] {
						t.Errorf("%v is none of the flows", found)
					}
				}
				if len(flows) != c.flows.Count {
					t.Errorf("%d flows, want %d", len(flows), c.flows.Count)
				}
			}
		})
	}
}

// The driver sees copies and reordered frames among timed frames.
func TestRealServerDisorder(t *testing.T) {
	p := realPath(t, testpath.Wired)
	path := p.IPv4(measure.Forward)
	r := startReal(t, p, p.IPv4())
	var mutex sync.Mutex
	var held []byte
	on := false
	seen, copied, late := 0, uint64(0), uint64(0)
	f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		mutex.Lock()
		defer mutex.Unlock()
		seen++
		switch {
		// The first frame of a trial is in a separate stream.
		case !on || seen < 5 || frame[0]&1 == 1:
			send(frame)
		case held == nil && seen%31 == 0:
			held = slices.Clone(frame)
			late++
			return
		case seen%20 == 0 && held == nil:
			send(frame)
			send(frame)
			copied++
		default:
			send(frame)
		}
		if held != nil {
			send(held)
			held = nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	d := openReal(t, r, path)
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	mutex.Lock()
	on, seen = true, 0
	mutex.Unlock()
	trial := trialOf(64, 500, 2*time.Second)
	trial.SettleNanoseconds = int64(300 * time.Millisecond)
	o, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	got := o.Directions[0]
	t.Logf("%d copied, %d late: %+v", copied, late, got)
	if got.DuplicateFrames != copied || got.ReorderedFrames != late || got.LostFrames() != 0 || copied == 0 || late == 0 {
		t.Errorf("%d copied and %d late: %+v", copied, late, got)
	}
}

// A device that changes the IPv4 identification does not seem to lose everything.
func TestRealServerMarks(t *testing.T) {
	p := realPath(t, testpath.Wired)
	r := startReal(t, p, p.IPv4())
	path := p.IPv4(measure.Forward)
	number := uint16(0)
	f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if len(frame) < headers.Bytes(path.Streams[0]) || frame[0]&1 == 1 {
			return
		}
		number++
		ip := frame[headers.EthernetBytes:]
		binary.BigEndian.PutUint16(ip[4:], number&0x7fff)
		ip[10], ip[11] = 0, 0
		headers.PutIPv4Checksum(ip)
		send(frame)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	var d *Driver
	err = testpath.Do(p.Generator, func() (err error) {
		d, err = Open(t.Context(), Config{Path: path, Settings: realSettings(), Server: r})
		return err
	})
	t.Logf("opening: %v", err)
	if err != nil {
		wantFailure(t, err, v1alpha1.ReasonNoPathThroughChain, "identification")
		return
	}
	n := namespaced{Driver: d, path: p}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	o, err := n.Measure(t.Context(), trialOf(64, 3000, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, doubts %+v", o.Directions[0], o.Doubts)
	if o.Valid() {
		t.Errorf("a valid trial: %+v", o.Doubts)
	}
}
