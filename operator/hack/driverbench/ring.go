package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// What the ring must do. Each load is a share of what arrives flat out right before and after it, so that the machine's speed does not matter, nor that
// it changes from minute to minute.
const (
	leastLimitShare      = 0.80 // of the flat-out rate
	leastSlowLimitShare  = 0.90 // the same, of a device that takes a microsecond or more
	leastOfferedShare    = 0.99
	leastOverloadedShare = 0.85 // received at twice the limit, of the limit
	mostDelayError       = 0.10
	mostDirectionError   = 0.02
	// leastFullLoss is the loss of a device whose ring is always full, at a tenth above what it carries.
	leastFullLoss = 0.05
)

const (
	// ringWindow is short: the kernel takes a real-time thread off its core for some time of each
	// second. In plateauWindow a load a tenth above the limit fills a ring of 4,096 places early. flatWindow is that of the rate flat out before and after.
	ringWindow    = 300 * time.Millisecond
	plateauWindow = 600 * time.Millisecond
	ringPause     = 700 * time.Millisecond
	flatWindow    = 100 * time.Millisecond
	// mostRingRounds keeps all of it below an hour.
	mostRingRounds = 5
	// limitStep is how close the search gets to the limit.
	limitStep = 1.01
	// steadyFlatOut is by which factor what arrives flat out before and after a trial may differ. Otherwise the trial is made again, mostAgain times at most.
	steadyFlatOut = 1.03
	mostAgain     = 4
	// nearLoss is a loss that a load near the limit may have by chance, so that it gets nearRounds times as
	// many trials. A load a tenth above the limit loses more.
	nearLoss   = 0.05
	nearRounds = 2
)

const (
	// ringBatch is how many frames a device takes together, and emptyBatch how long as many runs take that
	// find no frame: so long a frame may wait for its batch.
	ringBatch  = 8
	emptyBatch = 320 * time.Nanosecond
	// mostWarmer is by which share a device may be faster at 50 % of the limit than at 10 %, where its
	// caches are colder.
	mostWarmer = 0.10
)

// bench is a driver on a path with a device, and what its trials are called.
type bench struct {
	ctx    context.Context
	d      *xdp.Driver
	rounds int
	name   string
}

// relative is a trial, and the most frames per second that arrived flat out right before or right after it.
type relative struct {
	measure.Outcome
	flatOut float64
	// share is that of flatOut which its load was.
	share float64
	// steady says that the rates before and after it were alike.
	steady bool
}

// measureRings prints what the ring does to a device's limit and delays, and whether that is as it
// must be. A limit is the highest share of the rate flat out that passed in one trial of several, because other work only lowers it. All other figures are medians.
func measureRings(ctx context.Context, rounds int, only string) error {
	rounds = min(rounds, mostRingRounds)
	devices, err := devicesNamed(only)
	if err != nil {
		return err
	}
	for _, device := range devices {
		for _, directions := range [][]measure.Direction{{measure.Forward}, {measure.Forward, measure.Reverse}} {
			if err := measureRing(ctx, device, directions, rounds); err != nil {
				return err
			}
		}
	}
	return compareCost(ctx, rounds, costWindow)
}

