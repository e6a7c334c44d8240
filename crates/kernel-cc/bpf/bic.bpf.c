// SPDX-License-Identifier: GPL-2.0-only
/* BIC: binary search for the window at the last loss (bic_search.bpf.h), reduction to 0.8 at a loss. */
#include "bic_search.bpf.h"

FITS(bic_search);

SEC("struct_ops")
void BPF_PROG(bic_init, struct sock *sk)
{
	bic_search_init(PRIVATE(sk));
}

SEC("struct_ops")
void BPF_PROG(bic_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct bic_search *s = PRIVATE(sk);

	s->acked = ack->pkts_acked;
}

SEC("struct_ops")
void BPF_PROG(bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	bic_increase(PRIVATE(sk), (struct tcp_sock *)sk, acked);
}

SEC("struct_ops")
u32 BPF_PROG(bic_ssthresh, struct sock *sk)
{
	u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;

	bic_on_loss(PRIVATE(sk), cwnd);
	return cwnd <= LOW_WINDOW ? half_of(cwnd) : (u32)((u64)cwnd * BETA / 1024);
}

SEC("struct_ops")
void BPF_PROG(bic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		bic_reset(PRIVATE(sk));
}

SEC("struct_ops")
u32 BPF_PROG(bic_undo_cwnd, struct sock *sk)
{
	return bic_undo(PRIVATE(sk), sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)bic_init,
	.pkts_acked = (void *)bic_pkts_acked,
	.cong_avoid = (void *)bic_cong_avoid,
	.ssthresh = (void *)bic_ssthresh,
	.cwnd_event = (void *)bic_cwnd_event,
	.undo_cwnd = (void *)bic_undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "ackclock_bic",
};
