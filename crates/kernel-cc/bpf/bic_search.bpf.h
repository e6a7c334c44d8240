/* SPDX-License-Identifier: GPL-2.0-only */
/* BIC's binary increase (Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast
 * long-distance networks", Infocom 2004) with the constants of Linux 2.6.22. Equals
 * crates/core/src/tcp/cc/bic.rs. W_max and the search steps are integers, in segments. */
#ifndef ACKCLOCK_BIC_SEARCH_BPF_H
#define ACKCLOCK_BIC_SEARCH_BPF_H

#include "cc.bpf.h"

/* S_max: maximum growth per RTT. */
#define MAX_STEP 16u
/* Up to this window BIC grows as Reno. */
#define LOW_WINDOW 14u
/* Window after a loss in 1/1024 of the window before (beta = 0.8). */
#define BETA 819u
/* Step per RTT: 1/B of the distance to W_max. */
#define B 4u
/* S_min: one segment per this many RTTs. */
#define RTTS_PER_MIN_STEP 5u
/* Before the first loss: minimum growth of 1/20 per RTT. */
#define INITIAL_GROWTH 20u

struct bic_search {
	u32 w_max; /* window at the last loss, reduced by fast convergence; 0: no loss */
	u32 prior_w_max; /* w_max before the last cut, for undo */
	u32 ack_ratio; /* segments per ACK in 1/16, moving average over 16 ACKs, initially 2 */
	u32 acked; /* segments of the present ACK */
};

static __always_inline void bic_search_init(struct bic_search *s)
{
	s->w_max = s->prior_w_max = s->acked = 0;
	s->ack_ratio = 2 << 4;
}

/* ACKed segments per segment of growth, above LOW_WINDOW. */
static __always_inline u32 acked_per_segment(u32 cwnd, u32 w_max)
{
	u32 beyond, step, count;

	if (cwnd < w_max) {
		step = (w_max - cwnd) / B;
		return step <= 1 ? cwnd * RTTS_PER_MIN_STEP : cwnd / min_u32(step, MAX_STEP);
	}
	/* Max probing: the search in reverse. */
	beyond = cwnd - w_max;
	if (beyond < B)
		count = cwnd * RTTS_PER_MIN_STEP;
	else if (beyond >= MAX_STEP * (B - 1))
		count = cwnd / MAX_STEP;
	else
		count = cwnd * (B - 1) / beyond;
	return w_max ? count : min_u32(count, INITIAL_GROWTH);
}

static __always_inline void avoid_congestion(struct bic_search *s, struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = tp->snd_cwnd, per_segment = cwnd;

	s->ack_ratio += min_u32(s->acked, 1u << 16) - (s->ack_ratio >> 4);
	if (cwnd > LOW_WINDOW)
		per_segment = max_u32((u64)acked_per_segment(cwnd, s->w_max) * 16 / max_u32(s->ack_ratio, 1), 1);
	/* As in Linux, growth is one ACK late. */
	set_window(tp, cwnd + growth_of(tp, acked, per_segment + 1));
}

static __always_inline void bic_increase(struct bic_search *s, struct tcp_sock *tp, u32 acked)
{
	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		avoid_congestion(s, tp, acked);
}

/* Sets W_max at a loss; with fast convergence cwnd*(1 + beta)/2 (section III). */
static __always_inline void bic_on_loss(struct bic_search *s, u32 cwnd)
{
	s->prior_w_max = s->w_max;
	s->w_max = cwnd < s->w_max ? (u64)cwnd * (1024 + BETA) / 2048 : cwnd;
}

/* After an RTO. */
static __always_inline void bic_reset(struct bic_search *s)
{
	s->w_max = 0;
	s->ack_ratio = 2 << 4;
}

static __always_inline u32 bic_undo(struct bic_search *s, struct sock *sk)
{
	s->w_max = s->prior_w_max;
	return tcp_reno_undo_cwnd(sk);
}

#endif
