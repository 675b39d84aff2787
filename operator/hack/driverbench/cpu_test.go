package main

import (
	"syscall"
	"testing"
	"time"
)

// TestCPUTime compares the time of this process group with what the kernel counts for the process.
func TestCPUTime(t *testing.T) {
	// In a group with others the sum falls when one of them ends.
	if err := syscall.Setpgid(0, 0); err != nil {
		t.Fatal(err)
	}
	used := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			t.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	all := func() time.Duration {
		total, err := cpuTime(syscall.Getpgrp())
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	const spent = 100 * time.Millisecond
	before, start := all(), used()
	for used() < start+spent {
	}
	if grown := all() - before; grown < spent*9/10 {
		t.Errorf("the process used %v, and its group %v", spent, grown)
	}
	if none, err := cpuTime(-1); err != nil || none != 0 {
		t.Errorf("a group without processes used %v, %v", none, err)
	}
}
