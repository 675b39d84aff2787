package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cpuTime adds up the run time of the threads of a process group and of the cores' ksoftirqd. On a
// machine with other users, frames per second of this time are comparable, and frames per second of
// the clock are not.
func cpuTime(group int, cores ...int) time.Duration {
	var total time.Duration
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		head, tail, found := strings.Cut(string(text), ") ")
		var state string
		var parent, pgid int
		if _, err := fmt.Sscan(tail, &state, &parent, &pgid); !found || err != nil {
			continue
		}
		ksoftirqd := func(core int) bool { return strings.HasSuffix(head, "(ksoftirqd/"+strconv.Itoa(core)) }
		if pgid == group || slices.ContainsFunc(cores, ksoftirqd) {
			total += runTime(filepath.Dir(stat))
		}
	}
	return total
}

// runTime returns the sum over a process's threads.
func runTime(process string) (total time.Duration) {
	threads, _ := filepath.Glob(process + "/task/*/schedstat")
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue
		}
		var nanoseconds int64
		_, _ = fmt.Sscan(string(text), &nanoseconds)
		total += time.Duration(nanoseconds)
	}
	return total
}
