/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the programs and user space share. Every figure is in nanoseconds,
 * frames or bytes as its name says; the Go types are generated from here. */
#ifndef VNFBENCH_LAYOUT_H
#define VNFBENCH_LAYOUT_H

#include <linux/types.h>

/* Index of a direction in every array, and its bit in a signature's key. */
enum { FORWARD = 0, REVERSE = 1, DIRECTIONS = 2 };

/* The 16 bytes after the UDP header of every frame, in host byte order (both
 * ends are this host). They fit the 18 payload bytes of a 64-byte frame.
 * It is not "packed": clang would then read it byte by byte. In frames its
 * address is a multiple of 2 only, which every CPU that this is built for allows. */
struct signature {
	__u16 magic;
	__u16 key; /* trial << 1 | direction; trial is never 0 */
	__u32 sequence;
	__u64 sent_at; /* 0: the frame is counted, but not timed */
};

#define SIGNATURE_MAGIC 0x7662

/* The magic of packets that are sent in fragments. Their signature repeats at
 * every 16 bytes of the payload, so that any fragment holds one, wherever a
 * device may have cut it. */
#define SIGNATURE_FRAGMENT 0x7664

/* Added to the magic of a trial's tagged frame (RFC 2544 section 26.2). */
#define SIGNATURE_TAG 1

/* One cache line pair for each direction, so that two transmitting cores share none. */
#define PER_DIRECTION __attribute__((aligned(128)))

/* The longest frame in a buffer that live frames can carry is below a page. */
#define TEMPLATE_BYTES 4096

/* The 16-bit words of a header that distinguish flows: the last ones of both
 * addresses, and both ports. */
enum { SOURCE_ADDRESS = 0, DESTINATION_ADDRESS = 1, SOURCE_PORT = 2, DESTINATION_PORT = 3, FLOW_FIELDS = 4 };

/* A direction's frames have up to this many sizes, and a round of a mix of
 * them up to that many frames. */
#define FRAME_SIZES 8
#define ROUND 800

struct frame_size {
	__u32 bytes;         /* without the check sequence */
	__u32 checksum_base; /* sum of all words but the signature's and the flow's */
	__u32 words_at;      /* of a fragment: where its payload begins ... */
	__u32 stamp_first;   /* ... and whether with the signature's second half */
};

/* A fragment's template is one of these. The two in the middle may differ in
 * where the signature repeats, by 8 bytes. */
enum { FIRST_FRAGMENT = 0, ODD_FRAGMENT = 1, EVEN_FRAGMENT = 2, LAST_FRAGMENT = 3, FRAGMENT_TEMPLATES = 4 };

struct flow_field {
	__u32 first;
	__u32 values; /* counted up from the first; up to 1: the word stays */
};

/* When frames are due: frame n at start + n * 1e9 / frames_per_second. */
struct schedule {
	__u64 start;
	__u64 frames_per_second;  /* 0: as fast as possible */
	__u64 gap_nanoseconds;    /* 1e9 / frames_per_second ... */
	__u64 gap_remainder;      /* ... and 1e9 % frames_per_second */
};

