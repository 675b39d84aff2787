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
		"values":                               {values, values, report.FitRate, 0.89, 1.12, "1 (0.898 to 1.11)"},
		"floors":                               {floors, values, report.FitRate, 0.78, math.Inf(1), "at least 0.789"},
		"floors below":                         {values, floors, report.FitRate, math.Inf(-1), 1.28, "at most 1.27"},
		"times of floors":                      {floors, values, report.FitFrameTime, math.Inf(-1), 1.28, "at most 1.27"},
		"one value and floors":                 {append(floors[:2:2], noted(105)), values, report.FitRate, 0.78, math.Inf(1), "at least 0.789"},
		"two values and a floor":               {append(floors[:1:1], noted(100), noted(105)), values, report.FitRate, 0.78, math.Inf(1), "at least 0.802"},
		"two values, and one in doubt":         {[]v1alpha1.NotedFigure{noted(100), noted(105), noted(300, drift)}, values, report.FitRate, 0.85, 1.12, "0.977 (0.86 to 1.11)"},
		"nothing carried, and floors":          {append(floors[:2:2], noted(0)), values, report.FitRate, 0, 0, ""},
		"alike floors say nothing of the rest": {[]v1alpha1.NotedFigure{noted(100, ceiling), noted(100, ceiling)}, []v1alpha1.NotedFigure{noted(40), noted(55)}, report.FitRate, 0.2, math.Inf(1), "at least 0.281"},
		"floors of both":                       {floors, floors, report.FitRate, 0, 0, ""},
		"in doubt on either side":              {[]v1alpha1.NotedFigure{noted(100, drift), noted(110, ceiling), noted(105, ceiling)}, values, report.FitRate, 0, 0, ""},
		"a doubt on either side with one":      {[]v1alpha1.NotedFigure{noted(100, ceiling, drift), noted(110, ceiling)}, values, report.FitRate, 0, 0, ""},
		"one floor":                            {floors[:1], values, report.FitRate, 0, 0, ""},
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
		{Range{Least: new(0.7)}, Reproduced}, {Range{Least: new(1.5)}, CannotBeShown}, {Range{Most: new(0.7)}, NotReproduced},
		{Range{Most: new(2.0)}, CannotBeShown}, {Range{Least: new(0.7), Most: new(2.0)}, CannotBeShown},
	} {
		r := ratio(report.FitRate, tc.in)
		if got, why := r.judge(r.measure(document)); got != tc.want {
			t.Errorf("at least 0.789 in %s: %s, want %s (%s)", tc.in, got, tc.want, why)
		}
	}
	a := Amount{Figure: Figure{Of: report.FitRate}, Cell: Where{"at": "cell"}, Unit: "Mbit/s", Divisor: 10, Range: Range{Least: new(5.0)}}
	m := a.measure(document)
	if verdict, why := a.judge(m); m.words != "at least 9.25 Mbit/s" || m.estimate != nil || verdict != Reproduced {
		t.Errorf("%+v: %s (%s)", m, verdict, why)
	}
}

// TestBoundsSayWhatIsLeftOut checks that repeats without a figure are counted next to bounds, and that a loss of 0 that is a bound counts as one.
func TestBoundsSayWhatIsLeftOut(t *testing.T) {
	missing := v1alpha1.NotedFigure{Note: v1alpha1.NoteDoubtful}
	doc := rates(map[v1alpha1.AxisLabel][]v1alpha1.NotedFigure{"cell": {noted(100, v1alpha1.DoubtGeneratorCeiling), noted(101), missing}, "to": {noted(50), noted(51), missing}})
	m := Ratio{Figure: Figure{Of: report.FitRate}, Cell: Where{"at": "cell"}, To: Where{"at": "to"}}.measure(doc)
	if want := "bounds (GeneratorCeiling) are among the figures, so only an end of their 95 % interval is known; repeats without a value, left out: 2"; m.note != want {
		t.Errorf("%q, want %q", m.note, want)
	}
	loss := report.SuiteMeasurement{Acceptance: []v1alpha1.Verdict{{Criterion: "loss", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLoss}}},
		Figures: []report.CriterionFigure{{Criterion: "loss", Note: v1alpha1.NoteDoubtful, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}}}}
	lossless := report.SuiteDocument{Cells: []report.SuiteCell{{Values: map[string]v1alpha1.AxisLabel{"at": "cell"}, Measurements: []report.SuiteMeasurement{loss, loss}}}}
	a := Amount{Figure: Figure{Criterion: "loss"}, Cell: Where{"at": "cell"}, Unit: "ppm", Divisor: 1, Range: Range{Most: new(0.0)}}
	m = a.measure(lossless)
	if verdict, why := a.judge(m); m.words != "at most 0 ppm" || verdict != Reproduced {
		t.Errorf("%+v: %s (%s)", m, verdict, why)
	}
}

// TestOnlyFigureInDoubt checks that the only figure of a cell, which is in doubt, is shown in the unit, and decides nothing.
func TestOnlyFigureInDoubt(t *testing.T) {
	doubtful := noted(200, v1alpha1.DoubtDrift)
	doubtful.Note = v1alpha1.NoteDoubtful
	doc := rates(map[v1alpha1.AxisLabel][]v1alpha1.NotedFigure{"cell": {doubtful}, "none": {{Note: v1alpha1.NoteDoubtful}}})
	for _, tc := range []struct {
		at    v1alpha1.AxisLabel
		of    report.FitOf
		words string
	}{{"cell", report.FitRate, "20 x"}, {"cell", report.FitFrameTime, "500000 x"}, {"none", report.FitRate, ""}} {
		a := Amount{Figure: Figure{Of: tc.of}, Cell: Where{"at": tc.at}, Unit: "x", Divisor: 10}
		if m := a.measure(doc); m.words != tc.words || m.problem == "" || m.estimate != nil || m.bound != nil {
			t.Errorf("%s of %s: %+v, want %q", tc.of, tc.at, m, tc.words)
		}
	}
}

// TestRounded checks that a bound is never rounded to more than is known.
func TestRounded(t *testing.T) {
	for _, tc := range []struct{ in, down, up float64 }{{4.9583, 4.95, 4.96}, {0.003257, 0.00325, 0.00326}, {123456, 123000, 124000}, {-2.345, -2.35, -2.34}, {0, 0, 0}, {5, 5, 5}} {
		if down, up := rounded(tc.in, math.Floor), rounded(tc.in, math.Ceil); down != tc.down || up != tc.up {
			t.Errorf("%g: %g and %g, want %g and %g", tc.in, down, up, tc.down, tc.up)
		}
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
	if _, side := (Figure{Criterion: "it"}).bound(report.SuiteMeasurement{}, noted(7, v1alpha1.DoubtInterruptedTrials)); side != 0 {
		t.Errorf("a criterion without a metric: side %d", side)
	}
}

// TestOpenInterval checks that a bound on one side is an interval that is open on the other.
func TestOpenInterval(t *testing.T) {
	if got := (measured{bound: &Range{Most: new(3.0)}}).interval(); got != (analysis.Estimate{Low: math.Inf(-1), High: 3}) {
		t.Errorf("%+v", got)
	}
}
