package xdp

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/contract"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

// needKernel fails if the kernel tests cannot run: to skip them needs an explicit
// request.
func needKernel(t *testing.T) {
	t.Helper()
	if os.Getenv("VNFBENCH_NO_KERNEL_TESTS") == "1" {
		t.Skip("SKIP: VNFBENCH_NO_KERNEL_TESTS=1 turns the tests off that need root and BPF")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test makes network namespaces and loads BPF programs: run it as root, or set VNFBENCH_NO_KERNEL_TESTS=1")
	}
}

type builder func() (*testpath.Path, error)

func routedWithNAPI() (*testpath.Path, error)    { return testpath.Routed(true) }
func routedWithoutNAPI() (*testpath.Path, error) { return testpath.Routed(false) }

func buildPath(t *testing.T, build builder) *testpath.Path {
	t.Helper()
	needKernel(t)
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// busyTimeout is how long tests wait for probes and captures on a very busy machine.
const busyTimeout = time.Minute

func tryOpen(p *testpath.Path, config Config) (d *Driver, err error) {
	config.ProbeTimeout = cmp.Or(config.ProbeTimeout, busyTimeout)
	err = testpath.Do(p.Generator, func() (err error) {
		d, err = Open(context.Background(), config)
		return err
	})
	return d, err
}

func open(t *testing.T, p *testpath.Path, config Config) *Driver {
	t.Helper()
	d, err := tryOpen(p, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

// trialOf returns a trial that leaves any test's device time to settle.
func trialOf(bytes int, rate uint64, duration time.Duration) measure.Trial {
	return measure.Trial{
		FrameBytes: bytes, IntendedFramesPerSecond: rate,
		DurationNanoseconds: int64(duration), SettleNanoseconds: int64(100 * time.Millisecond),
	}
}

func run(t *testing.T, d *Driver, trial measure.Trial) measure.Outcome {
	t.Helper()
	var o measure.Outcome
	for range 30 { // a very busy machine may keep a trial from sending, or longer than the ring lasts
		var err error
		if o, err = d.Measure(t.Context(), trial); err != nil {
			t.Fatalf("Measure(%+v): %v", trial, err)
		}
		if !disturbed(o) && !slices.ContainsFunc(o.Directions, func(d measure.DirectionOutcome) bool { return d.SentFrames == 0 }) {
			break
		}
	}
	for _, doubt := range o.Doubts {
		t.Logf("doubt: %+v", doubt)
	}
	return o
}

// disturbed reports whether frames are missing because the machine was busy.
func disturbed(o measure.Outcome) bool {
	return slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool {
		return d.Invalid && slices.Contains([]string{measure.DoubtPreempted, measure.DoubtSteal, measure.DoubtSoftirq}, d.Code)
	})
}

// checkWhole verifies that every sent frame came back once and in order.
func checkWhole(t *testing.T, o measure.Outcome) {
	t.Helper()
	for _, d := range o.Directions {
		if d.SentFrames == 0 || d.ReceivedFrames != d.SentFrames || d.DuplicateFrames != 0 || d.ReorderedFrames != 0 {
			t.Errorf("%s: sent %d, received %d, %d duplicates, %d reordered",
				d.Direction, d.SentFrames, d.ReceivedFrames, d.DuplicateFrames, d.ReorderedFrames)
		}
		if d.Latency.MinNanoseconds == 0 || d.FirstFrameNanoseconds == 0 {
			t.Errorf("%s: no latency: %+v", d.Direction, d)
		}
	}
	if !o.Valid() {
		t.Errorf("an invalid trial: %+v", o.Doubts)
	}
}

func TestContract(t *testing.T) {
	for name, build := range map[string]builder{"direct": testpath.Direct, "bridged": testpath.Bridged} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, build)
			contract.Run(t, func(t *testing.T) measure.Driver {
				d, err := tryOpen(p, Config{Path: p.IPv4()})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}, contract.Capabilities{Frames: &contract.Frames{
				Directions: []measure.Direction{measure.Forward, measure.Reverse}, Fragments: true, DelayVariation: true,
			}})
		})
	}
}

