// SPDX-License-Identifier: GPL-2.0-only
/* Veno (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", JSAC
 * 21(2), 2003): Vegas's queue estimate distinguishes congestion loss from random loss. Equals
 * crates/core/src/tcp/cc/veno.rs. */
#include "cc.bpf.h"

/* Section III-A: the path counts as congested from three queued segments. */
#define BETA (3u << SEGMENT_BITS)
/* RTT samples after the start or an idle period that are not evaluated. */
#define FEW_SAMPLES 2

struct veno {
	u32 base_rtt; /* minimum RTT; 0: none */
	u32 sample; /* RTT sample of the present ACK; 0: none */
	u32 samples;
	u64 queue; /* N: queued segments by the last sample, in 1/1024 */
	bool skip; /* skip growth in this round; alternates while the path is congested */
	bool prior_skip; /* skip before the last cut, for undo */
	bool ece; /* the present ACK has ECE set */
};
FITS(veno);

SEC("struct_ops")
void BPF_PROG(veno_init, struct sock *sk)
{
	struct veno *v = PRIVATE(sk);

	v->base_rtt = v->sample = v->samples = 0;
	v->queue = 0;
	v->skip = v->prior_skip = v->ece = false;
}

SEC("struct_ops")
void BPF_PROG(veno_in_ack_event, struct sock *sk, u32 flags)
{
	struct veno *v = PRIVATE(sk);

	v->ece = flags & CA_ACK_ECE;
}

SEC("struct_ops")
void BPF_PROG(veno_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct veno *v = PRIVATE(sk);

	v->sample = rtt_of(ack);
}

/* Section III-A. */
static __always_inline void add_sample(struct veno *v, u32 cwnd)
{
	if (!v->sample)
		return;
	if (!v->base_rtt || v->sample < v->base_rtt)
		v->base_rtt = v->sample;
	if (v->samples <= FEW_SAMPLES)
		v->samples++;
	v->queue = queued(cwnd, v->base_rtt, v->sample);
	v->sample = 0;
}

/* Section III-C: one segment per RTT, or per two RTTs while congested. */
static __always_inline void avoid_congestion(struct veno *v, struct tcp_sock *tp, u32 acked)
{
	u32 growth = growth_of(tp, acked, tp->snd_cwnd);

	if (!growth)
		return;
	v->skip = v->samples > FEW_SAMPLES && v->queue >= BETA && !v->skip;
	if (!v->skip)
		set_window(tp, tp->snd_cwnd + growth);
}

SEC("struct_ops")
void BPF_PROG(veno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct veno *v = PRIVATE(sk);

	add_sample(v, tp->snd_cwnd);
	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		avoid_congestion(v, tp, acked);
}

/* Section III-B: a random loss reduces the window to 4/5. */
SEC("struct_ops")
u32 BPF_PROG(veno_ssthresh, struct sock *sk)
{
	struct veno *v = PRIVATE(sk);
	u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;

	v->prior_skip = v->skip;
	v->skip = false;
	if (v->queue >= BETA || v->ece)
		return half_of(cwnd);
	return max_u32(cwnd * 4 / 5, MIN_SSTHRESH);
}

/* After an RTO ssthresh is Reno's. The stack calls this after ssthresh(). */
SEC("struct_ops")
void BPF_PROG(veno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct veno *v = PRIVATE(sk);

	if (event == CA_EVENT_LOSS)
		tp->snd_ssthresh = half_of(tp->snd_cwnd);
	if (event == CA_EVENT_TX_START && !tp->packets_out)
		v->base_rtt = v->samples = 0;
}

SEC("struct_ops")
u32 BPF_PROG(veno_undo_cwnd, struct sock *sk)
{
	struct veno *v = PRIVATE(sk);

	v->skip = v->prior_skip;
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)veno_init,
	.in_ack_event = (void *)veno_in_ack_event,
	.pkts_acked = (void *)veno_pkts_acked,
	.cong_avoid = (void *)veno_cong_avoid,
	.ssthresh = (void *)veno_ssthresh,
	.cwnd_event = (void *)veno_cwnd_event,
	.undo_cwnd = (void *)veno_undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "ackclock_veno",
};
