package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/study"
	"vnfbench.io/operator/internal/testing/resultstest"
)

const studies = "../../../config/studies"

// documentOfRules writes the document of a simulated execution of the study rule-cost, and returns its file.
func documentOfRules(t *testing.T) string {
	t.Helper()
	doc := resultstest.Executed(t, filepath.Join(studies, "rule-cost", "lab", "rules.yaml"), func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
		slow := map[v1alpha1.AxisLabel]float64{"100": 1, "20000": 23, "65535": 75}[values["rules"]]
		return resultstest.Measured(600_000/slow*(1+0.004*float64(repeat)), 9_000*slow)
	})
	file := filepath.Join(t.TempDir(), "rules.json.zst")
	var text bytes.Buffer
	if err := document.WriteSuite(&text, doc, true); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// runStudy runs the command, and returns what it writes and its exit code.
func runStudy(t *testing.T, args ...string) (out, problems string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	command := newCommand(streams)
	command.SetArgs(append([]string{"study"}, args...))
	code = execute(t.Context(), command, streams)
	return stdout.String(), stderr.String(), code
}

// TestStudy checks each format of the report of a study of which one document is there.
func TestStudy(t *testing.T) {
	folder, file := filepath.Join(studies, "rule-cost"), documentOfRules(t)
	for format, want := range map[string][]string{
		"table":    {"What a rule costs\n", "CLAIMS\n", "cannot be shown", "there is no document of suite rule-cost-flows-lab"},
		"markdown": {"## Claims", "| same direction |"},
		"html":     {"<title>", "What a rule costs", "<svg", "not every measurement of every suite"},
	} {
		out, problems, code := runStudy(t, folder, file, "-o", format)
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("%s: %q is not in\n%s", format, text, out)
			}
		}
		if code != exitSucceeded || problems != "note: not every measurement was made and succeeded; this report is partial\n" {
			t.Errorf("%s: %d, %s", format, code, problems)
		}
	}
	saved := filepath.Join(t.TempDir(), "report.json")
	if out, problems, code := runStudy(t, folder, file, "-o", "json", "--output-file", saved); code != exitSucceeded || out != "" {
		t.Errorf("%d, %s, %s", code, out, problems)
	}
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	var r study.Report
	if err := json.Unmarshal(text, &r); err != nil || r.Kind != study.Kind || r.WrittenBy == "" || r.Counts.SameDirection == 0 || r.GeneratedAt.IsZero() {
		t.Errorf("%v: %s", err, text)
	}
}

// TestStudyErrors checks that what cannot be compared is an error that names the cause.
func TestStudyErrors(t *testing.T) {
	file := documentOfRules(t)
	for want, args := range map[string][]string{
		"give the folder of a study": {filepath.Join(studies, "rule-cost")}, "unknown format \"csv\"": {filepath.Join(studies, "rule-cost"), file, "-o", "csv"},
		"study.yaml: no such file": {t.TempDir(), file}, "is none of study iptables-nftables": {filepath.Join(studies, "iptables-nftables"), file},
		"no result document": {filepath.Join(studies, "rule-cost"), saveDocument(t)},
	} {
		if out, problems, code := runStudy(t, args...); code != exitError || out != "" || !strings.Contains(problems, want) {
			t.Errorf("%d, %s, %s, want %q", code, out, problems, want)
		}
	}
}

// saveDocument writes a file that has the form of a document of a run.
func saveDocument(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"report.vnfbench.io/v1","kind":"BenchmarkReport"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
