// SPDX-License-Identifier: GPL-2.0-only
/* Westwood+ (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control",
 * CCR 34(2), 2004), as crates/core/src/tcp/cc/westwood.rs has it: Reno's growth, and when a recovery ends the window that the path
 * itself is seen to hold. */
#include "pipe.bpf.h"

/* No rate is taken over less. */
#define SHORTEST 50000u

struct westwood {
	struct pipe pipe;
	u64 since; /* when the sample began; 0: none has */
	u64 first; /* the first of two cascaded filters */
	u32 segments; /* of the sample */
};
FITS(westwood);

SEC("struct_ops")
void BPF_PROG(westwood_init, struct sock *sk)
{
	struct westwood *w = PRIVATE(sk);

	begin_pipe(&w->pipe, (struct tcp_sock *)sk);
	w->since = w->first = 0;
	w->segments = 0;
}

/* 7/8 of the old stay, in each of the two. */
static __always_inline void take(struct westwood *w, u64 sample)
{
	if (!w->first && !w->pipe.rate) {
		w->first = w->pipe.rate = sample;
		return;
	}
	w->first = (7 * w->first + sample) / 8;
	w->pipe.rate = (7 * w->pipe.rate + w->first) / 8;
}

/* One sample a round trip, so that squeezed ACKs do not inflate it. */
SEC("struct_ops")
void BPF_PROG(westwood_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct westwood *w = PRIVATE(sk);
	u32 segments = newly_delivered(&w->pipe, tp);
	u64 elapsed;

	see_round_trip(&w->pipe, ack);
	if (!segments)
		return;
	if (!w->since)
		w->since = tp->tcp_mstamp;
	elapsed = tp->tcp_mstamp - w->since;
	if (elapsed > larger(w->pipe.latest, SHORTEST)) {
		take(w, rate_of(w->segments, elapsed));
		w->since = tp->tcp_mstamp;
		w->segments = 0;
	}
	w->segments += segments;
}

SEC("struct_ops")
void BPF_PROG(westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (!is_limited(tp))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		grow_by_one_a_round(tp, acked);
}

/* Where a recovery is to bring the window: a window below what the path holds stays. */
SEC("struct_ops")
u32 BPF_PROG(westwood_ssthresh, struct sock *sk)
{
	struct westwood *w = PRIVATE(sk);

	return larger(smaller(carried(&w->pipe), ((struct tcp_sock *)sk)->snd_cwnd), LEAST_SSTHRESH);
}

/* A recovery's end takes the estimate anew; after a timeout, which the stack tells of just after it has asked for the threshold,
 * the path may be another. */
SEC("struct_ops")
void BPF_PROG(westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct westwood *w = PRIVATE(sk);

	if (event != CA_EVENT_COMPLETE_CWR && event != CA_EVENT_LOSS)
		return;
	tp->snd_ssthresh = carried(&w->pipe);
	if (event == CA_EVENT_LOSS)
		w->pipe.smallest = 0;
	else
		set_window(tp, tp->snd_ssthresh);
}

SEC("struct_ops")
u32 BPF_PROG(westwood_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)westwood_init,
	.pkts_acked = (void *)westwood_pkts_acked,
	.cong_avoid = (void *)westwood_cong_avoid,
	.ssthresh = (void *)westwood_ssthresh,
	.cwnd_event = (void *)westwood_cwnd_event,
	.undo_cwnd = (void *)westwood_undo_cwnd,
	.flags = FOR_ALL_PROGRAMS,
	.name = "ackclock_westw",
};
