package observer

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/proc"
)

// process is one process or thread.
type process struct {
	id         int
	startTicks uint64
	comm       string
	// vhosts are a virtual machine's vhost threads where the kernel runs them
	// outside of its process, as it does up to Linux 6.3.
	vhosts []process
}

// look ensures that every wanted process is known. It searches the node's
// process table if one is unknown or was replaced.
func (o *Observer) look() error {
	stale := !o.looked
	for _, p := range o.softirqThreads {
		stale = stale || !o.still(p)
	}
	for _, name := range o.guests {
		found, ok := o.found[name]
		stale = stale || !ok || !o.still(found)
	}
	if !stale {
		return nil
	}
	return o.lookAtAll()
}

// still reports whether a process is the one that was found.
func (o *Observer) still(p process) bool {
	now, err := readStat(o.proc, p.id)
	return err == nil && now.Starttime == p.startTicks
}

// readStat reads a process's line of times.
func readStat(kernel procfs.FS, id int) (procfs.ProcStat, error) {
	process, err := kernel.Proc(id)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

func (o *Observer) lookAtAll() error {
	processes, err := o.proc.AllProcs()
	if err != nil {
		return fmt.Errorf("listing the node's processes: %w", err)
	}
	o.looked, o.softirqThreads, o.found = true, nil, map[string]process{}
	wanted, vhosts := map[string]bool{}, map[string][]process{}
	for _, name := range o.guests {
		wanted[name] = true
	}
	for _, listed := range processes {
		// A process may end between the listing and here.
		stat, err := listed.Stat()
		if err != nil {
			continue
		}
		p := process{id: listed.PID, startTicks: stat.Starttime, comm: stat.Comm}
		switch {
		case strings.HasPrefix(stat.Comm, vhostPrefix) && isKernelThread(stat):
			vhosts[stat.Comm] = append(vhosts[stat.Comm], p)
		case strings.HasPrefix(stat.Comm, "ksoftirqd/") && isKernelThread(stat):
			o.softirqThreads = append(o.softirqThreads, p)
		case len(wanted) > 0 && strings.HasPrefix(stat.Comm, "qemu"):
			if arguments, err := listed.CmdLine(); err == nil && wanted[guestName(arguments)] {
				o.found[guestName(arguments)] = p
			}
		}
	}
	for name, p := range o.found {
		p.vhosts = vhostsOf(o.proc, p, vhosts)
		o.found[name] = p
	}
	return nil
}

// vhostsOf returns the kernel threads that are named after a thread of the process.
func vhostsOf(kernel procfs.FS, p process, vhosts map[string][]process) []process {
	if len(vhosts) == 0 {
		return nil
	}
	threads, err := kernel.AllThreads(p.id)
	if err != nil {
		return nil
	}
	sort.Sort(threads)
	var mine []process
	for _, thread := range threads {
		mine = append(mine, vhosts[vhostPrefix+strconv.Itoa(thread.PID)]...)
	}
	return mine
}

// softirqTime returns the time of all ksoftirqd threads, or nil where there are none.
func (o *Observer) softirqTime() *int64 {
	if len(o.softirqThreads) == 0 {
		return nil
	}
	sum := int64(0)
	for _, p := range o.softirqThreads {
		stat, err := readStat(o.proc, p.id)
		if err != nil {
			// A CPU that goes offline takes its thread with it.
			continue
		}
		sum += milliseconds(stat)
	}
	return &sum
}

const kernelThreadFlag = 0x00200000 // PF_KTHREAD, include/linux/sched.h

func isKernelThread(s procfs.ProcStat) bool { return s.Flags&kernelThreadFlag != 0 }

// milliseconds returns the time that a process or thread has used; it includes a guest's.
func milliseconds(s procfs.ProcStat) int64 { return ticks(int64(s.UTime + s.STime)) }

func ticks(n int64) int64 { return n * proc.Tick.Milliseconds() }

// readNodeTime reads the node's time and how many CPUs are online.
func readNodeTime(kernel procfs.FS) (measure.CPUTime, int, error) {
	total, online, err := proc.ReadCPUs(kernel)
	if err != nil {
		return measure.CPUTime{}, 0, err
	}
	return measure.CPUTime{
		UserMilliseconds: total.User.Milliseconds(), NiceMilliseconds: total.Nice.Milliseconds(), SystemMilliseconds: total.System.Milliseconds(),
		IdleMilliseconds: total.Idle.Milliseconds(), IOWaitMilliseconds: total.IOWait.Milliseconds(), IRQMilliseconds: total.IRQ.Milliseconds(),
		SoftirqMilliseconds: total.Softirq.Milliseconds(), StealMilliseconds: total.Steal.Milliseconds(), GuestMilliseconds: total.Guest.Milliseconds(),
	}, len(online), nil
}
