package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/testing/testpath/recorder"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// paceRates are the loads, in frames per second, at which pacing is measured.
var paceRates = []uint64{1_000, 10_000, 100_000, 300_000}

// pace prints the driver's pacing error at set loads, with both ways of scheduling, on the CPU that
// the driver chooses, and that of a thread that only reads the clock there. A recorder at the
// device's port, directly after the sending one, notes every frame's departure. There are many
// short rounds, by turns: in some of them the scheduler's own statistics show that nothing took the
// CPU from the driver. These rounds show the error of interrupts and of the driver itself.
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
	spin := spinnerFor(d.CPUs()[0], scheduling, window)
	for _, rate := range paceRates {
		var all pacedRounds
		for range rounds {
			if err := all.add(ctx, d, r, spin, rate, window); err != nil {
				return err
			}
		}
		fmt.Printf("pacing, %s, CPU %d, %d frames/s, rounds of %v, the median one; load average %s\n", scheduling, spin.cpu, rate, window, loadAverage())
		all.print(rate, scheduling, spin)
	}
	return nil
}

// pacedRounds are those of one load: the driver's, those of them in which nothing took the CPU from
// it, and the spinner's.
type pacedRounds struct {
	all, undisturbed []paced
	spun             []recorder.Errors
}

// add makes the driver send and then the spinner spin.
func (p *pacedRounds) add(ctx context.Context, d *xdp.Driver, r *recorder.Recorder, spin spinner, rate uint64, window time.Duration) error {
	time.Sleep(spin.pause)
	r.Clear()
	o, err := d.Measure(ctx, trialOf(64, rate, window))
	if err != nil {
		return err
	}
	round := paced{late: o.Directions[0].Lateness, gaps: r.Pacing(rate), outcome: o}
	p.all = append(p.all, round)
	if times, waited := d.Preemptions(); times == 0 && waited < window/1000 && !stolen(o) {
		p.undisturbed = append(p.undisturbed, round)
	}
	time.Sleep(spin.pause)
	spun, err := spin.round(rate, window)
	p.spun = append(p.spun, spun)
	return err
}

// print ends with one line for each load that programs can read.
func (p *pacedRounds) print(rate uint64, scheduling string, spin spinner) {
	own, spun := medianRound(p.all, pacedP99), medianRound(p.spun, errorsP99)
	fmt.Printf("  driver, of all %d: %v\n", len(p.all), own)
	if len(p.undisturbed) == 0 {
		fmt.Println("  driver, undisturbed: none")
	} else {
		fmt.Printf("  driver, of %d undisturbed: %v\n", len(p.undisturbed), medianRound(p.undisturbed, pacedP99))
	}
	fmt.Printf("  spin, %s, of all %d: error %v\n", spin.scheduling, len(p.spun), errorWords(spun))
	line := fmt.Sprintf("PACING rate=%d scheduling=%s p99 %d ns, spin p99 %d ns, ratio %.2f, above 1 us %.2f %%, spin %.2f %%",
		rate, scheduling, pacedP99(own), spun.P99Nanoseconds, float64(pacedP99(own))/float64(max(spun.P99Nanoseconds, 1)),
		own.gaps.Stamped.AbovePercent(), spun.AbovePercent())
	if spin.why != "" {
		line += fmt.Sprintf(" (spin is %s: %s)", spin.scheduling, spin.why)
	}
	fmt.Println(line)
}

func stolen(o measure.Outcome) bool {
	return slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtSteal })
}

func pacedP99(p paced) uint64            { return p.gaps.Stamped.P99Nanoseconds }
func errorsP99(e recorder.Errors) uint64 { return e.P99Nanoseconds }

// medianRound returns the round with the median p99 of the gaps' errors, so that all figures of a
// line are of one round.
func medianRound[R any](rounds []R, p99 func(R) uint64) R {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b R) int { return cmp.Compare(p99(a), p99(b)) })
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
	late    measure.DelayQuantiles
	gaps    recorder.Pacing
	outcome measure.Outcome
}

func (p paced) String() string {
	d := p.outcome.Directions[0]
	return fmt.Sprintf("inter-departure error %v (at the next port %v); lateness p50 %d, p99 %d, max %d ns; sent %d of %d, lost %d",
		errorWords(p.gaps.Stamped), errorWords(p.gaps.Arrived),
		p.late.P50Nanoseconds, p.late.P99Nanoseconds, p.late.MaxNanoseconds,
		d.SentFrames, d.IntendedFrames, d.LostFrames())
}

func errorWords(e recorder.Errors) string {
	return fmt.Sprintf("p50 %d, p99 %d, p99.9 %d, max %d ns, above 1 us %.2f %%", e.P50Nanoseconds, e.P99Nanoseconds, e.P999Nanoseconds, e.MaxNanoseconds, e.AbovePercent())
}
