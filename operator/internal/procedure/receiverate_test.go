package procedure

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

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

// Other work on the core that sends and on which the device works leaves a rate with a bound, and no open doubt. Each case but the first lacks one of the
// conditions, and its rate has none.
func TestReceiveRateNextToOtherWork(t *testing.T) {
	for name, test := range map[string]struct {
		device simulated.Device
		change func(*measure.Record)
		bound  int64
	}{
		// 500,000 frames in 1 s less twice 12 ms.
		"1.2 %":                             {change: func(*measure.Record) {}, bound: 512_296},
		"3 %":                               {change: func(r *measure.Record) { r.Outcome.HeldNanoseconds = new(int64(30e6)) }, bound: 531_915},
		"more than 3 %":                     {change: func(r *measure.Record) { r.Outcome.HeldNanoseconds = new(int64(30e6 + 1)) }},
		"it is not known for how long":      {change: func(r *measure.Record) { r.Outcome.HeldNanoseconds = nil }},
		"no time at all":                    {change: func(r *measure.Record) { r.Outcome.HeldNanoseconds = new(int64(0)) }, bound: 500_000},
		"the device works elsewhere":        {change: func(r *measure.Record) { r.Outcome.Hop = measure.HopTap }},
		"the device keeps up":               {device: simulated.HardCap{CapacityFramesPerSecond: 50e6}, change: func(*measure.Record) {}},
		"the time explains all of the loss": {device: simulated.HardCap{CapacityFramesPerSecond: 1_950_000}, change: func(*measure.Record) {}},
		"the kernel's queue was full as well": {change: func(r *measure.Record) {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtKernelQueue, Detail: "the kernel dropped 5 packets"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			instr, n := receiveRate(), 0
			if test.device == nil {
				test.device = hardCap()
			}
			b := newBench(test.device)
			b.spoil = func(r *measure.Record) {
				if r.Stage != stageReceiveRate {
					return
				}
				r.Outcome.Hop, r.Outcome.RingFrames, r.Outcome.HeldNanoseconds = measure.HopInline, 1024, new(int64(12e6))
				r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtPreempted, Detail: "the transmit threads waited for 12ms of 1s"})
				// One trial without a bound leaves none.
				if n++; n == 2 || test.bound > 0 {
					test.change(r)
				}
			}
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Results(instr, records).Frames[0].ReceiveRate
			if !slices.Contains(got.Doubts, v1alpha1.DoubtUnsteadyPacing) {
				t.Errorf("doubts %v", got.Doubts)
			}
			if ptr.Deref(got.UpperBoundFramesPerSecond, 0) != test.bound || (got.HeldPartsPerMillion != nil) != (test.bound > 0) {
				t.Errorf("%d to %d frames/s, %d ppm, want at most %d", got.MeanFramesPerSecond, ptr.Deref(got.UpperBoundFramesPerSecond, 0), ptr.Deref(got.HeldPartsPerMillion, 0), test.bound)
			}
			if test.bound == 512_296 {
				wantWarning(t, instr, records, v1alpha1.WarningUnsteadyPacing,
					"Other work held the core that sends for up to 1.20 % of a trial, and the device works on that core: without it, the receive rate is between what was measured and 512296 frames/s, if other work costs at most twice its time (assumed).")
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
