package benchmarkrun

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/trialstore"
)

// fuzzLimit is how long one worker of the operator may be taken by one run.
const fuzzLimit = 5 * time.Second

// small limits a run to one size, so that an input takes milliseconds.
func small(change func(*v1alpha1.Experiment)) func(*plan.Input) {
	return func(in *plan.Input) {
		e := &in.Run.Spec.Experiment
		e.Traffic.FrameBytes = []int32{64}
		change(e)
		e.Measurements = e.Measurements.Filled()
	}
}

// fuzzRuns are runs whose records have every stage that a driver of frames makes.
var fuzzRuns = []func(*plan.Input){
	small(func(e *v1alpha1.Experiment) {}),
	small(func(e *v1alpha1.Experiment) {
		e.Measurements.Repeats, e.Measurements.Latency = 2, nil
		e.Measurements.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 20, TrialMilliseconds: 1000}
		e.Measurements.ReceiveRate = &v1alpha1.ReceiveRate{TrialMilliseconds: 1000, Trials: 3}
	}),
	small(func(e *v1alpha1.Experiment) {
		e.Measurements.Latency = nil
		e.Measurements.Recovery = &v1alpha1.Recovery{OverloadSeconds: 60, TrialMilliseconds: 100, SettleMilliseconds: 20, CleanTrials: 5, MaximumTrials: 60}
	}),
	small(func(e *v1alpha1.Experiment) {
		e.Measurements.Latency = nil
		e.Measurements.BackToBack = &v1alpha1.BackToBack{Repeats: 3, StepFrames: 100, MaximumBurstMilliseconds: 2000, Attempts: 2}
	}),
}

// FuzzRecords evaluates results' ConfigMaps that someone with the role edit may write. It checks that none
// causes a panic, also none that is caught, that none takes a worker of the operator for long, and that what
// would be the status can be stored.
func FuzzRecords(f *testing.F) {
	type base struct {
		plan *plan.Plan
		data []byte
	}
	var bases []base
	for i, change := range fuzzRuns {
		_, made := plannedRun(f, change)
		bases = append(bases, base{made, mutate.Encode(simulate(f, made.Instructions))})
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{1, 9, 0, 8, 2, 4, 2, 0, 3, 7, 0, 2})
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		b := bases[int(which)%len(bases)]
		s := newScope(launched)
		s.plan = b.plan
		start := time.Now()
		s.decode(&corev1.ConfigMap{Data: mutate.Data(mutate.JSON(b.data, edits))}, &kept{}, trialstore.NoChunks)
		if took := time.Since(start); took > fuzzLimit {
			t.Fatalf("it took %s", took)
		}
		if s.stack != nil {
			t.Fatalf("%v\n%s", s.recordsErr, s.stack)
		}
		if s.recordsErr != nil {
			return
		}
		if _, err := json.Marshal(s.figures); err != nil {
			t.Fatalf("the figures cannot be stored: %v", err)
		}
	})
}

// FuzzDocument replays reports of runs, which come from files. It checks that none causes a panic or takes
// long, and that each can be written in every format.
func FuzzDocument(f *testing.F) {
	var texts [][]byte
	for i, change := range fuzzRuns[:2] {
		var text bytes.Buffer
		if err := report.Write(&text, documented(f, change), report.FormatJSON, report.Options{Trials: true}); err != nil {
			f.Fatal(err)
		}
		texts = append(texts, text.Bytes())
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{1, 9, 0, 8, 2, 4, 2, 0, 3, 7, 0, 2})
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		doc, err := document.Read(bytes.NewReader(mutate.JSON(texts[int(which)%len(texts)], edits)))
		if err != nil {
			return
		}
		start := time.Now()
		// Differences and refusals are what a changed document is expected to have.
		_, _ = report.Replay(doc)
		for _, format := range report.Formats() {
			var out bytes.Buffer
			_ = report.Write(&out, doc, format, report.Options{Trials: true})
		}
		if took := time.Since(start); took > fuzzLimit {
			t.Fatalf("it took %s", took)
		}
	})
}

// FuzzTermination reads what a measurer's container left as its last message. It checks that its reason is
// one that the operator knows.
func FuzzTermination(f *testing.F) {
	f.Add(`{"reason":"ChainFailed","message":"x"}`)
	f.Add(`{"reason":"Succeeded"}`)
	f.Fuzz(func(t *testing.T, message string) {
		left := termination(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}}})
		if left == nil {
			return
		}
		if left.Reason == "" || left.Reason == v1alpha1.ReasonSucceeded || *left != left.Checked() {
			t.Fatalf("%q becomes %+v", message, *left)
		}
	})
}
