package main

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"vnfbench.io/operator/internal/regression"
)

// alarm is a change that a method reports: after which run, from which run on, and how large.
type alarm struct {
	at, index int
	size      float64
}

// near is how far apart change points are that are one report.
const near = 3

// report adds an alarm, unless one near it was reported before.
func report(alarms []alarm, found alarm) []alarm {
	for _, a := range alarms {
		if a.index-found.index <= near && found.index-a.index <= near {
			return alarms
		}
	}
	return append(alarms, found)
}

// method finds changes in a series, run by run.
type method struct {
	name string
	find func(*bed) []alarm
}

// ours is the name of this project's method.
const ours = "suspect + confirm"

func methods() []method {
	return []method{
		{ours, confirmed},
		{"fixed 2 %", fixed(0.02)},
		{"fixed 5 %", fixed(0.05)},
		{"jumpavg", jumpavg},
		{"E-divisive + t", eDivisive},
		{"CUSUM", cusum},
	}
}

// confirmed is package regression.
func confirmed(b *bed) []alarm {
	var alarms []alarm
	for _, e := range regression.Walk(regression.Default(), b.runs(false), b) {
		if e.Kind == regression.Regression || e.Kind == regression.Improvement {
			alarms = append(alarms, alarm{e.At, e.First, e.Size})
		}
	}
	return alarms
}

// fixed compares each run with one run, the first or that of the last alarm, by a threshold.
func fixed(share float64) func(*bed) []alarm {
	return func(b *bed) (alarms []alarm) {
		limit, reference := -math.Log1p(-share), b.values[0]
		for at, v := range b.values {
			if math.Abs(v-reference) >= limit {
				alarms = report(alarms, alarm{at, at, v - reference})
				reference = v
			}
		}
		return alarms
	}
}

const (
	// cusumTraining is how many runs a CUSUM learns from, cusumEffect the change that it is tuned to, cusumLength how many runs pass
	// between two false alarms.
	cusumTraining = 20
	cusumEffect   = 0.02
	cusumLength   = 2e4
)

// cusum is Page's cumulative sum to both sides. Its limit follows the approximation of D. Siegmund (Sequential Analysis, 1985).
func cusum(b *bed) (alarms []alarm) {
	start := 0
	for start+cusumTraining < len(b.values) {
		mean, deviation := stat.MeanStdDev(b.values[start:start+cusumTraining], nil)
		deviation = max(deviation, 3e-4)
		allowance := min(max(cusumEffect/2/deviation, 0.25), 3)
		limit := cusumLimit(allowance)
		next := -1
		var sums [2]float64
		from := [2]int{start + cusumTraining, start + cusumTraining}
		for at := start + cusumTraining; at < len(b.values) && next < 0; at++ {
			for side, sign := range []float64{1, -1} {
				sums[side] += sign*(b.values[at]-mean)/deviation - allowance
				if sums[side] <= 0 {
					sums[side], from[side] = 0, at+1
				}
				if sums[side] > limit && next < 0 {
					next = from[side]
					alarms = report(alarms, alarm{at, next, stat.Mean(b.values[next:at+1], nil) - mean})
				}
			}
		}
		if next < 0 {
			break
		}
		start = next
	}
	return alarms
}

func cusumLimit(allowance float64) float64 {
	low, high := 0.0, 60.0
	for range 60 {
		middle := (low + high) / 2
		x := 2 * allowance * (middle + 1.166)
		if (math.Exp(min(x, 700))-x-1)/(2*allowance*allowance) < cusumLength {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
