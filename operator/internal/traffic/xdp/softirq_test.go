package xdp

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

// steer has the kernel take in an interface's packets on one CPU, whichever they came on (RPS).
func steer(ns netns.NsHandle, name string, cpu int) error {
	return setOf(ns, name, "queues/rx-0/rps_cpus", fmt.Sprintf("%x", 1<<cpu))
}

// flood sends bursts of frames of others from a namespace until it is stopped.
func flood(t *testing.T, ns netns.NsHandle, name string, burst int, pause time.Duration) (stop func()) {
	t.Helper()
	var stopped atomic.Bool
	done, opened := make(chan struct{}), make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var socket int
		var to unix.SockaddrLinklayer
		err := testpath.Do(ns, func() (err error) {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			to = unix.SockaddrLinklayer{Ifindex: l.Attrs().Index}
			if socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
				return err
			}
			return unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)
		})
		if opened <- err; err != nil {
			return
		}
		defer func() { _ = unix.Close(socket) }()
		// To all, of the type for local experiments: no protocol of the kernel takes it.
		frame := append([]byte("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x88\xb5"), make([]byte, 50)...)
		for !stopped.Load() {
			for range burst {
				_ = unix.Sendto(socket, frame, 0, &to)
			}
			for next := time.Now().Add(pause); time.Now().Before(next); {
			}
		}
	}()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	return func() {
		stopped.Store(true)
		<-done
	}
}

// TestPacketsOfOthersOnTheSendingCore has the kernel take in packets of another path on the core that sends: what
// that costs is never the device's loss. The scheduler sees none of it, because no other thread runs.
func TestPacketsOfOthersOnTheSendingCore(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Fatal("this test needs a CPU that sends and another one")
	}
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward), Scheduling: RealTime})
	slow(t, p, testpath.DeviceWest)
	load := trialOf(64, 60_000, 200*time.Millisecond)
	if o := run(t, d, load); hasDoubt(o, measure.DoubtSoftirq) != nil {
		t.Errorf("without packets of others: %+v", o.Doubts)
	}
	others := buildPath(t, routedWithoutNAPI)
	slow(t, others, testpath.DeviceWest)
	if err := steer(others.Device, testpath.DeviceWest, d.cpus[0]); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{8, 256} {
		stop := flood(t, others.Generator, testpath.West, size, time.Duration(size)*5*time.Microsecond)
		marked := 0
		for range 5 {
			o, err := d.Measure(t.Context(), load)
			if err != nil {
				t.Fatal(err)
			}
			lost, seen := o.Directions[0].LostFrames(), hasDoubt(o, measure.DoubtSoftirq)
			if lost > 0 && o.Valid() {
				t.Errorf("bursts of %d packets of others came to CPU %d, and the device is said to have lost %d frames in %+v", size, d.cpus[0], lost, o)
			}
			if seen != nil && seen.Invalid {
				marked++
			}
		}
		stop()
		if marked == 0 {
			t.Errorf("no trial was marked with bursts of %d packets", size)
		}
	}
}

// countedDriver returns a driver of one thread that has made frames of a trial, of which so many arrived, and whose highest
// rate was 100,000 frames/s.
func countedDriver(hop measure.Hop, trial measure.Trial, made, received uint64) *Driver {
	stream := streamIPv4()
	d := &Driver{cpus: []int{0}, state: &state{trafficState: &trafficState{}}}
	d.config.RingFrames, d.config.Path.Hop, d.streams[0] = planning.DefaultRingFrames, hop, &stream
	d.state.Transmitters[0].Made, d.state.Receivers[0].Received = made, received
	d.fastest = map[frameSize][2]float64{sizeOf(trial): {100_000, 0}}
	return d
}

// trialIntakes returns what is read around a trial in which packets come before it, while it sends, and while it settles.
// The counter starts again at 2^32.
func trialIntakes(before, sent, settles int, took, settling time.Duration) intakes {
	began, first := time.Unix(1000, 0), uint32(1<<32-1000)
	in := func(after time.Duration, packets int) intake {
		return intake{at: began.Add(after), packets: [2]uint32{first + uint32(packets)}}
	}
	return intakes{in(-settling, 0), in(0, before), in(took, before+sent), in(took+settling, before+sent+settles)}
}

