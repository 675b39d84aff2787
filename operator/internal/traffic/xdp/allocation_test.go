package xdp

import (
	"math"
	"runtime"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// Nothing is allocated while frames are under way, at any number of frames: the lowest of
// a few trials, because the test binary has other goroutines.
func TestNoAllocationWhileSending(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4()})
	const (
		window = 200 * time.Millisecond
		enough = 20 // frames: enough to show an allocation for each
	)
	for name, trial := range map[string]measure.Trial{
		"at a set load": trialOf(64, 20_000, window), "flat out": trialOf(64, 0, window),
		"packets in fragments": packetTrial(16_384, 4, 1500, 2000, window),
	} {
		t.Run(name, func(t *testing.T) {
			minimum, frames := uint64(math.MaxUint64), uint64(0)
			for attempt := 0; attempt < 8 && (minimum > 0 || frames < enough); attempt++ {
				allocated := allocationsWhileSending(t, d, trial)
				minimum, frames = min(minimum, allocated), max(frames, d.state.Transmitters[0].Made)
			}
			if minimum != 0 || frames < enough {
				t.Errorf("%d allocations while up to %d frames were sent", minimum, frames)
			}
		})
	}
}

// allocationsWhileSending runs Measure and reads the heap right before the times are set
// and right after the last frame.
func allocationsWhileSending(t *testing.T, d *Driver, trial measure.Trial) uint64 {
	t.Helper()
	templates, err := d.prepare(trial)
	if err != nil {
		t.Fatal(err)
	}
	senders, pause := d.senders(trial, templates), newPause()
	ctx := t.Context()
	ctx.Done() // makes its channel
	for _, s := range senders {
		s.start()
	}
	for !allRunning(senders) && !anyDone(senders) {
		time.Sleep(100 * time.Microsecond)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err = d.transmit(ctx, pause, senders, trial)
	runtime.ReadMemStats(&after)
	d.state.stop()
	for _, s := range senders {
		s.stop()
		if s.err != nil {
			t.Fatal(s.err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return after.Mallocs - before.Mallocs
}

// A whole trial allocates for its result, its threads and its reading of counters, and for the
// encoding of its distributions, which has a value for each delay that occurred, and more of them on
// a busy machine: far less than one for each of 40,000 frames.
func TestAllocationsOfATrialAreBounded(t *testing.T) {
	const bound = 15_000
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4()})
	for _, rate := range []uint64{1000, 200_000} {
		minimum := uint64(math.MaxUint64)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := d.Measure(t.Context(), trialOf(64, rate, 200*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			minimum = min(minimum, after.Mallocs-before.Mallocs)
		}
		t.Logf("%d frames/s: %d allocations", rate, minimum)
		if minimum > bound {
			t.Errorf("a trial at %d frames/s made %d allocations, more than %d", rate, minimum, bound)
		}
	}
}