struct transmitter {
	/* Set before a trial. */
	__u64 end_at;             /* nothing departs at or after this time */
	struct schedule schedule;
	__u64 intended_frames;    /* with a schedule: how many are due in all */
	__u64 ring_frames;        /* how many that are due may wait */
	__u32 redirect_ifindex;
	__u32 port_ifindex;
	__u32 frame_bytes;        /* of the largest frame, that of every buffer */
	__u32 is_ipv6;            /* 0 or 1; over IPv4, UDP goes without a checksum */
	__u32 round;              /* frames of a mix's round; up to 1: the first size alone */
	__u32 key;
	__u32 flows;              /* up to 1: the template's alone */
	__u32 flow_random;        /* 0: one after the other */
	__u64 flow_seed;
	__u32 fragments;          /* of each packet; 0 where frames are whole */
	__u32 chunk;              /* data bytes of every fragment but the last */
	__u32 signature_heads;    /* of a packet: how often the signature's first half ... */
	__u32 signature_stamps;   /* ... and its second half is in it */
	__u64 tag_at;             /* the first frame due from then on is tagged; NEVER: none (any more) */
	struct flow_field flow_fields[FLOW_FIELDS];
	/* Kept by the program. */
	__u64 due;                /* of the next frame to arrive; NEVER: all have */
	__u64 due_remainder;
	__u64 eligible;           /* NEVER: this direction has ended */
	__u64 arrived;            /* frames that were due */
	__u64 overflow;           /* of them, those that found the ring full */
	__u64 waiting;            /* of them, those in the ring */
	__u32 oldest_run;         /* in the ring; the next frame to leave is its first */
	__u32 newest_run;
	__u64 made;
	__u64 latest;             /* most nanoseconds between due time and departure */
	__u64 last_departure;
	__u64 idle;               /* runs while this direction has ended */
	__u64 looked_at;          /* when the thread last looked at the clock (as fast as possible: at a
				   * batch's start) ... */
	__u64 away;               /* ... times between two looks of more than away_after, in all ... */
	__u64 longest_away;       /* ... and the longest of them */
	__u64 left_inner;         /* passed the inner veth on to the port */
	__u64 tagged_due;         /* 0: no frame has been tagged */
	__u64 packet;             /* sequence number of the packet that is being sent */
	__u64 packet_due;
	__u64 packet_sent_at;     /* departure of the packet's first fragment */
	__u64 fragments_made;
	__u32 fragment;           /* the next one of the packet that is being sent */
	/* Set before a trial; here, where it moves none of the others. */
	__u32 vlan_bytes;         /* of an 802.1Q tag in the templates; 0: none */
	__u64 away_after;         /* nanoseconds without a look at the clock after which the thread
				   * was kept off its core */
	/* Kept by the program. */
	__u64 window_start;       /* of the second half of a millisecond, which begins with a departure ... */
	__u64 window_frames;      /* ... the frames that have left in both halves ... */
	__u64 window_earlier;     /* ... those of the first half ... */
	__u64 most_in_window;     /* ... and the most of any two halves */
	/* As fast as possible: */
	__u64 timed_every;        /* set before a trial: two frames of so many are timed; 0: all */
	__u64 next_timed;         /* the next of them, if one is timed: the other follows it */
	__u64 timed;              /* frames that were */
	__u64 runs;               /* of the thread's program */
	/* At a load: */
	__u64 slots_per_time;     /* set before a trial; as the receiver's */
	__u64 next_slot_at;       /* the first frame that is due from then on begins a slot; NEVER: none does */
} PER_DIRECTION;

/* As fast as possible a thread looks at the clock at least once in so many runs of its program,
 * as many as a batch has: at the start of each. */
#define FLAT_OUT_BATCH 32

#define NEVER (~0ULL)

/* The most frames that may wait. */
#define RING_FRAMES 16384

/* A ring holds runs of frames that arrived one after the other. Only an
 * overflow ends a run, so there are no more runs than frames. */
struct run {
	__u32 first; /* sequence number */
	__u32 frames;
};

#define NANOSECONDS 1000000000ULL
#define MILLISECOND 1000000ULL

struct spread {
	__u64 samples;
	__u64 sum;
	__u64 min;
	__u64 max;
};

struct receiver {
	/* Set before a trial. */
	__u32 port_ifindex;
	__u32 key;
	__u32 chunk;        /* as the transmitter's; 0 where frames are whole */
	__u32 packet_bytes; /* data of a packet: UDP header and payload */
	struct schedule schedule; /* as the transmitter's */
	__u32 earlier_key;  /* of the trial before */
	__u32 wraps;        /* whether sequence numbers start again in the trial */
	__u64 slots_per_time; /* 2^48 / nanoseconds of a slot; 0: there are none */
	__u64 slots_since_departure; /* 0: their delays are from the due time */
	/* Kept by the program. */
	__u64 received;
	__u64 bytes;
	__u64 duplicates;
	__u64 reordered;
	__u64 beyond_window; /* too late to recognize a duplicate; not received */
	__u64 first_delay;
	__u64 tagged_delay; /* 0: the tagged frame has not arrived */
	__u64 next_sequence; /* RFC 4737's NextExp */
	__u64 last_arrival;  /* see arrival() */
	__u64 jitter;        /* RFC 3550 A.8, scaled by 16 ... */
	__u64 jitter_changes;    /* ... the sum of all |D| that went into it ... */
	__u64 largest_jitter;    /* ... its largest value, scaled ... */
	__u64 until_jitter;      /* ... and the frames until it is counted */
	struct spread delay;
	struct spread variation;
	__u64 longest_since_departure;
	__u64 fragments;           /* each once */
	__u64 refragmented;        /* of them, those with other bounds than were sent */
	__u64 duplicate_fragments;
	__u64 unknown_fragments;   /* of no packet that is known (any more), or unreadable */
	/* Frames that are none of this trial's. */
	__u64 late_arrivals; /* of the trial before */
	__u64 stray;   /* of another trial */
	__u64 foreign; /* no signature, or another tag than the port's */
	/* Set before a trial; here, where it moves none of the others. */
	__u32 vlan;    /* of frames that count; 0: they have no tag. For receive_vlan alone */
} PER_DIRECTION;

