package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/xdp"
)

const (
	// costFrames and costBatch are those of a run of an empty program, as the driver's own are.
	costFrames = 1_000_000
	costBatch  = 32
	// overload is more frames per second than a core makes.
	overload = 12_000_000
	// leastPeerRatio is how many frames the driver must bring over a wire for each of trafgen's, in
	// the same CPU time.
	leastPeerRatio = 8.0
	// costWindow is long enough for the kernel's accounting of CPU time.
	costWindow = time.Second
	// liveFrames makes the kernel act on what the program returns (BPF_F_TEST_XDP_LIVE_FRAMES).
	liveFrames = 1 << 1
)

// staleFrame is one that the receiver drops the soonest: it has the signature of a test frame and the key of no trial.
// Any other frame may be a fragment, a request for a hardware address or an answer to one, so the receiver looks at it for
// longer, and for longer than at one of its frames.
var staleFrame = func() []byte {
	frame := make([]byte, 60)
	binary.BigEndian.PutUint16(frame[12:], unix.ETH_P_IP)
	frame[14] = 0x45
	frame[23] = unix.IPPROTO_UDP
	// The signature is in the order of this host's bytes (layout.h). Numbers of trials begin with 1.
	binary.NativeEndian.PutUint16(frame[42:], 0x7662)
	binary.NativeEndian.PutUint16(frame[44:], 1)
	return frame
}()

// A cost is that of one frame of 64 bytes in nanoseconds on the direct path, up to a step.
type cost struct{ dropped, clock, redirected, all, scheduled float64 }

// measureCosts prints where the time of a frame goes: differences of what programs take that do
// one step more each. The smallest of the rounds counts, because other work only adds to it.
func measureCosts(ctx context.Context, rounds int, window time.Duration) error {
	p, err := testpath.Direct()
	if err != nil {
		return err
	}
	defer p.Close()
	d, err := open(ctx, p, xdp.Config{Path: p.IPv4(measure.Forward)}, core)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	least := cost{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}
	for range rounds {
		empty, err := emptyPrograms(p)
		if err != nil {
			return err
		}
		own, err := flatOut(ctx, d, p, 64, 0, window)
		if err != nil {
			return err
		}
		scheduled, err := flatOut(ctx, d, p, 64, overload, window)
		if err != nil {
			return err
		}
		least.dropped, least.clock = min(least.dropped, empty.dropped), min(least.clock, empty.clock)
		least.redirected = min(least.redirected, empty.redirected)
		least.all = min(least.all, 1e9/own.perCPUSecond)
		least.scheduled = min(least.scheduled, 1e9/scheduled.perCPUSecond)
	}
	fmt.Printf("direct veth, one core, 64 B, nanoseconds of CPU time for each frame, smallest of %d; load average %s\n", rounds, loadAverage())
	fmt.Printf("  the kernel makes a frame, runs an empty program and recycles the frame: %.0f\n", least.dropped)
	fmt.Printf("  redirect, veth, NAPI and a receiver that drops the frame as one of no trial: %s\n", more(least.redirected-least.dropped))
	fmt.Printf("  as fast as possible the driver writes, recognizes and counts it, and times a part: %s, %.0f in all\n", more(least.all-least.redirected), least.all)
	fmt.Printf("  with a schedule, overloaded, it also times each, and counts it in the ring: %s, %.0f in all\n", more(least.scheduled-least.all), least.scheduled)
	fmt.Printf("  a look at the clock, of which a frame that is timed takes two: %.0f\n", least.clock)
	return nil
}

// more returns how much longer a step takes than the one before it. Each is measured by itself, so a step that takes less was
// not resolved.
func more(nanoseconds float64) string {
	if nanoseconds < 0 {
		return "not resolved"
	}
	return fmt.Sprintf("%.0f more", nanoseconds)
}

// boundOf returns which ratio to a peer a sender by this kernel path can have at most, by what a frame takes the kernel with
// programs that do nothing; that is no bound where the driver takes less.
func boundOf(kernel, own, peer float64) string {
	if kernel >= own {
		return fmt.Sprintf("%.0f ns, which is not below the driver's, so no bound", kernel)
	}
	return fmt.Sprintf("%.0f ns, so a sender by this kernel path (BPF test run, redirect, batches of 32, this receiver) has a ratio of %.2f at most", kernel, peer/kernel)
}

