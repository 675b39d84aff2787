package main

import (
	"math"
	"math/rand/v2"
	"time"

	"vnfbench.io/operator/internal/traffic/simulated"
)

const (
	// LinkFramesPerSecond is the maximum load: 64-byte frames at 10 Gbit/s.
	LinkFramesPerSecond = 14_880_952
	// MinimumFramesPerSecond is FD.io CSIT's minimum load.
	MinimumFramesPerSecond = 9001
	// minCapacity and maxCapacity bound what a device forwards.
	minCapacity, maxCapacity = 2e6, 12e6
)

// Bed is one device, drawn by a seed, and what is true of it.
type Bed struct {
	Driver simulated.Config
	// Truth returns what the device forwards, without its noise, at the highest load with at most
	// the loss ratio, after it has run for a time.
	Truth func(lossRatio float64, after time.Duration) float64
}

// Class is a kind of device.
type Class struct {
	Name string
	bed  func(shape) Bed
}

// shape is what a seed chooses for a device.
type shape struct {
	capacity float64
	// knee is the share of the capacity above which a soft knee loses.
	knee float64
}

// Bed returns the class's device of a seed, with its shape and its noise.
func (c Class) Bed(seed uint64) Bed {
	random := rand.New(rand.NewPCG(seed, 7))
	bed := c.bed(shape{capacity: minCapacity + random.Float64()*(maxCapacity-minCapacity), knee: 0.6 + random.Float64()*0.3})
	bed.Driver.Seed, bed.Driver.WithoutDistributions = seed, true
	return bed
}

// Classes returns all kinds of device, steady ones first.
func Classes() []Class {
	stalls := simulated.Strength{StallsPerSecond: 0.2, Stall: time.Millisecond}
	return []Class{
		{"hard cap", hardCap},
		{"soft knee", softKnee},
		{"collapse", collapse},
		{"cap, quiet", noisy(hardCap, simulated.Quiet)},
		{"cap, mild noise", noisy(hardCap, simulated.Mild)},
		{"cap, strong noise", noisy(hardCap, simulated.Strong)},
		{"knee, quiet", noisy(softKnee, simulated.Quiet)},
		{"knee, mild noise", noisy(softKnee, simulated.Mild)},
		{"knee, strong noise", noisy(softKnee, simulated.Strong)},
		{"stalls", noisy(hardCap, stalls)},
		{"two bands", twoBands},
		{"less loss at more load", inverting},
		{"slowing down", slowingDown},
		{"generator ceiling", ceiling},
	}
}

func hardCap(s shape) Bed {
	d := simulated.HardCap{CapacityFramesPerSecond: s.capacity}
	return Bed{simulated.Config{Device: d}, steady(d.Limit)}
}

func softKnee(s shape) Bed {
	d := simulated.SoftKnee{KneeFramesPerSecond: s.knee * s.capacity, CapacityFramesPerSecond: s.capacity, MaxLossRatio: 0.02}
	return Bed{simulated.Config{Device: d}, steady(d.Limit)}
}

func collapse(s shape) Bed {
	d := simulated.Collapse{CapacityFramesPerSecond: s.capacity}
	return Bed{simulated.Config{Device: d}, steady(d.Limit)}
}

func noisy(quiet func(shape) Bed, strength simulated.Strength) func(shape) Bed {
	return func(s shape) Bed {
		bed := quiet(s)
		bed.Driver.Device = simulated.Noisy{Device: bed.Driver.Device, Strength: strength}
		return bed
	}
}

// twoBands loses between three and five eighths of its capacity, less than a
// PDR goal allows. Its truth is the capacity: what a search from above finds.
func twoBands(s shape) Bed {
	d := simulated.TwoBands{
		FromFramesPerSecond: s.capacity * 3 / 8, ToFramesPerSecond: s.capacity * 5 / 8,
		CapacityFramesPerSecond: s.capacity, LossRatio: 0.003,
	}
	return Bed{simulated.Config{Device: d}, steady(simulated.HardCap{CapacityFramesPerSecond: s.capacity}.Limit)}
}

// inverting loses a little at low loads and nothing at its capacity, which is the truth because
// there is no better one.
func inverting(s shape) Bed {
	d := simulated.Inverting{CapacityFramesPerSecond: s.capacity, IdleLossRatio: 0.01}
	return Bed{simulated.Config{Device: d}, steady(simulated.HardCap{CapacityFramesPerSecond: s.capacity}.Limit)}
}

// slowingDown halves in ten minutes. Its truth is what it does when the search ends.
func slowingDown(s shape) Bed { return slowingIn(s, 10*time.Minute) }

func slowingIn(s shape, halfLife time.Duration) Bed {
	d := simulated.SlowingDown{CapacityFramesPerSecond: s.capacity, HalfLife: halfLife}
	return Bed{simulated.Config{Device: d}, func(_ float64, after time.Duration) float64 {
		return s.capacity * math.Exp2(-after.Seconds()/halfLife.Seconds())
	}}
}

// ceiling simulates a generator that is slower than the device. The truth is its rate, which either
// search returns as the maximum that was shown.
func ceiling(s shape) Bed {
	config := simulated.Config{
		Device:                   simulated.HardCap{CapacityFramesPerSecond: 2 * LinkFramesPerSecond},
		GeneratorFramesPerSecond: uint64(s.capacity),
	}
	return Bed{config, func(float64, time.Duration) float64 { return math.Floor(s.capacity) }}
}

func steady(limit func(float64) float64) func(float64, time.Duration) float64 {
	return func(lossRatio float64, _ time.Duration) float64 { return limit(lossRatio) * (1 - lossRatio) }
}
