package xdp

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

// forward opens a driver with the Forward stream over a device in user space.
func forward(t *testing.T, path func(*testpath.Path) measure.Path, each func(number uint64, at time.Time, frame []byte, send func([]byte))) (*Driver, *testpath.Forwarder) {
	t.Helper()
	p := buildPath(t, testpath.Wired)
	f, err := p.Forward(each)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return open(t, p, Config{Path: path(p), TransmitPath: Direct}), f
}

// throughProgram returns a trial whose frames have time to come back from a device in
// user space, which a busy machine delays.
func throughProgram(trial measure.Trial) measure.Trial {
	trial.SettleNanoseconds = int64(500 * time.Millisecond)
	return trial
}

func ipv4Forward(p *testpath.Path) measure.Path { return p.IPv4(measure.Forward) }
func ipv6Forward(p *testpath.Path) measure.Path { return p.IPv6(measure.Forward) }

// sequenceOf reads the signature of an IPv4 frame.
func sequenceOf(frame []byte) uint32 {
	return binary.NativeEndian.Uint32(frame[ethernetBytes+ipv4Bytes+udpBytes+4:])
}

// Probe frames pass the devices below too: a device counts by the frames' own sequence
// numbers.

func TestKnownLoss(t *testing.T) {
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if sequenceOf(frame)%7 != 3 {
			send(frame)
		}
	})
	o := run(t, d, throughProgram(trialOf(64, 10_000, 300*time.Millisecond))).Directions[0]
	if want := (o.SentFrames + 3) / 7; o.LostFrames() != want {
		t.Errorf("lost %d of %d frames, want %d", o.LostFrames(), o.SentFrames, want)
	}
	if o.ReorderedFrames != 0 || o.DuplicateFrames != 0 {
		t.Errorf("%d reordered and %d duplicate frames of a device that only loses", o.ReorderedFrames, o.DuplicateFrames)
	}
	// One of seven frames is lost, so there is no p99 of all.
	if of := o.LatencyOfSent; of == nil || *of != (measure.SentDelays{}) {
		t.Errorf("delays of sent frames %+v, of those that arrived %+v", of, o.Latency)
	}
	// Of seven frames, five follow their predecessor.
	if got, want := o.DelayVariation.Samples, o.ReceivedFrames-o.LostFrames(); got > want || got+1 < want {
		t.Errorf("%d samples of delay variation, want %d", got, want)
	}
}

func TestKnownDuplicatesAndReordering(t *testing.T) {
	var held []byte
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		switch n := sequenceOf(frame); {
		case n%20 == 5: // goes out after the next one
			held = bytes.Clone(frame)
			return
		default:
			send(frame)
			if n%10 == 0 {
				send(frame)
			}
		}
		if held != nil {
			send(held)
			held = nil
		}
	})
	trial := throughProgram(trialOf(64, 10_000, 200*time.Millisecond))
	o := run(t, d, trial).Directions[0]
	if o.LostFrames() != 0 {
		t.Errorf("lost %d of %d frames", o.LostFrames(), o.SentFrames)
	}
	if want := (o.SentFrames + 9) / 10; o.DuplicateFrames != want {
		t.Errorf("%d duplicates of %d frames, want %d", o.DuplicateFrames, o.SentFrames, want)
	}
	if want := (o.SentFrames + 13) / 20; o.ReorderedFrames != want {
		t.Errorf("%d reordered of %d frames, want %d", o.ReorderedFrames, o.SentFrames, want)
	}
}

