package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// TestNoise checks that runs without a change vary as much as they are said to.
func TestNoise(t *testing.T) {
	for _, shape := range []string{gaussian, heavyTails} {
		var values []float64
		for number := range uint64(100) {
			values = append(values, newBed(shape, 0.01, 1, number, 100, 100, 1, kernelAt, 0).values...)
		}
		// The median of five repeats adds 0.287 times their variance.
		want := math.Sqrt(0.01*0.01 + 0.287*withinDeviation*withinDeviation)
		if got := stat.StdDev(values, nil); math.Abs(got/want-1) > 0.1 {
			t.Errorf("%s: the deviation is %v, want %v", shape, got, want)
		}
	}
	b := newBed(kernel, 0.0001, 1, 1, 100, 60, 1, 50, -0.02)
	for _, step := range []struct {
		at   int
		want float64
	}{{50, math.Log1p(kernelStep)}, {60, math.Log1p(-0.02)}} {
		if got := b.values[step.at] - b.values[step.at-1]; math.Abs(got-step.want) > 0.01 {
			t.Errorf("the step at run %d is %v, want %v", step.at, got, step.want)
		}
	}
}

// TestMethods checks that each method finds a clear fall where it is, and nothing before it.
func TestMethods(t *testing.T) {
	for _, m := range methods() {
		for number := range uint64(5) {
			found := m.find(newBed(gaussian, 0.001, 1, number, changedRuns, changeAt, 1, kernelAt, -0.06))
			right := func(a alarm) bool {
				return a.at >= changeAt && a.at < changeAt+within && math.Abs(float64(a.index-changeAt)) <= 1 && a.size < -0.02 && a.size > -0.08
			}
			if !slices.ContainsFunc(found, right) {
				t.Errorf("%s, series %d: %+v", m.name, number, found)
			}
		}
	}
}

// TestJumpavg compares with the library's grouping of a series that its documentation would call two groups.
func TestJumpavgKeepsOneGroup(t *testing.T) {
	b := &bed{values: make([]float64, 50)}
	for i := range b.values {
		b.values[i] = 0.001 * float64(i%2)
	}
	if got := jumpavg(b); len(got) > 2 {
		t.Errorf("a series of one level has the jumps %+v", got)
	}
}

func TestTTest(t *testing.T) {
	if p := tTest([]float64{1, 2, 3}, []float64{1, 2, 3}); p != 1 {
		t.Errorf("equal samples have p %v", p)
	}
	// With the variances of populations, 2/3, t is 3 / sqrt(2/3 x 2/3) = 4.5 with 4 degrees of freedom: p 0.0108.
	if p := tTest([]float64{1, 2, 3}, []float64{4, 5, 6}); math.Abs(p-0.0108) > 2e-4 {
		t.Errorf("p is %v, want 0.0108", p)
	}
	if at := mostDifferent([]float64{1, 1.1, 0.9, 1, 5, 5.1, 4.9, 5}); at != 4 {
		t.Errorf("the samples differ most at %d, want 4", at)
	}
}

// TestTargets checks that a figure that misses its target is counted.
func TestTargets(t *testing.T) {
	b := &bench{}
	for _, test := range []struct {
		target target
		r      result
		missed bool
	}{
		{alarmTarget(0.01), result{series: 1000, alarms: 3}, false},
		{alarmTarget(0.01), result{series: 1000, alarms: 7}, true},
		{alarmTarget(0.02), result{series: 1000, alarms: 15}, false},
		{foundTarget(0.005, 0.02), result{series: 100, inTime: 97}, false},
		{foundTarget(0.005, 0.02), result{series: 1000, inTime: 955}, true},
		{foundTarget(0.01, 0.05), result{series: 100, inTime: 95}, false},
		{foundTarget(0.02, 0.02), result{series: 100}, false},
		{foundTarget(0.01, 0.01), result{series: 100}, false},
		{legTarget(0.005), result{legs: 11, quietRuns: 100}, true},
		{legTarget(0.01), result{legs: 1000, quietRuns: 100}, false},
		{slowTarget(0.01), result{series: 1000, found: 930}, false},
		{slowTarget(0.01), result{series: 1000, found: 910}, true},
		{slowTarget(0.02), result{series: 1000}, false},
	} {
		b.missed = 0
		words := b.judge(test.target, "none", 0.01, test.r)
		if (b.missed == 1) != test.missed || (words != "") != test.missed {
			t.Errorf("%+v: missed %d, %q", test.r, b.missed, words)
		}
	}
}

