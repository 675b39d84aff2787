package recorder

import "testing"

func TestGapErrors(t *testing.T) {
	// 100 gaps of 1 ms, one of them 500 ns short and the next 7 ns long.
	records := make([]record, 101)
	for i := range records {
		records[i].sentAt = 5 + uint64(i)*1e6
	}
	records[40].sentAt -= 500
	for i := 41; i < len(records); i++ {
		records[i].sentAt -= 493
	}
	got := gapErrors(records, 1000, func(r record) uint64 { return r.sentAt })
	if want := (Errors{Gaps: 100, P99Nanoseconds: 7, MaxNanoseconds: 500}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := gapErrors(records[:1], 1000, func(r record) uint64 { return r.sentAt }); got != (Errors{}) {
		t.Errorf("one departure has no gap: %+v", got)
	}
}