func TestKnownDelay(t *testing.T) {
	const delay = 2 * time.Millisecond
	var hold atomic.Int64
	d, _ := forward(t, ipv4Forward, func(_ uint64, at time.Time, frame []byte, send func([]byte)) {
		for time.Since(at) < time.Duration(hold.Load()) {
		}
		send(frame)
	})
	// Slow enough for each frame to find the device empty.
	trial := throughProgram(trialOf(128, 50, time.Second))
	base := run(t, d, trial).Directions[0]
	if base.ReceivedFrames == 0 {
		t.Fatal("received no frame")
	}
	hold.Store(int64(delay))
	var held measure.DirectionOutcome
	added := time.Duration(math.MaxInt64)
	// A program that wakes up late adds to the device's delay, and nothing reduces it:
	// the minimum is right if one frame found the machine idle.
	for attempt := 0; attempt < 10 && added > delay+delay/10; attempt++ {
		if held = run(t, d, trial).Directions[0]; held.ReceivedFrames == 0 {
			continue // it is far too late
		}
		if got := time.Duration(held.Latency.MinNanoseconds); got < delay {
			t.Errorf("the minimum latency is %v, less than the device's %v", got, delay)
		}
		added = min(added, time.Duration(held.Latency.MinNanoseconds)-time.Duration(base.Latency.MinNanoseconds))
	}
	if off := (added - delay).Abs(); off > delay/10 {
		t.Errorf("a delay of %v was measured as %v", delay, added)
	}
	t.Logf("the device's %v: minimum %v, median %v", delay, added,
		time.Duration(held.Latency.P50Nanoseconds)-time.Duration(base.Latency.P50Nanoseconds))
}

func TestEveryByteOfAFrame(t *testing.T) {
	for name, path := range map[string]func(*testpath.Path) measure.Path{"IPv4": ipv4Forward, "IPv6": ipv6Forward} {
		t.Run(name, func(t *testing.T) {
			var mutex sync.Mutex
			var want template
			wrong := ""
			d, _ := forward(t, path, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
				send(frame)
				mutex.Lock()
				defer mutex.Unlock()
				if len(frame) != len(want.frame) || wrong != "" {
					return
				}
				wrong = checkChecksums(frame)
				// The program fills these in.
				clear(frame[want.payloadOffset:][:signatureBytes])
				if want.checksumOffset > 0 {
					clear(frame[want.checksumOffset:][:2])
				}
				if !bytes.Equal(frame, want.frame) {
					wrong = "the frame differs from its template"
				}
				// Buffers are reused: spoil this one.
				for i := range frame {
					frame[i] = 0xa5
				}
			})
			for _, size := range []int{90, 301, 1518} {
				next, err := newTemplate(d.config.Path.Streams[0], size)
				if err != nil {
					t.Fatal(err)
				}
				mutex.Lock()
				want = next
				mutex.Unlock()
				checkWhole(t, run(t, d, throughProgram(trialOf(size, 5000, 50*time.Millisecond))))
				mutex.Lock()
				if wrong != "" {
					t.Errorf("%d bytes: %s", size, wrong)
				}
				mutex.Unlock()
			}
		})
	}
}

func TestDeviceThatStops(t *testing.T) {
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if sequenceOf(frame) < 300 {
			send(frame)
		}
	})
	o := run(t, d, throughProgram(trialOf(64, 5000, 300*time.Millisecond))).Directions[0]
	if want := min(300, o.SentFrames); o.ReceivedFrames != want || o.LostFrames() != o.SentFrames-want {
		t.Errorf("received %d and lost %d of %d frames, want %d received", o.ReceivedFrames, o.LostFrames(), o.SentFrames, want)
	}
}

func TestDeviceThatTakesItsLinkDown(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward)})
	stopped := make(chan error, 1)
	time.AfterFunc(200*time.Millisecond, func() { stopped <- setLink(p.Device, testpath.DeviceWest, false) })
	began := time.Now()
	o := run(t, d, trialOf(64, 5000, 400*time.Millisecond)).Directions[0]
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the trial took %v", took)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	// What the port refuses after its peer is gone was not sent.
	if o.LostFrames()+o.UnsentFrames() == 0 {
		t.Errorf("sent %d and received %d of %d frames, over a link that was down half of the time", o.SentFrames, o.ReceivedFrames, o.IntendedFrames)
	}
	// A trial whose link is down from its begin counts too.
	if _, err := d.Measure(t.Context(), trialOf(64, 5000, 100*time.Millisecond)); err != nil {
		t.Errorf("without a link: %v", err)
	}
}

