package evidence

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCounterDeltas checks which counters are kept, and that nothing is below 0.
func TestCounterDeltas(t *testing.T) {
	many, kept := map[string]int64{}, map[string]int64{}
	for i := range maxCounters + 3 {
		name := fmt.Sprintf("a%02d", i)
		if many[name] = int64(i); i < maxCounters {
			kept[name] = 0
		}
	}
	for name, test := range map[string]struct{ before, after, want map[string]int64 }{
		"none":          {nil, nil, nil},
		"rose and not":  {map[string]int64{"a": 1, "b": 2}, map[string]int64{"a": 5, "b": 2}, map[string]int64{"a": 4, "b": 0}},
		"fell":          {map[string]int64{"a": 5}, map[string]int64{"a": 1}, map[string]int64{"a": 0}},
		"came and went": {map[string]int64{"a": 5}, map[string]int64{"b": 5}, nil},
		"odd names":     {map[string]int64{"": 1, "A": 1, "a b": 1, "ok": 1}, map[string]int64{"": 1, "A": 1, "a b": 1, "ok": 1}, map[string]int64{"ok": 0}},
		"too many":      {many, many, kept},
	} {
		if diff := cmp.Diff(test.want, counterDeltas(test.before, test.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
