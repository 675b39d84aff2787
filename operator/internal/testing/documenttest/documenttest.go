// Package documenttest makes documents of runs that were measured on a simulated device.
package documenttest

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// longestChain and maximumSizes are what the API allows.
const longestChain, maximumSizes = 8, 16

// Small returns one router that is measured three times with frames of 64 bytes.
func Small() plan.Input {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.FrameBytes, in.Run.Spec.Experiment.Measurements.Repeats = []int32{64}, 3
	return in
}

// Make measures a run, and returns its document with the figures of its trials. change may change each trial before it is
// stored; nil changes none.
func Make(t testing.TB, in plan.Input, version string, change func(measure.Instructions, []measure.Record, *measure.Record)) report.Document {
	t.Helper()
	return MakeOn(t, in, nil, version, change)
}

// generatorFramesPerSecond is what the generator sends without a device in MakeOn.
const generatorFramesPerSecond = 900_000

// MakeOn measures a run on a device as Make does, with a generator that is faster than it; nil is a device that is no slower than the generator.
func MakeOn(t testing.TB, in plan.Input, device simulated.Device, version string, change func(measure.Instructions, []measure.Record, *measure.Record)) report.Document {
	t.Helper()
	made, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	both := []measure.Direction{measure.Forward, measure.Reverse}
	driver := simulated.New(simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 500_000}, Directions: both})
	generator := driver
	if device != nil {
		generator = simulated.New(simulated.Config{Device: simulated.HardCap{CapacityFramesPerSecond: 1e9}, Directions: both, GeneratorFramesPerSecond: generatorFramesPerSecond, BaseNanoseconds: 3000})
		driver = simulated.New(simulated.Config{Device: device, Directions: both, GeneratorFramesPerSecond: generatorFramesPerSecond, BaseNanoseconds: 4000, Seed: 1})
	}
	var records []measure.Record
	for {
		step, err := procedure.Next(made.Instructions, records)
		if err != nil {
			t.Fatal(err)
		}
		if step.Done {
			break
		}
		on := driver
		if step.Stage.Calibrates() {
			on = generator
		}
		outcome, err := on.Measure(t.Context(), step.Trial)
		if err != nil {
			t.Fatal(err)
		}
		record := measure.Record{
			Index: len(records), Stage: step.Stage, Load: step.Load, Repeat: step.Repeat, Trial: step.Trial, Neighbors: step.Neighbors,
			Outcome: procedure.FitDistributions(made.Instructions, records, step.Stage, outcome),
		}
		if change != nil {
			change(made.Instructions, records, &record)
		}
		records = append(records, record)
	}
	inputs, err := report.NewInputs(string(made.JSON()), nil)
	if err != nil {
		t.Fatal(err)
	}
	figures := procedure.Results(made.Instructions, records)
	in.Run.CreationTimestamp = metav1.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	in.Run.Status.CompletionTime = new(metav1.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC))
	in.Run.Status.Results, in.Run.Status.Warnings, in.Run.Status.CPU = figures.Frames, figures.Warnings, figures.CPU
	for _, kind := range []string{v1alpha1.ConditionSucceeded, v1alpha1.ConditionMeasured} {
		meta.SetStatusCondition(&in.Run.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind})
	}
	doc, err := report.Build(in.Run, report.Source{Trials: records, Inputs: inputs, Version: version}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// RecordBytes returns what a record takes of a run's results, with its key.
func RecordBytes(t testing.TB, r measure.Record) int {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return len("trial-000000.json") + len(text)
}

// Largest returns the document of a run with the longest chain and the most sizes whose plan is made, and whose records fill the
// results: with series of numbers and texts that cannot be compressed.
func Largest(t testing.TB) report.Document {
	t.Helper()
	input := func(sizes int) plan.Input {
		in := plantest.Input(longestChain)
		in.Run.Spec.Experiment.Traffic.FrameBytes = nil
		for i := range sizes {
			in.Run.Spec.Experiment.Traffic.FrameBytes = append(in.Run.Spec.Experiment.Traffic.FrameBytes, int32(64+32*i))
		}
		return in
	}
	sizes := maximumSizes
	for ; sizes > 1; sizes-- {
		if _, err := plan.Make(input(sizes)); err == nil {
			break
		}
	}
	without := Make(t, input(sizes), "1.2.3", nil)
	free := measure.MaximumResultsBytes
	for _, r := range without.Trials {
		free -= RecordBytes(t, r)
	}
	// Each record takes as much of what is left: half of it as a series, half as a text.
	share := free / len(without.Trials)
	random := rand.New(rand.NewPCG(1, 2))
	return Make(t, input(sizes), "1.2.3", func(_ measure.Instructions, _ []measure.Record, r *measure.Record) {
		d := &r.Outcome.Directions[0]
		most := RecordBytes(t, *r) + share
		series := &measure.Series{SlotNanoseconds: 1e8}
		for series.Bytes() < share/2 {
			series.Add(random.Uint64N(1e6), random.Uint64N(1e6), random.Uint64N(1e12), random.Uint64N(1e7))
		}
		d.Series = series
		kept := measure.Distributions{Lateness: "-"}
		if d.Distributions != nil {
			kept.Delay = d.Distributions.Delay
		}
		d.Distributions = &kept
		filling := make([]byte, max(0, most-RecordBytes(t, *r))*3/4)
		for i := range filling {
			filling[i] = byte(random.Uint32())
		}
		kept.Lateness = base64.RawStdEncoding.EncodeToString(filling)
	})
}
