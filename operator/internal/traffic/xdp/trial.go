package xdp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

const (
	// lead is the minimum time between the setting of a trial's times and its first
	// frame.
	lead = 2 * time.Millisecond
	// leadSpread is how much later, at random, the first frame may be: gaps that divide
	// the kernel's tick would otherwise meet it in all trials or in none (RFC 3432
	// section 4.2 has periodic streams start at a random time).
	leadSpread = time.Millisecond
	// startStop is how long the kernel may take to begin and to end a run.
	startStop = 500 * time.Millisecond
	// drainTimeout is how long after its end a trial sends what still waits in the ring.
	drainTimeout = 5 * time.Second
	// ratedBatch is how many times the program runs before its frames leave together, at most, in every
	// trial at a load: a generator that is faster at some loads than at others would make a
	// device look so. Smaller batches cost a core more for each frame, in larger ones a frame
	// waits longer.
	ratedBatch = 8
	// flatOutBatch is the same in trials as fast as possible; it is layout.h's FLAT_OUT_BATCH.
	flatOutBatch = 32
	// timedEvery is of how many frames two are timed as fast as possible. It is prime, so that they
	// are of each place in a batch, and of each size and flow in turn, except where the number of flows
	// or of frames in a mix's round divides by it.
	timedEvery = 31
)

// Measure runs one trial.
func (d *Driver) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return measure.Outcome{}, err
	}
	if d.collection == nil {
		return measure.Outcome{}, measure.ErrClosed
	}
	began := time.Now()
	templates, err := d.prepare(trial)
	if err != nil {
		return measure.Outcome{}, err
	}
	before, err := d.watchBefore()
	if err != nil {
		return measure.Outcome{}, err
	}
	in := intakes{before: readIntake(d.cpus)}
	senders := d.senders(trial, templates)
	startedAt, start, err := d.send(ctx, senders, trial)
	if err != nil {
		return measure.Outcome{}, err
	}
	in.armed, in.sent = d.armed, readIntake(d.cpus)
	if d.onSent != nil {
		d.onSent()
	}
	if err := d.settle(ctx, trial.Settle()); err != nil {
		return measure.Outcome{}, err
	}
	in.settled = readIntake(d.cpus)
	after, err := d.watchAfter(ctx, trial, before)
	if err != nil {
		return measure.Outcome{}, err
	}
	outcome := d.outcome(trial, start, after.since(before))
	outcome.StartedAt = startedAt
	outcome.TotalNanoseconds = int64(time.Since(began))
	for thread, s := range senders {
		s.waited = d.waited(trial, thread, s)
	}
	d.held = heldUp(senders)
	after.steal = before.steal + d.stolenFrom(senders, after.steal-before.steal)
	taken := d.takenIn(in)
	for thread, s := range senders {
		s.others = d.othersIn(trial, thread, taken[thread])
	}
	away := awayFrom(senders, after.steal-before.steal)
	outcome.AwayNanoseconds, outcome.LongestAwayNanoseconds = int64(away.all), int64(away.longest)
	d.noteRate(trial, outcome)
	for thread := range senders {
		away.shared = max(away.shared, d.shared(trial, thread, taken[thread], outcome))
	}
	away.all = max(away.all, away.shared)
	outcome.AwayNanoseconds = int64(away.all)
	if held, known := d.heldIn(trial, senders, after.steal-before.steal, taken); known {
		outcome.HeldNanoseconds = new(int64(held))
	}
	d.learn(trial, taken)
	outcome.Doubts = d.doubts(trial, outcome, away, after.since(before))
	return outcome, nil
}

