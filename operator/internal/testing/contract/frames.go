package contract

import (
	"math"
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
)

// Frames describes which trials a driver of frames and its path support.
type Frames struct {
	// Directions are those of the path that it is opened on.
	Directions []measure.Direction
	// FrameBytes is a frame size that it can send, 128 by default.
	FrameBytes int
	// FramesPerSecond is a load that the path carries without loss, 1,000 by default.
	FramesPerSecond uint64
	// TimedFramesPerSecond is for a driver that times a part of the frames: this many of each
	// stream's, or all of a lower load. 0 times every frame.
	TimedFramesPerSecond uint64
	// Fragments says that it sends packets in fragments. A driver that does not refuses them with a
	// reason, as one that does may on a path with VLAN tags.
	Fragments bool
	// DelayVariation says that it measures the variation from frame to frame. A driver that does
	// not has no figure for it.
	DelayVariation bool
}

var frameParts = []part{
	{"measures a moderate load", suite.moderate},
	{"counts loss, order and duplicates", suite.accounts},
	{"rounds the intended frames", suite.rounding},
	{"sends as fast as it can", suite.flatOut},
	{"sends a burst in full", suite.burst},
	{"keeps trials apart", suite.repeated},
	{"times the variation of delays", suite.variation},
	{"times a tagged frame", suite.tagged},
	{"sends packets in fragments", suite.packets},
	{"refuses what cannot be a trial of frames", suite.invalidFrames},
}

func (s suite) frames(duration time.Duration) measure.Trial {
	return measure.Trial{
		FrameBytes:              s.Frames.FrameBytes,
		IntendedFramesPerSecond: s.Frames.FramesPerSecond,
		DurationNanoseconds:     int64(duration),
		SettleNanoseconds:       int64(50 * time.Millisecond),
	}
}

// attempts is how often a trial is tried when a busy machine keeps a real-time driver from sending.
const attempts = 30

// measureSent measures until every direction has sent what the test needs. A busy machine may
// prevent a real-time driver from that; check wants it reported.
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

func (s suite) moderate(t *testing.T) {
	trial := s.frames(200 * time.Millisecond)
	outcome := s.measure(t, s.driver(t), trial)
	for _, direction := range outcome.Directions {
		if want := uint64(200) * s.Frames.FramesPerSecond / 1000; direction.IntendedFrames != want {
			t.Errorf("%s: %d intended frames, want %d", direction.Direction, direction.IntendedFrames, want)
		}
		if want := s.timed(direction, trial); direction.Latency.Samples < want {
			t.Errorf("%s: %d delays of %d received frames, want %d at least", direction.Direction, direction.Latency.Samples, direction.ReceivedFrames, want)
		}
		checkDistribution(t, direction)
	}
}

// checkDistribution checks that the whole distribution of delays has the percentiles that are
// figures, to the resolution of both.
func checkDistribution(t *testing.T, direction measure.DirectionOutcome) {
	t.Helper()
	if direction.Distributions == nil {
		t.Errorf("%s: no distribution of %d delays", direction.Direction, direction.Latency.Samples)
		return
	}
	check := func(text string, samples uint64, figures map[uint64]uint64) {
		whole, err := distribution.Decode(text)
		if err != nil {
			t.Errorf("%s: %v", direction.Direction, err)
			return
		}
		if got := whole.Samples(); got < samples {
			t.Errorf("%s: the distribution has %d samples of %d", direction.Direction, got, samples)
		}
		for partsPerMillion, want := range figures {
			if got, _ := whole.Percentile(partsPerMillion); math.Abs(float64(got)-float64(want)) > float64(want)/100+1 {
				t.Errorf("%s: %d ppm of the distribution are %d ns, and %d ns in the figures", direction.Direction, partsPerMillion, got, want)
			}
		}
	}
	d := direction.Latency
	check(direction.Distributions.Delay, d.Samples, map[uint64]uint64{500_000: d.P50Nanoseconds, 990_000: d.P99Nanoseconds, 1_000_000: d.MaxNanoseconds})
	if q := direction.Lateness; q.MaxNanoseconds > 0 {
		check(direction.Distributions.Lateness, d.Samples, map[uint64]uint64{500_000: q.P50Nanoseconds, 990_000: q.P99Nanoseconds, 1_000_000: q.MaxNanoseconds})
	}
	if v := direction.DelayVariation; v.Samples > 0 {
		check(direction.Distributions.DelayVariation, v.Samples, map[uint64]uint64{500_000: v.P50Nanoseconds, 990_000: v.P99Nanoseconds, 1_000_000: v.MaxNanoseconds})
	}
}

// accounts checks a path that loses no frames, duplicates none and keeps their order.
func (s suite) accounts(t *testing.T) {
	outcome := s.measureSent(t, s.driver(t), s.frames(100*time.Millisecond), anything)
	for _, direction := range outcome.Directions {
		if direction.SentFrames == 0 || direction.LostFrames() != 0 {
			t.Errorf("%s: lost %d of %d frames on a path that loses none", direction.Direction, direction.LostFrames(), direction.SentFrames)
		}
		if direction.DuplicateFrames != 0 || direction.ReorderedFrames != 0 {
			t.Errorf("%s: %d duplicates and %d reordered frames on a path that makes none",
				direction.Direction, direction.DuplicateFrames, direction.ReorderedFrames)
		}
	}
}

