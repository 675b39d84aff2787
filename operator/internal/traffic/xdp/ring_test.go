package xdp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

// slow makes the device take some microseconds for every frame that arrives at a port.
func slow(t *testing.T, p *testpath.Path, ports ...string) {
	t.Helper()
	if err := p.Slow(300, ports...); err != nil {
		t.Fatal(err)
	}
}

// TestOverflowOfASlowDevice offers a device much more than it can forward: every frame is
// accounted for, and those that arrive are in order.
func TestOverflowOfASlowDevice(t *testing.T) {
	const rate, window = 600_000, 200 * time.Millisecond
	for name, c := range map[string]struct {
		build  builder
		path   func(*testpath.Path) measure.Path
		config Config
		trial  func(measure.Trial) measure.Trial
	}{
		"one direction":         {path: ipv4Forward},
		"IPv6":                  {path: ipv6Forward, trial: func(t measure.Trial) measure.Trial { t.FrameBytes = 128; return t }},
		"both, one thread":      {path: func(p *testpath.Path) measure.Path { return p.IPv4() }},
		"both, two threads":     {path: func(p *testpath.Path) measure.Path { return p.IPv4() }, config: Config{Threads: 2}},
		"the smallest ring":     {path: ipv4Forward, config: Config{RingFrames: 1}},
		"the largest ring":      {path: ipv4Forward, config: Config{RingFrames: planning.MaxRingFrames}},
		"through an inner veth": {build: testpath.Bridged, path: ipv4Forward},
		"a tag": {path: func(p *testpath.Path) measure.Path {
			return inVLANs(p.IPv4(measure.Forward), testVLAN, testVLAN)
		}, build: func() (*testpath.Path, error) { return testpath.Switched(0) }},
		"flows": {path: func(p *testpath.Path) measure.Path {
			path := p.IPv4(measure.Forward)
			path.Streams[0].Flows = &measure.Flows{Count: 1000, Fields: []measure.FlowField{measure.FlowSourcePort}}
			return path
		}},
		"a mix": {path: ipv4Forward, trial: func(t measure.Trial) measure.Trial {
			t.Mix = mixed(rate, window).Mix
			t.FrameBytes = t.Mix.MeanFrameBytes()
			return t
		}},
		"fragments": {path: ipv4Forward, trial: func(measure.Trial) measure.Trial { return packetTrial(8192, 4, 1500, rate/4, window) }},
		"fragments, both, IPv6": {path: func(p *testpath.Path) measure.Path { return p.IPv6() },
			trial: func(measure.Trial) measure.Trial { return packetTrial(8192, 6, 1500, rate/4, window) }},
	} {
		t.Run(name, func(t *testing.T) {
			if c.build == nil {
				c.build = routedWithNAPI
			}
			p := buildPath(t, c.build)
			c.config.Path = c.path(p)
			d := open(t, p, c.config)
			if p.Device.IsOpen() && name != "a tag" {
				slow(t, p, testpath.DeviceWest, testpath.DeviceEast)
			}
			trial := trialOf(64, rate, window)
			if c.trial != nil {
				trial = c.trial(trial)
			}
			if name == "a tag" { // nothing slows a bridge
				trial.IntendedFramesPerSecond *= 10
			}
			o, err := d.Measure(t.Context(), trial)
			if err != nil {
				t.Fatal(err)
			}
			for _, direction := range o.Directions {
				checkAccount(t, d, direction)
				if direction.OverflowFrames == 0 {
					t.Errorf("%s: no overflow of a ring of %d at %d frames/s: %+v", direction.Direction, d.config.RingFrames, trial.IntendedFramesPerSecond, direction)
				}
			}
		})
	}
}

// checkAccount wants each missing frame to have found the ring full or the port's.
func checkAccount(t *testing.T, d *Driver, o measure.DirectionOutcome) {
	t.Helper()
	state := &d.state.Transmitters[frames.Index(o.Direction)]
	if o.SentFrames != o.IntendedFrames || state.Arrived != o.IntendedFrames || state.Waiting != 0 {
		t.Errorf("%s: %d frames offered of %d, %d still in the ring", o.Direction, o.SentFrames, o.IntendedFrames, state.Waiting)
	}
	if known := o.OverflowFrames + o.RefusedFrames; o.LostFrames() != known {
		t.Errorf("%s: %d of %d frames are missing, %d of the ring's and %d of the port's", o.Direction, o.LostFrames(), o.SentFrames, o.OverflowFrames, o.RefusedFrames)
	}
	if o.ReceivedFrames == 0 || o.DuplicateFrames != 0 || o.ReorderedFrames != 0 {
		t.Errorf("%s: received %d, %d duplicates, %d reordered", o.Direction, o.ReceivedFrames, o.DuplicateFrames, o.ReorderedFrames)
	}
	sent := uint64(0)
	for n := range o.Series.ReceivedFrames {
		of, _ := o.Series.Sent(n)
		sent += of
	}
	if sent != o.SentFrames {
		t.Errorf("%s: %d frames were sent by slots, want %d", o.Direction, sent, o.SentFrames)
	}
	// The wait and the rest are parts of the latency.
	if o.Lateness.MaxNanoseconds == 0 || o.Lateness.MaxNanoseconds > o.Latency.MaxNanoseconds || o.DelaySinceDeparture.MaxNanoseconds > o.Latency.MaxNanoseconds ||
		o.Latency.P50Nanoseconds < max(o.Lateness.P50Nanoseconds, o.DelaySinceDeparture.P50Nanoseconds) {
		t.Errorf("%s: lateness %+v and delay since departure %+v are no parts of %+v", o.Direction, o.Lateness, o.DelaySinceDeparture, o.Latency)
	}
}

