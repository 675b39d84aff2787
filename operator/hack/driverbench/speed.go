package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// core does all the work: generator, device and receiver. trafgen pins its
// first process to CPU 0, whatever its affinity was.
const core = 0

// warmUp is left out of the count at the start of every round.
const warmUp = 500 * time.Millisecond

// rate is of received frames: per second of the clock, and per second that the generator and the
// kernel ran on the core.
type rate struct{ perSecond, perCPUSecond float64 }

// compareOn makes the driver and its peers send by turns. Received frames are counted in the same
// way for all: by the receiving port's counter, over the same time, with an XDP program that drops
// them there.
func compareOn(ctx context.Context, kind string, together, apart func() (*testpath.Path, error), rounds int, window time.Duration, timeAll bool) error {
	ours, err := together()
	if err != nil {
		return err
	}
	defer ours.Close()
	theirs, err := apart()
	if err != nil {
		return err
	}
	defer theirs.Close()
	d, err := open(ctx, ours, xdp.Config{Path: ours.IPv4(measure.Forward), TimeAll: timeAll}, core)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	for _, size := range []int{64, 1518} {
		rates, reasons := map[string][]rate{}, map[string]error{}
		for range rounds {
			own, err := flatOut(ctx, d, ours, size, 0, window)
			if err != nil {
				return err
			}
			rates["xdp"] = append(rates["xdp"], own)
			for _, p := range peers {
				if reasons[p.name] != nil {
					continue
				}
				got, err := p.measure(ctx, theirs, size, window)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					reasons[p.name] = err
					continue
				}
				rates[p.name] = append(rates[p.name], got)
			}
		}
		printSpeeds(kind, size, timedWords(timeAll), rates, reasons)
	}
	return nil
}

// printSpeeds prints the medians; a peer that failed in one round has none.
func printSpeeds(kind string, size int, timed string, rates map[string][]rate, reasons map[string]error) {
	own := middle(rates["xdp"])
	fmt.Printf("%s, one core, %d B, %s, medians of %d; load average %s\n", kind, size, timed, len(rates["xdp"]), loadAverage())
	fmt.Printf("  xdp %.0f frames/s; for each second of CPU time %.0f\n", own.perSecond, own.perCPUSecond)
	for _, p := range peers {
		if err := reasons[p.name]; err != nil {
			fmt.Printf("  %s not run: %v\n", p.name, err)
			continue
		}
		got := middle(rates[p.name])
		fmt.Printf("  %s %.0f frames/s ratio %.2f; for each second of CPU time %.0f ratio %.2f\n",
			p.name, got.perSecond, own.perSecond/got.perSecond, got.perCPUSecond, own.perCPUSecond/got.perCPUSecond)
	}
}

// timedWords says which of the driver's frames are timed.
func timedWords(all bool) string {
	if all {
		return "all frames of the driver timed"
	}
	return "a part of the driver's frames timed"
}

func middle(rates []rate) rate {
	var clock, cpu []float64
	for _, r := range rates {
		clock, cpu = append(clock, r.perSecond), append(cpu, r.perCPUSecond)
	}
	return rate{statistics.Median(clock), statistics.Median(cpu)}
}

// flatOut counts what arrives while the driver sends as fast as it can.
func flatOut(ctx context.Context, d *xdp.Driver, p *testpath.Path, size int, framesPerSecond uint64, window time.Duration) (rate, error) {
	done := make(chan error, 1)
	go func() {
		_, err := d.Measure(ctx, trialOf(size, framesPerSecond, window+2*warmUp))
		done <- err
	}()
	counted, err := count(p.Sink, window, syscall.Getpgrp())
	return counted, errors.Join(err, <-done)
}

// count waits and then returns the frames that arrive per second, and per second that a process
// group and the kernel run on the core for them.
func count(sink netns.NsHandle, window time.Duration, group int) (rate, error) {
	time.Sleep(warmUp)
	before, began, err := received(sink)
	if err != nil {
		return rate{}, err
	}
	idle, err := cpuTime(group, core)
	if err != nil {
		return rate{}, err
	}
	time.Sleep(window)
	after, ended, err := received(sink)
	if err != nil {
		return rate{}, err
	}
	busy, err := cpuTime(group, core)
	frames := float64(after - before)
	return rate{frames / ended.Sub(began).Seconds(), frames / (busy - idle).Seconds()}, err
}

func received(sink netns.NsHandle) (frames uint64, at time.Time, err error) {
	err = testpath.Do(sink, func() error {
		l, err := netlink.LinkByName(testpath.East)
		if err == nil {
			frames, at = l.Attrs().Statistics.RxPackets, time.Now()
		}
		return err
	})
	return frames, at, err
}
