package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
)

// TestIsDocument checks which arguments are files.
func TestIsDocument(t *testing.T) {
	for argument, want := range map[string]bool{
		"router": false, "router.v2": false, "suite/nightly": false, "run/router.json": false, "bmr/x.json.zst": false,
		"-": true, "r.json": true, "r.json.zst": true, "2026/r.json": true, "./r": true, "../r": true, "/r": true, "./run/r": true,
	} {
		if got := isDocument(argument); got != want {
			t.Errorf("%q: %t, want %t", argument, got, want)
		}
	}
}

// TestFilesWithoutACluster checks that documents are exported, reported, compared and replayed where no cluster answers.
func TestFilesWithoutACluster(t *testing.T) {
	first := writeDocument(t, func(*report.Document) {})
	doc, err := readDocument(first, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	doc.Run.Name = "another"
	second := filepath.Join(t.TempDir(), "another"+document.ExtensionCompressed)
	if err := export(doc, second, genericiooptions.NewTestIOStreamsDiscard()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(second)); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	nowhere := []string{"--kubeconfig", "/does/not/exist"}
	for name, test := range map[string]struct {
		want string
		args []string
	}{
		"a report":       {"THROUGHPUT", []string{"report", second}},
		"every trial":    {"namespace,run,planDigest,trial,", []string{"report", second, "-o", "csv", "--trials"}},
		"a page":         {"<figcaption>The search, trial by trial", []string{"report", second, "-o", "html"}},
		"a comparison":   {"another", []string{"compare", first, second}},
		"overlaid":       {"<figcaption>another against", []string{"compare", first, second, "-o", "html"}},
		"a replay":       {"figures of the document again", []string{"replay", second}},
		"each figure":    {"yes   ThroughputFramesPerSecond", []string{"replay", second, "--figures"}},
		"a distribution": {",delayVariation,", []string{"distribution", second, "--load", "idle"}},
	} {
		t.Run(name, func(t *testing.T) {
			if out := plugin(t, "", exitSucceeded, append(test.args, nowhere...)...); !strings.Contains(out, test.want) {
				t.Errorf("got %s, want %q", out, test.want)
			}
		})
	}
	tampered := writeDocument(t, func(d *report.Document) { d.Results[0].Throughput[0].FramesPerSecond++ })
	for name, args := range map[string][]string{"a report": {"report", tampered}, "a comparison": {"compare", first, tampered}, "a series": {"series", tampered}} {
		if out, want := plugin(t, "", exitSucceeded, append(args, nowhere...)...), "note: "+tampered+": its trials give other values, "; !strings.Contains(out, want) {
			t.Errorf("%s of changed figures prints %q, want %q", name, out, want)
		}
	}
	if out := plugin(t, "", exitSucceeded, append([]string{"report", first}, nowhere...)...); strings.Contains(out, "note: ") {
		t.Errorf("a report of the figures as they were prints %q", out)
	}
	if out := plugin(t, "", exitError, append([]string{"compare", first, "router-pod"}, nowhere...)...); !strings.Contains(out, "kubeconfig") {
		t.Errorf("comparing with a run prints %q", out)
	}
	for want, change := range map[string]func(*report.Document){
		"note: the run has not ended": func(d *report.Document) { d.Succeeded.Status = metav1.ConditionUnknown },
		"note: the run has no trials": func(d *report.Document) { d.Trials = nil },
		"it has no inputs":            func(d *report.Document) { d.Inputs = nil },
	} {
		half := doc
		streams, _, out, notes := genericiooptions.NewTestIOStreams()
		change(&half)
		if err := export(half, standardStream, streams); err != nil || !strings.Contains(notes.String(), want) {
			t.Errorf("exporting half of a document notes %q, %v, want %q", notes, err, want)
		}
		if _, err := document.Read(out); err != nil {
			t.Error(err)
		}
	}
	without := writeDocument(t, func(d *report.Document) { d.Trials = nil })
	if out := plugin(t, "", exitError, "report", without, "--trials"); !strings.Contains(out, "has no trials") {
		t.Errorf("a document without trials prints %q", out)
	}
	if out := plugin(t, "", exitError, "export", "router-pod", "--output-file", "result.html"); !strings.Contains(out, ".json.zst") {
		t.Errorf("another name prints %q", out)
	}
}
