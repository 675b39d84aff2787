// SPDX-License-Identifier: GPL-2.0 OR MIT
// The measured path of the XDP driver: "open_*" make frames that arrive by a
// schedule under BPF_PROG_RUN with live frames, "transmit_*" as many as they
// can, "receive" takes them in at the other port, "pass_on" carries them from
// the inner veth pair to a port whose peer takes no XDP frames. "*vlan_*" and
// "receive_vlan" are for paths with VLAN tags, "*fragment_*" for packets in
// fragments. docs/concepts/xdp-driver.md explains the whole.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flows.h"
#include "layout.h"

#define MIN_FRAME_BYTES 60
#define ETHERTYPE_OFFSET 12
#define ETHERTYPE_IPV4 bpf_htons(0x0800)
#define ETHERTYPE_IPV6 bpf_htons(0x86dd)
#define PROTOCOL_UDP 17
#define IPV4_VERSION_IHL 0x45
#define IPV4_PAYLOAD_OFFSET 42
// Fragment offset, "more fragments" and protocol in one word, with the life
// time between them.
#define IPV4_WHOLE_MASK bpf_htonl(0x3fff00ff)
#define IPV4_WHOLE_UDP bpf_htonl(PROTOCOL_UDP)
#define IPV6_PAYLOAD_OFFSET 62
#define IPV6_CHECKSUM_OFFSET 60
#define ETHERTYPE_VLAN bpf_htons(0x8100)
#define VLAN_ID_MASK 0xfff
#define VLAN_BYTES 4

char licence[] SEC("license") = "Dual MIT/GPL";

// Several CPUs may run "receive" for one direction at once: not so where every
// port has a single receive queue in native mode, and then the verifier
// removes every atomic operation.
const volatile __u8 several_cpus = 1;

struct state shared;

static __always_inline void add(__u64 *counter, __u64 n)
{
	if (several_cpus)
		__sync_fetch_and_add(counter, n);
	else
		*counter += n;
}

static __always_inline __u64 swap(__u64 *place, __u64 value)
{
	__u64 old;

	if (several_cpus)
		return __sync_lock_test_and_set(place, value);
	old = *place;
	*place = value;
	return old;
}

// replace stores value where the place still holds old.
static __always_inline int replace(__u64 *place, __u64 old, __u64 value)
{
	if (several_cpus)
		return __sync_val_compare_and_swap(place, old, value) == old;
	*place = value;
	return 1;
}

// Losing a race eight times over would need eight better values at once.
static __always_inline void lower(__u64 *place, __u64 value)
{
	for (int i = 0; i < 8; i++) {
		__u64 old = *(volatile __u64 *)place;

		if (value >= old || replace(place, old, value))
			return;
	}
}

static __always_inline void raise(__u64 *place, __u64 value)
{
	for (int i = 0; i < 8; i++) {
		__u64 old = *(volatile __u64 *)place;

		if (value <= old || replace(place, old, value))
			return;
	}
}

// opaque makes the verifier forget what it knows of an index. Without
// CAP_PERFMON it wants the same range of an index on every way to its addition
// to a pointer, and learns another on each; a zero that user space could
// change, added, makes them equal again. A bounds check must follow.
static __always_inline __u32 opaque(__u32 index)
{
	index += *(volatile __u32 *)&shared.zero;
	barrier_var(index);
	return index;
}

// cell is &whole[index], or null beyond the end.
static __always_inline __u64 *cell(__u64 *whole, __u32 cells, __u32 index)
{
	index = opaque(index);
	return index < cells ? &whole[index] : 0;
}

