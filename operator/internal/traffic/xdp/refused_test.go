package xdp

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// separate returns a path whose port is not the device's.
func separate(p *testpath.Path) measure.Path {
	path := p.IPv4(measure.Forward)
	path.Hop = measure.HopSeparate
	return path
}

func isUnproven(o measure.Outcome) bool {
	return hasDoubt(o, measure.DoubtTransmitUnproven) != nil
}

// setGRO switches NAPI of a veth end in the device. Without it, its peer drops what is redirected
// to it, and counts nothing.
func setGRO(p *testpath.Path, name string, on uint32) error {
	return testpath.Do(p.Device, func() error {
		request := ethtoolValue{command: ethtoolSetGRO, data: on}
		return ethtool(name, unsafe.Pointer(&request))
	})
}

// TestPortThatDropsWithoutACount takes NAPI from the peer of the sending port in the middle of a
// trial. What the port drops then is unsent where its counters show it, and otherwise loss with a
// doubt.
func TestPortThatDropsWithoutACount(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: separate(p)})
	if ports := d.Description().Ports; len(ports) != 2 || ports[0] != (measure.PortState{Interface: testpath.West, RefusedFrames: measure.RefusedCounted}) || ports[1] != (measure.PortState{Interface: testpath.East}) {
		t.Errorf("the driver says of its ports: %+v", ports)
	}
	for _, refusals := range []string{measure.RefusedCounted, measure.RefusedUnproven} {
		d.refusals[0] = refusals
		changed := make(chan error, 1)
		stop, before := make(chan struct{}), uint32(d.trial)
		go func() {
			changed <- changeInTrial(d, before, stop, func() error { return setGRO(p, testpath.DeviceWest, 0) })
		}()
		o, err := d.Measure(t.Context(), trialOf(64, 5000, time.Second))
		close(stop)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-changed; err != nil {
			t.Fatal(err)
		}
		got, counted := o.Directions[0], refusals == measure.RefusedCounted
		if got.ReceivedFrames == 0 || counted == isUnproven(o) {
			t.Errorf("%s: %+v, doubts %+v", refusals, got, o.Doubts)
		}
		if counted && (got.RefusedFrames == 0 || got.LostFrames() != 0 || got.UnsentFrames() != got.RefusedFrames+got.OverflowFrames) ||
			!counted && got.LostFrames() == 0 {
			t.Errorf("%s: %d refused, %d lost, %d unsent", refusals, got.RefusedFrames, got.LostFrames(), got.UnsentFrames())
		}
		if err := setGRO(p, testpath.DeviceWest, 1); err != nil {
			t.Fatal(err)
		}
		if o := run(t, d, trialOf(64, 5000, 100*time.Millisecond)); o.LossRatio() != 0 || o.Directions[0].RefusedFrames != 0 {
			t.Errorf("%s: after NAPI is back: %+v", refusals, o.Directions)
		}
	}
}

// changeInTrial makes a change once frames of the trial after the given one have arrived.
func changeInTrial(d *Driver, before uint32, stop chan struct{}, change func() error) error {
	for {
		select {
		case <-stop:
			return errors.New("the trial ended before frames arrived")
		case <-time.After(time.Millisecond):
		}
		if r := &d.state.Receivers[0]; atomic.LoadUint32(&r.Key)>>1 != before && atomic.LoadUint64(&r.Received) > 50 {
			return change()
		}
	}
}

// threadNAPI has a kernel thread do the receive work of an interface of a namespace, so that it
// does not follow the sender's batches.
func threadNAPI(ns netns.NsHandle, name string) error { return setOf(ns, name, "threaded", "1") }

// setOf writes a setting of an interface of a namespace, which only a mount of that namespace shows.
func setOf(ns netns.NsHandle, name, setting, value string) error {
	return onThreadOfItsOwn(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := netns.Set(ns); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
			return err
		}
		return os.WriteFile("/sys/class/net/"+name+"/"+setting, []byte(value), 0)
	})
}

// onThreadOfItsOwn runs a function on a thread that ends with it. The main thread would stay, with
// whatever namespaces the function gave it.
func onThreadOfItsOwn(f func() error) error {
	failed := make(chan error)
	var try func()
	try = func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			failed <- f()
			return
		}
		next := make(chan struct{})
		go func() { defer close(next); try() }()
		<-next
		runtime.UnlockOSThread()
	}
	go try()
	return <-failed
}

