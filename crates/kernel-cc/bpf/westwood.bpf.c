// SPDX-License-Identifier: GPL-2.0-only
/* Westwood+ (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and
 * Vegas TCP congestion control", CCR 34(2), 2004): Reno's increase; after recovery the window is the
 * estimated bandwidth-delay product. Equals crates/core/src/tcp/cc/westwood.rs. */
#include "bandwidth.bpf.h"

/* Minimum duration of a rate sample. */
#define MIN_INTERVAL 50000u

struct westwood {
	struct bw_estimate bandwidth;
	u64 start; /* start of the present sample; 0: none */
	u64 first; /* first of two cascaded filters */
	u32 segments; /* segments of the present sample */
};
FITS(westwood);

SEC("struct_ops")
void BPF_PROG(westwood_init, struct sock *sk)
{
	struct westwood *w = PRIVATE(sk);

	bw_estimate_init(&w->bandwidth, (struct tcp_sock *)sk);
	w->start = w->first = 0;
	w->segments = 0;
}

/* Two cascaded filters of gain 1/8. */
static __always_inline void add_sample(struct westwood *w, u64 sample)
{
	if (!w->first && !w->bandwidth.rate) {
		w->first = w->bandwidth.rate = sample;
		return;
	}
	w->first = (7 * w->first + sample) / 8;
	w->bandwidth.rate = (7 * w->bandwidth.rate + w->first) / 8;
}

/* One sample per RTT: ACK compression must not inflate the rate. */
SEC("struct_ops")
void BPF_PROG(westwood_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct westwood *w = PRIVATE(sk);
	u32 segments = newly_delivered(&w->bandwidth, tp);
	u64 elapsed;

	update_rtt(&w->bandwidth, ack);
	if (!segments)
		return;
	if (!w->start)
		w->start = tp->tcp_mstamp;
	elapsed = tp->tcp_mstamp - w->start;
	if (elapsed > max_u32(w->bandwidth.last_rtt, MIN_INTERVAL)) {
		add_sample(w, rate_of(w->segments, elapsed));
		w->start = tp->tcp_mstamp;
		w->segments = 0;
	}
	w->segments += segments;
}

SEC("struct_ops")
void BPF_PROG(westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		reno_increase(tp, acked);
}

/* The window after recovery is the BDP, or the present window if that is smaller. */
SEC("struct_ops")
u32 BPF_PROG(westwood_ssthresh, struct sock *sk)
{
	struct westwood *w = PRIVATE(sk);

	return max_u32(min_u32(bdp(&w->bandwidth), ((struct tcp_sock *)sk)->snd_cwnd), MIN_SSTHRESH);
}

/* At the end of recovery the window is the present estimate. After an RTO the path may have changed; the
 * stack reports the RTO after it has called ssthresh(). */
SEC("struct_ops")
void BPF_PROG(westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct westwood *w = PRIVATE(sk);

	if (event != CA_EVENT_COMPLETE_CWR && event != CA_EVENT_LOSS)
		return;
	tp->snd_ssthresh = bdp(&w->bandwidth);
	if (event == CA_EVENT_LOSS)
		w->bandwidth.min_rtt = 0;
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
	.flags = NON_RESTRICTED,
	.name = "ackclock_westw",
};
