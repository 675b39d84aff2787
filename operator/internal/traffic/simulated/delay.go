package simulated

import (
	"math"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
)

const (
	// queueFrames is how many frames wait in front of an overloaded device.
	queueFrames = 1024
	// maxUtilization keeps the waiting time of an infinite queue finite.
	maxUtilization = 0.999
)

// delays fills in what an M/D/1 queue after a fixed delay would show: the mean wait is
// service * utilization / (2 * (1 - utilization)). Its tail is about exponential, cut off
// by the queue's length.
func (d *Driver) delays(out *measure.DirectionOutcome, rate, capacity float64) {
	service := 1e9 / max(capacity, 1)
	full := service * queueFrames
	utilization := min(rate/max(capacity, 1), maxUtilization)
	wait := min(service*utilization/(2*(1-utilization)), full)
	if rate > capacity {
		wait = full
	}
	base := float64(d.cfg.BaseNanoseconds) + service
	at := func(quantile float64) uint64 {
		return uint64(base + min(full, wait*-math.Log(1-quantile)))
	}
	out.Latency = measure.Delays{
		Samples:        out.ReceivedFrames,
		MinNanoseconds: uint64(base), MeanNanoseconds: uint64(base + wait),
		P50Nanoseconds: at(0.5), P90Nanoseconds: at(0.9), P99Nanoseconds: at(0.99),
		P999Nanoseconds: at(0.999), P9999Nanoseconds: at(0.9999),
		MaxNanoseconds: uint64(base + min(full, max(wait, wait*math.Log(float64(out.ReceivedFrames)+1)))),
	}
	out.Latency.MaxNanoseconds = max(out.Latency.MaxNanoseconds, out.Latency.P9999Nanoseconds)
	out.DelayVariation = variation(out.Latency, out.ReceivedFrames-1)
	if v := out.DelayVariation; v.Samples > 0 {
		// J is a mean over some 16 values that are exponential and independent: its tail is short.
		out.Jitter = &measure.Jitter{MeanNanoseconds: v.MeanNanoseconds, P99Nanoseconds: min(2*v.MeanNanoseconds, v.MaxNanoseconds), MaxNanoseconds: min(3*v.MeanNanoseconds, v.MaxNanoseconds)}
	}
	out.FirstFrameNanoseconds = uint64(base)
	if !d.cfg.WithoutDistributions {
		out.Distributions = distributions(out.Latency, out.DelayVariation)
	}
}

// distributions returns those with the percentiles of delays and of their variation, nil without samples.
func distributions(delay, variation measure.Delays) *measure.Distributions {
	if delay.Samples == 0 {
		return nil
	}
	return &measure.Distributions{Delay: encoded(delay), DelayVariation: encoded(variation)}
}

// encoded returns a distribution with the percentiles of delays, and "" without samples.
func encoded(d measure.Delays) string {
	return distribution.Encode(func(yield func(uint64, uint64) bool) {
		passed := uint64(0)
		for _, step := range []struct {
			partsPerMillion float64
			value           uint64
		}{{500_000, d.P50Nanoseconds}, {900_000, d.P90Nanoseconds}, {990_000, d.P99Nanoseconds}, {999_000, d.P999Nanoseconds}, {999_900, d.P9999Nanoseconds}, {1_000_000, d.MaxNanoseconds}} {
			rank := uint64(math.Ceil(float64(d.Samples) * step.partsPerMillion / 1e6))
			if n := rank - min(rank, passed); n > 0 && !yield(step.value, n) {
				return
			}
			passed = max(passed, rank)
		}
	})
}

// tag returns the first frame due at or after the tagged frame's time; it is lost like
// any other, and waits as long as one of those that arrived.
func (d *Driver) tag(trial measure.Trial, out measure.DirectionOutcome, rate float64) *measure.TaggedFrame {
	gap := 1e9 / rate
	n := math.Ceil(float64(trial.TaggedFrameNanoseconds) / gap)
	if n >= float64(out.SentFrames) {
		return nil
	}
	tagged := &measure.TaggedFrame{DueNanoseconds: int64(math.Ceil(n * gap))}
	if d.random.Float64() >= out.LossRatio() {
		wait := float64(out.Latency.MeanNanoseconds - out.Latency.MinNanoseconds)
		tagged.DelayNanoseconds = min(out.Latency.MinNanoseconds+uint64(wait*d.random.ExpFloat64()), out.Latency.MaxNanoseconds)
	}
	return tagged
}

// variation returns the distribution of the difference of two waits that are exponential
// and independent: exponential again, with the same mean.
func variation(latency measure.Delays, samples uint64) measure.Delays {
	if samples == 0 {
		return measure.Delays{}
	}
	over := func(v uint64) uint64 { return v - latency.MinNanoseconds }
	return measure.Delays{
		Samples: samples, MinNanoseconds: 0, MeanNanoseconds: over(latency.MeanNanoseconds),
		P50Nanoseconds: over(latency.P50Nanoseconds), P90Nanoseconds: over(latency.P90Nanoseconds),
		P99Nanoseconds: over(latency.P99Nanoseconds), P999Nanoseconds: over(latency.P999Nanoseconds),
		P9999Nanoseconds: over(latency.P9999Nanoseconds), MaxNanoseconds: over(latency.MaxNanoseconds),
	}
}
