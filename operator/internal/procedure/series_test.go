package procedure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
)

// seriesOf returns a series with figures of the usual length.
func seriesOf(slots int) *measure.Series {
	s := &measure.Series{SlotNanoseconds: int64(100 * time.Millisecond)}
	for n := range slots {
		s.Add(measure.Slot{
			DueFrames: 34_124, SentFrames: 34_124, ReceivedFrames: 34_123 - uint64(n%2), DelaySum: 34_000 * 12_594, MaxNanoseconds: 1_142_022,
			Delays: []measure.DelayCount{{Nanoseconds: 12_288, Frames: 33_000}, {Nanoseconds: 53_248, Frames: 1_000}},
		})
	}
	return s
}

// Only trials at a load keep a series, all of them the same, and never so much that trials have no room.
func TestWithSeries(t *testing.T) {
	many := soakOf(100*5*time.Minute, 5*time.Minute)
	most := soakOf(288*5*time.Minute, 5*time.Minute)
	for name, test := range map[string]struct {
		instr measure.Instructions
		slots int
	}{
		"a usual run":    {instructions(), 50},
		"many intervals": {many, 7},
		"a day":          {most, 0},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := measure.Outcome{Directions: []measure.DirectionOutcome{{SentFrames: 1, Series: seriesOf(50)}, {SentFrames: 1, Series: seriesOf(50)}}}
			for _, m := range registry {
				for _, stage := range []measure.Stage{m.stage(), stageDiscard} {
					want := 0
					if stage == measure.StageLatency && test.instr.Latency != nil || stage == stageSoak && test.instr.Soak != nil {
						want = test.slots
					}
					kept := Compact(measure.Record{Stage: stage, Outcome: WithSeries(test.instr, nil, stage, outcome)})
					for _, d := range kept.Directions {
						if got := d.Series; (got != nil) != (want > 0) || got != nil && len(got.ReceivedFrames) != want {
							t.Errorf("%s: %+v, want %d slots", stage, got, want)
						}
					}
				}
			}
			if outcome.Directions[0].Series == nil || len(outcome.Directions[0].Series.ReceivedFrames) != 50 {
				t.Error("the outcome that is kept elsewhere has changed")
			}
		})
	}
}

