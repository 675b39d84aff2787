package xdp

import (
	"math/bits"

	"vnfbench.io/operator/internal/measure"
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

// The percentiles of measure.Delays, in ten-thousandths.
var percentiles = [...]uint64{5000, 9000, 9900, 9990, 9999}

// delays summarizes one histogram. Percentiles are by nearest rank.
func delays(histogram *[buckets]uint64, s trafficSpread) measure.Delays {
	if s.Samples == 0 {
		return measure.Delays{}
	}
	p := quantiles(histogram, percentiles[:], s)
	return measure.Delays{
		Samples:          s.Samples,
		MinNanoseconds:   s.Min,
		MeanNanoseconds:  s.Sum / s.Samples,
		P50Nanoseconds:   p[0],
		P90Nanoseconds:   p[1],
		P99Nanoseconds:   p[2],
		P999Nanoseconds:  p[3],
		P9999Nanoseconds: p[4],
		MaxNanoseconds:   s.Max,
	}
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
	p := quantiles(histogram, []uint64{5000, 9900}, s)
	return measure.DelayQuantiles{P50Nanoseconds: p[0], P99Nanoseconds: p[1], MaxNanoseconds: maximum}
}

// above returns how many values of a histogram are more than a limit, to a bucket.
func above(histogram *[buckets]uint64, limit uint64) (n uint64) {
	for _, in := range histogram[bucketOf(limit)+1:] {
		n += in
	}
	return n
}

// quantiles reads the buckets once; the wanted ten-thousandths rise. It keeps what a
// bucket shows within the exact minimum and maximum; what is in none counts as the
// maximum.
func quantiles(histogram *[buckets]uint64, wanted []uint64, s trafficSpread) []uint64 {
	found := make([]uint64, 0, len(wanted))
	var passed uint64
	for bucket, n := range histogram {
		passed += n
		for len(found) < len(wanted) && passed >= rank(s.Samples, wanted[len(found)]) {
			found = append(found, min(max(bucketMiddle(bucket), s.Min), s.Max))
		}
		if len(found) == len(wanted) {
			return found
		}
	}
	for len(found) < len(wanted) {
		found = append(found, s.Max)
	}
	return found
}

// rank returns ceil(samples * tenThousandths / 10000).
func rank(samples, tenThousandths uint64) uint64 {
	high, low := bits.Mul64(samples, tenThousandths)
	whole, rest := bits.Div64(high, low, 10000)
	if rest > 0 {
		whole++
	}
	return whole
}