// prepare checks the trial and writes everything that the programs need except the times.
func (d *Driver) prepare(trial measure.Trial) (templates [2]template, err error) {
	if err := d.checkTrial(trial); err != nil {
		return templates, err
	}
	d.state.clear()
	for i := range d.state.Transmitters {
		d.state.Transmitters[i].AwayAfter = uint64(d.awayAfter(trial, i))
	}
	d.trial = d.trial%math.MaxInt16 + 1
	buffer := 0
	for i, s := range d.streams {
		// No frame answers to key 0: a direction without a stream counts none.
		d.state.Receivers[i].Key = 0
		if s == nil {
			continue
		}
		if templates[i], err = d.putTemplates(i, *s, trial); err != nil {
			return templates, &measure.Failure{Reason: v1alpha1.ReasonInvalidPath, Remedy: "correct the path", Err: err}
		}
		buffer = max(buffer, len(templates[i].frame))
		key := uint32(d.trial)<<1 | uint32(i)
		d.state.Receivers[i].Key = key
		t := &d.state.Transmitters[i]
		t.Key = key
		t.VlanBytes = uint32(d.tagBytes(i))
		if trial.IntendedFramesPerSecond == 0 && trial.Packet == nil && !d.config.TimeAll {
			t.TimedEvery = timedEvery
		}
		if templates[i].checksumOffset > 0 {
			t.IsIpv6 = 1
		}
		if f := s.Flows; f != nil {
			t.Flows, t.FlowSeed, t.FlowFields = uint32(f.Count), f.Seed, templates[i].flowFields
			if f.Random {
				t.FlowRandom = 1
			}
		}
	}
	// One thread may serve both directions: their buffers are equal, even if only the
	// frames of one have a tag.
	for i := range templates {
		if d.streams[i] != nil {
			templates[i].frame = append(templates[i].frame, make([]byte, buffer-len(templates[i].frame))...)
			d.state.Transmitters[i].FrameBytes = uint32(buffer)
		}
	}
	return templates, nil
}

// checkTrial returns why a trial cannot run on these ports.
func (d *Driver) checkTrial(trial measure.Trial) error {
	largest, err := d.streams.Check(trial, signatureBytes)
	if err != nil {
		return err
	}
	for _, s := range d.streams {
		if s == nil || trial.Packet == nil {
			continue
		}
		if d.config.Path.HasVLAN() {
			return measure.Failf(v1alpha1.ReasonInvalidTrial, "send packets in fragments over ports without a VLAN tag", "fragments with a VLAN tag are not implemented")
		}
		if err := checkPacket(*s, trial); err != nil {
			return measure.Failf(v1alpha1.ReasonInvalidTrial, "correct the packet", "%w", err)
		}
	}
	const overhead = ethernetBytes + measure.FrameCheckSequenceBytes
	for _, p := range d.ports {
		if largest > p.mtu+overhead {
			return frames.TooLarge(largest, p.mtu+overhead, "raise the MTU", fmt.Sprintf("%q with MTU %d carries", p.name, p.mtu))
		}
	}
	if maxBytes := d.longest + measure.FrameCheckSequenceBytes - max(d.tagBytes(0), d.tagBytes(1)); largest > maxBytes {
		return frames.TooLarge(largest, maxBytes, "use another driver", "this kernel's live frames carry")
	}
	for _, s := range d.streams {
		if s == nil || trial.IntendedFramesPerSecond == 0 {
			continue
		}
		// due_of in ring.h multiplies them in 64 bits.
		rate := s.FramesPerSecond(trial)
		if high, _ := bits.Mul64(s.IntendedFrames(trial), max(1e9%rate, 1e9/rate)); high > 0 {
			return measure.Failf(v1alpha1.ReasonInvalidTrial, "lower the load or the duration",
				"%s: %d frames/s for %v are more frames than can have due times", s.Direction, rate, trial.Duration())
		}
	}
	return nil
}

// arm sets the times while the programs run: from start on, they send.
func (d *Driver) arm(trial measure.Trial) (start uint64) {
	start = monotonicNow() + uint64(lead+rand.N(leadSpread))
	for i, s := range d.streams {
		if s == nil {
			continue
		}
		t, r := &d.state.Transmitters[i], &d.state.Receivers[i]
		if after := trial.TaggedFrameNanoseconds; after > 0 {
			t.TagAt = start + uint64(after)
		}
		t.Due, t.EndAt = start, start+uint64(trial.Duration())
		if rate := s.FramesPerSecond(trial); rate > 0 {
			// The two directions take turns instead of being due at once.
			t.Due += uint64(i) * (1e9 / rate) / 2
			t.EndAt = never
			t.IntendedFrames = s.IntendedFrames(trial)
			t.RingFrames = d.places(rate, s.LoadPercent, framesEach(trial))
			t.Schedule = trafficSchedule{Start: t.Due, FramesPerSecond: rate, GapNanoseconds: 1e9 / rate, GapRemainder: 1e9 % rate}
			r.Schedule = t.Schedule
			d.armSlots(t, r, trial)
			if t.IntendedFrames > math.MaxUint32 {
				r.Wraps = 1
			}
		}
	}
	// This is the last step, because it starts a direction.
	for i, s := range d.streams {
		if s != nil {
			atomic.StoreUint64(&d.state.Transmitters[i].Eligible, d.state.Transmitters[i].Due)
		}
	}
	return start
}

// framesEach returns how many frames leave for each that is counted.
func framesEach(trial measure.Trial) uint64 {
	if trial.Packet == nil {
		return 1
	}
	return uint64(trial.Packet.FragmentCount())
}