// TestPacketsOfOthers: of what the kernel took in, a trial's own packets are as many for each frame as in others
// before, or in this one beyond what came while it settled.
func TestPacketsOfOthers(t *testing.T) {
	trial := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 50_000, DurationNanoseconds: int64(time.Second)}
	// Two packets for each frame, and a few of others.
	known := countedDriver(measure.HopInline, trial, 50_000, 50_000)
	for range learned + 1 {
		known.learn(trial, known.takenIn(trialIntakes(500, 100_500, 500, time.Second, time.Second)))
	}
	if got := known.samples[sizeOf(trial)][0]; len(got) != learned || got[0] != (sample{100_000, 50_000, 1}) {
		t.Errorf("packets for each frame: %v", got)
	}
	for name, c := range map[string]struct {
		hop                   measure.Hop
		received              uint64
		before, sent, settles int
		known                 bool
		want                  time.Duration
		learns                bool
	}{
		"its own":                      {measure.HopInline, 50_000, 0, 100_000, 0, true, 0, true},
		"few of others":                {measure.HopInline, 50_000, 500, 100_500, 500, true, 0, true},
		"others, all the time":         {measure.HopInline, 50_000, 20_000, 120_000, 20_000, true, 100 * time.Millisecond, false},
		"others, while it sent":        {measure.HopInline, 50_000, 0, 120_000, 0, true, 100 * time.Millisecond, true},
		"the same with loss":           {measure.HopInline, 40_000, 0, 120_000, 0, true, 100 * time.Millisecond, false},
		"all the time, nothing known":  {measure.HopInline, 50_000, 20_000, 120_000, 20_000, false, 100 * time.Millisecond, false},
		"while it sent, nothing known": {measure.HopInline, 50_000, 0, 120_000, 0, false, 0, true},
		"frames that went no further":  {measure.HopInline, 10_000, 0, 60_000, 0, true, 0, false},
		"questions while it settles":   {measure.HopInline, 50_000, 0, 100_000, asked, false, 0, true},
		"a burst while it settles":     {measure.HopInline, 50_000, 0, 100_000, 2_000, false, 0, false},
		"a burst before it":            {measure.HopInline, 50_000, 2_000, 100_000, 0, false, 0, false},
		"the device is elsewhere":      {measure.HopTap, 50_000, 20_000, 120_000, 20_000, true, 0, false},
	} {
		d := countedDriver(c.hop, trial, 50_000, c.received)
		if c.known {
			d.samples = map[frameSize][2][]sample{sizeOf(trial): {{{100_000, 50_000, 1}, {95_000, 50_000, 1}, {105_000, 50_000, 1}}}}
		}
		all := d.takenIn(trialIntakes(c.before, c.sent, c.settles, time.Second, time.Second))
		if got := d.shared(trial, 0, all[0], measure.Outcome{}); got.Round(time.Microsecond) != c.want {
			t.Errorf("%s: others had the core for %v, want %v", name, got, c.want)
		}
		if learns := all[0].shows(); learns != c.learns {
			t.Errorf("%s: it shows packets for each frame: %v", name, learns)
		}
	}
	d := countedDriver(measure.HopInline, trial, 50_000, 50_000)
	d.state.Transmitters[0].FragmentsMade = 150_000
	all := d.takenIn(trialIntakes(0, 300_000, 0, time.Second, time.Second))
	if mine := d.ownOf(trial, 0, all[0]); mine.perFrame != 2 || !all[0].whole {
		t.Errorf("a fragment brought %v packets, want 2 (%+v)", mine.perFrame, all[0])
	}
}

