package main

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/internal/proc"
)

// cpuTime adds up the run time of the threads of a process group and of the cores' ksoftirqd. On a
// machine with other users, frames per second of this time are comparable, and frames per second of
// the clock are not.
func cpuTime(group int, cores ...int) (time.Duration, error) {
	kernel, err := proc.Open("/")
	if err != nil {
		return 0, err
	}
	processes, err := kernel.AllProcs()
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, process := range processes {
		stat, err := process.Stat()
		if err != nil {
			continue // it has ended
		}
		ksoftirqd := func(core int) bool { return stat.Comm == "ksoftirqd/"+strconv.Itoa(core) }
		if stat.PGRP == group || slices.ContainsFunc(cores, ksoftirqd) {
			total += runTime(kernel, process.PID)
		}
	}
	return total, nil
}

// runTime returns the sum over a process's threads.
func runTime(kernel procfs.FS, process int) (total time.Duration) {
	threads, err := kernel.AllThreads(process)
	if err != nil {
		return 0 // it has ended
	}
	for _, thread := range threads {
		if statistics, err := thread.Schedstat(); err == nil {
			total += time.Duration(statistics.RunningNanoseconds)
		}
	}
	return total
}
