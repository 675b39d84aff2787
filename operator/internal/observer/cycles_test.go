package observer

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

// counter is a Counter for tests.
type counter struct {
	count int64
	err   error
}

func (c *counter) Read() (int64, error) { return c.count, c.err }

func TestCountCycles(t *testing.T) {
	n := newNode(t)
	o := n.observer(nil, time.Now)
	if s, err := o.Snapshot(); err != nil || s.Cycles != nil || s.CyclesProblem != "" || o.Node().CycleCounter != "" {
		t.Errorf("%+v, %v of an observer that was not asked", s, err)
	}
	var opened []int
	cycles := &counter{count: 12_345}
	o.CountCycles(func(cpus []int) (Counter, error) {
		opened = cpus
		return cycles, nil
	})
	if diff := cmp.Diff([]int{0, 1}, opened); diff != "" {
		t.Error(diff)
	}
	if s, err := o.Snapshot(); err != nil || s.Cycles == nil || *s.Cycles != 12_345 || s.CyclesProblem != "" {
		t.Errorf("%+v, %v", s, err)
	}
	if node := o.Node(); node.CycleCounter != v1alpha1.CycleCounterCounted {
		t.Errorf("%+v", node)
	}
	cycles.err = errors.New("another program uses it")
	if s, err := o.Snapshot(); err != nil || s.Cycles != nil || s.CyclesProblem != "another program uses it" {
		t.Errorf("%+v, %v of a counter that failed", s, err)
	}
	cycles.err = nil
	n.write("proc/stat", strings.Replace(nodeStat, "intr", "cpu2 1 1 1 1 1 1 1 1 1 1\nintr", 1))
	if s, err := o.Snapshot(); err != nil || s.Cycles != nil || !strings.Contains(s.CyclesProblem, "3 CPUs are online, and 2 were") {
		t.Errorf("%+v, %v with another CPU", s, err)
	}
}

// TestNoCycles checks that an observer without counters answers as before and names the cause.
func TestNoCycles(t *testing.T) {
	for number, want := range map[error]v1alpha1.CycleCounter{
		syscall.ENOENT: v1alpha1.CycleCounterNoCounter, syscall.EOPNOTSUPP: v1alpha1.CycleCounterNoCounter, syscall.ENODEV: v1alpha1.CycleCounterNoCounter,
		syscall.EACCES: v1alpha1.CycleCounterNotPermitted, syscall.EPERM: v1alpha1.CycleCounterNotPermitted,
		syscall.EMFILE: v1alpha1.CycleCounterFailed, syscall.ENOSYS: v1alpha1.CycleCounterFailed,
	} {
		o := newNode(t).observer(nil, time.Now)
		o.CountCycles(func([]int) (Counter, error) {
			return (*counter)(nil), fmt.Errorf("opening the counter of CPU 0: %w", number)
		})
		node := o.Node()
		if node.CycleCounter != want || len(node.Problems) == 0 || !strings.Contains(node.Problems[0], "cycles are not counted") ||
			!strings.Contains(node.Problems[0], number.Error()) {
			t.Errorf("%v: %s, %q", number, node.CycleCounter, node.Problems)
		}
		if s, err := o.Snapshot(); err != nil || s.Cycles != nil || s.CyclesProblem != "" || s.CPUs != 2 {
			t.Errorf("%v: %+v, %v", number, s, err)
		}
	}
}