/* Duplicates are found within this many sequence numbers. */
#define WINDOW 16384

/* A packet that is under way. The transmitter opens it before the first
 * fragment leaves, so no two receiving CPUs can both be the first. */
struct packet {
	__u64 sequence;
	__u64 seen;    /* a bit for each fragment */
	__u64 again;   /* a bit for each that came a second time */
	__u64 covered; /* bytes of its data */
};

/* This many packets are known at a time. */
#define PACKETS 8192

/* Log-linear buckets: one each below 2048 ns, then 1024 for each power of two
 * up to 2^34 ns (17 s), so a bucket is at most 1/1024 of its value wide. */
#define BUCKET_BITS 10
#define VALUE_BITS 34
#define BUCKETS ((VALUE_BITS - BUCKET_BITS + 1) << BUCKET_BITS)

enum { HISTOGRAM_DELAY = 0, HISTOGRAM_VARIATION = 1, HISTOGRAM_LATENESS = 2, HISTOGRAM_SINCE_DEPARTURE = 3, HISTOGRAM_JITTER = 4, HISTOGRAMS = 5 };

/* The jitter's memory is 16 frames, so that every 17th value is enough. The
 * number is prime: what a device does in batches has no part in it. */
#define JITTER_FRAMES 17

/* A trial has up to this many slots of time. A frame is in the one in which it
 * was due. With 1,024 a trial of 100 s has slots of 100 ms. */
#define SLOTS 1024

struct slot {
	__u64 frames;
	__u64 delay_sum;
	__u64 delay_min;
	__u64 delay_max;
	__u64 made_before; /* frames that had left before the first of the slot left; NEVER: none of it did */
};

/* The delays of a slot are in coarse buckets, each of which is 128 of a
 * histogram's: 128 ns wide below 2048 ns, then an eighth of a power of two. One more has
 * what is beyond the range. */
#define SLOT_BUCKET_BITS 7
#define SLOT_BUCKETS ((BUCKETS >> SLOT_BUCKET_BITS) + 1)

/* What a port answers ARP and neighbor discovery for, and whom it asks. Addresses are
 * in network order; 0: none. */
struct resolver {
	/* Set when the programs are loaded. */
	__u16 mac[3];
	__u16 ipv4[2];
	__u16 ipv6[8];
	__u16 next_ipv4[2];
	__u16 next_ipv6[8];
	/* Kept by the program. */
	__u64 next_mac;  /* the next hop's first answer, its first octet lowest; 0: none yet */
	__u64 other_mac; /* the last different one that the next hop announced since; 0: none */
	__u64 answers;   /* requests that were answered */
};

/* Distinguishes a hardware address from none. */
#define NEXT_MAC_KNOWN (1ULL << 63)

/* All that is shared, mapped into user space as one piece: no system call and
 * no copy to set a trial up or to read its result. */
struct state {
	struct transmitter transmitters[DIRECTIONS];
	struct receiver receivers[DIRECTIONS];
	struct frame_size sizes[DIRECTIONS][FRAME_SIZES];
	__u8 templates[DIRECTIONS][FRAME_SIZES][TEMPLATE_BYTES];
	__u8 rounds[DIRECTIONS][ROUND]; /* which size is next */
	struct run rings[DIRECTIONS][RING_FRAMES];
	__u64 window[DIRECTIONS][WINDOW];
	struct packet packets[DIRECTIONS][PACKETS];
	__u64 histograms[DIRECTIONS][HISTOGRAMS][BUCKETS];
	struct slot slots[DIRECTIONS][SLOTS];
	__u32 slot_delays[DIRECTIONS][SLOTS][SLOT_BUCKETS];
	__u64 zero; /* always; see cell() */
	struct resolver resolvers[DIRECTIONS]; /* of the port at which the direction arrives */
	__u32 ask_ifindex; /* where requests leave */
};

#endif
