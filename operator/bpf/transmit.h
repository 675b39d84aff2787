/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* How frames are made and leave. Only traffic.bpf.c includes this, after what it
 * uses. */
#ifndef VNFBENCH_TRANSMIT_H
#define VNFBENCH_TRANSMIT_H

static __always_inline __u16 checksum(__u64 base, __u64 a, __u64 b)
{
	__u64 sum = base;

	sum += (a & 0xffff) + (a >> 16 & 0xffff) + (a >> 32 & 0xffff) + (a >> 48);
	sum += (b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	return sum ? sum : 0xffff; /* RFC 768: 0 would mean "none" */
}

// sign fills in what differs from frame to frame. "at" is a constant in each
// call: without CAP_PERFMON the verifier refuses variable offsets from packets.
static __always_inline int sign(struct xdp_md *ctx, __u32 at, __u64 head, __u64 now)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + at + sizeof(struct signature) > end)
		return -1;
	*(__u64 *)(data + at) = head;
	*(__u64 *)(data + at + 8) = now;
	return 0;
}

// departure is a frame that leaves now.
struct departure {
	__u64 now; /* 0: the frame is not timed */
	__u64 sequence;
	__u64 due; /* as fast as possible: now */
};

// slot_of returns the place of a frame's size and template.
static __always_inline __u32 slot_of(const struct transmitter *t, __u32 direction, __u64 sequence)
{
	__u32 slot = direction * FRAME_SIZES, place;

	if (t->round > 1) {
		place = opaque(direction * ROUND + (__u32)(sequence % t->round));
		if (place < DIRECTIONS * ROUND)
			slot += (&shared.rounds[0][0])[place];
	}
	return opaque(slot);
}

// tag returns SIGNATURE_TAG for the first frame to leave that is due at tag_at or
// later, and 0 for all others.
static __always_inline __u64 tag(struct transmitter *t, const struct departure *d)
{
	if (d->due < t->tag_at)
		return 0;
	t->tag_at = NEVER;
	t->tagged_due = d->due;
	return SIGNATURE_TAG;
}

static __always_inline __u64 head_of(struct transmitter *t, const struct departure *d, __u16 magic)
{
	return (magic + tag(t, d)) | (__u64)(t->key & 0xffff) << 16 | d->sequence << 32;
}

// put_smallest writes all of the smallest IPv4 frame but its signature, word by word, without the calls
// of helpers that other frames take.
static __always_inline int put_smallest(struct xdp_md *ctx, const __u8 *template)
{
	void *data = (void *)(long)ctx->data;

	if (data + MIN_FRAME_BYTES > (void *)(long)ctx->data_end)
		return -1;
	for (int at = 0; at < IPV4_PAYLOAD_OFFSET - 2; at += 8)
		*(__u64 *)(data + at) = *(const __u64 *)(template + at);
	*(__u16 *)(data + IPV4_PAYLOAD_OFFSET - 2) = *(const __u16 *)(template + IPV4_PAYLOAD_OFFSET - 2);
	*(__u16 *)(data + MIN_FRAME_BYTES - 2) = 0;
	return 0;
}

// write makes the whole frame each time: buffers are recycled, and a device may
// have changed any byte of them. Every buffer comes with the largest size. vlan
// is how far a tag moves what is after it, a constant in each call.
static __always_inline int write(struct xdp_md *ctx, struct transmitter *t, __u32 direction, const struct departure *d, __u32 vlan)
{
	__u64 head = head_of(t, d, SIGNATURE_MAGIC);
	__u32 slot = slot_of(t, direction, d->sequence), bytes, base;
	struct frame_size *size;
	__u8 *template;
	void *data;

	if (slot >= DIRECTIONS * FRAME_SIZES)
		return -1;
	size = &(&shared.sizes[0][0])[slot];
	template = &shared.templates[0][0][0] + slot * TEMPLATE_BYTES;
	bytes = size->bytes;
	base = size->checksum_base;

	if (bytes < MIN_FRAME_BYTES || bytes > TEMPLATE_BYTES)
		return -1;
	if (bytes != t->frame_bytes && bpf_xdp_adjust_tail(ctx, (int)(bytes - t->frame_bytes)))
		return -1;
	if (t->flows > 1)
		base += put_flow(t, template + vlan, base, d->sequence);
	if (!vlan && bytes == MIN_FRAME_BYTES) {
		if (put_smallest(ctx, template))
			return -1;
	} else if (bpf_xdp_store_bytes(ctx, 0, template, bytes)) {
		return -1;
	}
	if (!t->is_ipv6)
		return sign(ctx, vlan + IPV4_PAYLOAD_OFFSET, head, d->now);
	if (sign(ctx, vlan + IPV6_PAYLOAD_OFFSET, head, d->now))
		return -1;
	data = (void *)(long)ctx->data;
	if (data + vlan + IPV6_PAYLOAD_OFFSET > (void *)(long)ctx->data_end)
		return -1;
	*(__u16 *)(data + vlan + IPV6_CHECKSUM_OFFSET) = checksum(base, head, d->now);
	return 0;
}

