package observer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/proc"
)

// Counter counts the cycles of CPUs since it was opened.
type Counter interface {
	// Read returns the sum. It fails where not all of it was counted.
	Read() (int64, error)
}

// cycleCount is the count of the node's cycles. Its zero value counts nothing, and was not asked to.
type cycleCount struct {
	counter Counter
	// cpus are how many were online when it began.
	cpus int
	// state and problem say why there is no counter.
	state   v1alpha1.CycleCounter
	problem string
}

// CountCycles begins to count the cycles of the CPUs that are online. Where that is not possible, the node's
// document says why, and no snapshot has a count.
func (o *Observer) CountCycles(open func(cpus []int) (Counter, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, online, err := proc.ReadCPUs(o.proc)
	var counter Counter
	if err == nil {
		counter, err = open(slices.Sorted(maps.Keys(online)))
	}
	if err != nil {
		o.cycles.state, o.cycles.problem = whyNoCycles(err)
		return
	}
	o.cycles = cycleCount{counter: counter, cpus: len(online), state: v1alpha1.CycleCounterCounted}
}

// whyNoCycles names the cause of an error of perf_event_open(2).
func whyNoCycles(err error) (state v1alpha1.CycleCounter, problem string) {
	is := func(numbers ...syscall.Errno) bool {
		return slices.ContainsFunc(numbers, func(n syscall.Errno) bool { return errors.Is(err, n) })
	}
	switch {
	case is(syscall.ENOENT, syscall.ENODEV, syscall.EOPNOTSUPP):
		return v1alpha1.CycleCounterNoCounter, fmt.Sprintf(
			"cycles are not counted: the node's processors, or the hypervisor below, have no counter of them: %v", err)
	case is(syscall.EACCES, syscall.EPERM):
		return v1alpha1.CycleCounterNotPermitted, fmt.Sprintf(
			"cycles are not counted: the capability PERFMON, or what else the node asks of perf_event_open, is missing: %v", err)
	}
	return v1alpha1.CycleCounterFailed, fmt.Sprintf("cycles are not counted: %v", err)
}

// read fills in the node's cycles, or why they are not known at this moment.
func (c *cycleCount) read(s *Snapshot) {
	if c.counter == nil {
		return
	}
	if s.CPUs != c.cpus {
		s.CyclesProblem = fmt.Sprintf("%d CPUs are online, and %d were when counting began", s.CPUs, c.cpus)
		return
	}
	n, err := c.counter.Read()
	if err != nil {
		s.CyclesProblem = err.Error()
		return
	}
	s.Cycles = &n
}
