package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"vnfbench.io/operator/internal/traffic/xdp"
	"vnfbench.io/operator/internal/traffic/xdp/testpath"
)

// compareThreads sends both directions as fast as one core and as two can.
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
	rates := map[int][]float64{}
	for range rounds {
		for _, threads := range []int{1, 2} {
			d, err := open(ctx, p, xdp.Config{Path: p.IPv4(), Threads: threads})
			if err != nil {
				return err
			}
			o, err := d.Measure(ctx, trialOf(64, 0, window))
			_ = d.Close()
			if err != nil {
				return err
			}
			var frames uint64
			for _, direction := range o.Directions {
				frames += direction.ReceivedFrames
			}
			rates[threads] = append(rates[threads], float64(frames)*1e9/float64(o.SendingNanoseconds))
		}
	}
	one, two := median(rates[1]), median(rates[2])
	fmt.Printf("%s, both directions, 64 B, medians of %d: 1 thread %.0f frames/s, 2 threads %.0f frames/s, ratio %.2f; load average %s\n",
		kind, rounds, one, two, two/one, loadAverage())
	return nil
}
