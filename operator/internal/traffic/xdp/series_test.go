package xdp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// TestSlots checks that every trial has a bounded number of slots, and that Go counts the frames
// that are due in each as the program does.
func TestSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, duration := range []time.Duration{
		minSlottedTrial, 123456789, time.Second, 1599 * time.Millisecond, 5 * time.Second, time.Minute, 102_400 * time.Millisecond, 102_401 * time.Millisecond, 5 * time.Minute, time.Hour, 24 * time.Hour,
	} {
		trial := trialOf(64, 1+random.Uint64N(14_880_952), duration)
		stream, d := streamIPv4(), &Driver{state: &state{trafficState: &trafficState{}}}
		d.streams[0] = &stream
		n := len(d.slotsOf(0, trial))
		if n < minSlots || n > slots || slotOf(trial) == slotLength != (duration >= 1600*time.Millisecond && duration <= 102_400*time.Millisecond) {
			t.Errorf("%v: %d slots of %v", duration, n, slotOf(trial))
		}
		var r trafficReceiver
		d.armSlots(&trafficTransmitter{}, &r, trial)
		rate := trial.IntendedFramesPerSecond
		s := trafficSchedule{FramesPerSecond: rate, GapNanoseconds: 1e9 / rate, GapRemainder: 1e9 % rate}
		for n := 1; n <= len(d.slotsOf(0, trial)); n++ {
			// The first time that the program has in slot n.
			limit := time.Duration((uint64(n)<<32 + r.SlotsPerTime - 1) / r.SlotsPerTime << 16)
			if late := limit - time.Duration(n)*slotOf(trial); late < 0 || late > 100*time.Microsecond {
				t.Fatalf("%v: the limit before slot %d of %v is %v late", duration, n, slotOf(trial), late)
			}
		}
		slotOfFrame := func(n uint64) uint64 { return dueAfter(s, n) >> 16 * r.SlotsPerTime >> 32 }
		for n := 1; n < len(d.slotsOf(0, trial)); n++ {
			first := dueBefore(n, stream, trial)
			if first > 0 && slotOfFrame(first-1) >= uint64(n) || slotOfFrame(first) < uint64(n) {
				t.Fatalf("%v at %d frames/s: frame %d begins slot %d, and the program has it in slot %d, the one before in %d",
					duration, rate, first, n, slotOfFrame(first), slotOfFrame(first-1))
			}
		}
	}
	for _, none := range []measure.Trial{trialOf(64, 0, time.Second), trialOf(64, 1000, minSlottedTrial-1)} {
		if slotOf(none) != 0 {
			t.Errorf("%+v has slots", none)
		}
	}
}

// TestQueueGrowth checks that a queue which grows is distinguished from a stall.
func TestQueueGrowth(t *testing.T) {
	const rate = 10_000
	for name, c := range map[string]struct {
		duration time.Duration
		delay    func(due time.Duration) time.Duration
		want     time.Duration
	}{
		"steady": {5 * time.Second, func(time.Duration) time.Duration { return 20 * time.Microsecond }, 0},
		// The first and the last tenth, of which the smallest delay counts, are 4.5 s apart.
		"ten percent too much": {5 * time.Second, func(due time.Duration) time.Duration { return due / 10 }, 450 * time.Millisecond},
		"a queue that empties": {5 * time.Second, func(due time.Duration) time.Duration { return 500*time.Millisecond - due/10 }, 0},
		"a queue that is full": {5 * time.Second, func(due time.Duration) time.Duration { return min(due, 50*time.Millisecond) }, 50 * time.Millisecond},
		"a stall at the end": {time.Second, func(due time.Duration) time.Duration {
			return max(20*time.Microsecond, 1100*time.Millisecond-due-due.Truncate(960*time.Millisecond))
		}, 0},
		"few frames": {100 * time.Millisecond, func(due time.Duration) time.Duration { return due }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			trial, stream := trialOf(64, rate, c.duration), streamIPv4()
			d := &Driver{state: &state{trafficState: &trafficState{}}}
			d.streams[0] = &stream
			d.state.clear()
			if name == "few frames" {
				trial.IntendedFramesPerSecond = 1100 // 7 in a slot
			}
			var r trafficReceiver
			d.armSlots(&trafficTransmitter{}, &r, trial)
			for n := range stream.IntendedFrames(trial) {
				due := time.Duration(n) * time.Second / time.Duration(trial.IntendedFramesPerSecond)
				slot, delay := &d.state.Slots[0][uint64(due)>>16*r.SlotsPerTime>>32], uint64(c.delay(due))
				slot.Frames++
				slot.DelayMin = min(slot.DelayMin, delay)
			}
			if got := d.queueGrowth(0, trial); (got - c.want).Abs() > time.Millisecond {
				t.Errorf("the queue grows by %v, want %v", got, c.want)
			}
		})
	}
}

