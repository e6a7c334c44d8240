// SPDX-License-Identifier: GPL-2.0-only
/* BIAD, proposed in "wimax-simulated", as crates/core/src/tcp/cc/biad.rs has it: BIC's binary increase (search.bpf.h) with the
 * adaptive decrease of the first Westwood (Casetti, Gerla, Mascolo, Sanadidi and Wang, Mobicom 2001). */
#include "pipe.bpf.h"
#include "search.bpf.h"

/* Casetti et al., section 3.2: the filter's time tau; silence longer than tau/2 counts as samples of zero. */
#define TAU (1 * SECOND)
#define LONGEST (TAU / 2)
/* Zeros beyond this many change nothing: 0.6^64 of the estimate is left. */
#define MOST_ZEROS 64

struct biad {
	struct search search;
	struct pipe pipe;
	u64 last; /* ACK that brought something; 0: none */
	u64 sample; /* the rate that it showed */
	u32 pending; /* segments that came at the very time of the last ACK */
	u32 threshold; /* after the recovery */
};
FITS(biad);

SEC("struct_ops")
void BPF_PROG(biad_init, struct sock *sk)
{
	struct biad *b = PRIVATE(sk);

	begin_search(&b->search);
	begin_pipe(&b->pipe, (struct tcp_sock *)sk);
	b->last = b->sample = 0;
	b->pending = b->threshold = 0;
}

/* Section 3.2: BWE = a*BWE + (1 - a)*(b_k + b_(k-1))/2 with a = (2 tau - D)/(2 tau + D), so the step is 2D/(2 tau + D). */
static __always_inline void take(struct biad *b, u64 sample, u32 interval)
{
	u64 mean = (sample + b->sample) / 2, step = 2 * (u64)interval, whole = 2 * TAU + interval;

	if (mean >= b->pipe.rate)
		b->pipe.rate += (mean - b->pipe.rate) * step / whole;
	else
		b->pipe.rate -= (b->pipe.rate - mean) * step / whole;
	b->sample = sample;
}

static __always_inline void filter(struct biad *b, u64 now)
{
	u64 interval = now - b->last, rate = rate_of(b->pending, interval);

	for (int zeros = 0; zeros < MOST_ZEROS; zeros++) {
		if (interval <= LONGEST)
			break;
		take(b, 0, LONGEST);
		interval -= LONGEST;
	}
	take(b, rate, interval < LONGEST ? interval : LONGEST);
	b->last = now;
	b->pending = 0;
}

SEC("struct_ops")
void BPF_PROG(biad_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct biad *b = PRIVATE(sk);
	u32 segments = newly_delivered(&b->pipe, tp);

	b->search.acked = ack->pkts_acked;
	see_round_trip(&b->pipe, ack);
	if (!segments)
		return;
	if (!b->last) {
		b->last = tp->tcp_mstamp;
		return;
	}
	b->pending += segments;
	if (tp->tcp_mstamp > b->last)
		filter(b, tp->tcp_mstamp);
}

SEC("struct_ops")
void BPF_PROG(biad_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct biad *b = PRIVATE(sk);

	grow(&b->search, (struct tcp_sock *)sk, acked);
}

/* Where a recovery is to bring the window. Where that is nearly W_max there is nothing to search: max probing begins. */
SEC("struct_ops")
u32 BPF_PROG(biad_ssthresh, struct sock *sk)
{
	struct biad *b = PRIVATE(sk);
	u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd, left;

	note_loss(&b->search, cwnd);
	b->threshold = carried(&b->pipe);
	left = smaller(b->threshold, cwnd);
	if ((u64)left * 100 >= (u64)b->search.w_max * 95)
		b->search.w_max = left;
	return larger(left, LEAST_SSTHRESH);
}

/* A window below what the path holds stays in slow start. */
SEC("struct_ops")
void BPF_PROG(biad_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct biad *b = PRIVATE(sk);

	if (event != CA_EVENT_COMPLETE_CWR && event != CA_EVENT_LOSS)
		return;
	tp->snd_ssthresh = larger(b->threshold, tp->snd_ssthresh);
	if (event == CA_EVENT_LOSS)
		forget(&b->search);
}

SEC("struct_ops")
u32 BPF_PROG(biad_undo_cwnd, struct sock *sk)
{
	struct biad *b = PRIVATE(sk);

	return undo(&b->search, sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)biad_init,
	.pkts_acked = (void *)biad_pkts_acked,
	.cong_avoid = (void *)biad_cong_avoid,
	.ssthresh = (void *)biad_ssthresh,
	.cwnd_event = (void *)biad_cwnd_event,
	.undo_cwnd = (void *)biad_undo_cwnd,
	.flags = FOR_ALL_PROGRAMS,
	.name = "ackclock_biad",
};
