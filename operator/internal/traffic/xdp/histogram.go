package xdp

import (
	"iter"
	"math/bits"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

// The histogram's shape, as in layout.h.
const (
	bucketBits = 10
	valueBits  = 34
	buckets    = (valueBits - bucketBits + 1) << bucketBits
)

const (
	histogramDelay = iota
	histogramVariation
	histogramLateness
	histogramSinceDeparture
	histogramJitter
	// histogramsEach is how many a direction has.
	histogramsEach
)

// bucketOf does the same as count_in in traffic.bpf.c. A value beyond the range is in no
// bucket: buckets or more.
func bucketOf(value uint64) int {
	shift := bits.Len64(value >> (bucketBits + 1))
	return shift<<bucketBits + int(value>>shift)
}

// bucketMiddle returns the value that represents all in a bucket: at most 1/2048 away
// from each.
func bucketMiddle(bucket int) uint64 {
	if bucket < 2<<bucketBits {
		return uint64(bucket)
	}
	shift := bucket>>bucketBits - 1
	lowest := (uint64(bucket)&(1<<bucketBits-1) + 1<<bucketBits) << shift
	return lowest + 1<<shift/2
}

// delays summarizes one histogram.
func delays(histogram *[buckets]uint64, s trafficSpread) measure.Delays {
	if s.Samples == 0 {
		return measure.Delays{}
	}
	d := measure.Delays{Samples: s.Samples, MinNanoseconds: s.Min, MeanNanoseconds: s.Sum / s.Samples, MaxNanoseconds: s.Max}
	frames.Percentiles(&d, values(histogram, s))
	return d
}

// briefly summarizes a histogram of which only the maximum is kept exactly.
func briefly(histogram *[buckets]uint64, maximum uint64) measure.DelayQuantiles {
	s := trafficSpread{Max: maximum}
	for _, n := range histogram {
		s.Samples += n
	}
	if s.Samples == 0 {
		return measure.DelayQuantiles{}
	}
	p := frames.Quantiles(s.Samples, s.Max, values(histogram, s), 5000, 9900)
	return measure.DelayQuantiles{P50Nanoseconds: p[0], P99Nanoseconds: p[1], MaxNanoseconds: maximum}
}

// jitterOf summarizes RFC 3550's J, which is 0 before the first of its steps. Each step adds
// |D| - J in integers, so the sum of all values follows from that of all |D| and the last value.
func jitterOf(histogram *[buckets]uint64, r *trafficReceiver) *measure.Jitter {
	if r.Delay.Samples < 2 {
		return nil
	}
	largest := r.LargestJitter >> 4
	sampled := briefly(histogram, largest)
	sum := r.JitterChanges - min(r.Jitter, r.JitterChanges) + r.Jitter>>4
	return &measure.Jitter{MeanNanoseconds: min(sum/(r.Delay.Samples-1), largest), P99Nanoseconds: sampled.P99Nanoseconds, MaxNanoseconds: largest}
}

// distributions returns the whole histograms of delay, lateness and delay variation, nil if nothing arrived.
func distributions(histograms *[histogramsEach][buckets]uint64, t *trafficTransmitter, r *trafficReceiver) *measure.Distributions {
	if r.Delay.Samples == 0 {
		return nil
	}
	out := &measure.Distributions{Delay: distribution.Encode(whole(&histograms[histogramDelay], r.Delay))}
	if t.Latest > 0 {
		lateness := trafficSpread{Max: t.Latest}
		for _, n := range histograms[histogramLateness] {
			lateness.Samples += n
		}
		out.Lateness = distribution.Encode(whole(&histograms[histogramLateness], lateness))
	}
	out.DelayVariation = distribution.Encode(whole(&histograms[histogramVariation], r.Variation))
	return out
}

// whole does the same as values, with the samples beyond the histogram's range as the maximum.
func whole(histogram *[buckets]uint64, s trafficSpread) iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		beyond := s.Samples
		for value, n := range values(histogram, s) {
			beyond -= min(beyond, n)
			if !yield(value, n) {
				return
			}
		}
		if beyond > 0 {
			yield(s.Max, beyond)
		}
	}
}

// above returns how many values of a histogram are more than a limit, to a bucket.
func above(histogram *[buckets]uint64, limit uint64) (n uint64) {
	for _, in := range histogram[bucketOf(limit)+1:] {
		n += in
	}
	return n
}

// values returns the value that represents each bucket, within the exact minimum and
// maximum, and the number of samples in the bucket.
func values(histogram *[buckets]uint64, s trafficSpread) iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		for bucket, n := range histogram {
			if n > 0 && !yield(min(max(bucketMiddle(bucket), s.Min), s.Max), n) {
				return
			}
		}
	}
}
