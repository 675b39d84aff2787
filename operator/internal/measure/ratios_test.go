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
		{HopInline, 1000, 250 * time.Millisecond, 100 * time.Millisecond, 0.05 / 1.05},
		{HopInline, 1000, 250 * time.Millisecond, 200 * time.Millisecond, 0},
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
		{HopSeparate, 250 * time.Millisecond, 50 * time.Millisecond, 1000 / 1.15},
		{HopInline, 250 * time.Millisecond, 0, 800},
		{HopTap, 250 * time.Millisecond, 125 * time.Millisecond, 1000},
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