func TestWaysOutAndThreads(t *testing.T) {
	for name, c := range map[string]struct {
		build   builder
		config  Config
		want    string
		streams []measure.Direction
	}{
		"veth pair":                     {build: testpath.Direct, want: Direct},
		"veth pair, two threads":        {build: testpath.Direct, config: Config{Threads: 2}, want: Direct},
		"veth pair, inner veth":         {build: testpath.Direct, config: Config{TransmitPath: InnerVeth}, want: InnerVeth},
		"router with NAPI":              {build: routedWithNAPI, want: Direct},
		"router with NAPI, one way":     {build: routedWithNAPI, want: Direct, streams: []measure.Direction{measure.Reverse}},
		"router without NAPI":           {build: routedWithoutNAPI, want: InnerVeth},
		"router, generic mode":          {build: routedWithNAPI, config: Config{ReceiveMode: Generic}, want: Direct},
		"bridge ports":                  {build: testpath.Bridged, want: InnerVeth},
		"bridge ports, two threads":     {build: testpath.Bridged, config: Config{Threads: 2}, want: InnerVeth},
		"bridge ports, clsact":          {build: testpath.Bridged, config: Config{withoutTCX: true}, want: InnerVeth},
		"bridge ports, generic, clsact": {build: testpath.Bridged, config: Config{withoutTCX: true, ReceiveMode: Generic}, want: InnerVeth},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, c.build)
			c.config.Path = p.IPv4(c.streams...)
			d := open(t, p, c.config)
			if got := d.Description().TransmitPath; got != c.want {
				t.Errorf("frames leave by %q, want %q (%v)", got, c.want, d.Description().Fallbacks)
			}
			if want := max(c.config.Threads, 1); d.Description().Threads != want {
				t.Errorf("%d threads, want %d", d.Description().Threads, want)
			}
			o := run(t, d, trialOf(64, 3000, 200*time.Millisecond))
			checkWhole(t, o)
			if len(o.Directions) != len(c.config.Path.Streams) {
				t.Errorf("%d directions of %d streams", len(o.Directions), len(c.config.Path.Streams))
			}
		})
	}
}

func TestFrameSizes(t *testing.T) {
	for name, c := range map[string]struct {
		path  func(*testpath.Path) measure.Path
		sizes []int
	}{
		"IPv4": {func(p *testpath.Path) measure.Path { return p.IPv4() }, []int{64, 65, 128, 256, 512, 1024, 1280, 1518, 2000, 3400}},
		"IPv6": {func(p *testpath.Path) measure.Path { return p.IPv6() }, []int{82, 83, 128, 256, 512, 1024, 1280, 1518, 2000, 3400}},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, routedWithNAPI)
			d := open(t, p, Config{Path: c.path(p)})
			for _, size := range c.sizes {
				o := run(t, d, trialOf(size, 5000, 40*time.Millisecond))
				checkWhole(t, o)
				r := d.state.Receivers[0]
				if want := r.Received * uint64(size-measure.FrameCheckSequenceBytes); r.Bytes != want {
					t.Errorf("%d bytes: received %d bytes, want %d", size, r.Bytes, want)
				}
			}
		})
	}
}

func TestFramesOutOfRange(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	four := open(t, p, Config{Path: p.IPv4()})
	check := func(d *Driver, size int, want string) {
		t.Helper()
		if _, err := d.Measure(t.Context(), trialOf(size, 1000, 10*time.Millisecond)); measure.ReasonOf(err) != want {
			t.Errorf("%d bytes: %v, want reason %q", size, err, want)
		}
	}
	check(four, 63, v1alpha1.ReasonFrameTooSmall)
	check(four, 3419, v1alpha1.ReasonFrameTooLarge) // beyond the MTU
	check(four, 9018, v1alpha1.ReasonFrameTooLarge)
	if four.longest < 1514 {
		t.Errorf("live frames carry %d bytes, less than Ethernet's 1514", four.longest)
	}
	if err := four.Close(); err != nil {
		t.Fatal(err)
	}
	six := open(t, p, Config{Path: p.IPv6()})
	check(six, 81, v1alpha1.ReasonFrameTooSmall)
}

