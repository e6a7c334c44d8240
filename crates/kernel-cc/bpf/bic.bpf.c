// SPDX-License-Identifier: GPL-2.0-only
/* BIC: a binary search for the window of the last loss (search.bpf.h), 0.8 on loss. */
#include "search.bpf.h"

FITS(search);

SEC("struct_ops")
void BPF_PROG(bic_init, struct sock *sk)
{
	begin_search(PRIVATE(sk));
}

SEC("struct_ops")
void BPF_PROG(bic_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct search *s = PRIVATE(sk);

	s->acked = ack->pkts_acked;
}

SEC("struct_ops")
void BPF_PROG(bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	grow(PRIVATE(sk), (struct tcp_sock *)sk, acked);
}

SEC("struct_ops")
u32 BPF_PROG(bic_ssthresh, struct sock *sk)
{
	u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;

	note_loss(PRIVATE(sk), cwnd);
	return cwnd <= LOW_WINDOW ? half_of(cwnd) : (u32)((u64)cwnd * LEFT / 1024);
}

SEC("struct_ops")
void BPF_PROG(bic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		forget(PRIVATE(sk));
}

SEC("struct_ops")
u32 BPF_PROG(bic_undo_cwnd, struct sock *sk)
{
	return undo(PRIVATE(sk), sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)bic_init,
	.pkts_acked = (void *)bic_pkts_acked,
	.cong_avoid = (void *)bic_cong_avoid,
	.ssthresh = (void *)bic_ssthresh,
	.cwnd_event = (void *)bic_cwnd_event,
	.undo_cwnd = (void *)bic_undo_cwnd,
	.flags = FOR_ALL_PROGRAMS,
	.name = "ackclock_bic",
};
