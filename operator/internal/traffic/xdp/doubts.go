package xdp

import (
	"fmt"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

// The driver doubts a trial if more than this share of frames left late, if the
// hypervisor or other processes kept the transmit threads off their CPUs for more than
// this share of its duration, or if the kernel stopped receiving frames more often than
// this per second.
const (
	lateShare       = 0.01
	awayShare       = 0.005
	squeezesASecond = 100
)

const (
	// tolerance is how late a frame may leave and not count as late.
	tolerance = 10 * time.Microsecond
	// foreignFrames and foreignShare of what was received may be others' frames, such as those by
	// which stacks look for their neighbors.
	foreignFrames = 100
	foreignShare  = 0.001
	// steadyAway is the longest time away after which frames are not taken for a burst, and burstTimes how many times its
	// load a millisecond has at least that has one.
	steadyAway = time.Millisecond
	burstTimes = 2
	// duplicateWindow is layout.h's WINDOW.
	duplicateWindow = len(trafficState{}.Window[0])
)

// doubts returns the generator's doubts about its own trial.
func (d *Driver) doubts(trial measure.Trial, outcome measure.Outcome, away away, seen watched) []measure.Doubt {
	var all frames.Doubts
	for _, direction := range outcome.Directions {
		d.doubtCounts(&all, trial, direction, seen)
		d.doubtRefusals(&all, trial, direction, seen)
		d.doubtFragments(&all, direction)
		d.doubtNextHop(&all, direction)
	}
	d.doubtCores(&all, trial, outcome, away, seen)
	expected := lead + leadSpread + trial.Duration() + trial.Settle() + d.extended + outcome.Drain()
	if total := time.Duration(outcome.TotalNanoseconds); total > expected+expected/20+startStop {
		all.Add(measure.DoubtStretched, false, "the trial took %v instead of %v", total, expected)
	}
	return all
}

// doubtCounts doubts what a direction's counters show.
func (d *Driver) doubtCounts(all *frames.Doubts, trial measure.Trial, o measure.DirectionOutcome, seen watched) {
	i := frames.Index(o.Direction)
	t, r := &d.state.Transmitters[i], &d.state.Receivers[i]
	out, in := d.ports[i].name, d.ports[1-i].name
	if rated := t.Schedule.FramesPerSecond > 0; r.Received > t.Made || rated && t.Arrived != t.Overflow+o.LeftFrames+t.Made {
		all.Add(measure.DoubtUnaccounted, true, "%s: %d frames were due; %d found the ring full, %d are still there, %d were made and %d received",
			o.Direction, t.Arrived, t.Overflow, o.LeftFrames, t.Made, r.Received)
	}
	doubtArrivals(all, o, r)
	if n := seen.ports[1-i].receiveDrops; n > 0 {
		// Without loss they cannot have been this trial's frames.
		all.Add(measure.DoubtReceiveDrops, o.LostFrames() > 0,
			"%s: %s dropped %d frames on their way in, %d of %d are missing", o.Direction, in, n, o.LostFrames(), o.SentFrames)
	}
	account := d.account(i, trial, seen)
	dropped := account.inner
	if !d.inline() || trial.IntendedFramesPerSecond == 0 {
		dropped += account.refused
	}
	if dropped > 0 {
		all.Add(measure.DoubtTransmitDrops, false,
			"%s: %d of %d frames were made but did not leave %s; they do not count as sent", o.Direction, dropped, t.Made, out)
	}
	if t.Overflow > 0 && !d.inline() {
		all.Add(measure.DoubtOverflow, false,
			"%s: %d of %d frames were due while %d others waited for the way to the device or for the core that sends; they do not count as sent",
			o.Direction, t.Overflow, o.IntendedFrames, t.RingFrames)
	}
	if n := o.UnsentFrames(); n > 0 {
		all.Add(measure.DoubtUnsent, false, "%s: %d of %d intended frames were not sent", o.Direction, n, o.IntendedFrames)
	}
	// Where the device works on the sending core, frames wait for the device.
	if late := above(&d.state.Histograms[i][histogramLateness], uint64(tolerance)); !d.inline() && float64(late) > lateShare*float64(t.Made) {
		all.Add(measure.DoubtMissedDeadlines, false, "%s: %d of %d frames left more than %v late, the latest %v; the transmit threads were preempted %d times",
			o.Direction, late, t.Made, tolerance, time.Duration(t.Latest), d.held.times)
	}
	if o.LateArrivals > 0 {
		all.Add(measure.DoubtLateArrivals, false, "%s: %d frames of the trial before arrived in this one: they count as lost there, and should have had longer to settle",
			o.Direction, o.LateArrivals)
	}
}

// doubtRefusals doubts loss that may be the sending port's. What it drops is the device's loss
// where the device's own kernel works on the sending core and a load is set.
func (d *Driver) doubtRefusals(all *frames.Doubts, trial measure.Trial, o measure.DirectionOutcome, seen watched) {
	i := frames.Index(o.Direction)
	n := o.LostFrames()
	hidden := d.counts(i) && n <= d.hidden(i, trial, o, seen.ports[i])
	if n == 0 || d.inline() && trial.IntendedFramesPerSecond > 0 || !hidden && d.refusals[i] != measure.RefusedUnproven {
		return
	}
	all.Add(measure.DoubtTransmitUnproven, false, "%s: %d of %d frames are missing, and %s may have dropped them without a count",
		o.Direction, n, o.SentFrames, d.ports[i].name)
}

// doubtArrivals doubts a direction in which other frames arrived than its own, or its own too late.
func doubtArrivals(all *frames.Doubts, o measure.DirectionOutcome, r *trafficReceiver) {
	if r.BeyondWindow > 0 {
		all.Add(measure.DoubtUnaccounted, false, "%s: %d frames arrived when over %d later ones had: they may have come twice, and count as lost if not",
			o.Direction, r.BeyondWindow, duplicateWindow)
	}
	if others := r.Foreign + r.Stray; others > foreignFrames && float64(others) > foreignShare*float64(r.Received) {
		all.Add(measure.DoubtUnaccounted, false, "%s: besides %d frames of the trial there arrived %d of no trial and %d of older ones, which the device had to carry too",
			o.Direction, r.Received, r.Foreign, r.Stray)
	}
}

func (d *Driver) doubtFragments(all *frames.Doubts, o measure.DirectionOutcome) {
	i := frames.Index(o.Direction)
	if n := d.state.Receivers[i].Refragmented; n > 0 {
		all.Add(measure.DoubtRefragmented, false,
			"%s: %d of %d fragments arrived with other bounds than they were sent with, so whole packets are recognized by their bytes alone, and a fragment that came twice may replace one that is missing",
			o.Direction, n, o.ReceivedFragments)
	}
	if n := d.state.Receivers[i].UnknownFragments; n > 0 {
		// Without loss they cannot have been this trial's.
		all.Add(measure.DoubtFragmentsUnknown, o.LostFrames() > 0,
			"%s: %d fragments arrived that were too short to recognize, or more than %d packets late; %d of %d packets are missing",
			o.Direction, n, len(d.state.Packets[i]), o.LostFrames(), o.SentFrames)
	}
}

// doubtCores doubts what others, and the driver itself, did to the sending cores.
func (d *Driver) doubtCores(all *frames.Doubts, trial measure.Trial, outcome measure.Outcome, away away, seen watched) {
	budget := time.Duration(awayShare * float64(trial.Duration()) * float64(len(d.cpus)))
	others := max(away.shared, away.others)
	taker, blamed := "", d.blames(outcome, away)
	if blamed || bursts(outcome, away) {
		switch max(d.held.waited, seen.steal, others) {
		case d.held.waited:
			taker = measure.DoubtPreempted
		case seen.steal:
			taker = measure.DoubtSteal
		default:
			taker = measure.DoubtSoftirq
		}
	}
	if d.held.waited > budget || taker == measure.DoubtPreempted {
		all.Add(measure.DoubtPreempted, blamed && taker == measure.DoubtPreempted,
			"the transmit threads were preempted %d times and waited for their CPUs for %v of %v, %v at the longest; %d frames are missing",
			d.held.times, d.held.waited, trial.Duration(), away.longest, lost(outcome))
	}
	if seen.steal > budget || taker == measure.DoubtSteal {
		all.Add(measure.DoubtSteal, blamed && taker == measure.DoubtSteal, "the hypervisor held back the transmitting CPUs for %v of %v; %d frames are missing",
			seen.steal, trial.Duration(), lost(outcome))
	}
	if what := d.starved(outcome); what != "" {
		all.Add(measure.DoubtStarved, false,
			"%s, and this kernel may have left network work of the transmitting CPUs to ksoftirqd, which never runs next to the real-time threads that send", what)
	}
	if float64(away.shared) > awayShare*float64(trial.Duration()) || taker == measure.DoubtSoftirq {
		all.Add(measure.DoubtSoftirq, blamed && taker == measure.DoubtSoftirq,
			"the kernel took in packets of others on the transmitting CPUs, for up to %v of %v; %d frames are missing", others, trial.Duration(), lost(outcome))
	}
	if s := seen.softnet; s.dropped > 0 || float64(s.squeezed) > squeezesASecond*trial.Duration().Seconds() {
		all.Add(measure.DoubtKernelQueue, false, "the kernel dropped %d packets that waited for the transmitting CPUs, and left off taking in packets there %d times", s.dropped, s.squeezed)
	}
}

// starved returns what shows that a kernel may have left network work of the transmitting CPUs to a thread that never
// runs; "" for nothing. What waits for that thread is late by more than measure.StarvedDelay, or does not arrive.
func (d *Driver) starved(outcome measure.Outcome) string {
	if !d.starves {
		return ""
	}
	var longest uint64
	for _, o := range outcome.Directions {
		longest = max(longest, o.Latency.MaxNanoseconds)
	}
	if n := lost(outcome); n > 0 {
		return fmt.Sprintf("%d frames are missing", n)
	}
	if longest > uint64(measure.StarvedDelay) {
		return fmt.Sprintf("frames took up to %v", time.Duration(longest))
	}
	return ""
}

func lost(outcome measure.Outcome) (all uint64) {
	for _, o := range outcome.Directions {
		all += o.LostFrames()
	}
	return all
}

// blames reports whether the time away may have cost the frames that are missing: more frames became due in
// it than the ring holds; what is missing is no more than a device that carries the load can lose for that reason
// (measure.Outcome.Overrun); and half of it at least found the ring full. More loss than that is the device's: near its
// limit, every trial on a busy node has some time away. Where the ring is not the device's, such frames are not sent, and
// what left and was lost is the device's loss.
func (d *Driver) blames(outcome measure.Outcome, away away) bool {
	for _, o := range outcome.Directions {
		lost := o.LostFrames()
		if lost > 0 && outcome.Overruns(o, away.all) && float64(lost) <= outcome.Overrun(o, away.all) && outcome.Explainable(o) >= (lost+1)/2 {
			return true
		}
	}
	return false
}

// bursts reports whether a device on the other side of the driver's ring may have lost frames because the ring gave it those of
// a time away at once: its queues or policers may lose some of them, and none at a steady rate. The frames that are missing and
// did not find the ring full are then no more than became due in the time away.
func bursts(outcome measure.Outcome, away away) bool {
	if outcome.RingFrames == 0 || away.longest <= steadyAway {
		return false
	}
	for _, o := range outcome.Directions {
		after := o.LostFrames() - outcome.Explainable(o)
		if after > 0 && float64(after) <= outcome.Due(o, away.all) && float64(o.MostInMillisecond) >= burstTimes*outcome.Due(o, time.Millisecond) {
			return true
		}
	}
	return false
}
