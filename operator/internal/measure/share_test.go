package measure

import (
	"math"
	"testing"
	"time"
)

func TestFramesPerSecond(t *testing.T) {
	for name, c := range map[string]struct {
		percent    int
		load, want uint64
	}{
		"all":                 {0, 1000, 1000},
		"a hundred":           {100, 1000, 1000},
		"a tenth":             {10, 1005, 100},
		"less than a frame":   {1, 7, 1},
		"as fast as possible": {10, 0, 0},
	} {
		if got := (Stream{LoadPercent: c.percent}).FramesPerSecond(Trial{IntendedFramesPerSecond: c.load}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestIntendedFrames(t *testing.T) {
	for _, c := range []struct {
		percent  int
		rate     uint64
		duration time.Duration
		want     uint64
	}{
		{0, 0, time.Second, 0},
		{0, 1000, time.Second, 1000},
		{10, 1000, time.Second, 100},
		{0, 1000, 1499 * time.Microsecond, 1},
		{0, 1000, 1500 * time.Microsecond, 2},
		{0, 14_880_952, time.Minute, 892_857_120},
		{0, 148_809_523, 24 * time.Hour, 12_857_142_787_200},
		{0, math.MaxUint64, time.Hour, math.MaxUint64},
	} {
		trial := Trial{IntendedFramesPerSecond: c.rate, DurationNanoseconds: int64(c.duration)}
		if got := (Stream{LoadPercent: c.percent}).IntendedFrames(trial); got != c.want {
			t.Errorf("%d %% of %d frames/s for %v: %d frames, want %d", c.percent, c.rate, c.duration, got, c.want)
		}
	}
}

// TestRatesAreThoseOfTheWholeLoad: a direction with a tenth of the load is not
// the slower one.
func TestRatesAreThoseOfTheWholeLoad(t *testing.T) {
	o := Outcome{SendingNanoseconds: 2e9, Directions: []DirectionOutcome{
		{Direction: Forward, IntendedFrames: 2000, SentFrames: 2000, ReceivedFrames: 2000},
		{Direction: Reverse, IntendedFrames: 200, SentFrames: 200, ReceivedFrames: 100, LoadPercent: 10},
	}}
	if got := o.OfferedFramesPerSecond(); got != 1000 {
		t.Errorf("offered %f, want 1000", got)
	}
	if got := o.ForwardingFramesPerSecond(); got != 500 {
		t.Errorf("forwarding %f, want 500", got)
	}
	if got := o.LossRatio(); got != 0.5 {
		t.Errorf("loss %f, want that of the reverse direction", got)
	}
}

// TestFramesOfTheDrainTookItsTime: a device of 1,000 frames/s that was offered twice as many for
// 1 s took another 0.5 s for what waited in the driver's ring.
func TestFramesOfTheDrainTookItsTime(t *testing.T) {
	o := Outcome{SendingNanoseconds: 1e9, Directions: []DirectionOutcome{
		{Direction: Forward, IntendedFrames: 2000, SentFrames: 2000, ReceivedFrames: 1500, OverflowFrames: 500, DrainNanoseconds: 5e8},
	}}
	if got := o.ForwardingFramesPerSecond(); got != 1000 {
		t.Errorf("forwarding %f, want 1000", got)
	}
	if got := o.OfferedFramesPerSecond(); got != 2000 {
		t.Errorf("offered %f, want 2000", got)
	}
}
