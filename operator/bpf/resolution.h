/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* ARP (RFC 826) and neighbor discovery (RFC 4861) at the ports: requests for a port's
 * own addresses are answered, and the first answer of the next hop is kept. Frames
 * here are without a tag: tc programs get it outside of the frame. Only receive.h
 * includes this, after what it uses. */
#ifndef VNFBENCH_RESOLUTION_H
#define VNFBENCH_RESOLUTION_H

#define ETHERTYPE_ARP bpf_htons(0x0806)
#define ARP_ETHERNET bpf_htons(1)
#define ARP_LENGTHS bpf_htons(0x0604)
#define ARP_REQUEST bpf_htons(1)
#define ARP_REPLY bpf_htons(2)
#define PROTOCOL_ICMPV6 58
#define NEIGHBOR_SOLICITATION 135
#define NEIGHBOR_ADVERTISEMENT 136
/* Only a neighbor can send a packet with it (RFC 4861 section 7.1). */
#define ND_HOP_LIMIT 255
/* Type, code, checksum, flags and target, and the same with one option. */
#define ND_BYTES 24
#define ND_BYTES_WITH_OPTION 32
#define OPTION_TARGET_MAC 2
/* Flags of an advertisement (RFC 4861 section 4.4). */
#define ND_SOLICITED bpf_htons(0x4000)
/* "Router", "Solicited" and "Override": the port is the next hop of the device's routes. */
#define ND_FLAGS bpf_htons(0xe000)

/* Everything is in 16-bit words, because no larger one is aligned in a frame. */
struct arp {
	__u16 destination[3], source[3], type;
	__u16 hardware, protocol, lengths, operation;
	__u16 sender_mac[3], sender[2], target_mac[3], target[2];
};

/* A solicitation or an advertisement, with one option. */
struct discovery {
	__u16 destination[3], source[3], type;
	__u16 version[2], length;
	__u8 next_header, hop_limit;
	__u16 from[8], to[8];
	__u8 icmp_type, code;
	__u16 checksum, flags[2], target[8];
	__u8 option, option_length;
	__u16 option_mac[3];
};

union resolution {
	struct arp arp;
	struct discovery discovery;
};

#define DISCOVERY_WITHOUT_OPTION (sizeof(struct discovery) - 8)

/* What a frame is to the port at which it arrives. */
enum { OF_NO_CONCERN = 0, IS_ANSWER, ASKS_ARP, ASKS_DISCOVERY };

/* No action of a program. */
#define FOREIGN (-1)

static __always_inline int equal(const __u16 *a, const __u16 *b, int words)
{
	__u16 different = 0, any = 0;

	for (int i = 0; i < words; i++) {
		different |= a[i] ^ b[i];
		any |= b[i];
	}
	return !different && any;
}

static __always_inline void copy(__u16 *to, const __u16 *from, int words)
{
	for (int i = 0; i < words; i++)
		to[i] = from[i];
}

/* is_unicast refuses what is no port's hardware address: a group's, and zero. The first octet
 * is the lower one of the first word. */
static __always_inline int is_unicast(const __u16 *mac)
{
	return !(mac[0] & 1) && (mac[0] | mac[1] | mac[2]);
}

/* note keeps the first answer to the port, and the last address that differs from it, whether
 * the next hop answered or announced it. Each is one word, so that user space never reads half
 * of one. */
static __always_inline void note(struct resolver *r, const __u16 *mac, int is_answer)
{
	__u64 this = NEXT_MAC_KNOWN | (__u64)mac[2] << 32 | (__u64)mac[1] << 16 | mac[0];
	__u64 known = *(volatile __u64 *)&r->next_mac;

	if (!is_unicast(mac))
		return;
	if (!known && is_answer)
		*(volatile __u64 *)&r->next_mac = this;
	else if (known && known != this)
		*(volatile __u64 *)&r->other_mac = this;
}

static __always_inline int load(struct xdp_md *ctx, struct __sk_buff *skb, int is_skb, void *to, __u32 bytes)
{
	return is_skb ? bpf_skb_load_bytes(skb, 0, to, bytes) : bpf_xdp_load_bytes(ctx, 0, to, bytes);
}

/* read_resolution reads a frame and says what it is to the port, and notes an answer.
 * Checksums are not verified: what a wrong one would change is visible at once, as no
 * frame arrives. */
