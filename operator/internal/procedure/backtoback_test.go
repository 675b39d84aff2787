package procedure

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// buffered forwards at its capacity and keeps a number of frames for later.
type buffered struct{ capacity, frames float64 }

func (d buffered) Answer(q simulated.Question) simulated.Answer {
	sent := q.FramesPerSecond * q.Duration.Seconds()
	lost := max(0, sent*(1-min(1, d.capacity/q.FramesPerSecond))-d.frames)
	return simulated.Answer{LossRatio: lost / sent, CapacityFramesPerSecond: d.capacity}
}

func backToBack() measure.Instructions {
	instr := instructions()
	instr.Latency, instr.Sizes = nil, sizes(64)
	instr.BackToBack = &v1alpha1.BackToBack{Repeats: 3, StepFrames: 100, MaximumBurstMilliseconds: 2000, Attempts: 2}
	return instr
}

// kept stores only what the measurer does.
func kept(b *bench) *bench {
	spoil := b.spoil
	b.spoil = func(r *measure.Record) {
		if spoil != nil {
			spoil(r)
		}
		r.Outcome = Compact(*r)
	}
	return b
}

func TestBackToBack(t *testing.T) {
	instr := backToBack()
	// 2,000,000 frames/s meet a capacity of 500,000: a burst of B leaves 3/4 B in the buffer, so
	// 3000 frames of buffer hold bursts of 4000.
	b := kept(newBench(buffered{500_000, 3000}))
	records, err := b.run(t, instr, func(_ []measure.Record, s Step) {
		if s.Stage != stageBackToBack {
			return
		}
		frames := float64(s.Trial.IntendedFramesPerSecond) * s.Trial.Duration().Seconds()
		if off := frames - float64(int(frames/100+0.5)*100); off > 0.4 || off < -0.4 {
			t.Errorf("a burst of %f frames is no number of steps", frames)
		}
		if s.Trial.Settle() != 2*time.Second || s.Trial.IntendedFramesPerSecond != 2_000_000 {
			t.Errorf("%+v", s.Trial)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	frame := Results(instr, records).Frames[0]
	got := frame.BackToBack
	if got == nil {
		t.Fatal("no result")
	}
	if got.MeanFrames != 4000 || got.MinFrames != 4000 || got.MaxFrames != 4000 || got.StandardDeviationFrames != 0 || len(got.Bursts) != 3 {
		t.Errorf("%+v", got)
	}
	if got.ImpliedBufferNanoseconds != 2_000_000 || got.MaximumOrigin != v1alpha1.MaximumCalibration || got.LongestBurstFrames != 4_000_000 {
		t.Errorf("%+v", got)
	}
	throughput := frame.Throughput[0].FramesPerSecond
	if want := 2e6 * (1 - float64(throughput)/2e6); got.CorrectedBufferNanoseconds == nil || math.Abs(float64(*got.CorrectedBufferNanoseconds)-want) > 1 {
		t.Errorf("corrected %v ns, want %f with a throughput of %d", ptr.Deref(got.CorrectedBufferNanoseconds, -1), want, throughput)
	}
	wantWarning(t, instr, records, v1alpha1.WarningGeneratorCeiling,
		"Back-to-back frames: the maximum is 2000000 frames/s, which is what the generator reached in its calibration; line rate is 14880952 frames/s.")
}

func TestBackToBackStaysSmall(t *testing.T) {
	records, err := kept(newBench(buffered{500_000, 3000})).run(t, backToBack(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Stage == stageBackToBack && r.Outcome.Directions[0].Distributions == nil {
			t.Fatal("a burst has no distribution to keep")
		}
		for i := range r.Outcome.Directions {
			r.Outcome.Directions[i].Distributions = nil
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if r.Stage == stageBackToBack && len(text) > 800 {
			t.Fatalf("a burst's record has %d bytes: %s", len(text), text)
		}
	}
}

// A loss that does not occur again does not count, unless it is large.
func TestBackToBackVerifiesLoss(t *testing.T) {
	for name, test := range map[string]struct {
		attempts int32
		most     *int64
		want     int64
	}{
		"twice":          {2, nil, 4000},
		"small loss":     {2, new(int64(10)), 4000},
		"too large":      {2, new(int64(4)), 0},
		"believed first": {1, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			instr := backToBack()
			instr.BackToBack.Attempts, instr.BackToBack.MaximumLostFrames = test.attempts, test.most
			b := newBench(buffered{500_000, 3000})
			odd := false
			b.spoil = func(r *measure.Record) {
				if r.Stage != stageBackToBack || r.Outcome.LossRatio() > 0 {
					odd = false
					return
				}
				if odd = !odd; odd {
					r.Outcome.Directions[1].ReceivedFrames -= 5
				}
			}
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := Results(instr, records).Frames[0].BackToBack; got.MaxFrames > 4000 || got.MinFrames < test.want || (test.want == 0 && got.MeanFrames == 4000) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestBackToBackIsLeftOut(t *testing.T) {
	instr := backToBack()
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Frames[0].BackToBack; got != nil {
		t.Errorf("%+v", got)
	}
	wantWarning(t, instr, records, v1alpha1.WarningBackToBackNotNeeded,
		"Back-to-back frames were not measured: the generator, and not the device, bounds the throughput without loss, so it can send no burst that is faster.")
}

func TestBackToBackBounds(t *testing.T) {
	instr := backToBack()
	instr.BackToBack.MaximumBurstMilliseconds = 1 // 2000 frames
	records, err := newBench(buffered{500_000, 3000}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, instr, records, v1alpha1.WarningMaximumLoad,
		"The longest burst, 2000 frames, passed in 3 of 3 searches; a longer one may pass too.")

	instr = backToBack()
	if records, err = newBench(hardCap()).run(t, instr, nil); err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Frames[0].BackToBack; got.MeanFrames != 0 || got.ImpliedBufferNanoseconds != 0 {
		t.Errorf("a device without a buffer: %+v", got)
	}
	wantWarning(t, instr, records, v1alpha1.WarningIrregularResult,
		"Even the shortest burst of 100 frames lost some in 3 of 3 searches, which count as 0.")
}

// A burst that was not sent in full shows nothing about its length.
func TestBackToBackUnsent(t *testing.T) {
	instr := backToBack()
	b := newBench(buffered{500_000, 3000})
	b.spoil = func(r *measure.Record) {
		if d := &r.Outcome.Directions[0]; r.Stage == stageBackToBack && d.IntendedFrames > 2000 {
			d.SentFrames, d.ReceivedFrames = 2000, 2000
			r.Outcome.Directions[1] = *d
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Frames[0].BackToBack; got.MaxFrames != 2000 {
		t.Errorf("%+v", got)
	}
	for _, w := range Results(instr, records).Warnings {
		if w.Code == v1alpha1.WarningGeneratorCeiling && strings.Contains(w.Message, "bursts in full") {
			return
		}
	}
	t.Error("no warning about bursts that were not sent")
}

func TestBackToBackStretched(t *testing.T) {
	instr := backToBack()
	b := newBench(buffered{500_000, 3000})
	b.spoil = func(r *measure.Record) {
		if r.Stage == stageBackToBack {
			r.Outcome.SendingNanoseconds = r.Outcome.SendingNanoseconds * 5 / 4
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, instr, records, v1alpha1.WarningLoadNotReached,
		"A burst that passed left with 1600000 of 2000000 frames/s, so the device had more time than a burst gives.")
}

// After a burst there are 2 s of silence, or as much as it lasted where that is more.
func TestSilenceAfterBursts(t *testing.T) {
	instr := backToBack()
	instr.BackToBack.MaximumBurstMilliseconds = 16_000
	longer, shorter := 0, 0
	_, err := kept(newBench(buffered{500_000, 3000})).run(t, instr, func(_ []measure.Record, s Step) {
		if s.Stage != stageBackToBack {
			return
		}
		want := 2 * time.Second
		if burst := s.Trial.Duration(); burst > want {
			want, longer = burst, longer+1
		} else {
			shorter++
		}
		if s.Trial.Settle() != want {
			t.Errorf("a burst of %v is followed by %v, want %v", s.Trial.Duration(), s.Trial.Settle(), want)
		}
	})
	if err != nil || longer == 0 || shorter == 0 {
		t.Errorf("%d bursts above 2 s and %d below: %v", longer, shorter, err)
	}
}
