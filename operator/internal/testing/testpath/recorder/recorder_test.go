package recorder

import "testing"

func TestGapErrors(t *testing.T) {
	times := []uint64{0}
	// 98 exact gaps, one too long, one too short by as much.
	for range 98 {
		times = append(times, times[len(times)-1]+100_000)
	}
	times = append(times, times[98]+100_007, times[98]+200_000)
	want := Errors{Gaps: 100, P50Nanoseconds: 0, P99Nanoseconds: 7, P999Nanoseconds: 7, MaxNanoseconds: 7}
	if got := GapErrors(times, 10_000); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// Of 1,000 gaps one is off by 1,000 ns, and three by more.
	times = []uint64{0}
	for i := range 1000 {
		off := map[int]uint64{100: 1000, 300: 1001, 500: 1002, 700: 9000}[i]
		times = append(times, times[len(times)-1]+100_000+off)
	}
	want = Errors{Gaps: 1000, Above: 3, P999Nanoseconds: 1002, MaxNanoseconds: 9000}
	if got := GapErrors(times, 10_000); got != want || got.AbovePercent() != 0.3 {
		t.Errorf("got %+v, %f, want %+v", got, got.AbovePercent(), want)
	}
	if got := GapErrors(times[:1], 10_000); got != (Errors{}) {
		t.Errorf("of one departure: %+v", got)
	}
}
