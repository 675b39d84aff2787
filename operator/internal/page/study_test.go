package page_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/study"
)

// writtenStudy returns the page of a study, which it checks.
func writtenStudy(t *testing.T, r study.Report, docs []report.SuiteDocument) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.WriteStudy(&out, r, docs); err != nil {
		t.Fatal(err)
	}
	checkPage(t, out.String())
	return out.String()
}

// exampleStudy returns a report with a claim of each verdict, and the document of its suite. Its figures are made up.
func exampleStudy() (study.Report, []report.SuiteDocument) {
	doc := exampleSuite()
	doc.Crossings = []report.AxisCrossing{{Axis: "rules", Between: "backend", First: "nftables", Second: "iptables", Of: report.FitRate, Problem: "too few measurements"}}
	estimate := analysis.Estimate{Value: 2.13, Low: 2, High: 2.25}
	return study.Report{
		GeneratedAt: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC), WrittenBy: "1.2.3", Completeness: report.Partial, Study: "rule-cost", Title: "What a rule costs",
		Question: "What does one more rule cost?", Published: "Linux 2.6.10, 2005", Size: "lab", LeavesOut: []string{"Random sources."},
		Answer: []study.Result{{ID: "time", Text: "one more rule adds", Measured: "2.13 ns (2 to 2.25)", Estimate: &estimate}},
		Claims: []study.Result{
			{ID: "grows", Text: "The delay grows.", Published: "110 ms", Verdict: study.Reproduced, Measured: "2.13 ns (2 to 2.25)", Estimate: &estimate, Why: "the interval is within"},
			{ID: "straight", Text: "Each costs the same.", Published: "1.7 µs", Verdict: study.NotReproduced, Why: "the cost changes"},
			{ID: "first", Text: "The first packet waits.", Published: "100 µs", Verdict: study.CannotBeShown, Why: "there is no document"},
		},
		Counts:     study.Counts{Reproduced: 1, NotReproduced: 1, CannotBeShown: 1},
		Executions: []study.Execution{{Suite: "firewall", Namespace: "benchmarks", Name: "firewall-7", Counts: doc.Counts, Machines: []string{"Example CPU, 8 CPUs"}}},
	}, []report.SuiteDocument{doc}
}

// TestStudy checks that the page of a study has the answer before the claims and the figures after them.
func TestStudy(t *testing.T) {
	r, docs := exampleStudy()
	text := writtenStudy(t, r, docs)
	at := 0
	for _, want := range []string{"1 of 3 claims reproduced", "This report is partial", "What does one more rule cost?", "one more rule adds: 2.13 ns", "Example CPU, 8 CPUs", "not reproduced", "cannot be shown", "Random sources.", "Throughput over rules", "Where two cross", "ChainFailed"} {
		next := strings.Index(text[at:], want)
		if next < 0 {
			t.Fatalf("%q is not in the page, or not in its place", want)
		}
		at += next
	}
	if n := strings.Count(text, "<svg"); n != 2 {
		t.Errorf("%d pictures", n)
	}
	r.Claims, r.Counts, r.Completeness = r.Claims[:1], study.Counts{Reproduced: 1}, report.Complete
	hasNot(t, writtenStudy(t, r, docs), "This report is partial")
	hasNot(t, writtenStudy(t, study.Report{}, nil), "<svg")
}

// TestStudyOfCriteria checks that a suite without an axis of numbers has a picture of each criterion, with other marks for figures in doubt, and none
// of one whose figures are all 0.
func TestStudyOfCriteria(t *testing.T) {
	r, docs := exampleStudy()
	docs[0].Axes[1].Kind = v1alpha1.AxisCategory
	for i, cell := range docs[0].Cells {
		for j := range cell.Measurements {
			m := &cell.Measurements[j]
			m.Acceptance = []v1alpha1.Verdict{
				{Criterion: "late", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: "64", Load: "idle"}},
				{Criterion: "lost", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLoss, Size: "64", Load: "idle"}},
			}
			m.Figures = []report.CriterionFigure{{Criterion: "late", Value: int64(1000 * (i + j))}, {Criterion: "lost"}}
		}
	}
	text := writtenStudy(t, r, docs)
	has(t, text, "<figcaption>late: LatencyP99Nanoseconds, size 64, load idle</figcaption>", "late, µs", "backend nftables, rules 10</text>", "n = 24 measurements")
	has(t, text, "lost is 0 everywhere: n = 24 measurements.")
	hasNot(t, text, "<figcaption>lost: ", "in doubt</text>")
	if n := strings.Count(text, "<svg"); n != 1 {
		t.Errorf("%d pictures", n)
	}
	docs[0].Cells[0].Measurements[0].Figures[0].Note = v1alpha1.NoteDoubtful
	has(t, writtenStudy(t, r, docs), "in doubt</text>", "take it as a bound")
}

// TestHostileStudy checks that no text of a study can be markup.
func TestHostileStudy(t *testing.T) {
	var r study.Report
	fill(reflect.ValueOf(&r).Elem(), 0)
	_, docs := exampleStudy()
	docs[0].Execution.Suite = hostile
	for i := range docs[0].Cells {
		docs[0].Cells[i].Values = map[string]v1alpha1.AxisLabel{"backend": v1alpha1.AxisLabel(hostile + fmt.Sprint(i)), "rules": docs[0].Cells[i].Values["rules"]}
	}
	has(t, writtenStudy(t, r, docs), "&lt;script&gt;")
}
