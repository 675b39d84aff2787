package observer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/internal/measure"
)

// vhostPrefix precedes the number of the thread that owns the device.
const vhostPrefix = "vhost-"

// thread is one thread of a virtual machine.
type thread struct {
	procfs.ProcStat
	class string
	// folder holds its files, below the root.
	folder string
}

// classOf returns what a thread does by its name. QEMU names threads with
// debug-threads=on, which libvirt always sets.
func classOf(comm, main string) string {
	switch {
	// The first helper was made before QEMU began to name its threads.
	case comm == main:
		return measure.ThreadEmulator
	case strings.HasPrefix(comm, "CPU ") || strings.HasPrefix(comm, "ALL CPUs/"):
		return measure.ThreadVCPU
	case strings.HasPrefix(comm, vhostPrefix):
		return measure.ThreadVhost
	case comm == "IO mon_iothread":
		// The monitor's own, not one for disks.
		return measure.ThreadEmulator
	case strings.HasPrefix(comm, "IO "):
		return measure.ThreadIO
	case comm == "worker" || comm == "call_rcu" || strings.HasPrefix(comm, "vnc_worker") || strings.HasPrefix(comm, "SPICE"):
		return measure.ThreadEmulator
	}
	return measure.ThreadOther
}

// threadsOf returns a virtual machine's threads: its process's own, and the vhost
// threads that the kernel runs outside of it. Kernels after Linux 6.3 make those
// threads of the process.
func threadsOf(kernel procfs.FS, p process) ([]thread, error) {
	listed, err := kernel.AllThreads(p.id)
	if err != nil {
		return nil, fmt.Errorf("listing its threads: %w", err)
	}
	sort.Sort(listed)
	var found []thread
	for _, one := range listed {
		// Helpers start and end at any time.
		if stat, err := one.Stat(); err == nil {
			found = append(found, thread{stat, classOf(stat.Comm, p.comm), fmt.Sprintf("proc/%d/task/%d", p.id, one.PID)})
		}
	}
	if len(found) == 0 {
		return nil, errors.New("it has ended")
	}
	for _, vhost := range p.vhosts {
		if stat, err := readStat(kernel, vhost.id); err == nil && stat.Starttime == vhost.startTicks {
			found = append(found, thread{stat, measure.ThreadVhost, fmt.Sprintf("proc/%d", vhost.id)})
		}
	}
	return found, nil
}

// readDomainTime sums a virtual machine's time by class. The emulator's time is
// that of the process without its threads of other classes, so helpers that have
// ended stay counted.
func readDomainTime(kernel procfs.FS, p process) (measure.DomainTime, error) {
	whole, err := readStat(kernel, p.id)
	if err != nil {
		return measure.DomainTime{}, fmt.Errorf("reading its processor time: %w", err)
	}
	threads, err := threadsOf(kernel, p)
	if err != nil {
		return measure.DomainTime{}, err
	}
	var out measure.DomainTime
	add := func(sum **int64, milliseconds int64) {
		if *sum == nil {
			*sum = new(int64)
		}
		**sum += milliseconds
	}
	emulator := milliseconds(whole)
	for _, t := range threads {
		switch t.class {
		case measure.ThreadVCPU:
			add(&out.VCPUMilliseconds, milliseconds(t.ProcStat))
			add(&out.GuestMilliseconds, ticks(int64(t.GuestTime)))
		case measure.ThreadIO:
			add(&out.IOThreadMilliseconds, milliseconds(t.ProcStat))
		case measure.ThreadVhost:
			add(&out.VhostMilliseconds, milliseconds(t.ProcStat))
		case measure.ThreadOther:
			add(&out.OtherMilliseconds, milliseconds(t.ProcStat))
		}
		if t.class != measure.ThreadEmulator && !isKernelThread(t.ProcStat) {
			emulator -= milliseconds(t.ProcStat)
		}
	}
	out.EmulatorMilliseconds = new(max(0, emulator))
	return out, nil
}

// placement summarizes the threads by class: where they may run and how they are
// scheduled.
func placement(root fs.FS, threads []thread) []measure.DomainThreads {
	var out []measure.DomainThreads
	for _, class := range []string{measure.ThreadVCPU, measure.ThreadEmulator, measure.ThreadIO, measure.ThreadVhost, measure.ThreadOther} {
		sum := measure.DomainThreads{Class: class}
		for _, t := range threads {
			if t.class != class {
				continue
			}
			sum.Count++
			if cpus := statusLine(root, t.folder, "Cpus_allowed_list"); cpus != "" && !slices.Contains(sum.CPUs, cpus) {
				sum.CPUs = append(sum.CPUs, cpus)
			}
			if policy := scheduling(t.ProcStat); !slices.Contains(sum.Scheduling, policy) {
				sum.Scheduling = append(sum.Scheduling, policy)
			}
		}
		if sum.Count > 0 {
			slices.Sort(sum.CPUs)
			slices.SortFunc(sum.Scheduling, func(a, b measure.ThreadScheduling) int {
				return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Priority, b.Priority))
			})
			out = append(out, sum)
		}
	}
	return out
}

// policies are the names of the kernel's scheduling policies in sched(7).
var policies = map[uint]string{0: "Other", 1: "FIFO", 2: "RoundRobin", 3: "Batch", 5: "Idle", 6: "Deadline"}

// scheduling returns the thread's policy, with the priority of a real-time one.
func scheduling(s procfs.ProcStat) measure.ThreadScheduling {
	name, named := policies[s.Policy]
	if !named {
		name = strconv.FormatUint(uint64(s.Policy), 10)
	}
	return measure.ThreadScheduling{Policy: name, Priority: int(s.RTPriority)}
}

// statusLine returns a field of /proc/<process>/status, or "". procfs reads an
// absent field as 0, which for hugepages is another fact.
func statusLine(root fs.FS, folder, name string) string {
	text, err := fs.ReadFile(root, folder+"/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
