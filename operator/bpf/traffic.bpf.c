// SPDX-License-Identifier: GPL-2.0 OR MIT
// The measured path of the XDP driver: "open_*" make frames that arrive by a
// schedule under BPF_PROG_RUN with live frames, "transmit_*" as many as they
// can, "receive" takes them in at the other port, "pass_on" carries them from
// the inner veth pair to a port whose peer takes no XDP frames. "*vlan_*" and
// "receive_vlan" are for paths with VLAN tags, "*fragment_*" for packets in
// fragments. docs/concepts/xdp-driver.md explains how they work.
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
// Fragment offset, "more fragments" and protocol in one word, with the time to
// live between them.
#define IPV4_WHOLE_MASK bpf_htonl(0x3fff00ff)
#define IPV4_WHOLE_UDP bpf_htonl(PROTOCOL_UDP)
#define IPV6_PAYLOAD_OFFSET 62
#define IPV6_CHECKSUM_OFFSET 60
#define ETHERTYPE_VLAN bpf_htons(0x8100)
#define VLAN_ID_MASK 0xfff
#define VLAN_BYTES 4

char program_license[] SEC("license") = "Dual MIT/GPL";

// Several CPUs may run "receive" for one direction at once, except where every
// port has a single receive queue in native mode. There the verifier removes
// every atomic operation.
const volatile __u8 several_cpus = 1;

// Whether "receive" runs in generic mode.
const volatile __u8 generic = 0;

struct state shared;

static __always_inline void add(__u64 *counter, __u64 n)
{
	if (several_cpus)
		__sync_fetch_and_add(counter, n);
	else
		*counter += n;
}

static __always_inline void add_one(__u32 *counter)
{
	if (several_cpus)
		__sync_fetch_and_add(counter, 1);
	else
		*counter += 1;
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

// replace stores value if the place still holds old.
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
// to a pointer, but learns a different one on each. Adding a zero that user
// space could change makes them equal again. A bounds check must follow.
static __always_inline __u32 opaque(__u32 index)
{
	index += *(volatile __u32 *)&shared.zero;
	barrier_var(index);
	return index;
}

// cell returns &whole[index], or null beyond the end.
static __always_inline __u64 *cell(__u64 *whole, __u32 cells, __u32 index)
{
	index = opaque(index);
	return index < cells ? &whole[index] : 0;
}

// count_in adds a value to a histogram, in the bucket that bucketOf in
// histogram.go returns, and returns the bucket. A value beyond the range is in no
// bucket, only in a maximum: it returns BUCKETS.
static __always_inline __u32 count_in(__u32 direction, __u32 histogram, __u64 value)
{
	__u32 shift = 0, bucket, place;
	__u64 top = value >> (BUCKET_BITS + 1);
	__u64 *counter;

	if (value >> VALUE_BITS)
		return BUCKETS;
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
	bucket = opaque(bucket);
	place = bucket + (direction * HISTOGRAMS + histogram) * BUCKETS;
	counter = cell(&shared.histograms[0][0][0], DIRECTIONS * HISTOGRAMS * BUCKETS, place);
	if (counter)
		add(counter, 1);
	return bucket;
}

static __always_inline __u32 record_sample(struct spread *s, __u32 direction, __u32 histogram, __u64 value)
{
	add(&s->samples, 1);
	add(&s->sum, value);
	lower(&s->min, value);
	raise(&s->max, value);
	return count_in(direction, histogram, value);
}

#include "transmit.h"

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

#include "receive.h"

SEC("xdp.frags")
int receive(struct xdp_md *ctx)
{
	return take_in(ctx, 0, 0);
}

// receive_vlan does what receive does, but after every tag has been taken out of
// its frame: by a NIC, a virtual link or the kernel itself. An XDP program sees
// only those tags that are still in the frame.
SEC("tc")
int receive_vlan(struct __sk_buff *skb)
{
	return take_in(0, skb, 1);
}

/* ---- resolution of addresses ---- */

// answer_request answers what "receive" passes on in native mode, and nothing goes further.
// A request whose tag the NIC took out before "receive" saw it is foreign: there the port has
// no tag.
SEC("tc")
int answer_request(struct __sk_buff *skb)
{
	__u32 direction = opaque(skb->ifindex == shared.receivers[REVERSE].port_ifindex);
	int action = FOREIGN;

	if (direction >= DIRECTIONS)
		return TC_ACT_SHOT;
	if (has_tag(skb, 0))
		action = resolve_skb(skb, direction);
	if (action != FOREIGN)
		return action;
	add(&shared.receivers[direction].foreign, 1);
	return TC_ACT_SHOT;
}

// ask sends a request that user space has written.
SEC("xdp")
int ask(struct xdp_md *ctx)
{
	return bpf_redirect(shared.ask_ifindex, 0);
}

/* ---- the inner veth pair ---- */

// pass_request sends on the request of one of the ports. It is separate for the same reason
// as resolve_xdp.
static __noinline int pass_request(struct __sk_buff *skb)
{
	union resolution frame = {};

	if (bpf_skb_load_bytes(skb, 0, &frame, sizeof(frame.arp)) ||
	    (frame.arp.type == ETHERTYPE_IPV6 && bpf_skb_load_bytes(skb, 0, &frame, DISCOVERY_WITHOUT_OPTION)))
		return TC_ACT_SHOT;
	if (asks_next_hop(&shared.resolvers[REVERSE], &frame))
		return bpf_redirect(shared.receivers[REVERSE].port_ifindex, 0);
	if (asks_next_hop(&shared.resolvers[FORWARD], &frame))
		return bpf_redirect(shared.receivers[FORWARD].port_ifindex, 0);
	return TC_ACT_SHOT;
}

// pass_on counts this trial's frames and sends only them and the ports' own requests to
// the port, so that the pair's own multicast reports never reach the measured path.
SEC("tc")
int pass_on(struct __sk_buff *skb)
{
	struct transmitter *t;
	struct signature s;
	struct span span;

	if (!read_signature((void *)(long)skb->data, (void *)(long)skb->data_end, &s) &&
	    read_fragment((void *)(long)skb->data, (void *)(long)skb->data_end, &s, &span) != FRAGMENT_READ)
		return pass_request(skb);
	t = &shared.transmitters[s.key & 1];
	if (s.key != t->key)
		return TC_ACT_SHOT;
	t->left_inner++;
	return bpf_redirect(t->port_ifindex, 0);
}
