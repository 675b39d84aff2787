package comparison

import (
	"math/rand/v2"
	"slices"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

var p99 = figure.Key{FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: "64", Load: "half"}, Direction: "Forward"}

// delay returns a figure of a delay with its repeats.
func delay(values ...int64) figure.Figure {
	return figure.Figure{
		Key: p99, Value: mean(values), Unit: figure.Nanoseconds, Samples: 1, Bound: figure.Exact, Values: values,
		Statistics: &v1alpha1.Statistics{N: int32(len(values)), Values: values}, LoadFramesPerSecond: 1000,
	}
}

func runOf(scope v1alpha1.RepeatScope, figures ...figure.Figure) Run {
	return Run{Figures: figures, Scope: scope}
}

// group returns a column with a run for each value.
func group(values ...int64) (out Column) {
	for _, v := range values {
		f := delay(v)
		f.Values, f.Statistics = nil, nil
		out = append(out, runOf("", f))
	}
	return out
}

// with returns a column whose runs of these numbers are changed.
func with(column Column, change func(*figure.Figure), numbers ...int) Column {
	out := make(Column, len(column))
	for i, run := range column {
		out[i] = Run{Figures: slices.Clone(run.Figures), Scope: run.Scope}
		if slices.Contains(numbers, i) {
			for j := range out[i].Figures {
				change(&out[i].Figures[j])
			}
		}
	}
	return out
}

func doubtful(code v1alpha1.DoubtCode) func(*figure.Figure) {
	return func(f *figure.Figure) {
		d, _ := figure.NewDoubt(code, f.Metric)
		f.Doubts = append(f.Doubts, d)
	}
}

// TestCompare checks what is a sample, what is left out of a test, and why.
func TestCompare(t *testing.T) {
	before, after := group(1000, 1010, 990, 1005, 995), group(1100, 1110, 1090, 1105, 1095)
	once := Column{runOf("", delay(1100))}
	once[0].Figures[0].Values, once[0].Figures[0].Statistics = nil, nil
	drifting := delay(1100, 1110, 1120)
	drifting.Statistics.LimitedBy = v1alpha1.LimitedByDrift
	other := group(1100, 1110, 1090, 1105, 1095)
	for name, tc := range map[string]struct {
		first, second Column
		verdict       Verdict
		why           Reason
		n             int
		value         int64
	}{
		"several runs":                {before, after, Worse, "", 5, 1100},
		"the other way":               {after, before, Better, "", 5, 1000},
		"no difference":               {before, group(1001, 1011, 989, 1004, 994), Unclear, "", 5, 1000},
		"two runs":                    {group(1000, 1010), group(1200, 1210), Worse, "", 2, 1205},
		"one run":                     {before, once, Unclear, ReasonNotRepeated, 1, 1100},
		"repeats on deployments":      {before, Column{runOf(v1alpha1.RepeatChain, delay(1100, 1110, 1090))}, Worse, "", 3, 1100},
		"repeats on one deployment":   {before, Column{runOf(v1alpha1.RepeatTrials, delay(1100, 1110, 1090))}, Unclear, ReasonOneDeployment, 3, 1100},
		"a group of such runs":        {before, Column{runOf("", delay(1100, 1102)), runOf("", delay(1110, 1108)), runOf("", delay(1090))}, Worse, "", 3, 1100},
		"drifting repeats":            {before, Column{runOf(v1alpha1.RepeatChain, drifting)}, Unclear, Reason(v1alpha1.LimitedByDrift), 3, 1110},
		"a doubtful run is left out":  {before, with(after, doubtful(v1alpha1.DoubtInterruptedTrials), 1), Worse, "", 4, 1098},
		"all doubtful":                {before, with(after, doubtful(v1alpha1.DoubtInterruptedTrials), 0, 1, 2, 3, 4), Unclear, ReasonDoubtful, 5, 1100},
		"all but one doubtful":        {before, with(after, doubtful(v1alpha1.DoubtInterruptedTrials), 0, 1, 2, 3), Unclear, ReasonNotRepeated, 1, 1095},
		"a load that was not reached": {before, with(after, doubtful(v1alpha1.DoubtLoadNotReached), 1), Unclear, ReasonIrregular, 5, 1090},
		"a share of a floor":          {before, with(after, doubtful(v1alpha1.DoubtLoadOfFloor), 1), Worse, "", 5, 1100},
		"a doubt without a side":      {before, with(after, doubtful(v1alpha1.DoubtFramesUncounted), 1), Worse, "", 5, 1100},
		"other loads":                 {before, with(other, func(f *figure.Figure) { f.LoadFramesPerSecond = 1060 }, 0, 1, 2, 3, 4), Unclear, ReasonLoadsDiffer, 5, 1100},
		"nothing":                     {before, Column{runOf("")}, Unclear, ReasonMissing, 0, 0},
	} {
		result, err := Compare([]Column{tc.first, tc.second}, AdjustNone)
		if err != nil || len(result.Figures) != 1 {
			t.Fatalf("%s: %+v, %v", name, result, err)
		}
		cell, d := result.Figures[0].Cells[1], result.Figures[0].Differences[0]
		if d.Verdict != tc.verdict || d.WhyNotTested != tc.why || cell.N != tc.n || cell.Value != nil && *cell.Value != tc.value || (tc.why == "") != (d.PValuePartsPerMillion != nil) {
			t.Errorf("%s: %+v of %+v, want %s %s", name, d, cell, tc.verdict, tc.why)
		}
		if (result.Tested == 1) != (tc.why == "") {
			t.Errorf("%s: %d are tested", name, result.Tested)
		}
	}
}

