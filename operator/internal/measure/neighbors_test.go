package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Operations add up, and their rate is that over the time of both loads.
func TestAddStressors(t *testing.T) {
	first := []Stressor{{"cpu", 1000, 100}, {"vm", 7, 1}}
	got := AddStressors(first, []Stressor{{"cpu", 1000, 50}, {"hdd", 5, 5}, {"vm", 0, 0}})
	// 1000 in 10 s and 1000 in 20 s.
	want := []Stressor{{"cpu", 2000, 67}, {"vm", 7, 1}, {"hdd", 5, 5}}
	if diff := cmp.Diff(want, got); diff != "" || first[0].Operations != 1000 {
		t.Error(diff, first)
	}
	if got := AddStressors(nil, []Stressor{{"cpu", 0, 0}}); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