// TestOverflowOnASeparatePath: there, it is never the device's loss.
func TestOverflowOnASeparatePath(t *testing.T) {
	for _, hop := range []measure.Hop{"", measure.HopSeparate, measure.HopTap} {
		p := buildPath(t, routedWithNAPI)
		path := p.IPv4(measure.Forward)
		path.Hop = hop
		d := open(t, p, Config{Path: path})
		slow(t, p, testpath.DeviceWest)
		o, err := d.Measure(t.Context(), trialOf(64, 600_000, 200*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		got := o.Directions[0]
		if got.OverflowFrames == 0 || got.LostFrames() != 0 || got.UnsentFrames() != got.OverflowFrames+got.RefusedFrames {
			t.Errorf("%q: %+v", hop, got)
		}
		// Each slot has its part of what was not sent.
		var sent uint64
		for n := range got.Series.ReceivedFrames {
			of, _ := got.Series.Sent(n)
			if sent += of; of >= 600_000/80 {
				t.Errorf("%q: all frames of slot %d were sent, and its ring overflowed", hop, n)
			}
		}
		if got.Series.LostFrames == nil || sent != got.SentFrames+got.RefusedFrames {
			t.Errorf("%q: %d frames were sent by slots, want %d and %d that were refused", hop, sent, got.SentFrames, got.RefusedFrames)
		}
		if !slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtOverflow }) {
			t.Errorf("%q: an overflow without a doubt: %+v", hop, o.Doubts)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTap offers a program on the other side of a tap, which represents a virtual machine,
// more than it takes: what is missing is what the tap dropped, and the ring's overflow is not
// sent.
func TestTap(t *testing.T) {
	p := buildPath(t, func() (*testpath.Path, error) { return testpath.Tapped(50 * time.Microsecond) })
	path := p.IPv4(measure.Forward)
	path.Hop = measure.HopTap
	d := open(t, p, Config{Path: path})
	before, err := p.DroppedAt(testpath.TapWest)
	if err != nil {
		t.Fatal(err)
	}
	trial := trialOf(64, 100_000, 200*time.Millisecond)
	trial.SettleNanoseconds = int64(2 * time.Second)
	o, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	dropped, err := p.DroppedAt(testpath.TapWest)
	if err != nil {
		t.Fatal(err)
	}
	got := o.Directions[0]
	if want := dropped - before; got.LostFrames() != want || want == 0 {
		t.Errorf("lost %d of %d frames, the tap dropped %d", got.LostFrames(), got.SentFrames, want)
	}
	if got.UnsentFrames() != got.OverflowFrames+got.RefusedFrames {
		t.Errorf("%d frames unsent, %d overflow and %d refused", got.UnsentFrames(), got.OverflowFrames, got.RefusedFrames)
	}
}

// TestArrivals runs the program once after a stall and wants exactly the frames that are
// due by then, those that fit in the ring and the due time of the next one.
func TestArrivals(t *testing.T) {
	const frame = 64 - measure.FrameCheckSequenceBytes
	p := buildPath(t, testpath.Direct)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward)})
	program := d.collection.Programs[trafficProgOpenForward]
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		if _, err := d.prepare(trialOf(64, 1000, time.Second)); err != nil {
			t.Fatal(err)
		}
		rate := 1 + random.Uint64N(1<<(1+random.IntN(27)))
		// Some trials are so long that the sequence numbers have started again.
		before := random.Uint64N(1 << 20)
		if n%3 == 0 {
			before += 1<<32 - 1<<19
		}
		stall := random.Uint64N(1 << (1 + random.IntN(33)))
		s := &d.state.Transmitters[0]
		s.Schedule = trafficSchedule{FramesPerSecond: rate, GapNanoseconds: 1e9 / rate, GapRemainder: 1e9 % rate}
		s.Due = monotonicNow() - stall
		s.Schedule.Start = s.Due - dueAfter(s.Schedule, before)
		s.DueRemainder = before * s.Schedule.GapRemainder % rate
		s.RingFrames = 1 + random.Uint64N(planning.MaxRingFrames)
		s.IntendedFrames = before + 1 + random.Uint64N(1<<26)
		s.Arrived = before
		s.Eligible, s.EndAt = 0, never
		earliest := monotonicNow()
		if _, _, err := program.Test(make([]byte, frame)); err != nil {
			t.Fatal(err)
		}
		latest := monotonicNow()
		minFrames, maxFrames := dueUntil(*s, earliest), dueUntil(*s, latest)
		if s.Arrived < minFrames || s.Arrived > maxFrames {
			t.Fatalf("%d frames/s, a stall of %v: %d frames of %d have arrived after %d, want %d to %d", rate, time.Duration(stall),
				s.Arrived, s.IntendedFrames, before, minFrames, maxFrames)
		}
		want := s.Schedule.Start + dueAfter(s.Schedule, s.Arrived)
		if s.Arrived == s.IntendedFrames {
			want = never
		}
		if s.Due != want {
			t.Errorf("%d frames/s, a stall of %v: frame %d is due at %d, want %d", rate, time.Duration(stall), s.Arrived, s.Due, want)
		}
		new := s.Arrived - before
		if taken := min(new, s.RingFrames); s.Made != 1 || s.Waiting != taken-1 || s.Overflow != new-taken {
			t.Errorf("%d frames into a ring of %d: %d made, %d wait, %d found it full", new, s.RingFrames, s.Made, s.Waiting, s.Overflow)
		}
		if sent := s.Schedule.Start + dueAfter(s.Schedule, before); s.LastDeparture < sent || s.Latest != s.LastDeparture-sent {
			t.Errorf("frame %d left %d ns late, at %d, and was due at %d", before, s.Latest, s.LastDeparture, sent)
		}
	}
	d.state.stop()
}

