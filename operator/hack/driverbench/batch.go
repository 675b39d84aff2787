package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// batchSizes are compared by turns.
var batchSizes = []int{1, 4, 8, 16, 32}

const (
	// overShare of the rate as fast as possible is above the limit with every batch.
	overShare = 1.1
	// idleShare is a load at which no frame waits for the device.
	idleShare = 0.1
)

// batchFigures are those of one size of a batch, one for each round: frames/s that arrive as fast
// as possible with all frames timed, where batches are always the largest, and at overShare of that; and the median delay
// from the due time at idleShare, in nanoseconds.
type batchFigures struct{ flatOut, over, idle []float64 }

// compareBatches prints what the size of a batch does to the rate of an overloaded core and to the
// delay of an idle one.
func compareBatches(ctx context.Context, rounds int) error {
	for _, device := range ringDevices {
		if err := compareBatchesOn(ctx, device, rounds); err != nil {
			return err
		}
	}
	bridge := func() (*testpath.Path, error) { return testpath.Switched(0) }
	if err := compareBatchesOn(ctx, device{name: "a bridge without a device", build: bridge}, rounds); err != nil {
		return err
	}
	return compareBatchesOn(ctx, device{name: "no device", build: testpath.Direct}, rounds)
}

func compareBatchesOn(ctx context.Context, device device, rounds int) error {
	p, err := device.path()
	if err != nil {
		return err
	}
	defer p.Close()
	figures := make([]batchFigures, len(batchSizes))
	for range rounds {
		for i, batch := range batchSizes {
			d, err := open(ctx, p, xdp.Config{Path: p.IPv4(measure.Forward), Scheduling: xdp.RealTime, Threads: 1, BatchFrames: batch, TimeAll: true}, core)
			if err != nil {
				return err
			}
			err = figures[i].add(ctx, d)
			if failed := d.Close(); err == nil {
				err = failed
			}
			if err != nil {
				return err
			}
		}
	}
	fmt.Printf("batches, %s, one core, 64 B, best of %d rounds by turns; load average %s\n", device.name, rounds, loadAverage())
	for i, f := range figures {
		flatOut, over := slices.Max(f.flatOut), slices.Max(f.over)
		fmt.Printf("BATCH %2d %s: overloaded %.0f frames/s (%.0f ns); as fast as possible %.0f (%.0f ns); idle delay p50 %.0f ns\n",
			batchSizes[i], device.name, over, 1e9/over, flatOut, 1e9/flatOut, slices.Min(f.idle))
	}
	return nil
}

// add measures one round.
func (f *batchFigures) add(ctx context.Context, d *xdp.Driver) error {
	measured := func(framesPerSecond float64) (measure.Outcome, error) {
		time.Sleep(ringPause)
		return d.Measure(ctx, trialOf(64, uint64(framesPerSecond), ringWindow))
	}
	o, err := measured(0)
	if err != nil {
		return err
	}
	flatOut := o.ForwardingFramesPerSecond()
	f.flatOut = append(f.flatOut, flatOut)
	if o, err = measured(overShare * flatOut); err != nil {
		return err
	}
	f.over = append(f.over, o.ForwardingFramesPerSecond())
	if o, err = measured(idleShare * flatOut); err != nil {
		return err
	}
	f.idle = append(f.idle, float64(o.Directions[0].Latency.P50Nanoseconds))
	return nil
}
