package procedure

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// A trial after an overload that a stall cut short is left out, as long as there are not too many and
// it lost nothing: a stall excuses no loss.
func TestRecoveryWithStalls(t *testing.T) {
	for name, test := range map[string]struct {
		// each is how many trials there are for each that a stall cuts short; share is what it costs.
		each          int
		share         float64
		lose          uint64
		trials, lossy int32
		end           v1alpha1.RecoveryEnd
		upper         int64
	}{
		"each third":                 {each: 3, share: 0.01, trials: 10, end: v1alpha1.RecoveryRecovered, upper: 20},
		"each second, then none":     {each: 2, share: 0.5, trials: 10, end: v1alpha1.RecoveryRecovered, upper: 20},
		"all":                        {each: 1, share: 0.01, trials: 60, end: v1alpha1.RecoveryGeneratorCeiling},
		"each third, and they lose":  {each: 3, share: 0.01, lose: 5, trials: 60, lossy: 20, end: v1alpha1.RecoveryNotRecovered},
		"less than the search spots": {each: 3, share: 0.0005, trials: 10, end: v1alpha1.RecoveryRecovered, upper: 20},
	} {
		t.Run(name, func(t *testing.T) {
			trials := 0
			b := newBench(sluggish(0))
			b.spoil = func(r *measure.Record) {
				if r.Stage != stageRecovery {
					return
				}
				if trials++; trials%test.each == 0 {
					stall(r, test.share)
					r.Outcome.Directions[0].ReceivedFrames -= test.lose
				}
			}
			instr := recovery()
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			figures := Results(instr, records)
			got := figures.Frames[0].Recovery
			if got.End != test.end || got.Trials != test.trials || got.LossyTrials != test.lossy {
				t.Errorf("%+v", got)
			}
			if test.upper > 0 && (got.UpperBoundMilliseconds == nil || *got.UpperBoundMilliseconds != test.upper) {
				t.Errorf("%+v, want %d ms at most", got, test.upper)
			}
			if again := len(MadeAgain(instr, records)); again != trials-int(test.trials) || again > maxNeutral {
				t.Errorf("%d of %d trials are made again", again, trials)
			}
		})
	}
}