// emptyPrograms returns the nanoseconds of a frame that a program drops at once, of one look at the
// clock, and of a frame that a program redirects to the port without a look at it.
func emptyPrograms(p *testpath.Path) (c cost, err error) {
	const looks = 10
	drop := asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}
	var look asm.Instructions
	for range looks {
		look = append(look, asm.FnKtimeGetNs.Call())
	}
	err = testpath.Do(p.Generator, func() error {
		port, err := netlink.LinkByName(testpath.West)
		if err != nil {
			return err
		}
		if c.dropped, err = runEmpty(drop); err != nil {
			return err
		}
		looked, err := runEmpty(append(look, drop...))
		if err != nil {
			return err
		}
		c.clock = (looked - c.dropped) / looks
		c.redirected, err = runEmpty(asm.Instructions{
			asm.Mov.Imm(asm.R1, int32(port.Attrs().Index)), asm.Mov.Imm(asm.R2, 0), asm.FnRedirect.Call(), asm.Return(),
		})
		return err
	})
	return c, err
}

func runEmpty(program asm.Instructions) (nanoseconds float64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return 0, err
	}
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &all)) }()
	loaded, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, Instructions: program, License: "Dual MIT/GPL"})
	if err != nil {
		return 0, err
	}
	defer func() { _ = loaded.Close() }()
	before, err := threadTime()
	if err != nil {
		return 0, err
	}
	if _, err := loaded.Run(&ebpf.RunOptions{Data: staleFrame, Repeat: costFrames, BatchSize: costBatch, Flags: liveFrames}); err != nil {
		return 0, err
	}
	after, err := threadTime()
	return float64(after-before) / costFrames, err
}

// threadTime returns how long the calling thread has run.
func threadTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}

// compareCost prints what a frame costs the driver and trafgen on a wire, generator, wire and
// receiver together, and what of it is the kernel's, which bounds the ratio. The driver is to be compared as fast as possible, as trafgen sends, and so times a part
// of the frames; what it takes at a load, with a schedule and all frames timed, is printed next to it.
func compareCost(ctx context.Context, rounds int, window time.Duration) error {
	ours, err := testpath.Direct()
	if err != nil {
		return err
	}
	defer ours.Close()
	theirs, err := testpath.DirectApart()
	if err != nil {
		return err
	}
	defer theirs.Close()
	d, err := open(ctx, ours, xdp.Config{Path: ours.IPv4(measure.Forward)}, core)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	var own, scheduled, peer []rate
	var kernels []float64
	for range rounds {
		empty, err := emptyPrograms(ours)
		if err != nil {
			return err
		}
		kernels = append(kernels, empty.redirected)
		got, err := flatOut(ctx, d, ours, 64, 0, window)
		if err != nil {
			return err
		}
		own = append(own, got)
		if got, err = flatOut(ctx, d, ours, 64, overload, window); err != nil {
			return err
		}
		scheduled = append(scheduled, got)
		if got, err = peers[0].measure(ctx, theirs, 64, window); err != nil {
			fmt.Printf("own cost: %d ns to make, time and send a frame of %d bytes; %s not run: %v\n", d.Description().FrameCostNanoseconds, frames.ProbeFrameBytes, peers[0].name, err)
			return ctx.Err()
		}
		peer = append(peer, got)
	}
	mine, atLoad, theirRate := middle(own), middle(scheduled), middle(peer)
	ratio := mine.perCPUSecond / theirRate.perCPUSecond
	fmt.Printf("RING %s direct: %d ns to make, time and send a frame of %d bytes; over a wire, with its receiver, frames of 64 bytes as fast as possible, a part of them timed, %.0f ns of CPU time, %s %.0f ns, ratio %.2f, want %.0f at least; the kernel alone, with programs that do nothing, %s; by the clock %.2f; at a load that is too high, with each frame timed, %.0f ns, ratio %.2f; medians of %d, load average %s\n",
		verdictOf(ratio >= leastPeerRatio), d.Description().FrameCostNanoseconds, frames.ProbeFrameBytes, 1e9/mine.perCPUSecond, peers[0].name, 1e9/theirRate.perCPUSecond, ratio, leastPeerRatio,
		boundOf(statistics.Median(kernels), 1e9/mine.perCPUSecond, 1e9/theirRate.perCPUSecond), mine.perSecond/theirRate.perSecond, 1e9/atLoad.perCPUSecond, atLoad.perCPUSecond/theirRate.perCPUSecond, rounds, loadAverage())
	return nil
}
