package page_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// columnsOf returns a column for each capacity, of runs on a simulated device with it.
func columnsOf(t testing.TB, capacities ...float64) (columns []report.Column) {
	for i, capacity := range capacities {
		device := simulated.Noisy{Device: simulated.HardCap{CapacityFramesPerSecond: capacity}, Strength: simulated.Quiet}
		doc := documenttest.MakeOn(t, documenttest.Small(), device, "1.2.3", nil)
		doc.Run.Name, doc.Run.UID = fmt.Sprintf("version-%d", i+1), fmt.Sprint(i)
		columns = append(columns, report.Column{Name: doc.Run.Name, Documents: []report.Document{doc}})
	}
	return columns
}

// writtenComparison returns the page of a comparison, which it checks.
func writtenComparison(t *testing.T, columns []report.Column) string {
	t.Helper()
	c, err := report.Compare(columns, comparison.AdjustNone, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := page.WriteComparison(&out, c); err != nil {
		t.Fatal(err)
	}
	checkPage(t, out.String())
	return out.String()
}

// TestComparison checks that the runs' differences, throughputs, delays and distributions are overlaid, for two runs and for twelve.
func TestComparison(t *testing.T) {
	text := writtenComparison(t, columnsOf(t, 400_000, 320_000))
	has(t, text, "<figcaption>version-2 against version-1</figcaption>", "<figcaption>Throughput NDR, 64</figcaption>", "Delay against load, 64 bytes, forward (west to east)",
		"Frames slower than a delay, 64 bytes at pdr50, reverse (east to west)", ">version-2 (n = ", "difference, %", " % ~</text>", "one-way delay p99, µs")
	capacities := make([]float64, 12)
	for i := range capacities {
		capacities[i] = 300_000 + 10_000*float64(i)
	}
	if n := strings.Count(writtenComparison(t, columnsOf(t, capacities...)), "against version-1</figcaption>"); n != 11 {
		t.Errorf("%d columns are compared with the first", n)
	}
}

// TestComparisonOfThroughputs checks that the bounds of a search are distinguished from an interval, that a value with doubts has a mark, and that runs that
// are left out of a column are in no n.
func TestComparisonOfThroughputs(t *testing.T) {
	columns := columnsOf(t, 400_000, 402_000, 404_000, 380_000)
	for _, column := range columns {
		results := column.Documents[0].Results
		for i := range results[0].Throughput {
			results[0].Throughput[i].Statistics = nil
		}
	}
	group := report.Column{Name: "three", IsGroup: true}
	for _, column := range columns[:3] {
		group.Documents = append(group.Documents, column.Documents...)
	}
	group.Documents[2].Results[0].Throughput[0].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}
	text := writtenComparison(t, []report.Column{group, columns[3]})
	has(t, text, ">95 % interval</text>", ">between the bounds of the only search</text>", "n = 3 runs. ≥ is", "n = 4 runs. ≥ is", " ?</text>", ">throughput, kfps in each direction</text>")
}

// TestComparisonOfParts checks a comparison without trials, and hostile names.
func TestComparisonOfParts(t *testing.T) {
	columns := columnsOf(t, 400_000, 320_000)
	for i := range columns {
		columns[i].Documents[0].Trials = nil
	}
	columns[1].Name, columns[1].Documents[0].Run.Name = hostile, hostile
	text := writtenComparison(t, columns)
	has(t, text, "Without the distributions of delay, because their documents have no trials: version-1, ", "Delay against load", "&lt;script&gt;")
	hasNot(t, text, "Frames slower than a delay")
}
