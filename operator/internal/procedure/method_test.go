package procedure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// methodInstructions returns those of a run with a method and two goals.
func methodInstructions(method v1alpha1.SearchMethod, trial time.Duration) measure.Instructions {
	instr := instructions()
	instr.Sizes = instr.Sizes[:1]
	instr.Throughput.Method = method
	instr.Throughput.MaximumSearchSeconds = 4 * 3600
	if method == v1alpha1.MethodTST009WithLossVerification {
		instr.Throughput.LossVerification = &v1alpha1.LossVerification{MaximumRepeats: 2}
	}
	for i := range instr.Throughput.Goals {
		instr.Throughput.Goals[i].TrialMilliseconds = int32(trial.Milliseconds())
		instr.Throughput.Goals[i].DurationSumMilliseconds = int32(trial.Milliseconds())
	}
	return instr
}

// Every method measures, repeats what is invalid, and resumes from any record as if it had never
// stopped.
func TestMethods(t *testing.T) {
	const capacity = 1_234_567
	for _, method := range []v1alpha1.SearchMethod{
		v1alpha1.MethodMLRsearch, v1alpha1.MethodRFC2544, v1alpha1.MethodTST009, v1alpha1.MethodTST009WithLossVerification,
	} {
		for _, trial := range []time.Duration{time.Second, time.Minute} {
			t.Run(string(method)+"/"+trial.String(), func(t *testing.T) {
				instr := methodInstructions(method, trial)
				b := newBench(simulated.HardCap{CapacityFramesPerSecond: capacity})
				b.spoil = func(r *measure.Record) {
					if r.Index%5 == 4 {
						invalidate(r)
					}
				}
				records, err := b.run(t, instr, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := range records {
					step, err := Next(instr, records[:i])
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(records[i].Trial, step.Trial); diff != "" {
						t.Fatalf("resumed at %d: %s", i, diff)
					}
				}
				checkMethod(t, Results(instr, records), capacity)
				if longest := longestTrial(records); longest != trial {
					t.Errorf("the longest trial took %v, want %v", longest, trial)
				}
			})
		}
	}
}

func checkMethod(t *testing.T, got Figures, capacity int64) {
	t.Helper()
	if len(got.Frames) != 1 || len(got.Frames[0].Throughput) != 2 {
		t.Fatalf("got %+v, want both goals", got.Frames)
	}
	for _, r := range got.Frames[0].Throughput {
		// The step is 2 % of the generator's 2 million frames/s, the loss allowed 0.1 %.
		if r.Regularity != v1alpha1.Regular || r.UpperBoundCause != v1alpha1.CauseDeviceLoss ||
			r.FramesPerSecond > capacity || r.FramesPerSecond < capacity-40_000 {
			t.Errorf("got %+v, want at most 40,000 frames/s below %d", r, capacity)
		}
	}
}

func longestTrial(records []measure.Record) time.Duration {
	longest := time.Duration(0)
	for _, r := range records {
		if r.Stage == measure.StageThroughput {
			longest = max(longest, r.Trial.Duration())
		}
	}
	return longest
}

// Where nothing forwards, the methods find that out and do not report 0.
func TestMethodsMeetADeadDevice(t *testing.T) {
	for _, method := range []v1alpha1.SearchMethod{
		v1alpha1.MethodRFC2544, v1alpha1.MethodTST009, v1alpha1.MethodTST009WithLossVerification,
	} {
		_, err := newBench(silent{Device: simulated.HardCap{}}).run(t, methodInstructions(method, time.Second), nil)
		if measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
			t.Errorf("%s: got %v, want reason %s", method, err, v1alpha1.ReasonChainFailed)
		}
	}
}
