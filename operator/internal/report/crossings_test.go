package report

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
)

// twoSeries returns a document of two backends over numbers of rules, whose rates follow from the number, with three repeats 0.1 % apart.
func twoSeries(of map[string]func(rules float64) float64) SuiteDocument {
	doc := SuiteDocument{Axes: []SuiteAxis{{Name: "backend", Kind: v1alpha1.AxisCategory}, {Name: "rules", Kind: v1alpha1.AxisNumeric}}}
	for _, backend := range []string{"nftables", "iptables"} {
		for _, rules := range []float64{200, 1000, 5000, 30000} {
			cell := SuiteCell{Name: fmt.Sprint(backend, rules), Figure: "450 PDR", Values: map[string]v1alpha1.AxisLabel{"backend": v1alpha1.AxisLabel(backend), "rules": v1alpha1.AxisLabel(fmt.Sprint(rules))}}
			for repeat := range 3 {
				rate := int64(of[backend](rules) * (1 + 0.001*float64(repeat-1)))
				cell.Measurements = append(cell.Measurements, SuiteMeasurement{SuiteMeasurement: v1alpha1.SuiteMeasurement{FramesPerSecond: &rate}})
			}
			doc.Cells = append(doc.Cells, cell)
		}
	}
	doc.Crossings = crossings(doc.Axes, doc.Cells)
	return doc
}

// costing returns a rate whose frames take a time, and more for each rule.
func costing(nanoseconds, each float64) func(float64) float64 {
	return func(rules float64) float64 { return 1e9 / (nanoseconds + each*rules) }
}

// TestCrossings checks what a report says of two backends: that they cross, and where, that one is faster at each number of rules, and that equal
// ones are not decided.
func TestCrossings(t *testing.T) {
	for name, tc := range map[string]struct {
		iptables func(float64) float64
		want     analysis.CrossingResult
		row      string
	}{
		// 1000 + 8 x is 9000 + 4 x at x = 2000.
		"they cross":     {costing(9000, 4), analysis.Crosses, "nftables, then iptables|3060|1000 to 5000|-73.5 % at rules 200, +86.8 % at rules 30000|-"},
		"one is above":   {costing(1000, 4), analysis.SecondAbove, "iptables at each value|-|-|+44.4 % at rules 200, +99.2 % at rules 30000|-"},
		"the other is":   {costing(1000, 16), analysis.FirstAbove, "nftables at each value|-|-|-38.1 % at rules 200, -49.9 % at rules 30000|-"},
		"they are alike": {costing(1000, 8), analysis.Undecided, "not decided within the range|-|-|+0 % at rules 200, +0 % at rules 30000|no difference is shown at 4 of 4 values"},
	} {
		doc := twoSeries(map[string]func(float64) float64{"nftables": costing(1000, 8), "iptables": tc.iptables})
		if len(doc.Crossings) != 1 {
			t.Fatalf("%s: %+v", name, doc.Crossings)
		}
		c := doc.Crossings[0]
		if c.Axis != "rules" || c.Between != "backend" || c.First != "nftables" || c.Second != "iptables" || c.Of != FitRate || len(c.Others) != 0 || c.Crossing.Result != tc.want {
			t.Errorf("%s: %+v", name, c)
		}
		row := crossingsSection(doc).rows[0]
		if got := strings.Join(row, "|"); got != "rules|-|rate of frames 450 PDR|nftables|iptables|"+tc.row {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestCrossingsOfFewValues checks that a comparison without repeats says why it is none, and that what is no value is counted.
func TestCrossingsOfFewValues(t *testing.T) {
	doc := twoSeries(map[string]func(float64) float64{"nftables": costing(1000, 8), "iptables": costing(1000, 4)})
	doc.Cells[7].Measurements[2].RateNote = v1alpha1.NoteAtLeast
	if c := crossings(doc.Axes, doc.Cells); c[0].LeftOut != 1 || c[0].note() != "1 more figures are no values" {
		t.Errorf("%+v", c)
	}
	for i := range doc.Cells {
		doc.Cells[i].Measurements = doc.Cells[i].Measurements[:1]
	}
	c := crossings(doc.Axes, doc.Cells)
	if len(c) != 1 || c[0].Crossing != nil || c[0].note() != "too few measurements: no X has repeats" {
		t.Errorf("%+v", c)
	}
}

// TestCrossingsOfThree checks that each value of an axis is compared with the first one, at the same values of the others, and that numeric axes are not
// compared.
func TestCrossingsOfThree(t *testing.T) {
	doc := SuiteDocument{Axes: []SuiteAxis{{Name: "mode", Kind: v1alpha1.AxisCategory}, {Name: "size", Kind: v1alpha1.AxisNumeric}, {Name: "rules", Kind: v1alpha1.AxisNumeric}}}
	for m, mode := range []v1alpha1.AxisLabel{"none", "stateful", "stateless"} {
		for _, size := range []v1alpha1.AxisLabel{"64", "1500"} {
			for _, rules := range []v1alpha1.AxisLabel{"1", "2"} {
				cell := SuiteCell{Values: map[string]v1alpha1.AxisLabel{"mode": mode, "size": size, "rules": rules}}
				for repeat := range 2 {
					m := SuiteMeasurement{SuiteMeasurement: v1alpha1.SuiteMeasurement{P99Nanoseconds: ptr.To(int64(1000*(m+1) + repeat))}}
					cell.Measurements = append(cell.Measurements, m)
				}
				doc.Cells = append(doc.Cells, cell)
			}
		}
	}
	var got []string
	for _, c := range crossings(doc.Axes, doc.Cells) {
		got = append(got, fmt.Sprint(c.Axis, " ", c.First, "-", c.Second, " ", labels(c.Others), " ", c.Of, " ", c.Crossing.Result))
	}
	want := []string{
		"size none-stateful rules=1 P99 SecondAbove", "size none-stateless rules=1 P99 SecondAbove", "size none-stateful rules=2 P99 SecondAbove", "size none-stateless rules=2 P99 SecondAbove",
		"rules none-stateful size=64 P99 SecondAbove", "rules none-stateless size=64 P99 SecondAbove", "rules none-stateful size=1500 P99 SecondAbove", "rules none-stateless size=1500 P99 SecondAbove",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
