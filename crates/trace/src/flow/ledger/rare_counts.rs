//! Counts that few directions with losses have.

use crate::compact::compact;

#[derive(Debug, Clone, Copy, Default)]
pub struct RareCounts {
    /// Acknowledged bytes that were not captured.
    pub missed_bytes: u64,
    pub spurious: SpuriousCounts,
    /// New segments that were sent when a tail loss probe was due.
    pub probe_candidates: u32,
    /// The sender retransmitted the last of several segments as a tail loss probe.
    pub shows_probes: bool,
    /// Segments retransmitted by fast retransmission, then by RTO.
    pub fast_then_timeout: u32,
    pub pairs: FrRtoPairs,
    /// Retransmissions that only IP identifications show.
    pub unseen: u32,
    /// Retransmissions that fill a gap: the first copy was lost before the capture point.
    pub lost_upstream: u32,
    pub probes: ProbeTimes,
}

compact!(RareCounts {
    missed_bytes,
    spurious,
    probe_candidates,
    shows_probes,
    fast_then_timeout,
    pairs,
    unseen,
    lost_upstream,
    probes
});

impl RareCounts {
    /// Tail loss probes with new data, of a sender that is known to probe.
    pub fn new_data_probes(&self) -> u32 {
        if self.shows_probes { self.probe_candidates } else { 0 }
    }
}

/// Probes of an idle connection or of a closed window (RFC 9293, sections 3.8.4 and 3.8.6.1), and their answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProbeTimes {
    /// Keep-alive probes since the last one that was answered, and the time of the first of them.
    pub keep_alives: u32,
    pub first_at: i64,
    pub last_at: i64,
    /// Times that a closed window opened with the answer to a probe.
    pub answers_opened: u32,
}

compact!(ProbeTimes { keep_alives, first_at, last_at, answers_opened });

/// Pairs of a fast retransmission and an RTO in the same recovery, mostly of different segments, and
/// the test of `wimax-measured` for spurious ones (papers/README.md, 7.7).
#[derive(Debug, Clone, Copy, Default)]
pub struct FrRtoPairs {
    pub all: u32,
    /// The segment retransmitted by RTO was acknowledged sooner than the minimum RTT, or by the ACK for
    /// the other one.
    pub not_needed: u32,
    /// Segments retransmitted by any RTO and acknowledged sooner than the minimum RTT.
    pub early_timeouts: u32,
}

compact!(FrRtoPairs { all, not_needed, early_timeouts });

/// Spurious retransmissions, by what showed them.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpuriousCounts {
    pub by_dsack: u32,
    pub by_timestamp: u32,
    pub by_early_ack: u32,
    pub of_timeouts: u32,
}

compact!(SpuriousCounts { by_dsack, by_timestamp, by_early_ack, of_timeouts });

impl SpuriousCounts {
    pub fn all(&self) -> u32 {
        self.by_dsack + self.by_timestamp + self.by_early_ack
    }
}
