/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* How frames are recognized, counted and timed where they arrive. Only
 * traffic.bpf.c includes this, after what it uses. */
#ifndef VNFBENCH_RECEIVE_H
#define VNFBENCH_RECEIVE_H

static __always_inline int take(const struct signature *in, void *end, struct signature *out, __u16 magic)
{
	/* Keeps the compiler from merging both calls to one variable offset. */
	barrier_var(in);
	if ((void *)(in + 1) > end || (in->magic & ~SIGNATURE_TAG) != magic)
		return 0;
	out->magic = in->magic;
	out->key = in->key;
	out->sequence = in->sequence;
	out->sent_at = in->sent_at;
	return 1;
}

// read_signature copies the start of the payload of a UDP frame that has a
// signature. (It returns no pointer: that would be compared with null, which the
// verifier refuses of pointers to packets without CAP_PERFMON.)
static __always_inline int read_signature(void *data, void *end, struct signature *out)
{
	const __u8 *byte = data;
	__u16 type;

	if (data + IPV4_PAYLOAD_OFFSET + sizeof(*out) > end)
		return 0;
	type = *(__u16 *)(data + ETHERTYPE_OFFSET);
	if (type == ETHERTYPE_IPV4 && byte[14] == IPV4_VERSION_IHL && (*(__u32 *)(data + 20) & IPV4_WHOLE_MASK) == IPV4_WHOLE_UDP)
		return take(data + IPV4_PAYLOAD_OFFSET, end, out, SIGNATURE_MAGIC);
	if (type == ETHERTYPE_IPV6 && byte[20] == PROTOCOL_UDP)
		return take(data + IPV6_PAYLOAD_OFFSET, end, out, SIGNATURE_MAGIC);
	return 0;
}

// seen_before looks a sequence number up in a ring that needs no clearing:
// each cell names the trial and the number that it last held. A frame later
// than the ring may be a duplicate, which would hide a loss.
static __always_inline int seen_before(struct receiver *r, __u32 direction, __u32 key, __u32 sequence)
{
	__u64 *place = cell(&shared.window[0][0], DIRECTIONS * WINDOW, direction * WINDOW + sequence % WINDOW);
	__u64 mine = (__u64)key << 32 | sequence;
	__u64 held;

	if (!place)
		return 0;
	held = *(volatile __u64 *)place;
	if (held >> 32 == key && (__s32)((__u32)held - sequence) > 0) {
		add(&r->beyond_window, 1);
		return 1;
	}
	if (swap(place, mine) != mine)
		return 0;
	add(&r->duplicates, 1);
	return 1;
}

// in_order counts reordered frames: those that arrive after a later one
// (RFC 4737 section 3).
static __always_inline void in_order(struct receiver *r, __u32 sequence)
{
	for (int i = 0; i < 8; i++) {
		__u64 next = *(volatile __u64 *)&r->next_sequence;

		if ((__s32)(sequence - (__u32)next) < 0) {
			add(&r->reordered, 1);
			return;
		}
		if (replace(&r->next_sequence, next, (__u32)(sequence + 1)))
			return;
	}
}

// arrival packs what the next frame needs of this one into one word, so that
// one exchange is enough for any number of CPUs: a mark, 24 bits of the
// sequence number, 39 bits of delay (549 s).
#define ARRIVAL_MARK (1ULL << 63)
#define DELAY_BITS 39
#define DELAY_MASK ((1ULL << DELAY_BITS) - 1)
#define SEQUENCE_MASK 0xffffff

static __always_inline __u64 arrival(__u32 sequence, __u64 delay)
{
	if (delay > DELAY_MASK)
		delay = DELAY_MASK;
	return ARRIVAL_MARK | (__u64)(sequence & SEQUENCE_MASK) << DELAY_BITS | delay;
}

// update_jitter does one step of RFC 3550 appendix A.8. A race between two CPUs
// would lose one term of a mean over 16. User space finds the mean of all values
// from the sum of their changes.
static __always_inline void update_jitter(struct receiver *r, __u32 direction, __u64 change)
{
	__u64 jitter = r->jitter, until = r->until_jitter;

	jitter += change - ((jitter + 8) >> 4);
	r->jitter = jitter;
	add(&r->jitter_changes, change);
	if (jitter > r->largest_jitter)
		r->largest_jitter = jitter;
	if (!until) {
		count_in(direction, HISTOGRAM_JITTER, jitter >> 4);
		until = JITTER_FRAMES;
	}
	r->until_jitter = until - 1;
}

