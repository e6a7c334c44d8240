// SPDX-License-Identifier: GPL-2.0-only
/* Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", JSAC
 * 13(8), 1995) with the thresholds of Linux 2.6.22: once per RTT the window is adjusted to keep 2 to 4
 * segments queued. Equals crates/core/src/tcp/cc/vegas.rs. */
#include "cc.bpf.h"

#define ALPHA (2u << SEGMENT_BITS)
#define BETA (4u << SEGMENT_BITS)
/* Slow start ends above GAMMA. */
#define GAMMA (1u << SEGMENT_BITS)
/* Minimum number of RTT samples per round, minus 1: a delayed ACK distorts a single sample. */
#define FEW_SAMPLES 2

struct vegas {
	u32 base_rtt; /* minimum RTT since sending started; 0: none */
	u32 sample; /* RTT sample of the present ACK; 0: none */
	u32 min_rtt; /* minimum RTT of the round; 0: none */
	u32 samples; /* RTT samples of the round */
	u32 prior_start; /* snd_nxt at the start of the previous round */
	u32 start; /* snd_nxt at the start of the round */
	u32 cwnd; /* window at the start of the round */
	u32 end; /* the round ends when a sequence number above is ACKed */
	bool restart; /* after recovery or an idle period the next ACK starts a round */
	bool prior_restart; /* restart before the last cut, for undo */
};
FITS(vegas);

SEC("struct_ops")
void BPF_PROG(vegas_init, struct sock *sk)
{
	struct vegas *v = PRIVATE(sk);

	v->base_rtt = v->sample = v->min_rtt = v->samples = 0;
	v->cwnd = ((struct tcp_sock *)sk)->snd_cwnd;
	v->restart = v->prior_restart = true;
}

SEC("struct_ops")
void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct vegas *v = PRIVATE(sk);

	v->sample = rtt_of(ack);
}

static __always_inline void add_sample(struct vegas *v)
{
	if (!v->sample)
		return;
	if (!v->base_rtt || v->sample < v->base_rtt)
		v->base_rtt = v->sample;
	if (!v->min_rtt || v->sample < v->min_rtt)
		v->min_rtt = v->sample;
	v->samples++;
	v->sample = 0;
}

static __always_inline void start_round(struct vegas *v, const struct tcp_sock *tp)
{
	v->prior_start = v->start;
	v->start = v->end = tp->snd_nxt;
	v->cwnd = tp->snd_cwnd;
	v->min_rtt = v->samples = 0;
}

/* After recovery: the round starts at snd_una and keeps the old window as its reference. */
static __always_inline void restart_round(struct vegas *v, const struct tcp_sock *tp)
{
	u32 prior_cwnd = v->cwnd;

	v->restart = false;
	v->start = tp->snd_una;
	start_round(v, tp);
	v->cwnd = prior_cwnd;
}

static __always_inline void leave_slow_start(struct tcp_sock *tp, u32 sent, u64 queue)
{
	u32 bdp = ((((u64)sent << SEGMENT_BITS) - queue) >> SEGMENT_BITS) + 1;

	tp->snd_ssthresh = MIN_SSTHRESH;
	set_window(tp, max_u32(min_u32(tp->snd_cwnd, bdp), 2));
}

/* Section 4.2: the target is one segment above `base` if the queue is below alpha, one below it if the
 * queue is above beta. The window moves by at most one segment per round. */
static __always_inline void adjust_window(struct tcp_sock *tp, u32 base, u64 queue)
{
	u32 target = queue < ALPHA ? base + 1 : queue > BETA ? base - 1 : base, cwnd = tp->snd_cwnd;

	if (target > cwnd)
		cwnd++;
	else if (target < cwnd)
		cwnd--;
	set_window(tp, max_u32(cwnd, 2));
}

/* Ends a round. Returns false if it had too few samples, and Reno's increase applies. */
static __always_inline bool end_round(struct vegas *v, struct tcp_sock *tp)
{
	u32 mss = max_u32(tp->mss_cache, 1), sent = (v->start - v->prior_start + mss - 1) / mss;
	u32 samples = v->samples, rtt = v->min_rtt, base = v->cwnd;
	u64 queue;

	start_round(v, tp);
	if (samples <= FEW_SAMPLES || !rtt || !v->base_rtt)
		return false;
	queue = queued(sent, v->base_rtt, rtt);
	if (!in_slow_start(tp)) {
		if (is_cwnd_limited(tp) || queue > BETA)
			adjust_window(tp, base, queue);
	} else if (queue > GAMMA) {
		leave_slow_start(tp, sent, queue);
	}
	return true;
}

SEC("struct_ops")
void BPF_PROG(vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct vegas *v = PRIVATE(sk);
	bool adjusted = true;

	add_sample(v);
	if (v->restart)
		restart_round(v, tp);
	else if (is_after(tp->snd_una, v->end))
		adjusted = end_round(v, tp);
	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp))
		tcp_slow_start(tp, acked);
	else if (!adjusted)
		reno_increase(tp, acked);
}

SEC("struct_ops")
u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	struct vegas *v = PRIVATE(sk);

	v->prior_restart = v->restart;
	v->restart = true;
	return half_of(((struct tcp_sock *)sk)->snd_cwnd);
}

/* The path may have changed during an idle period. */
SEC("struct_ops")
void BPF_PROG(vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct vegas *v = PRIVATE(sk);

	if (event == CA_EVENT_TX_START && !((struct tcp_sock *)sk)->packets_out) {
		v->base_rtt = 0;
		v->restart = true;
	}
}

SEC("struct_ops")
u32 BPF_PROG(vegas_undo_cwnd, struct sock *sk)
{
	struct vegas *v = PRIVATE(sk);

	v->restart = v->prior_restart;
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)vegas_init,
	.pkts_acked = (void *)vegas_pkts_acked,
	.cong_avoid = (void *)vegas_cong_avoid,
	.ssthresh = (void *)vegas_ssthresh,
	.cwnd_event = (void *)vegas_cwnd_event,
	.undo_cwnd = (void *)vegas_undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "ackclock_vegas",
};
