package procedure

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// everything returns a run of every measurement at once.
func everything() measure.Instructions {
	instr := instructions()
	instr.FixedLoad = fixedLoad().FixedLoad
	instr.FrameLossRate = frameLossRate(0).FrameLossRate
	instr.BackToBack = backToBack().BackToBack
	instr.ReceiveRate = receiveRate().ReceiveRate
	instr.Recovery = recovery().Recovery
	instr.Soak = soakOf(time.Minute, 10*time.Second).Soak
	instr.CalibrateLoads, instr.DelayCalibrationTrials = true, 2
	return instr
}

// Whatever devices and generators do, every measurement ends, in figures or in a failure
// with a reason, and stored records say the same as those in memory.
func TestMeasurementsEnd(t *testing.T) {
	ended := 0
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 2))
		b := newBench(simulated.Noisy{Device: buffered{500_000, 3000}, Strength: simulated.Strong})
		trouble := random.Float64() * 0.05
		b.spoil = func(r *measure.Record) {
			if random.Float64() < trouble {
				spoil(random, r)
			}
			r.Outcome = Compact(*r)
		}
		instr := everything()
		instr.RateAgainAfterSeconds = 1
		records, err := b.run(t, instr, nil)
		if err != nil && measure.ReasonOf(err) == "" {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err == nil {
			ended++
		}
		text, marshalErr := json.Marshal(records)
		if marshalErr != nil {
			t.Fatal(marshalErr)
		}
		var stored []measure.Record
		if err := json.Unmarshal(text, &stored); err != nil {
			t.Fatal(err)
		}
		got := Results(instr, stored)
		if diff := cmp.Diff(Results(instr, records), got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		for _, frame := range got.Frames {
			if c := frame.FrameLossRate; c != nil && len(c.Points) > 50 {
				t.Errorf("seed %d: a curve of %d points", seed, len(c.Points))
			}
			if b := frame.BackToBack; b != nil && (b.MinFrames > b.MeanFrames || b.MeanFrames > b.MaxFrames || *b.CorrectedBufferNanoseconds > b.ImpliedBufferNanoseconds) {
				t.Errorf("seed %d: %+v", seed, b)
			}
			if r := frame.ReceiveRate; r != nil && (r.MinFramesPerSecond > r.MeanFramesPerSecond || r.MeanFramesPerSecond > r.MaxFramesPerSecond) {
				t.Errorf("seed %d: %+v", seed, r)
			}
		}
		if p := Progress(instr, stored); (p.Percent == 100) != (err == nil) || p.Percent < 0 || p.RemainingSeconds < 0 {
			t.Errorf("seed %d: %+v after %v", seed, p, err)
		}
	}
	if ended < 5 {
		t.Errorf("only %d measurements came to an end", ended)
	}
}

// The measurements of a size follow in the order of the registry.
func TestOrderOfMeasurements(t *testing.T) {
	var got []measure.Stage
	_, err := newBench(buffered{500_000, 3000}).run(t, everything(), func(_ []measure.Record, s Step) {
		if n := len(got); s.Trial.FrameBytes == 64 && s.Path == PathChain && s.Stage != stageDiscard && (n == 0 || got[n-1] != s.Stage) {
			got = append(got, s.Stage)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []measure.Stage{
		measure.StageWarmUp, measure.StageThroughput, measure.StageLatency, stageFixedLoad, stageFrameLossRate,
		stageBackToBack, stageReceiveRate, stageOverload, stageRecovery, stageSoak,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