// programsFor returns the names of the programs that send a trial's frames, of each
// direction and of both.
func (d *Driver) programsFor(trial measure.Trial) (names [2]string, both string) {
	kind := "transmit"
	switch {
	case trial.Packet != nil:
		kind = "fragment"
	case d.config.Path.HasVLAN():
		kind = "vlan"
	}
	if trial.IntendedFramesPerSecond > 0 {
		kind = strings.TrimSuffix("open_"+kind, "_transmit")
	}
	return [2]string{kind + "_forward", kind + "_reverse"}, kind + "_both"
}

// senders distributes the streams among the threads.
func (d *Driver) senders(trial measure.Trial, templates [2]template) []*sender {
	names, both := d.programsFor(trial)
	var all []*sender
	for i, s := range d.streams {
		if s != nil {
			all = append(all, &sender{
				program: d.collection.Programs[names[i]].FD(), frame: templates[i].frame,
				netns: d.netns, kept: &d.state.Transmitters[i],
			})
		}
	}
	if len(all) > len(d.cpus) {
		all = all[:1]
		all[0].program = d.collection.Programs[both].FD()
	}
	for i, s := range all {
		s.cpu, s.batch = d.cpus[i], uint32(d.batchOf(trial, i))
		s.realTime = d.description.Scheduling == RealTime
	}
	return all
}

// send lets the threads work until every direction has ended.
func (d *Driver) send(ctx context.Context, senders []*sender, trial measure.Trial) (startedAt time.Time, start uint64, err error) {
	pause := newPause()
	for _, s := range senders {
		s.start()
	}
	// The threads loop without sending until the times are set.
	for err == nil && !allRunning(senders) && !anyDone(senders) {
		err = pause.wait(ctx, 100*time.Microsecond)
	}
	if err == nil {
		d.timeSenders(senders)
		d.armed = readIntake(d.cpus)
		startedAt, start, err = d.transmit(ctx, pause, senders, trial)
	}
	d.state.stop()
	var failed []error
	for _, s := range senders {
		s.stop()
		failed = append(failed, s.err)
	}
	if err != nil {
		return startedAt, start, err
	}
	if err := errors.Join(failed...); err != nil {
		return startedAt, start, &measure.Failure{
			Reason: v1alpha1.ReasonCannotTransmit,
			Remedy: "give the container the capabilities BPF and NET_ADMIN, on Linux 5.18 or later",
			Err:    err,
		}
	}
	return startedAt, start, nil
}

// timeSenders gives the threads their stopwatches. One that cannot be had only makes a hypervisor's
// turns of less than 10 ms unknown.
func (d *Driver) timeSenders(senders []*sender) {
	for _, s := range senders {
		if thread := s.thread.Load(); d.exact && thread != 0 {
			s.stopwatch, _ = newStopwatch(int(thread))
		}
	}
}

// transmit runs while frames are under way. It allocates nothing, so that our garbage
// collection does not run at the same time.
func (d *Driver) transmit(ctx context.Context, pause *pause, senders []*sender, trial measure.Trial) (startedAt time.Time, start uint64, err error) {
	for _, s := range senders {
		s.stopwatch.start(ctx, pause)
	}
	start = d.arm(trial)
	startedAt = time.Now().Add(time.Duration(start - monotonicNow()))
	err = pause.wait(ctx, lead+leadSpread+trial.Duration())
	giveUp := time.Now().Add(d.drainTimeout)
	for err == nil && !d.state.ended() && time.Now().Before(giveUp) && !anyDone(senders) {
		err = pause.wait(ctx, time.Millisecond)
	}
	for _, s := range senders {
		s.stolen, s.timed = s.stopwatch.stop(ctx, pause)
		s.stopwatch.close()
	}
	return startedAt, start, err
}

func allRunning(senders []*sender) bool {
	for _, s := range senders {
		if !s.running() {
			return false
		}
	}
	return true
}

// anyDone reports whether a thread failed: threads work until they are stopped.
func anyDone(senders []*sender) bool {
	for _, s := range senders {
		select {
		case <-s.done:
			return true
		default:
		}
	}
	return false
}

// pause waits repeatedly with one timer.
type pause struct{ timer *time.Timer }

func newPause() *pause { return &pause{timer: time.NewTimer(0)} }

func (p *pause) wait(ctx context.Context, duration time.Duration) error {
	p.timer.Reset(duration)
	defer p.timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.timer.C:
		return nil
	}
}
