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
	cpu := flag.Int("cpu", runtime.NumCPU()-1, "the core that does all the work")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *window, *cpu); err != nil {
		fmt.Fprintln(os.Stderr, "driverbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, window time.Duration, cpu int) error {
	path, err := testpath.Routed(true)
	if err != nil {
		return err
	}
	defer path.Close()
	b := &bench{path: path, window: window, cpu: cpu, traffic: path.IPv4(measure.Forward)}
	if err := testpath.Do(path.Generator, func() error { return b.open(ctx) }); err != nil {
		return err
	}
	defer func() { _ = b.driver.Close() }()
	fmt.Printf("path: veth, forwarding kernel, veth; transmit %s, receive %s; all on CPU %d of %d; load average %s\n",
		b.driver.Description().TransmitPath, b.driver.Description().ReceiveMode, cpu, runtime.NumCPU(), loadAverage())
	for _, size := range []int{64, 1518} {
		if err := b.compare(ctx, size, rounds); err != nil {
			return err
		}
	}
	return b.pace(ctx)
}

type bench struct {
	path    *testpath.Path
	traffic measure.Path
	driver  *xdp.Driver
	window  time.Duration
	cpu     int
}

// open makes the driver choose the core, by allowing this thread no other.
func (b *bench) open(ctx context.Context) error {
	var all, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	only.Set(b.cpu)
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
	var xdpRates, trafgenRates []float64
	for round := range rounds {
		ours, err := b.flatOut(ctx, size)
		if err != nil {
			return err
		}
		theirs, err := b.trafgen(ctx, size)
		if err != nil {
			return err
		}
		xdpRates, trafgenRates = append(xdpRates, ours), append(trafgenRates, theirs)
		fmt.Printf("trafgen %d B, round %d: xdp %.0f frames/s, trafgen %.0f frames/s, ratio %.2f; load average %s\n",
			size, round+1, ours, theirs, ours/theirs, loadAverage())
	}
	ours, theirs := median(xdpRates), median(trafgenRates)
	fmt.Printf("trafgen %d B, median of %d: xdp %.0f frames/s, trafgen %.0f frames/s, ratio %.2f\n", size, rounds, ours, theirs, ours/theirs)
	return nil
}

// warmUp is left out of the count at the begin of every round.
const warmUp = 500 * time.Millisecond

// flatOut counts what arrives while the driver sends as fast as it can.
func (b *bench) flatOut(ctx context.Context, size int) (float64, error) {
	done := make(chan error, 1)
	go func() {
		_, err := b.driver.Measure(ctx, measure.Trial{
			FrameBytes: size, DurationNanoseconds: int64(b.window + 2*warmUp), SettleNanoseconds: int64(100 * time.Millisecond),
		})
		done <- err
	}()
	rate, err := b.count()
	if failed := <-done; failed != nil {
		return 0, failed
	}
	return rate, err
}

// count waits and then gives the frames that arrive in a second.
func (b *bench) count() (float64, error) {
	time.Sleep(warmUp)
	before, began, err := b.received()
	if err != nil {
		return 0, err
	}
	time.Sleep(b.window)
	after, ended, err := b.received()
	return float64(after-before) / ended.Sub(began).Seconds(), err
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