// rate returns a run of a throughput with the bounds of its search.
func rate(value, upper int64, bound figure.Bound, doubts ...v1alpha1.DoubtCode) Run {
	key := func(metric v1alpha1.Metric) figure.Key {
		return figure.Key{FigureKey: v1alpha1.FigureKey{Metric: metric, Size: "64", Goal: "NDR"}}
	}
	f := figure.Figure{Key: key(v1alpha1.MetricThroughputFramesPerSecond), Value: value, Samples: 1, Bound: bound}
	for _, code := range doubts {
		doubtful(code)(&f)
	}
	out := Run{Figures: []figure.Figure{f}}
	for metric, v := range map[v1alpha1.Metric]int64{lowerBound: value, upperBound: upper} {
		out.Figures = append(out.Figures, figure.Figure{Key: key(metric), Value: v, Samples: 1, Bound: figure.Exact})
	}
	return out
}

// TestThroughput checks that a floor or an irregular search among the runs leaves none to test, and that a difference within the resolution is none.
func TestThroughput(t *testing.T) {
	steady := Column{rate(1000, 1020, figure.Exact), rate(1000, 1020, figure.Exact), rate(1000, 1020, figure.Exact), rate(1000, 1020, figure.Exact)}
	for name, tc := range map[string]struct {
		second  Column
		verdict Verdict
		why     Reason
		value   int64
	}{
		"within the resolution": {Column{rate(1010, 1030, figure.Exact), rate(1010, 1030, figure.Exact), rate(1010, 1030, figure.Exact), rate(1010, 1030, figure.Exact)}, Unclear, "", 1010},
		"beyond it":             {Column{rate(1030, 1050, figure.Exact), rate(1030, 1050, figure.Exact), rate(1030, 1050, figure.Exact), rate(1030, 1050, figure.Exact)}, Better, "", 1030},
		"a floor among them":    {Column{rate(1030, 1050, figure.Exact), rate(1090, 1090, figure.AtLeast), rate(1040, 1060, figure.Exact)}, Unclear, ReasonFloor, 1030},
		"an irregular search":   {Column{rate(1030, 1050, figure.Exact), rate(1010, 1090, figure.Exact, v1alpha1.DoubtIrregularResult), rate(1040, 1060, figure.Exact)}, Unclear, ReasonIrregular, 1010},
	} {
		result, err := Compare([]Column{steady, tc.second}, AdjustNone)
		if err != nil {
			t.Fatal(err)
		}
		f := result.Figures[0]
		if d := f.Differences[0]; d.Verdict != tc.verdict || d.WhyNotTested != tc.why || *f.Cells[1].Value != tc.value || f.Cells[1].IsFloor != (tc.why == ReasonFloor) || (d.Value == nil) != (tc.why == ReasonFloor) {
			t.Errorf("%s: %+v of %+v", name, d, f.Cells[1])
		}
	}
	once, err := Compare([]Column{steady[:1], {rate(1100, 1120, figure.Exact)}}, AdjustNone)
	if f := once.Figures[0]; err != nil || f.Cells[0].Interval != IntervalSearch || *f.Cells[0].Upper != 1020 || f.Differences[0].Verdict != Unclear || f.Differences[0].WhyNotTested != ReasonNotRepeated {
		t.Errorf("one search next to another: %+v, %v", f, err)
	}
}