// Slots of 100 ms are kept of a trial of a minute, or coarser ones where there are many such trials, and
// where trials were made again.
func TestSeriesOfLongTrials(t *testing.T) {
	one := fixedLoad()
	one.Sizes, one.FixedLoad.Profiles = sizes(64), one.FixedLoad.Profiles[:1]
	for name, test := range map[string]struct {
		instr measure.Instructions
		want  []int
	}{
		"two repeats":                  {one, []int{600, 600}},
		"three loads, with two each":   {fixedLoad(), []int{300, 300, 300, 300, 300, 300}},
		"two repeats, with many again": {one, []int{600, 600, 600, 300, 75, 19}},
	} {
		t.Run(name, func(t *testing.T) {
			var records []measure.Record
			var got []int
			for range len(test.want) {
				outcome := measure.Outcome{Directions: []measure.DirectionOutcome{{Series: seriesOf(600)}, {Series: seriesOf(600)}}}
				outcome = WithSeries(test.instr, records, stageFixedLoad, outcome)
				records = append(records, measure.Record{Stage: stageFixedLoad, Outcome: outcome})
				n := 0
				if s := outcome.Directions[1].Series; s != nil {
					n = len(s.ReceivedFrames)
				}
				got = append(got, n)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever is made again, evidence, distributions and series together leave a third of the free room.
func TestRoomForTrialsMadeAgain(t *testing.T) {
	for _, sizes := range []int{1, 4, 8, 12} {
		instr := instructions()
		instr.Sizes = nil
		for i := range sizes {
			instr.Sizes = append(instr.Sizes, measure.FrameSize(64+i))
		}
		var records []measure.Record
		taken, ofEvidence := 0, 0
		for range 120 {
			outcome := whole(700, 700)
			for i := range outcome.Directions {
				outcome.Directions[i].Series = seriesOf(64)
			}
			outcome = FitDistributions(instr, records, measure.StageLatency, WithSeries(instr, records, measure.StageLatency, outcome))
			taken += distributionBytes(outcome).all() + seriesBytes(outcome)
			room := EvidenceRoom(instr, ofEvidence)
			taken, ofEvidence = taken+room, ofEvidence+room
			records = append(records, measure.Record{Outcome: outcome})
		}
		if free := measure.MaximumResultsBytes - ExpectedBytes(instr); taken > max(0, free*2/3) {
			t.Errorf("%d sizes: %d bytes are taken, and %d were free", sizes, taken, free)
		}
	}
}

// A series counts with the bytes that it takes, also where frames are missing and delays are long.
func TestSeriesBytes(t *testing.T) {
	usual, none := seriesOf(64), &measure.Series{SlotNanoseconds: 1}
	for name, s := range map[string]*measure.Series{"usual": usual, "overloaded": overloadedSeries(64), "without slots": none} {
		with := asJSON(t, measure.DirectionOutcome{Series: s})
		without := asJSON(t, measure.DirectionOutcome{})
		if got, want := seriesBytes(measure.Outcome{Directions: []measure.DirectionOutcome{{Series: s}, {}}}), len(with)-len(without); got != want && s != none {
			t.Errorf("%s: %d bytes, and it takes %d", name, got, want)
		}
	}
	if n := 2 * usual.Bytes(); n > 64*seriesSlotBytes || n < 64*seriesSlotBytes*4/5 {
		t.Errorf("two usual series of 64 slots take %d bytes, expected are %d", n, 64*seriesSlotBytes)
	}
}

// overloadedSeries has missing frames in each slot, and delays of seconds.
func overloadedSeries(slots int) *measure.Series {
	s := &measure.Series{SlotNanoseconds: int64(100 * time.Millisecond)}
	for range slots {
		s.Add(measure.Slot{
			DueFrames: 1_488_095, SentFrames: 1_388_095, ReceivedFrames: 341_230, DelaySum: 341_230 * 2_594_123_456, MaxNanoseconds: 5_142_022_345,
			Delays: []measure.DelayCount{{Nanoseconds: 2_594_123_456, Frames: 341_230}},
		})
	}
	return s
}

// The series of one record fit in a value of the results, whatever is in them.
func TestSeriesFitInAValue(t *testing.T) {
	one := fixedLoad()
	one.Sizes, one.FixedLoad.Profiles = sizes(64), one.FixedLoad.Profiles[:1]
	for name, test := range map[string]struct {
		series *measure.Series
		slots  int
	}{"usual": {seriesOf(1024), 512}, "all fit": {seriesOf(600), 600}, "overloaded": {overloadedSeries(1024), 512}} {
		outcome := WithSeries(one, nil, stageFixedLoad, measure.Outcome{Directions: []measure.DirectionOutcome{{Series: test.series}, {Series: test.series}}})
		numbers := 0
		for _, d := range outcome.Directions {
			numbers += d.Series.Numbers()
			if len(d.Series.Delays) > 0 {
				t.Errorf("%s: what is not stored stays in memory", name)
			}
		}
		if got := len(outcome.Directions[0].Series.ReceivedFrames); got != test.slots || numbers > measure.MaximumSeriesNumbers || seriesBytes(outcome) > measure.MaximumSeriesBytes {
			t.Errorf("%s: %d slots, want %d, with %d numbers of %d bytes", name, got, test.slots, numbers, seriesBytes(outcome))
		}
	}
}

// Series that are longer than usual take no more than their share.
func TestSeriesOfAnOverload(t *testing.T) {
	instr := soakOf(60*5*time.Minute, 5*time.Minute)
	var records []measure.Record
	taken := 0
	for range 60 {
		outcome := measure.Outcome{Directions: []measure.DirectionOutcome{{Series: overloadedSeries(1024)}, {Series: overloadedSeries(1024)}}}
		outcome = WithSeries(instr, records, stageSoak, outcome)
		for _, d := range outcome.Directions {
			if d.Series != nil {
				taken += len(asJSON(t, d.Series))
			}
		}
		records = append(records, measure.Record{Index: len(records), Stage: stageSoak, Outcome: outcome})
	}
	if room := freeBytes(instr) / furtherShare; taken > room || taken < room/4 {
		t.Errorf("the series take %d bytes, and have room of %d", taken, room)
	}
}
