package procedure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func receiveRate() measure.Instructions {
	instr := alone(64)
	instr.ReceiveRate = &v1alpha1.ReceiveRate{TrialMilliseconds: 1000, Trials: 4}
	return instr
}

func TestReceiveRate(t *testing.T) {
	instr := receiveRate()
	b, n := newBench(hardCap()), uint64(0)
	b.spoil = func(r *measure.Record) {
		if r.Stage != stageReceiveRate {
			return
		}
		n++
		r.Outcome.Directions[1].ReceivedFrames -= n * 1000
		if n == 2 {
			invalidate(r)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].ReceiveRate
	if len(got.Trials) != 4 || got.IntendedFramesPerSecond != 2_000_000 || got.MaximumOrigin != v1alpha1.MaximumCalibration {
		t.Fatalf("%+v", got)
	}
	// 499, 497, 496 and 495 thousand; the second was invalid.
	if got.MeanFramesPerSecond != 496_750 || got.MinFramesPerSecond != 495_000 || got.MaxFramesPerSecond != 499_000 || got.StandardDeviationFramesPerSecond != 1708 {
		t.Errorf("%+v", got)
	}
	if first := got.Trials[0]; first.LossPartsPerMillion != 750_500 || first.OfferedFramesPerSecond != 2_000_000 {
		t.Errorf("%+v", first)
	}
}

// Overload fills the driver's ring, and the rate counts the time in which it empties. How long a deeper queue takes is known less well.
func TestReceiveRateOfQueues(t *testing.T) {
	for name, test := range map[string]struct {
		hop    measure.Hop
		growth time.Duration
		want   []v1alpha1.DoubtCode
	}{
		"the ring":                        {measure.HopInline, 7600 * time.Microsecond, nil},
		"a queue after the ring":          {measure.HopInline, 20 * time.Millisecond, []v1alpha1.DoubtCode{v1alpha1.DoubtQueueGrowing}},
		"a ring that is not the device's": {measure.HopTap, 7600 * time.Microsecond, []v1alpha1.DoubtCode{v1alpha1.DoubtQueueGrowing}},
	} {
		t.Run(name, func(t *testing.T) {
			instr, b := receiveRate(), newBench(hardCap())
			b.spoil = func(r *measure.Record) {
				if r.Stage == stageReceiveRate {
					r.Outcome.Hop = test.hop
					r.Outcome.Directions[1].DrainNanoseconds = (7500 * time.Microsecond).Nanoseconds()
					r.Outcome.Directions[1].QueueGrowthNanoseconds = test.growth.Nanoseconds()
				}
			}
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, Results(instr, records).Frames[0].ReceiveRate.Doubts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Total loss under overload is a figure where a low load still passes.
func TestReceiveRateOfACollapse(t *testing.T) {
	instr := receiveRate()
	if _, err := newBench(silent{hardCap(), 0}).run(t, instr, nil); measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
		t.Errorf("a dead device: %v", err)
	}
	records, err := newBench(simulated.TwoBands{
		FromFramesPerSecond: 1000, ToFramesPerSecond: 1e9, CapacityFramesPerSecond: 1e9, LossRatio: 1,
	}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Frames[0].ReceiveRate; got.MeanFramesPerSecond != 0 || got.Trials[0].LossPartsPerMillion != 1_000_000 {
		t.Errorf("%+v", got)
	}
}

func TestReceiveRateWithoutACalibration(t *testing.T) {
	instr := receiveRate()
	instr.Calibration = nil
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Frames[0].ReceiveRate
	if got.IntendedFramesPerSecond != lineRate64 || got.MaximumOrigin != v1alpha1.MaximumLineRate || got.MeanFramesPerSecond != 2_000_000 {
		t.Errorf("%+v", got)
	}
	wantWarning(t, instr, records, v1alpha1.WarningMaximumLoad, "At the maximum load, 4 of 4 trials lost nothing, so this load is not the device's limit.")
}
