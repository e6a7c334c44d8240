/* SPDX-License-Identifier: GPL-2.0-only */
/* What the path holds, by Westwood: a rate from ACKs times the smallest round trip. Rates are segments a second in 1/65536, at most
 * 2^24 segments a second; round trips above 16.7 s count as that. Those bounds keep every product within 64 bits. */
#ifndef ACKCLOCK_PIPE_BPF_H
#define ACKCLOCK_PIPE_BPF_H

#include "cc.bpf.h"

#define RATE_BITS 16
#define MOST_RATE ((u64)1 << (24 + RATE_BITS))
#define MOST_RTT (1u << 24)
#define SECOND 1000000u

struct pipe {
	u64 rate; /* the estimate */
	u32 smallest; /* round trip; 0: none */
	u32 latest;
	u32 counted; /* of the connection's delivered segments */
};

static __always_inline void begin_pipe(struct pipe *p, const struct tcp_sock *tp)
{
	p->rate = 0;
	p->smallest = p->latest = 0;
	p->counted = tp->delivered;
}

static __always_inline void see_round_trip(struct pipe *p, const struct ack_sample *ack)
{
	u32 rtt = smaller(sample_of(ack), MOST_RTT);

	if (!rtt)
		return;
	p->latest = rtt;
	if (!p->smallest || rtt < p->smallest)
		p->smallest = rtt;
}

/* Segments that have arrived since the last call, by ACK number or SACK, in recovery too. */
static __always_inline u32 newly_delivered(struct pipe *p, const struct tcp_sock *tp)
{
	u32 segments = tp->delivered - p->counted;

	p->counted = tp->delivered;
	return segments;
}

/* `segments` in so many microseconds, not 0. */
static __always_inline u64 rate_of(u32 segments, u64 elapsed)
{
	u64 rate = ((u64)smaller(segments, 1u << 24) << RATE_BITS) * SECOND / elapsed;

	return rate < MOST_RATE ? rate : MOST_RATE;
}

/* Casetti et al. 2001, section 3.3: BWE*RTTmin in whole segments, at least two. */
static __always_inline u32 carried(const struct pipe *p)
{
	u64 held = p->rate * p->smallest / ((u64)SECOND << RATE_BITS);

	return larger(held, LEAST_SSTHRESH);
}

#endif
