/* SPDX-License-Identifier: GPL-2.0-only */
/* Westwood's estimate of the bandwidth-delay product: ACK rate times minimum RTT. Rates are in 1/65536
 * segment/s, at most 2^24 segments/s; RTTs are at most 16.7 s. With these bounds no product exceeds 64
 * bits. */
#ifndef ACKCLOCK_BANDWIDTH_BPF_H
#define ACKCLOCK_BANDWIDTH_BPF_H

#include "cc.bpf.h"

#define RATE_BITS 16
#define MAX_RATE ((u64)1 << (24 + RATE_BITS))
#define MAX_RTT (1u << 24)
#define SECOND 1000000u

struct bw_estimate {
	u64 rate; /* bandwidth estimate */
	u32 min_rtt; /* 0: none */
	u32 last_rtt;
	u32 delivered; /* tp->delivered at the last call of newly_delivered */
};

static __always_inline void bw_estimate_init(struct bw_estimate *b, const struct tcp_sock *tp)
{
	b->rate = 0;
	b->min_rtt = b->last_rtt = 0;
	b->delivered = tp->delivered;
}

static __always_inline void update_rtt(struct bw_estimate *b, const struct ack_sample *ack)
{
	u32 rtt = min_u32(rtt_of(ack), MAX_RTT);

	if (!rtt)
		return;
	b->last_rtt = rtt;
	if (!b->min_rtt || rtt < b->min_rtt)
		b->min_rtt = rtt;
}

/* Segments cumulatively or selectively ACKed since the last call, also during recovery. */
static __always_inline u32 newly_delivered(struct bw_estimate *b, const struct tcp_sock *tp)
{
	u32 segments = tp->delivered - b->delivered;

	b->delivered = tp->delivered;
	return segments;
}

/* Rate of `segments` in `elapsed` microseconds, which must not be 0. */
static __always_inline u64 rate_of(u32 segments, u64 elapsed)
{
	u64 rate = ((u64)min_u32(segments, 1u << 24) << RATE_BITS) * SECOND / elapsed;

	return rate < MAX_RATE ? rate : MAX_RATE;
}

/* Bandwidth-delay product BWE*RTTmin in segments, at least two (Casetti et al. 2001, section 3.3). */
static __always_inline u32 bdp(const struct bw_estimate *b)
{
	u64 product = b->rate * b->min_rtt / ((u64)SECOND << RATE_BITS);

	return max_u32(product, MIN_SSTHRESH);
}

#endif
