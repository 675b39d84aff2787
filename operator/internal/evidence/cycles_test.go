package evidence

import (
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/observer"
)

// TestCycles checks that the cycles of a trial are the difference of two counts, and absent with a note where one
// of them is missing.
func TestCycles(t *testing.T) {
	counted := func(s observer.Snapshot, cycles int64) observer.Snapshot {
		s.Cycles = &cycles
		return s
	}
	failed := func(s observer.Snapshot) observer.Snapshot {
		s.CyclesProblem = "another program uses the counter of CPU 3"
		return s
	}
	first, second := snapshot(10*time.Second, 500, 40), snapshot(11*time.Second, 600, 40)
	for name, test := range map[string]struct {
		before, after observer.Snapshot
		want          *int64
		note          string
	}{
		"counted":        {counted(first, 5_000_000_000), counted(second, 8_000_000_007), new(int64(3_000_000_007)), ""},
		"not asked for":  {first, second, nil, ""},
		"lost meanwhile": {counted(first, 5_000_000_000), failed(second), nil, "CPU 3"},
		"never counts":   {counted(first, 0), counted(second, 0), nil, "did not count"},
		"lost before":    {failed(first), counted(second, 8_000_000_007), nil, "CPU 3"},
	} {
		t.Run(name, func(t *testing.T) {
			node, address := newPods(t)
			c := New(measure.Sources{Observer: address}, "")
			defer c.Close()
			node.say(observer.PathSnapshot, test.before)
			before := c.Before(t.Context())
			node.say(observer.PathSnapshot, test.after)
			got := c.Between(before, c.After(t.Context(), 0), time.Second)
			if (got.Cycles == nil) != (test.want == nil) || got.Cycles != nil && *got.Cycles != *test.want {
				t.Errorf("%v cycles", got.Cycles)
			}
			if notes := strings.Join(got.Notes, "; "); (notes == "") != (test.note == "") || !strings.Contains(notes, test.note) {
				t.Errorf("notes %q", notes)
			}
			if got.Node == nil {
				t.Error("the processor time is missing too")
			}
		})
	}
}

// TestCycleCounter checks that the device's state says why nothing is counted.
func TestCycleCounter(t *testing.T) {
	node, address := newPods(t)
	c := New(measure.Sources{Observer: address}, "")
	defer c.Close()
	node.say(observer.PathNode, observer.Node{CycleCounter: v1alpha1.CycleCounterNoCounter, Problems: []string{"none"}})
	if got := c.Device(t.Context()); got.CycleCounter != v1alpha1.CycleCounterNoCounter || len(got.Problems) != 1 {
		t.Errorf("%+v", got)
	}
}
