package procedure

import (
	"testing"

	"vnfbench.io/operator/internal/measure"
)

// TestCyclesPerFrame checks that cycles are divided by the frames of the trials in which they were counted, and
// are absent, not 0, where no trial has them.
func TestCyclesPerFrame(t *testing.T) {
	record := func(sent uint64, cycles *int64) measure.Record {
		return measure.Record{
			Evidence: seen(func(e *measure.Evidence) { e.Cycles = cycles }),
			Outcome:  measure.Outcome{Directions: []measure.DirectionOutcome{{SentFrames: sent}, {SentFrames: sent}}},
		}
	}
	for name, test := range map[string]struct {
		records []measure.Record
		want    *int64
	}{
		"one trial":            {[]measure.Record{record(500_000, new(int64(3_000_400_000)))}, new(int64(3000))},
		"two trials":           {[]measure.Record{record(500_000, new(int64(3e9))), record(1_500_000, new(int64(5e9)))}, new(int64(2000))},
		"known in one of two":  {[]measure.Record{record(500_000, new(int64(3e9))), record(1_500_000, nil)}, new(int64(3000))},
		"rounded":              {[]measure.Record{record(1, new(int64(3)))}, new(int64(2))},
		"not counted":          {[]measure.Record{record(500_000, nil)}, nil},
		"without known frames": {[]measure.Record{{Evidence: seen(func(e *measure.Evidence) { e.Cycles = new(int64(3e9)) })}, record(1, nil)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := usedIn(test.records)
			if c := got.Node.PerFrame.Cycles; (c == nil) != (test.want == nil) || c != nil && *c != *test.want {
				t.Errorf("%v cycles for each frame, want %v", c, test.want)
			}
		})
	}
}
