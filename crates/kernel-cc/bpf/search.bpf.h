/* SPDX-License-Identifier: GPL-2.0-only */
/* BIC's increase (Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", Infocom 2004)
 * with the constants of Linux 2.6.22, as crates/core/src/tcp/cc/bic.rs has it. W_max is whole segments, as are the search's steps. */
#ifndef ACKCLOCK_SEARCH_BPF_H
#define ACKCLOCK_SEARCH_BPF_H

#include "cc.bpf.h"

/* S_max: most growth a round trip. */
#define MOST_STEP 16u
/* Up to this window it is Reno. */
#define LOW_WINDOW 14u
/* What a loss leaves, in 1024ths. */
#define LEFT 819u
/* The search goes 1/B of the way a round trip. */
#define B 4u
/* S_min is one segment in so many round trips. */
#define SLOWEST 5u
/* Until a loss has been seen, at least a twentieth a round trip. */
#define FIRST_CLIMB 20u

struct search {
	u32 w_max; /* the window at the last loss, lowered by fast convergence; 0: none yet */
	u32 w_max_before; /* the same before the last cut, should that be undone */
	u32 sixteenths; /* segments an ACK covers, a mean over 16 ACKs in whole sixteenths, 2 to begin with */
	u32 acked; /* segments that this ACK covers */
};

static __always_inline void begin_search(struct search *s)
{
	s->w_max = s->w_max_before = s->acked = 0;
	s->sixteenths = 2 << 4;
}

/* ACKed segments for one of growth, above the low window. */
static __always_inline u32 count_for_one(u32 cwnd, u32 w_max)
{
	u32 beyond, step, count;

	if (cwnd < w_max) {
		step = (w_max - cwnd) / B;
		return step <= 1 ? cwnd * SLOWEST : cwnd / smaller(step, MOST_STEP);
	}
	/* Max probing: the search run backwards. */
	beyond = cwnd - w_max;
	if (beyond < B)
		count = cwnd * SLOWEST;
	else if (beyond >= MOST_STEP * (B - 1))
		count = cwnd / MOST_STEP;
	else
		count = cwnd * (B - 1) / beyond;
	return w_max ? count : smaller(count, FIRST_CLIMB);
}

static __always_inline void avoid(struct search *s, struct tcp_sock *tp, u32 credit)
{
	u32 cwnd = tp->snd_cwnd, every = cwnd;

	s->sixteenths += smaller(s->acked, 1u << 16) - (s->sixteenths >> 4);
	if (cwnd > LOW_WINDOW)
		every = larger((u64)count_for_one(cwnd, s->w_max) * 16 / larger(s->sixteenths, 1), 1);
	/* Growth comes one ACK late. */
	set_window(tp, cwnd + earned(tp, credit, every + 1));
}

static __always_inline void grow(struct search *s, struct tcp_sock *tp, u32 acked)
{
	if (!is_limited(tp))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		avoid(s, tp, acked);
}

/* The maximum that a loss at `cwnd` sets: section III, fast convergence, cwnd*(1 + beta)/2. */
static __always_inline void note_loss(struct search *s, u32 cwnd)
{
	s->w_max_before = s->w_max;
	s->w_max = cwnd < s->w_max ? (u64)cwnd * (1024 + LEFT) / 2048 : cwnd;
}

/* After a timeout. */
static __always_inline void forget(struct search *s)
{
	s->w_max = 0;
	s->sixteenths = 2 << 4;
}

static __always_inline u32 undo(struct search *s, struct sock *sk)
{
	s->w_max = s->w_max_before;
	return tcp_reno_undo_cwnd(sk);
}

#endif
