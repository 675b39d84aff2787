package trex

import (
	"fmt"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/headers"
)

// busyLimit is the load, in percent, of a core that has no time left.
const busyLimit = 99

// outcome reads the result of a trial that has ended.
func (d *Driver) outcome(trial measure.Trial, r run, seen reading) (measure.Outcome, error) {
	outcome := measure.Outcome{StartedAt: r.startedAt, SendingNanoseconds: trial.DurationNanoseconds}
	if r.lasted > trial.Duration()+tolerance || trial.IntendedFramesPerSecond == 0 && r.lasted > trial.Duration() {
		outcome.SendingNanoseconds = int64(r.lasted)
	}
	// The last frame had left when its port no longer sent.
	outcome.StartUncertaintyNanoseconds = max(0, int64(r.ended.Sub(r.startedAt))-outcome.SendingNanoseconds)
	for _, s := range r.schedules {
		direction, err := d.direction(s, seen)
		if err != nil {
			return outcome, err
		}
		outcome.Directions = append(outcome.Directions, direction)
	}
	outcome.Doubts = d.doubts(trial, r, seen, outcome)
	return outcome, nil
}

// direction adds up the groups of one direction.
func (d *Driver) direction(s schedule, seen reading) (measure.DirectionOutcome, error) {
	out := measure.DirectionOutcome{
		Direction: d.streams[s.direction].Direction, LoadPercent: s.share, IntendedFrames: s.intended,
	}
	from, to := d.ports[s.direction], d.ports[1-s.direction]
	var all []distribution
	// sequenced are frames that TRex times, of which it sees the order.
	var timedSent, sequenced, others uint64
	counted := map[int]bool{}
	for _, p := range s.parts {
		if counted[p.group] {
			continue // the sizes of a mix are counted together
		}
		counted[p.group] = true
		g, t := seen.pgids.groups[p.group], seen.pgids.timings[p.group]
		sent, arrived := g.Sent.at(from), g.Received.at(to)
		// TRex knows duplicates of timed frames; of the others, those beyond the sent
		// ones.
		distinct := min(arrived-min(arrived, t.Errors.Duplicates), sent)
		out.SentFrames += sent
		out.ReceivedFrames += distinct
		out.DuplicateFrames += arrived - distinct
		out.ReorderedFrames += t.Errors.OutOfOrder
		if p.purpose == load {
			others += distinct
			continue
		}
		timedSent, sequenced = timedSent+sent, sequenced+distinct
		delays, err := distributionOf(t, arrived)
		if err != nil {
			return out, fmt.Errorf("%s: %w", out.Direction, err)
		}
		d.coarse = d.coarse || len(delays.spans) > 0 && !delays.exact
		all = append(all, delays)
		switch p.purpose {
		case first:
			out.FirstFrameNanoseconds = delays.only()
		case tagged:
			if sent > 0 {
				out.TaggedFrame = &measure.TaggedFrame{DueNanoseconds: int64(p.after), DelayNanoseconds: delays.only()}
			}
		}
	}
	// A refused frame was counted before the port refused it. What arrived was sent in
	// any case.
	out.SentFrames = max(out.SentFrames-min(out.SentFrames, seen.losses.Ports[s.direction].OutErrors), out.ReceivedFrames)
	if others > 0 {
		out.SequencedFrames = &sequenced
	}
	merged := merge(all)
	out.Latency, out.Distributions = merged.delays(), merged.whole()
	// The delays include that of a duplicate.
	out.Latency.Samples = min(out.Latency.Samples, out.ReceivedFrames)
	if sequenced < timedSent {
		out.LatencyOfSent = frames.OfSent(timedSent, out.Latency, merged.values())
	}
	return out, nil
}

