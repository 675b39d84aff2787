package xdp

import (
	"cmp"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/proc"
)

// What the machine did to a trial. All readers return 0 if a figure cannot be read: they
// only raise doubts.

// readSteal returns how long the hypervisor held back the CPUs.
func readSteal(cpus []int) (sum time.Duration) {
	for number, times := range readCPUs() {
		if slices.Contains(cpus, number) {
			sum += times.Steal
		}
	}
	return sum
}

// readCPUs returns the time of each CPU that is online, on the whole machine and not only
// of those that this process may use.
func readCPUs() map[int]proc.Times {
	kernel, err := proc.Open("/")
	if err != nil {
		return nil
	}
	_, online, err := proc.ReadCPUs(kernel)
	if err != nil {
		return nil
	}
	return online
}

// quietest sorts CPUs by their interrupts. Within a factor of two the last ones come
// first, because other work uses the first by default; so the choice is the same in every
// run on a node.
func quietest(cpus []int, interrupts map[int]uint64) []int {
	return slices.SortedFunc(slices.Values(cpus), func(a, b int) int {
		return cmp.Or(cmp.Compare(bits.Len64(interrupts[a]), bits.Len64(interrupts[b])), cmp.Compare(b, a))
	})
}

func readInterrupts() map[int]uint64 {
	text, err := os.ReadFile("/proc/interrupts")
	if err != nil {
		return nil
	}
	return sumInterrupts(string(text))
}

// sumInterrupts adds up the interrupts of devices, which have numbers; the others are the
// kernel's own and depend on what a CPU runs.
func sumInterrupts(text string) map[int]uint64 {
	head, rest, _ := strings.Cut(text, "\n")
	columns := strings.Fields(head) // CPU0 CPU1 ...: the online ones
	sums := map[int]uint64{}
	for line := range strings.Lines(rest) {
		fields := strings.Fields(line)
		if len(fields) <= len(columns) {
			continue
		}
		if _, err := strconv.Atoi(strings.TrimSuffix(fields[0], ":")); err != nil {
			continue
		}
		for i, column := range columns {
			cpu, err := strconv.Atoi(strings.TrimPrefix(column, "CPU"))
			n, failed := strconv.ParseUint(fields[1+i], 10, 64)
			if err == nil && failed == nil {
				sums[cpu] += n
			}
		}
	}
	return sums
}

// softnet holds the kernel's counters of receiving packets on some CPUs.
type softnet struct {
	// dropped packets found a CPU's backlog full.
	dropped uint64
	// squeezed counts how often the kernel left the work to the next turn.
	squeezed uint64
}

func readSoftnet(cpus []int) (s softnet) {
	text, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return s
	}
	return sumSoftnet(string(text), cpus)
}

// sumSoftnet adds up lines, one for each CPU that is online, in hexadecimal: the second
// column is dropped, the third squeezed, the 13th the CPU (softnet_seq_show in the
// kernel's net/core/net-procfs.c, since 5.10).
func sumSoftnet(text string, cpus []int) (s softnet) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 13 {
			continue
		}
		cpu, err := strconv.ParseUint(fields[12], 16, 32)
		if err != nil || !slices.Contains(cpus, int(cpu)) {
			continue
		}
		dropped, _ := strconv.ParseUint(fields[1], 16, 32)
		squeezed, _ := strconv.ParseUint(fields[2], 16, 32)
		s.dropped += dropped
		s.squeezed += squeezed
	}
	return s
}

// held is how often others took the CPU from a thread, and how long the thread waited for
// one though it could have run.
type held struct {
	times  int64
	waited time.Duration
}

// readHeld reads those of the calling thread.
func readHeld() (h held) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err == nil {
		h.times = usage.Nivcsw
	}
	if text, err := os.ReadFile("/proc/thread-self/schedstat"); err == nil {
		var ran int64
		_, _ = fmt.Sscan(string(text), &ran, (*int64)(&h.waited))
	}
	return h
}

// away is how long the sending threads were kept off their cores in a trial, and the
// longest time of it.
type away struct{ all, longest time.Duration }

// awayFrom takes the lesser of two figures: the gaps in which a program did not run, which
// include long work of the device on that core, and what the kernel says that threads and
// the hypervisor took, which includes short turns that the ring makes up for.
func awayFrom(senders []*sender, steal time.Duration) (a away) {
	for _, s := range senders {
		taken := s.held.waited + steal
		a.all += min(time.Duration(s.kept.Away), taken)
		a.longest = max(a.longest, min(time.Duration(s.kept.LongestAway), taken))
	}
	return a
}

// stolenFrom returns how long the hypervisor held the cores of the threads, by their stopwatches.
func stolenFrom(senders []*sender) (all time.Duration) {
	for _, s := range senders {
		all += s.stolen
	}
	return all
}

// heldUp returns the sum over the threads.
func heldUp(senders []*sender) (all held) {
	for _, s := range senders {
		all.times += s.held.times
		all.waited += s.held.waited
	}
	return all
}

// Preemptions returns how often other work took the CPU from the transmit threads in the
// last trial, with its begin and end, and how long they waited for it: a trial without
// preemptions shows the generator's own pacing error.
func (d *Driver) Preemptions() (times int64, waited time.Duration) {
	return d.held.times, d.held.waited
}
