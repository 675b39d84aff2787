/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Finding that all fragments of a packet have arrived. Signature and place
 * identify a fragment. The IP identification does not: a device may change it,
 * as the kernel does where it reassembles IPv6. Only receive.h includes this,
 * after what it uses. */
#ifndef VNFBENCH_REASSEMBLY_H
#define VNFBENCH_REASSEMBLY_H

#define NEXT_HEADER_FRAGMENT 44

/* span is the part of a packet's data that a frame holds. */
struct span {
	__u32 offset;
	__u32 bytes;
	__u32 last; /* no more fragments */
};

enum { FRAGMENT_NONE = 0, FRAGMENT_READ = 1, FRAGMENT_UNREADABLE = 2 };

static __always_inline int take_at(void *data, void *end, __u32 offset, struct signature *out, int ip_bytes)
{
	/* The signature is at every 16 bytes after the UDP header. */
	if (offset & 8)
		return take(data + 14 + ip_bytes, end, out, SIGNATURE_FRAGMENT) ? FRAGMENT_READ : FRAGMENT_UNREADABLE;
	return take(data + 14 + ip_bytes + 8, end, out, SIGNATURE_FRAGMENT) ? FRAGMENT_READ : FRAGMENT_UNREADABLE;
}

/* read_fragment reads a fragment of UDP, or a packet that a device put together
 * and sent on in one piece. */
static __always_inline int read_fragment(void *data, void *end, struct signature *out, struct span *span)
{
	const __u8 *byte = data;
	__u16 type, field, bytes;

	if (data + IPV4_PAYLOAD_OFFSET > end)
		return FRAGMENT_NONE;
	type = *(__u16 *)(data + ETHERTYPE_OFFSET);
	if (type == ETHERTYPE_IPV4 && byte[14] == IPV4_VERSION_IHL && byte[23] == PROTOCOL_UDP) {
		field = bpf_ntohs(*(__u16 *)(data + 20));
		bytes = bpf_ntohs(*(__u16 *)(data + 16));
		span->offset = (field & 0x1fff) << 3;
		span->last = !(field & MORE_FRAGMENTS_IPV4);
		span->bytes = bytes > 20 ? bytes - 20 : 0;
		return take_at(data, end, span->offset, out, 20);
	}
	if (type != ETHERTYPE_IPV6 || data + IPV6_PAYLOAD_OFFSET > end)
		return FRAGMENT_NONE;
	bytes = bpf_ntohs(*(__u16 *)(data + 18));
	if (byte[20] == PROTOCOL_UDP) {
		span->offset = 0;
		span->last = 1;
		span->bytes = bytes;
		return take_at(data, end, 0, out, 40);
	}
	if (byte[20] != NEXT_HEADER_FRAGMENT || byte[54] != PROTOCOL_UDP)
		return FRAGMENT_NONE;
	field = bpf_ntohs(*(__u16 *)(data + 56));
	span->offset = field & 0xfff8;
	span->last = !(field & MORE_FRAGMENTS_IPV6);
	span->bytes = bytes > 8 ? bytes - 8 : 0;
	return take_at(data, end, span->offset, out, 48);
}

static __always_inline __u64 mark(__u64 *bits, __u64 bit)
{
	__u64 old;

	if (several_cpus)
		return __sync_fetch_and_or(bits, bit);
	old = *bits;
	*bits = old | bit;
	return old;
}

static __always_inline __u64 cover(__u64 *sum, __u64 bytes)
{
	if (several_cpus)
		return __sync_fetch_and_add(sum, bytes) + bytes;
	*sum += bytes;
	return *sum;
}

/* repeat_of counts a fragment that comes again, and its packet once all have. */
static __always_inline void repeat_of(struct receiver *r, struct packet *packet, __u64 bit)
{
	__u32 last = (r->packet_bytes - 1) / r->chunk;
	__u64 all = last >= 63 ? ~0ULL : (1ULL << (last + 1)) - 1;

	add(&r->duplicate_fragments, 1);
	if ((mark(&packet->again, bit) | bit) == all) {
		swap(&packet->again, 0);
		add(&r->duplicates, 1);
	}
}

/* take_fragment counts a fragment, and returns whether it completes its packet; below 0
 * for a frame that is none.
 * A fragment with the bounds that it was sent with has a bit, so it adds nothing
 * if it comes again. The bytes of others can only be added up. */
static __always_inline int take_fragment(struct xdp_md *ctx, struct receiver *r, __u32 direction, struct signature *s)
{
	struct span span;
	struct packet *packet;
	__u32 place, n, chunk = r->chunk;
	__u64 bit;

	switch (read_fragment((void *)(long)ctx->data, (void *)(long)ctx->data_end, s, &span)) {
	case FRAGMENT_READ:
		break;
	case FRAGMENT_UNREADABLE:
		add(&r->unknown_fragments, 1);
		return 0;
	default:
		return -1;
	}
	if (s->key != r->key) {
		not_of_trial(r, s->key);
		return 0;
	}
	place = opaque(direction * PACKETS + s->sequence % PACKETS);
	if (!chunk || place >= DIRECTIONS * PACKETS)
		return 0;
	packet = &(&shared.packets[0][0])[place];
	if (packet->sequence != s->sequence || span.offset + span.bytes > r->packet_bytes ||
	    span.last != (span.offset + span.bytes == r->packet_bytes)) {
		add(&r->unknown_fragments, 1);
		return 0;
	}
	n = span.offset / chunk;
	if (n < 64 && n * chunk == span.offset && (span.bytes == chunk || (span.last && span.bytes < chunk))) {
		bit = 1ULL << n;
		if (mark(&packet->seen, bit) & bit) {
			repeat_of(r, packet, bit);
			return 0;
		}
	} else {
		add(&r->refragmented, 1);
	}
	add(&r->fragments, 1);
	return cover(&packet->covered, span.bytes) == r->packet_bytes;
}

#endif
