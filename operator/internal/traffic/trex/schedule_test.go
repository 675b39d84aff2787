package trex

import (
	"fmt"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

func simpleIMIX() *measure.Mix {
	return &measure.Mix{Frames: []measure.MixFrame{{FrameBytes: 64, Weight: 7}, {FrameBytes: 594, Weight: 4}, {FrameBytes: 1518, Weight: 1}}}
}

// The parts of a load add up to the load: exactly the same frames, in total and of each
// size, all sent within the trial's time.
func TestPartsAreTheLoad(t *testing.T) {
	const line = 14_880_952
	for _, rate := range []uint64{1, 2, 3, 7, 10, 333, 999, 1000, 1001, 2500, 20_000, 1_000_003, 14_880_952} {
		for _, duration := range []time.Duration{128 * time.Microsecond, 100 * time.Millisecond, 100_600 * time.Microsecond, time.Second, 60 * time.Second} {
			for _, mix := range []*measure.Mix{nil, simpleIMIX()} {
				for _, tag := range []time.Duration{0, duration / 2, duration - 1} {
					for direction, s := range []measure.Stream{streamTo(measure.Forward), streamTo(measure.Reverse)} {
						trial := measure.Trial{FrameBytes: 128, Mix: mix, IntendedFramesPerSecond: rate, DurationNanoseconds: int64(duration), TaggedFrameNanoseconds: int64(tag)}
						intended := s.IntendedFrames(trial)
						if intended == 0 {
							continue
						}
						name := fmt.Sprintf("%d/s for %v, tag %v, mix %v, direction %d", rate, duration, tag, mix != nil, direction)
						checkParts(t, name, Config{LatencyFramesPerSecond: 1000}.schedule(direction, s, trial, line), trial, intended)
					}
				}
			}
		}
	}
}

func checkParts(t *testing.T, name string, s schedule, trial measure.Trial, intended uint64) {
	t.Helper()
	if s.intended != intended {
		t.Fatalf("%s: %d intended frames, want %d", name, s.intended, intended)
	}
	frames, sequence := sizesOf(trial)
	sum, bySize, singles, timedFrames := uint64(0), map[int]uint64{}, map[purpose]int{}, uint64(0)
	rate := 0.0
	for _, p := range s.parts {
		sum += p.frames
		bySize[p.frameBytes] += p.frames
		if p.frames == 0 || p.framesPerSecond <= 0 {
			t.Errorf("%s: a part of %d frames at %v/s", name, p.frames, p.framesPerSecond)
		}
		switch p.purpose {
		case first, tagged:
			singles[p.purpose]++
			if p.frames != 1 {
				t.Errorf("%s: %d frames by themselves", name, p.frames)
			}
		case timed:
			timedFrames += p.frames
			rate += p.framesPerSecond
		case load:
			rate += p.framesPerSecond
		}
		if got := p.stream.Mode.TotalPackets; got != p.frames || p.stream.Mode.Type != singleBurst {
			t.Errorf("%s: TRex is asked for %d packets (%s), want %d", name, got, p.stream.Mode.Type, p.frames)
		}
		if len(p.stream.Packet.Binary) != p.frameBytes-4 {
			t.Errorf("%s: a packet of %d bytes for a frame of %d", name, len(p.stream.Packet.Binary), p.frameBytes)
		}
		// The last frame is due at most one round after the end.
		last := p.after.Seconds() + float64(p.frames-1)/p.framesPerSecond
		if end := trial.Duration().Seconds() + float64(len(sequence)+2)/float64(trial.IntendedFramesPerSecond); last > end {
			t.Errorf("%s: the last of %d frames is due at %v s", name, p.frames, last)
		}
		if trial.TaggedFrameNanoseconds > 0 && p.purpose == tagged {
			if late := p.after - time.Duration(trial.TaggedFrameNanoseconds); late < -time.Microsecond || late > time.Second/time.Duration(trial.IntendedFramesPerSecond)+time.Microsecond {
				t.Errorf("%s: the tagged frame is due %v after it was asked for", name, late)
			}
		}
	}
	if sum != intended {
		t.Errorf("%s: the parts are %d frames, want %d", name, sum, intended)
	}
	want := map[int]uint64{}
	for n := range intended {
		if n >= 5_000 { // whole rounds after this are equal
			break
		}
		want[frames[sequence[n%uint64(len(sequence))]].FrameBytes]++
	}
	if intended < 5_000 {
		for size, n := range want {
			if bySize[size] != n {
				t.Errorf("%s: %d frames of %d bytes, want %d", name, bySize[size], size, n)
			}
		}
	}
	if singles[tagged] > 1 || singles[first] > 1 {
		t.Errorf("%s: %v", name, singles)
	}
	budget := uint64(1000*trial.Duration().Seconds()) + uint64(len(frames)) + 1
	if timedFrames == 0 && intended > 2 || timedFrames > budget {
		t.Errorf("%s: %d frames are timed, at most %d should be", name, timedFrames, budget)
	}
	if limit := float64(trial.IntendedFramesPerSecond) * 1.000001; rate > limit {
		t.Errorf("%s: %v frames/s in all", name, rate)
	}
}

func TestShareOfTheLoad(t *testing.T) {
	s := streamTo(measure.Forward)
	s.LoadPercent = 25
	got := Config{LatencyFramesPerSecond: 1000}.schedule(0, s, trialOf(64, 10_000, time.Second), 14_880_952)
	if got.intended != 2500 || got.share != 25 {
		t.Errorf("%d frames, share %d", got.intended, got.share)
	}
	// At the maximum rate there are no shares.
	got = Config{LatencyFramesPerSecond: 1000}.schedule(0, s, trialOf(64, 0, time.Second), 14_880_952)
	if got.intended != 0 || got.share != 0 {
		t.Errorf("%d frames, share %d", got.intended, got.share)
	}
}

// At the maximum rate, the sizes of a mix keep their proportion, up to the line rate and
// no faster.
func TestEndlessParts(t *testing.T) {
	trial := trialOf(0, 0, time.Second)
	trial.Mix = simpleIMIX()
	rates := map[int]float64{}
	sum := 0.0
	for _, p := range (Config{LatencyFramesPerSecond: 1000}).schedule(0, streamTo(measure.Forward), trial, 1_200_000).parts {
		if p.stream.Mode.Type != continuous || p.frames != 0 {
			t.Errorf("%+v", p.stream.Mode)
		}
		rates[p.frameBytes] += p.framesPerSecond
		sum += p.framesPerSecond
	}
	for size, want := range map[int]float64{64: 700_000, 594: 400_000, 1518: 100_000} {
		if got := rates[size]; got < want-1 || got > want+1 {
			t.Errorf("%d bytes: %v frames/s, want %v", size, got, want)
		}
	}
	if sum > 1_200_001 {
		t.Errorf("%v frames/s", sum)
	}
}

// No two groups of a server are the same.
func TestGroupsAreDistinct(t *testing.T) {
	seen := map[int]string{}
	trial := trialOf(0, 50_000, time.Second)
	trial.TaggedFrameNanoseconds = int64(time.Second / 2)
	trial.Mix = &measure.Mix{}
	for n := range measure.MaximumMixFrames {
		trial.Mix.Frames = append(trial.Mix.Frames, measure.MixFrame{FrameBytes: 128 + 64*n, Weight: 1})
	}
	for direction, d := range []measure.Direction{measure.Forward, measure.Reverse} {
		for _, p := range (Config{LatencyFramesPerSecond: 1000}).schedule(direction, streamTo(d), trial, 1_000_000).parts {
			if p.group < 1 || p.group != p.stream.FlowStats.StreamID {
				t.Errorf("group %d, and %d for TRex", p.group, p.stream.FlowStats.StreamID)
			}
			name := fmt.Sprint(d, p.purpose, p.frameBytes)
			if p.purpose == load {
				name = fmt.Sprint(d, p.purpose)
			}
			if other, there := seen[p.group]; there && other != name {
				t.Errorf("group %d is %s and %s", p.group, other, name)
			}
			seen[p.group] = name
		}
	}
	if len(seen) != 2*(1+2+measure.MaximumMixFrames) {
		t.Errorf("%d groups", len(seen))
	}
}

func TestTrialsThatCannotBe(t *testing.T) {
	stream := streamTo(measure.Forward)
	streams := frames.Streams{&stream}
	good := trialOf(64, 1000, time.Second)
	if err := checkTrial(good, streams, maximumFrameBytes); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]struct {
		spoil  func(*measure.Trial)
		reason string
	}{
		"a packet in fragments": {func(trial *measure.Trial) {
			trial.Packet = &measure.Packet{PayloadBytes: 4096, IPVersion: 4, MTUBytes: 1500}
		}, v1alpha1.ReasonInvalidTrial},
		"TCP":                      {func(trial *measure.Trial) { trial.TCP = &measure.TCPTrial{} }, v1alpha1.ReasonInvalidTrial},
		"too small":                {func(trial *measure.Trial) { trial.FrameBytes = 63 }, v1alpha1.ReasonFrameTooSmall},
		"too large":                {func(trial *measure.Trial) { trial.FrameBytes = maximumFrameBytes + 1 }, v1alpha1.ReasonFrameTooLarge},
		"more frames than a burst": {func(trial *measure.Trial) { trial.IntendedFramesPerSecond = burstLimit + 1 }, v1alpha1.ReasonInvalidTrial},
	} {
		trial := good
		change.spoil(&trial)
		t.Run(name, func(t *testing.T) {
			wantFailure(t, checkTrial(trial, streams, maximumFrameBytes), change.reason)
		})
	}
	stream = inIPv6(stream)
	wantFailure(t, checkTrial(good, streams, maximumFrameBytes), v1alpha1.ReasonFrameTooSmall, "82")
}
