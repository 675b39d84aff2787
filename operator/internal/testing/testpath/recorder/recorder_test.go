package recorder

import "testing"

func TestGapErrors(t *testing.T) {
	times := []uint64{0}
	// 98 exact gaps, one too long, one too short by as much.
	for range 98 {
		times = append(times, times[len(times)-1]+100_000)
	}
	times = append(times, times[98]+100_007, times[98]+200_000)
	want := Errors{Gaps: 100, P50Nanoseconds: 0, P99Nanoseconds: 7, MaxNanoseconds: 7}
	if got := GapErrors(times, 10_000); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := GapErrors(times[:1], 10_000); got != (Errors{}) {
		t.Errorf("of one departure: %+v", got)
	}
}
