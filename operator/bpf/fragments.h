/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Packets that are sent as several frames: the fragments of RFC 791 section 2.3
 * and RFC 8200 section 4.5. All fragments of a packet leave back to back once
 * the packet is due. Only transmit.h includes this, after what it uses. */
#ifndef VNFBENCH_FRAGMENTS_H
#define VNFBENCH_FRAGMENTS_H

#define IPV4_HEADER_OFFSET 14
#define IPV6_FRAGMENT_OFFSET 54
#define IPV6_FRAGMENT_UDP_CHECKSUM_OFFSET 68
#define MORE_FRAGMENTS_IPV4 0x2000
#define MORE_FRAGMENTS_IPV6 1

/* words says what put_pair writes, and where: the templates count as one array. */
struct words {
	__u64 first;
	__u64 second;
	__u32 place;
	__u32 end;
};

static long put_pair(__u32 n, void *context)
{
	struct words *words = context;
	__u32 place = opaque(words->place + n * 16), end = words->end;
	__u8 *word;

	if (place > DIRECTIONS * FRAME_SIZES * TEMPLATE_BYTES - 16 || place + 8 > end)
		return 1;
	word = &shared.templates[0][0][0] + place;
	*(__u64 *)word = words->first;
	if (place + 16 > end)
		return 1;
	*(__u64 *)(word + 8) = words->second;
	return 0;
}

/* put_words fills a template's payload with the signature: its two halves in
 * turn, as many as fit whole. */
static __always_inline void put_words(__u32 slot, __u64 head, __u64 stamp)
{
	struct frame_size *size;
	struct words words;

	slot = opaque(slot);
	if (slot >= DIRECTIONS * FRAME_SIZES)
		return;
	size = &(&shared.sizes[0][0])[slot];
	words.first = size->stamp_first ? stamp : head;
	words.second = size->stamp_first ? head : stamp;
	words.place = slot * TEMPLATE_BYTES + size->words_at;
	words.end = slot * TEMPLATE_BYTES + size->bytes;
	bpf_loop(TEMPLATE_BYTES / 16, put_pair, &words, 0);
}

/* words_sum returns n times the sum of a word's 16-bit parts. */
static __always_inline __u64 words_sum(__u64 word, __u32 n)
{
	return n * ((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
}

static __always_inline __u16 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* open_packet prepares all templates and the receiver's place for the next
 * packet. Over IPv6 the UDP checksum covers all fragments. */
static __always_inline int open_packet(struct transmitter *t, __u32 direction, const struct departure *d)
{
	__u64 head = head_of(t, d, SIGNATURE_FRAGMENT);
	__u32 slot = opaque(direction * FRAME_SIZES);
	__u32 place = opaque(direction * PACKETS + (__u32)d->sequence % PACKETS);
	struct packet *packet;

	if (place >= DIRECTIONS * PACKETS || slot >= DIRECTIONS * FRAME_SIZES)
		return -1;
	packet = &(&shared.packets[0][0])[place];
	packet->sequence = (__u32)d->sequence;
	packet->seen = 0;
	packet->again = 0;
	packet->covered = 0;
	t->packet = d->sequence;
	t->packet_due = d->due;
	t->packet_sent_at = d->now;
	for (int i = 0; i < FRAGMENT_TEMPLATES; i++)
		put_words(direction * FRAME_SIZES + i, head, d->now);
	if (t->is_ipv6) {
		__u64 sum = (&shared.sizes[0][0])[slot].checksum_base;
		__u16 checksum;

		sum += words_sum(head, t->signature_heads) + words_sum(d->now, t->signature_stamps);
		checksum = ~fold(sum);
		*(__u16 *)(&shared.templates[0][0][0] + slot * TEMPLATE_BYTES + IPV6_FRAGMENT_UDP_CHECKSUM_OFFSET) =
			checksum ? checksum : 0xffff;
	}
	return 0;
}

/* write_fragment makes the next fragment from its template. */
static __always_inline int write_fragment(struct xdp_md *ctx, struct transmitter *t, __u32 direction)
{
	__u32 n = t->fragment, offset = n * t->chunk, last = n + 1 == t->fragments;
	__u32 slot = direction * FRAME_SIZES, bytes;
	struct frame_size *size;
	void *data, *end;
	__u16 id, place;

	if (last)
		slot += LAST_FRAGMENT;
	else if (n)
		slot += n & 1 ? ODD_FRAGMENT : EVEN_FRAGMENT;
	slot = opaque(slot);
	if (slot >= DIRECTIONS * FRAME_SIZES)
		return -1;
	size = &(&shared.sizes[0][0])[slot];
	bytes = size->bytes;
	if (bytes < MIN_FRAME_BYTES || bytes > TEMPLATE_BYTES)
		return -1;
	if (bytes != t->frame_bytes && bpf_xdp_adjust_tail(ctx, (int)(bytes - t->frame_bytes)))
		return -1;
	if (bpf_xdp_store_bytes(ctx, 0, &shared.templates[0][0][0] + slot * TEMPLATE_BYTES, bytes))
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + IPV6_FRAGMENT_OFFSET + 8 > end)
		return -1;
	/* The barrier keeps the compiler from merging the last stores of both to a
	 * variable offset from data, which the verifier refuses without CAP_PERFMON. */
	if (t->is_ipv6) {
		*(__u16 *)(data + IPV6_FRAGMENT_OFFSET + 2) = bpf_htons(offset | (last ? 0 : MORE_FRAGMENTS_IPV6));
		*(__u16 *)(data + IPV6_FRAGMENT_OFFSET + 4) = bpf_htons((__u16)(t->packet >> 16));
		*(__u16 *)(data + IPV6_FRAGMENT_OFFSET + 6) = bpf_htons((__u16)t->packet);
		barrier();
		return 0;
	}
	id = bpf_htons((__u16)t->packet);
	place = bpf_htons(offset >> 3 | (last ? 0 : MORE_FRAGMENTS_IPV4));
	*(__u16 *)(data + IPV4_HEADER_OFFSET + 4) = id;
	*(__u16 *)(data + IPV4_HEADER_OFFSET + 6) = place;
	*(__u16 *)(data + IPV4_HEADER_OFFSET + 10) = ~fold((__u64)size->checksum_base + id + place);
	return 0;
}

/* transmit_fragment does what transmit does, for packets in fragments. Packets
 * are due and wait, not fragments; a packet that has begun is finished first. */
static __always_inline int transmit_fragment(struct xdp_md *ctx, __u32 direction, __u32 thread, int open)
{
	struct transmitter *t;
	struct departure d;

	direction = opaque(direction);
	if (direction >= DIRECTIONS)
		return XDP_ABORTED;
	t = &shared.transmitters[direction];
	if (!t->fragment) {
		if (open ? !depart_open(t, direction, thread, &d) : !depart_closed(t, thread, &d))
			return XDP_DROP;
		if (open_packet(t, direction, &d))
			return XDP_ABORTED;
	}
	if (write_fragment(ctx, t, direction))
		return XDP_ABORTED;
	t->fragments_made++;
	if (++t->fragment < t->fragments) {
		t->eligible = 0; /* before any packet of the other direction */
		return bpf_redirect(t->redirect_ifindex, 0);
	}
	t->fragment = 0;
	t->eligible = t->packet_sent_at;
	departed(t, t->packet_due, t->packet_sent_at, open);
	return bpf_redirect(t->redirect_ifindex, 0);
}

#endif
