package xdp

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What the machine did to a trial. All readers give 0 where a figure cannot be
// read: they only ever raise doubts.

// ticksPerSecond is USER_HZ, the unit of /proc/stat: 100 on every architecture
// that is built for.
const ticksPerSecond = 100

// readSteal is how long the hypervisor held back the CPUs.
func readSteal(cpus []int) time.Duration {
	file, err := os.Open("/proc/stat")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	var ticks int64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		for _, cpu := range cpus {
			rest, found := strings.CutPrefix(lines.Text(), fmt.Sprintf("cpu%d ", cpu))
			if !found {
				continue
			}
			var user, nice, system, idle, iowait, irq, softirq, steal int64
			if _, err := fmt.Sscan(rest, &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal); err == nil {
				ticks += steal
			}
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// softnet is what the kernel says of taking in packets on some CPUs.
type softnet struct {
	// dropped packets found a CPU's backlog full.
	dropped uint64
	// squeezed counts how often the work was left to the next turn.
	squeezed uint64
}

func readSoftnet(cpus []int) (s softnet) {
	text, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return s
	}
	return sumSoftnet(string(text), cpus)
}

// sumSoftnet adds lines up, one for each CPU that is online, in hexadecimal:
// the second column is dropped, the third squeezed, the 13th the CPU
// (softnet_seq_show in the kernel's net/core/net-procfs.c, since 5.10).
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

// held is how often others took the CPU from a thread, and how long it waited
// for one though it could have run.
type held struct {
	times  int64
	waited time.Duration
}

// readHeld is of the calling thread.
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

// preemptions is the sum over the threads.
func preemptions(senders []*sender) (waited time.Duration, times int64) {
	for _, s := range senders {
		waited += s.held.waited
		times += s.held.times
	}
	return waited, times
}
