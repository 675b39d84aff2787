package frames

import (
	"iter"
	"math/bits"

	"vnfbench.io/operator/internal/measure"
)

// Percentiles fills in the percentiles of delays.
func Percentiles(d *measure.Delays, values iter.Seq2[uint64, uint64]) {
	p := Quantiles(d.Samples, d.MaxNanoseconds, values, 5000, 9000, 9900, 9990, 9999)
	d.P50Nanoseconds, d.P90Nanoseconds, d.P99Nanoseconds, d.P999Nanoseconds, d.P9999Nanoseconds = p[0], p[1], p[2], p[3], p[4]
}

// Quantiles returns quantiles by nearest rank, which are given in rising ten-thousandths,
// from values in rising order with the number of samples of each. Samples without a value
// count as the maximum.
func Quantiles(samples, maximum uint64, values iter.Seq2[uint64, uint64], tenThousandths ...uint64) []uint64 {
	found := make([]uint64, 0, len(tenThousandths))
	var passed uint64
	for value, n := range values {
		passed += n
		for len(found) < len(tenThousandths) && passed >= rank(samples, tenThousandths[len(found)]) {
			found = append(found, value)
		}
		if len(found) == len(tenThousandths) {
			return found
		}
	}
	for len(found) < len(tenThousandths) {
		found = append(found, maximum)
	}
	return found
}

// OfSent returns percentiles over frames that were sent, from the delays of those that arrived; nil
// if none is missing, or all are.
func OfSent(sent uint64, d measure.Delays, values iter.Seq2[uint64, uint64]) *measure.SentDelays {
	if sent <= d.Samples || d.Samples == 0 {
		return nil
	}
	of := []uint64{9900, 9990}
	p := Quantiles(sent, d.MaxNanoseconds, values, of...)
	for i := range p {
		if rank(sent, of[i]) > d.Samples {
			p[i] = 0
		}
	}
	return &measure.SentDelays{P99Nanoseconds: p[0], P999Nanoseconds: p[1]}
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
