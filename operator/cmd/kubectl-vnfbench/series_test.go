package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
)

// plugin runs the plugin's command, and returns what it prints to both outputs.
func plugin(t *testing.T, input string, want int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(input), Out: &out, ErrOut: &out}
	command := newCommand(streams)
	command.SetArgs(args)
	if code := execute(t.Context(), command, streams); code != want {
		t.Errorf("%v: exit code %d, want %d: %s", args, code, want, &out)
	}
	return out.String()
}

// nights is a CSV file of a series with a value for each night.
func nights(values ...int) string {
	text := "experiment,testbed,figure,time,run,value,subject.revision\n"
	for i, v := range values {
		text += fmt.Sprintf("router,lab,goodput,%s,night-%d,%d,rev%d\n", time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC).Format(time.RFC3339), i, v, i)
	}
	return text
}

// level repeats a value that varies a little.
func level(count, value int) (out []int) {
	for i := range count {
		out = append(out, value+value*((i*7)%5-2)/1000)
	}
	return out
}

func TestSeriesOfADocument(t *testing.T) {
	document := writeDocument(t, func(d *report.Document) {
		ended := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
		d.Run.CompletionTime = &ended
	})
	store := filepath.Join(t.TempDir(), "history")
	text := plugin(t, "", exitSucceeded, "series", document, "--revision", "3f2a", "--subject-time", "2026-01-01T02:00:00+02:00", "--leg", "night-1,Step,Old,2")
	if !strings.Contains(text, `"figure":"ThroughputFramesPerSecond 64 NDR"`) || !strings.Contains(text, `"revision":"3f2a"`) || !strings.Contains(text, `"subjectTime":"2026-01-01T00:00:00Z"`) ||
		!strings.Contains(text, `"side":"Old","pair":2`) || !strings.Contains(text, `"repeats":[`) {
		t.Errorf("got %s", text)
	}
	for i, want := range []string{", and 0 were there", "0 points are stored"} {
		if got := plugin(t, "", exitSucceeded, "series", document, "--store", store); !strings.Contains(got, want) {
			t.Errorf("call %d prints %q", i+1, got)
		}
	}
	exported := filepath.Join(t.TempDir(), "history.csv")
	plugin(t, "", exitSucceeded, "series", "--store", store, "-o", "csv", "--output-file", exported)
	other := filepath.Join(t.TempDir(), "copy")
	plugin(t, "", exitSucceeded, "series", "--import", exported, "--store", other)
	if a, b := plugin(t, "", exitSucceeded, "series", "--store", store), plugin(t, "", exitSucceeded, "series", "--store", other); a != b || a == "" {
		t.Errorf("the copy has %s, want %s", b, a)
	}
	if got := plugin(t, "", exitSucceeded, "judge", store); !strings.Contains(got, "NotEnoughData") || !strings.Contains(got, "there are 1 runs with a value") {
		t.Errorf("judge prints %s", got)
	}
}

// TestLegsOfASuite checks that legs of documents are of a suite's series where --namespace names it, and are refused where it does not.
func TestLegsOfASuite(t *testing.T) {
	document := writeDocument(t, func(d *report.Document) {
		ended := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
		d.Run.CompletionTime = &ended
	})
	store := filepath.Join(t.TempDir(), "history")
	plugin(t, "", exitSucceeded, "series", document, "--namespace", "lab", "--store", store)
	leg := []string{"series", writeDocument(t, func(d *report.Document) {
		ended := metav1.NewTime(time.Date(2026, 1, 3, 3, 0, 0, 0, time.UTC))
		d.Run.CompletionTime, d.Run.Name, d.Run.UID = &ended, "old-1", "u2"
	}), "--store", store, "--leg", "night-1,Step,Old,1"}
	if got := plugin(t, "", exitError, leg...); !strings.Contains(got, "--namespace lab") {
		t.Errorf("a leg without a namespace: %s", got)
	}
	plugin(t, "", exitSucceeded, append(leg, "--namespace", "lab")...)
	if got := plugin(t, "", exitSucceeded, "series", "--store", store, "-o", "table"); !strings.Contains(got, "1     1 ") {
		t.Errorf("no series has a run and a leg:\n%s", got)
	}
}

