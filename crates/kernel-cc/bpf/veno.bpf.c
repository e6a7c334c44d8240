// SPDX-License-Identifier: GPL-2.0-only
/* Veno (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", JSAC 21(2), 2003), as
 * crates/core/src/tcp/cc/veno.rs has it: Vegas's estimate of the queue tells a loss by congestion from a random one. */
#include "cc.bpf.h"

/* Section III-A: from three segments queued on, the path counts as congested. */
#define BETA (3u << SEGMENT_BITS)
/* Samples after the beginning or a pause that say nothing. */
#define FEW_SAMPLES 2

struct veno {
	u32 base; /* the smallest sample; 0: none */
	u32 sample; /* this ACK's; 0: none */
	u32 samples;
	u64 waiting; /* N: segments queued by the newest sample, in 1/1024 */
	bool skip; /* of a congested path's rounds, every other one does not grow */
	bool skip_before; /* the last cut, should that be undone */
	bool marked; /* this ACK echoes a mark */
};
FITS(veno);

SEC("struct_ops")
void BPF_PROG(veno_init, struct sock *sk)
{
	struct veno *v = PRIVATE(sk);

	v->base = v->sample = v->samples = 0;
	v->waiting = 0;
	v->skip = v->skip_before = v->marked = false;
}

SEC("struct_ops")
void BPF_PROG(veno_in_ack_event, struct sock *sk, u32 flags)
{
	struct veno *v = PRIVATE(sk);

	v->marked = flags & CA_ACK_ECE;
}

SEC("struct_ops")
void BPF_PROG(veno_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct veno *v = PRIVATE(sk);

	v->sample = sample_of(ack);
}

/* Section III-A. */
static __always_inline void see(struct veno *v, u32 cwnd)
{
	if (!v->sample)
		return;
	if (!v->base || v->sample < v->base)
		v->base = v->sample;
	if (v->samples <= FEW_SAMPLES)
		v->samples++;
	v->waiting = queued(cwnd, v->base, v->sample);
	v->sample = 0;
}

/* Section III-C: one segment a round, every other round while congested. */
static __always_inline void avoid(struct veno *v, struct tcp_sock *tp, u32 credit)
{
	u32 grown = earned(tp, credit, tp->snd_cwnd);

	if (!grown)
		return;
	v->skip = v->samples > FEW_SAMPLES && v->waiting >= BETA && !v->skip;
	if (!v->skip)
		set_window(tp, tp->snd_cwnd + grown);
}

SEC("struct_ops")
void BPF_PROG(veno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct veno *v = PRIVATE(sk);

	see(v, tp->snd_cwnd);
	if (!is_limited(tp))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		avoid(v, tp, acked);
}

/* Section III-B: a random loss leaves 4/5. */
SEC("struct_ops")
u32 BPF_PROG(veno_ssthresh, struct sock *sk)
{
	struct veno *v = PRIVATE(sk);
	u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;

	v->skip_before = v->skip;
	v->skip = false;
	if (v->waiting >= BETA || v->marked)
		return half_of(cwnd);
	return larger(cwnd * 4 / 5, LEAST_SSTHRESH);
}

/* The stack has asked for the threshold just before it tells of a timeout, which is Reno's. */
SEC("struct_ops")
void BPF_PROG(veno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct veno *v = PRIVATE(sk);

	if (event == CA_EVENT_LOSS)
		tp->snd_ssthresh = half_of(tp->snd_cwnd);
	if (event == CA_EVENT_TX_START && !tp->packets_out)
		v->base = v->samples = 0;
}

SEC("struct_ops")
u32 BPF_PROG(veno_undo_cwnd, struct sock *sk)
{
	struct veno *v = PRIVATE(sk);

	v->skip = v->skip_before;
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
	.flags = FOR_ALL_PROGRAMS,
	.name = "ackclock_veno",
};
