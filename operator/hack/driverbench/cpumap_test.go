package main

import (
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// TestDeviceOnASecondCore checks that frames pass through the queue of a second core, and that those
// which find it full are missing there: neither the driver's ring nor its port has them.
func TestDeviceOnASecondCore(t *testing.T) {
	slow := device{name: "slow router", build: func() (*testpath.Path, error) { return testpath.Routed(true) }, slow: 400}
	p, err := slow.path()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if scheduling, err := giveCore(p, otherThan(core), 64); err != nil || scheduling != xdp.RealTime {
		t.Fatalf("the device's thread is scheduled %q, %v", scheduling, err)
	}
	d, err := open(t.Context(), p, xdp.Config{Path: p.IPv4(measure.Forward), Threads: 1}, core)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for _, test := range []struct {
		framesPerSecond uint64
		loses           bool
	}{{200, false}, {400_000, true}} {
		o, err := d.Measure(t.Context(), trialOf(64, test.framesPerSecond, 300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		got := o.Directions[0]
		elsewhere := int64(got.LostFrames()) - int64(got.OverflowFrames+got.LeftFrames+got.RefusedFrames)
		if got.ReceivedFrames == 0 || (elsewhere > 0) != test.loses {
			t.Errorf("at %d frames/s: %+v", test.framesPerSecond, got)
		}
	}
}