func TestSeriesRefuses(t *testing.T) {
	partial := writeDocument(t, func(d *report.Document) { d.Completeness = report.Partial })
	for want, args := range map[string][]string{
		"give the names of documents, --suite or": {"series"},
		"give no documents and no --import":       {"series", "--suite", "a", "b"},
		"give no folder or file with it":          {"judge", "--suite", "a", "b"},
		"--import needs --store":                  {"series", "--import", "a"},
		"give no documents with it":               {"series", "--import", "a", "b"},
		`unknown format "xml"`:                    {"series", "--store", "a", "-o", "xml"},
		"is not measured":                         {"series", partial},
		"give RUN,CAUSE,SIDE,PAIR":                {"series", partial, "--leg", "a"},
		`the pair "x": give a number`:             {"series", partial, "--leg", "a,Step,Old,x"},
		`leg.side is "Left": give Old or New`:     {"series", partial, "--leg", "a,Step,Left,1"},
		"exactly one folder or file of points":    {"judge"},
		"no such file":                            {"judge", "/does/not/exist"},
		"the effect is 90 %: give 0.1 to 50 %":    {"judge", "a", "--effect-percent", "90"},
		`unknown format "yaml"`:                   {"judge", "a", "-o", "yaml"},
		"there are no points":                     {"judge", "-"},
		"not-there: no such file":                 {"series", "--store", "/not-there"},
	} {
		if got := plugin(t, "", exitError, args...); !strings.Contains(got, want) {
			t.Errorf("%v prints %q, want %q", args, got, want)
		}
	}
}

// TestParseLeg checks that a leg can name its old run, and that one without it is still read.
func TestParseLeg(t *testing.T) {
	for text, want := range map[string]series.Leg{
		"a,Step,Old,1":   {Run: "a", Cause: "Step", Side: series.Old, Pair: 1},
		"a,Step,New,2,b": {Run: "a", Cause: "Step", OldRun: "b", Side: series.New, Pair: 2},
	} {
		if got, err := parseLeg(text); err != nil || *got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestJudge(t *testing.T) {
	quiet, fallen := nights(level(40, 100_000)...), nights(append(level(40, 100_000), level(3, 95_000)...)...)
	legs := "experiment,testbed,figure,time,run,value,subject.revision,leg.run,leg.cause,leg.side,leg.pair\n"
	for pair := range 3 {
		for side, value := range map[string]int{"Old": 100_000, "New": 95_000} {
			legs += fmt.Sprintf("router,lab,goodput,2026-02-01T00:00:00Z,leg-%d-%s,%d,,night-42,Step,%s,%d\n", pair, side, value+37*pair, side, pair+1)
		}
	}
	store := filepath.Join(t.TempDir(), "history")
	for name, text := range map[string]string{"points": fallen, "legs": legs} {
		file := filepath.Join(t.TempDir(), name+".csv")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		plugin(t, "", exitSucceeded, "series", "--import", file, "--store", store)
	}
	accepted := filepath.Join(t.TempDir(), "accepted.yaml")
	if err := os.WriteFile(accepted, []byte("- {kind: Accepted, revision: rev40, note: more rules}\n- {kind: Accepted, revision: gone}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		input string
		code  int
		args  []string
		want  []string
	}{
		"quiet":       {quiet, exitSucceeded, []string{"-"}, []string{"Pass", "no change of 2.0 % was confirmed in 40 runs"}},
		"unconfirmed": {fallen, exitInconclusive, []string{"-"}, []string{"Inconclusive", "Unconfirmed", "run rev36 and rev42 again by turns, 2 times each"}},
		"confirmed":   {"", exitFailed, []string{store}, []string{"Regression: 1 of 1 figures of testbed lab became worse with rev40 (after rev39)", "fell by 5.0 %"}},
		"accepted": {"", exitSucceeded, []string{store, "--acknowledgements", accepted}, []string{
			"Pass", "note: the acknowledgement of gone matches no change",
		}},
		"JSON": {"", exitFailed, []string{store, "-o", "json"}, []string{`"verdict": "Regression"`, `"revision": "rev40"`, `"pairs": 3`}},
	} {
		got := plugin(t, test.input, test.code, append([]string{"judge"}, test.args...)...)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %q in\n%s", name, want, got)
			}
		}
	}
}

// measurementOf returns the object that keeps points of a suite.
func measurementOf(t *testing.T, suite, name string, points []series.Point) *v1alpha1.BenchmarkMeasurement {
	t.Helper()
	common, parts, err := series.Parts(points)
	if err != nil || len(parts) != 1 {
		t.Fatalf("%d parts: %v", len(parts), err)
	}
	return &v1alpha1.BenchmarkMeasurement{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, Labels: map[string]string{v1alpha1.LabelSuite: suite}},
		Spec:       v1alpha1.BenchmarkMeasurementSpec{Suite: suite, Experiment: common, Common: common, Points: parts[0]},
	}
}

