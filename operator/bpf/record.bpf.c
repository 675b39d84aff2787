// SPDX-License-Identifier: GPL-2.0 OR MIT
// A benchmark's recorder: it is at the device's port that a generator sends
// to, records when each frame left and when it came, and passes the frame.
// It is not part of the driver.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "layout.h"

#define IPV4_PAYLOAD_OFFSET 42

char program_license[] SEC("license") = "Dual MIT/GPL";

#define RECORDS (1 << 20)

struct record {
	__u64 sent_at; /* as the frame's signature says */
	__u64 came_at;
};

// A veth's receive queue has one CPU at a time, so nothing here is atomic.
struct {
	__u64 seen; /* all frames with a signature, beyond RECORDS too */
	struct record records[RECORDS];
} recording;

SEC("xdp")
int record(struct xdp_md *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	void *data = (void *)(long)ctx->data;
	struct signature *s = data + IPV4_PAYLOAD_OFFSET;
	__u64 place = recording.seen;

	if ((void *)(s + 1) > (void *)(long)ctx->data_end || s->magic != SIGNATURE_MAGIC)
		return XDP_PASS;
	recording.seen = place + 1;
	if (place < RECORDS) {
		recording.records[place].sent_at = s->sent_at;
		recording.records[place].came_at = now;
	}
	return XDP_PASS;
}