static __always_inline void update_jitter_and_variation(struct receiver *r, __u32 direction, __u32 sequence, __u64 delay)
{
	__u64 last = swap(&r->last_arrival, arrival(sequence, delay));
	__u64 before = last & DELAY_MASK;
	__u64 change = delay > before ? delay - before : before - delay;

	if (!(last & ARRIVAL_MARK))
		return;
	update_jitter(r, direction, change);
	if ((last >> DELAY_BITS & SEQUENCE_MASK) == ((sequence - 1) & SEQUENCE_MASK))
		record_sample(&r->variation, direction, HISTOGRAM_VARIATION, change);
}

// not_of_trial counts a frame of another trial. The barrier keeps the compiler
// from choosing an address instead of a branch, which the verifier refuses
// without CAP_PERFMON.
static __always_inline void not_of_trial(struct receiver *r, __u32 key)
{
	if (key == r->earlier_key) {
		add(&r->late_arrivals, 1);
		barrier();
		return;
	}
	add(&r->stray, 1);
}

static __always_inline __u64 since(__u64 then, __u64 now)
{
	return now > then ? now - then : 0;
}

// index_in returns the number in its trial of a frame that has arrived.
static __always_inline __u64 index_in(const struct receiver *r, __u32 direction, __u32 sequence)
{
	if (!r->wraps)
		return sequence;
	direction = opaque(direction);
	return direction < DIRECTIONS ? index_of(&shared.transmitters[direction], sequence) : sequence;
}

// in_slot adds a frame to the slot in which it was due, with the bucket of its delay.
static __always_inline void in_slot(struct receiver *r, __u32 direction, __u64 due, __u64 delay, __u32 bucket)
{
	__u32 n = time_slot(&r->schedule, r->slots_per_time, due);
	__u32 place = opaque((direction * SLOTS + n) * SLOT_BUCKETS + (bucket >> SLOT_BUCKET_BITS));
	struct slot *slot = slot_at(direction, n);

	if (!slot || place >= DIRECTIONS * SLOTS * SLOT_BUCKETS)
		return;
	add_one(&(&shared.slot_delays[0][0][0])[place]);
	add(&slot->frames, 1);
	add(&slot->delay_sum, delay);
	lower(&slot->delay_min, delay);
	raise(&slot->delay_max, delay);
}

#include "reassembly.h"
#include "resolution.h"

// pull_signature makes all that read_signature looks at readable: some drivers
// leave what is after the headers in other pages. The barriers make the compiler
// read both pointers again: otherwise it keeps them as numbers.
static __always_inline int pull_signature(struct __sk_buff *skb)
{
	if ((void *)(long)skb->data + IPV4_PAYLOAD_OFFSET + sizeof(struct signature) > (void *)(long)skb->data_end &&
	    bpf_skb_pull_data(skb, IPV4_PAYLOAD_OFFSET + sizeof(struct signature)))
		return 0;
	barrier();
	if (skb->protocol == ETHERTYPE_IPV6 &&
	    (void *)(long)skb->data + IPV6_PAYLOAD_OFFSET + sizeof(struct signature) > (void *)(long)skb->data_end &&
	    bpf_skb_pull_data(skb, IPV6_PAYLOAD_OFFSET + sizeof(struct signature)))
		return 0;
	barrier();
	return 1;
}

// has_tag returns whether a frame has the tag with this number, or none for 0.
// The device may choose the priority.
static __always_inline int has_tag(const struct __sk_buff *skb, __u32 vlan)
{
	if (!vlan)
		return !skb->vlan_present;
	return skb->vlan_present && skb->vlan_proto == ETHERTYPE_VLAN && (skb->vlan_tci & VLAN_ID_MASK) == vlan;
}

