/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Many flows in one stream: four 16-bit words of the header change from frame
 * to frame. They are written into the direction's template, which only the
 * direction's transmitting program writes during a trial. */
#ifndef VNFBENCH_FLOWS_H
#define VNFBENCH_FLOWS_H

#include "layout.h"

/* flow_of returns the number of a frame's flow, below t->flows. In random order
 * it follows from seed and sequence alone (splitmix64's finisher), so a trial
 * can be repeated frame by frame. */
static __always_inline __u32 flow_of(const struct transmitter *t, __u64 sequence)
{
	__u64 mixed;

	if (!t->flow_random)
		return sequence % t->flows;
	mixed = t->flow_seed + (sequence + 1) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
	mixed ^= mixed >> 31;
	/* The upper 32 bits, scaled to the number of flows. */
	return (mixed >> 32) * t->flows >> 32;
}

static __always_inline __u16 flow_word(const struct flow_field *field, __u32 flow)
{
	return bpf_htons(field->first + (field->values > 1 ? flow % field->values : 0));
}

/* put_flow writes the next frame's flow into a template and returns the sum of
 * the words that it wrote and the UDP checksum over IPv6 must cover. Over IPv4
 * it completes the header's checksum. Offsets are constants in each call. */
static __always_inline __u32 put_flow(const struct transmitter *t, __u8 *template, __u32 checksum_base, __u64 sequence)
{
	__u32 flow = flow_of(t, sequence), sum;
	__u16 source = flow_word(&t->flow_fields[SOURCE_ADDRESS], flow);
	__u16 destination = flow_word(&t->flow_fields[DESTINATION_ADDRESS], flow);
	__u16 source_port = flow_word(&t->flow_fields[SOURCE_PORT], flow);
	__u16 destination_port = flow_word(&t->flow_fields[DESTINATION_PORT], flow);

	if (t->is_ipv6) {
		*(__u16 *)(template + 36) = source;
		*(__u16 *)(template + 52) = destination;
		*(__u16 *)(template + 54) = source_port;
		*(__u16 *)(template + 56) = destination_port;
		return (__u32)source + destination + source_port + destination_port;
	}
	sum = checksum_base + source + destination;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	*(__u16 *)(template + 24) = ~sum;
	*(__u16 *)(template + 28) = source;
	*(__u16 *)(template + 32) = destination;
	*(__u16 *)(template + 34) = source_port;
	*(__u16 *)(template + 36) = destination_port;
	return 0;
}

#endif