// count_in adds a value to a histogram; bucketOf in histogram.go is its twin.
// What is beyond the range shows in no bucket, only in a maximum.
static __always_inline void count_in(__u32 direction, __u32 histogram, __u64 value)
{
	__u32 shift = 0, bucket;
	__u64 top = value >> (BUCKET_BITS + 1);
	__u64 *counter;

	if (value >> VALUE_BITS)
		return;
	if (top >> 16) {
		shift += 16;
		top >>= 16;
	}
	if (top >> 8) {
		shift += 8;
		top >>= 8;
	}
	if (top >> 4) {
		shift += 4;
		top >>= 4;
	}
	if (top >> 2) {
		shift += 2;
		top >>= 2;
	}
	shift += top >> 1 ? 2 : top;
	bucket = (shift << BUCKET_BITS) + (__u32)(value >> shift);
	bucket += (direction * HISTOGRAMS + histogram) * BUCKETS;
	counter = cell(&shared.histograms[0][0][0], DIRECTIONS * HISTOGRAMS * BUCKETS, bucket);
	if (counter)
		add(counter, 1);
}

static __always_inline void note(struct spread *s, __u32 direction, __u32 histogram, __u64 value)
{
	add(&s->samples, 1);
	add(&s->sum, value);
	lower(&s->min, value);
	raise(&s->max, value);
	count_in(direction, histogram, value);
}

/* ---- transmit ---- */

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
// call: without CAP_PERFMON the verifier lets no variable near a packet pointer.
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
	__u64 now;
	__u64 sequence;
	__u64 due; /* as fast as possible: now */
};

// slot_of is the place of a frame's size and template.
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

// tag is SIGNATURE_TAG for the first frame to leave that is due at its time or
// after it.
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

// write makes the whole frame anew: buffers are recycled, and a device may
// have changed any byte of them. Every buffer comes with the largest size. vlan
// is how far a tag moves what is behind it, a constant in each call.
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
	if (bpf_xdp_store_bytes(ctx, 0, template, bytes))
		return -1;
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

// write_vlan is for paths of which one port has a tag, and the other perhaps
// none. The barrier keeps the compiler from merging both calls to one variable
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

// depart_closed takes the next frame of a trial that is as fast as possible.
static __always_inline int depart_closed(struct transmitter *t, struct departure *d)
{
	if (t->eligible == NEVER) {
		t->idle++;
		return 0;
	}
	d->now = bpf_ktime_get_ns();
	if (d->now < t->eligible)
		return 0;
	if (d->now >= t->end_at) {
		t->eligible = NEVER;
		return 0;
	}
	d->sequence = t->made;
	d->due = d->now;
	return 1;
}

// departed lets the other direction take its turn.
static __always_inline void departed(struct transmitter *t, __u64 due, __u64 now, int open)
{
	t->last_departure = now;
	t->made++;
	t->eligible = open ? next_turn(t, due) : now;
}

// What a program does is constant in each. Without CAP_PERFMON the verifier
// looks into branches on constants too, for what a CPU might speculate, and
// refuses a program that becomes too large for it.
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
	if (open ? !depart_open(t, direction, thread, &d) : !depart_closed(t, &d))
		return XDP_DROP;
	if (vlan ? write_vlan(ctx, t, direction, &d) : write(ctx, t, direction, &d, 0))
		return XDP_ABORTED;
	departed(t, d.due, d.now, open);
	return bpf_redirect(t->redirect_ifindex, 0);
}

// first_in_turn is the direction that may send first.
static __always_inline __u32 first_in_turn(void)
{
	return shared.transmitters[REVERSE].eligible < shared.transmitters[FORWARD].eligible;
}

#include "fragments.h"

SEC("xdp")
int transmit_forward(struct xdp_md *ctx)
{
	return transmit(ctx, FORWARD, FORWARD, PLAIN, CLOSED);
}

SEC("xdp")
int transmit_reverse(struct xdp_md *ctx)
{
	return transmit(ctx, REVERSE, REVERSE, PLAIN, CLOSED);
}

SEC("xdp")
int transmit_both(struct xdp_md *ctx)
{
	return transmit(ctx, first_in_turn(), FORWARD, PLAIN, CLOSED);
}

SEC("xdp")
int open_forward(struct xdp_md *ctx)
{
	return transmit(ctx, FORWARD, FORWARD, PLAIN, OPEN);
}

SEC("xdp")
int open_reverse(struct xdp_md *ctx)
{
	return transmit(ctx, REVERSE, REVERSE, PLAIN, OPEN);
}