// timed returns the minimum number of delays if nothing is lost.
func (s suite) timed(direction measure.DirectionOutcome, trial measure.Trial) uint64 {
	if s.Frames.TimedFramesPerSecond == 0 {
		return direction.ReceivedFrames
	}
	return min(direction.ReceivedFrames, uint64(float64(s.Frames.TimedFramesPerSecond)*trial.Duration().Seconds()))
}

func (s suite) rounding(t *testing.T) {
	trial := s.frames(0)
	trial.IntendedFramesPerSecond = 333
	trial.DurationNanoseconds = 100_600_000 // 33.4998 frames
	for _, direction := range s.measure(t, s.driver(t), trial).Directions {
		if direction.IntendedFrames != 33 {
			t.Errorf("%s: %d intended frames, want 33", direction.Direction, direction.IntendedFrames)
		}
	}
}

// variation wants delays of variation and a jitter from a driver that measures them, and none from
// another.
func (s suite) variation(t *testing.T) {
	outcome := s.measureSent(t, s.driver(t), s.frames(200*time.Millisecond), everything)
	for _, direction := range outcome.Directions {
		if found := direction.DelayVariation.Samples > 0; found != s.Frames.DelayVariation {
			t.Errorf("%s: %d delay variations of %d received frames, and measuring them should be %t",
				direction.Direction, direction.DelayVariation.Samples, direction.ReceivedFrames, s.Frames.DelayVariation)
		}
		j := direction.Jitter
		if found := j != nil; found != s.Frames.DelayVariation {
			t.Errorf("%s: jitter %+v, and measuring it should be %t", direction.Direction, j, s.Frames.DelayVariation)
			continue
		}
		if j == nil {
			continue
		}
		if most := direction.DelayVariation.MaxNanoseconds; j.MeanNanoseconds > j.MaxNanoseconds || j.P99Nanoseconds > j.MaxNanoseconds || j.MaxNanoseconds > most {
			t.Errorf("%s: jitter %+v, and at most %d ns from one frame to the next", direction.Direction, *j, most)
		}
	}
}

func (s suite) flatOut(t *testing.T) {
	trial := s.frames(100 * time.Millisecond)
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

// burst sends a few frames at a rate far above the moderate load, for a time far below a
// scheduler's tick. Whether they arrive depends on the path.
func (s suite) burst(t *testing.T) {
	const frames, rate = 64, 500_000
	trial := s.frames(frames * time.Second / rate)
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
	trial := s.frames(100 * time.Millisecond)
	// Between two frames, so that the first one due is the later.
	gap := int64(time.Second) / int64(s.Frames.FramesPerSecond)
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
	for _, direction := range s.measure(t, d, s.frames(100*time.Millisecond)).Directions {
		if direction.TaggedFrame != nil {
			t.Errorf("%s: %+v was not asked for", direction.Direction, direction.TaggedFrame)
		}
	}
}

// packets checks that what is sent in fragments is counted in packets and in fragments.
func (s suite) packets(t *testing.T) {
	trial := s.frames(100 * time.Millisecond)
	trial.Packet = &measure.Packet{PayloadBytes: 4096, IPVersion: 4, MTUBytes: 1500}
	trial.FrameBytes = trial.Packet.FrameBytes()
	trial.IntendedFramesPerSecond /= 3
	if !s.Frames.Fragments {
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
		outcome := s.measureSent(t, d, s.frames(duration), anything)
		for _, direction := range outcome.Directions {
			if direction.ReceivedFrames == 0 {
				t.Errorf("%s: a trial of %v received nothing", direction.Direction, duration)
			}
		}
	}
}

func (s suite) invalidFrames(t *testing.T) {
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
		trial := s.frames(50 * time.Millisecond)
		spoil(&trial)
		if _, err := d.Measure(t.Context(), trial); err == nil {
			t.Errorf("%s: Measure(%+v) found nothing wrong", name, trial)
		} else if measure.ReasonOf(err) == "" {
			t.Errorf("%s: %v has no reason", name, err)
		}
	}
}

// checkFrames checks what is true of every outcome of frames.
func (s suite) checkFrames(t *testing.T, trial measure.Trial, o measure.Outcome) {
	t.Helper()
	var directions []measure.Direction
	for _, d := range o.Directions {
		directions = append(directions, d.Direction)
		checkDirection(t, trial, d)
		if d.UnsentFrames() > 0 && !slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtUnsent }) {
			t.Errorf("%s: %d frames were not sent, without a doubt", d.Direction, d.UnsentFrames())
		}
	}
	if !slices.Equal(directions, s.Frames.Directions) {
		t.Errorf("directions %v, want %v", directions, s.Frames.Directions)
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