// resolve looks at a frame without a signature. It returns what to do with it, and FOREIGN
// for one that is neither a request nor an answer. In native mode an XDP program cannot
// answer at a port whose peer takes no XDP frames, so it passes a request on to the tc
// program answer_request. In generic mode it answers: what it transmits is an ordinary
// packet, but one that it passes on can lose its Ethernet header before the tc program
// (seen with Linux 6.18 on a veth port).
static __always_inline int resolve(struct xdp_md *ctx, struct __sk_buff *skb, int is_skb, __u32 direction)
{
	union resolution frame = {};
	struct resolver *r;
	int concern;

	direction = opaque(direction);
	if (direction >= DIRECTIONS)
		return FOREIGN;
	r = &shared.resolvers[direction];
	concern = read_resolution(ctx, skb, is_skb, r, &frame);
	if (concern == OF_NO_CONCERN)
		return FOREIGN;
	if (concern == IS_ANSWER)
		return is_skb ? TC_ACT_SHOT : XDP_DROP;
	return is_skb || generic ? answer(ctx, skb, is_skb, r, &frame, concern) : XDP_PASS;
}

// The functions that are called are separate: inside of "receive" they would take registers
// from what is done for each test frame.
static __noinline int resolve_xdp(struct xdp_md *ctx, __u32 direction)
{
	return resolve(ctx, 0, 0, direction);
}

static __noinline int resolve_skb(struct __sk_buff *skb, __u32 direction)
{
	return resolve(0, skb, 1, direction);
}

// take_in drops every frame, counted or not, except for requests for the port's
// hardware address: the stack must not answer a foreign one on the measured path. Which
// kind of context it has is a constant in each call. An skb's frame comes without its
// tag, which must be the port's.
static __always_inline int take_in(struct xdp_md *ctx, struct __sk_buff *skb, int is_skb)
{
	int drop = is_skb ? TC_ACT_SHOT : XDP_DROP;
	__u32 ifindex = is_skb ? skb->ifindex : ctx->ingress_ifindex;
	__u32 direction = opaque(ifindex == shared.receivers[REVERSE].port_ifindex);
	struct signature s;
	struct receiver *r;
	__u64 delay, since_departure, due = 0, now;
	__u32 bucket, bucket_since_departure = 0;

	if (direction >= DIRECTIONS)
		return is_skb ? TC_ACT_SHOT : XDP_ABORTED;
	r = &shared.receivers[direction];
	if (is_skb ? !has_tag(skb, r->vlan) || !pull_signature(skb) || !read_signature((void *)(long)skb->data, (void *)(long)skb->data_end, &s)
		: !read_signature((void *)(long)ctx->data, (void *)(long)ctx->data_end, &s)) {
		int complete = is_skb || !r->chunk ? -1 : take_fragment(ctx, r, direction, &s);

		if (complete < 0) {
			int action = FOREIGN;

			if (!is_skb)
				action = resolve_xdp(ctx, direction);
			else if (has_tag(skb, r->vlan))
				action = resolve_skb(skb, direction);
			if (action != FOREIGN)
				return action;
			add(&r->foreign, 1);
		}
		if (complete <= 0)
			return drop;
	} else if (s.key != r->key) {
		not_of_trial(r, s.key);
		return drop;
	}
	now = s.sent_at ? bpf_ktime_get_ns() : 0;
	if (seen_before(r, direction, s.key, s.sequence))
		return drop;
	add(&r->received, 1);
	add(&r->bytes, is_skb ? skb->len : bpf_xdp_get_buff_len(ctx));
	in_order(r, s.sequence);
	if (!s.sent_at)
		return drop;
	since_departure = delay = since(s.sent_at, now);
	if (r->schedule.frames_per_second) {
		raise(&r->longest_since_departure, delay);
		bucket_since_departure = count_in(direction, HISTOGRAM_SINCE_DEPARTURE, delay);
		due = due_of(&r->schedule, index_in(r, direction, s.sequence));
		delay = since(due, now);
	}
	bucket = record_sample(&r->delay, direction, HISTOGRAM_DELAY, delay);
	if (r->slots_per_time) {
		if (r->slots_since_departure)
			in_slot(r, direction, due, since_departure, bucket_since_departure);
		else
			in_slot(r, direction, due, delay, bucket);
	}
	update_jitter_and_variation(r, direction, s.sequence, delay);
	if (s.sequence == 0 && !r->first_delay)
		r->first_delay = delay ? delay : 1;
	if (s.magic & SIGNATURE_TAG)
		r->tagged_delay = delay ? delay : 1;
	return drop;
}

#endif
