package procedure

import (
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// inRing makes the frames that are missing in a trial those that found the device's ring full.
func inRing(r *measure.Record) {
	r.Outcome.Hop = measure.HopInline
	for i := range r.Outcome.Directions {
		d := &r.Outcome.Directions[i]
		d.OverflowFrames = d.LostFrames()
	}
}

// stall has something hold the generator's core for a share of a trial, on a path where no part of the
// device works on that core: what was due then is not sent.
func stall(r *measure.Record, share float64) {
	o := &r.Outcome
	o.Hop, o.AwayNanoseconds = measure.HopTap, int64(share*float64(o.SendingNanoseconds))
	for i := range o.Directions {
		d := &o.Directions[i]
		d.SentFrames -= min(d.SentFrames-1, uint64(share*float64(d.IntendedFrames)))
		d.ReceivedFrames = min(d.ReceivedFrames, d.SentFrames)
	}
}

// Stalls that leave frames unsent bound no search: such trials are made again, however near their load
// is to the most that the generator has sent.
func TestStallsBoundNoSearch(t *testing.T) {
	const capacity = 1_700_000
	instr := onOneCore()
	instr.Chain.Hop = measure.HopTap
	b, n := newBench(simulated.HardCap{CapacityFramesPerSecond: capacity}), 0
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageThroughput {
			return
		}
		if n++; n%3 == 0 {
			stall(r, 0.005)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Results(instr, records).Frames[0].Throughput {
		if r.UpperBoundCause != v1alpha1.CauseDeviceLoss || float64(r.FramesPerSecond) < 0.98*capacity || len(r.Doubts) > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A load that a stall cut short is measured again, and has no loss that a stall explains.
func TestStallsAtALoad(t *testing.T) {
	for name, test := range map[string]struct {
		times, trials int
		doubts        []v1alpha1.DoubtCode
	}{
		"twice":  {2, 3, nil},
		"always": {maxSteps, maxInterrupted + 1, []v1alpha1.DoubtCode{v1alpha1.DoubtLoadNotReached}},
	} {
		t.Run(name, func(t *testing.T) {
			instr := atLoads(100_000, 2*time.Second)
			b, n := newBench(hardCap()), 0
			b.spoil = func(r *measure.Record) {
				if r.Stage != measure.StageLatency {
					return
				}
				if n++; n <= test.times {
					stall(r, 0.005)
				}
			}
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(durations(records, measure.StageLatency)); got != test.trials {
				t.Errorf("%d trials, want %d", got, test.trials)
			}
			figures := Results(instr, records)
			if got := figures.Frames[0].Latency[0].Doubts; !slices.Equal(got, test.doubts) {
				t.Errorf("doubts %v, want %v", got, test.doubts)
			}
			for _, w := range figures.Warnings {
				if w.Code == v1alpha1.WarningInterruptedTrials {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

// A stall that leaves frames unsent proves nothing about a load whose loss does not, and it never
// excuses loss.
func TestStallsExcuseNoLoss(t *testing.T) {
	instr := onOneCore()
	instr.Throughput.Goals = []v1alpha1.Goal{{Name: "NDR"}, {Name: "PDR", LossPartsPerMillion: 1000}}
	for _, test := range []struct {
		name            string
		hop             measure.Hop
		unsent, lost    uint64
		away            time.Duration
		stalled, counts bool
	}{
		{"a stall", measure.HopTap, 500, 0, 5 * time.Millisecond, true, false},
		{"a stall, and loss that misses one goal", measure.HopSeparate, 500, 50, 5 * time.Millisecond, true, false},
		{"a stall, and loss that misses each goal", measure.HopSeparate, 500, 2000, 5 * time.Millisecond, true, true},
		{"loss alone", measure.HopTap, 0, 500, 5 * time.Millisecond, false, true},
		{"more is unsent than the stall explains", measure.HopTap, 1100, 0, 5 * time.Millisecond, false, true},
		{"less is unsent than the search tolerates", measure.HopTap, 90, 0, 5 * time.Millisecond, false, true},
		{"frames wait in the ring", measure.HopInline, 500, 0, 5 * time.Millisecond, false, true},
		{"nothing was away", measure.HopTap, 500, 0, 0, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := measure.Record{Stage: measure.StageThroughput, Trial: measure.Trial{IntendedFramesPerSecond: 100_000, DurationNanoseconds: int64(time.Second)},
				Outcome: measure.Outcome{
					Hop: test.hop, SendingNanoseconds: int64(time.Second), TotalNanoseconds: int64(time.Second),
					AwayNanoseconds: int64(test.away), LongestAwayNanoseconds: int64(test.away),
					Directions: []measure.DirectionOutcome{{IntendedFrames: 100_000, SentFrames: 100_000 - test.unsent, ReceivedFrames: 100_000 - test.unsent - test.lost}},
				}}
			if got := stalled(r); got != test.stalled || interrupted(r) != test.stalled {
				t.Errorf("stalled: %t, interrupted: %t", got, interrupted(r))
			}
			p, s := &part{}, sorter{goals: instr.Throughput.Goals}
			if got := s.counts(p, r); got != test.counts {
				t.Errorf("counts: %t", got)
			}
			trial, err := (&replay{instr: instr}).searchTrial(r)
			if err != nil || trial.LossUnproven || trial.LostFrames != test.lost {
				t.Errorf("%+v, %v", trial, err)
			}
		})
	}
}