// TestBurstsInEveryTrial has a burst of 400 packets of others each 100 ms in every trial, with too few of them in any idle
// time to be more than questions. They are no packets of the frames.
func TestBurstsInEveryTrial(t *testing.T) {
	const burst, aSecond = 400, 10
	d := countedDriver(measure.HopInline, measure.Trial{}, 0, 0)
	trialAt := func(rate int) measure.Trial {
		return measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: uint64(rate), DurationNanoseconds: int64(time.Second)}
	}
	d.fastest = map[frameSize][2]float64{sizeOf(trialAt(1)): {100_000, 0}}
	taken := func(rate, bursts int) [2]taken {
		d.state.Transmitters[0].Made, d.state.Receivers[0].Received = uint64(rate), uint64(rate)
		return d.takenIn(trialIntakes(0, 2*rate+bursts*burst, burst, time.Second, 100*time.Millisecond))
	}
	for n, rate := range []int{20_000, 50_000, 35_000, 80_000, 65_000, 72_000, 76_000, 78_000} {
		all := taken(rate, aSecond+n%3-1)
		if !all[0].shows() {
			t.Fatalf("a trial of %d frames/s is not learned: %+v", rate, all[0])
		}
		d.learn(trialAt(rate), all)
	}
	// A burst more or less changes the figure of the slowest trials by some percent, and what is fitted by less.
	if mine := fit(d.samples[sizeOf(trialAt(1))][0]); mine.perFrame < 1.99 || mine.perFrame > 2.01 {
		t.Errorf("%+v packets for each frame, want 2", mine)
	}
	trial := trialAt(90_000)
	all := taken(90_000, aSecond)
	o := measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds, Directions: []measure.DirectionOutcome{
		{Direction: measure.Forward, IntendedFrames: 90_000, SentFrames: 90_000, ReceivedFrames: 89_500},
	}}
	if got := d.shared(trial, 0, all[0], o); got < 16*time.Millisecond || got > 24*time.Millisecond {
		t.Errorf("others had the core for %v, want 20 ms", got)
	}
	// Trials of one rate cannot show which packets follow the time.
	alike := []sample{{204_000, 100_000, 1}, {214_000, 105_000, 1}, {208_000, 102_000, 1}}
	if mine := fit(alike); mine.perFrame < 2.03 || mine.perFrame > 2.05 {
		t.Errorf("of trials of one rate: %+v", mine)
	}
}

// TestLearnsOfEachRate: the last trials of one rate do not replace those of another, which alone show what follows the time.
func TestLearnsOfEachRate(t *testing.T) {
	trial := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 20_000, DurationNanoseconds: int64(time.Second)}
	d := countedDriver(measure.HopInline, trial, 20_000, 20_000)
	d.learn(trial, d.takenIn(trialIntakes(0, 44_000, 0, time.Second, time.Second)))
	d.state.Transmitters[0].Made, d.state.Receivers[0].Received = 80_000, 80_000
	for range 3 * learned {
		d.learn(trial, d.takenIn(trialIntakes(0, 164_000, 0, time.Second, time.Second)))
	}
	known := d.samples[sizeOf(trial)][0]
	if mine := fit(known); len(known) != learned+1 || mine.perFrame != 2 {
		t.Errorf("%d trials are known, and a frame brings %+v packets, want 2", len(known), mine)
	}
}

