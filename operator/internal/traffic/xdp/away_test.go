package xdp

import (
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// What a slow device takes for a batch is no time away, on the one path where it works on the core that
// sends; a gap of a millisecond always is.
func TestTimeAwayBeginsAfterABatch(t *testing.T) {
	small := measure.Trial{Size: "64", FrameBytes: 64}
	for name, test := range map[string]struct {
		hop        measure.Hop
		made       uint64
		took       time.Duration
		fragments  uint64
		directions int
		want       time.Duration
	}{
		"nothing known":           {hop: measure.HopInline, want: minAway},
		"a fast device":           {hop: measure.HopInline, made: 1_000_000, took: time.Second, want: minAway},
		"25 us a frame":           {hop: measure.HopInline, made: 40_000, took: time.Second, want: 400 * time.Microsecond},
		"in two directions":       {hop: measure.HopInline, made: 20_000, took: time.Second, directions: 2, want: 400 * time.Microsecond},
		"in a shorter trial":      {hop: measure.HopInline, made: 4_000, took: 100 * time.Millisecond, want: 400 * time.Microsecond},
		"in fragments":            {hop: measure.HopInline, made: 10_000, fragments: 40_000, took: time.Second, want: 400 * time.Microsecond},
		"a very slow device":      {hop: measure.HopInline, made: 1000, took: time.Second, want: maxAway},
		"a device somewhere else": {hop: measure.HopTap, made: 40_000, took: time.Second, want: minAway},
	} {
		d := &Driver{cpus: []int{0}, state: &state{trafficState: &trafficState{}}}
		d.config.Path.Hop = test.hop
		o := measure.Outcome{SendingNanoseconds: int64(test.took)}
		for i, direction := range []measure.Direction{measure.Forward, measure.Reverse}[:max(1, test.directions)] {
			d.state.Transmitters[i].Made, d.state.Transmitters[i].FragmentsMade = test.made, test.fragments
			o.Directions = append(o.Directions, measure.DirectionOutcome{Direction: direction, OverflowFrames: 1})
		}
		d.noteRate(small, o)
		if got := d.awayAfter(small, 0); got != test.want {
			t.Errorf("%s: a gap counts from %v on, want %v", name, got, test.want)
		}
		// A slower trial changes nothing.
		d.noteRate(small, measure.Outcome{SendingNanoseconds: int64(time.Hour), Directions: o.Directions})
		if got := d.awayAfter(small, 0); got != test.want {
			t.Errorf("%s: after a slower trial a gap counts from %v on, want %v", name, got, test.want)
		}
	}
}

// A device that takes longer for larger frames is not away at them. Each core has its own rate, and a trial that
// did not use its core up shows none.
func TestTimeAwayOfASizeAndACore(t *testing.T) {
	d := &Driver{cpus: []int{0, 1}, state: &state{trafficState: &trafficState{}}}
	d.config.Path.Hop = measure.HopInline
	small, large := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 1_000_000}, measure.Trial{Size: "1518", FrameBytes: 1518, IntendedFramesPerSecond: 1_000_000}
	for _, test := range []struct {
		trial            measure.Trial
		forward, reverse uint64
		overflow         uint64
		drain            time.Duration
	}{
		{small, 100_000, 80_000, 1, 0}, {small, 200_000, 200_000, 0, 0},
		{large, 33_333, 20_000, 0, time.Millisecond}, {large, 1000, 1000, 0, 0},
	} {
		o := measure.Outcome{SendingNanoseconds: int64(time.Second), Directions: []measure.DirectionOutcome{
			{Direction: measure.Forward, OverflowFrames: test.overflow, DrainNanoseconds: int64(test.drain)},
			{Direction: measure.Reverse, OverflowFrames: test.overflow, DrainNanoseconds: int64(test.drain)},
		}}
		d.state.Transmitters[0].Made, d.state.Transmitters[1].Made = test.forward, test.reverse
		d.noteRate(test.trial, o)
	}
	for trial, want := range map[*measure.Trial][2]time.Duration{
		&small: {160 * time.Microsecond, 200 * time.Microsecond}, &large: {480 * time.Microsecond, 800 * time.Microsecond},
		{Size: "512", FrameBytes: 512}: {minAway, minAway},
	} {
		for direction, want := range want {
			if got := d.awayAfter(*trial, direction); got.Round(10*time.Microsecond) != want {
				t.Errorf("%s bytes, direction %d: a gap counts from %v on, want %v", trial.Size, direction, got, want)
			}
		}
	}
	// A program that has the core for 60 ms makes the ring overflow, or frames wait at the end, and shows no rate.
	for _, stalled := range []measure.DirectionOutcome{{OverflowFrames: 176}, {DrainNanoseconds: int64(50 * time.Millisecond)}} {
		latency := measure.Trial{Size: "256", FrameBytes: 256, IntendedFramesPerSecond: 20_000}
		stalled.Direction, stalled.IntendedFrames = measure.Forward, 20_000
		d.state.Transmitters[0].Made = 20_000
		o := measure.Outcome{SendingNanoseconds: int64(time.Second), AwayNanoseconds: int64(60 * time.Millisecond), Directions: []measure.DirectionOutcome{stalled}}
		if d.noteRate(latency, o); d.awayAfter(latency, 0) != minAway {
			t.Errorf("after a stall, %+v, a gap counts from %v on, want %v", stalled, d.awayAfter(latency, 0), minAway)
		}
		// The ring of a device that takes 50 us a frame overflows for longer.
		o.Directions[0].IntendedFrames, o.Directions[0].OverflowFrames, o.Directions[0].DrainNanoseconds = 40_000, 19_000, 0
		if d.noteRate(latency, o); d.awayAfter(latency, 0) != 800*time.Microsecond {
			t.Errorf("of a slow device with a stall a gap counts from %v on", d.awayAfter(latency, 0))
		}
		delete(d.fastest, sizeOf(latency))
	}
	// One size's first trial at a load that is no work for its core.
	idle := measure.Trial{Size: "128", FrameBytes: 128, IntendedFramesPerSecond: 1000}
	d.state.Transmitters[0].Made = 1000
	d.noteRate(idle, measure.Outcome{SendingNanoseconds: int64(time.Second), Directions: []measure.DirectionOutcome{{Direction: measure.Forward}}})
	if got := d.awayAfter(idle, 0); got != minAway {
		t.Errorf("after a trial of 1,000 frames/s a gap counts from %v on, want %v", got, minAway)
	}
}
