// Package proc reads processor time as the kernel counts it in /proc. Files are
// read with prometheus/procfs; times come out, by what they were used for.
package proc

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"
)

// Tick is the unit of processor time in /proc: one of USER_HZ, which is 100 on
// every architecture that Kubernetes runs on. procfs has the same constant.
const Tick = 10 * time.Millisecond

// Times are processor time since the machine's start, by what it was used for.
// Each part of it is in exactly one field. The kernel counts a guest's time in
// user as well, and a niced guest's in nice (account_guest_time in the kernel's
// kernel/sched/cputime.c); here User and Nice are without it.
type Times struct {
	User, Nice, System, Idle, IOWait, IRQ, Softirq, Steal, Guest time.Duration
}

// Open opens the /proc below root, which is "/" outside of tests.
func Open(root string) (procfs.FS, error) {
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return procfs.FS{}, fmt.Errorf("opening /proc: %w", err)
	}
	return fs, nil
}

// ReadCPUs returns the time of all CPUs together, those included that are offline
// by now, and that of each CPU that is online.
func ReadCPUs(fs procfs.FS) (total Times, online map[int]Times, err error) {
	stat, err := fs.Stat()
	if err != nil {
		return Times{}, nil, fmt.Errorf("reading processor times: %w", err)
	}
	if len(stat.CPU) == 0 || stat.CPUTotal == (procfs.CPUStat{}) {
		return Times{}, nil, errors.New("reading processor times: /proc/stat has no CPU, or not their sum")
	}
	online = make(map[int]Times, len(stat.CPU))
	for cpu, counted := range stat.CPU {
		online[int(cpu)] = timesOf(counted)
	}
	return timesOf(stat.CPUTotal), online, nil
}

func timesOf(c procfs.CPUStat) Times {
	guest, guestNice := duration(c.Guest), duration(c.GuestNice)
	return Times{
		// The kernel reads its counters one after the other, so that a guest's may
		// be a tick ahead of the one that it is part of.
		User: max(0, duration(c.User)-guest), Nice: max(0, duration(c.Nice)-guestNice),
		System: duration(c.System), Idle: duration(c.Idle), IOWait: duration(c.Iowait),
		IRQ: duration(c.IRQ), Softirq: duration(c.SoftIRQ), Steal: duration(c.Steal), Guest: guest + guestNice,
	}
}

// duration undoes procfs's division by USER_HZ. A quotient of whole ticks is off
// by less than one part in 2^52, so rounding finds the number of ticks that the
// kernel wrote: cutting off would lose one where the quotient is a little below.
func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*float64(time.Second/Tick))) * Tick
}
