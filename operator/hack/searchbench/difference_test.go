package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// figuresOf makes figures of one goal's errors.
func figuresOf(errors ...float64) Figures {
	var f Figures
	for _, e := range errors {
		f.Runs = append(f.Runs, Run{Error: []float64{e}})
	}
	bias, deviation := spread(f.Runs, 0)
	f.Bias, f.Deviation = []float64{bias}, []float64{deviation}
	return f
}

// TestBiasDifference compares with figures by hand: differences of the amounts 1, 2 and 3
// thousandths have mean 2, standard deviation 1, standard error 1/√3, and t(2) = 4.3027.
func TestBiasDifference(t *testing.T) {
	of, than := figuresOf(-0.005, -0.004, -0.006), figuresOf(-0.004, -0.002, -0.003)
	got := BiasDifference(of, than, 0)
	if math.Abs(got.Value-0.002) > 1e-12 || math.Abs(got.Interval-0.001*4.30265/math.Sqrt(3)) > 1e-8 || got.Worse() {
		t.Errorf("got %+v", got)
	}
	// The peculiarities of a seed affect both: the interval is the difference's own.
	of, than = figuresOf(-0.005, -0.105, -0.055), figuresOf(-0.004, -0.104, -0.054)
	if got := BiasDifference(of, than, 0); math.Abs(got.Value-0.001) > 1e-12 || got.Interval > 1e-12 || !got.Worse() {
		t.Errorf("paired: got %+v", got)
	}
	// A bias is an amount: too much is as wrong as too little.
	if got := BiasDifference(figuresOf(0.003, 0.005), figuresOf(-0.001, -0.003), 0); math.Abs(got.Value-0.002) > 1e-12 {
		t.Errorf("of other signs: got %+v", got)
	}
	if got := BiasDifference(figuresOf(-1e-7, -1e-7), figuresOf(0, 0), 0); got.Worse() {
		t.Errorf("less than a frame a second is worse: %+v", got)
	}
	if got := BiasDifference(figuresOf(-0.5), figuresOf(-0.1), 0); !math.IsInf(got.Interval, 1) || got.Worse() {
		t.Errorf("of one seed: got %+v", got)
	}
}

// TestDeviationDifference checks that the interval of a difference of standard deviations has its
// nominal coverage: over many draws of both, 95 % of the intervals contain the true difference.
func TestDeviationDifference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const draws, seeds, wide, narrow = 1000, 200, 0.0012, 0.001
	held, worse := 0, 0
	for range draws {
		var of, than []float64
		for range seeds {
			shared := random.NormFloat64()
			of = append(of, wide*(0.6*shared+0.8*random.NormFloat64()))
			than = append(than, narrow*(0.6*shared+0.8*random.NormFloat64()))
		}
		got := DeviationDifference(figuresOf(of...), figuresOf(than...), 0)
		if math.Abs(got.Value-(wide-narrow)) <= got.Interval {
			held++
		}
		if got.Worse() {
			worse++
		}
	}
	if share := float64(held) / draws; share < 0.92 || share > 0.97 {
		t.Errorf("the interval holds the truth in %.3f of the draws", share)
	}
	if worse < draws*2/3 {
		t.Errorf("a fifth more is seen in %d of %d draws", worse, draws)
	}
	if got := DeviationDifference(figuresOf(0, 0, 0), figuresOf(0, 0, 0), 0); got != (Difference{}) {
		t.Errorf("of devices without noise: %+v", got)
	}
}

// TestTimeDifference compares with figures by hand: logarithms of 0.1 and 0.3 have mean 0.2, standard error 0.1, and
// t(1) = 12.706. Times that are always a tenth longer are worse, and those twice as long as often as half as long
// are not.
func TestTimeDifference(t *testing.T) {
	timesOf := func(seconds ...float64) (f Figures) {
		for _, s := range seconds {
			f.Runs = append(f.Runs, Run{Time: time.Duration(s * float64(time.Second))})
		}
		return f
	}
	got := TimeDifference(timesOf(10*math.Exp(0.1), 20*math.Exp(0.3)), timesOf(10, 20))
	if math.Abs(got.Value-0.2) > 1e-9 || math.Abs(got.Interval-1.27062) > 1e-4 || got.Worse() {
		t.Errorf("got %+v", got)
	}
	if got := TimeDifference(timesOf(11, 22), timesOf(10, 20)); !got.Worse() {
		t.Errorf("a tenth longer: got %+v", got)
	}
	if got := TimeDifference(timesOf(9, 18), timesOf(10, 20)); got.Worse() {
		t.Errorf("a tenth shorter: got %+v", got)
	}
	if got := TimeDifference(timesOf(10, 20, 10, 20), timesOf(20, 10, 20, 10)); math.Abs(got.Value) > 1e-9 {
		t.Errorf("twice and half as long: got %+v", got)
	}
}
