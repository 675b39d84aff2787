/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Arrivals that follow the schedule whatever the device does. Its work for a
 * frame is done on the sending core before the next frame can be made; in that
 * time frames arrive in a ring that is only counted, as they would in the
 * receive ring of a network card. Only transmit.h includes this, after what
 * it uses. */
#ifndef VNFBENCH_RING_H
#define VNFBENCH_RING_H

/* due_of returns when frame n is due. */
static __always_inline __u64 due_of(const struct schedule *s, __u64 n)
{
	return s->start + n * s->gap_nanoseconds + n * s->gap_remainder / s->frames_per_second;
}

/* index_of returns the number of a frame that has arrived. The frame's sequence
 * number has the lowest 32 bits of it. */
static __always_inline __u64 index_of(const struct transmitter *t, __u32 sequence)
{
	__u64 arrived = *(const volatile __u64 *)&t->arrived;

	return arrived - (__u32)((__u32)arrived - sequence);
}

/* time_slot returns the slot of a due time, which is to 66 us. */
static __always_inline __u32 time_slot(const struct schedule *s, __u64 slots_per_time, __u64 due)
{
	__u64 n = ((due - s->start) >> 16) * slots_per_time >> 32;

	return n < SLOTS ? n : SLOTS - 1;
}

/* slot_at returns a slot's place, or null beyond the end. */
static __always_inline struct slot *slot_at(__u32 direction, __u32 n)
{
	__u32 place = opaque(direction * SLOTS + n);

	return place < DIRECTIONS * SLOTS ? &(&shared.slots[0][0])[place] : 0;
}

/* begin_slot notes how many frames have left before the first of a slot. Frames
 * leave in the order in which they are due, so user space finds how many of each
 * slot left, and no frame but the first of a slot takes more than a comparison. */
static __always_inline void begin_slot(struct transmitter *t, __u32 direction, __u64 due)
{
	__u64 per_time = t->slots_per_time, n = time_slot(&t->schedule, per_time, due);
	struct slot *slot = slot_at(direction, n);

	if (slot)
		slot->made_before = t->made;
	n++;
	t->next_slot_at = n < SLOTS ? t->schedule.start + (((n << 32) + per_time - 1) / per_time << 16) : NEVER;
}

/* one_due counts the frame that is due and finds the due time of the next. */
static __always_inline void one_due(struct transmitter *t)
{
	t->due += t->schedule.gap_nanoseconds;
	t->due_remainder += t->schedule.gap_remainder;
	if (t->due_remainder >= t->schedule.frames_per_second) {
		t->due_remainder -= t->schedule.frames_per_second;
		t->due++;
	}
}

/* many_due does what one_due does for all frames that are due by now, except
 * for at most two, and returns their number. */
static __always_inline __u64 many_due(struct transmitter *t, __u64 now)
{
	__u64 rate = t->schedule.frames_per_second, time = now - t->due, n, remainder;

	/* A product below 2^64; what is beyond it comes with the next run. */
	if (time > 10 * NANOSECONDS)
		time = 10 * NANOSECONDS;
	n = time * rate / NANOSECONDS;
	remainder = t->due_remainder + n * t->schedule.gap_remainder;
	t->due += n * t->schedule.gap_nanoseconds + remainder / rate;
	t->due_remainder = remainder % rate;
	return n;
}

/* count_due returns how many frames have become due since the last run: mostly
 * none or one. */
static __always_inline __u64 count_due(struct transmitter *t, __u64 now)
{
	__u64 n = 1;

	if (t->due > now)
		return 0;
	one_due(t);
	if (t->due <= now) {
		n += many_due(t, now) + 1;
		one_due(t);
		if (t->due <= now) {
			one_due(t);
			n++;
		}
	}
	if (n >= t->intended_frames - t->arrived) {
		n = t->intended_frames - t->arrived;
		t->due = NEVER;
	}
	return n;
}

static __always_inline struct run *run_at(__u32 direction, __u32 n)
{
	__u32 place = opaque(direction * RING_FRAMES + (n & (RING_FRAMES - 1)));

	return place < DIRECTIONS * RING_FRAMES ? &(&shared.rings[0][0])[place] : 0;
}

/* arrive puts the frames that have become due into the ring. Those that find no
 * place are the overflow. */
static __always_inline void arrive(struct transmitter *t, __u32 direction, __u64 now)
{
	__u64 n = count_due(t, now), room = t->ring_frames - t->waiting, taken = n < room ? n : room;
	struct run *run;

	if (taken) {
		run = run_at(direction, t->newest_run);
		if (run && run->first + run->frames != (__u32)t->arrived) {
			if (t->waiting)
				run = run_at(direction, ++t->newest_run);
			if (run) {
				run->first = t->arrived;
				run->frames = 0;
			}
		}
		if (run)
			run->frames += taken;
	}
	t->waiting += taken;
	t->overflow += n - taken;
	t->arrived += n;
}

/* leave takes the oldest frame out of the ring, which is not empty. */
static __always_inline __u32 leave(struct transmitter *t, __u32 direction)
{
	struct run *run = run_at(direction, t->oldest_run);
	__u32 sequence;

	if (!run)
		return 0;
	sequence = run->first++;
	run->frames--;
	t->waiting--;
	if (t->waiting && !run->frames)
		t->oldest_run++;
	return sequence;
}

/* look notes how long the thread did not look at the clock. */
static __always_inline void look(struct transmitter *t, __u64 now)
{
	__u64 before = t->looked_at;

	t->looked_at = now;
	if (!before || now - before <= t->away_after)
		return;
	t->away += now - before;
	if (now - before > t->longest_away)
		t->longest_away = now - before;
}

/* next_turn returns when a direction has its next turn: of two, the one whose
 * oldest frame has waited longest is first. */
static __always_inline __u64 next_turn(const struct transmitter *t, __u64 due)
{
	return t->waiting ? due + t->schedule.gap_nanoseconds : t->due;
}

/* depart_open lets frames arrive and takes the oldest. The direction
 * that keeps the thread's times is constant in each call. */
static __always_inline int depart_open(struct transmitter *t, __u32 direction, __u32 thread, struct departure *d)
{
	__u64 late;

	if (t->eligible == NEVER) {
		t->idle++;
		return 0;
	}
	d->now = bpf_ktime_get_ns();
	look(&shared.transmitters[thread], d->now);
	if (d->now < t->eligible)
		return 0;
	if (d->now >= t->end_at) {
		t->eligible = NEVER;
		return 0;
	}
	arrive(t, direction, d->now);
	if (!t->waiting) {
		t->eligible = t->due;
		return 0;
	}
	d->sequence = index_of(t, leave(t, direction));
	d->due = due_of(&t->schedule, d->sequence);
	if (d->due >= t->next_slot_at)
		begin_slot(t, direction, d->due);
	late = d->now - d->due;
	count_in(direction, HISTOGRAM_LATENESS, late);
	if (late > t->latest)
		t->latest = late;
	return 1;
}

#endif
