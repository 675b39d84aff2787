package xdp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBucketsAreContiguousAndNarrow(t *testing.T) {
	previous := -1
	for value := uint64(0); value < 1<<valueBits; value += 1 + value>>13 {
		bucket := bucketOf(value)
		if bucket != previous && bucket != previous+1 {
			t.Fatalf("value %d is in bucket %d, the one below in %d", value, bucket, previous)
		}
		previous = bucket
		middle := bucketMiddle(bucket)
		if off := math.Abs(float64(middle) - float64(value)); off > float64(value)/1000 {
			t.Fatalf("value %d is shown as %d, more than 0.1 %% off", value, middle)
		}
	}
	if previous != buckets-1 {
		t.Errorf("the largest value is in bucket %d, want %d", previous, buckets-1)
	}
	for _, value := range []uint64{1 << valueBits, math.MaxUint64} {
		if got := bucketOf(value); got < buckets {
			t.Errorf("value %d beyond the range is in bucket %d", value, got)
		}
	}
}

func TestDelaysAgainstSortedValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() uint64{
		"small":        func() uint64 { return random.Uint64N(100) },
		"microseconds": func() uint64 { return 1500 + random.Uint64N(20_000) },
		"long tail":    func() uint64 { return uint64(2000 / (1 - random.Float64())) },
	} {
		t.Run(name, func(t *testing.T) {
			var histogram [buckets]uint64
			values := make([]uint64, 50_001)
			s := trafficSpread{Min: math.MaxUint64}
			for i := range values {
				v := draw()
				values[i] = v
				histogram[bucketOf(v)]++
				s.Samples++
				s.Sum += v
				s.Min, s.Max = min(s.Min, v), max(s.Max, v)
			}
			slices.Sort(values)
			got := delays(&histogram, s)
			if got.MinNanoseconds != values[0] || got.MaxNanoseconds != values[len(values)-1] {
				t.Errorf("range %d to %d, want %d to %d", got.MinNanoseconds, got.MaxNanoseconds, values[0], values[len(values)-1])
			}
			if got.MeanNanoseconds != s.Sum/s.Samples {
				t.Errorf("mean %d, want %d", got.MeanNanoseconds, s.Sum/s.Samples)
			}
			for _, p := range []struct {
				tenThousandths int
				got            uint64
			}{
				{5000, got.P50Nanoseconds}, {9000, got.P90Nanoseconds}, {9900, got.P99Nanoseconds},
				{9990, got.P999Nanoseconds}, {9999, got.P9999Nanoseconds},
			} {
				want := values[(len(values)*p.tenThousandths+9999)/10000-1]
				if math.Abs(float64(p.got)-float64(want)) > float64(want)/1000 {
					t.Errorf("percentile %d/10000 is %d, want %d", p.tenThousandths, p.got, want)
				}
			}
		})
	}
}

func TestDelaysOfNothing(t *testing.T) {
	var histogram [buckets]uint64
	if got := delays(&histogram, trafficSpread{Min: math.MaxUint64}); got.Samples != 0 || got.MinNanoseconds != 0 {
		t.Errorf("no samples give %+v", got)
	}
}
