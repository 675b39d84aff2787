package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/testing/testpath/recorder"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// spinner is the peer of the pacing comparison: a user-space thread, alone on the driver's CPU,
// that reads the clock until a frame is due, notes the time and sends nothing. Its error is the
// machine's own: ticks, interrupts, hypervisor, and the resolution of the clock.
type spinner struct {
	cpu int
	// scheduling is xdp.Fair or xdp.RealTime.
	scheduling string
	// why is empty if scheduling is the driver's.
	why string
	// pause, before every round of the spinner's and the driver's, keeps
	// real-time threads within the kernel's limit.
	pause time.Duration
}

// spinnerFor returns a spinner that is scheduled as the driver is, if the kernel's limit on
// real-time threads lets a thread that never sleeps have its CPU for a window.
func spinnerFor(cpu int, scheduling string, window time.Duration) spinner {
	s := spinner{cpu: cpu, scheduling: scheduling}
	if scheduling != xdp.RealTime {
		return s
	}
	runtime, period, err := realTimeLimit()
	switch {
	case err != nil:
		s.scheduling, s.why = xdp.Fair, fmt.Sprintf("the kernel's limit on real-time threads is not known: %v", err)
	case runtime < 0:
	case window >= runtime:
		s.scheduling = xdp.Fair
		s.why = fmt.Sprintf("the kernel lets real-time threads run for %v of each %v, rounds are longer", runtime, period)
	default:
		s.pause = period - window
	}
	return s
}

// realTimeLimit returns how long real-time threads may run in each period. It is below 0 if they
// always may.
func realTimeLimit() (runtime, period time.Duration, err error) {
	var microseconds [2]int64
	for i, name := range []string{"runtime", "period"} {
		text, err := os.ReadFile("/proc/sys/kernel/sched_rt_" + name + "_us")
		if err != nil {
			return 0, 0, err
		}
		if microseconds[i], err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(microseconds[0]) * time.Microsecond, time.Duration(microseconds[1]) * time.Microsecond, nil
}

// round spins for a window, at a driver's schedule for the rate.
func (s spinner) round(framesPerSecond uint64, window time.Duration) (recorder.Errors, error) {
	// The thread cannot be stopped for a garbage collection, so there must be none.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	departures := make([]uint64, uint64(window.Seconds()*float64(framesPerSecond)))
	// Write to all pages now, so that none is missing later.
	for i := range departures {
		departures[i] = 1
	}
	type result struct {
		made int
		err  error
	}
	done := make(chan result)
	go func() {
		// Never unlocked: the thread and its changes end with the goroutine.
		runtime.LockOSThread()
		if err := s.settle(); err != nil {
			done <- result{err: err}
			return
		}
		start := uint64(nanotime()) + uint64(10*time.Millisecond)
		made := spin(departures, framesPerSecond, start, start+uint64(window))
		done <- result{made: made}
	}()
	got := <-done
	return recorder.GapErrors(departures[:got.made], framesPerSecond), got.err
}

// settle pins the calling thread and blocks all its signals, including the runtime's for
// preemption: their handling would appear as the machine's error.
func (s spinner) settle() error {
	var only unix.CPUSet
	only.Set(s.cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("pinning the spinner to CPU %d: %w", s.cpu, err)
	}
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		return fmt.Errorf("masking the spinner's signals: %w", err)
	}
	if s.scheduling != xdp.RealTime {
		return nil
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return fmt.Errorf("setting the spinner's SCHED_FIFO: %w", err)
	}
	return nil
}

// nanotime returns CLOCK_MONOTONIC, read in user space.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// spin notes when each frame would have left, and how many did before the end. It may call only
// nosplit functions: at the start of any other function the runtime preempts a goroutine that has
// run for 10 ms.
//
//go:nosplit
func spin(departures []uint64, framesPerSecond, due, end uint64) int {
	gap, rest := 1e9/framesPerSecond, 1e9%framesPerSecond
	remainder := uint64(0)
	for i := range departures {
		now := uint64(nanotime())
		for now < due {
			now = uint64(nanotime())
		}
		if now >= end {
			return i
		}
		departures[i] = now
		due, remainder = due+gap, remainder+rest
		if remainder >= framesPerSecond {
			due, remainder = due+1, remainder-framesPerSecond
		}
	}
	return len(departures)
}
