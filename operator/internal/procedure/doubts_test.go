package procedure

import (
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func stolen(r *measure.Record) {
	r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtSteal, Detail: "the hypervisor held back the CPUs for 5ms"})
}

func TestDoubtsOfFrames(t *testing.T) {
	type codes = []v1alpha1.DoubtCode
	for name, test := range map[string]struct {
		device simulated.Device
		change func(*measure.Instructions)
		spoil  func(*measure.Record)
		// ndr, idle and half are the doubts about NDR and about the first two loads.
		ndr, idle, half codes
		cause           v1alpha1.UpperBoundCause
	}{
		"a steady device": {cause: v1alpha1.CauseDeviceLoss},
		"a load above the generator": {
			change: func(i *measure.Instructions) { i.Latency.Loads[0].FramesPerSecond = new(int64(2_500_000)) },
			idle:   codes{v1alpha1.DoubtLoadNotReached}, cause: v1alpha1.CauseDeviceLoss,
		},
		"a disturbed load": {
			spoil: func(r *measure.Record) {
				if r.Load == "pdr50" {
					stolen(r)
				}
			},
			half: codes{v1alpha1.DoubtUnsteadyPacing}, cause: v1alpha1.CauseDeviceLoss,
		},
		"a disturbed upper bound": {
			spoil: func(r *measure.Record) {
				if r.Stage == measure.StageThroughput && r.Outcome.LossRatio() > 0 {
					stolen(r)
				}
			},
			ndr: codes{v1alpha1.DoubtUnsteadyPacing}, cause: v1alpha1.CauseDeviceLoss,
		},
		"near the generator's limit": {
			device: simulated.HardCap{CapacityFramesPerSecond: 1_900_000},
			ndr:    codes{v1alpha1.DoubtGeneratorCeiling}, cause: v1alpha1.CauseDeviceLoss,
		},
		"a floor": {device: simulated.HardCap{CapacityFramesPerSecond: 50e6}, cause: v1alpha1.CauseGeneratorCeiling},
		"a floor, repeated": {
			device: simulated.HardCap{CapacityFramesPerSecond: 50e6}, cause: v1alpha1.CauseGeneratorCeiling,
			change: func(i *measure.Instructions) { i.Repeats = 2 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			instr := instructions()
			instr.Sizes = sizes(64)
			if test.change != nil {
				test.change(&instr)
			}
			if test.device == nil {
				test.device = simulated.HardCap{CapacityFramesPerSecond: 700_000}
			}
			b := newBench(test.device)
			b.spoil = test.spoil
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			frame := Results(instr, records).Frames[0]
			for what, pair := range map[string][2]codes{
				"NDR": {frame.Throughput[0].Doubts, test.ndr}, "idle": {frame.Latency[0].Doubts, test.idle}, "pdr50": {frame.Latency[1].Doubts, test.half},
			} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%s has the doubts %v, want %v", what, pair[0], pair[1])
				}
			}
			share, pdr := frame.Latency[1].Share, frame.Throughput[1]
			if frame.Latency[0].Share != nil || share == nil {
				t.Fatalf("shares are %+v and %+v", frame.Latency[0].Share, share)
			}
			want := v1alpha1.LoadShare{Goal: "PDR", Percent: 50, ThroughputFramesPerSecond: pdr.FramesPerSecond, UpperBoundCause: test.cause, Regularity: pdr.Regularity}
			if *share != want {
				t.Errorf("the share is %+v, want %+v", *share, want)
			}
		})
	}
}

func TestDoubtsOfOtherMeasurements(t *testing.T) {
	fixed := fixedLoad()
	fixed.FixedLoad.Profiles = []v1alpha1.LoadProfile{{Name: "fast", Size: "64", FramesPerSecond: new(int64(4_000_000))}}
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6}).run(t, fixed, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.DoubtCode{v1alpha1.DoubtLoadNotReached}
	if got := Results(fixed, records).Frames[0].FixedLoad[0].Doubts; !slices.Equal(got, want) {
		t.Errorf("a fixed load has the doubts %v", got)
	}

	bursts := backToBack()
	b := newBench(buffered{500_000, 3000})
	b.spoil = func(r *measure.Record) {
		if r.Stage == stageBackToBack {
			r.Outcome.SendingNanoseconds = r.Outcome.SendingNanoseconds * 5 / 4
		}
	}
	if records, err = b.run(t, bursts, nil); err != nil {
		t.Fatal(err)
	}
	if got := Results(bursts, records).Frames[0].BackToBack.Doubts; !slices.Equal(got, want) {
		t.Errorf("bursts have the doubts %v", got)
	}

	overload := recovery()
	b = newBench(sluggish(50 * time.Millisecond))
	b.spoil = func(r *measure.Record) {
		if r.Stage == stageRecovery && r.Outcome.LossRatio() > 0 {
			stolen(r)
		}
	}
	if records, err = b.run(t, overload, nil); err != nil {
		t.Fatal(err)
	}
	if got := Results(overload, records).Frames[0].Recovery.Doubts; !slices.Equal(got, []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}) {
		t.Errorf("a recovery has the doubts %v", got)
	}

	ends := tcpOnly(1)
	ends.Repeats = 1
	record := tcpRecord(0, 1, 0, 1_000_000)
	if got := Results(ends, []measure.Record{record}).TCP.Streams[0].Directions[0].Doubts; got != nil {
		t.Errorf("idle ends have the doubts %v", got)
	}
	record.Outcome.TCP.Directions[0].ReceiverCPUPartsPerMillion = 970_000
	if got := Results(ends, []measure.Record{record}).TCP.Streams[0].Directions[0].Doubts; !slices.Equal(got, []v1alpha1.DoubtCode{v1alpha1.DoubtEndpointCeiling}) {
		t.Errorf("a busy end has the doubts %v", got)
	}
}

