package benchmarkrun

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/traffic/simulated"
	"vnfbench.io/operator/internal/trialstore"
)

// TestServiceTimeInStatus checks that a device that works on the core that sends has its time for
// a frame in the status: 1/500,000 s less 1/2,000,000 s, for two frames.
func TestServiceTimeInStatus(t *testing.T) {
	s := newScope(launched)
	_, s.plan = plannedRun(t)
	s.decode(&corev1.ConfigMap{Data: simulate(t, s.plan.Instructions)}, &kept{}, trialstore.NoChunks)
	if s.recordsErr != nil {
		t.Fatal(s.recordsErr)
	}
	got := s.figures.Frames[0].Throughput[0].ServiceTime
	if got == nil || got.GeneratorNanoseconds != 250 || got.LowNanoseconds > 750 || got.HighNanoseconds < 750 || got.HighNanoseconds-got.LowNanoseconds > 30 {
		t.Errorf("%+v, want about 750 ns", got)
	}
}

// plannedRun returns a run of one router and its plan.
func plannedRun(t testing.TB, changes ...func(*plan.Input)) (*v1alpha1.BenchmarkRun, *plan.Plan) {
	t.Helper()
	in := plantest.Input(1)
	for _, change := range changes {
		change(&in)
	}
	made, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return in.Run, made
}

// simulate returns the results' data of a whole measurement of a device that forwards 500,000
// frames/s, by a generator that makes 2,000,000.
func simulate(t testing.TB, instr measure.Instructions) map[string]string {
	t.Helper()
	data := map[string]string{measure.KeyDone: "{}"}
	put := func(key string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		data[key] = string(text)
	}
	description := &measure.Description{Driver: "XDP", Threads: 1}
	put(measure.KeyGenerator, measure.GeneratorState{Chain: description, Calibration: description, MeasurerVersion: "1.2.3"})
	driver := func(capacity float64) measure.Driver {
		return simulated.New(simulated.Config{
			Device: simulated.HardCap{CapacityFramesPerSecond: capacity}, GeneratorFramesPerSecond: 2_000_000,
			Directions: []measure.Direction{measure.Forward, measure.Reverse},
		})
	}
	drivers := map[procedure.Path]measure.Driver{procedure.PathCalibration: driver(100e6), procedure.PathChain: driver(500_000)}
	var records []measure.Record
	for {
		step, err := procedure.Next(instr, records)
		if err != nil {
			t.Fatal(err)
		}
		if step.Done {
			return data
		}
		outcome, err := drivers[step.Path].Measure(t.Context(), step.Trial)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, measure.Record{Index: len(records), Stage: step.Stage, Load: step.Load, Repeat: step.Repeat, Trial: step.Trial, Outcome: procedure.Compact(measure.Record{Stage: step.Stage, Trial: step.Trial, Outcome: outcome})})
		put(fmt.Sprintf("%s%06d.json", measure.KeyTrialPrefix, len(records)-1), records[len(records)-1])
	}
}
