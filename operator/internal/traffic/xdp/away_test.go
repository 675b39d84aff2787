package xdp

import (
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// What a slow device takes for a batch is no time away, on the one path where it works on the core that
// sends; a gap of a millisecond always is.
func TestTimeAwayBeginsAfterABatch(t *testing.T) {
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
			o.Directions = append(o.Directions, measure.DirectionOutcome{Direction: direction})
		}
		d.noteRate(o)
		if got := d.awayAfter(); got != test.want {
			t.Errorf("%s: a gap counts from %v on, want %v", name, got, test.want)
		}
		// A slower trial changes nothing.
		d.noteRate(measure.Outcome{SendingNanoseconds: int64(time.Hour), Directions: o.Directions})
		if got := d.awayAfter(); got != test.want {
			t.Errorf("%s: after a slower trial a gap counts from %v on, want %v", name, got, test.want)
		}
	}
}
