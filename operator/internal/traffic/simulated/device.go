package simulated

import (
	"math"
	"math/rand/v2"
	"time"
)

// Question is one direction of one trial, for a device to answer.
type Question struct {
	// FramesPerSecond is the offered load.
	FramesPerSecond float64
	Duration        time.Duration
	// Since is how long the device has run in simulated time.
	Since  time.Duration
	Random *rand.Rand
}

// Answer is what the device did with it.
type Answer struct {
	LossRatio float64
	// CapacityFramesPerSecond is the service rate that the latency follows from.
	CapacityFramesPerSecond float64
	// QueueGrowth is the delay that a queue adds from the trial's first tenth to its last.
	QueueGrowth time.Duration
}

// Device is a formula from an offered load to a loss ratio.
type Device interface {
	Answer(Question) Answer
}

// HardCap forwards everything up to its capacity, and only its capacity beyond that.
type HardCap struct{ CapacityFramesPerSecond float64 }

// Answer implements Device.
func (d HardCap) Answer(q Question) Answer {
	return Answer{LossRatio: beyond(q.FramesPerSecond, d.CapacityFramesPerSecond), CapacityFramesPerSecond: d.CapacityFramesPerSecond}
}

// Limit returns the highest load with at most the loss ratio.
func (d HardCap) Limit(lossRatio float64) float64 { return d.CapacityFramesPerSecond / (1 - lossRatio) }

// SoftKnee loses a little from the knee upward, which grows with the square of the
// distance to MaxLossRatio at its capacity. Beyond that it acts like a HardCap of what is
// left.
type SoftKnee struct {
	KneeFramesPerSecond     float64
	CapacityFramesPerSecond float64
	MaxLossRatio            float64
}

// Answer implements Device.
func (d SoftKnee) Answer(q Question) Answer {
	return Answer{LossRatio: d.loss(q.FramesPerSecond), CapacityFramesPerSecond: d.CapacityFramesPerSecond}
}

func (d SoftKnee) loss(rate float64) float64 {
	if rate <= d.KneeFramesPerSecond {
		return 0
	}
	way := min(1, (rate-d.KneeFramesPerSecond)/(d.CapacityFramesPerSecond-d.KneeFramesPerSecond))
	return 1 - (1-d.MaxLossRatio*way*way)*(1-beyond(rate, d.CapacityFramesPerSecond))
}

// Limit returns the highest load with at most the loss ratio.
func (d SoftKnee) Limit(lossRatio float64) float64 {
	low, high := d.KneeFramesPerSecond, d.CapacityFramesPerSecond/(1-lossRatio)
	for range 100 {
		if middle := (low + high) / 2; d.loss(middle) <= lossRatio {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Collapse forwards everything up to its capacity, and less and less in total beyond it:
// a kernel that spends its time on frames that it drops later.
type Collapse struct{ CapacityFramesPerSecond float64 }

// Answer implements Device.
func (d Collapse) Answer(q Question) Answer {
	kept := 1 - beyond(q.FramesPerSecond, d.CapacityFramesPerSecond)
	return Answer{LossRatio: 1 - kept*kept*kept, CapacityFramesPerSecond: d.CapacityFramesPerSecond}
}

// Limit returns the highest load with at most the loss ratio.
func (d Collapse) Limit(lossRatio float64) float64 {
	return d.CapacityFramesPerSecond / math.Cbrt(1-lossRatio)
}

// TwoBands loses LossRatio between two loads, nothing below and above them, and has a capacity.
type TwoBands struct {
	FromFramesPerSecond, ToFramesPerSecond, CapacityFramesPerSecond, LossRatio float64
}

// Answer implements Device.
func (d TwoBands) Answer(q Question) Answer {
	loss := beyond(q.FramesPerSecond, d.CapacityFramesPerSecond)
	if q.FramesPerSecond > d.FromFramesPerSecond && q.FramesPerSecond <= d.ToFramesPerSecond {
		loss = max(loss, d.LossRatio)
	}
	return Answer{LossRatio: loss, CapacityFramesPerSecond: d.CapacityFramesPerSecond}
}

// Inverting loses most at low loads and less and less toward its capacity: a device that
// polls only when it is busy.
type Inverting struct {
	CapacityFramesPerSecond float64
	IdleLossRatio           float64
}

// Answer implements Device.
func (d Inverting) Answer(q Question) Answer {
	idle := d.IdleLossRatio * max(0, 1-q.FramesPerSecond/d.CapacityFramesPerSecond)
	return Answer{
		LossRatio:               max(idle, beyond(q.FramesPerSecond, d.CapacityFramesPerSecond)),
		CapacityFramesPerSecond: d.CapacityFramesPerSecond,
	}
}

// SlowingDown is a HardCap whose capacity halves every HalfLife of simulated time.
type SlowingDown struct {
	CapacityFramesPerSecond float64
	HalfLife                time.Duration
}

// Answer implements Device.
func (d SlowingDown) Answer(q Question) Answer {
	left := math.Exp2(-q.Since.Seconds() / d.HalfLife.Seconds())
	return HardCap{CapacityFramesPerSecond: d.CapacityFramesPerSecond * left}.Answer(q)
}

// Sluggish is a HardCap that still loses LossRatio of all frames until Recovery has passed after an
// overload that lasted Overload or longer.
type Sluggish struct {
	CapacityFramesPerSecond float64
	Overload, Recovery      time.Duration
	LossRatio               float64
	// until is when the device has recovered, in simulated time.
	until time.Duration
}

// Answer implements Device.
func (d *Sluggish) Answer(q Question) Answer {
	answer, end := HardCap{CapacityFramesPerSecond: d.CapacityFramesPerSecond}.Answer(q), q.Since+q.Duration
	switch {
	case answer.LossRatio > 0 && q.Duration >= d.Overload:
		d.until = end + d.Recovery
	case answer.LossRatio == 0 && q.Since < d.until:
		answer.LossRatio = d.LossRatio * min(1, (d.until-q.Since).Seconds()/q.Duration.Seconds())
	}
	return answer
}

// Buffered holds frames that its device cannot forward yet, up to so much time of its capacity. What
// waits at a trial's end still comes through.
type Buffered struct {
	Device Device
	Buffer time.Duration
}

// Answer implements Device.
func (d Buffered) Answer(q Question) Answer {
	answer := d.Device.Answer(q)
	offered := q.FramesPerSecond * q.Duration.Seconds()
	held := min(answer.LossRatio*offered, answer.CapacityFramesPerSecond*d.Buffer.Seconds())
	if held > 0 {
		answer.LossRatio -= held / offered
		answer.QueueGrowth = time.Duration(0.9 * held / answer.CapacityFramesPerSecond * float64(time.Second))
	}
	return answer
}

// beyond returns the share of a rate that exceeds a capacity.
func beyond(rate, capacity float64) float64 {
	if rate <= capacity {
		return 0
	}
	return 1 - capacity/rate
}
