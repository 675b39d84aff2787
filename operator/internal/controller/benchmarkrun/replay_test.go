package benchmarkrun

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/trialstore"
)

// documented measures a simulated device, lets the controller end the run, and returns the document
// after it was written as JSON and read again.
func documented(t testing.TB, changes ...func(*plan.Input)) report.Document {
	t.Helper()
	run, made := plannedRun(t, changes...)
	s := newScope(launched)
	made.Run.UID, made.OperatorVersion = s.run.UID, "1.2.3"
	s.run.Spec, s.plan = run.Spec, made
	data := simulate(t, made.Instructions)
	s.measurers = []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{ImageID: "registry.example/traffic@sha256:1"}}}}}
	s.decode(&corev1.ConfigMap{Data: data}, &kept{}, trialstore.NoChunks)
	if s.recordsErr != nil || s.foreign != nil {
		t.Fatal(s.recordsErr, s.foreign)
	}
	s.run.Status = summarize(s, decision{action: actFinish, measured: true, outcome: s.verdict()})
	inputs, err := report.NewInputs(string(made.JSON()), data)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := report.Build(s.run, report.Source{Trials: s.records.trials, Inputs: inputs}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.Write(&text, doc, report.FormatJSON, report.Options{Trials: true}); err != nil {
		t.Fatal(err)
	}
	if doc, err = document.Read(&text); err != nil {
		t.Fatal(err)
	}
	return doc
}

// judged adds a criterion and repeats to a run.
func judged(in *plan.Input) {
	e := &in.Run.Spec.Experiment
	e.Traffic.FrameBytes, e.Measurements.Repeats = []int32{64, 512}, 3
	e.Measurements.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 10, TrialMilliseconds: 1000}
	e.Acceptance = []v1alpha1.Criterion{{
		Name: "fast", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, AtLeast: new(int64(1_000_000)),
	}}
}

// TestDocumentIsReplayed checks that a document alone gives everything again that the controller
// computed.
func TestDocumentIsReplayed(t *testing.T) {
	for name, changes := range map[string][]func(*plan.Input){"plain": nil, "judged": {judged}} {
		t.Run(name, func(t *testing.T) {
			doc := documented(t, changes...)
			got, err := report.Replay(doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range got.Differences {
				t.Errorf("%s is %s in the document, and %s again", d.Path, d.Document, d.Replay)
			}
			if doc.Generator.ImageID != "registry.example/traffic@sha256:1" {
				t.Errorf("the measurer's image is %q", doc.Generator.ImageID)
			}
			if got.Trials < 20 || doc.Versions.Operator != "1.2.3" || doc.Versions.Measurer != "1.2.3" || len(doc.Warnings) == 0 {
				t.Errorf("%d trials, versions %+v, %d warnings", got.Trials, doc.Versions, len(doc.Warnings))
			}
		})
	}
}

// TestReplayFindsChanges changes one value at a time, and checks that the replay names it.
func TestReplayFindsChanges(t *testing.T) {
	pristine := documented(t, judged)
	tests := map[string]struct {
		change func(*report.Document)
		want   string
	}{
		"a figure":      {func(d *report.Document) { d.Results[1].Throughput[0].FramesPerSecond++ }, "results[1].throughput[0].framesPerSecond"},
		"a missing row": {func(d *report.Document) { d.Results[0].Latency = d.Results[0].Latency[1:] }, "results[0].latency[0]"},
		"calibration":   {func(d *report.Document) { d.Generator.Calibration[0].MaximumFramesPerSecond-- }, "generator.calibration[0].maximumFramesPerSecond"},
		"a verdict":     {func(d *report.Document) { d.Acceptance[0].Result = v1alpha1.VerdictPassed }, "acceptance[0].result"},
		"a warning":     {func(d *report.Document) { d.Warnings = []v1alpha1.Warning{} }, "warnings[0]"},
		"CPU":           {func(d *report.Document) { d.CPU = append(d.CPU, v1alpha1.CPUResult{Trials: 1}) }, "cpu"},
		"a deployment":  {func(d *report.Document) { d.Deployments = []v1alpha1.Deployment{{Number: 1, Trials: 99}} }, "deployments[0].trials"},
		"a deviation":   {func(d *report.Document) { d.Deviations = []string{} }, "deviations[0]"},
		"a trial": {func(d *report.Document) {
			for i, r := range d.Trials {
				if r.Load == "idle" {
					d.Trials[i].Outcome.Directions[0].ReceivedFrames--
				}
			}
		}, "results[0].latency[0]"},
		"a goal": {func(d *report.Document) {
			d.Inputs.Plan = bytes.Replace(d.Inputs.Plan, []byte(`"name": "NDR"`), []byte(`"name": "N"`), 1)
		}, "results[0].throughput[0].goal"},
		"the end": {func(d *report.Document) { d.Trials = d.Trials[:len(d.Trials)-1] }, "completeness"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			doc := documentOf(t, pristine)
			test.change(&doc)
			got, err := report.Replay(doc)
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, d := range got.Differences {
				if strings.HasPrefix(d.Path, test.want) && d.Document != d.Replay {
					return
				}
				paths = append(paths, d.Path)
			}
			t.Errorf("differences at %q, want one at %s", paths, test.want)
		})
	}
}

// TestReplayRefuses checks that a document that lacks something says what to do.
func TestReplayRefuses(t *testing.T) {
	pristine := documented(t)
	for want, change := range map[string]func(*report.Document){
		"it has no inputs":      func(d *report.Document) { d.Inputs = nil },
		"it has no trials":      func(d *report.Document) { d.Trials = nil },
		"the run had not ended": func(d *report.Document) { d.Succeeded.Status = "Unknown" },
		"trial 3 is missing":    func(d *report.Document) { d.Trials = append(d.Trials[:3:3], d.Trials[4:]...) },
		"is not what the instr": func(d *report.Document) { d.Trials[len(d.Trials)-1].Stage = "Other" },
	} {
		t.Run(want, func(t *testing.T) {
			doc := documentOf(t, pristine)
			change(&doc)
			if _, err := report.Replay(doc); !errors.Is(err, report.ErrNotReplayable) || !strings.Contains(err.Error(), want) {
				t.Errorf("Replay() = %v, want %q", err, want)
			}
		})
	}
}

// documentOf returns a copy that shares nothing.
func documentOf(t *testing.T, doc report.Document) report.Document {
	t.Helper()
	var text bytes.Buffer
	if err := report.Write(&text, doc, report.FormatJSON, report.Options{Trials: true}); err != nil {
		t.Fatal(err)
	}
	again, err := document.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	return again
}
