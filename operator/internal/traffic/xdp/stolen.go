package xdp

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A stopwatch looks maxReads times, with pauses of readPause, for a time at which its thread runs. At most readSlack of what it
// counts as stolen was another thread's turn.
const (
	maxReads  = 100
	readPause = 100 * time.Microsecond
	readSlack = 100 * time.Microsecond
)

// stopwatch finds out for how long a hypervisor held the core of a thread that never sleeps: that
// time passed, the thread did not run in it, and no other thread of the kernel did either. The
// kernel's own figure counts in steps of 10 ms.
//
// A kernel that accounts for the time of interrupts does not count it as the thread's either. The
// device's own work is among that, so a stopwatch shows nothing there.
type stopwatch struct {
	statistics *os.File
	clock      int32
	began      schedule
	started    bool
}

// schedule is what the kernel says of a thread at one time, since it began.
type schedule struct{ at, ran, waited time.Duration }

// cpuClockOf returns the clock of a thread's time on CPUs (the kernel's MAKE_THREAD_CPUCLOCK with
// CPUCLOCK_SCHED). It is exact while the thread runs, and the kernel's statistics are not.
func cpuClockOf(thread int) int32 { return int32(^thread)<<3 | 6 }

// newStopwatch opens what start and stop read, so that these allocate nothing.
func newStopwatch(thread int) (*stopwatch, error) {
	statistics, err := os.Open(fmt.Sprintf("/proc/self/task/%d/schedstat", thread))
	if err != nil {
		return nil, err
	}
	return &stopwatch{statistics: statistics, clock: cpuClockOf(thread)}, nil
}

// read returns what holds once the thread runs: what a thread has waited until now is only known
// afterwards. On a core that both share, the thread waits while read does, so what is known of a pause
// in which it ran has to do. read gives up after some turns of other threads.
func (w *stopwatch) read(ctx context.Context, pause *pause) (s schedule, ok bool) {
	for range maxReads {
		before, ok := w.readOnce()
		now, again := w.readOnce()
		if !ok || !again {
			return s, false
		}
		if now.waited == before.waited && now.ran-before.ran >= (now.at-before.at)/2 {
			return now, true
		}
		if pause.wait(ctx, readPause) != nil {
			return s, false
		}
		later, ok := w.readOnce()
		if ok && later.since(now).explained() {
			return later, true
		}
	}
	return s, false
}

func (w *stopwatch) readOnce() (s schedule, ok bool) {
	var buffer [64]byte
	var now, ran unix.Timespec
	n, err := unix.Pread(int(w.statistics.Fd()), buffer[:], 0)
	if err != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil || unix.ClockGettime(w.clock, &ran) != nil {
		return s, false
	}
	waited, ok := secondNumber(buffer[:n])
	return schedule{time.Duration(now.Nano()), time.Duration(ran.Nano()), time.Duration(waited)}, ok
}

// secondNumber returns the second of the numbers in a text.
func secondNumber(text []byte) (number int64, ok bool) {
	_, text, ok = bytes.Cut(text, []byte(" "))
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		number = number*10 + int64(c-'0')
	}
	return number, ok
}

// start begins to count.
func (w *stopwatch) start(ctx context.Context, pause *pause) {
	if w != nil {
		w.began, w.started = w.read(ctx, pause)
	}
}

// stop returns the time since start; 0 and false where it is not known.
func (w *stopwatch) stop(ctx context.Context, pause *pause) (stolen time.Duration, known bool) {
	if w == nil || !w.started {
		return 0, false
	}
	now, ok := w.read(ctx, pause)
	if !ok {
		return 0, false
	}
	return now.since(w.began).missing(), true
}

func (s schedule) since(before schedule) schedule {
	return schedule{s.at - before.at, s.ran - before.ran, s.waited - before.waited}
}

// explained reports whether the thread ran for most of the time, and what it did in the rest is known.
func (s schedule) explained() bool {
	return s.ran >= s.at/2 && (s.at-s.ran-s.waited).Abs() < readSlack
}

// missing returns the time in which the thread neither ran nor waited for others.
func (s schedule) missing() time.Duration { return max(0, s.at-s.ran-s.waited) }

func (w *stopwatch) close() {
	if w != nil {
		_ = w.statistics.Close()
	}
}

// showsSteal reports whether the kernel takes a hypervisor's turns from the time of the threads that they meet
// (CONFIG_PARAVIRT_TIME_ACCOUNTING), by a field that only such a kernel has.
func showsSteal() bool {
	types, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	return err == nil && bytes.Contains(types, []byte("\x00prev_steal_time_rq\x00"))
}

// accountsForInterrupts reports whether the kernel takes the time of interrupts from that of the
// threads that they meet (CONFIG_IRQ_TIME_ACCOUNTING), by a type that only such a kernel has; true
// where that cannot be read.
func accountsForInterrupts() bool {
	types, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	return err != nil || bytes.Contains(types, []byte("\x00irqtime\x00"))
}