// TestAdjustmentDecides checks that one small p-value among many equal devices is believed alone, and not of all.
func TestAdjustmentDecides(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	columns := make([]Column, 2)
	for c := range columns {
		for range 5 {
			run := Run{}
			for n := range 40 {
				f := delay(10_000 + int64(100*random.NormFloat64()))
				f.Values, f.Statistics, f.Streams = nil, nil, int32(n+1)
				if n == 0 && c == 1 {
					f.Value += 1000
				}
				run.Figures = append(run.Figures, f)
			}
			columns[c] = append(columns[c], run)
		}
	}
	counts := map[Adjustment]int{}
	for _, adjustment := range Adjustments() {
		result, err := Compare(columns, adjustment)
		if err != nil || result.Tested != 40 || result.Figures[0].Differences[0].Verdict != Worse {
			t.Fatalf("%s: %d tested, %+v, %v", adjustment, result.Tested, result.Figures[0].Differences, err)
		}
		for _, f := range result.Figures {
			d := f.Differences[0]
			if d.Verdict != Unclear {
				counts[adjustment]++
			}
			if (d.AdjustedPValuePartsPerMillion == nil) != (adjustment == AdjustNone) {
				t.Errorf("%s: %+v", adjustment, d)
			}
		}
	}
	if counts[AdjustHolm] != 1 || counts[AdjustBenjaminiHochberg] != 1 || counts[AdjustNone] <= 1 {
		t.Errorf("they find %v", counts)
	}
	if _, err := Compare(columns, "sidak"); err == nil {
		t.Error("another adjustment is taken")
	}
}

// TestNotJudged checks that what describes a measurement, or is a part of another figure, has a difference and no verdict.
func TestNotJudged(t *testing.T) {
	for name, change := range map[string]func(*figure.Figure){
		"a load":                    func(f *figure.Figure) { f.Metric = "IntendedFramesPerSecond" },
		"layer 1":                   func(f *figure.Figure) { f.Metric = v1alpha1.MetricThroughputLayer1BitsPerSecond },
		"loss where a search ended": func(f *figure.Figure) { f.Metric = "ThroughputLossPartsPerMillion" },
		"a repeat":                  func(f *figure.Figure) { f.Repeat = 1 },
		"a part":                    func(f *figure.Figure) { f.Interval = 1 },
		"a baseline":                func(f *figure.Figure) { f.Side = figure.SideBaseline },
	} {
		all := []int{0, 1, 2}
		result, err := Compare([]Column{with(group(1000, 1001, 1002), change, all...), with(group(2000, 2001, 2002), change, all...)}, AdjustNone)
		if d := result.Figures[0].Differences[0]; err != nil || d.Verdict != "" || d.Value == nil || *d.Value != 1000 || result.Tested != 0 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}
