package frames

import (
	"math/rand/v2"
	"slices"
	"testing"

	"vnfbench.io/operator/internal/measure"
)

// A lost frame took longer than any that arrived, so the percentiles are those of all frames sorted,
// or lost.
func TestOfSent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		sent := 2 + random.IntN(3000)
		lost := random.IntN(1 + random.IntN(sent))
		delays := make([]uint64, sent-lost)
		for i := range delays {
			delays[i] = 1 + random.Uint64N(1e6)
		}
		slices.Sort(delays)
		values := func(yield func(uint64, uint64) bool) {
			for _, d := range delays {
				if !yield(d, 1) {
					return
				}
			}
		}
		got := OfSent(uint64(sent), measure.Delays{Samples: uint64(len(delays)), MaxNanoseconds: delays[len(delays)-1]}, values)
		if lost == 0 {
			if got != nil {
				t.Errorf("%+v where none is lost", got)
			}
			continue
		}
		at := func(tenThousandths int) uint64 {
			if n := (sent*tenThousandths + 9999) / 10000; n <= len(delays) {
				return delays[n-1]
			}
			return 0
		}
		if want := (measure.SentDelays{P99Nanoseconds: at(9900), P999Nanoseconds: at(9990)}); *got != want {
			t.Errorf("%d of %d frames lost: %+v, want %+v", lost, sent, *got, want)
		}
	}
	if got := OfSent(10, measure.Delays{}, nil); got != nil {
		t.Errorf("%+v where all are lost", got)
	}
}