// TestDoubtsOfSoaks checks that a soak reports its doubts and which throughput it is a share of.
func TestDoubtsOfSoaks(t *testing.T) {
	instr := instructions()
	instr.Sizes, instr.Latency = sizes(64), nil
	instr.Soak = &v1alpha1.Soak{Size: "64", Goal: "NDR", Percent: new(int32(50)), DurationSeconds: 2, IntervalSeconds: 1}
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6})
	b.spoil = func(r *measure.Record) {
		if r.Stage == stageSoak {
			stolen(r)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := Results(instr, records).Frames[0]
	if got := frame.Soak.Doubts; !slices.Equal(got, []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}) {
		t.Errorf("the soak has the doubts %v", got)
	}
	if s := frame.Soak.Share; s == nil || s.Goal != "NDR" || s.Percent != 50 || s.ThroughputFramesPerSecond != frame.Throughput[0].FramesPerSecond || s.UpperBoundCause != v1alpha1.CauseGeneratorCeiling {
		t.Errorf("the share is %+v of %+v", s, frame.Throughput[0])
	}
}

// TestPercentilesOverRepeats checks that a percentile exists only if every repeat has it.
func TestPercentilesOverRepeats(t *testing.T) {
	of := func(samples int64, p999 *int64) v1alpha1.DirectionResult {
		return v1alpha1.DirectionResult{Latency: v1alpha1.Delays{Samples: samples, P999Nanoseconds: p999}, PacketDelayVariationP999Nanoseconds: p999}
	}
	both, _ := combineDirection([]v1alpha1.DirectionResult{of(20_000, new(int64(10))), of(20_000, new(int64(13)))})
	if p := both.Latency.P999Nanoseconds; p == nil || *p != 12 || *both.PacketDelayVariationP999Nanoseconds != 12 {
		t.Errorf("of two repeats: %+v", both)
	}
	one, _ := combineDirection([]v1alpha1.DirectionResult{of(20_000, new(int64(10))), of(9_000, nil)})
	if one.Latency.P999Nanoseconds != nil || one.PacketDelayVariationP999Nanoseconds != nil || one.Latency.Samples != 29_000 {
		t.Errorf("where one has none: %+v", one)
	}
}

// TestStallsWithoutLoss checks that the longest time above 1 ms that a sending thread was kept off
// its core is known of each load, as a share of its trial, although no frame is missing.
func TestStallsWithoutLoss(t *testing.T) {
	instr := onOneCore()
	instr.Repeats = 2
	first := map[string]bool{}
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageLatency || first[r.Trial.Size] {
			return
		}
		first[r.Trial.Size] = true
		r.Outcome.LongestAwayNanoseconds = r.Outcome.SendingNanoseconds / 50
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	loads := Results(instr, records).Frames[0].Latency
	if len(loads) < 2 {
		t.Fatalf("%d loads", len(loads))
	}
	for i, want := range append([]int64{20_000}, make([]int64, len(loads)-1)...) {
		if got := loads[i].AwayPartsPerMillion; got != want || slices.Contains(loads[i].Doubts, v1alpha1.DoubtInterruptedTrials) {
			t.Errorf("load %s: %d ppm, want %d, doubts %v", loads[i].Load, got, want, loads[i].Doubts)
		}
	}
	const ms = time.Millisecond
	for _, test := range []struct {
		all, longest time.Duration
		want         int64
	}{{0, ms, 0}, {0, ms + 1, 501}, {20 * ms, 20 * ms, 10_000}, {20 * ms, 2 * ms, 10_000}, {20 * ms, ms, 0}, {5 * time.Second, 2 * ms, 1_000_000}} {
		record := measure.Record{Outcome: measure.Outcome{
			AwayNanoseconds: test.all.Nanoseconds(), LongestAwayNanoseconds: test.longest.Nanoseconds(), SendingNanoseconds: (2 * time.Second).Nanoseconds(),
		}}
		if got := awayOf([]measure.Record{record, {}}); got != test.want {
			t.Errorf("%v of 2 s, %v in one piece: %d ppm, want %d", test.all, test.longest, got, test.want)
		}
		// On each path the first frames after a stall leave late.
		for _, hop := range []measure.Hop{measure.HopInline, measure.HopTap, measure.HopSeparate} {
			record.Outcome.Hop = hop
			if got := awayOf([]measure.Record{record}); got != test.want {
				t.Errorf("%v of 2 s, %v in one piece, hop %s: %d ppm, want %d", test.all, test.longest, hop, got, test.want)
			}
		}
	}
}
