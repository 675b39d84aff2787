package measure

import (
	"math"
	"testing"
	"time"
)

// What left the ring after the trial's time is lost over time on one core, beyond half a percent and
// beyond what an interruption explains.
func TestLossOverTime(t *testing.T) {
	for _, c := range []struct {
		hop         Hop
		received    uint64
		drain, away time.Duration
		want        float64
	}{
		{HopInline, 1000, 0, 0, 0},
		{HopInline, 1000, 5 * time.Millisecond, 0, 0},
		{HopInline, 1000, 250 * time.Millisecond, 0, 0.2},
		{HopInline, 1000, 250 * time.Millisecond, 100 * time.Millisecond, 0.15 / 1.15},
		{HopInline, 1000, 250 * time.Millisecond, 245 * time.Millisecond, 0},
		// Of 10,150 frames/s a device of 10,000 frames/s has 35 ms left after 20 ms without a core.
		{HopInline, 1000, 35 * time.Millisecond, 20 * time.Millisecond, 0.015 / 1.015},
		{HopInline, 600, 5 * time.Second, 0, 0.9},
		{HopTap, 1000, 250 * time.Millisecond, 0, 0},
		{HopSeparate, 600, 250 * time.Millisecond, 0, 0.4},
	} {
		o := Outcome{
			Hop: c.hop, SendingNanoseconds: int64(time.Second), AwayNanoseconds: int64(c.away),
			Directions: []DirectionOutcome{
				{IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 1000},
				{IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: c.received, DrainNanoseconds: int64(c.drain)},
			},
		}
		if got := o.LossOverTime(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The loss of one direction and the queue of the other are no loss of either.
func TestLossOverTimeIsOfOneDirection(t *testing.T) {
	for _, c := range []struct {
		received uint64
		want     float64
	}{{1000, 0.2}, {970, 0.2}, {750, 0.25}} {
		o := Outcome{
			Hop: HopInline, SendingNanoseconds: int64(time.Second),
			Directions: []DirectionOutcome{
				{SentFrames: 1000, ReceivedFrames: c.received, QueueGrowthNanoseconds: 1000},
				{SentFrames: 1000, ReceivedFrames: 1000, QueueGrowthNanoseconds: int64(250 * time.Millisecond)},
			},
		}
		if got := o.LossOverTime(); math.Abs(got-c.want) > 1e-9 || math.Abs(o.ProvenLossOverTime()-c.want) > 1e-9 {
			t.Errorf("%+v: %v, of which %v is proven", c, got, o.ProvenLossOverTime())
		}
		if o.QueueGrowth() != 250*time.Millisecond {
			t.Errorf("the queue grows by %v", o.QueueGrowth())
		}
	}
}

// A queue that still grows in the device is in the forwarding rate as it is in the loss.
func TestForwardingRateOfAGrowingQueue(t *testing.T) {
	for _, c := range []struct {
		hop          Hop
		growth, away time.Duration
		want         float64
	}{
		{HopTap, 5 * time.Millisecond, 0, 1000},
		{HopTap, 250 * time.Millisecond, 0, 800},
		{HopSeparate, 250 * time.Millisecond, 50 * time.Millisecond, 800},
		{HopInline, 250 * time.Millisecond, 0, 800},
		{HopInline, 250 * time.Millisecond, 50 * time.Millisecond, 1000 / 1.2},
		{HopInline, 250 * time.Millisecond, 245 * time.Millisecond, 1000},
		{HopTap, 250 * time.Millisecond, 250 * time.Millisecond, 800},
	} {
		o := Outcome{
			Hop: c.hop, SendingNanoseconds: int64(time.Second), AwayNanoseconds: int64(c.away),
			Directions: []DirectionOutcome{{IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 1000, QueueGrowthNanoseconds: int64(c.growth)}},
		}
		got := o.ForwardingFramesPerSecond()
		if carried := o.OfferedFramesPerSecond() * (1 - o.LossOverTime()); math.Abs(got-c.want) > 1e-6 || math.Abs(got-carried) > 1e-6 {
			t.Errorf("%+v: %v, and %v by the loss", c, got, carried)
		}
	}
}

// A device that carries the load loses of what becomes due in the time away no more than the ring does not hold; of one that
// does not, the ring may be full already.
func TestOverrun(t *testing.T) {
	for name, c := range map[string]struct {
		ring          int
		lost          uint64
		away          time.Duration
		overrun       float64
		overruns      bool
		provenInTotal float64
	}{
		"more than the ring holds":         {1024, 1300, 12 * time.Millisecond, 1376, true, 0},
		"more is missing than it leaves":   {1024, 1400, 12 * time.Millisecond, 1376, true, 1},
		"more than was due":                {1024, 3000, 12 * time.Millisecond, 1376, true, 600},
		"as much as the ring holds":        {1024, 10, 10240 * time.Microsecond, 1024, false, 0},
		"less than half of it":             {1024, 10, 5 * time.Millisecond, 0, false, 1},
		"the ring is not known":            {0, 2000, 12 * time.Millisecond, 2400, false, 0},
		"a small ring, and a short time":   {256, 100, 3 * time.Millisecond, 344, true, 0},
		"longer than the trial":            {1024, 90_000, 2 * time.Second, 98_976, true, 0},
		"half of the trial, counted twice": {1024, 90_000, 700 * time.Millisecond, 98_976, true, 0},
		"no time":                          {1024, 10, 0, 0, false, 10},
	} {
		o := Outcome{
			Hop: HopInline, RingFrames: c.ring, SendingNanoseconds: int64(time.Second), AwayNanoseconds: int64(c.away),
			Directions: []DirectionOutcome{{IntendedFrames: 100_000, SentFrames: 100_000, ReceivedFrames: 100_000 - c.lost, OverflowFrames: c.lost}},
		}
		d := o.Directions[0]
		if got := o.Overrun(d, c.away); math.Abs(got-c.overrun) > 1e-6 || o.Overruns(d, c.away) != c.overruns {
			t.Errorf("%s: %v frames, and more than the ring: %t", name, got, o.Overruns(d, c.away))
		}
		if got := o.ProvenLossOverTime() * 100_000; math.Abs(got-c.provenInTotal) > 1e-6 {
			t.Errorf("%s: %v lost frames are the device's, want %v", name, got, c.provenInTotal)
		}
	}
	if got := (Outcome{}).Due(DirectionOutcome{SentFrames: 10}, time.Second); got != 0 {
		t.Errorf("without a time %v frames are due", got)
	}
}