// TestSeries has a device lose some frames that follow each other, and delay others.
func TestSeries(t *testing.T) {
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if n := sequenceOf(frame); n < 510 || n >= 560 {
			send(frame)
		}
	})
	o := run(t, d, throughProgram(trialOf(128, 1000, 2*time.Second)))
	got := o.Directions[0]
	s := got.Series
	if s == nil || s.SlotNanoseconds != int64(100*time.Millisecond) || len(s.ReceivedFrames) != 20 || len(s.MeanNanoseconds) != 20 || len(s.MaxNanoseconds) != 20 {
		t.Fatalf("%+v", s)
	}
	want := make([]uint64, 20)
	want[5] = 50
	if got.LostFrames() != 50 || !slices.Equal(s.MissingFrames, want) {
		t.Errorf("%d frames are lost, by slots %v, want %v", got.LostFrames(), s.MissingFrames, want)
	}
	received, sum, sent := uint64(0), uint64(0), uint64(0)
	for n := range s.ReceivedFrames {
		received += s.ReceivedFrames[n]
		sum += s.ReceivedFrames[n] * s.MeanNanoseconds[n]
		of, _ := s.Sent(n)
		sent += of
		if lost, known := s.Lost(n); !known || lost != want[n] {
			t.Errorf("%d frames of slot %d are lost, want %d", lost, n, want[n])
		}
	}
	if sent != got.SentFrames {
		t.Errorf("%d frames were sent by slots, want %d", sent, got.SentFrames)
	}
	if received != got.ReceivedFrames || slices.Max(s.MaxNanoseconds) > got.Latency.MaxNanoseconds {
		t.Errorf("%d frames in slots of %d, at most %v of %v", received, got.ReceivedFrames, s.MaxNanoseconds, time.Duration(got.Latency.MaxNanoseconds))
	}
	if d.inline() {
		if off := math.Abs(float64(sum/received) - float64(got.Latency.MeanNanoseconds)); off > 2 {
			t.Errorf("the mean of all slots is %d, that of all frames %d", sum/received, got.Latency.MeanNanoseconds)
		}
	}
	if growth := o.QueueGrowth() - time.Duration(measure.ExplainedTimes*o.AwayNanoseconds); growth > 20*time.Millisecond {
		t.Errorf("the queue of a device that is fast enough grows by %v", growth)
	}
}

// TestSeriesOfDelays has a device hold back the frames of one slot, and checks the percentiles of each: those of that slot are long, all others
// are as those of the trial, and each is within a 16th of that of the slot's own frames.
func TestSeriesOfDelays(t *testing.T) {
	const held, rate = 7, 1000
	until := time.Time{}
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if n := sequenceOf(frame); n/100 == held {
			if n == 100*held {
				until = time.Now().Add(50 * time.Millisecond)
			}
			time.Sleep(time.Until(until))
		}
		send(frame)
	})
	o := run(t, d, throughProgram(trialOf(128, rate, 2*time.Second)))
	// A busy machine may delay frames of other slots too.
	for attempt := 0; attempt < 5 && len(o.Doubts) > 0; attempt++ {
		o = run(t, d, throughProgram(trialOf(128, rate, 2*time.Second)))
	}
	busy := len(o.Doubts) > 0
	got := o.Directions[0]
	s := got.Series
	if s == nil || len(s.P50Nanoseconds) != 20 || len(s.P99Nanoseconds) != 20 {
		t.Fatalf("%+v", s)
	}
	for n := range s.P50Nanoseconds {
		p50, p99 := s.P50Nanoseconds[n], s.P99Nanoseconds[n]
		if p50 > p99 || p99 > s.MaxNanoseconds[n] || p50 == 0 {
			t.Errorf("slot %d: p50 %d, p99 %d, max %d", n, p50, p99, s.MaxNanoseconds[n])
		}
		if isHeld := p99 > uint64(30*time.Millisecond); isHeld != (n == held) && (n == held || !busy) {
			t.Errorf("slot %d: p99 is %v", n, time.Duration(p99))
		}
	}
	// The slots bracket the trial.
	slack := func(ns uint64) uint64 { return ns/16 + 64 }
	if p50 := got.Latency.P50Nanoseconds; slices.Min(s.P50Nanoseconds) > p50+slack(p50) || slices.Max(s.P50Nanoseconds)+slack(p50) < p50 {
		t.Errorf("the p50 of slots are %v, that of the trial %d", s.P50Nanoseconds, p50)
	}
	if p99 := got.Latency.P99Nanoseconds; slices.Min(s.P99Nanoseconds) > p99+slack(p99) || slices.Max(s.P99Nanoseconds)+slack(p99) < p99 {
		t.Errorf("the p99 of slots are %v, that of the trial %d", s.P99Nanoseconds, p99)
	}
	// All slots together are the trial, as far as coarse buckets show it.
	if all := s.Folded(1); d.inline() {
		for _, percentile := range [][2]uint64{{all.P50Nanoseconds[0], got.Latency.P50Nanoseconds}, {all.P99Nanoseconds[0], got.Latency.P99Nanoseconds}} {
			if off := max(percentile[0], percentile[1]) - min(percentile[0], percentile[1]); off > slack(percentile[1]) {
				t.Errorf("a percentile of all slots is %d, that of the trial %d", percentile[0], percentile[1])
			}
		}
	}
}

