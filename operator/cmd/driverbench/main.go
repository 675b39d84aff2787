// Command driverbench compares the XDP driver with trafgen (netsniff-ng) on
// one path, a forwarding kernel between two veth pairs, with one core for
// generator, device and receiver together; then it prints how exactly the
// driver keeps a set load. It needs root, trafgen, ethtool and taskset.
//
// Received frames are counted in the same way for both: by the receiving
// port's counter, over the same time, with the same XDP program dropping them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/xdp"
	"vnfbench.io/operator/internal/traffic/xdp/testpath"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each generator sends, by turns")
	window := flag.Duration("window", 2*time.Second, "how long received frames are counted in a round")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *window); err != nil {
		fmt.Fprintln(os.Stderr, "driverbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, window time.Duration) error {
	path, err := testpath.Routed(true)
	if err != nil {
		return err
	}
	defer path.Close()
	b := &bench{path: path, window: window, traffic: path.IPv4(measure.Forward)}
	if err := testpath.Do(path.Generator, func() error { return b.open(ctx) }); err != nil {
		return err
	}
	defer func() { _ = b.driver.Close() }()
	fmt.Printf("path: veth, forwarding kernel, veth; transmit %s, receive %s; all on CPU %d of %d; load average %s\n",
		b.driver.Description().TransmitPath, b.driver.Description().ReceiveMode, core, runtime.NumCPU(), loadAverage())
	for _, size := range []int{64, 1518} {
		if err := b.compare(ctx, size, rounds); err != nil {
			return err
		}
	}
	return b.pace(ctx)
}

// core does all the work. trafgen pins its first process to CPU 0, whatever
// its affinity was.
const core = 0

type bench struct {
	path    *testpath.Path
	traffic measure.Path
	driver  *xdp.Driver
	window  time.Duration
}

// open makes the driver choose the core, by allowing this thread no other.
func (b *bench) open(ctx context.Context) error {
	var all, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return err
	}
	var err error
	b.driver, err = xdp.Open(ctx, xdp.Config{Path: b.traffic})
	if back := unix.SchedSetaffinity(0, &all); err == nil {
		err = back
	}
	return err
}

func (b *bench) compare(ctx context.Context, size, rounds int) error {
	var xdpRates, trafgenRates, xdpCosts, trafgenCosts []float64
	for round := range rounds {
		ours, err := b.flatOut(ctx, size)
		if err != nil {
			return err
		}
		theirs, err := b.trafgen(ctx, size)
		if err != nil {
			return err
		}
		xdpRates, trafgenRates = append(xdpRates, ours.perSecond), append(trafgenRates, theirs.perSecond)
		xdpCosts, trafgenCosts = append(xdpCosts, ours.perCPUSecond), append(trafgenCosts, theirs.perCPUSecond)
		print(fmt.Sprintf("round %d", round+1), size, ours, theirs)
	}
	print(fmt.Sprintf("median of %d", rounds), size,
		rate{median(xdpRates), median(xdpCosts)}, rate{median(trafgenRates), median(trafgenCosts)})
	return nil
}

// rate is of received frames.
type rate struct{ perSecond, perCPUSecond float64 }

func print(what string, size int, ours, theirs rate) {
	fmt.Printf("trafgen %d B, %s: xdp %.0f frames/s, trafgen %.0f frames/s, ratio %.2f; for each second of CPU time xdp %.0f, trafgen %.0f, ratio %.2f; load average %s\n",
		size, what, ours.perSecond, theirs.perSecond, ours.perSecond/theirs.perSecond,
		ours.perCPUSecond, theirs.perCPUSecond, ours.perCPUSecond/theirs.perCPUSecond, loadAverage())
}

// warmUp is left out of the count at the begin of every round.
const warmUp = 500 * time.Millisecond

// flatOut counts what arrives while the driver sends as fast as it can.
func (b *bench) flatOut(ctx context.Context, size int) (rate, error) {
	done := make(chan error, 1)
	go func() {
		_, err := b.driver.Measure(ctx, measure.Trial{
			FrameBytes: size, DurationNanoseconds: int64(b.window + 2*warmUp), SettleNanoseconds: int64(100 * time.Millisecond),
		})
		done <- err
	}()
	counted, err := b.count(syscall.Getpgrp())
	if failed := <-done; failed != nil {
		return rate{}, failed
	}
	return counted, err
}

// count waits and then gives the frames that arrive in a second, and in a
// second of what the process group and the kernel run on the core for them.
func (b *bench) count(group int) (rate, error) {
	time.Sleep(warmUp)
	before, began, err := b.received()
	if err != nil {
		return rate{}, err
	}
	busy := cpuTime(group)
	time.Sleep(b.window)
	after, ended, err := b.received()
	busy = cpuTime(group) - busy
	frames := float64(after - before)
	return rate{frames / ended.Sub(began).Seconds(), frames / busy.Seconds()}, err
}

func (b *bench) received() (frames uint64, at time.Time, err error) {
	err = testpath.Do(b.path.Generator, func() error {
		l, err := netlink.LinkByName(testpath.East)
		if err == nil {
			frames, at = l.Attrs().Statistics.RxPackets, time.Now()
		}
		return err
	})
	return frames, at, err
}

func (b *bench) pace(ctx context.Context) error {
	for _, rate := range []uint64{1_000, 10_000, 100_000, 300_000} {
		o, err := b.driver.Measure(ctx, measure.Trial{
			FrameBytes: 64, IntendedFramesPerSecond: rate,
			DurationNanoseconds: int64(b.window), SettleNanoseconds: int64(100 * time.Millisecond),
		})
		if err != nil {
			return err
		}
		late, d := b.driver.Lateness(measure.Forward), o.Directions[0]
		fmt.Printf("pacing %d frames/s: departure behind its due time p50 %d ns, p99 %d ns, max %d ns; sent %d of %d, lost %d; latency min %d, p50 %d, p99 %d ns; load average %s\n",
			rate, late.P50Nanoseconds, late.P99Nanoseconds, late.MaxNanoseconds, d.SentFrames, d.IntendedFrames, d.LostFrames(),
			d.Latency.MinNanoseconds, d.Latency.P50Nanoseconds, d.Latency.P99Nanoseconds, loadAverage())
	}
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// loadAverage says how busy the machine was; figures of a busy one are low.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	var one string
	_, _ = fmt.Sscan(string(text), &one)
	return one
}
