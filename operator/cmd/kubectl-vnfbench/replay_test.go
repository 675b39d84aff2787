package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
)

// writeDocument measures a simulated device, and writes the document of a run that has its figures.
func writeDocument(t *testing.T, change func(*report.Document)) string {
	t.Helper()
	return writeDocumentOf(t, documenttest.Small(), change)
}

func writeDocumentOf(t *testing.T, in plan.Input, change func(*report.Document)) string {
	t.Helper()
	doc := documenttest.Make(t, in, version, nil)
	change(&doc)
	var text bytes.Buffer
	if err := document.Write(&text, doc, false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
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
		"the same":       {func(*report.Document) {}, exitSucceeded, "figures of the document again, with every verdict and deviation"},
		"another figure": {func(d *report.Document) { d.Results[0].Throughput[0].FramesPerSecond = 7 }, exitFailed, "  results[0].throughput[0].framesPerSecond\n    document: 7\n    replay:   "},
		"its name":       {func(d *report.Document) { d.Results[0].Throughput[0].FramesPerSecond = 7 }, exitFailed, "  no    ThroughputFramesPerSecond  "},
		"another trial": {func(d *report.Document) {
			for i := range d.Trials {
				d.Trials[i].Outcome.Directions[0].Latency.MaxNanoseconds++
			}
		}, exitFailed, "  no    LatencyMaxNanoseconds  "},
		"no figures": {func(d *report.Document) { d.Results = []v1alpha1.FrameResult{} }, exitFailed, "document: none"},
		"no trials":  {func(d *report.Document) { d.Trials = nil }, exitError, "write it by kubectl vnfbench export RUN"},
		"another version": {func(d *report.Document) {
			d.Inputs.Plan = bytes.Replace(d.Inputs.Plan, []byte(`"digest"`), []byte(`"protocol": "0", "digest"`), 1)
		}, exitSucceeded, "of another protocol"},
		"another kind": {func(d *report.Document) { d.APIVersion = "report.vnfbench.io/v9" }, exitError, `it is "report.vnfbench.io/v9", which version "development" of the plugin wrote`},
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

// TestDistribution checks that percentiles of the document are those of the figures, and that the
// repeats are merged.
func TestDistribution(t *testing.T) {
	var doc report.Document
	in := documenttest.Small()
	in.Run.Spec.Experiment.Measurements.ReceiveRate = &v1alpha1.ReceiveRate{TrialMilliseconds: 1000, Trials: 4}
	in.Run.Spec.Experiment.Measurements.FrameLossRate = &v1alpha1.FrameLossRate{TrialMilliseconds: 1000, StepPercent: 20}
	file := writeDocumentOf(t, in, func(d *report.Document) { doc = *d })
	run := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
		command := newCommand(streams)
		command.SetArgs(append([]string{"distribution", file}, args...))
		if code := execute(t.Context(), command, streams); code != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, want, &out)
		}
		return out.String()
	}
	lines, err := csv.NewReader(strings.NewReader(run(exitSucceeded, "--size", "64", "--load", "idle", "--percentiles", "50,99.9"))).ReadAll()
	if err != nil || len(lines) != 9 {
		t.Fatalf("got %q, %v", lines, err)
	}
	samples, p50 := 0, int64(0)
	for _, r := range doc.Trials {
		if r.Load == "idle" {
			samples += int(r.Outcome.Directions[0].Latency.Samples)
		}
	}
	for _, load := range doc.Results[0].Latency {
		if load.Load == "idle" {
			p50 = load.Directions[0].Latency.P50Nanoseconds
		}
	}
	first := lines[1]
	if first[2] != "idle" || first[4] != "Forward" || first[5] != "delay" || first[6] != "3" || first[7] != strconv.Itoa(samples) || first[8] != "50" || lines[2][8] != "99.9" {
		t.Errorf("got the line %q, want that of 3 trials with %d samples", first, samples)
	}
	if got, _ := strconv.ParseInt(first[9], 10, 64); got < p50*99/100 || got > p50*101/100 {
		t.Errorf("p50 is %d ns, and %d ns in the figures", got, p50)
	}
	wantRates(t, doc, run(exitSucceeded, "--percentiles", "50"))
	if got := run(exitSucceeded, "--cdf"); strings.Count(got, "\n") < 15 || !strings.Contains(got, ",100,") {
		t.Errorf("the steps are %q", got)
	}
	if got := run(exitError, "--load", "other"); !strings.Contains(got, "no trial that counts") {
		t.Errorf("another load prints %q", got)
	}
	output := filepath.Join(t.TempDir(), "idle.csv")
	if got := run(exitSucceeded, "--load", "idle", "--output-file", output); got != "" {
		t.Errorf("writing a file prints %q", got)
	}
	if data, err := os.ReadFile(output); err != nil || !bytes.HasPrefix(data, []byte("stage,size,load,")) {
		t.Errorf("the file begins with %.40q: %v", data, err)
	}
}

// wantRates checks that the trials of each rate of searches, loss curves and receive rates are merged.
func wantRates(t *testing.T, doc report.Document, text string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	trials, samples := map[string]int{}, map[string]int{}
	for _, r := range doc.Trials {
		if procedure.KeepsOfRest(r.Stage) {
			of := string(r.Stage) + strconv.FormatUint(r.Trial.IntendedFramesPerSecond, 10)
			trials[of]++
			samples[of] += int(r.Outcome.Directions[0].Latency.Samples)
		}
	}
	found := map[string]int{}
	for _, line := range lines[1:] {
		rate, of := line[11], line[0]+line[11]
		if !procedure.KeepsOfRest(measure.Stage(line[0])) {
			if rate != "" || line[12] != "0" {
				t.Errorf("got the line %q, want no rate, and all trials", line)
			}
			continue
		}
		if line[4] != "Forward" || line[5] != "delay" {
			continue
		}
		found[line[0]]++
		if line[6] != strconv.Itoa(trials[of]) || line[7] != strconv.Itoa(samples[of]) || line[12] != "0" {
			t.Errorf("got the line %q, want that of %d trials with %d samples", line, trials[of], samples[of])
		}
	}
	curve, receive := found["FrameLossRate"], found["ReceiveRate"]
	if found[string(measure.StageThroughput)]+curve+receive != len(trials) || curve != 2 || receive != 1 {
		t.Errorf("the loads are %v, want %d", found, len(trials))
	}
}