SEC("xdp")
int open_both(struct xdp_md *ctx)
{
	return transmit(ctx, first_in_turn(), FORWARD, PLAIN, OPEN);
}

SEC("xdp")
int vlan_forward(struct xdp_md *ctx)
{
	return transmit(ctx, FORWARD, FORWARD, VLAN, CLOSED);
}

SEC("xdp")
int vlan_reverse(struct xdp_md *ctx)
{
	return transmit(ctx, REVERSE, REVERSE, VLAN, CLOSED);
}

SEC("xdp")
int vlan_both(struct xdp_md *ctx)
{
	return transmit(ctx, first_in_turn(), FORWARD, VLAN, CLOSED);
}

SEC("xdp")
int open_vlan_forward(struct xdp_md *ctx)
{
	return transmit(ctx, FORWARD, FORWARD, VLAN, OPEN);
}

SEC("xdp")
int open_vlan_reverse(struct xdp_md *ctx)
{
	return transmit(ctx, REVERSE, REVERSE, VLAN, OPEN);
}

SEC("xdp")
int open_vlan_both(struct xdp_md *ctx)
{
	return transmit(ctx, first_in_turn(), FORWARD, VLAN, OPEN);
}

SEC("xdp")
int fragment_forward(struct xdp_md *ctx)
{
	return transmit_fragment(ctx, FORWARD, FORWARD, CLOSED);
}

SEC("xdp")
int fragment_reverse(struct xdp_md *ctx)
{
	return transmit_fragment(ctx, REVERSE, REVERSE, CLOSED);
}

// A packet that has begun is finished first: its direction is eligible since
// time 0.
SEC("xdp")
int fragment_both(struct xdp_md *ctx)
{
	return transmit_fragment(ctx, first_in_turn(), FORWARD, CLOSED);
}

SEC("xdp")
int open_fragment_forward(struct xdp_md *ctx)
{
	return transmit_fragment(ctx, FORWARD, FORWARD, OPEN);
}

SEC("xdp")
int open_fragment_reverse(struct xdp_md *ctx)
{
	return transmit_fragment(ctx, REVERSE, REVERSE, OPEN);
}

SEC("xdp")
int open_fragment_both(struct xdp_md *ctx)
{
	return transmit_fragment(ctx, first_in_turn(), FORWARD, OPEN);
}

/* ---- receive ---- */

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

// read_signature copies the payload's begin, where it is that of a UDP frame
// with a signature. (A pointer to it would be compared with null, which the
// verifier refuses of packets without CAP_PERFMON.)
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
// each cell names the trial and the number that it last held.
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
		return 0;
	}
	return swap(place, mine) == mine;
}

// in_order is RFC 4737 section 3: a frame is reordered when a later one came before.
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
// one exchange suffices whatever the number of CPUs: a mark, 24 bits of the
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

static __always_inline void vary(struct receiver *r, __u32 direction, __u32 sequence, __u64 delay)
{
	__u64 last = swap(&r->last_arrival, arrival(sequence, delay));
	__u64 before = last & DELAY_MASK;
	__u64 change = delay > before ? delay - before : before - delay;

	if (!(last & ARRIVAL_MARK))
		return;
	/* A race between two CPUs would lose one term of a mean over 16. */
	r->jitter += change - ((r->jitter + 8) >> 4);
	if ((last >> DELAY_BITS & SEQUENCE_MASK) == ((sequence - 1) & SEQUENCE_MASK))
		note(&r->variation, direction, HISTOGRAM_VARIATION, change);
}

// not_of_trial counts a frame of another trial. The barrier keeps the compiler
// from choosing an address in place of a branch, which the verifier refuses
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

// index_in is the number in its trial of a frame that has arrived.
static __always_inline __u64 index_in(const struct receiver *r, __u32 direction, __u32 sequence)
{
	if (!r->wraps)
		return sequence;
	direction = opaque(direction);
	return direction < DIRECTIONS ? index_of(&shared.transmitters[direction], sequence) : sequence;
}

#include "reassembly.h"

// in_reach makes all that read_signature looks at readable: some drivers leave
// what is behind the headers in other pages. The barriers make the compiler read
// both pointers anew: it would carry them along as numbers.
static __always_inline int in_reach(struct __sk_buff *skb)
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