// TestSeriesOfACluster lists, exports, stores and judges what the operator keeps of one suite.
func TestSeriesOfACluster(t *testing.T) {
	points, err := series.ReadCSV(strings.NewReader(nights(level(12, 100_000)...)))
	if err != nil {
		t.Fatal(err)
	}
	c := clusterOf(t, measurementOf(t, "nightly", "nightly-1", points[:5]), measurementOf(t, "nightly", "nightly-2", points[5:]), measurementOf(t, "other", "other-1", points[:1]))
	connect := func() (*cluster, error) { return c, nil }
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{Out: &out, ErrOut: &out}
		command := newSeriesCommand(streams, connect)
		if args[0] == "judge" {
			command = newJudgeCommand(streams, connect)
		}
		command.SetArgs(args[1:])
		command.SilenceErrors, command.SilenceUsage = true, true
		err := command.ExecuteContext(t.Context())
		return out.String(), err
	}
	store := filepath.Join(t.TempDir(), "history")
	for want, args := range map[string][]string{
		"SERIES":                           {"series", "--suite", "nightly", "-o", "table"},
		"router on lab: goodput  12    0":  {"series", "--suite", "nightly", "-o", "table"},
		"router on lab: goodput  1     0":  {"series", "--suite", "other", "-o", "table"},
		"router,lab,goodput,":              {"series", "--suite", "nightly", "-o", "csv"},
		`"run":"night-11"`:                 {"series", "--suite", "nightly"},
		"no change of 2.0 % was confirmed": {"judge", "--suite", "nightly"},
	} {
		if got, err := run(args...); err != nil || !strings.Contains(got, want) {
			t.Errorf("%v: %v, want %q in\n%s", args, err, want, got)
		}
	}
	for _, want := range []string{"12 points are stored", "0 points are stored"} {
		if got, err := run("series", "--suite", "nightly", "--store", store); err != nil || !strings.Contains(got, want) {
			t.Errorf("%v, want %q in %s", err, want, got)
		}
	}
	for i := range points {
		points[i].Namespace = "lab"
	}
	stored, err := series.Read(store)
	if diff := cmp.Diff(points, stored); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	writer, err := series.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run("series", "--suite", "nightly", "--store", store); !errors.Is(err, series.ErrLocked) {
		t.Errorf("while another program writes: %v", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"series", "judge"} {
		if _, err := run(command, "--suite", "none"); err == nil || !strings.Contains(err.Error(), `no measurement of a BenchmarkSuite "none"`) {
			t.Errorf("%s of a suite that has no measurement: %v", command, err)
		}
	}
}
