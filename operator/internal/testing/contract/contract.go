// Package contract is the suite that every traffic driver passes: what goes in
// is a way to open one, on a path that loses nothing at a moderate load; what
// comes out is a failed test for each promise of measure.Driver that it breaks.
package contract

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// Options are what a driver and its path can be asked for.
type Options struct {
	// Directions are those of the path that it is opened on.
	Directions []measure.Direction
	// FrameBytes is a frame size that it can send, 128 by default.
	FrameBytes int
	// FramesPerSecond is a load that the path carries without loss, 1,000 by default.
	FramesPerSecond uint64
	// VLAN says that frames have a tag at a port of the path. Packets in fragments
	// are refused there.
	VLAN bool
	// TimedFramesPerSecond is for a driver that times a part of the frames: so
	// many of each stream's, or all of a lower load. 0 times every frame.
	TimedFramesPerSecond uint64
	// NoFragments is for a driver that cannot send packets in fragments, and
	// refuses them with a reason.
	NoFragments bool
}

// Run holds a driver to its contract. open is called once for each case and
// must fail the test where it cannot open one; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) measure.Driver, options Options) {
	if options.FrameBytes == 0 {
		options.FrameBytes = 128
	}
	if options.FramesPerSecond == 0 {
		options.FramesPerSecond = 1000
	}
	s := suite{open: open, Options: options}
	for name, test := range map[string]func(*testing.T){
		"describes itself":               s.describes,
		"measures a moderate load":       s.moderate,
		"rounds the intended frames":     s.rounding,
		"sends as fast as it can":        s.flatOut,
		"sends a burst in full":          s.burst,
		"keeps trials apart":             s.repeated,
		"times a tagged frame":           s.tagged,
		"sends packets in fragments":     s.packets,
		"refuses what cannot be a trial": s.invalid,
		"ends on a cancelled context":    s.cancelled,
		"closes twice":                   s.closes,
		"tells when all is sent":         s.notifies,
	} {
		t.Run(name, test)
	}
}

type suite struct {
	Options
	open func(t *testing.T) measure.Driver
}

