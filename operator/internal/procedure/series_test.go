package procedure

import (
	"encoding/json"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// seriesOf returns a series with figures of the usual length.
func seriesOf(slots int) *measure.Series {
	s := &measure.Series{SlotNanoseconds: int64(100 * time.Millisecond)}
	for n := range slots {
		s.Add(34_124, 34_123-uint64(n%2), 34_000*12_594, 1_142_022)
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
		"many intervals": {many, 13},
		"a day":          {most, 0},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := measure.Outcome{Directions: []measure.DirectionOutcome{{SentFrames: 1, Series: seriesOf(50)}, {SentFrames: 1, Series: seriesOf(50)}}}
			for _, m := range registry {
				for _, stage := range []measure.Stage{m.stage(), stageDiscard} {
					want := 0
					if stage == measure.StageLatency || stage == stageFixedLoad || stage == stageSoak {
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
			delay, lateness := distributionBytes(outcome)
			taken += delay + lateness
			for _, d := range outcome.Directions {
				if d.Series != nil {
					taken += len(d.Series.ReceivedFrames) * seriesSlotBytes / 2
				}
			}
			room := EvidenceRoom(instr, ofEvidence)
			taken, ofEvidence = taken+room, ofEvidence+room
			records = append(records, measure.Record{Outcome: outcome})
		}
		if free := measure.MaximumResultsBytes - ExpectedBytes(instr); taken > max(0, free*2/3) {
			t.Errorf("%d sizes: %d bytes are taken, and %d were free", sizes, taken, free)
		}
	}
}

// A slot takes what the room is divided by.
func TestSeriesBytes(t *testing.T) {
	text, err := json.Marshal(seriesOf(64))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(text); n > 64*seriesSlotBytes/2 || n < 64*seriesSlotBytes/2*4/5 {
		t.Errorf("a series of 64 slots takes %d bytes, expected are %d", n, 64*seriesSlotBytes/2)
	}
}
