package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// writeDocument measures a simulated device, and writes the document of a run that has its figures.
func writeDocument(t *testing.T, change func(*report.Document)) string {
	t.Helper()
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64}
	made, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	driver := simulated.New(simulated.Config{
		Device: simulated.HardCap{CapacityFramesPerSecond: 500_000}, Directions: []measure.Direction{measure.Forward, measure.Reverse},
	})
	var records []measure.Record
	for {
		step, err := procedure.Next(made.Instructions, records)
		if err != nil {
			t.Fatal(err)
		}
		if step.Done {
			break
		}
		outcome, err := driver.Measure(t.Context(), step.Trial)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, measure.Record{Index: len(records), Stage: step.Stage, Load: step.Load, Repeat: step.Repeat, Trial: step.Trial, Outcome: outcome})
	}
	inputs, err := report.NewInputs(string(made.JSON()), nil)
	if err != nil {
		t.Fatal(err)
	}
	figures := procedure.Results(made.Instructions, records)
	in.Run.Status.Results, in.Run.Status.Warnings = figures.Frames, figures.Warnings
	for _, kind := range []string{v1alpha1.ConditionSucceeded, v1alpha1.ConditionMeasured} {
		meta.SetStatusCondition(&in.Run.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind})
	}
	doc, err := report.Build(in.Run, report.Source{Trials: records, Inputs: inputs, Version: version}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	change(&doc)
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReplay(t *testing.T) {
	tests := map[string]struct {
		change func(*report.Document)
		code   int
		want   string
	}{
		"the same":       {func(*report.Document) {}, exitSucceeded, "give every figure, verdict and deviation of the document again"},
		"another figure": {func(d *report.Document) { d.Results[0].Throughput[0].FramesPerSecond = 7 }, exitFailed, "  results[0].throughput[0].framesPerSecond\n    document: 7\n    replay:   "},
		"no figures":     {func(d *report.Document) { d.Results = nil }, exitFailed, "document: none"},
		"no trials":      {func(d *report.Document) { d.Trials = nil }, exitError, "write it with -o json --trials"},
		"another version": {func(d *report.Document) {
			d.Inputs.Plan = bytes.Replace(d.Inputs.Plan, []byte(`"digest"`), []byte(`"protocol": "0", "digest"`), 1)
		}, exitSucceeded, "of another protocol"},
		"another kind": {func(d *report.Document) { d.APIVersion = "report.vnfbench.io/v9" }, exitError, `version "report.vnfbench.io/v9"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
			command := newCommand(streams)
			command.SetArgs([]string{"replay", writeDocument(t, test.change)})
			if code := execute(t.Context(), command, streams); code != test.code || !strings.Contains(out.String(), test.want) {
				t.Errorf("replay ends with %d, want %d, and prints %q, want %q", code, test.code, &out, test.want)
			}
		})
	}
}