// write_vlan writes frames for paths where at least one port has a tag. The
// barrier keeps the compiler from merging both calls to one with a variable
// offset.
static __always_inline int write_vlan(struct xdp_md *ctx, struct transmitter *t, __u32 direction, const struct departure *d)
{
	int failed;

	if (!t->vlan_bytes)
		return write(ctx, t, direction, d, 0);
	failed = write(ctx, t, direction, d, VLAN_BYTES);
	barrier_var(failed);
	return failed;
}

#include "ring.h"

// depart_closed takes the next frame of a trial that is as fast as possible. A look at the clock
// takes a good part of the time for a frame. So only frames that are timed, and the first of each
// batch, cost one. The device's work is between batches, so only the look at a batch's start ends the
// trial: after one in the middle the batch's other frames would still leave. Packets in fragments end
// at any look, because a batch can begin in the middle of one.
static __always_inline int depart_closed(struct transmitter *t, __u32 thread, struct departure *d)
{
	struct transmitter *kept = &shared.transmitters[thread];
	int timed = t->made >= t->next_timed, first = !(kept->runs++ & (FLAT_OUT_BATCH - 1));

	if (t->eligible == NEVER) {
		t->idle++;
		return 0;
	}
	d->now = 0;
	if (timed || first) {
		__u64 now = bpf_ktime_get_ns();

		if (first || t->fragments)
			kept->looked_at = now;
		if (now < t->eligible)
			return 0;
		if (timed)
			d->now = now;
	}
	if (kept->looked_at >= t->end_at) {
		t->eligible = NEVER;
		t->last_departure = kept->looked_at;
		return 0;
	}
	if (timed) {
		t->timed++;
		if (t->made > t->next_timed)
			t->next_timed += t->timed_every;
	}
	/* The directions take turns frame by frame: any number that rises will do. */
	t->eligible++;
	d->sequence = t->made;
	d->due = d->now;
	return 1;
}

// count_in_window counts a frame in the millisecond of which the second half is under
// way. Each half is the first one of the next millisecond, so no burst of up to half
// a millisecond is counted in parts. After a stall a half begins with the first
// frame that waited.
static __always_inline void count_in_window(struct transmitter *t, __u64 now)
{
	__u64 since = now - t->window_start;

	if (since >= MILLISECOND / 2) {
		if (since < MILLISECOND) {
			t->window_start += MILLISECOND / 2;
			t->window_frames -= t->window_earlier;
			t->window_earlier = t->window_frames;
		} else {
			t->window_start = now;
			t->window_frames = 0;
			t->window_earlier = 0;
		}
	}
	t->window_frames++;
	if (t->window_frames > t->most_in_window)
		t->most_in_window = t->window_frames;
}

// departed lets the other direction take its turn.
static __always_inline void departed(struct transmitter *t, __u64 due, __u64 now, int open)
{
	t->made++;
	if (!open)
		return;
	t->last_departure = now;
	count_in_window(t, now);
	t->eligible = next_turn(t, due);
}

// Each program does one of these, as a constant. Without CAP_PERFMON the
// verifier looks into branches on constants too, for what a CPU might speculate,
// and refuses a program that becomes too large for it.
enum { CLOSED = 0, OPEN = 1 };
enum { PLAIN = 0, VLAN = 1 };

static __always_inline int transmit(struct xdp_md *ctx, __u32 direction, __u32 thread, int vlan, int open)
{
	struct transmitter *t;
	struct departure d;

	direction = opaque(direction);
	if (direction >= DIRECTIONS)
		return XDP_ABORTED;
	t = &shared.transmitters[direction];
	if (open ? !depart_open(t, direction, thread, &d) : !depart_closed(t, thread, &d))
		return XDP_DROP;
	if (vlan ? write_vlan(ctx, t, direction, &d) : write(ctx, t, direction, &d, 0))
		return XDP_ABORTED;
	departed(t, d.due, d.now, open);
	return bpf_redirect(t->redirect_ifindex, 0);
}

// first_in_turn returns the direction that may send first.
static __always_inline __u32 first_in_turn(void)
{
	return shared.transmitters[REVERSE].eligible < shared.transmitters[FORWARD].eligible;
}

#include "fragments.h"

#endif