func TestFramesBeyondAPage(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	if err := testpath.Do(p.Generator, func() error {
		for _, name := range []string{testpath.West, testpath.East} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetMTU(l, 9000); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	d := open(t, p, Config{Path: p.IPv4()})
	checkWhole(t, run(t, d, trialOf(d.longest+measure.FrameCheckSequenceBytes, 1000, 50*time.Millisecond)))
	_, err := d.Measure(t.Context(), trialOf(9018, 1000, 10*time.Millisecond))
	if measure.ReasonOf(err) != v1alpha1.ReasonFrameTooLarge {
		t.Errorf("9018 bytes: %v, want reason %q", err, v1alpha1.ReasonFrameTooLarge)
	}
}

func TestOpenFailures(t *testing.T) {
	p := buildPath(t, testpath.Wired)
	other := p.IPv4()
	other.Ports[1].Interface = "nowhere"
	same := p.IPv4()
	same.Ports[1] = same.Ports[0]
	twice := p.IPv4()
	twice.Streams[1] = twice.Streams[0]
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"a missing port":     {Config{Path: other}, v1alpha1.ReasonPortMissing},
		"one port twice":     {Config{Path: same}, v1alpha1.ReasonInvalidPath},
		"a stream twice":     {Config{Path: twice}, v1alpha1.ReasonInvalidPath},
		"an unknown way out": {Config{Path: p.IPv4(), TransmitPath: "Sideways"}, v1alpha1.ReasonInvalidPath},
		"a ring too large":   {Config{Path: p.IPv4(), RingFrames: planning.MaxRingFrames + 1}, v1alpha1.ReasonInvalidPath},
		"a negative ring":    {Config{Path: p.IPv4(), RingFrames: -1}, v1alpha1.ReasonInvalidPath},
		"three threads":      {Config{Path: p.IPv4(), Threads: 3}, v1alpha1.ReasonInvalidPath},
		"nothing forwards":   {Config{Path: p.IPv4(), ProbeTimeout: time.Millisecond}, v1alpha1.ReasonNoPathThroughChain},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := tryOpen(p, c.config)
			if measure.ReasonOf(err) != c.want {
				t.Errorf("Open: %v, want reason %q", err, c.want)
			}
			if d != nil {
				t.Error("a driver came with the error")
			}
			if links := linkNames(t, p.Generator); len(links) != 3 {
				t.Errorf("links that remain: %v", links)
			}
			t.Log(err)
		})
	}
}

func TestPortDownAndBusy(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	first := open(t, p, Config{Path: p.IPv4()})
	if _, err := tryOpen(p, Config{Path: p.IPv4()}); measure.ReasonOf(err) != v1alpha1.ReasonPortBusy {
		t.Errorf("Open on taken ports: %v, want reason %q", err, v1alpha1.ReasonPortBusy)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := setLink(p.Generator, testpath.East, false); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(p, Config{Path: p.IPv4()}); measure.ReasonOf(err) != v1alpha1.ReasonPortDown {
		t.Errorf("Open on a port that is down: %v, want reason %q", err, v1alpha1.ReasonPortDown)
	}
}

func setLink(ns netns.NsHandle, name string, up bool) error {
	return testpath.Do(ns, func() error {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if up {
			return netlink.LinkSetUp(l)
		}
		return netlink.LinkSetDown(l)
	})
}

func linkNames(t *testing.T, ns netns.NsHandle) (names []string) {
	t.Helper()
	if err := testpath.Do(ns, func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			names = append(names, l.Attrs().Name)
		}
		return err
	}); err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		t.Fatal(err)
	}
	return names
}
