/* SPDX-License-Identifier: GPL-2.0-only */
/* What every congestion control here shares. Windows are whole segments, times whole microseconds. */
#ifndef ACKCLOCK_CC_BPF_H
#define ACKCLOCK_CC_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* Any program may choose it by TCP_CONGESTION; without this only those that administer the network may. */
#define FOR_ALL_PROGRAMS 1
/* RFC 5681, equation (4): no cut goes below. */
#define LEAST_SSTHRESH 2u
/* Fractions of a segment are in 1/1024 where a queue is estimated. */
#define SEGMENT_BITS 10

/* The kernel's own slow start; returns the credit beyond the threshold. Its undo gives the window before the cut. */
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#define PRIVATE(sk) ((void *)((struct inet_connection_sock *)(sk))->icsk_ca_priv)
#define FITS(type) \
	_Static_assert(sizeof(struct type) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "a socket has 104 bytes")

static __always_inline u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

static __always_inline u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

static __always_inline bool is_later(u32 sequence, u32 than)
{
	return (s32)(sequence - than) > 0;
}

static __always_inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* The window held the sender back, so there is reason to grow it (RFC 7661): the stack has noted that it did, or in slow start
 * more than half of it has been in flight. */
static __always_inline bool is_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static __always_inline void set_window(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = smaller(cwnd, tp->snd_cwnd_clamp);
}

/* Segments earned where every `every` of credit earn one. What was counted towards a larger number earns one at most. */
static __always_inline u32 earned(struct tcp_sock *tp, u32 credit, u32 every)
{
	u32 counted = tp->snd_cwnd_cnt, whole, waited = 0;

	if (counted >= every) {
		counted = 0;
		waited = 1;
	}
	counted += credit;
	whole = counted / every;
	tp->snd_cwnd_cnt = counted - whole * every;
	return waited + whole;
}

/* Reno's additive increase. */
static __always_inline void grow_by_one_a_round(struct tcp_sock *tp, u32 credit)
{
	set_window(tp, tp->snd_cwnd + earned(tp, credit, tp->snd_cwnd));
}

static __always_inline u32 half_of(u32 cwnd)
{
	return larger(cwnd / 2, LEAST_SSTHRESH);
}

/* A round-trip sample, at least 1 us as a clock's grain must not make one of nothing; 0 where the ACK gives none. */
static __always_inline u32 sample_of(const struct ack_sample *ack)
{
	return ack->rtt_us < 0 ? 0 : larger(ack->rtt_us, 1);
}

/* Segments queued, in 1/1024, when `window` of them take `rtt` (Brakmo and Peterson 1995, section 4.2): W*(1 - base/rtt). */
static __always_inline u64 queued(u32 window, u32 base, u32 rtt)
{
	return ((u64)window << SEGMENT_BITS) * (rtt - base) / rtt;
}

#endif
