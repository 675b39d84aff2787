package frames

import (
	"iter"
	"math/bits"

	"vnfbench.io/operator/internal/measure"
)

// Percentiles fills in the percentiles of delays by nearest rank, from their values in
// rising order with the number of samples of each. Samples without a value count as the
// maximum.
func Percentiles(d *measure.Delays, values iter.Seq2[uint64, uint64]) {
	wanted := []struct {
		tenThousandths uint64
		place          *uint64
	}{
		{5000, &d.P50Nanoseconds}, {9000, &d.P90Nanoseconds}, {9900, &d.P99Nanoseconds},
		{9990, &d.P999Nanoseconds}, {9999, &d.P9999Nanoseconds},
	}
	var passed uint64
	for value, samples := range values {
		passed += samples
		for len(wanted) > 0 && passed >= rank(d.Samples, wanted[0].tenThousandths) {
			*wanted[0].place = value
			wanted = wanted[1:]
		}
		if len(wanted) == 0 {
			return
		}
	}
	for _, w := range wanted {
		*w.place = d.MaxNanoseconds
	}
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
