// SPDX-License-Identifier: GPL-2.0-only
/* Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", JSAC 13(8), 1995) with the
 * thresholds of Linux 2.6.22, as crates/core/src/tcp/cc/vegas.rs has it: once a round trip the window is steered to keep 2 to 4
 * segments queued. */
#include "cc.bpf.h"

#define ALPHA (2u << SEGMENT_BITS)
#define BETA (4u << SEGMENT_BITS)
/* Above this slow start ends. */
#define GAMMA (1u << SEGMENT_BITS)
/* Rounds with fewer samples say nothing, as the receiver may delay ACKs. */
#define FEW_SAMPLES 2

struct vegas {
	u32 base; /* the smallest sample since sending began; 0: none */
	u32 sample; /* this ACK's; 0: none */
	u32 smallest; /* of the round; 0: none */
	u32 samples;
	u32 from; /* the round before began where this had been sent, this round where `to` had */
	u32 to;
	u32 cwnd; /* the window when this round began */
	u32 end; /* the round ends when something beyond is acknowledged */
	bool interrupted; /* a recovery or a pause came between: the next ACK begins a round */
	bool interrupted_before; /* the last cut, should that be undone */
};
FITS(vegas);

SEC("struct_ops")
void BPF_PROG(vegas_init, struct sock *sk)
{
	struct vegas *v = PRIVATE(sk);

	v->base = v->sample = v->smallest = v->samples = 0;
	v->cwnd = ((struct tcp_sock *)sk)->snd_cwnd;
	v->interrupted = v->interrupted_before = true;
}

SEC("struct_ops")
void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct vegas *v = PRIVATE(sk);

	v->sample = sample_of(ack);
}

static __always_inline void see(struct vegas *v)
{
	if (!v->sample)
		return;
	if (!v->base || v->sample < v->base)
		v->base = v->sample;
	if (!v->smallest || v->sample < v->smallest)
		v->smallest = v->sample;
	v->samples++;
	v->sample = 0;
}

static __always_inline void begin_round(struct vegas *v, const struct tcp_sock *tp)
{
	v->from = v->to;
	v->to = v->end = tp->snd_nxt;
	v->cwnd = tp->snd_cwnd;
	v->smallest = v->samples = 0;
}

/* After a recovery: the round counts from what is acknowledged, and is compared with the window before, so it grows. */
static __always_inline void begin_anew(struct vegas *v, const struct tcp_sock *tp)
{
	u32 old = v->cwnd;

	v->interrupted = false;
	v->to = tp->snd_una;
	begin_round(v, tp);
	v->cwnd = old;
}

static __always_inline void leave_slow_start(struct tcp_sock *tp, u32 sent, u64 waiting)
{
	u32 carried = ((((u64)sent << SEGMENT_BITS) - waiting) >> SEGMENT_BITS) + 1;

	tp->snd_ssthresh = LEAST_SSTHRESH;
	set_window(tp, larger(smaller(tp->snd_cwnd, carried), 2));
}

/* Section 4.2: one segment more below alpha, one less above beta, counted from the window `old`; one a round at most. */
static __always_inline void steer(struct tcp_sock *tp, u32 old, u64 waiting)
{
	u32 aim = waiting < ALPHA ? old + 1 : waiting > BETA ? old - 1 : old, cwnd = tp->snd_cwnd;

	if (aim > cwnd)
		cwnd++;
	else if (aim < cwnd)
		cwnd--;
	set_window(tp, larger(cwnd, 2));
}

/* Whether it has steered: a round of too few samples is Reno's. */
static __always_inline bool end_round(struct vegas *v, struct tcp_sock *tp)
{
	u32 mss = larger(tp->mss_cache, 1), sent = (v->to - v->from + mss - 1) / mss;
	u32 samples = v->samples, rtt = v->smallest, old = v->cwnd;
	u64 waiting;

	begin_round(v, tp);
	if (samples <= FEW_SAMPLES || !rtt || !v->base)
		return false;
	waiting = queued(sent, v->base, rtt);
	if (!in_slow_start(tp)) {
		if (is_limited(tp) || waiting > BETA)
			steer(tp, old, waiting);
	} else if (waiting > GAMMA) {
		leave_slow_start(tp, sent, waiting);
	}
	return true;
}

SEC("struct_ops")
void BPF_PROG(vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct vegas *v = PRIVATE(sk);
	bool steered = true;

	see(v);
	if (v->interrupted)
		begin_anew(v, tp);
	else if (is_later(tp->snd_una, v->end))
		steered = end_round(v, tp);
	if (!is_limited(tp))
		return;
	if (in_slow_start(tp))
		tcp_slow_start(tp, acked);
	else if (!steered)
		grow_by_one_a_round(tp, acked);
}

SEC("struct_ops")
u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	struct vegas *v = PRIVATE(sk);

	v->interrupted_before = v->interrupted;
	v->interrupted = true;
	return half_of(((struct tcp_sock *)sk)->snd_cwnd);
}

/* After a pause the path may be another. */
SEC("struct_ops")
void BPF_PROG(vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct vegas *v = PRIVATE(sk);

	if (event == CA_EVENT_TX_START && !((struct tcp_sock *)sk)->packets_out) {
		v->base = 0;
		v->interrupted = true;
	}
}

SEC("struct_ops")
u32 BPF_PROG(vegas_undo_cwnd, struct sock *sk)
{
	struct vegas *v = PRIVATE(sk);

	v->interrupted = v->interrupted_before;
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
	.flags = FOR_ALL_PROGRAMS,
	.name = "ackclock_vegas",
};
