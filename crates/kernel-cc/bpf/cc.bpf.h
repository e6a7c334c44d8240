/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared definitions. Windows are in segments, times in microseconds, both integers. */
#ifndef ACKCLOCK_CC_BPF_H
#define ACKCLOCK_CC_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* TCP_CONG_NON_RESTRICTED: TCP_CONGESTION does not require CAP_NET_ADMIN. */
#define NON_RESTRICTED 1
/* Minimum of ssthresh (RFC 5681, equation (4)). */
#define MIN_SSTHRESH 2u
/* Queue estimates are in 1/1024 segment. */
#define SEGMENT_BITS 10

/* The kernel's slow start, which returns the ACKed segments beyond ssthresh, and its undo, which
 * returns the window before the cut. */
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#define PRIVATE(sk) ((void *)((struct inet_connection_sock *)(sk))->icsk_ca_priv)
#define FITS(type) \
	_Static_assert(sizeof(struct type) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "icsk_ca_priv has 104 bytes")

static __always_inline u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static __always_inline u32 max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

static __always_inline bool is_after(u32 seq1, u32 seq2)
{
	return (s32)(seq1 - seq2) > 0;
}

static __always_inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Whether the sender is cwnd-limited, and the window may grow (RFC 7661): the stack has set
 * is_cwnd_limited, or in slow start more than half of the window has been in flight. */
static __always_inline bool is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static __always_inline void set_window(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = min_u32(cwnd, tp->snd_cwnd_clamp);
}

/* Segments of growth for `acked` segments, one per `per_segment`. A count above a `per_segment` that has
 * decreased yields one segment. */
static __always_inline u32 growth_of(struct tcp_sock *tp, u32 acked, u32 per_segment)
{
	u32 count = tp->snd_cwnd_cnt, whole, carried_over = 0;

	if (count >= per_segment) {
		count = 0;
		carried_over = 1;
	}
	count += acked;
	whole = count / per_segment;
	tp->snd_cwnd_cnt = count - whole * per_segment;
	return carried_over + whole;
}

/* Reno's additive increase, one segment per RTT. */
static __always_inline void reno_increase(struct tcp_sock *tp, u32 acked)
{
	set_window(tp, tp->snd_cwnd + growth_of(tp, acked, tp->snd_cwnd));
}

static __always_inline u32 half_of(u32 cwnd)
{
	return max_u32(cwnd / 2, MIN_SSTHRESH);
}

/* RTT sample of an ACK, at least 1 us; 0 if the ACK has none. */
static __always_inline u32 rtt_of(const struct ack_sample *ack)
{
	return ack->rtt_us < 0 ? 0 : max_u32(ack->rtt_us, 1);
}

/* Queued segments in 1/1024, W*(1 - base_rtt/rtt) (Brakmo and Peterson 1995, section 4.2). */
static __always_inline u64 queued(u32 window, u32 base_rtt, u32 rtt)
{
	return ((u64)window << SEGMENT_BITS) * (rtt - base_rtt) / rtt;
}

#endif
