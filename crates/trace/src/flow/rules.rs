//! Every threshold of the flow analysis, with its source and the reason for its value. Times are in
//! nanoseconds.

/// Declares a struct and its one constant, so that a value stands beside its reason.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)*) => {
        #[derive(Debug)]
        pub struct Rules {
            $($(#[$doc])* pub $name: $kind,)*
        }

        pub const RULES: Rules = Rules { $($name: $value,)* };
    };
}

/// Share of a quantity: numerator and denominator.
pub type Ratio = (i64, i64);

/// This share of `quantity`. A capture may have any times: products saturate.
#[inline]
pub fn share_of(quantity: i64, (part, whole): Ratio) -> i64 {
    quantity.saturating_mul(part) / whole
}

/// True if `a` is less than this share of `b`.
#[inline]
pub fn is_below_share(a: i64, b: i64, (part, whole): Ratio) -> bool {
    a.saturating_mul(whole) < b.saturating_mul(part)
}

rules! {
    // Triggers of a retransmission.

    /// Duplicate ACKs that trigger a fast retransmission (RFC 5681, section 3.2).
    dupthresh: u32 = 3;
    /// More duplicate ACKs than reordering thresholds commonly reach (Linux: `tcp_reordering` grows
    /// from 3; RFC 4653 grows it with the window).
    many_dupacks: u32 = 16;
    /// Maximum delay of an ACK-driven transmission after its ACK, unless the sender paces: hosts take
    /// microseconds, captured clocks add some.
    max_ack_delay: i64 = 1_000_000;
    /// Packets sent without an ACK within `max_ack_delay` before them that show pacing; each counts
    /// two, each packet sent by an ACK takes one off.
    paced_score: u8 = 3;

    // Timers.

    /// Minimum silence before a timer-driven transmission, beside half an RTT: ACK-driven senders act
    /// within microseconds, paced ones within their pacing interval.
    min_timer_silence: i64 = 10_000_000;
    /// Minimum RTO of common stacks (Linux `TCP_RTO_MIN`, ns-2 `minrto_`); RFC 6298, section 2.4,
    /// asks for 1 s, which few follow.
    common_rto_min: i64 = 200_000_000;
    /// Share of SRTT that a silence before a timer has at least: ACKs that do not advance arrive
    /// meanwhile.
    timer_silence_srtt: Ratio = (1, 2);
    /// The same behind a link that spaces the sender's packets: share of the previous gap.
    timer_silence_gap: Ratio = (3, 2);
    /// Share of SRTT that a timer runs for at least: SRTT at the capture and at the sender differ.
    min_timer_age: Ratio = (9, 10);
    /// Share of the RTO after which nothing but it explains a retransmission without any trigger.
    untriggered_rto: Ratio = (3, 4);
    /// Share of the RTO after which a lowest segment that is retransmitted again is due to it, if the
    /// timer runs since the start of recovery (RFC 6582, section 4, impatient variant).
    impatient_rto: Ratio = (8, 10);
    /// RACK's reordering window, a share of the RTT (RFC 8985, section 6.2, step 4). A longer silence
    /// before a second retransmission is an RTO.
    reordering_window: Ratio = (1, 4);
    /// RACK's reordering window grows to SRTT (RFC 8985, section 6.2, step 4); SRTT at the capture and at
    /// the sender differ.
    max_reordering_window: Ratio = (5, 4);
    /// Share of the RTO from which on a lowest segment is due to it, at the sender and elsewhere: the
    /// RTO is known to five in a hundred, from a remote capture to ten.
    due_rto: Ratio = (19, 20);
    remote_due_rto: Ratio = (18, 20);
    /// Later than this share of the RTO many duplicate ACKs are an adaptive threshold at work.
    overdue_rto: Ratio = (11, 10);
    /// Later than this share of the RTO a paced retransmission was not triggered, as the RTO is due.
    paced_beyond_rto: Ratio = (21, 20);
    /// Up to this share of the minimum RTO a late retransmission is paced.
    paced_rto: Ratio = (9, 10);
    /// With a remote capture: time without an advancing ACK that implies an RTO: a share of the RTO, or
    /// three SRTT and a share of the common minimum, which imply a timer however its minimum is
    /// defined.
    remote_rto: Ratio = (23, 25);
    remote_rto_srtts: i64 = 3;
    remote_rto_min: Ratio = (9, 10);
    /// Share of the RTO at which an RTO is most certain.
    certain_rto: Ratio = (9, 10);
    /// Feedback about a segment takes this share of its minimum time at least: clocks vary.
    min_feedback: Ratio = (9, 10);
    /// Less than the initial RTO of 1 s (RFC 6298, section 2.1), and than that of any stack.
    min_initial_rto: i64 = 900_000_000;
    /// Old data of one byte after a shorter silence is a retransmission, not a keep-alive: stacks send
    /// these after minutes or hours (RFC 9293, section 3.8.4: two hours).
    min_keep_alive: i64 = 10_000_000_000;
    /// Silence before a tail loss probe with new data, beside a quarter of SRTT: less is pacing.
    min_probe_silence: i64 = 10_000_000;
    /// Share of the probe timeout (RFC 8985, section 7.2: 2 SRTT) after which a probe can pass:
    /// SRTT at the capture and at the sender differ.
    probe_timeout_share: Ratio = (8, 10);

    /// Maximum delay of an ACK for a single segment that a sender allows for (RFC 8985, section 7.2,
    /// WCDelAckT; Linux: `TCP_RTO_MIN`).
    max_delayed_ack: i64 = 200_000_000;

    /// Initial windows in segments: of stacks older than tail loss probes (RFC 3390), and of those that
    /// may have them (RFC 6928). Linux has probes from 3.10 on, and this window from 2.6.39 on.
    small_initial_window: (u8, u8) = (2, 4);
    large_initial_window: u8 = 10;
    /// Maximum tick of the TSvals of stacks that may have tail loss probes: 1 ms (Linux from 4.13 on, and
    /// before with HZ 1000).
    modern_tick: i64 = 1_000_000;

    // Clues.

    /// The capture is at an end if the RTT to it is at most this share of the RTT between the ends.
    near_share: Ratio = (1, 10);
    /// The capture is at the sender, whatever the share, if the RTT to it is at most this and half of
    /// the rest: the response time of a loaded host.
    max_host_rtt: i64 = 2_000_000;
    /// Maximum RTT between processes of one host or hosts on one Ethernet: a report cannot
    /// distinguish the ends.
    max_local_rtt: i64 = 300_000;
    /// SRTT above this share of the minimum RTT shows a standing queue: less is noise.
    standing_queue: Ratio = (5, 4);
    /// Two packets of one identification within this time are one, even if the sender draws numbers.
    max_copy_delay: i64 = 50_000;
    /// A larger step of the IP identification is another host behind the address, or a new start.
    max_ip_id_step: u16 = 2048;
    /// IP identifications before the increments of a host are known.
    min_ip_ids: u16 = 8;
    /// Share of small increments of a host that counts its packets.
    monotonic_share: Ratio = (8, 10);
    /// Packets outside recoveries before a counter of the connection's own packets is known, and the
    /// share of increments by one, or by the number of segments that are missing. A counter of all the
    /// host's packets skips numbers: with every third packet of another connection one in 40 such hosts
    /// passes.
    min_idle_ip_ids: u16 = 16;
    per_connection_share: Ratio = (9, 10);
    /// The share of these increments below which gaps of a counter are packets of other connections.
    shared_counter_share: Ratio = (4, 5);
    /// Maximum share of pure ACKs among the packets of a sender whose counter's gaps are missing data.
    max_ack_share: Ratio = (1, 10);

    // Gaps.

    /// A segment that fills a gap sooner than this share of the remote RTT is reordered: half of it
    /// allows for a path that became shorter.
    reordered_rtt: Ratio = (1, 2);
    /// The same without an RTT: 3 ms, as in tshark.
    reordered_within: i64 = 3_000_000;

    /// Maximum time by which an ACK is captured before the packet that triggered it: each queue of an
    /// interface, and each direction, has a buffer of its own.
    max_capture_swap: i64 = 20_000;

    // ACKs in transit between a remote capture and the sender.

    /// ACKs within this time, or this share of the remote RTT, count as one: they make one burst.
    ack_burst: i64 = 1_000_000;
    ack_burst_share: Ratio = (1, 100);
    /// An answer may take this share of the minimum remote RTT less: packets differ in size.
    rtt_variation: Ratio = (1, 20);
    /// A packet that passes later than this share of the remote RTT and this time after the ACK's
    /// arrival was not triggered by it.
    prompt_share: Ratio = (1, 10);
    prompt: i64 = 2_000_000;
    /// A retransmission triggered by a third duplicate ACK passes between these shares of the remote
    /// RTT after it, plus `trigger_slack`.
    trigger_window: (Ratio, Ratio) = ((9, 10), (13, 10));
    trigger_slack: i64 = 10_000_000;
    /// The same if the gap was filled meanwhile: up to this number of remote RTTs and this time, as
    /// queues stand on the path.
    late_trigger_rtts: i64 = 3;
    /// Remote RTTs for which what follows such a retransmission belongs to the same recovery.
    late_recovery_rtts: i64 = 2;
    queue_slack: i64 = 100_000_000;
    /// Remote RTTs after which the sender has received a SACK for certain, plus `queue_slack`.
    received_rtts: i64 = 2;
    /// SRTTs after which, with `queue_slack`, the first SACK of a segment is late: an ACK has three or four
    /// blocks, and receivers compress SACKs.
    late_sack_rtts: i64 = 2;
    /// Remote RTTs for which the ACK that ends an RTO recovery may be in transit.
    rto_end_rtts: Ratio = (3, 2);

    // Past classifications.

    /// An ACK is too early for a retransmission within this share of the minimum RTT: clocks and
    /// paths vary.
    early_ack: Ratio = (9, 10);
    /// Share of an RTT in which nothing can follow an RTO: the loss window is one segment until an ACK
    /// advances (RFC 5681, section 3.1).
    within_rtt: Ratio = (3, 4);
    /// ACKs without an answer that show an RTO within a recovery: a recovery answers at least every
    /// other (RFC 6675, section 5; RFC 6937).
    max_unanswered_acks: u32 = 8;
    /// A retransmission may be found spurious for this time and this number of maximum RTTs.
    spurious_after: i64 = 2_000_000_000;
    spurious_after_rtts: i64 = 4;
    /// The end of an RTO recovery is remembered for longer than any ACK is in transit.
    rto_end_remembered: i64 = 60_000_000_000;
    /// A copy within half of the minimum RTT, and of this time at least, was made by the network if it
    /// is the same packet: nothing can have triggered it. Without RTT samples: of `unknown_rtt`.
    min_duplicate_rtt: i64 = 2_000_000;
    unknown_rtt: i64 = 20_000_000;

    // ACKs that wait for the receiver's timer.

    /// An ACK that is later than the minimum RTT by this waited for a timer or a program: delayed ACK timers
    /// are 40 ms (Linux), 100 ms and 200 ms, at most 500 ms (RFC 1122, section 4.2.3.2); clocks have ticks.
    min_late_ack: i64 = 30_000_000;

    // What limits the sender.

    /// A pause between data of one end and the answer of the other, beyond the RTT, that counts as
    /// think time: less is scheduling, and the variation of the RTT.
    min_think: i64 = 10_000_000;
    /// The window is full if less than one part in this number is free beside a segment: senders wait
    /// for room for several (silly window avoidance, RFC 9293, section 3.8.6.2.1; TSO).
    full_window_parts: u32 = 8;
    /// Maximum time to the first probe of a zero window (RFC 1122: an initial RTO of 3 s; RFC 9293,
    /// section 3.8.6.1): a longer silence without a probe shows that no data was waiting.
    max_first_window_probe: i64 = 3_000_000_000;

    // Failures.

    /// Copies of data or of a FIN without an answer that show that the peer or the path is gone: a
    /// path that loses two copies in succession is rare, and the capture may end at any time.
    min_unanswered: u8 = 3;
    /// A program that resets a connection within this time after data of the peer has not read it all,
    /// or does not want more.
    unread_within: i64 = 1_000_000_000;

    // Sequence numbers.

    /// A jump beyond any window (RFC 7323, section 2.3: 1 GiB) starts the sequence space again.
    max_window: i32 = 1 << 30;
    /// A SYN whose sequence number is farther away than this starts a new connection; a nearer one is
    /// old, or an attack (RFC 5961, section 4).
    max_old_syn: u32 = 1 << 20;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_saturate_when_times_are_absurd() {
        assert_eq!(share_of(i64::MAX, (3, 2)), i64::MAX / 2);
        assert!(!is_below_share(i64::MAX / 2, 3, (1, 4)));
    }
}
