package frames

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
)

func TestPercentiles(t *testing.T) {
	for name, c := range map[string]struct {
		samples uint64
		values  []uint64 // of one sample each
		want    measure.Delays
	}{
		"one": {1, []uint64{7}, measure.Delays{P50Nanoseconds: 7, P90Nanoseconds: 7, P99Nanoseconds: 7, P999Nanoseconds: 7, P9999Nanoseconds: 7}},
		"ten": {10, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, measure.Delays{
			P50Nanoseconds: 5, P90Nanoseconds: 9, P99Nanoseconds: 10, P999Nanoseconds: 10, P9999Nanoseconds: 10,
		}},
		"two of ten without a value": {10, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, measure.Delays{
			P50Nanoseconds: 5, P90Nanoseconds: 99, P99Nanoseconds: 99, P999Nanoseconds: 99, P9999Nanoseconds: 99,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := measure.Delays{Samples: c.samples, MaxNanoseconds: 99}
			c.want.Samples, c.want.MaxNanoseconds = got.Samples, got.MaxNanoseconds
			Percentiles(&got, func(yield func(uint64, uint64) bool) {
				for _, value := range c.values {
					if !yield(value, 1) {
						return
					}
				}
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRank(t *testing.T) {
	for _, c := range []struct{ samples, tenThousandths, want uint64 }{
		{1, 5000, 1}, {2, 5000, 1}, {3, 5000, 2}, {10_000, 9999, 9999}, {10_001, 9999, 10_000},
		{math.MaxUint64 / 2, 5000, (math.MaxUint64/2 + 1) / 2},
	} {
		if got := rank(c.samples, c.tenThousandths); got != c.want {
			t.Errorf("rank(%d, %d) = %d, want %d", c.samples, c.tenThousandths, got, c.want)
		}
	}
}
