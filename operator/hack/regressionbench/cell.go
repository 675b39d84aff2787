package main

import (
	"math"
	"runtime"
	"sync"

	"vnfbench.io/operator/internal/regression"
)

const (
	// quietRuns is the length of a series without a change; with one it is changedRuns, and the change is at changeAt.
	quietRuns, changedRuns, changeAt = 100, 80, 60
	// kernelAt is the run of a kernel's step.
	kernelAt = 50
	// within is how many runs a method has to find a change.
	within = 3
)

var (
	deviations = []float64{0.001, 0.0025, 0.005, 0.01, 0.02}
	changes    = []float64{0.01, 0.02, 0.03, 0.05, 0.10}
)

// cell is one kind of series and one method. A change of 0 is none.
type cell struct {
	shape     string
	deviation float64
	change    float64
	method    method
}

// result is what a method did with the series of a cell.
type result struct {
	series, alarms, found, inTime, delay int
	// legs were made in quietRuns runs without a change.
	legs, quietRuns int
}

func (r result) add(other result) result {
	return result{
		r.series + other.series, r.alarms + other.alarms, r.found + other.found, r.inTime + other.inTime, r.delay + other.delay,
		r.legs + other.legs, r.quietRuns + other.quietRuns,
	}
}

// measure lets the method judge some series.
func (c cell) measure(series int, seed uint64) result {
	return sum(series, result.add, func(number uint64) result { return c.one(seed, number) })
}

// sum adds the results of some series, which are numbered from 0. It uses all processors.
func sum[T any](series int, add func(T, T) T, one func(number uint64) T) (all T) {
	workers := runtime.GOMAXPROCS(0)
	parts := make([]T, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for number := worker; number < series; number += workers {
				parts[worker] = add(parts[worker], one(uint64(number)))
			}
		})
	}
	group.Wait()
	for _, part := range parts {
		all = add(all, part)
	}
	return all
}

// one judges one series. Its noise is the same for every method.
func (c cell) one(seed, number uint64) result {
	seed = seed<<16 ^ math.Float64bits(c.deviation) ^ math.Float64bits(c.change)>>7 ^ uint64(len(c.shape))<<8 ^ uint64(c.shape[0])
	if c.change == 0 {
		b := newBed(c.shape, c.deviation, seed, number, quietRuns, quietRuns, 1, kernelAt, 0)
		alarms := c.method.find(b)
		return result{series: 1, alarms: len(alarms), legs: b.legs, quietRuns: quietRuns}
	}
	b := newBed(c.shape, c.deviation, seed, number, changedRuns, changeAt, 1, kernelAt, -c.change)
	out := result{series: 1}
	for _, a := range c.method.find(b) {
		if a.at < changeAt || a.index < changeAt-near || a.size > 0 {
			continue
		}
		out.found, out.delay = 1, a.at-changeAt+1
		if a.at < changeAt+within {
			out.inTime = 1
		}
		break
	}
	return out
}

// bridged counts, of series in which the kernel and the code change at the same run, those in which the code's change is confirmed at once,
// and those in which the kernel's is taken for one. The platform is recorded, so the method asks for the old version on the new kernel.
func bridged(deviation, change float64, series int, seed uint64) (right, wrong int) {
	r := sum(series, result.add, func(number uint64) result {
		b := newBed(kernel, deviation, seed, number, changedRuns, changeAt, 1, changeAt, -change)
		for _, e := range regression.Walk(regression.Default(), b.runs(true), b) {
			if e.Kind == regression.Regression && e.At == changeAt {
				if change > 0 {
					return result{found: 1}
				}
				return result{alarms: 1}
			}
		}
		return result{}
	})
	return r.found, r.alarms
}

// slow counts the series in which a loss in small steps is found by ten runs after the last one.
func slow(deviation, change float64, ramp, series int, seed uint64) (found int) {
	return sum(series, result.add, func(number uint64) result {
		b := newBed(gaussian, deviation, seed, number, changeAt+ramp+10, changeAt, ramp, kernelAt, -change)
		for _, a := range confirmed(b) {
			if a.at >= changeAt && a.size < 0 {
				return result{found: 1}
			}
		}
		return result{}
	}).found
}
