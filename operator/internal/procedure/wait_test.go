package procedure

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// The wait before the departure and the time since are next to every delay, over repeats as
// means and largest values.
func TestWaitBesideDelays(t *testing.T) {
	instr := onOneCore()
	instr.Repeats = 2
	instr.FixedLoad = fixedLoad().FixedLoad
	instr.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 50, TrialMilliseconds: 1000}
	instr.ReceiveRate = &v1alpha1.ReceiveRate{Trials: 2, TrialMilliseconds: 1000}
	instr.BackToBack = &v1alpha1.BackToBack{StepFrames: 100_000, MaximumBurstMilliseconds: 1000, Attempts: 1, Repeats: 2}
	instr.Recovery = recovery().Recovery
	instr.Soak = &v1alpha1.Soak{Size: "64", FramesPerSecond: new(int64(1000)), DurationSeconds: 2, IntervalSeconds: 1}
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		for i := range r.Outcome.Directions {
			d := &r.Outcome.Directions[i]
			d.OverflowFrames = uint64(2 * (r.Repeat + 1))
			d.RefusedFrames = 1
			d.MostInMillisecond = uint64(100 * (2 - r.Repeat))
			wait := uint64(100 * (r.Repeat + 1))
			d.Lateness = measure.DelayQuantiles{P99Nanoseconds: wait, MaxNanoseconds: 2 * wait}
			d.DelaySinceDeparture = measure.DelayQuantiles{P50Nanoseconds: 10 * wait, P99Nanoseconds: 20 * wait, MaxNanoseconds: 30 * wait}
		}
		r.Outcome = Compact(*r)
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := Results(instr, records).Frames[0]
	if peak := frame.Throughput[0].PeakFramesPerSecond; peak != 200_000 {
		t.Errorf("the largest rate at the bounds is %d frames/s, want that of the first repeat", peak)
	}
	got := frame.Latency[0].Directions[0]
	if diff := cmp.Diff(&v1alpha1.DelayQuantiles{P99Nanoseconds: 150, MaxNanoseconds: 400}, got.Lateness); diff != "" {
		t.Errorf("wait (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&v1alpha1.DelayQuantiles{P50Nanoseconds: 1500, P99Nanoseconds: 3000, MaxNanoseconds: 6000}, got.DelaySinceDeparture); diff != "" {
		t.Errorf("since the departure (-want +got):\n%s", diff)
	}
	if got.OverflowFrames != 6 || got.RefusedFrames != 2 {
		t.Errorf("%d frames found the ring full and %d were refused, want 6 and 2", got.OverflowFrames, got.RefusedFrames)
	}
	if got.PeakFramesPerSecond != 200_000 {
		t.Errorf("the largest rate is %d frames/s, want that of the first repeat", got.PeakFramesPerSecond)
	}
	for name, wait := range map[string]*v1alpha1.DelayQuantiles{
		"lower bound": frame.Throughput[0].LowerBoundLateness, "upper bound": frame.Throughput[0].UpperBoundLateness,
	} {
		if diff := cmp.Diff(&v1alpha1.DelayQuantiles{P99Nanoseconds: 200, MaxNanoseconds: 400}, wait); diff != "" {
			t.Errorf("%s: the larger of two repeats (-want +got):\n%s", name, diff)
		}
	}
	for name, wait := range map[string]*v1alpha1.DelayQuantiles{
		"frame loss rate": frame.FrameLossRate.Points[1].Lateness, "back-to-back frames": frame.BackToBack.Lateness,
		"receive rate": frame.ReceiveRate.Lateness, "recovery": frame.Recovery.Lateness, "soak": frame.Soak.Lateness,
	} {
		if diff := cmp.Diff(&v1alpha1.DelayQuantiles{P99Nanoseconds: 100, MaxNanoseconds: 200}, wait); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if repeat := frame.FixedLoad[0].Repeats[0].Directions[0]; repeat.Lateness == nil || repeat.DelaySinceDeparture == nil {
		t.Errorf("a fixed load without its wait: %+v", repeat)
	}
}

// A driver without a ring has neither figure.
func TestNoWaitWithoutARing(t *testing.T) {
	instr := instructions()
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := Results(instr, records).Frames[0]
	if d := frame.Latency[0].Directions[0]; d.Lateness != nil || d.DelaySinceDeparture != nil {
		t.Errorf("%+v", d)
	}
	if got := frame.Throughput[0]; got.LowerBoundLateness != nil || got.UpperBoundLateness != nil {
		t.Errorf("%+v", got)
	}
}

func TestDelayBelowTheBias(t *testing.T) {
	instr := onOneCore()
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageCalibrateLatency {
			r.Outcome.Directions[1].Latency.P50Nanoseconds = 9000
		}
		if r.Stage == measure.StageLatency && r.Load == "pdr50" {
			r.Outcome.Directions[0].Latency.P50Nanoseconds, r.Outcome.Directions[1].Latency.P50Nanoseconds = 8999, 9000
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, instr, records, v1alpha1.WarningDelayBelowBias,
		"At load pdr50 the median delay of direction Forward is 8999 ns, below the 9000 ns without a device. That was measured at 1000 frames/s, "+
			"where caches are cold and cores sleep between frames, so it does not hold for this load; do not subtract it.")
	for _, w := range Results(instr, records).Warnings {
		if w.Code == v1alpha1.WarningDelayBelowBias && w.Message[:20] == "At load pdr50 the me" && w.Message[40:47] == "Reverse" {
			t.Errorf("unexpected %+v", w)
		}
	}
}

func TestLateFrames(t *testing.T) {
	instr := onOneCore()
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Load == "idle" {
			r.Outcome.Directions[0].LateArrivals, r.Outcome.Directions[1].LateArrivals = 3, 4
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtLateArrivals, Detail: "7 frames arrived late"})
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, instr, records, v1alpha1.WarningLateFrames,
		"7 frames arrived in 1 trials that were not theirs: they count as lost in the trial before, and were only late; raise settleMilliseconds.")
	for _, w := range Results(instr, records).Warnings {
		if w.Code == v1alpha1.WarningUnsteadyPacing {
			t.Errorf("unexpected %+v", w)
		}
	}
}