// has_tag wants the tag with this number, or none for 0. The priority is the
// device's to choose.
static __always_inline int has_tag(const struct __sk_buff *skb, __u32 vlan)
{
	if (!vlan)
		return !skb->vlan_present;
	return skb->vlan_present && skb->vlan_proto == ETHERTYPE_VLAN && (skb->vlan_tci & VLAN_ID_MASK) == vlan;
}

// take_in drops everything: no foreign frame may draw an answer of the stack
// onto the measured path. Which kind of context it has is a constant in each
// call: an skb's frame is without its tag, which must be the port's.
static __always_inline int take_in(struct xdp_md *ctx, struct __sk_buff *skb, int is_skb)
{
	int drop = is_skb ? TC_ACT_SHOT : XDP_DROP;
	__u32 ifindex = is_skb ? skb->ifindex : ctx->ingress_ifindex;
	__u32 direction = opaque(ifindex == shared.receivers[REVERSE].port_ifindex);
	struct signature s;
	struct receiver *r;
	__u64 delay, now;

	if (direction >= DIRECTIONS)
		return is_skb ? TC_ACT_SHOT : XDP_ABORTED;
	r = &shared.receivers[direction];
	if (is_skb ? !has_tag(skb, r->vlan) || !in_reach(skb) || !read_signature((void *)(long)skb->data, (void *)(long)skb->data_end, &s)
		: !read_signature((void *)(long)ctx->data, (void *)(long)ctx->data_end, &s)) {
		if (is_skb || !r->chunk) {
			add(&r->foreign, 1);
			return drop;
		}
		if (!take_fragment(ctx, r, direction, &s))
			return drop;
	} else if (s.key != r->key) {
		not_of_trial(r, s.key);
		return drop;
	}
	now = bpf_ktime_get_ns();
	if (seen_before(r, direction, s.key, s.sequence)) {
		add(&r->duplicates, 1);
		return drop;
	}
	delay = since(s.sent_at, now);
	if (r->schedule.frames_per_second) {
		raise(&r->longest_since_departure, delay);
		count_in(direction, HISTOGRAM_SINCE_DEPARTURE, delay);
		delay = since(due_of(&r->schedule, index_in(r, direction, s.sequence)), now);
	}
	add(&r->received, 1);
	add(&r->bytes, is_skb ? skb->len : bpf_xdp_get_buff_len(ctx));
	in_order(r, s.sequence);
	note(&r->delay, direction, HISTOGRAM_DELAY, delay);
	vary(r, direction, s.sequence, delay);
	if (s.sequence == 0 && !r->first_delay)
		r->first_delay = delay ? delay : 1;
	if (s.magic & SIGNATURE_TAG)
		r->tagged_delay = delay ? delay : 1;
	return drop;
}

SEC("xdp.frags")
int receive(struct xdp_md *ctx)
{
	return take_in(ctx, 0, 0);
}

// receive_vlan is receive behind the place where the kernel has taken every tag
// out of its frame, whoever did it: a NIC, a virtual link or the kernel itself.
// An XDP program sees only those tags that nobody has taken out yet.
SEC("tc")
int receive_vlan(struct __sk_buff *skb)
{
	return take_in(0, skb, 1);
}

/* ---- the inner veth pair ---- */

// pass_on counts what really goes to the port: only this trial's frames, so
// that the pair's own multicast reports never reach the measured path.
SEC("tc")
int pass_on(struct __sk_buff *skb)
{
	struct transmitter *t;
	struct signature s;
	struct span span;

	if (!read_signature((void *)(long)skb->data, (void *)(long)skb->data_end, &s) &&
	    read_fragment((void *)(long)skb->data, (void *)(long)skb->data_end, &s, &span) != FRAGMENT_READ)
		return TC_ACT_SHOT;
	t = &shared.transmitters[s.key & 1];
	if (s.key != t->key)
		return TC_ACT_SHOT;
	t->left_inner++;
	return bpf_redirect(t->port_ifindex, 0);
}
