package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/xdp"
	"vnfbench.io/operator/internal/traffic/xdp/testpath"
	"vnfbench.io/operator/internal/traffic/xdp/testpath/recorder"
)

// pace prints the driver's pacing error at set loads, with both ways of
// scheduling, on the last CPU. A recorder at the device's port, right behind
// the sending one, notes every frame's departure. A line is the round with the
// median p99 of the gaps' errors, so that its figures belong together.
func pace(ctx context.Context, rounds int, window time.Duration) error {
	for _, scheduling := range []string{xdp.Fair, xdp.RealTime} {
		if err := paceWith(ctx, scheduling, rounds, window); err != nil {
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
	d, err := open(ctx, p, xdp.Config{Path: p.IPv4(measure.Forward), Scheduling: scheduling}, runtime.NumCPU()-1)
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
		var all []paced
		for range rounds {
			r.Clear()
			o, err := d.Measure(ctx, trialOf(64, rate, window))
			if err != nil {
				return err
			}
			all = append(all, paced{d.Lateness(measure.Forward), r.Pacing(rate), o, loadAverage()})
		}
		slices.SortFunc(all, func(a, b paced) int {
			return cmp.Compare(a.gaps.Stamped.P99Nanoseconds, b.gaps.Stamped.P99Nanoseconds)
		})
		fmt.Printf("pacing, %s, %d frames/s, best p99 %d ns, median round of %d: %v\n",
			scheduling, rate, all[0].gaps.Stamped.P99Nanoseconds, rounds, all[len(all)/2])
	}
	return nil
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
	load    string
}

func (p paced) String() string {
	d := p.outcome.Directions[0]
	text := fmt.Sprintf("inter-departure error p50 %d, p99 %d, max %d ns (at the next port p50 %d, p99 %d, max %d ns); lateness p50 %d, p99 %d, max %d ns; sent %d of %d, lost %d; load average %s",
		p.gaps.Stamped.P50Nanoseconds, p.gaps.Stamped.P99Nanoseconds, p.gaps.Stamped.MaxNanoseconds,
		p.gaps.Arrived.P50Nanoseconds, p.gaps.Arrived.P99Nanoseconds, p.gaps.Arrived.MaxNanoseconds,
		p.late.P50Nanoseconds, p.late.P99Nanoseconds, p.late.MaxNanoseconds,
		d.SentFrames, d.IntendedFrames, d.LostFrames(), p.load)
	for _, doubt := range p.outcome.Doubts {
		text += "\n  " + doubt.Code + ": " + doubt.Detail
	}
	return text
}