// The generator's own port is not the device: without it, the trial measured nothing, and
// no frame is the device's loss.
func TestPortLostInATrial(t *testing.T) {
	for name, test := range map[string]struct {
		port   string
		change func(netlink.Link) error
		reason string
	}{
		"the sending port is gone":       {testpath.West, netlink.LinkDel, v1alpha1.ReasonPortMissing},
		"the receiving port is gone":     {testpath.East, netlink.LinkDel, v1alpha1.ReasonPortMissing},
		"the sending port is set down":   {testpath.West, netlink.LinkSetDown, v1alpha1.ReasonPortDown},
		"the receiving port is set down": {testpath.East, netlink.LinkSetDown, v1alpha1.ReasonPortDown},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, routedWithNAPI)
			d := open(t, p, Config{Path: p.IPv4(measure.Forward)})
			changed := make(chan error, 1)
			time.AfterFunc(100*time.Millisecond, func() {
				changed <- testpath.Do(p.Generator, func() error {
					l, err := netlink.LinkByName(test.port)
					if err != nil {
						return err
					}
					return test.change(l)
				})
			})
			o, err := d.Measure(t.Context(), trialOf(64, 5000, 300*time.Millisecond))
			if measure.ReasonOf(err) != test.reason {
				t.Errorf("got %v and %+v, want reason %s", err, o.Directions, test.reason)
			}
			if err := <-changed; err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			checkThreads(t)
		})
	}
}

// TestPolicer offers a token bucket twice what it lets through.
func TestPolicer(t *testing.T) {
	const (
		frameBytes = 128
		skb        = frameBytes - measure.FrameCheckSequenceBytes
		passed     = 5000 // frames/s
		burst      = 2000 // frames: a busy machine's stalls must not overflow the bucket
	)
	p := buildPath(t, routedWithNAPI)
	// The ring lasts longer than a busy machine's stalls.
	d := open(t, p, Config{Path: p.IPv4(measure.Forward), RingFrames: planning.MaxRingFrames})
	var east netlink.Link
	if err := testpath.Do(p.Device, func() (err error) {
		if east, err = netlink.LinkByName(testpath.DeviceEast); err != nil {
			return err
		}
		return netlink.QdiscReplace(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: east.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
			Rate:       passed * skb,
			Buffer:     netlink.Xmittime(passed*skb, burst*skb),
			Limit:      10 * skb,
		})
	}); err != nil {
		t.Fatal(err)
	}
	for attempt := 1; ; attempt++ {
		dropped, sent := queueCounters(t, p, east)
		o, err := d.Measure(t.Context(), trialOf(frameBytes, 2*passed, 2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got := o.Directions[0]
		droppedNow, sentNow := queueCounters(t, p, east)
		dropped, sent = droppedNow-dropped, sentNow-sent
		// The router sends a few packets itself.
		if off := int64(got.LostFrames() - dropped); max(off, -off) > 5 || got.ReceivedFrames > sent {
			t.Errorf("lost %d and received %d frames; the device's own counters say %d dropped and %d sent", got.LostFrames(), got.ReceivedFrames, dropped, sent)
		}
		nominal := float64(passed)*float64(o.SendingNanoseconds)/1e9 + burst
		off := math.Abs(float64(got.ReceivedFrames)-nominal) / nominal
		t.Logf("received %d, nominal %.0f; lost %d, dropped by the device %d", got.ReceivedFrames, nominal, got.LostFrames(), dropped)
		if off <= 0.005 {
			return
		}
		// The nominal figure is that of an offered load without gaps: a stall while the
		// bucket is full costs tokens.
		if latest := time.Duration(d.state.Transmitters[0].Latest); latest > 10*time.Millisecond && attempt < 4 {
			t.Logf("a frame left %v late: measuring again", latest)
			time.Sleep(burst * time.Second / passed)
			continue
		} else if latest > 10*time.Millisecond {
			t.Logf("the machine is too busy to hold the figure against the nominal one: a frame left %v late", latest)
			return
		}
		t.Errorf("received %d frames, the policer's nominal figure is %.0f", got.ReceivedFrames, nominal)
		return
	}
}

// queueCounters returns the token bucket's.
func queueCounters(t *testing.T, p *testpath.Path, l netlink.Link) (dropped, sent uint64) {
	t.Helper()
	if err := testpath.Do(p.Device, func() error {
		qdiscs, err := netlink.QdiscList(l)
		for _, q := range qdiscs {
			if s := q.Attrs().Statistics; q.Type() == "tbf" && s != nil {
				dropped, sent = uint64(s.Queue.Drops), uint64(s.Basic.Packets)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return dropped, sent
}
