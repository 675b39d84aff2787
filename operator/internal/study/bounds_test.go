package study

import (
	"math"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
)

// rates are the document of a suite with a cell for each axis label, whose repeats have these rates.
func rates(cells map[v1alpha1.AxisLabel][]v1alpha1.NotedFigure) report.SuiteDocument {
	doc := report.SuiteDocument{}
	for label, figures := range cells {
		cell := report.SuiteCell{Name: string(label), Values: map[string]v1alpha1.AxisLabel{"at": label}}
		for _, f := range figures {
			m := report.SuiteMeasurement{}
			m.FramesPerSecond, m.RateNote, m.RateDoubts = f.Value, f.Note, f.Doubts
			cell.Measurements = append(cell.Measurements, m)
		}
		doc.Cells = append(doc.Cells, cell)
	}
	return doc
}

func noted(value int64, doubts ...v1alpha1.DoubtCode) v1alpha1.NotedFigure {
	f := v1alpha1.NotedFigure{Value: &value, Doubts: doubts}
	if len(doubts) > 0 {
		f.Note = v1alpha1.NoteDoubtful
	}
	return f
}

// TestBounds checks what is known of a ratio and of an amount where figures of a cell are bounds, and which verdicts follow.
func TestBounds(t *testing.T) {
	ceiling, drift := v1alpha1.DoubtGeneratorCeiling, v1alpha1.DoubtDrift
	values := []v1alpha1.NotedFigure{noted(100), noted(110), noted(105)}
	floors := []v1alpha1.NotedFigure{noted(100, ceiling), noted(110, ceiling), noted(105, ceiling)}
	ratio := func(of report.FitOf, r Range) Ratio {
		return Ratio{Figure: Figure{Of: of}, Cell: Where{"at": "cell"}, To: Where{"at": "to"}, Range: r}
	}
	for name, tc := range map[string]struct {
		cell, to []v1alpha1.NotedFigure
		of       report.FitOf
		low      float64
		high     float64
		words    string
	}{
		"values":                           {values, values, report.FitRate, 0.89, 1.12, "1 (0.898 to 1.11)"},
		"floors":                           {floors, values, report.FitRate, 0.89, math.Inf(1), "at least 0.898"},
		"floors below":                     {values, floors, report.FitRate, math.Inf(-1), 1.12, "at most 1.11"},
		"times of floors":                  {floors, values, report.FitFrameTime, math.Inf(-1), 1.12, "at most 1.11"},
		"one value and floors":             {append(floors[:2:2], noted(105)), values, report.FitRate, 0.89, math.Inf(1), "at least 0.898"},
		"two values, and the floor is out": {append(floors[:1:1], noted(100), noted(105)), values, report.FitRate, 0.85, 1.12, "0.977 (0.86 to 1.11)"},
		"floors of both":                   {floors, floors, report.FitRate, 0, 0, ""},
		"in doubt on either side":          {[]v1alpha1.NotedFigure{noted(100, drift), noted(110, ceiling), noted(105, ceiling)}, values, report.FitRate, 0, 0, ""},
		"a doubt on either side with one":  {[]v1alpha1.NotedFigure{noted(100, ceiling, drift), noted(110, ceiling)}, values, report.FitRate, 0, 0, ""},
		"one floor":                        {floors[:1], values, report.FitRate, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := ratio(tc.of, Range{}).measure(rates(map[v1alpha1.AxisLabel][]v1alpha1.NotedFigure{"cell": tc.cell, "to": tc.to}))
			if m.words != tc.words || (m.problem == "") != (tc.words != "") {
				t.Fatalf("%q, problem %q, want %q", m.words, m.problem, tc.words)
			}
			if m.problem != "" {
				return
			}
			if got := m.interval(); math.IsInf(got.Low, -1) != math.IsInf(tc.low, -1) || math.IsInf(got.High, 1) != math.IsInf(tc.high, 1) || got.Low < tc.low || got.High > tc.high {
				t.Errorf("%+v, want %g to %g at most", got, tc.low, tc.high)
			}
		})
	}

	document := rates(map[v1alpha1.AxisLabel][]v1alpha1.NotedFigure{"cell": floors, "to": values})
	for _, tc := range []struct {
		in   Range
		want Verdict
	}{
		{Range{Least: new(0.8)}, Reproduced}, {Range{Least: new(1.5)}, CannotBeShown}, {Range{Most: new(0.8)}, NotReproduced},
		{Range{Most: new(2.0)}, CannotBeShown}, {Range{Least: new(0.8), Most: new(2.0)}, CannotBeShown},
	} {
		r := ratio(report.FitRate, tc.in)
		if got, why := r.judge(r.measure(document)); got != tc.want {
			t.Errorf("at least 0.898 in %s: %s, want %s (%s)", tc.in, got, tc.want, why)
		}
	}
	a := Amount{Figure: Figure{Of: report.FitRate}, Cell: Where{"at": "cell"}, Unit: "Mbit/s", Divisor: 10, Range: Range{Least: new(5.0)}}
	m := a.measure(document)
	if verdict, why := a.judge(m); m.words != "at least 9.26 Mbit/s" || m.estimate != nil || verdict != Reproduced {
		t.Errorf("%+v: %s (%s)", m, verdict, why)
	}
}

// TestSideOfACriterion checks that the metric of a criterion decides on which side of a figure in doubt the device's may be.
func TestSideOfACriterion(t *testing.T) {
	for metric, want := range map[v1alpha1.Metric]figure.Side{
		v1alpha1.MetricLatencyMax: figure.Below, v1alpha1.MetricThroughputFramesPerSecond: figure.Above, v1alpha1.MetricLatencyMin: 0,
	} {
		m := report.SuiteMeasurement{Acceptance: []v1alpha1.Verdict{{Criterion: "other"}, {Criterion: "it", FigureKey: v1alpha1.FigureKey{Metric: metric}}}}
		if value, side := (Figure{Criterion: "it"}).bound(m, noted(7, v1alpha1.DoubtInterruptedTrials)); value != 7 || side != want {
			t.Errorf("%s: %g on side %d, want %d", metric, value, side, want)
		}
	}
}

// TestOpenInterval checks that a bound on one side is an interval that is open on the other.
func TestOpenInterval(t *testing.T) {
	if got := (measured{bound: &Range{Most: new(3.0)}}).interval(); got != (analysis.Estimate{Low: math.Inf(-1), High: 3}) {
		t.Errorf("%+v", got)
	}
}
