package procedure

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// The part of a loss that no interruption explains is the device's, and bounds the goals that it misses.
func TestProvenLossDecidesGoals(t *testing.T) {
	instr := onOneCore()
	instr.Throughput.Goals[1].LossPartsPerMillion = 10
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 500_000})
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageThroughput {
			return
		}
		o := &r.Outcome
		o.Hop = measure.HopInline
		for i := range o.Directions {
			d := &o.Directions[i]
			d.OverflowFrames = d.LostFrames() * 9999 / 10_000
			if d.LostFrames() == 0 {
				continue
			}
			away := max(2e6, int64(float64(d.LostFrames())/float64(d.SentFrames)*float64(o.SendingNanoseconds)))
			o.AwayNanoseconds, o.LongestAwayNanoseconds = max(o.AwayNanoseconds, away), max(o.LongestAwayNanoseconds, away)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]v1alpha1.UpperBoundCause{"NDR": v1alpha1.CauseDeviceLoss, "PDR": v1alpha1.CauseGeneratorCeiling}
	for _, r := range Results(instr, records).Frames[0].Throughput {
		doubted := len(r.Doubts) > 0
		if r.UpperBoundCause != want[r.Goal] || doubted != (r.Goal == "PDR") {
			t.Errorf("%+v", r)
		}
	}
}

// Loss of a record without times away, and loss that the sending port may have had, has no proven part.
func TestUnknownLossHasNoProvenPart(t *testing.T) {
	record := func(away int64, doubts ...measure.Doubt) measure.Record {
		return measure.Record{Outcome: measure.Outcome{
			Hop: measure.HopInline, SendingNanoseconds: 1e9, AwayNanoseconds: away, Doubts: doubts,
			Directions: []measure.DirectionOutcome{{IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 900, OverflowFrames: 50}},
		}}
	}
	for name, test := range map[string]struct {
		record measure.Record
		want   float64
	}{
		"half of it":            {record(1e8), 0.05},
		"a short time":          {record(1e7), 0.08},
		"no time known":         {record(0), 0},
		"the port may have had": {record(1e8, measure.Doubt{Code: measure.DoubtTransmitUnproven}), 0},
	} {
		if got := provenLoss(test.record); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