// dueAfter returns when frame n is due after the first one.
func dueAfter(s trafficSchedule, n uint64) uint64 {
	return n*s.GapNanoseconds + n*s.GapRemainder/s.FramesPerSecond
}

// dueUntil returns how many frames of a trial are due at a time, by bisection.
func dueUntil(t trafficTransmitter, now uint64) uint64 {
	low, high := uint64(0), t.IntendedFrames
	for low < high {
		if middle := (low + high) / 2; dueAfter(t.Schedule, middle) <= now-t.Schedule.Start {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// TestRingThatIsNotEmptied: what a trial leaves in the ring is the device's loss where the device
// works on the core that sends, and was not sent elsewhere.
func TestRingThatIsNotEmptied(t *testing.T) {
	stream := streamIPv4()
	packets := packetTrial(8192, 6, 1500, 1000, time.Second)
	for _, c := range []struct {
		name                          string
		hop                           measure.Hop
		trial                         measure.Trial
		fragment                      uint32
		unsent, lost, left, fragments uint64
	}{
		{name: "Inline", hop: measure.HopInline, trial: trialOf(64, 1000, time.Second), lost: 150, left: 50},
		{name: "Tap", hop: measure.HopTap, trial: trialOf(64, 1000, time.Second), unsent: 150, left: 50},
		{name: "Separate", hop: measure.HopSeparate, trial: trialOf(64, 1000, time.Second), unsent: 150, left: 50},
		{name: "a packet has begun", hop: measure.HopInline, trial: packets, fragment: 2, lost: 151, left: 51, fragments: 1001 * 6},
	} {
		d := &Driver{state: &state{trafficState: &trafficState{}}}
		d.config.Path.Hop, d.streams[0], d.description.TransmitPath = c.hop, &stream, Direct
		s := &d.state.Transmitters[0]
		s.Arrived, s.Overflow, s.Waiting, s.Made, s.Fragment = 1000, 100, 50, 850, c.fragment
		s.Schedule.FramesPerSecond = 1000
		if c.fragment > 0 {
			s.Arrived, s.FragmentsMade = 1001, 850*6+2
			c.trial.IntendedFramesPerSecond = 1001
		}
		d.state.Receivers[0].Received = 850
		o := d.outcome(c.trial, 0, watched{})
		got := o.Directions[0]
		if got.UnsentFrames() != c.unsent || got.LostFrames() != c.lost || got.LeftFrames != c.left || got.SentFragments != c.fragments {
			t.Errorf("%s: %+v, want %+v", c.name, got, c)
		}
		o.Hop = c.hop
		if explained := o.Explainable(got); explained != c.lost {
			t.Errorf("%s: an interruption explains %d frames of %d", c.name, explained, c.lost)
		}
		for _, doubt := range d.doubts(c.trial, o, away{}, watched{}) {
			if doubt.Code == measure.DoubtUnaccounted {
				t.Errorf("%s: %+v", c.name, doubt)
			}
		}
	}
}

// TestDrainEnds cuts off a trial while a device of a few hundred frames/s still has frames to take. It measures again where a busy machine kept
// the driver from its core in the drain.
func TestDrainEnds(t *testing.T) {
	const rate = 4000
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: ipv4Forward(p)})
	if err := p.Slow(150_000, testpath.DeviceWest); err != nil {
		t.Fatal(err)
	}
	d.drainTimeout = 200 * time.Millisecond
	var o measure.Outcome
	for range 5 {
		began := time.Now()
		var err error
		if o, err = d.Measure(t.Context(), trialOf(64, rate, 300*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the trial took %v", took)
		}
		if o.Drain() <= 250*time.Millisecond {
			break
		}
	}
	got := o.Directions[0]
	if got.UnsentFrames() != 0 || got.LeftFrames == 0 || got.LostFrames() != got.OverflowFrames+got.LeftFrames+got.RefusedFrames || got.ReceivedFrames == 0 {
		t.Errorf("%+v", got)
	}
	if drain := o.Drain(); drain < 150*time.Millisecond || drain > 250*time.Millisecond {
		t.Errorf("the ring was emptied for %v after the trial", drain)
	}
	if got := o.ForwardingFramesPerSecond(); got < 10 || got > rate/2 {
		t.Errorf("%.0f frames/s forwarded", got)
	}
}

// TestPlaces: no more than a twentieth of a millisecond's frames wait where the ring is not the
// device's, and no more than the testbed lets.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		hop     measure.Hop
		ring    int
		rate    uint64
		percent int
		each    uint64
		wants   uint64
	}{
		{measure.HopInline, 1024, 1000, 0, 1, 1024},
		{measure.HopInline, 1024, 1000, 50, 1, 1024},
		{measure.HopInline, 1024, 1000, 0, 64, 1024},
		{measure.HopTap, 1024, 1, 0, 1, 4},
		{measure.HopTap, 1024, 99_999, 0, 1, 4},
		{measure.HopTap, 1024, 100_000, 0, 1, 5},
		{measure.HopSeparate, 1024, 14_880_952, 0, 1, 744},
		{"", 1024, 148_809_523, 0, 1, 1024},
		{"", 1024, 74_404_761, 50, 1, 512},
		{measure.HopSeparate, 2, 1_000_000, 0, 1, 2},
		{measure.HopSeparate, 2, 100_000, 10, 1, 1},
		// Four frames are two packets of two fragments, and less than one packet of more.
		{measure.HopTap, 1024, 1000, 0, 2, 2},
		{measure.HopTap, 1024, 1000, 0, 3, 1},
		{measure.HopTap, 1024, 1000, 0, 64, 1},
		{measure.HopTap, 1024, 60_000, 0, 64, 3},
	} {
		d := &Driver{config: Config{RingFrames: c.ring, Path: measure.Path{Hop: c.hop}}}
		if got := d.places(c.rate, c.percent, c.each); got != c.wants {
			t.Errorf("%+v: %d places", c, got)
		}
	}
}

