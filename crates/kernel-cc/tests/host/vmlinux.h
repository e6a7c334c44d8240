/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's types that the programs use, for tests on the host. Only the fields' names are the
 * kernel's; the layout is that of tests/support/socket.rs. */
#ifndef ACKCLOCK_HOST_VMLINUX_H
#define ACKCLOCK_HOST_VMLINUX_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint8_t u8;

struct sock;

struct inet_connection_sock {
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_cnt, snd_cwnd_clamp, prior_cwnd;
	u32 delivered, snd_una, snd_nxt, mss_cache, packets_out, max_packets_out;
	u32 is_cwnd_limited;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS };
enum tcp_ca_ack_event_flags { CA_ACK_ECE = 4 };

struct tcp_congestion_ops {
	void *init, *in_ack_event, *pkts_acked, *cong_avoid, *ssthresh, *cwnd_event, *undo_cwnd;
	u32 flags;
	char name[16];
};

#endif
