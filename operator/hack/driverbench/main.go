// Command driverbench measures what the XDP driver can do, compared with other generators:
//
//   - how many frames per second it and its peers (trafgen, iperf3 and
//     dpdk-testpmd) bring through the same path, with one core for generator,
//     device and receiver together;
//   - where the time of a frame goes, step by step;
//   - what a frame costs over a wire, of what it costs trafgen (part trafgen, which part ring ends with);
//   - how many more a second core brings;
//   - what the ring in which frames wait does to the limit and the delays of devices;
//   - what the size of a batch does to both (part batch, only where it is asked for);
//   - whether a device that works on a second core, by a cpumap, has the same limit (part cpumap, only
//     where it is asked for);
//   - with -parts ports, whether two ports of this machine count the frames that they refuse;
//   - with -baseline, how many frames it brings for each of an older driver's;
//   - how exactly it keeps a set load: how late after their due time frames leave,
//     and by how much the gaps between them differ from the intended one.
//
// It needs root, ethtool and taskset. A peer that is not installed is reported as
// not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each generator sends, by turns")
	window := flag.Duration("window", time.Second, "how long received frames are counted in a round")
	parts := flag.String("parts", "speed,cost,threads,ring,pacing", "what to measure")
	interrupts := flag.Int("interrupts", -1, "for the part ports: for how many microseconds they may delay an interrupt; -1 leaves them as they are")
	ports := flag.String("ports", "", "for the part ports: two ports of this network namespace that a cable joins, such as eth1,eth2")
	device := flag.String("device", "", "for the part ring: measure only devices whose name has this in it")
	baseline := flag.String("baseline", "", "an older driverbench: run its part speed and this one's by turns, -rounds pairs, and print how many frames this driver brings for each of the older one's; no other part")
	timeAll := flag.Bool("time-all", false, "for the part speed: time all of this driver's frames, and not a part of them, as drivers before ADR 0069 do")
	strict := flag.Bool("strict", false, "fail where a line has the verdict FAIL")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *baseline != "" {
		err = compareWith(ctx, *baseline, *rounds, *window, *timeAll)
	} else {
		err = run(ctx, *parts, *ports, *device, *interrupts, *rounds, *window, *timeAll)
	}
	if err == nil && *strict && fails > 0 {
		err = fmt.Errorf("%d lines have the verdict FAIL", fails)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "driverbench:", err)
		os.Exit(1)
	}
}

// A kind of path is built twice: for the driver, whose ports are in one namespace, and for its
// peers, some of which need one for each port.
var kinds = []struct {
	name            string
	together, apart func() (*testpath.Path, error)
}{
	{"routed veth", func() (*testpath.Path, error) { return testpath.Routed(true) }, func() (*testpath.Path, error) { return testpath.RoutedApart(true) }},
	{"direct veth", testpath.Direct, testpath.DirectApart},
}

func run(ctx context.Context, parts, ports, device string, interrupts, rounds int, window time.Duration, timeAll bool) error {
	fmt.Printf("%d CPUs; load average %s\n", runtime.NumCPU(), loadAverage())
	if wanted(parts, "speed") {
		for _, kind := range kinds {
			if err := compareOn(ctx, kind.name, kind.together, kind.apart, rounds, window, timeAll); err != nil {
				return err
			}
		}
	}
	if wanted(parts, "cost") {
		if err := measureCosts(ctx, rounds, window); err != nil {
			return err
		}
	}
	if wanted(parts, "threads") {
		for _, kind := range kinds {
			if err := compareThreads(ctx, kind.name, kind.together, rounds, window); err != nil {
				return err
			}
		}
	}
	if wanted(parts, "ring") {
		if err := measureRings(ctx, rounds, device); err != nil {
			return err
		}
	}
	if wanted(parts, "trafgen") {
		if err := compareCost(ctx, rounds, window); err != nil {
			return err
		}
	}
	if wanted(parts, "batch") {
		if err := compareBatches(ctx, rounds); err != nil {
			return err
		}
	}
	if wanted(parts, "cpumap") {
		if err := crossCheck(ctx, rounds); err != nil {
			return err
		}
	}
	if wanted(parts, "ports") {
		if err := measurePorts(ctx, ports, interrupts, window); err != nil {
			return err
		}
	}
	if wanted(parts, "pacing") {
		return pace(ctx, rounds, window)
	}
	return nil
}

// open opens a driver that may send on the given CPUs only, or on all.
func open(ctx context.Context, p *testpath.Path, config xdp.Config, cpus ...int) (d *xdp.Driver, err error) {
	err = testpath.Do(p.Generator, func() error {
		var all, only unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil {
			return err
		}
		only = all
		if len(cpus) > 0 {
			only.Zero()
			for _, cpu := range cpus {
				only.Set(cpu)
			}
		}
		if err := unix.SchedSetaffinity(0, &only); err != nil {
			return err
		}
		d, err = xdp.Open(ctx, config)
		return errors.Join(err, unix.SchedSetaffinity(0, &all))
	})
	return d, err
}

func trialOf(frameBytes int, framesPerSecond uint64, duration time.Duration) measure.Trial {
	return measure.Trial{
		FrameBytes: frameBytes, IntendedFramesPerSecond: framesPerSecond,
		DurationNanoseconds: int64(duration), SettleNanoseconds: int64(100 * time.Millisecond),
	}
}

// loadAverage returns how busy the machine was. Figures of a busy machine are low.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	var one string
	_, _ = fmt.Sscan(string(text), &one)
	return one
}

func wanted(parts, part string) bool { return slices.Contains(strings.Split(parts, ","), part) }
