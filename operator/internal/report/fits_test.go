package report

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// ruled returns a document of two backends over numbers of rules, whose frames take 1,000 ns and some nanoseconds for each rule.
func ruled(cost map[string]float64) SuiteDocument {
	doc := SuiteDocument{Axes: []SuiteAxis{{Name: "backend", Kind: v1alpha1.AxisCategory}, {Name: "rules", Kind: v1alpha1.AxisNumeric}}}
	for _, backend := range []string{"iptables", "nftables"} {
		for _, rules := range []int{0, 100, 1000} {
			cell := SuiteCell{
				Name: fmt.Sprint(backend, rules), Figure: "64 NDR", Values: map[string]v1alpha1.AxisLabel{"backend": v1alpha1.AxisLabel(backend), "rules": v1alpha1.AxisLabel(fmt.Sprint(rules))},
			}
			for repeat := range 3 {
				rate := int64(1e9 / (1000 + cost[backend]*float64(rules) + float64(repeat-1)))
				m := SuiteMeasurement{SuiteMeasurement: v1alpha1.SuiteMeasurement{FramesPerSecond: &rate}}
				if repeat == 2 && rules == 1000 {
					// What is no value would move the line.
					m.FramesPerSecond, m.RateNote = ptr.To(rate*2), v1alpha1.NoteAtLeast
				}
				cell.Measurements = append(cell.Measurements, m)
			}
			doc.Cells = append(doc.Cells, cell)
		}
	}
	doc.Fits, doc.Crossings = fits(doc.Axes, doc.Cells), crossings(doc.Axes, doc.Cells)
	return doc
}

// TestFitsOfNumericAxes checks that the cost of a rule is found for each backend, with an interval that holds it, and that floors are left out.
func TestFitsOfNumericAxes(t *testing.T) {
	cost := map[string]float64{"iptables": 2.5, "nftables": 8}
	doc := ruled(cost)
	if len(doc.Fits) != 2 {
		t.Fatalf("%+v", doc.Fits)
	}
	for _, f := range doc.Fits {
		want := cost[string(f.Others["backend"])]
		if f.Axis != "rules" || f.Of != FitFrameTime || f.Line == nil || f.Line.N != 8 || f.LeftOut != 1 || f.note() != "1 more figures are no values" || len(f.Others) != 1 {
			t.Fatalf("%+v", f)
		}
		if s := f.Line.Slope; s.Low > want || s.High < want || s.High-s.Low > 0.01*want || !f.Line.IsLine() {
			t.Errorf("%s: %+v, want %g", f.Others["backend"], s, want)
		}
	}
	rows := fitsSection(doc).rows
	if len(rows) != 2 || strings.Join(rows[0][:4], "|") != "rules|backend=iptables|time for a frame 64 NDR|2.5" {
		t.Errorf("%q", rows)
	}
}

// TestFitsOfDelays checks that a line of delays is not said to be of a search's goal.
func TestFitsOfDelays(t *testing.T) {
	for _, tc := range []struct{ figure, want string }{{"64 NDR", "p99 of the delay at the last load 64"}, {"64", "p99 of the delay at the last load 64"}, {"", "p99 of the delay at the last load"}} {
		if got := quantity(FitP99, tc.figure); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.figure, got, tc.want)
		}
	}
}

// TestFitsSayWhatTheyDoNotShow checks the notes: a curve, no slope, and too few values.
func TestFitsSayWhatTheyDoNotShow(t *testing.T) {
	flat := ruled(map[string]float64{})
	if got := flat.Fits[0].note(); got != "no slope is shown; 1 more figures are no values" {
		t.Error(got)
	}
	curved := ruled(map[string]float64{"iptables": 2})
	for i := range curved.Cells[:3] {
		for j := range curved.Cells[i].Measurements {
			m := &curved.Cells[i].Measurements[j]
			if curved.Cells[i].Values["rules"] == "100" {
				*m.FramesPerSecond /= 3
			}
		}
	}
	if got := fits(curved.Axes, curved.Cells)[0].note(); !strings.HasPrefix(got, "the points are not on a line (p = ") {
		t.Error(got)
	}
	few := ruled(map[string]float64{})
	few.Cells = few.Cells[:1]
	if got := fits(few.Axes, few.Cells); len(got) != 1 || got[0].Line != nil || !strings.Contains(got[0].Problem, "at 1 values of the axis, and it takes 2") {
		t.Errorf("%+v", got)
	}
	if s := fitsSection(SuiteDocument{Fits: fits(few.Axes, few.Cells), Cells: few.Cells}); len(s.rows) != 0 {
		t.Errorf("an axis with one value has a row: %q", s.rows)
	}
	if s := fitsSection(SuiteDocument{Fits: flat.Fits, Cells: flat.Cells}); len(s.rows) != len(flat.Fits) {
		t.Errorf("an axis with several values has no row: %q", s.rows)
	}
	if got := fits([]SuiteAxis{{Name: "rules", Kind: v1alpha1.AxisCategory}}, few.Cells); got != nil {
		t.Errorf("an axis of categories: %+v", got)
	}
}

// TestFitsOfSizes checks that a line over the sizes of frames has all of them, and names the goal alone.
func TestFitsOfSizes(t *testing.T) {
	doc := ruled(map[string]float64{"iptables": 2, "nftables": 2})
	for i := range doc.Cells {
		doc.Cells[i].Figure = string(doc.Cells[i].Values["rules"]) + " NDR"
		for j := range doc.Cells[i].Measurements {
			doc.Cells[i].Measurements[j].P99Nanoseconds = ptr.To(int64(1000 + i + j))
		}
	}
	got := fits(doc.Axes, doc.Cells)
	if len(got) != 4 || got[0].Line == nil || got[0].Line.N != 8 || quantity(got[0].Of, got[0].Figure) != "time for a frame NDR" || quantity(got[1].Of, got[1].Figure) != "p99 of the delay at the last load" {
		t.Errorf("%+v", got)
	}
}
