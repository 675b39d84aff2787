package xdp

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/nodefacts"
)

// How the kernel schedules the transmit threads.
const (
	// Fair shares a CPU with anything else that runs there.
	Fair = "Fair"
	// RealTime lets only the kernel's own urgent work preempt a transmit thread
	// (SCHED_FIFO). It needs the capability SYS_NICE.
	RealTime = "RealTime"
)

// realTimePriority is SCHED_FIFO's lowest: above every ordinary thread, below other
// real-time threads.
const realTimePriority = 1

func (d *Driver) chooseScheduling(allowed, online int) {
	wanted := d.config.Scheduling
	if wanted == Auto {
		wanted = unaskedScheduling(len(d.cpus), allowed, online, realTimeThrottled())
	}
	if wanted == RealTime {
		if err := mayBeRealTime(len(d.cpus), allowed); err != nil {
			wanted = Fair
			if d.config.Scheduling == RealTime {
				d.description.Fallbacks = append(d.description.Fallbacks,
					fmt.Sprintf("the transmit threads may not be scheduled in real time (%v): they share their CPUs", err))
			}
		}
	}
	d.description.Scheduling = wanted
	d.description.RealTimeLimited = wanted == RealTime && realTimeThrottled()
	d.starves = wanted == RealTime && nodefacts.StarvesSoftirqs(kernelRelease())
}

// kernelRelease returns that of the running kernel; "" where it is not known.
func kernelRelease() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

// mayBeRealTime returns why not. A real-time thread never sleeps: on the last CPU of this
// process it would keep out the threads that end the trial.
func mayBeRealTime(threads, allowed int) error {
	if threads >= allowed {
		return fmt.Errorf("no CPU is left in addition to the %d of %d that send", threads, allowed)
	}
	return tryRealTime()
}

// unaskedScheduling chooses RealTime only if it can harm neither the device nor the
// figures: on CPUs that were set aside, with another one left for the rest of the
// process, on a node whose kernel does not take a real-time thread off its CPU for 50 ms
// of each second.
func unaskedScheduling(threads, allowed, online int, throttled bool) string {
	if threads < allowed && allowed < online && !throttled {
		return RealTime
	}
	return Fair
}

// realTimeThrottled reports whether the kernel limits real-time threads, or may do so.
func realTimeThrottled() bool {
	text, err := os.ReadFile("/proc/sys/kernel/sched_rt_runtime_us")
	return err != nil || strings.TrimSpace(string(text)) != "-1"
}

// tryRealTime returns why this process may not have real-time threads.
func tryRealTime() error {
	runtime.LockOSThread()
	back, err := becomeRealTime()
	if err == nil {
		err = back()
	}
	// A thread that cannot be reset stays locked and ends with its goroutine.
	if !errors.Is(err, errNotBack) {
		runtime.UnlockOSThread()
	}
	return err
}

var errNotBack = errors.New("the thread keeps its real-time priority")

// becomeRealTime changes the calling thread; back undoes it.
func becomeRealTime() (back func() error, err error) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return nil, fmt.Errorf("reading the scheduling policy: %w", err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: realTimePriority,
	}, 0); err != nil {
		return nil, fmt.Errorf("setting SCHED_FIFO: %w", err)
	}
	return func() error {
		if err := unix.SchedSetAttr(0, before, 0); err != nil {
			return fmt.Errorf("%w: %w", errNotBack, err)
		}
		return nil
	}, nil
}
