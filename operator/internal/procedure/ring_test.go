package procedure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// slowInRing makes the device one of a rate after the generator's ring of 1,024 places, which the
// generator empties for up to 5 s after a trial.
func slowInRing(framesPerSecond float64) func(*measure.Record) {
	const places, drainLimit = 1024, 5.0
	var drained time.Duration
	return func(r *measure.Record) {
		if measurementOf(r.Stage).place() == beforeChain {
			return
		}
		o := &r.Outcome
		o.Hop, o.Doubts = measure.HopInline, nil
		o.StartedAt = o.StartedAt.Add(drained)
		seconds := time.Duration(o.SendingNanoseconds).Seconds()
		for i := range o.Directions {
			d := &o.Directions[i]
			due := float64(d.IntendedFrames)
			excess := max(0, due-framesPerSecond*seconds)
			waiting := min(places, excess)
			drain := min(drainLimit, waiting/framesPerSecond)
			d.SentFrames, d.OverflowFrames = d.IntendedFrames, uint64(excess-waiting)
			d.LeftFrames = uint64(waiting - drain*framesPerSecond)
			d.ReceivedFrames = d.SentFrames - d.OverflowFrames - d.LeftFrames
			d.Latency.Samples = d.ReceivedFrames
			d.DrainNanoseconds = int64(drain * 1e9)
		}
		drained += o.Drain()
	}
}

// A device that is so slow that the ring is never empty again after a trial has a throughput, a loss
// and a recovery, and the generator is blamed for none of them.
func TestVerySlowDevice(t *testing.T) {
	for _, rate := range []float64{50, 130, 200, 3000} {
		t.Run(fmt.Sprintf("%v frames/s", rate), func(t *testing.T) {
			instr, overload := onOneCore(), int32(60)
			if rate > 1000 {
				overload = 2 // no more than the ring takes
			}
			instr.Throughput.MinimumFramesPerSecond = 10
			instr.Latency.Loads = []v1alpha1.LatencyLoad{{Name: "over", FramesPerSecond: new(int64(rate * 3))}, {Name: "ndr90", Goal: "NDR", Percent: new(int32(90))}}
			instr.FixedLoad = &v1alpha1.FixedLoad{DurationSeconds: 10, Repeats: 2, Profiles: []v1alpha1.LoadProfile{{Name: "double", Size: "64", FramesPerSecond: new(int64(rate * 2))}}}
			instr.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 10, TrialMilliseconds: 2000, MaximumFramesPerSecond: new(int64(rate * 4))}
			instr.ReceiveRate = &v1alpha1.ReceiveRate{Trials: 3, TrialMilliseconds: 1000}
			instr.Recovery = &v1alpha1.Recovery{OverloadSeconds: overload, TrialMilliseconds: 1000, SettleMilliseconds: 20, CleanTrials: 5, MaximumTrials: 100}
			b := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6})
			b.spoil = slowInRing(rate)
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Results(instr, records)
			checkSlow(t, rate, got)
			for _, w := range got.Warnings {
				if w.Code == v1alpha1.WarningLoadNotReached || w.Code == v1alpha1.WarningInvalidTrials || strings.Contains(w.Message, "The generator, not the device") {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

func checkSlow(t *testing.T, rate float64, got Figures) {
	t.Helper()
	near := func(what string, got int64, want float64) {
		if float64(got) < want*0.97-2 || float64(got) > want*1.01+2 {
			t.Errorf("%s is %d, want %.0f", what, got, want)
		}
	}
	frame := got.Frames[0]
	for _, r := range frame.Throughput {
		near("the throughput of "+r.Goal, r.FramesPerSecond, rate)
		if r.UpperBoundCause != v1alpha1.CauseDeviceLoss || len(r.Doubts) > 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, l := range frame.Latency {
		if len(l.Doubts) > 0 {
			t.Errorf("load %s: %+v", l.Load, l.Doubts)
		}
	}
	// 10 s at twice the rate: what the ring and 5 s after the trial do not take is lost.
	lost := 10*rate - min(1024, 5*rate)
	fixed := frame.FixedLoad[0]
	near("the loss at a fixed load", fixed.Repeats[0].Directions[0].LossPartsPerMillion, lost/(20*rate)*1e6)
	if len(fixed.Doubts) > 0 {
		t.Errorf("fixed load: %+v", fixed.Doubts)
	}
	for i, p := range frame.FrameLossRate.Points {
		near(fmt.Sprintf("the loss of point %d", i), p.LossPartsPerMillion, max(0, 1-rate/float64(p.IntendedFramesPerSecond))*1e6)
		near(fmt.Sprintf("the rate of point %d", i), p.ForwardingFramesPerSecond, min(rate, float64(p.IntendedFramesPerSecond)))
	}
	if frame.FrameLossRate.End != v1alpha1.EndTwoTrialsWithoutLoss {
		t.Errorf("the curve ends with %s", frame.FrameLossRate.End)
	}
	near("the receive rate", frame.ReceiveRate.MeanFramesPerSecond, rate)
	if r := frame.Recovery; r.End != v1alpha1.RecoveryRecovered || r.OverloadLossPartsPerMillion == 0 {
		t.Errorf("%+v", r)
	}
}
