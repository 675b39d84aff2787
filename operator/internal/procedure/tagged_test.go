package procedure

import (
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// taggedInstructions returns instructions for RFC 2544's method at the throughput rate.
func taggedInstructions(streams int32) measure.Instructions {
	instr := instructions()
	instr.Sizes = sizes(64)
	instr.Latency = &v1alpha1.Latency{
		TaggedFrame: &v1alpha1.TaggedFrame{StreamMilliseconds: 120_000, AfterMilliseconds: 60_000, Streams: streams},
		Loads:       []v1alpha1.LatencyLoad{{Name: "ndr100", Goal: "NDR", Percent: new(int32(100))}},
	}
	return instr
}

func TestTaggedFrames(t *testing.T) {
	const streams = 20
	instr := taggedInstructions(streams)
	b := newBench(hardCap())
	made := 0
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageLatency {
			if r.Trial.TaggedFrameNanoseconds != 0 || r.Outcome.Directions[0].TaggedFrame != nil {
				t.Errorf("stage %s has a tagged frame", r.Stage)
			}
			return
		}
		if r.Trial.Duration() != 120*time.Second || r.Trial.TaggedFrameNanoseconds != int64(time.Minute) {
			t.Errorf("a stream of %v with a tag after %v", r.Trial.Duration(), time.Duration(r.Trial.TaggedFrameNanoseconds))
		}
		made++
		if made == 3 {
			invalidate(r)
			return
		}
		// 1001 to 1021 ns without 1003, the third being made again.
		for i := range r.Outcome.Directions {
			r.Outcome.Directions[i].TaggedFrame.DelayNanoseconds = uint64(1000 + made)
		}
		if made == 21 {
			r.Outcome.Directions[1].TaggedFrame.DelayNanoseconds = 0
		}
	}
	records, err := b.run(t, instr, func(records []measure.Record, s Step) {
		if p := Progress(instr, records); (p.Percent == 100) != s.Done {
			t.Errorf("after %d trials: %d %%", len(records), p.Percent)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if made != streams+1 {
		t.Fatalf("%d streams were sent, want %d and one again", made, streams)
	}
	figures := Results(instr, records)
	load := figures.Frames[0].Latency[0]
	ndr := figures.Frames[0].Throughput[0].FramesPerSecond
	if load.IntendedFramesPerSecond != ndr || len(load.Directions) != 2 {
		t.Fatalf("load %+v, want the throughput %d in both directions", load, ndr)
	}
	// Sum of 1001 to 1021 less 1003: 20228, its mean 1011.4, rounded up.
	want := v1alpha1.TaggedFramesResult{
		SentFrames: 20, ReceivedFrames: 20, MinNanoseconds: 1001, MeanNanoseconds: 1012, MaxNanoseconds: 1021, StandardDeviationNanoseconds: 6,
	}
	if got := *load.Directions[0].TaggedFrames; got != want {
		t.Errorf("forward: %+v, want %+v", got, want)
	}
	if got := *load.Directions[1].TaggedFrames; got.SentFrames != 20 || got.ReceivedFrames != 19 || got.MaxNanoseconds != 1020 {
		t.Errorf("reverse: %+v, want one lost", got)
	}
	if d := load.Directions[0]; d.SentFrames != streams*120*ndr || d.Latency.Samples != d.ReceivedFrames || len(d.Statistics) != 0 {
		t.Errorf("all frames: %+v", d)
	}
	warned := 0
	for _, w := range figures.Warnings {
		if w.Code == v1alpha1.WarningTaggedFramesMissing {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("warned %d times of a tagged frame that was lost, want once: %+v", warned, figures.Warnings)
	}
}

// A device that loses nearly everything loses tagged frames too, and without any there is no
// figure.
func TestTaggedFramesAllLost(t *testing.T) {
	instr := taggedInstructions(2)
	instr.Throughput = nil
	instr.Latency.Loads = []v1alpha1.LatencyLoad{{Name: "a", FramesPerSecond: new(int64(1000))}}
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 1e6})
	b.spoil = func(r *measure.Record) {
		for i := range r.Outcome.Directions {
			if tagged := r.Outcome.Directions[i].TaggedFrame; tagged != nil {
				tagged.DelayNanoseconds = 0
			}
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Results(instr, records).Frames[0].Latency[0].Directions {
		if *d.TaggedFrames != (v1alpha1.TaggedFramesResult{SentFrames: 2}) {
			t.Errorf("%s: %+v", d.Direction, d.TaggedFrames)
		}
	}
}

func TestTagBehindTheStreamIsRefused(t *testing.T) {
	instr := taggedInstructions(1)
	instr.Latency.TaggedFrame.AfterMilliseconds = instr.Latency.TaggedFrame.StreamMilliseconds
	if _, err := Next(instr, nil); err == nil {
		t.Error("was accepted")
	}
}