// TestFullRingOfAVeth offers a device more than it takes, and has it do its work outside the
// sender's core, so that the ring of the veth is what overflows. No frame is the device's loss.
func TestFullRingOfAVeth(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: separate(p)})
	slow(t, p, testpath.DeviceWest)
	if err := threadNAPI(p.Device, testpath.DeviceWest); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(64, 600_000, 200*time.Millisecond)
	trial.SettleNanoseconds = int64(time.Second)
	for _, refusals := range []string{measure.RefusedCounted, measure.RefusedUnproven} {
		d.refusals[0] = refusals
		o, err := d.Measure(t.Context(), trial)
		if err != nil {
			t.Fatal(err)
		}
		got := o.Directions[0]
		t.Logf("%s: %d intended, %d sent, %d overflow, %d refused, %d received", refusals,
			got.IntendedFrames, got.SentFrames, got.OverflowFrames, got.RefusedFrames, got.ReceivedFrames)
		if got.RefusedFrames == 0 || got.LostFrames() != 0 || got.UnsentFrames() != got.OverflowFrames+got.RefusedFrames {
			t.Errorf("%s: %d refused, %d lost, %d unsent: %+v", refusals, got.RefusedFrames, got.LostFrames(), got.UnsentFrames(), got)
		}
	}
}

// TestRefusedByACount: 900 frames came to the port, which counts 850 sent and 20 dropped.
func TestRefusedByACount(t *testing.T) {
	for name, c := range map[string]struct {
		refusals                        string
		sent, drops, received           uint64
		wantSent, wantLost, wantRefused uint64
		unproven                        bool
	}{
		"some without a count":            {measure.RefusedCounted, 850, 20, 800, 850, 50, 50, false},
		"all counted":                     {measure.RefusedCounted, 880, 20, 800, 880, 80, 20, false},
		"other frames on the port":        {measure.RefusedCounted, 1200, 0, 800, 900, 100, 0, true},
		"as many others as are missing":   {measure.RefusedCounted, 1000, 0, 800, 900, 100, 0, true},
		"fewer others than are missing":   {measure.RefusedCounted, 999, 0, 800, 900, 100, 0, false},
		"others, and a counted drop":      {measure.RefusedCounted, 970, 14, 786, 886, 100, 14, true},
		"others, and no loss":             {measure.RefusedCounted, 1200, 0, 900, 900, 0, 0, false},
		"a counter without the last":      {measure.RefusedCounted, 850, 0, 890, 890, 0, 10, false},
		"a frame of the kernel hides one": {measure.RefusedCounted, 850, 0, 849, 850, 1, 50, true},
		"a port that counts nothing":      {measure.RefusedUnproven, 0, 20, 800, 880, 80, 20, true},
		"a port that was not looked at":   {"", 0, 20, 800, 880, 80, 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := ended{hop: measure.HopSeparate, arrived: 1000, overflow: 100, made: 900, received: c.received}
			e.seen.ports[0].sent, e.seen.ports[0].sendDrops = c.sent, c.drops
			d := e.driver()
			d.refusals[0] = c.refusals
			o := d.outcome(e.trial(), 0, e.seen)
			got := o.Directions[0]
			if got.SentFrames != c.wantSent || got.LostFrames() != c.wantLost || got.RefusedFrames != c.wantRefused {
				t.Errorf("sent %d, lost %d, refused %d, want %d, %d and %d",
					got.SentFrames, got.LostFrames(), got.RefusedFrames, c.wantSent, c.wantLost, c.wantRefused)
			}
			o.Doubts = d.doubts(e.trial(), o, away{}, e.seen)
			if isUnproven(o) != c.unproven {
				t.Errorf("doubts %+v", o.Doubts)
			}
		})
	}
}

// TestLossAtAPortOfTheDevice: on an Inline path the device's kernel is what the port leads to, and what the
// port drops is its loss.
func TestLossAtAPortOfTheDevice(t *testing.T) {
	e := ended{hop: measure.HopInline, arrived: 1000, made: 1000, received: 900}
	d := e.driver()
	d.refusals[0] = measure.RefusedUnproven
	o := d.outcome(e.trial(), 0, e.seen)
	if o.Doubts = d.doubts(e.trial(), o, away{}, e.seen); isUnproven(o) || o.Directions[0].LostFrames() != 100 {
		t.Errorf("%+v, doubts %+v", o.Directions[0], o.Doubts)
	}
}

// TestCounterThatIsLate: what a counter lacks of the trial before is none of this trial's.
func TestCounterThatIsLate(t *testing.T) {
	known := counters{sent: 1000}
	if got := (counters{sent: 1400}).since(known).sent; got != 400 {
		t.Errorf("%d frames, want 400", got)
	}
	if got := (counters{sent: 900}).since(known).sent; got != 0 {
		t.Errorf("%d frames while the counter has not reached what is known, want 0", got)
	}
}
