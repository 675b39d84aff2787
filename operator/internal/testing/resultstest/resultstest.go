// Package resultstest makes documents of runs and of executions of suites as an archive has them.
package resultstest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
	"vnfbench.io/operator/internal/testing/documenttest"
)

// Day is when the first run of a test was made.
var Day = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

var (
	once  sync.Once
	small report.Document
)

// Run returns the document of a run that was made some hours after Day and took half an hour.
func Run(t testing.TB, namespace, name string, hours int) report.Document {
	t.Helper()
	once.Do(func() { small = documenttest.Make(t, documenttest.Small(), "1.2.3", nil) })
	doc := small
	created := metav1.NewTime(Day.Add(time.Duration(hours) * time.Hour))
	completed := metav1.NewTime(created.Add(30 * time.Minute))
	doc.Run.Namespace, doc.Run.Name, doc.Run.UID = namespace, name, fmt.Sprintf("uid-%s-%s-%d", namespace, name, hours)
	doc.Run.CreationTime, doc.Run.CompletionTime = created, &completed
	return doc
}

// Execution returns the document of an execution of suite "nightly" with one cell, "base", that was begun some hours after Day and took one.
func Execution(namespace, name string, hours int) report.SuiteDocument {
	start, end := metav1.NewTime(Day.Add(time.Duration(hours)*time.Hour)), metav1.NewTime(Day.Add(time.Duration(hours+1)*time.Hour))
	return report.SuiteDocument{
		APIVersion: report.APIVersion, Kind: report.SuiteKind, Completeness: report.Complete,
		Execution: report.Execution{Namespace: namespace, Name: name, UID: "uid-" + name, Suite: "nightly", StartTime: &start, CompletionTime: &end},
		Subject:   &v1alpha1.Subject{Name: "r1", Revision: "rev-" + name},
		Planned:   report.Outcome{Status: metav1.ConditionTrue}, Succeeded: report.Outcome{Status: metav1.ConditionTrue, Reason: "Succeeded"},
		Cells: []report.SuiteCell{{Name: "base", State: v1alpha1.MeasurementSucceeded, Measurements: []report.SuiteMeasurement{
			{Run: suite.RunName(name, "base", 1, 1), SuiteMeasurement: v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, Attempts: 1}},
		}}},
	}
}

// Judged adds what the suite says after the execution of the series of one figure. A regression begins with a run.
func Judged(e report.SuiteDocument, experiment, testbed, verdict, run string) report.SuiteDocument {
	v := v1alpha1.SeriesVerdict{Experiment: experiment, Cell: "base", Testbed: testbed, Figure: Figure, Verdict: verdict, Reason: "Confirmed", Message: "it fell"}
	e.Regression = &v1alpha1.RegressionStatus{Execution: e.Execution.Name, Message: "1 series"}
	if verdict == "Regression" {
		v.Change = &v1alpha1.SeriesChange{Run: run, Revision: "bad", PartsPerMillion: -50_000}
		e.Regression.Counts.Regression = 1
	}
	e.Regression.Verdicts = []v1alpha1.SeriesVerdict{v}
	return e
}

// Figure is the one of Run that Judged is about.
const Figure = "ThroughputFramesPerSecond 64 NDR"

// Experiment returns the name of the experiment in the series of a run.
func Experiment(t testing.TB, doc report.Document) string {
	t.Helper()
	points, err := report.Points(doc, series.Subject{}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return points[0].Experiment
}

// JSON returns a document as JSON.
func JSON(t testing.TB, doc any) []byte {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// RunKey returns the key of a run's document that is not compressed.
func RunKey(doc report.Document) string {
	return fmt.Sprintf("runs/%s/%s.%s.json", doc.Run.Namespace, doc.Run.Name, doc.Run.UID)
}

// ExecutionKey returns that of an execution.
func ExecutionKey(doc report.SuiteDocument) string {
	return fmt.Sprintf("suites/%s/%s.%s.json", doc.Execution.Namespace, doc.Execution.Name, doc.Execution.UID)
}
