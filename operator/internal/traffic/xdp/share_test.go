package xdp

import (
	"cmp"
	"math"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// TestShareOfTheLoad has the reverse direction send a tenth, with one thread and with
// two; at the maximum rate there are no shares.
func TestShareOfTheLoad(t *testing.T) {
	for _, threads := range []int{1, 2} {
		p := buildPath(t, routedWithNAPI)
		path := p.IPv4()
		path.Streams[1].LoadPercent = 10
		d := open(t, p, Config{Path: path, Threads: threads})
		o := run(t, d, trialOf(64, 5000, 200*time.Millisecond))
		checkWhole(t, o)
		forward, reverse := o.Directions[0], o.Directions[1]
		if forward.IntendedFrames != 1000 || reverse.IntendedFrames != 100 || forward.LoadPercent != 0 || reverse.LoadPercent != 10 {
			t.Errorf("%d threads: forward %d frames, reverse %d with %d %%", threads, forward.IntendedFrames, reverse.IntendedFrames, reverse.LoadPercent)
		}
		if forward.SentFrames == 1000 && reverse.SentFrames == 100 && o.SendingNanoseconds == 200e6 && o.OfferedFramesPerSecond() != 5000 {
			t.Errorf("%d threads: offered %f, want 5000", threads, o.OfferedFramesPerSecond())
		}
		flatOut := run(t, d, trialOf(64, 0, 50*time.Millisecond))
		if reverse := flatOut.Directions[1]; reverse.LoadPercent != 0 || reverse.SentFrames == 0 {
			t.Errorf("%d threads: as fast as possible, reverse sent %d with %d %%", threads, reverse.SentFrames, reverse.LoadPercent)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShareOfAnOverload overloads the generator as its calibration does, over a bridge without a
// device: one thread sends each direction its share of what it can, and all that left arrives.
func TestShareOfAnOverload(t *testing.T) {
	for _, percent := range []int{0, 50, 10} {
		p := buildPath(t, func() (*testpath.Path, error) { return testpath.Switched(0) })
		path := p.IPv4()
		path.Hop, path.Streams[1].LoadPercent = measure.HopSeparate, percent
		d := open(t, p, Config{Path: path, Threads: 1})
		o := run(t, d, trialOf(64, 20_000_000, 200*time.Millisecond))
		forward, reverse := o.Directions[0], o.Directions[1]
		got, want := float64(reverse.ReceivedFrames)/float64(forward.ReceivedFrames), float64(cmp.Or(percent, 100))/100
		if !o.Valid() || o.UnsentRatio() < 0.1 || o.LossRatio() > 0 || math.Abs(got/want-1) > 0.05 {
			t.Errorf("%d %%: received %d and %d of %d and %d", percent, forward.ReceivedFrames, reverse.ReceivedFrames, forward.IntendedFrames, reverse.IntendedFrames)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShareOutOfRange(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	path := p.IPv4()
	path.Streams[1].LoadPercent = 101
	if _, err := tryOpen(p, Config{Path: path}); measure.ReasonOf(err) != v1alpha1.ReasonInvalidPath {
		t.Errorf("a share of 101 %%: %v", err)
	}
	path.Streams[1].LoadPercent = 1
	d := open(t, p, Config{Path: path})
	if _, err := d.Measure(t.Context(), trialOf(64, 100, 100*time.Millisecond)); measure.ReasonOf(err) != v1alpha1.ReasonInvalidTrial {
		t.Errorf("1 %% of 100 frames/s for 100 ms: %v, want reason %s", err, v1alpha1.ReasonInvalidTrial)
	}
}

// TestBatch wants equal batches at all loads, in one direction and in both.
func TestBatch(t *testing.T) {
	for _, directions := range [][]measure.Direction{{measure.Forward}, {measure.Forward, measure.Reverse}} {
		p := buildPath(t, routedWithNAPI)
		d := open(t, p, Config{Path: p.IPv4(directions...), Threads: 1})
		for rate, want := range map[uint64]uint32{0: flatOutBatch, 1: ratedBatch, 149_999: ratedBatch, 300_001: ratedBatch, 14_880_952: ratedBatch} {
			for _, s := range d.senders(trialOf(64, rate, time.Second), [2]template{}) {
				if s.batch != want {
					t.Errorf("%v: a batch of %d at %d frames/s, want %d", directions, s.batch, rate, want)
				}
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
