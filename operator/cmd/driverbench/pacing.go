package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/xdp"
	"vnfbench.io/operator/internal/traffic/xdp/testpath"
	"vnfbench.io/operator/internal/traffic/xdp/testpath/recorder"
)

// pace prints the driver's pacing error at set loads, with both ways of
// scheduling, on the CPU that the driver chooses. A recorder at the device's port, right behind
// the sending one, notes every frame's departure. There are many short rounds:
// in some of them the scheduler's own statistics say that nothing took the CPU
// from the driver, and these show the driver's error and not the machine's.
func pace(ctx context.Context, rounds int, window time.Duration) error {
	for _, scheduling := range []string{xdp.Fair, xdp.RealTime} {
		if err := paceWith(ctx, scheduling, 2*rounds, window/2); err != nil {
			return err
		}
	}
	return nil
}

func paceWith(ctx context.Context, scheduling string, rounds int, window time.Duration) error {
	p, err := testpath.Routed(true)
	if err != nil {
		return err
	}
	defer p.Close()
	d, err := open(ctx, p, xdp.Config{Path: p.IPv4(measure.Forward), Scheduling: scheduling})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if d.Description().Scheduling != scheduling {
		fmt.Printf("pacing, %s not run: %v\n", scheduling, d.Description().Fallbacks)
		return nil
	}
	r, err := record(p)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for _, rate := range []uint64{1_000, 10_000, 100_000, 300_000} {
		var all, undisturbed []paced
		for range rounds {
			r.Clear()
			o, err := d.Measure(ctx, trialOf(64, rate, window))
			if err != nil {
				return err
			}
			round := paced{late: d.Lateness(measure.Forward), gaps: r.Pacing(rate), outcome: o}
			all = append(all, round)
			if times, waited := d.Preemptions(); times == 0 && waited < window/1000 && !stolen(o) {
				undisturbed = append(undisturbed, round)
			}
		}
		fmt.Printf("pacing, %s, %d frames/s, rounds of %v, the median one; load average %s\n", scheduling, rate, window, loadAverage())
		fmt.Printf("  of all %d: %v\n", len(all), medianRound(all))
		if len(undisturbed) == 0 {
			fmt.Println("  undisturbed: none")
		} else {
			fmt.Printf("  of %d undisturbed: %v\n", len(undisturbed), medianRound(undisturbed))
		}
	}
	return nil
}

func stolen(o measure.Outcome) bool {
	return slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtSteal })
}

// medianRound is the one with the median p99 of the gaps' errors, so that all
// figures of a line belong together.
func medianRound(rounds []paced) paced {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b paced) int {
		return cmp.Compare(a.gaps.Stamped.P99Nanoseconds, b.gaps.Stamped.P99Nanoseconds)
	})
	return sorted[len(sorted)/2]
}

func record(p *testpath.Path) (r *recorder.Recorder, err error) {
	err = testpath.Do(p.Device, func() error {
		l, err := netlink.LinkByName(testpath.DeviceWest)
		if err != nil {
			return err
		}
		r, err = recorder.Attach(l.Attrs().Index)
		return err
	})
	return r, err
}

// paced is one round.
type paced struct {
	late    measure.Delays
	gaps    recorder.Pacing
	outcome measure.Outcome
}

func (p paced) String() string {
	d := p.outcome.Directions[0]
	return fmt.Sprintf("inter-departure error p50 %d, p99 %d, max %d ns (at the next port p50 %d, p99 %d, max %d ns); lateness p50 %d, p99 %d, max %d ns; sent %d of %d, lost %d",
		p.gaps.Stamped.P50Nanoseconds, p.gaps.Stamped.P99Nanoseconds, p.gaps.Stamped.MaxNanoseconds,
		p.gaps.Arrived.P50Nanoseconds, p.gaps.Arrived.P99Nanoseconds, p.gaps.Arrived.MaxNanoseconds,
		p.late.P50Nanoseconds, p.late.P99Nanoseconds, p.late.MaxNanoseconds,
		d.SentFrames, d.IntendedFrames, d.LostFrames())
}