static __always_inline int read_resolution(struct xdp_md *ctx, struct __sk_buff *skb, int is_skb, struct resolver *r, union resolution *f)
{
	struct discovery *d = &f->discovery;
	struct arp *a = &f->arp;

	if (load(ctx, skb, is_skb, a, sizeof(*a)))
		return OF_NO_CONCERN;
	if (a->type == ETHERTYPE_ARP) {
		if (a->hardware != ARP_ETHERNET || a->protocol != ETHERTYPE_IPV4 || a->lengths != ARP_LENGTHS)
			return OF_NO_CONCERN;
		if (a->operation == ARP_REQUEST && equal(a->target, r->ipv4, 2))
			return is_unicast(a->sender_mac) ? ASKS_ARP : OF_NO_CONCERN;
		if (!equal(a->sender, r->next_ipv4, 2))
			return OF_NO_CONCERN;
		if (a->operation == ARP_REPLY)
			note(r, a->sender_mac, equal(a->target, r->ipv4, 2));
		else if (a->operation == ARP_REQUEST && equal(a->target, a->sender, 2))
			note(r, a->sender_mac, 0); /* an announcement (RFC 5227 section 3) */
		else
			return OF_NO_CONCERN;
		return IS_ANSWER;
	}
	if (a->type != ETHERTYPE_IPV6 || load(ctx, skb, is_skb, d, DISCOVERY_WITHOUT_OPTION))
		return OF_NO_CONCERN;
	if (d->next_header != PROTOCOL_ICMPV6 || d->hop_limit != ND_HOP_LIMIT || d->code || bpf_ntohs(d->length) < ND_BYTES)
		return OF_NO_CONCERN;
	/* Duplicate address detection asks from the unspecified address, which gets no answer. */
	if (d->icmp_type == NEIGHBOR_SOLICITATION && equal(d->target, r->ipv6, 8) && equal(d->from, d->from, 8) && is_unicast(d->source))
		return ASKS_DISCOVERY;
	if (d->icmp_type != NEIGHBOR_ADVERTISEMENT || !equal(d->target, r->next_ipv6, 8))
		return OF_NO_CONCERN;
	if (bpf_ntohs(d->length) >= ND_BYTES_WITH_OPTION && !load(ctx, skb, is_skb, d, sizeof(*d)) &&
	    d->option == OPTION_TARGET_MAC && d->option_length == 1)
		note(r, d->option_mac, (d->flags[0] & ND_SOLICITED) && equal(d->to, r->ipv6, 8));
	return IS_ANSWER;
}

/* checksum_of returns ICMPv6's (RFC 4443 section 2.3) of an advertisement whose own is 0. */
static __always_inline __u16 checksum_of(const struct discovery *d)
{
	__u32 sum = d->length + bpf_htons(PROTOCOL_ICMPV6);

	for (int i = 0; i < 8; i++)
		sum += (__u32)d->from[i] + d->to[i] + d->target[i];
	/* Type and code, and the option's type and length, are a word each. */
	sum += bpf_htons(d->icmp_type << 8) + (__u32)d->flags[0] + bpf_htons(d->option << 8 | d->option_length);
	for (int i = 0; i < 3; i++)
		sum += d->option_mac[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* store writes a frame, and makes it that long if it asks for it. */
static __always_inline int store(struct xdp_md *ctx, struct __sk_buff *skb, int is_skb, void *from, __u32 bytes, int cut)
{
	if (is_skb)
		return (cut && bpf_skb_change_tail(skb, bytes, 0)) || bpf_skb_store_bytes(skb, 0, from, bytes, 0);
	return (cut && bpf_xdp_adjust_tail(ctx, (int)(bytes - bpf_xdp_get_buff_len(ctx)))) || bpf_xdp_store_bytes(ctx, 0, from, bytes);
}

/* answer sends the answer to a request out of the port at which it arrived, as an
 * ordinary packet: no driver and no peer needs XDP for it. The tag stays where it is. */
static __always_inline int answer(struct xdp_md *ctx, struct __sk_buff *skb, int is_skb, struct resolver *r, union resolution *f, int asked)
{
	int drop = is_skb ? TC_ACT_SHOT : XDP_DROP;
	struct discovery *d = &f->discovery;
	struct arp *a = &f->arp;

	if (asked == ASKS_ARP) {
		copy(a->destination, a->sender_mac, 3);
		copy(a->source, r->mac, 3);
		a->operation = ARP_REPLY;
		copy(a->target_mac, a->sender_mac, 3);
		copy(a->target, a->sender, 2);
		copy(a->sender_mac, r->mac, 3);
		copy(a->sender, r->ipv4, 2);
		if (store(ctx, skb, is_skb, a, sizeof(*a), 0))
			return drop;
	} else {
		copy(d->destination, d->source, 3);
		copy(d->source, r->mac, 3);
		copy(d->to, d->from, 8);
		copy(d->from, r->ipv6, 8);
		d->length = bpf_htons(ND_BYTES_WITH_OPTION);
		d->icmp_type = NEIGHBOR_ADVERTISEMENT;
		d->flags[0] = ND_FLAGS;
		d->flags[1] = 0;
		d->option = OPTION_TARGET_MAC;
		d->option_length = 1;
		copy(d->option_mac, r->mac, 3);
		d->checksum = checksum_of(d);
		if (store(ctx, skb, is_skb, d, sizeof(*d), 1))
			return drop;
	}
	add(&r->answers, 1);
	return is_skb ? bpf_redirect(skb->ifindex, 0) : XDP_TX;
}

/* asks_next_hop reports whether a frame of the inner veth pair is the port's own request. */
static __always_inline int asks_next_hop(const struct resolver *r, const union resolution *f)
{
	if (f->arp.type == ETHERTYPE_ARP)
		return f->arp.operation == ARP_REQUEST && equal(f->arp.sender, r->ipv4, 2) && equal(f->arp.target, r->next_ipv4, 2);
	return f->arp.type == ETHERTYPE_IPV6 && f->discovery.next_header == PROTOCOL_ICMPV6 && f->discovery.icmp_type == NEIGHBOR_SOLICITATION &&
	       equal(f->discovery.from, r->ipv6, 8) && equal(f->discovery.target, r->next_ipv6, 8);
}

#endif
