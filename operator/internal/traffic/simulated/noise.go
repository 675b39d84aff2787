package simulated

import (
	"math"
	"math/rand/v2"
	"time"
)

// Strength is how much a device varies.
type Strength struct {
	// Deviation is the relative standard deviation of the capacity from trial to trial.
	Deviation float64
	// StallsPerSecond and Stall are how often and for how long the device stalls.
	StallsPerSecond float64
	Stall           time.Duration
}

// Three strengths of noise: a dedicated core, a shared one, and a busy neighbor.
var (
	Quiet  = Strength{Deviation: 0.0005}
	Mild   = Strength{Deviation: 0.002, StallsPerSecond: 0.02, Stall: 200 * time.Microsecond}
	Strong = Strength{Deviation: 0.01, StallsPerSecond: 0.2, Stall: time.Millisecond}
)

// Noisy makes a device's answers scatter.
type Noisy struct {
	Device   Device
	Strength Strength
}

// Answer implements Device. A capacity higher by some share is the same as a load lower by it.
func (d Noisy) Answer(q Question) Answer {
	offered := q.FramesPerSecond
	scale := max(0.1, 1+d.Strength.Deviation*q.Random.NormFloat64())
	q.FramesPerSecond /= scale
	answer := d.Device.Answer(q)
	answer.CapacityFramesPerSecond *= scale
	stalls := poisson(q.Random, d.Strength.StallsPerSecond*q.Duration.Seconds())
	missed := float64(stalls) * max(0, offered*d.Strength.Stall.Seconds()-queueFrames)
	if frames := offered * q.Duration.Seconds(); frames > 0 {
		answer.LossRatio = min(1, answer.LossRatio+missed/frames)
	}
	return answer
}

// poisson draws the number of events where mean of them are expected (Knuth).
func poisson(random *rand.Rand, mean float64) int {
	limit, product := math.Exp(-mean), random.Float64()
	count := 0
	for product > limit {
		product *= random.Float64()
		count++
	}
	return count
}
