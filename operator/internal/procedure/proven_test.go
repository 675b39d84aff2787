package procedure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

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
		"a starved core":        {record(1e8, measure.Doubt{Code: measure.DoubtStarved}), 0},
	} {
		if got := provenLoss(test.record); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A time away that explains a part of a loss decides a goal that allows loss: the rest meets it, and all of it misses it. The
// goal without loss stays decided, because the ring would have taken what became due.
func TestPartOfALossDecidesATolerantGoal(t *testing.T) {
	instr := onOneCore()
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 500_000})
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageThroughput {
			return
		}
		inRing(r)
		o := &r.Outcome
		o.RingFrames = 1024
		// Pieces of half a millisecond, in which 49 of 100 missing frames became due.
		if loss := o.LossRatio(); loss > 0 {
			o.AwayNanoseconds, o.LongestAwayNanoseconds = int64(0.49*loss*float64(o.SendingNanoseconds)), 5e5
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records)
	want := map[string]v1alpha1.UpperBoundCause{"NDR": v1alpha1.CauseDeviceLoss, "PDR": v1alpha1.CauseGeneratorCeiling}
	for _, r := range got.Frames[0].Throughput {
		if doubted := slices.Contains(r.Doubts, v1alpha1.DoubtInterruptedTrials); r.UpperBoundCause != want[r.Goal] || doubted != (r.Goal == "PDR") {
			t.Errorf("%+v", r)
		}
	}
	said := 0
	for _, w := range got.Warnings {
		if w.Code == v1alpha1.WarningInterruptedTrials && strings.Contains(w.Message, "explains a part of the loss") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("warnings %+v", got.Warnings)
	}
}

// TestPartOfALoss: a part decides a goal only where the loss with it misses the goal, and the loss without it meets it.
func TestPartOfALoss(t *testing.T) {
	w := &replay{instr: onOneCore()}
	w.instr.Throughput.Goals = []v1alpha1.Goal{{Name: "NDR"}, {Name: "PDR", LossPartsPerMillion: 1000}}
	for name, test := range map[string]struct {
		lost        uint64
		away        time.Duration
		ring        int
		unproven    bool
		proven      float64
		isMadeAgain bool
	}{
		"all of it meets the goal":           {100, time.Millisecond, 1024, false, 0, false},
		"the rest meets it":                  {250, time.Millisecond, 1024, true, 0.0005, true},
		"the rest meets it just so":          {300, time.Millisecond, 1024, true, 0.001, true},
		"the rest misses it":                 {301, time.Millisecond, 1024, false, 0, false},
		"nothing would remain":               {150, time.Millisecond, 1024, true, 0.00001, true},
		"no time":                            {250, 0, 1024, false, 0, false},
		"a short time, and a ring not known": {250, time.Millisecond, 0, false, 0, false},
		"a long time, and a ring not known":  {450, 2 * time.Millisecond, 0, true, 0.0005, false},
	} {
		r := measure.Record{Stage: measure.StageThroughput,
			Trial: measure.Trial{IntendedFramesPerSecond: 100_000, DurationNanoseconds: int64(time.Second)},
			Outcome: measure.Outcome{
				Hop: measure.HopInline, RingFrames: test.ring, SendingNanoseconds: int64(time.Second),
				AwayNanoseconds: int64(test.away), LongestAwayNanoseconds: int64(min(test.away, time.Millisecond+1)),
				Directions: []measure.DirectionOutcome{{IntendedFrames: 100_000, SentFrames: 100_000, ReceivedFrames: 100_000 - test.lost, OverflowFrames: test.lost}},
			}}
		trial, err := w.searchTrial(r)
		if err != nil {
			t.Fatal(err)
		}
		if trial.LossUnproven != test.unproven || math.Abs(trial.ProvenLossRatio-test.proven) > 1e-9 {
			t.Errorf("%s: unproven %t, of which %v is the device's", name, trial.LossUnproven, trial.ProvenLossRatio)
		}
		s := sorter{goals: w.goals()}
		if again := !s.counts(&part{}, r); again != test.isMadeAgain {
			t.Errorf("%s: it is made again: %t", name, again)
		}
	}
}

// A queue that grows in a kernel that leaves its network work undone is no limit of the device.
func TestStarvedQueueIsNoLoss(t *testing.T) {
	for _, starved := range []bool{false, true} {
		instr := onOneCore()
		b := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6})
		b.spoil = func(r *measure.Record) {
			if r.Stage != measure.StageThroughput || r.Trial.IntendedFramesPerSecond < 300_000 {
				return
			}
			r.Outcome.Hop, r.Outcome.Directions[0].QueueGrowthNanoseconds = measure.HopInline, r.Outcome.SendingNanoseconds/10
			if starved {
				r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtStarved, Detail: "frames took up to 100ms"})
			}
		}
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := v1alpha1.CauseDeviceLoss
		if starved {
			want = v1alpha1.CauseGeneratorCeiling
		}
		if ndr := Results(instr, records).Frames[0].Throughput[0]; ndr.UpperBoundCause != want || slices.Contains(ndr.Doubts, v1alpha1.DoubtGeneratorCeiling) != starved {
			t.Errorf("starved %t: %+v", starved, ndr)
		}
	}
}

// Late frames of a kernel that leaves its network work undone put the delays of a load in doubt, and no other figure.
func TestStarvedDelays(t *testing.T) {
	instr := onOneCore()
	b := newBench(hardCap())
	late := map[measure.Stage]int{}
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageThroughput && r.Stage != measure.StageLatency || r.Outcome.LossRatio() > 0 {
			return
		}
		late[r.Stage]++
		r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtStarved, Detail: "frames took up to 100ms"})
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records)
	frame := got.Frames[0]
	if late[measure.StageThroughput] == 0 || late[measure.StageLatency] == 0 || len(frame.Latency) == 0 {
		t.Fatalf("%v trials with late frames, %d loads", late, len(frame.Latency))
	}
	for _, l := range frame.Latency {
		if !slices.Equal(l.Doubts, []v1alpha1.DoubtCode{v1alpha1.DoubtSoftirqStarved}) {
			t.Errorf("load %s: %v", l.Load, l.Doubts)
		}
	}
	for _, r := range frame.Throughput {
		if r.UpperBoundCause != v1alpha1.CauseDeviceLoss || len(r.Doubts) > 0 {
			t.Errorf("%+v", r)
		}
	}
	codes := map[string]string{}
	for _, w := range got.Warnings {
		codes[w.Code] = w.Message
	}
	if codes[v1alpha1.WarningGeneratorCeiling] != "" || !strings.Contains(codes[v1alpha1.WarningSoftirqStarved], fmt.Sprintf("doubted %d of the", late[measure.StageLatency])) {
		t.Errorf("%v", got.Warnings)
	}
}
