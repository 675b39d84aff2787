package xdp

import (
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

// watched is what is read before and after a trial.
type watched struct {
	ports [2]counters
	// steal is how long the hypervisor held back the transmitting CPUs.
	steal   time.Duration
	softnet softnet
}

func (w watched) since(before watched) watched {
	for i := range w.ports {
		w.ports[i] = w.ports[i].since(before.ports[i])
	}
	w.steal -= before.steal
	w.softnet.dropped -= before.softnet.dropped
	w.softnet.squeezed -= before.softnet.squeezed
	return w
}

func (d *Driver) watch() (w watched, err error) {
	for i, p := range d.ports {
		if w.ports[i], err = readCounters(d.handle, p); err != nil {
			return w, err
		}
	}
	w.steal, w.softnet = readSteal(d.cpus), readSoftnet(d.cpus)
	return w, nil
}

// outcome reads the result of a trial whose threads have ended.
func (d *Driver) outcome(trial measure.Trial, start uint64, seen watched) measure.Outcome {
	outcome := measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds}
	for i, s := range d.streams {
		if s == nil {
			continue
		}
		t := &d.state.Transmitters[i]
		if t.LastDeparture > start {
			outcome.SendingNanoseconds = max(outcome.SendingNanoseconds, int64(t.LastDeparture-start))
		}
		r := &d.state.Receivers[i]
		share := s.LoadPercent
		if trial.IntendedFramesPerSecond == 0 {
			share = 0
		}
		sent, fragments := d.sent(i, seen), uint64(0)
		if trial.Packet != nil {
			sent, fragments = d.sentPackets(i, seen)
		}
		outcome.Directions = append(outcome.Directions, measure.DirectionOutcome{
			Direction:             s.Direction,
			LoadPercent:           share,
			IntendedFrames:        s.IntendedFrames(trial),
			SentFrames:            sent,
			SentFragments:         fragments,
			ReceivedFragments:     r.Fragments,
			ReceivedFrames:        r.Received,
			DuplicateFrames:       r.Duplicates,
			ReorderedFrames:       r.Reordered,
			FirstFrameNanoseconds: r.FirstDelay,
			TaggedFrame:           taggedFrame(t, r, start),
			Latency:               delays(&d.state.Histograms[i][histogramDelay], r.Delay),
			DelayVariation:        delays(&d.state.Histograms[i][histogramVariation], r.Variation),
			JitterNanoseconds:     r.Jitter >> 4,
		})
	}
	return outcome
}

// taggedFrame returns what happened to the tagged frame, nil if none was sent.
func taggedFrame(t *trafficTransmitter, r *trafficReceiver, start uint64) *measure.TaggedFrame {
	if t.TaggedDue == 0 {
		return nil
	}
	return &measure.TaggedFrame{DueNanoseconds: int64(t.TaggedDue - start), DelayNanoseconds: r.TaggedDelay}
}

// Lateness returns how long after their due times the frames of the last trial left in
// one direction: the generator's own pacing error. There are no samples if no load was
// set.
func (d *Driver) Lateness(direction measure.Direction) measure.Delays {
	i := frames.Index(direction)
	if i < 0 || d.collection == nil {
		return measure.Delays{}
	}
	histogram := &d.state.Histograms[i][histogramLateness]
	s := trafficSpread{Max: d.state.Transmitters[i].Latest}
	for bucket, n := range histogram {
		if n > 0 && s.Samples == 0 {
			s.Min = bucketMiddle(bucket)
		}
		s.Samples += n
		s.Sum += n * bucketMiddle(bucket)
	}
	return delays(histogram, s)
}

// handedOver returns how many frames of a direction its port got.
func (d *Driver) handedOver(i int) uint64 {
	if d.description.TransmitPath == InnerVeth {
		return d.state.Transmitters[i].LeftInner
	}
	return d.state.Transmitters[i].Made
}

// sent returns what the port got less what it refused. The port's counter may include
// other frames: what arrived was sent in any case.
func (d *Driver) sent(i int, seen watched) uint64 {
	sent := d.handedOver(i)
	sent -= min(sent, seen.ports[i].sendDrops)
	return max(sent, d.state.Receivers[i].Received)
}

// doubts returns the generator's doubts about its own trial.
func (d *Driver) doubts(trial measure.Trial, outcome measure.Outcome, senders []*sender, seen watched) []measure.Doubt {
	var all frames.Doubts
	doubt := all.Add
	held := heldUp(senders)
	for _, direction := range outcome.Directions {
		i := frames.Index(direction.Direction)
		out, in := d.ports[i].name, d.ports[1-i].name
		if n := seen.ports[1-i].receiveDrops; n > 0 {
			// Without loss they cannot have been this trial's frames.
			doubt(measure.DoubtReceiveDrops, direction.LostFrames() > 0,
				"%s: %s dropped %d frames on their way in, %d of %d are missing", direction.Direction, in, n, direction.LostFrames(), direction.SentFrames)
		}
		t := &d.state.Transmitters[i]
		if direction.SentFrames < t.Made {
			doubt(measure.DoubtTransmitDrops, false,
				"%s: %d of %d frames were made but did not leave %s; they do not count as sent", direction.Direction, t.Made-direction.SentFrames, t.Made, out)
		}
		if n := d.state.Receivers[i].Refragmented; n > 0 {
			doubt(measure.DoubtRefragmented, false,
				"%s: %d of %d fragments arrived with other bounds than they were sent with, so packets are told whole by their bytes alone, and a fragment that came twice may stand for one that is missing",
				direction.Direction, n, direction.ReceivedFragments)
		}
		if n := d.state.Receivers[i].UnknownFragments; n > 0 {
			// Without loss they cannot have been this trial's.
			doubt(measure.DoubtFragmentsUnknown, direction.LostFrames() > 0,
				"%s: %d fragments arrived that were too short to tell, or more than %d packets late; %d of %d packets are missing",
				direction.Direction, n, len(d.state.Packets[i]), direction.LostFrames(), direction.SentFrames)
		}
		if n := direction.UnsentFrames(); n > 0 {
			doubt(measure.DoubtUnsent, false, "%s: %d of %d intended frames were not sent", direction.Direction, n, direction.IntendedFrames)
		}
		if float64(t.Late) > lateShare*float64(t.Made) {
			doubt(measure.DoubtMissedDeadlines, false,
				"%s: %d of %d frames left more than %v late, the latest %v; the transmit thread was preempted %d times",
				direction.Direction, t.Late, t.Made, tolerance, time.Duration(t.Latest), held.times)
		}
	}
	budget := time.Duration(awayShare * float64(trial.Duration()) * float64(len(d.cpus)))
	if held.waited > budget {
		doubt(measure.DoubtPreempted, false, "the transmit threads were preempted %d times and waited for their CPUs for %v of %v", held.times, held.waited, trial.Duration())
	}
	if s := seen.softnet; s.dropped > 0 || float64(s.squeezed) > squeezesASecond*trial.Duration().Seconds() {
		doubt(measure.DoubtKernelQueue, false, "the kernel dropped %d packets that waited for the transmitting CPUs, and left off taking in packets there %d times", s.dropped, s.squeezed)
	}
	if seen.steal > budget {
		doubt(measure.DoubtSteal, false, "the hypervisor held back the transmitting CPUs for %v of %v", seen.steal, trial.Duration())
	}
	expected := lead + leadSpread + trial.Duration() + trial.Settle()
	if total := time.Duration(outcome.TotalNanoseconds); total > expected+expected/20+2*overtime(trial)+startStop {
		doubt(measure.DoubtStretched, false, "the trial took %v in place of %v", total, expected)
	}
	return all
}
