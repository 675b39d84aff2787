package xdp

import (
	"math/bits"
	"slices"
	"time"

	"vnfbench.io/operator/internal/measure"
)

const (
	// slots is layout.h's SLOTS, minSlots how many a trial has at least.
	slots    = 1024
	minSlots = 16
	// slotBucketBits is layout.h's SLOT_BUCKET_BITS.
	slotBucketBits = 7
	// slotLength is that of a slot where a trial has neither too many nor too few.
	slotLength = 100 * time.Millisecond
	// minSlottedTrial is the shortest trial that has slots.
	minSlottedTrial = 100 * time.Millisecond
	// minGrowthFrames is how many frames both ends of a trial must have to show a queue.
	minGrowthFrames = 8
)

// slotOf returns the length of a trial's slots, 0 if it has none. The program multiplies by a whole number of slots
// in 2^48 ns instead of dividing by a length. A length above slotLength is made the one of that number: in a trial of
// a day the limit of the last slot would be 26 s late otherwise.
func slotOf(trial measure.Trial) time.Duration {
	duration := trial.Duration()
	if trial.IntendedFramesPerSecond == 0 || duration < minSlottedTrial {
		return 0
	}
	if least := (duration + slots - 1) / slots; least > slotLength {
		return time.Duration(1 << 48 / (1 << 48 / uint64(least)))
	}
	return min(slotLength, duration/minSlots)
}

// armSlots sets what the program needs to find a frame's slot. Where no part of the device works
// on the core that sends, the wait before the departure is the generator's.
func (d *Driver) armSlots(t *trafficTransmitter, r *trafficReceiver, trial measure.Trial) {
	if slot := slotOf(trial); slot > 0 {
		r.SlotsPerTime = 1 << 48 / uint64(slot)
		t.SlotsPerTime, t.NextSlotAt = r.SlotsPerTime, 0
	}
	if !d.inline() {
		r.SlotsSinceDeparture = 1
	}
}

// slotsOf returns the slots of one direction that a trial has. What follows the last whole one is
// part of it.
func (d *Driver) slotsOf(i int, trial measure.Trial) []trafficSlot {
	slot := slotOf(trial)
	if slot == 0 {
		return nil
	}
	n := int(trial.Duration() / slot)
	out := slices.Clone(d.state.Slots[i][:n])
	if last := &out[n-1]; n < slots {
		rest := d.state.Slots[i][n]
		last.Frames, last.DelaySum = last.Frames+rest.Frames, last.DelaySum+rest.DelaySum
		last.DelayMin, last.DelayMax = min(last.DelayMin, rest.DelayMin), max(last.DelayMax, rest.DelayMax)
	}
	return out
}

// dueBefore returns how many frames of a direction are due in the first n slots, as in_slot in
// receive.h decides.
func dueBefore(n int, s measure.Stream, trial measure.Trial) uint64 {
	perTime, rate := 1<<48/uint64(slotOf(trial)), s.FramesPerSecond(trial)
	end := (uint64(n)<<32 + perTime - 1) / perTime << 16
	high, low := bits.Mul64(end, rate)
	frames, rest := bits.Div64(high, low, uint64(time.Second))
	if rest > 0 {
		frames++
	}
	return min(frames, s.IntendedFrames(trial))
}

// series returns what happened to the frames of one direction, slot by slot.
func (d *Driver) series(i int, trial measure.Trial) *measure.Series {
	all := d.slotsOf(i, trial)
	if all == nil {
		return nil
	}
	out, made, arrived := &measure.Series{SlotNanoseconds: int64(slotOf(trial))}, d.madeIn(i, len(all)), d.state.Transmitters[i].Arrived
	for n, slot := range all {
		first, end := dueBefore(n, *d.streams[i], trial), dueBefore(n+1, *d.streams[i], trial)
		if n == len(all)-1 {
			end = d.streams[i].IntendedFrames(trial)
		}
		sent := made[n]
		if d.inline() {
			// As account has it: what the ring had no room for was offered to the device too.
			sent = min(end, arrived) - min(first, arrived)
		}
		out.Add(measure.Slot{
			DueFrames: end - first, SentFrames: sent, ReceivedFrames: slot.Frames, DelaySum: slot.DelaySum, MaxNanoseconds: slot.DelayMax,
			Delays: d.slotDelays(i, n, len(all), slot),
		})
	}
	return out
}

// madeIn returns how many frames of a direction left, by the first n slots in which they were due. What follows them
// belongs to the last.
func (d *Driver) madeIn(i, n int) []uint64 {
	made, then := make([]uint64, n), d.state.Transmitters[i].Made
	for slot := min(n, slots-1); slot >= 0; slot-- {
		if before := d.state.Slots[i][slot].MadeBefore; before != never {
			made[min(slot, n-1)] += then - before
			then = before
		}
	}
	return made
}

// slotDelays returns the delays of a slot, of which a trial has so many. What follows the last one belongs to it.
func (d *Driver) slotDelays(i, n, of int, slot trafficSlot) []measure.DelayCount {
	counts := d.state.SlotDelays[i][n]
	if n == of-1 && of < slots {
		for bucket, rest := range d.state.SlotDelays[i][of] {
			counts[bucket] += rest
		}
	}
	var out []measure.DelayCount
	for bucket, frames := range counts {
		if frames > 0 {
			middle := slot.DelayMax // what is beyond the range is in the last bucket
			if first := bucket << slotBucketBits; first < buckets {
				middle = (bucketMiddle(first) + bucketMiddle(first+1<<slotBucketBits-1)) / 2
			}
			out = append(out, measure.DelayCount{Nanoseconds: min(max(middle, slot.DelayMin), slot.DelayMax), Frames: uint64(frames)})
		}
	}
	return out
}

// queueGrowth returns by how much the smallest delay of a trial's last tenth exceeds that of its
// first, in one direction. A stall delays some frames, and a queue that grows delays all.
func (d *Driver) queueGrowth(i int, trial measure.Trial) time.Duration {
	all := d.slotsOf(i, trial)
	if all == nil {
		return 0
	}
	tenth := max(1, len(all)/10)
	before, then := smallest(all[:tenth]), smallest(all[len(all)-tenth:])
	if before.Frames < minGrowthFrames || then.Frames < minGrowthFrames || then.DelayMin <= before.DelayMin {
		return 0
	}
	return time.Duration(then.DelayMin - before.DelayMin)
}

// smallest returns the number of frames of some slots, and their smallest delay.
func smallest(some []trafficSlot) trafficSlot {
	out := some[0]
	for _, s := range some[1:] {
		out.Frames, out.DelayMin = out.Frames+s.Frames, min(out.DelayMin, s.DelayMin)
	}
	return out
}