// doubts returns what TRex's figures say against its own trial.
func (d *Driver) doubts(trial measure.Trial, r run, seen reading, outcome measure.Outcome) []measure.Doubt {
	var all frames.Doubts
	for i, direction := range outcome.Directions {
		d.doubtDirection(&all, direction, r, r.schedules[i], seen)
		d.doubtMarks(&all, direction, r.schedules[i], seen)
	}
	missing := outcome.LossRatio() > 0
	if n := seen.pgids.strays; n > 0 {
		all.Add(measure.DoubtReceiveDrops, missing, "%d timed frames came that were of an earlier trial or not to be read", n)
	}
	if n := seen.losses.Global.QueueDrop; n > 0 {
		all.Add(measure.DoubtTransmitDrops, missing, "TRex dropped %d frames before its ports' full queues (queue_drop), after it had counted them", n)
	}
	if r.moving {
		all.Add(measure.DoubtStillArriving, false, "frames still came in %v after the last was sent, so some that count as lost may only be late", trial.Settle())
	}
	if trial.IntendedFramesPerSecond > 0 { // otherwise this is expected
		doubtPacing(&all, trial, r, seen)
	}
	return all
}

// doubtDirection covers what a direction's ports dropped or did not send.
func (d *Driver) doubtDirection(all *frames.Doubts, direction measure.DirectionOutcome, r run, s schedule, seen reading) {
	from, to := s.direction, 1-s.direction
	out, in := d.config.Path.Ports[from].Interface, d.config.Path.Ports[to].Interface
	lost := direction.LostFrames()
	// Without loss these cannot have been this trial's frames.
	if n := seen.losses.Ports[to].InErrors; n > 0 {
		all.Add(measure.DoubtReceiveDrops, lost > 0,
			"%s: %s dropped %d frames on their way in (ierrors), %d of %d are missing", direction.Direction, in, n, lost, direction.SentFrames)
	}
	if n := seen.pgids.unknown.at(d.ports[to]); n > 0 {
		all.Add(measure.DoubtReceiveDrops, lost > 0,
			"%s: at %s TRex received %d frames that it cannot identify (rx_err), %d of %d are missing", direction.Direction, in, n, lost, direction.SentFrames)
	}
	if n := seen.losses.Ports[from].OutErrors; n > 0 {
		all.Add(measure.DoubtTransmitDrops, false, "%s: %s refused %d frames (oerrors); they do not count as sent", direction.Direction, out, n)
	}
	if n := direction.UnsentFrames(); n > 0 {
		all.Add(measure.DoubtUnsent, false, "%s: %d of %d intended frames were not sent in %v",
			direction.Direction, n, direction.IntendedFrames, r.lasted.Round(time.Millisecond))
	}
}

// doubtPacing covers a load that was sent late.
func doubtPacing(all *frames.Doubts, trial measure.Trial, r run, seen reading) {
	if n := seen.losses.Global.QueueFull; n > 0 {
		all.Add(measure.DoubtMissedDeadlines, false, "a port's queue was full %d times (queue_full), so frames left late", n)
	}
	if r.busyPercent >= busyLimit {
		all.Add(measure.DoubtMissedDeadlines, false, "TRex's sending cores were busy for %.0f %% of a second, so frames may have left late", r.busyPercent)
	}
	if late := r.lasted - trial.Duration(); late > max(tolerance, trial.Duration()/100) {
		all.Add(measure.DoubtStretched, false, "TRex sent for %v instead of %v: it was held up, and sent what follows later",
			r.lasted.Round(time.Millisecond), trial.Duration())
	}
}

// doubtMarks notices a device that removes the mark by which TRex counts frames, while
// the frames that TRex identifies by their content arrive.
func (d *Driver) doubtMarks(all *frames.Doubts, direction measure.DirectionOutcome, s schedule, seen reading) {
	var counted, arrivedCounted, arrivedTimed uint64
	seenLoad := false
	for _, p := range s.parts {
		g := seen.pgids.groups[p.group]
		switch {
		case p.purpose != load:
			arrivedTimed += g.Received.at(d.ports[1-s.direction])
		case !seenLoad:
			seenLoad = true
			counted, arrivedCounted = g.Sent.at(d.ports[s.direction]), g.Received.at(d.ports[1-s.direction])
		}
	}
	if counted == 0 || arrivedCounted > 0 || arrivedTimed == 0 {
		return
	}
	mark := "IPv4 identification"
	if !headers.IsIPv4(*d.streams[s.direction]) {
		mark = "IPv6 flow label"
	}
	all.Add(measure.DoubtReceiveDrops, true,
		"%s: %d timed frames arrived and none of %d others: the device seems to change the %s, by which TRex identifies frames", direction.Direction, arrivedTimed, counted, mark)
}