// TestOverloadNeedsNoRing: a load above what the generator makes keeps frames in the smallest ring,
// so a calibration, whose path is Separate, reaches as much as with the largest.
func TestOverloadNeedsNoRing(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	d := open(t, p, Config{Path: p.IPv4()})
	reached := map[measure.Hop]float64{}
	for range 5 {
		for _, hop := range []measure.Hop{measure.HopSeparate, measure.HopInline} {
			d.config.Path.Hop, d.config.RingFrames = hop, planning.MaxRingFrames
			o, err := d.Measure(t.Context(), trialOf(64, 14_880_952, 200*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			reached[hop] = max(reached[hop], o.ForwardingFramesPerSecond())
			if got := o.Directions[0]; hop == measure.HopSeparate && (got.LostFrames() > got.SentFrames/100 || got.OverflowFrames == 0) {
				t.Errorf("%+v", got)
			}
		}
	}
	if small, large := reached[measure.HopSeparate], reached[measure.HopInline]; small < 0.6*large { // a busy machine
		t.Errorf("%.0f frames/s with few places, %.0f with many", small, large)
	}
	t.Logf("frames/s: %v", reached)
}

// TestTooManyFrames: due times are computed in 64 bits.
func TestTooManyFrames(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward)})
	_, err := d.Measure(t.Context(), trialOf(64, 148_809_523, 24*time.Hour*365))
	if measure.ReasonOf(err) == "" || errors.Is(err, t.Context().Err()) {
		t.Errorf("a year of 148,809,523 frames/s: %v", err)
	}
}