// TestAPieceOfALongTrial: where frames are missing, what others had in one piece counts from the time on for which the ring
// lasts, however long the trial is.
func TestAPieceOfALongTrial(t *testing.T) {
	const rate = 50_000
	trial := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: rate, DurationNanoseconds: int64(time.Minute)}
	exact := []sample{{100_000, 50_000, 1}, {100_000, 50_000, 1}, {100_000, 50_000, 1}}
	for name, c := range map[string]struct {
		others, settles int
		lost            uint64
		known           []sample
		want            time.Duration
	}{
		"in one piece":            {30_000, 0, 500, exact, 150 * time.Millisecond},
		"and nothing is missing":  {30_000, 0, 0, exact, 0},
		"for less than the ring":  {4_000, 0, 500, exact, 0},
		"all the time":            {30_000, 500, 500, exact, 0},
		"more than 0.5 %":         {120_000, 0, 0, exact, 600 * time.Millisecond},
		"within what trials vary": {30_000, 0, 500, []sample{{100_000, 50_000, 1}, {100_500, 50_000, 1}, {99_500, 50_000, 1}}, 0},
		"too few trials show it":  {30_000, 0, 500, exact[:2], 0},
	} {
		d := countedDriver(measure.HopInline, trial, 60*rate-c.lost, 60*rate-c.lost)
		d.samples = map[frameSize][2][]sample{sizeOf(trial): {c.known}}
		o := measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds, Directions: []measure.DirectionOutcome{
			{Direction: measure.Forward, IntendedFrames: 60 * rate, SentFrames: 60 * rate, ReceivedFrames: 60*rate - c.lost},
		}}
		own := 2 * int(60*rate-c.lost)
		all := d.takenIn(trialIntakes(c.settles, own+c.others, c.settles, time.Minute, time.Second))
		if got := d.shared(trial, 0, all[0], o); got.Round(time.Millisecond) != c.want {
			t.Errorf("%s: others had the core for %v, want %v", name, got, c.want)
		}
	}
}

// TestPacketsAroundAShortBurst: of packets that are counted for longer than a burst of frames lasts, the burst met its share.
func TestPacketsAroundAShortBurst(t *testing.T) {
	trial := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 1_000_000, DurationNanoseconds: int64(2 * time.Millisecond)}
	d := countedDriver(measure.HopInline, trial, 2_000, 2_000)
	d.samples = map[frameSize][2][]sample{sizeOf(trial): {{{100_000, 50_000, 1}}}}
	all := d.takenIn(trialIntakes(0, 4_000+400, 0, 20*time.Millisecond, time.Second))
	if got := d.shared(trial, 0, all[0], measure.Outcome{}); got != 200*time.Microsecond {
		t.Errorf("others had the core for %v of 2 ms, want a tenth of 2 ms", got)
	}
}

// TestHeldCore checks that all that others take of a core counts, however short its pieces are, and of two cores the one with more.
func TestHeldCore(t *testing.T) {
	trial := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 1_000_000, DurationNanoseconds: int64(time.Second)}
	d := countedDriver(measure.HopInline, trial, 1_000_000, 1_000_000)
	d.samples = map[frameSize][2][]sample{sizeOf(trial): {{{100_000, 50_000, 1}}}}
	// 400 packets of others, of which a frame has two, at 100,000 frames/s: 2 ms, less than what the doubt counts.
	all := d.takenIn(trialIntakes(0, 2_000_000+400, 0, time.Second, time.Second))
	one := sender{held: held{waited: 3 * time.Millisecond, known: true}, timed: true, others: d.othersIn(trial, 0, all[0])}
	two := sender{held: held{waited: 4 * time.Millisecond, known: true}, timed: true}
	senders := []*sender{&one, &two}
	if got, known := d.heldIn(trial, senders, time.Millisecond, all); !known || got.Round(10*time.Microsecond) != 6*time.Millisecond {
		t.Errorf("others had a core for %v, want 3 ms of waiting, 1 ms of the hypervisor's and 2 ms of packets", got)
	}
	if got, known := d.heldIn(trial, senders, time.Minute, all); !known || got != time.Second {
		t.Errorf("others had a core for %v of a trial of 1 s", got)
	}
	none := sender{held: held{known: true}, timed: true}
	if got, known := d.heldIn(trial, []*sender{&none}, 0, all); !known || got != 0 {
		t.Errorf("without other work, others had a core for %v, known: %v", got, known)
	}
	for name, unknown := range map[string]func(){
		"how long a thread waited":            func() { two.held.known = false },
		"what the hypervisor took":            func() { two.timed = false },
		"how long the packets of others take": func() { d.fastest = nil },
	} {
		was, timed, fastest := two.held, two.timed, d.fastest
		unknown()
		if got, known := d.heldIn(trial, senders, time.Millisecond, all); known {
			t.Errorf("it is not known %s, and others had a core for %v", name, got)
		}
		two.held, two.timed, d.fastest = was, timed, fastest
	}
}
