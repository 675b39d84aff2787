package main

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// compareThreads sends both directions as fast as one core and as two can. On a machine with other
// users, frames per second of CPU time are more reliable than frames per second of the clock: two
// exclusive cores bring twice what a second of one brings with two threads.
func compareThreads(ctx context.Context, kind string, build func() (*testpath.Path, error), rounds int, window time.Duration) error {
	if runtime.NumCPU() < 2 {
		fmt.Printf("%s, both directions: two threads not run: there is one CPU\n", kind)
		return nil
	}
	p, err := build()
	if err != nil {
		return err
	}
	defer p.Close()
	rates := map[int][]rate{}
	for range rounds {
		for _, threads := range []int{1, 2} {
			got, err := bothDirections(ctx, p, threads, window)
			if err != nil {
				return err
			}
			rates[threads] = append(rates[threads], got)
		}
	}
	one, two := middle(rates[1]), middle(rates[2])
	fmt.Printf("%s, both directions, 64 B, medians of %d: 1 thread %.0f frames/s, 2 threads %.0f frames/s, ratio %.2f; for each second of CPU time %.0f and %.0f, ratio for separate cores %.2f; load average %s\n",
		kind, rounds, one.perSecond, two.perSecond, two.perSecond/one.perSecond,
		one.perCPUSecond, two.perCPUSecond, 2*two.perCPUSecond/one.perCPUSecond, loadAverage())
	return nil
}

func bothDirections(ctx context.Context, p *testpath.Path, threads int, window time.Duration) (rate, error) {
	d, err := open(ctx, p, xdp.Config{Path: p.IPv4(), Threads: threads})
	if err != nil {
		return rate{}, err
	}
	defer func() { _ = d.Close() }()
	cores := make([]int, runtime.NumCPU())
	for i := range cores {
		cores[i] = i
	}
	idle, err := cpuTime(syscall.Getpgrp(), cores...)
	if err != nil {
		return rate{}, err
	}
	o, err := d.Measure(ctx, trialOf(64, 0, window))
	if err != nil {
		return rate{}, err
	}
	busy, err := cpuTime(syscall.Getpgrp(), cores...)
	var frames uint64
	for _, direction := range o.Directions {
		frames += direction.ReceivedFrames
	}
	return rate{float64(frames) * 1e9 / float64(max(o.SendingNanoseconds, 1)), float64(frames) / (busy - idle).Seconds()}, err
}