// The wait and the counts of a trial fit into what a record is expected to take.
func TestRecordBytes(t *testing.T) {
	direction := func(d measure.Direction) measure.DirectionOutcome {
		delays := measure.Delays{
			Samples: 632_020, MinNanoseconds: 3_658, MeanNanoseconds: 12_594, P50Nanoseconds: 11_460, P90Nanoseconds: 24_951,
			P99Nanoseconds: 37_226, P999Nanoseconds: 53_115, P9999Nanoseconds: 83_018, MaxNanoseconds: 142_022,
		}
		wait := measure.DelayQuantiles{P50Nanoseconds: 3_210, P99Nanoseconds: 24_600, MaxNanoseconds: 130_110}
		return measure.DirectionOutcome{
			Direction: d, IntendedFrames: 632_020, SentFrames: 632_020, OverflowFrames: 12_011, DrainNanoseconds: 5_123_456, QueueGrowthNanoseconds: 1_763, MostInMillisecond: 12_345, RefusedFrames: 11, LateArrivals: 11, ReceivedFrames: 620_009, FirstFrameNanoseconds: 9_120,
			Latency: delays, DelayVariation: delays, Lateness: wait, DelaySinceDeparture: wait, Jitter: &measure.Jitter{MeanNanoseconds: 1_763, P99Nanoseconds: 4_763, MaxNanoseconds: 11_763},
		}
	}
	record := measure.Record{
		Index: 14, Stage: measure.StageThroughput, Trial: measure.Trial{Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 126_404, DurationNanoseconds: 5e9, SettleNanoseconds: 1e8},
		Outcome: measure.Outcome{
			SendingNanoseconds: 5_000_123_456, TotalNanoseconds: 5_123_456_789,
			Hop: measure.HopInline, RingFrames: 1_024, AwayNanoseconds: 12_345_678, LongestAwayNanoseconds: 1_234_567, HeldNanoseconds: new(int64(123_456_789)),
			Doubts:     []measure.Doubt{{Code: measure.DoubtPreempted, Detail: "the transmit threads were preempted 836 times and waited for their CPUs for 29.352525ms of 1s, 1.499873ms at the longest; 0 frames are missing"}},
			Directions: []measure.DirectionOutcome{direction(measure.Forward), direction(measure.Reverse)},
		},
		Measurer: "router-666ff6cc-measurer-abcde",
	}
	for stage, most := range map[measure.Stage]int{measure.StageThroughput: recordBytes, stageBackToBack: countsBytes, stageReceiveRate: recordBytes + heldBytes} {
		stored := record
		stored.Stage = stage
		stored.Outcome = Compact(stored)
		text, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		if n := len("trial-000014.json") + len(text); n > most || n < most*9/10 {
			t.Errorf("a record of stage %s takes %d bytes, expected are %d", stage, n, most)
		}
	}
}
