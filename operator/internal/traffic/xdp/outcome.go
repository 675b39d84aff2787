package xdp

import (
	"sync/atomic"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
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
	w.ports, err = d.readPorts()
	w.steal, w.softnet = readSteal(d.cpus), readSoftnet(d.cpus)
	return w, err
}

// readPorts reads the ports' counters, without the answers to requests for hardware addresses: a port that
// sent one and refused a frame would look as if it had sent both. In a trial the ports need a carrier, except on an
// Inline path, where a link that the device takes down is its loss.
func (d *Driver) readPorts() (all [2]counters, err error) {
	for i, p := range d.ports {
		attrs, err := readPort(d.handle, p)
		if err != nil {
			return all, err
		}
		if d.opened && !d.inline() {
			if err := checkCarrier(attrs); err != nil {
				return all, err
			}
		}
		if all[i], err = countersOf(attrs); err != nil {
			return all, err
		}
		all[i].sent -= min(all[i].sent, atomic.LoadUint64(&d.resolver(i).Answers))
	}
	return all, nil
}

// outcome reads the result of a trial whose threads have ended.
func (d *Driver) outcome(trial measure.Trial, start uint64, seen watched) measure.Outcome {
	outcome := measure.Outcome{Hop: d.config.Path.Hop, SendingNanoseconds: trial.DurationNanoseconds}
	if d.inline() && trial.IntendedFramesPerSecond > 0 {
		outcome.RingFrames = d.config.RingFrames
	}
	for i, s := range d.streams {
		if s == nil {
			continue
		}
		// With a load all frames are due in the trial's time, even if some leave later.
		if t := &d.state.Transmitters[i]; trial.IntendedFramesPerSecond == 0 && t.LastDeparture > start {
			outcome.SendingNanoseconds = max(outcome.SendingNanoseconds, int64(t.LastDeparture-start))
		}
		outcome.Directions = append(outcome.Directions, d.direction(i, trial, start, seen))
	}
	return outcome
}

func (d *Driver) direction(i int, trial measure.Trial, start uint64, seen watched) measure.DirectionOutcome {
	t, r, s := &d.state.Transmitters[i], &d.state.Receivers[i], d.streams[i]
	histograms := &d.state.Histograms[i]
	share := s.LoadPercent
	if trial.IntendedFramesPerSecond == 0 {
		share = 0
	}
	account := d.account(i, trial, seen)
	latency := delays(&histograms[histogramDelay], r.Delay)
	out := measure.DirectionOutcome{
		Direction:              s.Direction,
		LoadPercent:            share,
		IntendedFrames:         s.IntendedFrames(trial),
		SentFrames:             account.sent,
		OverflowFrames:         t.Overflow,
		RefusedFrames:          account.refused,
		LeftFrames:             left(t),
		MostInMillisecond:      t.MostInWindow,
		DrainNanoseconds:       int64(d.drained(i, trial)),
		QueueGrowthNanoseconds: int64(d.queueGrowth(i, trial)),
		ReceivedFrames:         r.Received,
		DuplicateFrames:        r.Duplicates,
		ReorderedFrames:        r.Reordered,
		LateArrivals:           r.LateArrivals,
		FirstFrameNanoseconds:  r.FirstDelay,
		TaggedFrame:            taggedFrame(t, r, start),
		Latency:                latency,
		LatencyOfSent:          frames.OfSent(d.sentTimed(i, trial, account.sent), latency, values(&histograms[histogramDelay], r.Delay)),
		Lateness:               briefly(&histograms[histogramLateness], t.Latest),
		DelaySinceDeparture:    briefly(&histograms[histogramSinceDeparture], r.LongestSinceDeparture),
		DelayVariation:         delays(&histograms[histogramVariation], r.Variation),
		Distributions:          distributions(histograms, t, r),
		Jitter:                 jitterOf(&histograms[histogramJitter], r),
		Series:                 d.series(i, trial),
	}
	if trial.Packet != nil {
		out.SentFragments, out.ReceivedFragments = account.fragments, r.Fragments
	}
	return out
}

// sentTimed returns how many frames were sent to be timed. As fast as possible they are a part. Of
// frames that the port refused nothing says whether they were timed, so no more timed frames count
// as lost than frames do.
func (d *Driver) sentTimed(i int, trial measure.Trial, sent uint64) uint64 {
	t, r := &d.state.Transmitters[i], &d.state.Receivers[i]
	if trial.IntendedFramesPerSecond > 0 {
		return sent
	}
	return min(t.Timed, r.Delay.Samples+sent-min(sent, r.Received))
}

// taggedFrame returns what happened to the tagged frame, nil if none was sent.
func taggedFrame(t *trafficTransmitter, r *trafficReceiver, start uint64) *measure.TaggedFrame {
	if t.TaggedDue == 0 {
		return nil
	}
	return &measure.TaggedFrame{DueNanoseconds: int64(t.TaggedDue - start), DelayNanoseconds: r.TaggedDelay}
}

// handedOver returns how many frames, or fragments of packets, of a direction its port
// got.
func (d *Driver) handedOver(i int, trial measure.Trial) uint64 {
	t := &d.state.Transmitters[i]
	switch {
	case d.description.TransmitPath == InnerVeth:
		return t.LeftInner
	case trial.Packet != nil:
		return t.FragmentsMade
	}
	return t.Made
}

// account counts what happened to one direction's frames, or packets.
type account struct {
	sent uint64
	// inner were made and did not come out of the inner veth pair; refused came to the
	// sending port and were dropped there.
	inner, refused uint64
	// fragments belong to what was sent; 0 where frames are whole.
	fragments uint64
}

// account adds up what the programs and the sending port counted. A port that counts what it
// sends refused the rest, whether it counted a drop or not. Its counters may include other
// frames: what arrived was not refused. If a packet lacks several fragments,
// each counts as one of another packet: the driver counts too few packets as sent rather
// than blame the device.
//
// Where the device's own kernel works on the sending core and a load is set, what found
// no room in the ring, or waited there to the end, was still offered to the device.
func (d *Driver) account(i int, trial measure.Trial, seen watched) (a account) {
	t, r := &d.state.Transmitters[i], &d.state.Receivers[i]
	handed, pieces := d.handedOver(i, trial), t.Made
	if trial.Packet != nil {
		pieces = t.FragmentsMade
	}
	a.inner = min(t.Made, pieces-min(pieces, handed))
	a.sent = t.Made - a.inner
	refused := min(handed, seen.ports[i].sendDrops)
	if d.counts(i) {
		refused = max(refused, handed-min(handed, seen.ports[i].sent))
	}
	a.refused = min(refused, a.sent-min(a.sent, r.Received))
	offered := d.inline() && trial.IntendedFramesPerSecond > 0
	if offered {
		a.sent += t.Overflow + left(t)
	} else {
		a.sent -= a.refused
	}
	a.sent = max(a.sent, r.Received)
	if trial.Packet != nil {
		if a.fragments = handed - refused; offered {
			a.fragments = handed - uint64(t.Fragment) + (t.Overflow+left(t))*framesEach(trial)
		}
	}
	return a
}
