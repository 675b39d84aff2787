package xdp

import (
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// What a slow device takes for a batch is no time away, on the one path where it works on the core that
// sends. Batches of a slow device are smaller.
func TestTimeAwayBeginsAfterABatch(t *testing.T) {
	small := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 1_000_000}
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
		"25 us a frame":           {hop: measure.HopInline, made: 40_000, took: time.Second, want: 200 * time.Microsecond},
		"in two directions":       {hop: measure.HopInline, made: 20_000, took: time.Second, directions: 2, want: 200 * time.Microsecond},
		"in a shorter trial":      {hop: measure.HopInline, made: 4_000, took: 100 * time.Millisecond, want: 200 * time.Microsecond},
		"in fragments":            {hop: measure.HopInline, made: 10_000, fragments: 40_000, took: time.Second, want: 200 * time.Microsecond},
		"a very slow device":      {hop: measure.HopInline, made: 1000, took: time.Second, want: 2 * time.Millisecond},
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
		&small: {160 * time.Microsecond, 200 * time.Microsecond}, &large: {180 * time.Microsecond, 100 * time.Microsecond},
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
		if d.noteRate(latency, o); d.awayAfter(latency, 0) != 200*time.Microsecond {
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

// TestBatchOfASlowDevice checks that a batch takes a device on the sending core at most 100 us, or is one frame, at all loads.
func TestBatchOfASlowDevice(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		perSecond float64
		hop       measure.Hop
		set, want int
		took      time.Duration
	}{
		{0, measure.HopInline, 0, ratedBatch, 0},
		{1_000_000, measure.HopInline, 0, ratedBatch, 8 * us},
		{40_000, measure.HopInline, 0, 4, 100 * us},
		{40_000, measure.HopInline, 8, 8, 200 * us},
		{4_000, measure.HopInline, 0, 1, 250 * us},
		{4_000, measure.HopTap, 0, ratedBatch, 0},
	} {
		trial := measure.Trial{Size: "64", FrameBytes: 64}
		d := &Driver{cpus: []int{0}, fastest: map[frameSize][2]float64{sizeOf(trial): {c.perSecond}}}
		d.config.Path.Hop, d.config.BatchFrames = c.hop, c.set
		for _, trial.IntendedFramesPerSecond = range []uint64{1, 10_000_000} {
			if got, took := d.batchOf(trial, 0), d.batchTime(trial, 0); got != c.want || took != c.took {
				t.Errorf("%+v at %d frames/s: batches of %d, which take %v", c, trial.IntendedFramesPerSecond, got, took)
			}
		}
		trial.IntendedFramesPerSecond = 0
		if got := d.batchOf(trial, 0); got != flatOutBatch {
			t.Errorf("%+v flat out: batches of %d", c, got)
		}
	}
}

// TestWaited takes from what the kernel says that a thread waited the rest of a batch for each time that its core was taken.
func TestWaited(t *testing.T) {
	const ms = time.Millisecond
	trial := measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 1000}
	for name, c := range map[string]struct {
		perSecond float64
		held      held
		gaps      time.Duration
		want      time.Duration
	}{
		"the device's rate is not known":       {0, held{times: 100, waited: 20 * ms}, 0, 20 * ms},
		"short turns during the device's work": {4000, held{times: 100, waited: 20 * ms}, 0, 0},
		"more than that can be":                {4000, held{times: 100, waited: 40 * ms}, 0, 15 * ms},
		"gaps":                                 {4000, held{times: 100, waited: 20 * ms}, 12 * ms, 12 * ms},
		"gaps that are something else":         {4000, held{times: 100, waited: 20 * ms}, 90 * ms, 20 * ms},
	} {
		d := &Driver{cpus: []int{0}, fastest: map[frameSize][2]float64{sizeOf(trial): {c.perSecond}}}
		d.config.Path.Hop = measure.HopInline
		s := &sender{held: c.held, kept: &trafficTransmitter{Away: uint64(c.gaps)}}
		if got := d.waited(trial, 0, s); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