func measureRing(ctx context.Context, device device, directions []measure.Direction, rounds int) error {
	p, err := device.path()
	if err != nil {
		return err
	}
	defer p.Close()
	config := xdp.Config{Path: p.IPv4(directions...), Scheduling: xdp.RealTime, Threads: 1}
	b := bench{ctx: ctx, rounds: rounds, name: ringName(device, len(directions))}
	partly, err := b.flatOutOf(p, config)
	if err != nil {
		return err
	}
	// A trial at a load has all frames timed: only so does the flat-out rate differ by the ring alone.
	config.TimeAll = true
	d, err := open(ctx, p, config)
	if err != nil {
		return err
	}
	b.d = d
	fmt.Printf("%s: %s, %s, %d ns to make, time and send a frame of %d bytes; load average %s\n",
		b.name, d.Description().TransmitPath, d.Description().Scheduling, d.Description().FrameCostNanoseconds, frames.ProbeFrameBytes, loadAverage())
	limit, err := b.limits(device.leastLimit, partly)
	if err == nil {
		err = b.overload(limit)
	}
	if err == nil {
		err = b.rising(limit, len(directions))
	}
	if failed := d.Close(); err == nil {
		err = failed
	}
	if err != nil || device.slow > 0 || len(directions) > 1 {
		return err
	}
	for _, ring := range []int{256, 1024, 4096} {
		config.RingFrames = ring
		if b.d, err = open(ctx, p, config); err != nil {
			return err
		}
		err = b.plateau(limit, ring)
		if failed := b.d.Close(); err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ringName returns what the lines of a device call it.
func ringName(device device, directions int) string {
	return fmt.Sprintf("%s, %d directions", device.name, directions)
}

// trial measures a load once.
func (b bench) trial(framesPerSecond float64) (measure.Outcome, error) {
	time.Sleep(ringPause)
	return b.d.Measure(b.ctx, trialOf(64, uint64(framesPerSecond), ringWindow))
}

// at measures a load that is a share of what arrives flat out. It makes the trial again where the machine's speed has changed meanwhile, and returns the last
// one where it always has.
func (b bench) at(share float64, window time.Duration) (r relative, err error) {
	for range 1 + mostAgain {
		time.Sleep(ringPause)
		before, err := b.d.Measure(b.ctx, trialOf(64, 0, flatWindow))
		if err != nil {
			return r, err
		}
		if r.Outcome, err = b.d.Measure(b.ctx, trialOf(64, uint64(share*before.ForwardingFramesPerSecond()), window)); err != nil {
			return r, err
		}
		after, err := b.d.Measure(b.ctx, trialOf(64, 0, flatWindow))
		if err != nil {
			return r, err
		}
		if r = r.between(share, before.ForwardingFramesPerSecond(), after.ForwardingFramesPerSecond()); r.steady {
			break
		}
	}
	return r, nil
}

// between sets what arrives flat out to the higher of what arrived before and after a trial. The trial's load was a share of the
// rate before it, so where the one after it is higher, the share of flat out is lower.
func (r relative) between(share, before, after float64) relative {
	r.flatOut = max(before, after)
	r.share = share * before / r.flatOut
	r.steady = r.flatOut <= steadyFlatOut*min(before, after)
	return r
}

// trials measures a load several times.
func (b bench) trials(share float64, window time.Duration) ([]relative, error) {
	made := make([]relative, b.rounds)
	for n := range made {
		var err error
		if made[n], err = b.at(share, window); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// medianOf returns the median of a figure over trials.
func medianOf(made []relative, figure func(relative) float64) float64 {
	values := make([]float64, len(made))
	for i, r := range made {
		values[i] = figure(r)
	}
	return statistics.Median(values)
}

// forwarded returns a direction's received frames per second, over the time until the last one left the ring.
func forwarded(o measure.Outcome, direction int) float64 {
	d := o.Directions[direction]
	return float64(d.ReceivedFrames) / time.Duration(o.SendingNanoseconds+d.DrainNanoseconds).Seconds()
}

// flatOutOf returns what arrives flat out from a separate driver.
func (b bench) flatOutOf(p *testpath.Path, config xdp.Config) (float64, error) {
	d, err := open(b.ctx, p, config)
	if err != nil {
		return 0, err
	}
	b.d = d
	_, flatOut, err := b.flatOut()
	return flatOut, errors.Join(err, d.Close())
}

// overload offers more than the limit, a share of what arrives flat out.
func (b bench) overload(limit float64) error {
	for _, share := range []float64{1.1, 1.3, 2} {
		made, err := b.trials(limit*share, ringWindow)
		if err != nil {
			return err
		}
		var received []float64
		for i, d := range made[0].Directions {
			b.offeredAll(made, i, fmt.Sprintf("%s at %.1f x limit", d.Direction, share))
			received = append(received, medianOf(made, func(r relative) float64 { return forwarded(r.Outcome, i) / r.flatOut }))
		}
		if share < 2 {
			continue
		}
		carried := slices.Min(received)
		b.verdict(carried >= leastOverloadedShare*limit, "received at 2 x limit %.2f of flat out, %.2f of the limit, want %.2f at least%s",
			carried, carried/limit, leastOverloadedShare, unsteady(made))
		if len(received) == 2 {
			off := medianOf(made, func(r relative) float64 {
				a, b := float64(r.Directions[0].ReceivedFrames), float64(r.Directions[1].ReceivedFrames)
				return math.Abs(a-b) / max(a, b)
			})
			b.verdict(off <= mostDirectionError, "both directions at 2 x limit: %.3f and %.3f of flat out, %.1f %% apart, want %.0f %% at most",
				received[0], received[1], 100*off, 100*mostDirectionError)
		}
	}
	return nil
}

// unsteady says in how many trials the machine's speed changed.
func unsteady(made []relative) string {
	changed := 0
	for _, r := range made {
		if !r.steady {
			changed++
		}
	}
	if changed == 0 {
		return ""
	}
	return fmt.Sprintf("; in %d of %d trials flat out was not the same before and after", changed, len(made))
}

// offeredAll wants all frames of an overload to be offered and some to be lost, and a counter to have each that is
// missing, in every trial.
func (b bench) offeredAll(made []relative, direction int, name string) {
	var lost, overflow, refused uint64
	unknown, away := 0, int64(0)
	for _, r := range made {
		d := r.Directions[direction]
		lost, overflow, refused = lost+d.LostFrames(), overflow+d.OverflowFrames+d.LeftFrames, refused+d.RefusedFrames
		if d.LostFrames() != d.OverflowFrames+d.LeftFrames+d.RefusedFrames {
			unknown++
		}
		away = max(away, r.LongestAwayNanoseconds)
	}
	offered := medianOf(made, func(r relative) float64 {
		return float64(r.Directions[direction].SentFrames) / float64(r.Directions[direction].IntendedFrames)
	})
	ratio := medianOf(made, func(r relative) float64 { return r.Directions[direction].LossRatio() })
	b.verdict(offered >= leastOfferedShare && ratio > 0 && unknown == 0,
		"%s: offered %.4f of the load, lost %.1f %%; of %d lost frames of all %d trials %d found the ring full and %d were refused, trials that do not add up: %d; away %v at the longest",
		name, offered, 100*ratio, lost, len(made), overflow, refused, unknown, time.Duration(away))
}

// rising wants longer delays at loads at which frames wait.
func (b bench) rising(limit float64, directions int) error {
	var delays []float64
	flatOut := 0.0
	for _, share := range []float64{0.1, 0.5, 0.9, 1.1} {
		made, err := b.trials(limit*share, ringWindow)
		if err != nil {
			return err
		}
		of := func(figure func(measure.DirectionOutcome) uint64) float64 {
			return medianOf(made, func(r relative) float64 { return float64(figure(r.Directions[0])) })
		}
		flatOut = max(flatOut, medianOf(made, func(r relative) float64 { return r.flatOut }))
		delays = append(delays, of(func(d measure.DirectionOutcome) uint64 { return d.Latency.P50Nanoseconds }))
		fmt.Printf("  at %.0f %%: delay from due p50 %.0f, p99 %.0f ns; wait p50 %.0f, p99 %.0f ns; since the departure p50 %.0f, p99 %.0f ns\n", 100*share,
			delays[len(delays)-1],
			of(func(d measure.DirectionOutcome) uint64 { return d.Latency.P99Nanoseconds }),
			of(func(d measure.DirectionOutcome) uint64 { return d.Lateness.P50Nanoseconds }),
			of(func(d measure.DirectionOutcome) uint64 { return d.Lateness.P99Nanoseconds }),
			of(func(d measure.DirectionOutcome) uint64 { return d.DelaySinceDeparture.P50Nanoseconds }),
			of(func(d measure.DirectionOutcome) uint64 { return d.DelaySinceDeparture.P99Nanoseconds }))
	}
	passed, want := rises(delays, limit*flatOut*float64(directions))
	b.verdict(passed, "delay p50 at 10, 50, 90, 110 %%: %.0f ns, want %s", delays, want)
	return nil
}

// rises reports whether the delays at 10, 50, 90 and 110 % of a core's limit are those of a device that takes
// equally long for each frame. At 10 and 50 % none waits for one that came before its batch, so both are the
// device's own time and that of a batch. At 90 % frames wait: the limit was found with whole batches, and a
// frame costs more in a smaller one. At 110 % the ring is full.
func rises(delays []float64, limit float64) (bool, string) {
	least := delays[0] - max(mostWarmer*delays[0], float64(emptyBatch))
	most := delays[0] + ringBatch*1e9/limit
	return delays[1] >= least && delays[1] <= most && delays[2] > max(delays[0], delays[1]) && delays[3] > delays[2],
		fmt.Sprintf("%.0f to %.0f at 50 %%, more at 90 %% than at 10 and 50 %%, and more at 110 %%", least, most)
}

// plateau wants the delay of an overloaded device to be that of a full ring, at a tenth above the limit. Where
// noise made the limit that was found too low, that does not keep the ring full: then the next load counts.
func (b bench) plateau(limit float64, ring int) error {
	const mostTimes = 1.4
	for times := 1.1; ; times += 0.1 {
		made, err := b.trials(times*limit, plateauWindow)
		if err != nil {
			return err
		}
		delay := medianOf(made, func(r relative) float64 { return float64(r.Directions[0].Latency.P50Nanoseconds) })
		want := medianOf(made, func(r relative) float64 { return float64(ring) * 1e9 / forwarded(r.Outcome, 0) })
		loss := medianOf(made, func(r relative) float64 { return r.Directions[0].LossRatio() })
		full := loss >= leastFullLoss
		line := fmt.Sprintf("a ring of %d at %.1f x the limit, %.2f of flat out: delay p50 %.0f ns, ring over rate %.0f ns, %+.1f %%, want %.0f %% at most; lost %.1f %%%s",
			ring, times, times*limit, delay, want, 100*(delay/want-1), 100*mostDelayError, 100*loss, unsteady(made))
		if !full && times < mostTimes {
			fmt.Println("  not full: " + line)
			continue
		}
		b.verdict(full && math.Abs(delay/want-1) <= mostDelayError, "%s", line)
		return nil
	}
}

// verdict prints a line that programs can read.
func (b bench) verdict(passed bool, format string, args ...any) {
	fmt.Printf("RING %s %s: %s\n", verdictOf(passed), b.name, fmt.Sprintf(format, args...))
}

// fails counts the verdicts that are FAIL.
var fails int

func verdictOf(passed bool) string {
	if passed {
		return "PASS"
	}
	fails++
	return "FAIL"
}
