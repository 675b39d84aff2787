package measure_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfbench.io/operator/internal/measure"
)

var notStored = cmpopts.IgnoreFields(measure.Series{}, "Delays")

func TestSeriesAdd(t *testing.T) {
	s := &measure.Series{SlotNanoseconds: 100}
	for _, slot := range []measure.Slot{
		{DueFrames: 10, SentFrames: 10, ReceivedFrames: 10, DelaySum: 50, MaxNanoseconds: 9, Delays: []measure.DelayCount{{Nanoseconds: 4, Frames: 9}, {Nanoseconds: 9, Frames: 1}}},
		{DueFrames: 10, SentFrames: 9, ReceivedFrames: 7, DelaySum: 70, MaxNanoseconds: 12, Delays: []measure.DelayCount{{Nanoseconds: 9, Frames: 5}, {Nanoseconds: 12, Frames: 2}}},
		{DueFrames: 10},
		{DueFrames: 10, SentFrames: 10, ReceivedFrames: 10, DelaySum: 40, MaxNanoseconds: 5, Delays: []measure.DelayCount{{Nanoseconds: 4, Frames: 10}}},
	} {
		s.Add(slot)
	}
	want := &measure.Series{
		SlotNanoseconds: 100, ReceivedFrames: []uint64{10, 7, 0, 10}, MissingFrames: []uint64{0, 3, 10, 0},
		MeanNanoseconds: []uint64{5, 10, 0, 4}, MaxNanoseconds: []uint64{9, 12, 0, 5}, LostFrames: []uint64{0, 2, 0, 0},
		P50Nanoseconds: []uint64{4, 9, 0, 4}, P99Nanoseconds: []uint64{9, 12, 0, 4},
	}
	if diff := cmp.Diff(want, s, notStored); diff != "" {
		t.Error(diff)
	}
	for n, want := range [][2]uint64{{10, 0}, {9, 2}, {0, 0}, {10, 0}} {
		sent, known := s.Sent(n)
		lost, _ := s.Lost(n)
		if got := [2]uint64{sent, lost}; got != want || !known {
			t.Errorf("slot %d: %v frames were sent and lost, known %t, want %v", n, got, known, want)
		}
	}
	// 17 frames of 5 and 10 ns, and 10 of 4 ns.
	folded := &measure.Series{
		SlotNanoseconds: 200, ReceivedFrames: []uint64{17, 10}, MissingFrames: []uint64{3, 10},
		MeanNanoseconds: []uint64{7, 4}, MaxNanoseconds: []uint64{12, 5}, LostFrames: []uint64{2, 0},
		P50Nanoseconds: []uint64{4, 4}, P99Nanoseconds: []uint64{12, 4},
	}
	if diff := cmp.Diff(folded, s.Folded(3), notStored); diff != "" {
		t.Error(diff)
	}
	// Percentiles of two slots do not follow from those of each.
	s.Delays = nil
	folded.LostFrames, folded.P50Nanoseconds, folded.P99Nanoseconds = nil, nil, nil
	if diff := cmp.Diff(folded, s.Folded(3), notStored); diff != "" {
		t.Error(diff)
	}
	if _, known := s.Folded(3).Sent(0); known {
		t.Error("it says what was sent, which it does not know")
	}
	// Where all that is due is sent, the frames that are received and missing say so.
	whole := &measure.Series{}
	whole.Add(measure.Slot{DueFrames: 10, SentFrames: 10, ReceivedFrames: 8})
	if sent, known := whole.Sent(0); whole.LostFrames != nil || sent != 10 || !known {
		t.Errorf("%d frames were sent of 10, known %t, stored %v", sent, known, whole.LostFrames)
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
	sent := func(s *measure.Series) (sum uint64) {
		for n := range s.ReceivedFrames {
			of, _ := s.Sent(n)
			sum += of
		}
		return sum
	}
	for n := 1; n <= 64; n++ {
		s := &measure.Series{SlotNanoseconds: 1000}
		for range n {
			received := random.Uint64N(1000)
			due := received + random.Uint64N(3)
			s.Add(measure.Slot{DueFrames: due, SentFrames: due - random.Uint64N(due-received+1), ReceivedFrames: received, DelaySum: received * random.Uint64N(1e6), MaxNanoseconds: random.Uint64N(1e9)})
		}
		for _, most := range []int{64, 32, 16, 1} {
			got := s.Folded(most)
			if len(got.ReceivedFrames) > most || len(got.MeanNanoseconds) != len(got.ReceivedFrames) || len(got.MaxNanoseconds) != len(got.ReceivedFrames) ||
				total(got.ReceivedFrames) != total(s.ReceivedFrames) || total(got.MissingFrames) != total(s.MissingFrames) || sent(got) != sent(s) ||
				slices.Max(got.MaxNanoseconds) != slices.Max(s.MaxNanoseconds) {
				t.Errorf("%d slots made at most %d: %+v", n, most, got)
			}
		}
		if s.Folded(0) != nil || (*measure.Series)(nil).Folded(64) != nil {
			t.Error("a series without slots")
		}
	}
}
