package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// usageInterval is how often the memory of a manager is looked at, ownInterval that of this process.
const (
	usageInterval = 200 * time.Millisecond
	ownInterval   = time.Millisecond
)

// restScrapes is how many scrapes say what one of them allocates.
const restScrapes = 5

var usageColumns = []column{
	{"time s", 2}, {"CPU s", 2}, {"manager's writes", 0}, {"allocated MiB", 1},
	{"heap MiB before", 1}, {"highest heap MiB", 1}, {"RSS MiB before", 1}, {"highest RSS MiB", 1},
}

// observe does something, and notes what the manager needs meanwhile. What its scrapes allocate is left out.
func (n *node) observe(ctx context.Context, manager *process, figures map[string]float64, do func(context.Context) error) error {
	first, err := n.sample(ctx, manager)
	if err != nil {
		return err
	}
	for range restScrapes - 1 {
		if _, err := n.sample(ctx, manager); err != nil {
			return err
		}
	}
	if err := manager.forgetPeak(); err != nil {
		return err
	}
	from, err := n.sample(ctx, manager)
	if err != nil {
		return err
	}
	ofScrape := (from.allocated - first.allocated) / restScrapes

	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var watcher sync.WaitGroup
	highest, scrapes := from.heap, 0
	watcher.Go(func() {
		ticker := time.NewTicker(usageInterval)
		defer ticker.Stop()
		for {
			select {
			case <-watching.Done():
				return
			case <-ticker.C:
			}
			s, err := n.sample(ctx, manager)
			if err != nil {
				stop(err)
				return
			}
			highest, scrapes = max(highest, s.heap), scrapes+1
		}
	})
	start := time.Now()
	err = do(watching)
	took := time.Since(start)
	if cause := context.Cause(watching); cause != nil {
		err = errors.Join(cause, err)
	}
	stop(nil)
	watcher.Wait()
	if err != nil {
		return err
	}
	to, err := n.sample(ctx, manager)
	if err != nil {
		return err
	}
	figures["time s"], figures["CPU s"] = took.Seconds(), (to.cpu - from.cpu).Seconds()
	figures["manager's writes"] = to.writes - from.writes
	figures["allocated MiB"] = max(0, to.allocated-from.allocated-ofScrape*float64(scrapes+1))
	figures["heap MiB before"], figures["highest heap MiB"] = from.heap, max(highest, to.heap)
	figures["RSS MiB before"], figures["highest RSS MiB"] = from.rss, to.peak
	return nil
}

// forgetPeak makes the kernel begin again to note the most resident memory: see /proc/PID/clear_refs in proc(5).
func (p *process) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.command.Process.Pid), []byte("5"), 0)
}

// need is what something took in this process.
type need struct {
	seconds              float64
	allocatedMiB, topMiB float64
}

// heapBytes and allocatedBytes are metrics of the runtime: what is on the heap, with what is not collected yet, and all that was ever there.
const (
	heapBytes      = "/memory/classes/heap/objects:bytes"
	allocatedBytes = "/gc/heap/allocs:bytes"
)

// spend does something in this process, and returns what it took. topMiB is the most that was on the heap in addition to what was there before.
func spend(do func() error) (need, error) {
	read := func() (heap, allocated float64) {
		samples := []metrics.Sample{{Name: heapBytes}, {Name: allocatedBytes}}
		metrics.Read(samples)
		return float64(samples[0].Value.Uint64()) / (1 << 20), float64(samples[1].Value.Uint64()) / (1 << 20)
	}
	runtime.GC()
	before, from := read()
	top, done := before, make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			heap, _ := read()
			top = max(top, heap)
			select {
			case <-done:
				return
			case <-time.After(ownInterval):
			}
		}
	})
	start := time.Now()
	err := do()
	took := time.Since(start)
	close(done)
	watcher.Wait()
	_, to := read()
	return need{took.Seconds(), to - from, top - before}, err
}

// into stores what something took as figures.
func (n need) into(figures map[string]float64, name string) {
	figures[name+" s"], figures[name+" allocates MiB"], figures[name+"'s highest heap MiB"] = n.seconds, n.allocatedMiB, n.topMiB
}
