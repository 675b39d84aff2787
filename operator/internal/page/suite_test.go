package page_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
)

// exampleSuite returns an execution with a matrix of two axes, one of numbers, with repeats, a failure, a gate and judged series. Its figures are made up.
func exampleSuite() report.SuiteDocument {
	doc := report.SuiteDocument{
		GeneratedAt: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC), Completeness: report.Partial, WrittenBy: "1.2.3",
		Execution: report.Execution{Namespace: "benchmarks", Name: "firewall-7", Suite: "firewall", Seed: 4711},
		Succeeded: report.Outcome{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMeasurementsFailed, Message: "23 of 24 measurements succeeded"},
		Gate:      &report.Outcome{Status: metav1.ConditionTrue, Reason: "Passed", Message: "no gated series became worse"},
		Counts:    v1alpha1.MeasurementCounts{Total: 24, Succeeded: 23, Failed: 1},
		Axes:      []report.SuiteAxis{{Name: "backend", Kind: v1alpha1.AxisCategory}, {Name: "rules", Kind: v1alpha1.AxisNumeric}},
		Regression: &v1alpha1.RegressionStatus{Message: "6 series were judged", Counts: v1alpha1.VerdictCounts{Pass: 5, Improvement: 1}, Verdicts: []v1alpha1.SeriesVerdict{{Verdict: "Improvement", Cell: "nftables-rules-10", Figure: "ThroughputFramesPerSecond 64 NDR"}},
			Cells: []v1alpha1.CellVerdict{{Name: "nftables-rules-10", Verdict: "Improvement"}}},
	}
	for b, backend := range []string{"nftables", "iptables"} {
		for i, rules := range []int{10, 100, 1000, 10000} {
			fps := int64(400_000 - 60_000*b - i*(30_000+45_000*b))
			delay := int64(9_000 + 2_000*b + i*i*(1_500+2_500*b))
			cell := report.SuiteCell{
				Name: fmt.Sprintf("%s-rules-%d", backend, rules), State: v1alpha1.MeasurementSucceeded, Figure: "64 NDR", FramesPerSecond: &fps, P99Nanoseconds: &delay,
				Values: map[string]v1alpha1.AxisLabel{"backend": v1alpha1.AxisLabel(backend), "rules": v1alpha1.AxisLabel(fmt.Sprint(rules))},
			}
			for repeat := range 3 {
				m := report.SuiteMeasurement{Run: fmt.Sprintf("firewall-7-%s-%d", cell.Name, repeat+1)}
				m.State, m.Attempts, m.FramesPerSecond, m.P99Nanoseconds = v1alpha1.MeasurementSucceeded, 1, new(fps+int64(3_000*(repeat-1))), new(delay+int64(300*(repeat-1)))
				m.Acceptance = []v1alpha1.Verdict{{Criterion: "fast", FigureKey: v1alpha1.FigureKey{Size: "64", Goal: "NDR"}, Result: v1alpha1.VerdictPassed}}
				cell.Measurements = append(cell.Measurements, m)
			}
			doc.Cells = append(doc.Cells, cell)
		}
	}
	last := &doc.Cells[len(doc.Cells)-1]
	last.State, last.FramesPerSecond, last.P99Nanoseconds = v1alpha1.MeasurementFailed, nil, nil
	for i := range last.Measurements {
		last.Measurements[i].FramesPerSecond, last.Measurements[i].P99Nanoseconds = nil, nil
	}
	last.Measurements[2].State, last.Measurements[2].Reason, last.Measurements[2].Message = v1alpha1.MeasurementFailed, v1alpha1.ReasonChainFailed, "the firewall's rules took too long"
	return doc
}

// writtenSuite returns the page of an execution, which it checks.
func writtenSuite(t *testing.T, doc report.SuiteDocument) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.WriteSuite(&out, doc); err != nil {
		t.Fatal(err)
	}
	checkPage(t, out.String())
	return out.String()
}