// TestMissedByChance checks that few series do not decide about a target that is almost met.
func TestMissedByChance(t *testing.T) {
	b := &bench{}
	for _, test := range []struct {
		target target
		r      result
	}{{alarmTarget(0.01), result{series: 1000, alarms: 4}}, {foundTarget(0.005, 0.02), result{series: 100, inTime: 96}}} {
		if words := b.judge(test.target, "none", 0.01, test.r); b.missed != 0 || !strings.Contains(words, "missed by chance") {
			t.Errorf("%+v: missed %d, %q", test.r, b.missed, words)
		}
	}
}

// TestLeastQuestions compares bounds with simpler cases: noise that is so far apart or so small that it is like another, and a normal distribution's quantiles.
func TestLeastQuestions(t *testing.T) {
	// A fall of 3.2897 deviations is found in 95 % where 5 % of the stretches without one are wrong.
	if got := wrongAt(3.2897, 0.95); math.Abs(got-0.05) > 1e-4 {
		t.Errorf("%v are wrong, want 0.05", got)
	}
	// Bands of a normal distribution that is much wider than their gap are one.
	one, bands := leastQuestions(gaussian, 0.1, 0.95, 1), leastQuestions(twoBands, 0.1, 0.95, 1)
	if math.Abs(bands/one-1) > 0.03 {
		t.Errorf("bands take %v questions, a normal distribution %v", bands, one)
	}
	// Runs that foretell each other hide a fall better than independent ones of the same deviation do.
	if free, bound := leastQuestions(gaussian, 0.01, 0.95, 1), leastQuestions(autocorrelated, 0.01, 0.95, 1); bound < 2*free {
		t.Errorf("autocorrelated noise takes %v questions, independent noise %v", bound, free)
	}
}

// TestFewSeries runs everything once.
func TestFewSeries(t *testing.T) {
	var out, progress bytes.Buffer
	b := bench{
		out: &out, progress: &progress, series: 4, peers: 1, suites: 1, seed: 1, shapes: []string{gaussian, kernel}, changes: changes,
	}
	// So few series may miss a target.
	err := b.run()
	if text := out.String(); strings.Count(text, ours) < 15 || !strings.Contains(text, "CUSUM") {
		t.Errorf("%v, and it prints\n%s", err, text)
	}
	// The rows that are announced are those that are printed.
	if last := fmt.Sprintf("%d of %d rows", b.rows, b.rows); b.total() != b.rows || !strings.Contains(progress.String(), last) {
		t.Errorf("%d rows are announced, %d are printed:\n%s", b.total(), b.rows, progress.String())
	}
	if (&bench{out: &out, progress: &progress, series: 0, shapes: shapes}).run() == nil {
		t.Error("no series are taken")
	}
}

// TestOnlySlowLosses checks that the losses in small steps can be run alone.
func TestOnlySlowLosses(t *testing.T) {
	var out, progress bytes.Buffer
	b := bench{out: &out, progress: &progress, series: 200, seed: 1, shapes: shapes, changes: changes, onlySlow: true}
	if err := b.run(); err != nil || b.rows != len(losses) || b.total() != b.rows || strings.Contains(out.String(), "false alarms") {
		t.Errorf("%v, %d rows of %d:\n%s", err, b.rows, b.total(), out.String())
	}
}

// TestWholeSuites checks that the operator's judge finds a clear fall of every cell, with shared confirmations, and raises no alarm before.
func TestWholeSuites(t *testing.T) {
	r := scenario{"all cells -10 %", suiteCells, 0.1}.simulate(0.001, 1, 1)
	if r.figures != suiteCells*suiteFigures || r.found != r.figures || r.executions != within || r.alarmed != 0 {
		t.Errorf("%+v: want all figures found, and no alarm", r)
	}
	// Three pairs of each cell say it, and all figures of the cell share them.
	if r.legs < suiteCells*2*3 || r.legs > within*maximumExtraRuns {
		t.Errorf("%d interleaved runs", r.legs)
	}
	if r := (scenario{"quiet", 0, 0}).simulate(0.001, 1, 1); r.executions != quietExecutions-firstJudged || r.alarmed != 0 || r.found != 0 {
		t.Errorf("%+v: want a quiet suite", r)
	}
}