func (s suite) driver(t *testing.T) measure.Driver {
	t.Helper()
	d := s.open(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

func (s suite) trial(duration time.Duration) measure.Trial {
	return measure.Trial{
		FrameBytes:              s.FrameBytes,
		IntendedFramesPerSecond: s.FramesPerSecond,
		DurationNanoseconds:     int64(duration),
		SettleNanoseconds:       int64(50 * time.Millisecond),
	}
}

func (s suite) measure(t *testing.T, d measure.Driver, trial measure.Trial) measure.Outcome {
	t.Helper()
	outcome, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatalf("Measure(%+v): %v", trial, err)
	}
	s.check(t, trial, outcome)
	return outcome
}

// attempts at a trial that a busy machine may keep a driver of real time from sending.
const attempts = 30

// measureSent measures until every direction has sent what the test is about. A
// busy machine may keep a driver of real time from it; check wants that told.
func (s suite) measureSent(t *testing.T, d measure.Driver, trial measure.Trial, sent func(measure.DirectionOutcome) bool) measure.Outcome {
	t.Helper()
	for attempt := 1; ; attempt++ {
		outcome := s.measure(t, d, trial)
		if attempt == attempts || !slices.ContainsFunc(outcome.Directions, func(d measure.DirectionOutcome) bool { return !sent(d) }) {
			return outcome
		}
	}
}

func anything(d measure.DirectionOutcome) bool   { return d.SentFrames > 0 }
func everything(d measure.DirectionOutcome) bool { return d.SentFrames > 0 && d.UnsentFrames() == 0 }

func (s suite) describes(t *testing.T) {
	if got := s.driver(t).Description().Driver; got == "" {
		t.Error("the description names no driver")
	}
}

// notifies is about drivers that can: sending is over when they say so, and the
// trial is not.
func (s suite) notifies(t *testing.T) {
	d := s.driver(t)
	notifier, ok := d.(measure.Notifier)
	if !ok {
		t.Skip("the driver does not tell")
	}
	calls := 0
	notifier.NotifySent(func() { calls++ })
	for want := 1; want <= 2; want++ {
		s.measure(t, d, s.trial(100*time.Millisecond))
		if calls != want {
			t.Errorf("%d calls in %d trials", calls, want)
		}
	}
	notifier.NotifySent(nil)
	s.measure(t, d, s.trial(100*time.Millisecond))
	if calls != 2 {
		t.Errorf("%d calls when nobody asked", calls-2)
	}
}

func (s suite) moderate(t *testing.T) {
	trial := s.trial(200 * time.Millisecond)
	outcome := s.measure(t, s.driver(t), trial)
	for _, direction := range outcome.Directions {
		if want := uint64(200) * s.FramesPerSecond / 1000; direction.IntendedFrames != want {
			t.Errorf("%s: %d intended frames, want %d", direction.Direction, direction.IntendedFrames, want)
		}
		if direction.LostFrames() != 0 {
			t.Errorf("%s: lost %d of %d frames on a path that loses none", direction.Direction, direction.LostFrames(), direction.SentFrames)
		}
		if direction.DuplicateFrames != 0 || direction.ReorderedFrames != 0 {
			t.Errorf("%s: %d duplicates and %d reordered frames on a path that makes none",
				direction.Direction, direction.DuplicateFrames, direction.ReorderedFrames)
		}
		if want := s.timed(direction, trial); direction.Latency.Samples < want {
			t.Errorf("%s: %d delays of %d received frames, want %d at least", direction.Direction, direction.Latency.Samples, direction.ReceivedFrames, want)
		}
	}
}

// timed is how many delays there are at least where nothing is lost.
func (s suite) timed(direction measure.DirectionOutcome, trial measure.Trial) uint64 {
	if s.TimedFramesPerSecond == 0 {
		return direction.ReceivedFrames
	}
	return min(direction.ReceivedFrames, uint64(float64(s.TimedFramesPerSecond)*trial.Duration().Seconds()))
}

func (s suite) rounding(t *testing.T) {
	trial := s.trial(0)
	trial.IntendedFramesPerSecond = 333
	trial.DurationNanoseconds = 100_600_000 // 33.4998 frames
	for _, direction := range s.measure(t, s.driver(t), trial).Directions {
		if direction.IntendedFrames != 33 {
			t.Errorf("%s: %d intended frames, want 33", direction.Direction, direction.IntendedFrames)
		}
	}
}

func (s suite) flatOut(t *testing.T) {
	trial := s.trial(100 * time.Millisecond)
	trial.IntendedFramesPerSecond = 0
	for _, direction := range s.measureSent(t, s.driver(t), trial, anything).Directions {
		if direction.IntendedFrames != 0 {
			t.Errorf("%s: %d intended frames without a load", direction.Direction, direction.IntendedFrames)
		}
		if direction.SentFrames == 0 {
			t.Errorf("%s: sent nothing", direction.Direction)
		}
	}
}

// burst is a few frames at a rate far above the moderate load, for a time far
// below a scheduler's tick. Whether they arrive is the path's matter.
func (s suite) burst(t *testing.T) {
	const frames, rate = 64, 500_000
	trial := s.trial(frames * time.Second / rate)
	trial.IntendedFramesPerSecond = rate
	for _, direction := range s.measureSent(t, s.driver(t), trial, everything).Directions {
		if direction.IntendedFrames != frames || direction.SentFrames != frames {
			t.Errorf("%s: sent %d of %d intended frames, want %d", direction.Direction, direction.SentFrames, direction.IntendedFrames, frames)
		}
	}
}

// tagged asks for one frame by itself, and in the next trial for none.
func (s suite) tagged(t *testing.T) {
	d := s.driver(t)
	trial := s.trial(100 * time.Millisecond)
	// Between two frames, so that the first one due is the later.
	gap := int64(time.Second) / int64(s.FramesPerSecond)
	trial.TaggedFrameNanoseconds = 50*gap - gap/4
	outcome := s.measureSent(t, d, trial, func(d measure.DirectionOutcome) bool { return d.TaggedFrame != nil || d.UnsentFrames() == 0 })
	for _, direction := range outcome.Directions {
		tagged := direction.TaggedFrame
		if tagged == nil {
			t.Errorf("%s: no tagged frame", direction.Direction)
			continue
		}
		if late := tagged.DueNanoseconds - trial.TaggedFrameNanoseconds; late < 0 || late > gap {
			t.Errorf("%s: a frame was tagged that was due at %v, want the first one from %v on", direction.Direction,
				time.Duration(tagged.DueNanoseconds), time.Duration(trial.TaggedFrameNanoseconds))
		}
		if delay := tagged.DelayNanoseconds; delay < direction.Latency.MinNanoseconds || delay > direction.Latency.MaxNanoseconds || delay == 0 {
			t.Errorf("%s: the tagged frame took %d ns, all frames %d to %d", direction.Direction, delay,
				direction.Latency.MinNanoseconds, direction.Latency.MaxNanoseconds)
		}
	}
	for _, direction := range s.measure(t, d, s.trial(100*time.Millisecond)).Directions {
		if direction.TaggedFrame != nil {
			t.Errorf("%s: %+v was not asked for", direction.Direction, direction.TaggedFrame)
		}
	}
}

// packets counts what is sent in fragments by whole packets, and both.
func (s suite) packets(t *testing.T) {
	trial := s.trial(100 * time.Millisecond)
	trial.Packet = &measure.Packet{PayloadBytes: 4096, IPVersion: 4, MTUBytes: 1500}
	trial.FrameBytes = trial.Packet.FrameBytes()
	trial.IntendedFramesPerSecond /= 3
	if s.VLAN || s.NoFragments {
		if _, err := s.driver(t).Measure(t.Context(), trial); measure.ReasonOf(err) == "" {
			t.Errorf("packets in fragments that cannot be sent: got %v, want a reason", err)
		}
		return
	}
	for _, direction := range s.measureSent(t, s.driver(t), trial, anything).Directions {
		if direction.SentFragments != 3*direction.SentFrames || direction.ReceivedFragments != 3*direction.ReceivedFrames || direction.SentFrames == 0 {
			t.Errorf("%s: %d packets in %d fragments sent, %d in %d received, want 3 for each", direction.Direction,
				direction.SentFrames, direction.SentFragments, direction.ReceivedFrames, direction.ReceivedFragments)
		}
		if direction.LostFrames() != 0 || direction.Latency.Samples != direction.ReceivedFrames {
			t.Errorf("%s: lost %d packets, timed %d of %d", direction.Direction, direction.LostFrames(), direction.Latency.Samples, direction.ReceivedFrames)
		}
	}
}

func (s suite) repeated(t *testing.T) {
	d := s.driver(t)
	for _, duration := range []time.Duration{100 * time.Millisecond, 50 * time.Millisecond, 150 * time.Millisecond} {
		outcome := s.measureSent(t, d, s.trial(duration), anything)
		for _, direction := range outcome.Directions {
			if direction.ReceivedFrames == 0 {
				t.Errorf("%s: a trial of %v received nothing", direction.Direction, duration)
			}
		}
	}
}

func (s suite) invalid(t *testing.T) {
	d := s.driver(t)
	for name, spoil := range map[string]func(*measure.Trial){
		"no frame size":     func(trial *measure.Trial) { trial.FrameBytes = 0 },
		"a tiny frame":      func(trial *measure.Trial) { trial.FrameBytes = 20 },
		"a giant frame":     func(trial *measure.Trial) { trial.FrameBytes = 1 << 20 },
		"no duration":       func(trial *measure.Trial) { trial.DurationNanoseconds = 0 },
		"negative settling": func(trial *measure.Trial) { trial.SettleNanoseconds = -1 },
		"a tag at the end":  func(trial *measure.Trial) { trial.TaggedFrameNanoseconds = trial.DurationNanoseconds },
		"an impossible packet": func(trial *measure.Trial) {
			trial.Packet = &measure.Packet{PayloadBytes: measure.MaximumPacketPayloadBytes + 1, IPVersion: 4, MTUBytes: 1500}
		},
		"a negative tag": func(trial *measure.Trial) { trial.TaggedFrameNanoseconds = -1 },
	} {
		trial := s.trial(50 * time.Millisecond)
		spoil(&trial)
		if _, err := d.Measure(t.Context(), trial); err == nil {
			t.Errorf("%s: Measure(%+v) found nothing wrong", name, trial)
		} else if measure.ReasonOf(err) == "" {
			t.Errorf("%s: %v has no reason", name, err)
		}
	}
}

func (s suite) cancelled(t *testing.T) {
	d := s.driver(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Measure(ctx, s.trial(time.Second)); !errors.Is(err, context.Canceled) {
		t.Errorf("Measure with a cancelled context: %v, want %v", err, context.Canceled)
	}

	const after, soon = 100 * time.Millisecond, 10 * time.Second // which is much less than the trial's minute
	ctx, cancel = context.WithTimeout(t.Context(), after)
	defer cancel()
	began := time.Now()
	_, err := d.Measure(ctx, s.trial(time.Minute))
	// A driver in simulated time may be through before.
	if took := time.Since(began); took >= after && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Measure: %v, want %v", err, context.DeadlineExceeded)
	} else if took > after+soon {
		t.Errorf("Measure ended %v after its context", took-after)
	}
	s.measure(t, d, s.trial(50*time.Millisecond))
}

func (s suite) closes(t *testing.T) {
	d := s.open(t)
	for range 2 {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := d.Measure(t.Context(), s.trial(50*time.Millisecond)); err == nil {
		t.Error("a closed driver measured")
	}
}

// check is what holds of every outcome.
func (s suite) check(t *testing.T, trial measure.Trial, o measure.Outcome) {
	t.Helper()
	if o.StartedAt.IsZero() {
		t.Error("the outcome has no start")
	}
	if o.SendingNanoseconds < trial.DurationNanoseconds {
		t.Errorf("sent for %v of %v", time.Duration(o.SendingNanoseconds), trial.Duration())
	}
	if o.TotalNanoseconds < o.SendingNanoseconds {
		t.Errorf("the whole trial took %v, less than the sending's %v", time.Duration(o.TotalNanoseconds), time.Duration(o.SendingNanoseconds))
	}
	var directions []measure.Direction
	for _, d := range o.Directions {
		directions = append(directions, d.Direction)
		checkDirection(t, trial, d)
		if d.UnsentFrames() > 0 && !slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtUnsent }) {
			t.Errorf("%s: %d frames were not sent, without a doubt", d.Direction, d.UnsentFrames())
		}
	}
	if !slices.Equal(directions, s.Directions) {
		t.Errorf("directions %v, want %v", directions, s.Directions)
	}
	known := []string{
		measure.DoubtReceiveDrops, measure.DoubtTransmitDrops, measure.DoubtUnsent,
		measure.DoubtMissedDeadlines, measure.DoubtSteal, measure.DoubtStretched,
		measure.DoubtPreempted, measure.DoubtKernelQueue, measure.DoubtRefragmented, measure.DoubtFragmentsUnknown,
	}
	for _, doubt := range o.Doubts {
		if !slices.Contains(known, doubt.Code) || doubt.Detail == "" {
			t.Errorf("doubt %+v has an unknown code or no detail", doubt)
		}
	}
}

