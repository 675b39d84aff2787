package procedure

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// Whatever devices and generators do, a measurement ends, in figures or in a failure with a
// reason, and stored records say the same as those in memory.
func TestWhateverHappens(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := newBench(simulated.Noisy{Device: hardCap(), Strength: simulated.Strong})
		trouble := random.Float64() * 0.3
		b.spoil = func(r *measure.Record) {
			if random.Float64() < trouble {
				spoil(random, r)
			}
		}
		instr := instructions()
		records, err := b.run(t, instr, nil)
		if err != nil && measure.ReasonOf(err) == "" {
			t.Fatalf("seed %d: %v", seed, err)
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
			for _, l := range frame.Latency {
				if l.Directions[0].ReceivedFrames == 0 && l.Directions[len(l.Directions)-1].ReceivedFrames == 0 {
					t.Errorf("seed %d: a dead device has latency: %+v", seed, l)
				}
			}
		}
		for _, w := range got.Warnings {
			if len(w.Message) > v1alpha1.MaxWarningBytes {
				t.Errorf("seed %d: a message of %d bytes", seed, len(w.Message))
			}
		}
		if p := Progress(instr, stored); (p.Percent == 100) != (err == nil) || p.Percent < 0 || p.RemainingSeconds < 0 {
			t.Errorf("seed %d: %+v after %v", seed, p, err)
		}
	}
}

func spoil(random *rand.Rand, r *measure.Record) {
	d := &r.Outcome.Directions[random.IntN(2)]
	switch random.IntN(8) {
	case 0:
		invalidate(r)
	case 1:
		d.ReceivedFrames = 0
	case 2:
		d.SentFrames, d.ReceivedFrames = 0, 0
	case 3:
		r.Outcome.Directions = nil
	case 4:
		d.SentFrames /= 2
		d.ReceivedFrames = min(d.ReceivedFrames, d.SentFrames)
	case 5:
		preempt(r)
	case 6:
		lose(r, random.IntN(2), 300)
		inRing(r)
		r.Outcome.LongestAwayNanoseconds = int64(random.IntN(20_000_000))
	case 7:
		for i := range r.Outcome.Directions {
			r.Outcome.Directions[i].ReceivedFrames = 0
		}
	}
}
