// SPDX-License-Identifier: GPL-2.0-only
/* BIAD, proposed in "wimax-simulated": BIC's binary increase (bic_search.bpf.h) with the adaptive
 * decrease of the first Westwood (Casetti, Gerla, Mascolo, Sanadidi and Wang, Mobicom 2001). Equals
 * crates/core/src/tcp/cc/biad.rs. */
#include "bandwidth.bpf.h"
#include "bic_search.bpf.h"

/* Time constant tau of the filter; an interval above tau/2 without ACKs counts as samples of 0 (Casetti
 * et al., section 3.2). */
#define TAU (1 * SECOND)
#define MAX_INTERVAL (TAU / 2)
/* Further zero samples would change nothing: 0.6^64 of the estimate remains. */
#define MAX_ZEROS 64

struct biad {
	struct bic_search search;
	struct bw_estimate bandwidth;
	u64 last_ack; /* time of the last ACK that delivered data; 0: none */
	u64 sample; /* rate sample of that ACK */
	u32 pending; /* segments delivered at the same time as that ACK */
	u32 ssthresh; /* after recovery */
};
FITS(biad);

SEC("struct_ops")
void BPF_PROG(biad_init, struct sock *sk)
{
	struct biad *b = PRIVATE(sk);

	bic_search_init(&b->search);
	bw_estimate_init(&b->bandwidth, (struct tcp_sock *)sk);
	b->last_ack = b->sample = 0;
	b->pending = b->ssthresh = 0;
}

/* Section 3.2: BWE = a*BWE + (1 - a)*(b_k + b_(k-1))/2 with a = (2 tau - D)/(2 tau + D), so the gain is
 * 2D/(2 tau + D). */
static __always_inline void add_sample(struct biad *b, u64 sample, u32 interval)
{
	u64 mean = (sample + b->sample) / 2, step = 2 * (u64)interval, whole = 2 * TAU + interval;

	if (mean >= b->bandwidth.rate)
		b->bandwidth.rate += (mean - b->bandwidth.rate) * step / whole;
	else
		b->bandwidth.rate -= (b->bandwidth.rate - mean) * step / whole;
	b->sample = sample;
}

static __always_inline void filter(struct biad *b, u64 now)
{
	u64 interval = now - b->last_ack, rate = rate_of(b->pending, interval);

	for (int zeros = 0; zeros < MAX_ZEROS; zeros++) {
		if (interval <= MAX_INTERVAL)
			break;
		add_sample(b, 0, MAX_INTERVAL);
		interval -= MAX_INTERVAL;
	}
	add_sample(b, rate, interval < MAX_INTERVAL ? interval : MAX_INTERVAL);
	b->last_ack = now;
	b->pending = 0;
}

SEC("struct_ops")
void BPF_PROG(biad_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct biad *b = PRIVATE(sk);
	u32 segments = newly_delivered(&b->bandwidth, tp);

	b->search.acked = ack->pkts_acked;
	update_rtt(&b->bandwidth, ack);
	if (!segments)
		return;
	if (!b->last_ack) {
		b->last_ack = tp->tcp_mstamp;
		return;
	}
	b->pending += segments;
	if (tp->tcp_mstamp > b->last_ack)
		filter(b, tp->tcp_mstamp);
}

SEC("struct_ops")
void BPF_PROG(biad_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct biad *b = PRIVATE(sk);

	bic_increase(&b->search, (struct tcp_sock *)sk, acked);
}

/* The window after recovery is the BDP. If that is above 95 % of W_max, max probing starts from it. */
SEC("struct_ops")
u32 BPF_PROG(biad_ssthresh, struct sock *sk)
{
	struct biad *b = PRIVATE(sk);
	u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd, target;

	bic_on_loss(&b->search, cwnd);
	b->ssthresh = bdp(&b->bandwidth);
	target = min_u32(b->ssthresh, cwnd);
	if ((u64)target * 100 >= (u64)b->search.w_max * 95)
		b->search.w_max = target;
	return max_u32(target, MIN_SSTHRESH);
}

/* A window below the BDP remains in slow start. */
SEC("struct_ops")
void BPF_PROG(biad_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct biad *b = PRIVATE(sk);

	if (event != CA_EVENT_COMPLETE_CWR && event != CA_EVENT_LOSS)
		return;
	tp->snd_ssthresh = max_u32(b->ssthresh, tp->snd_ssthresh);
	if (event == CA_EVENT_LOSS)
		bic_reset(&b->search);
}

SEC("struct_ops")
u32 BPF_PROG(biad_undo_cwnd, struct sock *sk)
{
	struct biad *b = PRIVATE(sk);

	return bic_undo(&b->search, sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)biad_init,
	.pkts_acked = (void *)biad_pkts_acked,
	.cong_avoid = (void *)biad_cong_avoid,
	.ssthresh = (void *)biad_ssthresh,
	.cwnd_event = (void *)biad_cwnd_event,
	.undo_cwnd = (void *)biad_undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "ackclock_biad",
};
