package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/trialstore"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)

func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// fixture returns a run that was measured and missed a threshold, and its trials.
func fixture(t *testing.T) (*v1alpha1.BenchmarkRun, []measure.Record) {
	t.Helper()
	var run v1alpha1.BenchmarkRun
	read(t, "run.yaml", &run)
	var stored corev1.ConfigMap
	read(t, "results.yaml", &stored)
	records, err := trialstore.Read(&stored, trialstore.NoChunks)
	if err != nil {
		t.Fatal(err)
	}
	return &run, records
}

func conditions(run *v1alpha1.BenchmarkRun, status metav1.ConditionStatus, reason, message string, kinds ...string) {
	for _, kind := range kinds {
		meta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

// running returns the same run while its second frame size is measured.
func running(t *testing.T) (*v1alpha1.BenchmarkRun, []measure.Record) {
	run, records := fixture(t)
	conditions(run, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "the run is active", v1alpha1.ConditionSucceeded)
	conditions(run, metav1.ConditionUnknown, v1alpha1.ReasonMeasuring, "trials are running", v1alpha1.ConditionMeasured)
	conditions(run, metav1.ConditionUnknown, v1alpha1.ReasonPending, "nothing is measured yet", v1alpha1.ConditionAccepted)
	meta.RemoveStatusCondition(&run.Status.Conditions, v1alpha1.ConditionStalled)
	run.Status.CompletionTime = nil
	run.Status.Acceptance = nil
	run.Status.Warnings = run.Status.Warnings[:1]
	run.Status.Results = run.Status.Results[:1]
	run.Status.Results[0].Latency = run.Status.Results[0].Latency[:1]
	run.Status.Progress = &v1alpha1.Progress{Stage: "latency pdr50, 64 bytes", Trials: 14, Percent: 37, RemainingSeconds: 83}
	return run, records[:14]
}

// broken returns a run that found no path through its chain.
func broken(t *testing.T) (*v1alpha1.BenchmarkRun, []measure.Record) {
	run, records := fixture(t)
	message := "no probe frame came through the chain in 300 s; look at the router's routes & its <port> \"east\""
	conditions(run, metav1.ConditionFalse, v1alpha1.ReasonNoPathThroughChain, message, v1alpha1.ConditionSucceeded, v1alpha1.ConditionMeasured)
	conditions(run, metav1.ConditionFalse, v1alpha1.ReasonNotMeasured, "there are no figures to judge", v1alpha1.ConditionAccepted)
	run.Status.Results, run.Status.CPU, run.Status.Acceptance, run.Status.Warnings, run.Status.Summary = nil, nil, nil, nil, nil
	run.Status.Generator.Log = []string{"link : Link Up - speed 10000 Mbps - full-duplex", "All cores stopped !!"}
	return run, records[:6]
}

func TestGolden(t *testing.T) {
	runs := map[string]func(*testing.T) (*v1alpha1.BenchmarkRun, []measure.Record){
		"refused": fixture, "running": running, "broken": broken, "repeated": repeated, "further": further, "tcp": tcp, "connections": connections,
	}
	tests := map[string]struct {
		run    string
		format Format
		opts   Options
	}{
		"refused.txt":        {"refused", FormatTable, Options{}},
		"refused-ascii.txt":  {"refused", FormatTable, Options{ASCII: true}},
		"refused-trials.txt": {"refused", FormatTable, Options{Trials: true}},
		"refused.md":         {"refused", FormatMarkdown, Options{}},
		"refused.json":       {"refused", FormatJSON, Options{}},
		"refused.csv":        {"refused", FormatCSV, Options{}},
		"refused-trials.csv": {"refused", FormatCSV, Options{Trials: true}},
		"refused.xml":        {"refused", FormatJUnit, Options{}},
		"running.txt":        {"running", FormatTable, Options{}},
		"running.csv":        {"running", FormatCSV, Options{}},
		"running.xml":        {"running", FormatJUnit, Options{}},
		"repeated.txt":       {"repeated", FormatTable, Options{Trials: true}},
		"repeated.md":        {"repeated", FormatMarkdown, Options{}},
		"repeated.json":      {"repeated", FormatJSON, Options{}},
		"repeated.csv":       {"repeated", FormatCSV, Options{}},
		"broken.txt":         {"broken", FormatTable, Options{}},
		"broken.json":        {"broken", FormatJSON, Options{}},
		"further.txt":        {"further", FormatTable, Options{}},
		"further.csv":        {"further", FormatCSV, Options{}},
		"tcp.txt":            {"tcp", FormatTable, Options{Trials: true}},
		"tcp.md":             {"tcp", FormatMarkdown, Options{}},
		"tcp.json":           {"tcp", FormatJSON, Options{}},
		"tcp.csv":            {"tcp", FormatCSV, Options{}},
		"tcp-trials.csv":     {"tcp", FormatCSV, Options{Trials: true}},
		"tcp.xml":            {"tcp", FormatJUnit, Options{}},
		"connections.txt":    {"connections", FormatTable, Options{Trials: true}},
		"connections.md":     {"connections", FormatMarkdown, Options{}},
		"connections.json":   {"connections", FormatJSON, Options{}},
		"connections.csv":    {"connections", FormatCSV, Options{}},
		"connections.xml":    {"connections", FormatJUnit, Options{}},
		"broken.xml":         {"broken", FormatJUnit, Options{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			run, records := runs[tc.run](t)
			doc, err := Build(run, Source{Trials: records}, now)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := Write(&got, doc, tc.format, tc.opts); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "golden", name)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			wellFormed(t, tc.format, tc.opts, got.Bytes())
		})
	}
}

// wellFormed parses what machines are to read.
func wellFormed(t *testing.T, format Format, opts Options, data []byte) {
	t.Helper()
	switch format {
	case FormatJSON:
		var doc Document
		if err := json.Unmarshal(data, &doc); err != nil || doc.APIVersion != APIVersion {
			t.Errorf("JSON is of version %q: %v", doc.APIVersion, err)
		}
	case FormatCSV:
		if _, err := csv.NewReader(bytes.NewReader(data)).ReadAll(); err != nil {
			t.Errorf("CSV: %v", err)
		}
	case FormatJUnit:
		var suites junitSuites
		if err := xml.Unmarshal(data, &suites); err != nil {
			t.Errorf("JUnit: %v", err)
		}
	case FormatTable:
		if opts.ASCII && bytes.ContainsFunc(data, func(r rune) bool { return r > 126 }) {
			t.Error("the ASCII table has other characters")
		}
	}
}

// TestFixtureIsConsistent checks that the fixture's verdicts are those of the project's own judgment.
func TestFixtureIsConsistent(t *testing.T) {
	run, records := fixture(t)
	verdicts := acceptance.Evaluate(run.Spec.Experiment, figure.Of(run.Status))
	if diff := cmp.Diff(verdicts, run.Status.Acceptance); diff != "" {
		t.Errorf("verdicts (-judged +fixture):\n%s", diff)
	}
	succeeded := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if want := acceptance.Message(verdicts); succeeded.Message != want {
		t.Errorf("message is %q, want %q", succeeded.Message, want)
	}
	if len(records) == 0 {
		t.Error("there are no records")
	}
}

// TestEveryColumnIsFilled checks that every column has a row and every figure a column: others are misspelled names.
func TestEveryColumnIsFilled(t *testing.T) {
	run, records := repeated(t)
	last := &records[len(records)-1]
	last.Outcome.Doubts = []measure.Doubt{{Code: measure.DoubtSteal}}
	last.Trial.TaggedFrameNanoseconds = 1
	last.Trial.Packet = &measure.Packet{PayloadBytes: 4096}
	last.Outcome.Directions = slices.Clone(last.Outcome.Directions)
	for i := range last.Outcome.Directions {
		last.Outcome.Directions[i].SentFragments, last.Outcome.Directions[i].ReceivedFragments = 3, 3
		last.Outcome.Directions[i].TaggedFrame = &measure.TaggedFrame{DueNanoseconds: 1, DelayNanoseconds: 1}
	}
	last.Trial.Mix, run.Status.Results[0].Mix = &measure.Mix{}, "m"
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	doc.Results = append(doc.Results, furtherResults()...)
	plain, _ := fixture(t)
	doc.Results, doc.CPU = append(doc.Results, plain.Status.Results...), append(plain.Status.CPU, tcpUse()...)
	doc.NoisyNeighbors, doc.Baseline = neighborsReport(), baselineReport()
	doc.TCP = tcpResults()
	doc.Scaling, doc.Trials = tcpScaling(doc.TCP), append(doc.Trials, tcpRecords()...)
	doc.Connections, doc.Trials = connectionsResults(), append(doc.Trials, connectionsRecords()...)
	rows := trialRows(doc)
	for i, column := range trialHead {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.cells(trialHead)[i] != "" }) {
			t.Errorf("trials: column %q is empty in every row", column)
		}
	}
	for _, r := range rows {
		for column := range r {
			if column != "completeness" && !slices.Contains(trialHead, column) {
				t.Errorf("trials: %q is set and is not a column", column)
			}
		}
	}
	var out bytes.Buffer
	if err := Write(&out, doc, FormatCSV, Options{}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, column := range lines[0] {
		if !slices.ContainsFunc(lines[1:], func(line []string) bool { return line[i] != "" }) {
			t.Errorf("results: column %q is empty in every line", column)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	run, records := fixture(t)
	tests := map[string]struct {
		run     *v1alpha1.BenchmarkRun
		records []measure.Record
		want    string
	}{
		"no run":          {nil, records, "there is no run"},
		"a missing trial": {run, append(records[:3:3], records[4]), "trial 3 is missing"},
		"a doubled trial": {run, append(records[:3:3], records[2]), "trial 2 is recorded twice"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Build(tc.run, Source{Trials: tc.records}, now); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Build() = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestNewRun checks that an empty run, as in its first second, is reported in every format.
func TestNewRun(t *testing.T) {
	doc, err := Build(&v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "new"}}, Source{}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		var got bytes.Buffer
		if err := Write(&got, doc, format, Options{Trials: true}); err != nil || got.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", format, got.Len(), err)
		}
	}
	if err := Write(&bytes.Buffer{}, doc, "html", Options{}); err == nil {
		t.Error("an unknown format is written")
	}
}

// A measurement of several sessions lists them; the others have no such line.
func TestSessions(t *testing.T) {
	run, records := fixture(t)
	for _, list := range [][]v1alpha1.Session{nil, {{Measurer: "run-x", Trials: 12, DiscardedTrials: 4}, {Measurer: "run-y", Trials: 9}}} {
		run.Status.Sessions = list
		doc, err := Build(run, Source{Trials: records}, now)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := Write(&text, doc, FormatTable, Options{}); err != nil {
			t.Fatal(err)
		}
		const want = "12 trials by run-x (4 of them discarded), 9 trials by run-y"
		if got := text.String(); strings.Contains(got, want) != (list != nil) || strings.Contains(got, "Sessions") != (list != nil) || len(doc.Sessions) != len(list) {
			t.Errorf("with %d sessions: %s", len(list), got)
		}
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 250 * time.Millisecond: "250 ms", time.Minute: "60 s", 200 * time.Second: "3 min 20 s", 125 * time.Minute: "2 h 5 min",
	} {
		if got := brief(d); got != want {
			t.Errorf("brief(%v) = %q, want %q", d, got, want)
		}
	}
}