// TestSuite checks the page of an execution: the matrix as heat map and as lines over numbers, the gate, the series and the failure.
func TestSuite(t *testing.T) {
	text := writtenSuite(t, exampleSuite())
	for _, caption := range []string{"Throughput by rules", "Delay p99 by rules", "Throughput over rules", "Delay p99 over rules"} {
		has(t, text, "<figcaption>"+caption+"</figcaption>")
	}
	has(t, text, "23 of 24 measurements succeeded", ">passes<", "no gated series became worse", "Improvement", "ChainFailed", ">backend nftables</text>", ">400</text>", "Throughput, kfps", "n = 21 measurements", ">-</text>")
	hasNot(t, text, "*</text>")
	floor := exampleSuite()
	floor.Cells[0].Measurements[1].RateNote = v1alpha1.NoteAtLeast
	has(t, writtenSuite(t, floor), ">400*</text>", "n = 20 measurements", "is another rate in each cell")
	if n := strings.Count(text, "<svg"); n != 4 {
		t.Errorf("%d pictures", n)
	}
	compared := exampleSuite()
	compared.Crossings = []report.AxisCrossing{{Axis: "rules", Between: "backend", First: "nftables", Second: "iptables", Of: report.FitRate, Figure: "64 NDR", Crossing: &analysis.Crossing{
		Result: analysis.Crosses, At: &analysis.Estimate{Value: 400, Low: 100, High: 1000}, Differences: []analysis.Difference{{X: 100, Share: analysis.Estimate{Value: -0.2, Low: -0.3, High: -0.1}}},
	}}}
	text, _, _ = strings.Cut(writtenSuite(t, compared), `id="cells"`)
	has(t, text, "Where two cross", "nftables, then iptables", "100 to 1000", "-20 % at rules 100")
	compared.Scalings = []report.AxisScaling{{Axis: "threads", Of: report.FitGoodput, Scaling: &analysis.Scaling{Growth: analysis.Growth{StillGrows: true}, LawProblem: "too few"}}, {Axis: "threads", Problem: "none"}}
	text, _, _ = strings.Cut(writtenSuite(t, compared), `id="cells"`)
	has(t, text, "How it scales", "it still grows at 0", "no law is fitted: too few")
	compared.Crossings[0].Crossing = &analysis.Crossing{Result: analysis.Crosses}
	has(t, writtenSuite(t, compared), "Where two cross")
}

// TestSuiteOfTCP checks that the goodput of TCP has a heat map and lines.
func TestSuiteOfTCP(t *testing.T) {
	doc := exampleSuite()
	for i := range doc.Cells {
		cell := &doc.Cells[i]
		cell.GoodputBitsPerSecond, cell.FramesPerSecond, cell.P99Nanoseconds = new(int64(i+1)*1_250_000_000), nil, nil
		for j := range cell.Measurements {
			m := &cell.Measurements[j]
			m.GoodputBitsPerSecond, m.FramesPerSecond, m.P99Nanoseconds = cell.GoodputBitsPerSecond, nil, nil
		}
	}
	text := writtenSuite(t, doc)
	has(t, text, "<figcaption>TCP goodput by rules</figcaption>", "<figcaption>TCP goodput over rules</figcaption>", "TCP goodput, Mbit/s", ">1250</text>")
	if n := strings.Count(text, "<svg"); n != 2 {
		t.Errorf("%d pictures", n)
	}
}

// TestSuites checks suites that have no matrix, an axis of too many values for a heat map, or no figures yet.
func TestSuites(t *testing.T) {
	hasNot(t, writtenSuite(t, report.SuiteDocument{}), "<svg", `id="matrix"`)
	waiting := exampleSuite()
	for i := range waiting.Cells {
		waiting.Cells[i].FramesPerSecond, waiting.Cells[i].P99Nanoseconds, waiting.Cells[i].Measurements = nil, nil, nil
	}
	hasNot(t, writtenSuite(t, waiting), "<svg")
	long := exampleSuite()
	for i := range 20 {
		cell := long.Cells[0]
		cell.Values = map[string]v1alpha1.AxisLabel{"backend": "nftables", "rules": v1alpha1.AxisLabel(fmt.Sprint(20_000 + i))}
		long.Cells = append(long.Cells, cell)
	}
	text := writtenSuite(t, long)
	has(t, text, "Throughput over rules")
	hasNot(t, text, "Throughput by rules")
}

// TestHostileSuite checks that no text of an execution can be markup.
func TestHostileSuite(t *testing.T) {
	var doc report.SuiteDocument
	fill(reflect.ValueOf(&doc).Elem(), 0)
	has(t, writtenSuite(t, doc), "&lt;script&gt;")
	named := exampleSuite()
	for i := range named.Axes {
		named.Axes[i].Name = hostile + fmt.Sprint(i)
	}
	for i := range named.Cells {
		values := named.Cells[i].Values
		named.Cells[i].Values = map[string]v1alpha1.AxisLabel{named.Axes[0].Name: values["backend"] + hostile, named.Axes[1].Name: values["rules"]}
	}
	if text := writtenSuite(t, named); strings.Count(text, "<svg") != 4 {
		t.Errorf("%d pictures of a suite with hostile names", strings.Count(text, "<svg"))
	}
}
