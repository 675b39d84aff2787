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
func (d *Driver) armSlots(r *trafficReceiver, trial measure.Trial) {
	if slot := slotOf(trial); slot > 0 {
		r.SlotsPerTime = 1 << 48 / uint64(slot)
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
	out := &measure.Series{SlotNanoseconds: int64(slotOf(trial))}
	for n, slot := range all {
		due := dueBefore(n+1, *d.streams[i], trial) - dueBefore(n, *d.streams[i], trial)
		if n == len(all)-1 {
			due = d.streams[i].IntendedFrames(trial) - dueBefore(n, *d.streams[i], trial)
		}
		out.Add(due, slot.Frames, slot.DelaySum, slot.DelayMax)
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
