package index

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// seriesRun returns the run of an execution, with the experiment that all runs of the cell have.
func seriesRun(t testing.TB, namespace, name string, hours int) report.Document {
	doc := resultstest.Run(t, namespace, name, hours)
	doc.Run.Experiment = "nightly.base"
	return doc
}

// only returns the series of the throughput.
func (f *follower) throughput(t testing.TB, scope Scope) (Summary, []series.Point) {
	t.Helper()
	page, err := f.Series(t.Context(), scope, SeriesFilter{Experiment: "nightly.base", Figure: "ThroughputFramesPerSecond 64 NDR"}, "", 10)
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	points, err := f.Points(t.Context(), page.Items[0].Digest, 100)
	if err != nil {
		t.Fatal(err)
	}
	return page.Items[0], points
}

// TestPointsHaveTheirExecution checks that points have the execution and the subject of the suite's document, whichever document comes first, and
// lose them with it.
func TestPointsHaveTheirExecution(t *testing.T) {
	first, second := resultstest.Execution("lab", "nightly-1", 0), resultstest.Execution("lab", "nightly-2", 24)
	runs := []report.Document{seriesRun(t, "lab", "nightly-1-base-1", 0), seriesRun(t, "lab", "nightly-2-base-1", 24)}
	archive := &memory{}
	archive.put(resultstest.ExecutionKey(first), resultstest.JSON(t, first))
	archive.putRun(t, runs[1])
	f := following(t, archive)
	archive.putRun(t, runs[0])
	archive.put(resultstest.ExecutionKey(second), resultstest.JSON(t, second))
	// A run of the same name that was made at another time is of another execution, and one of another namespace too.
	archive.putRun(t, seriesRun(t, "lab", "nightly-1-base-1", 48))
	archive.putRun(t, seriesRun(t, "other", "nightly-1-base-1", 0))
	f.look(t)

	lab := Scope{Namespaces: []string{"lab"}}
	summary, points := f.throughput(t, lab)
	if summary.Points != 3 || summary.Value != points[2].Value || summary.Unit != "frames/s" {
		t.Errorf("%+v", summary)
	}
	got := ""
	for _, p := range points {
		got += fmt.Sprintf("%s %s %s %s; ", p.Run, p.Execution, p.Subject, p.Time.Sub(resultstest.Day))
		if err := p.Validate(); err != nil || p.Namespace != "lab" || p.Value == 0 {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if want := "nightly-1-base-1 nightly-1 r1 rev-nightly-1 30m0s; nightly-2-base-1 nightly-2 r1 rev-nightly-2 24h30m0s; nightly-1-base-1   48h30m0s; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := f.names(t, everything, KindRun, Filter{Suite: "nightly"}); fmt.Sprint(got) != "[nightly-2-base-1 nightly-1-base-1]" {
		t.Errorf("the suite has %v", got)
	}
	members, err := f.Members(t.Context(), "lab", second.Execution.UID)
	if err != nil || len(members) != 1 || members["nightly-2-base-1"].Cell != "base" {
		t.Errorf("%+v, %v", members, err)
	}

	archive.remove(resultstest.ExecutionKey(second))
	archive.remove(resultstest.RunKey(runs[0]))
	f.look(t)
	if _, points := f.throughput(t, lab); len(points) != 2 || points[0].Execution != "" || points[0].Subject.Revision != "" {
		t.Errorf("%+v", points)
	}
	for _, doc := range append(runs, seriesRun(t, "lab", "nightly-1-base-1", 48)) {
		archive.remove(resultstest.RunKey(doc))
	}
	f.look(t)
	if page, err := f.Series(t.Context(), lab, SeriesFilter{}, "", 10); err != nil || page.Total != 0 {
		t.Errorf("without documents, there are series %+v, %v", page, err)
	}
}

// TestConfirmationsAreLegs checks that runs of a confirmation are legs of the question, with the subject of their side, and in no series before their
// execution is there.
func TestConfirmationsAreLegs(t *testing.T) {
	archive := &memory{}
	archive.putRun(t, seriesRun(t, "lab", "nightly-1-base-1", 0))
	for _, name := range []string{"nightly-1-confirm-1-old-1", "nightly-1-confirm-1-new-1"} {
		archive.putRun(t, seriesRun(t, "lab", name, 2))
	}
	f := following(t, archive)
	if _, points := f.throughput(t, everything); len(points) != 1 {
		t.Errorf("without the execution there are %d points", len(points))
	}
	e := resultstest.Execution("lab", "nightly-1-confirm-1", 2)
	e.Execution.Confirmation = &v1alpha1.SuiteConfirmation{
		Suite: "nightly", Cell: "base", Run: "nightly-1-base-1", Cause: "Step", OldRun: "nightly-0-base-1", FirstPair: 3, OldSubject: &v1alpha1.Subject{Revision: "older"},
	}
	measured := e.Cells[0].Measurements
	e.Cells = []report.SuiteCell{{Name: "old", Measurements: measured}, {Name: "new", Measurements: measured}}
	archive.put(resultstest.ExecutionKey(e), resultstest.JSON(t, e))
	f.look(t)
	_, points := f.throughput(t, everything)
	got := map[string]string{}
	for _, p := range points {
		if p.Leg != nil {
			got[p.Run] = fmt.Sprintf("%+v %s", *p.Leg, p.Subject.Revision)
		}
	}
	want := map[string]string{
		"nightly-1-confirm-1-old-1": "{Run:nightly-1-base-1 Cause:Step OldRun:nightly-0-base-1 Side:Old Pair:3} older",
		"nightly-1-confirm-1-new-1": "{Run:nightly-1-base-1 Cause:Step OldRun:nightly-0-base-1 Side:New Pair:3} rev-nightly-1-confirm-1",
	}
	if len(points) != 3 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d points, legs %v, want %v", len(points), got, want)
	}
	if got := f.names(t, everything, KindRun, Filter{WithoutConfirmations: true}); fmt.Sprint(got) != "[nightly-1-base-1]" {
		t.Errorf("without confirmations there are %v", got)
	}
}

