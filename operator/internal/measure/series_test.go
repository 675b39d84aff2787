package measure_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
)

func TestSeriesAdd(t *testing.T) {
	s := &measure.Series{SlotNanoseconds: 100}
	s.Add(10, 10, 50, 9)
	s.Add(10, 7, 70, 12)
	s.Add(10, 0, 0, 0)
	s.Add(10, 10, 40, 5)
	want := &measure.Series{
		SlotNanoseconds: 100, ReceivedFrames: []uint64{10, 7, 0, 10}, MissingFrames: []uint64{0, 3, 10, 0},
		MeanNanoseconds: []uint64{5, 10, 0, 4}, MaxNanoseconds: []uint64{9, 12, 0, 5},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	// 17 frames of 5 and 10 ns, and 10 of 4 ns.
	folded := &measure.Series{
		SlotNanoseconds: 200, ReceivedFrames: []uint64{17, 10}, MissingFrames: []uint64{3, 10},
		MeanNanoseconds: []uint64{7, 4}, MaxNanoseconds: []uint64{12, 5},
	}
	if diff := cmp.Diff(folded, s.Folded(3)); diff != "" {
		t.Error(diff)
	}
}

// What folding keeps is what was there: the frames, their delays to a nanosecond each, the largest.
func TestSeriesFolded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	total := func(all []uint64) (sum uint64) {
		for _, n := range all {
			sum += n
		}
		return sum
	}
	for n := 1; n <= 64; n++ {
		s := &measure.Series{SlotNanoseconds: 1000}
		for range n {
			received := random.Uint64N(1000)
			s.Add(received+random.Uint64N(2), received, received*random.Uint64N(1e6), random.Uint64N(1e9))
		}
		for _, most := range []int{64, 32, 16, 1} {
			got := s.Folded(most)
			if len(got.ReceivedFrames) > most || len(got.MeanNanoseconds) != len(got.ReceivedFrames) || len(got.MaxNanoseconds) != len(got.ReceivedFrames) ||
				total(got.ReceivedFrames) != total(s.ReceivedFrames) || total(got.MissingFrames) != total(s.MissingFrames) ||
				slices.Max(got.MaxNanoseconds) != slices.Max(s.MaxNanoseconds) {
				t.Errorf("%d slots made at most %d: %+v", n, most, got)
			}
		}
		if s.Folded(0) != nil || (*measure.Series)(nil).Folded(64) != nil {
			t.Error("a series without slots")
		}
	}
}