func checkDirection(t *testing.T, trial measure.Trial, d measure.DirectionOutcome) {
	t.Helper()
	if d.ReceivedFrames > d.SentFrames {
		t.Errorf("%s: received %d of %d sent frames", d.Direction, d.ReceivedFrames, d.SentFrames)
	}
	if trial.IntendedFramesPerSecond > 0 && d.SentFrames > d.IntendedFrames {
		t.Errorf("%s: sent %d of %d intended frames", d.Direction, d.SentFrames, d.IntendedFrames)
	}
	if n := d.ReceivedFragments; n > d.SentFragments || (trial.Packet == nil) != (d.SentFragments == 0) {
		t.Errorf("%s: received %d of %d fragments", d.Direction, n, d.SentFragments)
	}
	for name, delays := range map[string]measure.Delays{"latency": d.Latency, "delay variation": d.DelayVariation} {
		if delays.Samples == 0 {
			if delays != (measure.Delays{}) {
				t.Errorf("%s: %s has figures without samples: %+v", d.Direction, name, delays)
			}
			continue
		}
		rising := []uint64{
			delays.MinNanoseconds, delays.P50Nanoseconds, delays.P90Nanoseconds, delays.P99Nanoseconds,
			delays.P999Nanoseconds, delays.P9999Nanoseconds, delays.MaxNanoseconds,
		}
		if !slices.IsSorted(rising) {
			t.Errorf("%s: %s's percentiles do not rise: %+v", d.Direction, name, delays)
		}
		if delays.MeanNanoseconds < delays.MinNanoseconds || delays.MeanNanoseconds > delays.MaxNanoseconds {
			t.Errorf("%s: %s's mean is out of its range: %+v", d.Direction, name, delays)
		}
		if delays.Samples > d.ReceivedFrames {
			t.Errorf("%s: %s has %d samples of %d frames", d.Direction, name, delays.Samples, d.ReceivedFrames)
		}
	}
}