// TestCoarseBuckets checks that the middle of a slot's bucket is within 64 ns or a 16th of every delay in it.
func TestCoarseBuckets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	d := &Driver{state: &state{trafficState: &trafficState{}}}
	if last := len(d.state.SlotDelays[0][0]) - 1; last != buckets>>slotBucketBits {
		t.Fatalf("the last bucket is %d", last)
	}
	for range 100_000 {
		delay := random.Uint64() >> (64 - valueBits + random.IntN(valueBits))
		bucket := bucketOf(delay) >> slotBucketBits
		d.state.SlotDelays[0][3][bucket]++
		got := d.slotDelays(0, 3, 10, trafficSlot{DelayMax: math.MaxUint64})
		d.state.SlotDelays[0][3][bucket] = 0
		if off := max(got[0].Nanoseconds, delay) - min(got[0].Nanoseconds, delay); len(got) != 1 || off > max(64, delay/16) {
			t.Fatalf("%d ns is counted as %+v", delay, got)
		}
	}
	// What is beyond the range, and what follows the last slot, which belongs to it.
	d.state.SlotDelays[0][9][buckets>>slotBucketBits]++
	d.state.SlotDelays[0][10][0]++
	want := []measure.DelayCount{{Nanoseconds: 63, Frames: 1}, {Nanoseconds: 1 << 40, Frames: 1}}
	if got := d.slotDelays(0, 9, 10, trafficSlot{DelayMax: 1 << 40}); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestMadeInSlots checks how many frames left of each slot, also where none of a slot did, and what follows the last.
func TestMadeInSlots(t *testing.T) {
	d := &Driver{state: &state{trafficState: &trafficState{}}}
	d.state.clear()
	for n, before := range map[int]uint64{0: 0, 1: 100, 4: 150, 5: 250} {
		d.state.Slots[1][n].MadeBefore = before
	}
	d.state.Transmitters[1].Made = 260
	if got, want := d.madeIn(1, 5), []uint64{100, 50, 0, 0, 110}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	// Of the last slot none left but what follows it, and a trial with as many slots as there are has nothing that follows.
	d.state.Slots[1][4].MadeBefore = never
	if got, want := d.madeIn(1, 5), []uint64{100, 150, 0, 0, 10}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := d.madeIn(1, slots); got[1] != 150 || got[5] != 10 || got[slots-1] != 0 {
		t.Errorf("of all slots: %d", got)
	}
	if got := d.madeIn(0, 3); !slices.Equal(got, []uint64{0, 0, 0}) {
		t.Errorf("a direction that sent nothing: %d", got)
	}
}

// TestGrowingQueue offers a device three times what it forwards: all of it waits, and nothing is lost.
func TestGrowingQueue(t *testing.T) {
	for _, hop := range []measure.Hop{measure.HopInline, measure.HopSeparate} {
		path := func(p *testpath.Path) measure.Path {
			path := p.IPv4(measure.Forward)
			path.Hop = hop
			return path
		}
		d, _ := forward(t, path, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
			time.Sleep(3 * time.Millisecond)
			send(frame)
		})
		trial := throughProgram(trialOf(128, 1000, 400*time.Millisecond))
		trial.SettleNanoseconds = int64(2 * time.Second)
		o := run(t, d, trial)
		// A busy machine may send too little of it.
		for attempt := 0; attempt < 10 && o.UnsentRatio() > 0.3; attempt++ {
			o = run(t, d, trial)
		}
		// The frames before the last slot take three times as long as there is.
		got := o.Directions[0]
		want := time.Duration(got.SentFrames) * time.Millisecond
		if growth := o.QueueGrowth(); growth < want || o.LossRatio() > 0 {
			t.Errorf("%s: the queue grows by %v, want more than %v, and %d of %d frames are lost", hop, growth, want, got.LostFrames(), got.SentFrames)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