// TestRegressions checks that a regression which stays is there once, with its first execution, and that suites have their latest execution.
func TestRegressions(t *testing.T) {
	archive := &memory{}
	for i, verdict := range []string{"Pass", "Regression", "Regression", "Pass", "Regression"} {
		run := "nightly-2-base-1"
		if i == 4 {
			run = "nightly-5-base-1"
		}
		e := resultstest.Judged(resultstest.Execution("lab", fmt.Sprintf("nightly-%d", i+1), i), "nightly.base@1", "bed", verdict, run)
		archive.put(resultstest.ExecutionKey(e), resultstest.JSON(t, e))
	}
	// What was said after another execution is not said twice.
	e := resultstest.Judged(resultstest.Execution("lab", "nightly-6", 6), "nightly.base@1", "bed", "Regression", "x")
	e.Regression.Execution = "nightly-5"
	archive.put(resultstest.ExecutionKey(e), resultstest.JSON(t, e))
	f := following(t, archive)
	found, err := f.Regressions(t.Context(), everything, "", 10)
	got := ""
	for _, s := range found {
		got += fmt.Sprintf("%s %s %s %s; ", s.Execution, s.Suite, s.Change.Run, s.Time.Sub(resultstest.Day))
	}
	if want := "nightly-5 nightly nightly-5-base-1 5h0m0s; nightly-2 nightly nightly-2-base-1 2h0m0s; "; got != want || err != nil {
		t.Errorf("%s, want %s; %v", got, want, err)
	}
	if found, err := f.Regressions(t.Context(), Scope{Namespaces: []string{"other"}}, "", 10); err != nil || len(found) > 0 {
		t.Errorf("another namespace sees %v, %v", found, err)
	}
	key := series.Key{Namespace: "lab", Experiment: "nightly.base@1", Testbed: "bed", Figure: "ThroughputFramesPerSecond 64 NDR"}
	if said, isKnown, err := f.Verdict(t.Context(), SeriesDigest(key)); err != nil || !isKnown || said.Execution != "nightly-5" || said.SeriesVerdict.Verdict != "Regression" {
		t.Errorf("the last verdict is %+v, %v", said, err)
	}
	suites, err := f.Suites(t.Context(), everything, "", "", 10)
	if err != nil || len(suites.Items) != 1 || suites.Items[0].Executions != 6 || suites.Items[0].Latest.Name != "nightly-6" || suites.Items[0].Latest.Verdict != VerdictPassed {
		t.Errorf("%+v, %v", suites, err)
	}
	if latest, isKnown, err := f.Latest(t.Context(), everything, KindSuite, Filter{Suite: "nightly", Execution: "nightly-5"}); err != nil || !isKnown || latest.Verdict != VerdictRegression {
		t.Errorf("%+v, %v", latest, err)
	}
}

// FuzzDocument stores any bytes under the key of a run, of an execution and of a file: what comes out is a whole item, or is damaged with a
// reason, and never fails this program.
func FuzzDocument(f *testing.F) {
	f.Add(resultstest.JSON(f, seriesRun(f, "lab", "a", 0)), "runs/lab/a.uid-lab-a-0.json")
	f.Add(compressed(f, seriesRun(f, "lab", "a", 0)), "a.json.zst")
	e := resultstest.Judged(resultstest.Execution("lab", "nightly-1", 0), "nightly.base@1", "bed", "Regression", "nightly-1-base-1")
	f.Add(resultstest.JSON(f, e), resultstest.ExecutionKey(e))
	e.Execution.CompletionTime = &metav1.Time{Time: time.Unix(1<<40, 0)}
	f.Add(resultstest.JSON(f, e), "b.json")
	at := following(f, &memory{})
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		if key == "" {
			key = "a.json" // no archive lists a document without a key
		}
		began := time.Now()
		archive := &memory{}
		archive.put(key, data)
		at.archive = archive
		at.look(t)
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("%d bytes: it took %s", len(data), took)
		}
		shown := 0
		for _, kind := range []string{KindRun, KindSuite} {
			for _, name := range at.names(t, everything, kind, Filter{}) {
				if shown++; !nameForm.MatchString(name) {
					t.Errorf("the name is %q", name)
				}
			}
		}
		damaged := at.reasons(t, everything)
		if shown+len(damaged) != 1 || damaged[key] == Unreadable {
			t.Errorf("%d are shown, %v are damaged", shown, damaged)
		}
		page, err := at.Series(t.Context(), everything, SeriesFilter{}, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Items {
			if _, err := at.Points(t.Context(), s.Digest, 100); err != nil {
				t.Error(err)
			}
		}
		if at.Status().Problem != "" {
			t.Error(at.Status())
		}
	})
}
