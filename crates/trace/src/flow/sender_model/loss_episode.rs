//! State of the sender from the first loss until all is repaired.

use super::super::rules::RULES;
use super::super::seq::{seq_lt, seq_max};
use super::{AckTransit, RackState};
use crate::compact::compact;

/// A retransmission that counts as fast, and left when the RTO was due.
#[derive(Debug, Clone, Copy)]
pub struct DueCopy {
    pub at: i64,
    /// SND.NXT.
    pub nxt: u32,
}

compact!(DueCopy { at, nxt });

#[derive(Debug, Default)]
pub struct LossEpisode {
    /// Until this is acknowledged the sender repairs after an RTO: SND.NXT at the RTO.
    pub(super) rto_high: Option<u32>,
    /// The RTO is undone if an ACK reports data that it did not retransmit (F-RTO, RFC 5682, section 3).
    pub(super) is_frto: bool,
    /// The same of an RTO that was shown to be spurious, and when.
    pub(super) undone_rto_high: Option<u32>,
    pub(super) undone_at: i64,
    /// Until this is acknowledged the sender is in fast recovery (RFC 6582, `recover`).
    pub(super) recovery_high: Option<u32>,
    /// The last `rto_high` that was acknowledged, and when: a remote capture sees the ACK before the
    /// sender does.
    pub(super) ended_rto: Option<(u32, i64)>,
    pub(super) sack_high: Option<u32>,
    /// Up to here captured data that looks new was sent before: IP identifications show that.
    pub(super) unseen_high: Option<u32>,
    /// When the last SACK arrived that reported new data.
    pub(super) sacked_at: i64,
    /// SACK blocks of the last ACK, so that their ranges are not marked again.
    last_sacks: [(u32, u32); 4],
    /// Score of packets that no ACK triggered, up to 15.
    paced: u8,
    /// Time between the last two data packets.
    pub(super) last_gap: i64,
    /// SRTT and RTTVAR as a sender has them that takes samples from SACKs as well (Linux from 3.0 on);
    /// none before the first such sample.
    pub(super) sack_rtt: Option<(i64, i64)>,
    /// The same when SND.UNA last advanced, which restarts the timer with the RTO of that time (RFC 6298,
    /// section 5.3).
    pub(super) armed_rtt: Option<(i64, i64)>,
    /// RACK's state when the sender last sent: what changed since can have triggered the next packet.
    pub(super) rack_at_last_sent: RackState,
    /// The last retransmission that left when the RTO was due, and counts as fast.
    pub(super) due_copy: Option<DueCopy>,
    /// ACKs on their way to the sender, if the capture is remote.
    pub(super) transit: Option<Box<AckTransit>>,
}

compact!(LossEpisode {
    rto_high,
    is_frto,
    undone_rto_high,
    undone_at,
    recovery_high,
    ended_rto,
    sack_high,
    unseen_high,
    sacked_at,
    last_sacks,
    paced,
    last_gap,
    sack_rtt,
    armed_rtt,
    rack_at_last_sent,
    due_copy,
    transit
});

/// No loss and no recovery.
pub static IDLE: LossEpisode = LossEpisode {
    rto_high: None,
    is_frto: false,
    undone_rto_high: None,
    undone_at: 0,
    recovery_high: None,
    ended_rto: None,
    sack_high: None,
    unseen_high: None,
    sacked_at: i64::MIN,
    last_sacks: [(0, 0); 4],
    paced: 0,
    last_gap: 0,
    sack_rtt: None,
    armed_rtt: None,
    rack_at_last_sent: RackState::NONE,
    due_copy: None,
    transit: None,
};

/// Maximum score of pacing, and what a packet without a trigger adds.
const MAX_PACED: u8 = 15;
const UNTRIGGERED: u8 = 2;

impl LossEpisode {
    /// Fast recovery or the repair after an RTO is under way.
    #[inline]
    pub fn is_recovering(&self, una: u32) -> bool {
        is_open(self.rto_high, una) || is_open(self.recovery_high, una)
    }

    pub fn is_paced(&self) -> bool {
        self.paced > RULES.paced_score
    }

    /// A data packet passed, `since_ack` after the last ACK and `gap` after the previous data packet.
    #[inline]
    pub fn on_sent(&mut self, since_ack: i64, gap: i64, rack: RackState) {
        self.rack_at_last_sent = rack;
        self.last_gap = gap;
        let is_triggered = since_ack < RULES.max_ack_delay;
        self.paced = if is_triggered { self.paced.saturating_sub(1) } else { (self.paced + UNTRIGGERED).min(MAX_PACED) };
    }

    /// The segment at `seq` was sent before and not captured.
    pub fn was_sent_unseen(&self, seq: u32) -> bool {
        is_open(self.unseen_high, seq)
    }

    /// The sender has received an ACK for `ack`.
    pub fn on_ack_received(&mut self, now: i64, ack: u32) {
        if let Some(high) = self.rto_high.filter(|&high| !seq_lt(ack, high)) {
            self.ended_rto = Some((high, now));
            self.rto_high = None;
        }
        if self.recovery_high.is_some_and(|high| !seq_lt(ack, high)) {
            self.recovery_high = None;
        }
    }

    /// The part of a SACK block that the last ACK did not report, from this sequence number on.
    pub fn first_newly_sacked(&self, left: u32, right: u32) -> u32 {
        let known = self.last_sacks.iter().find(|block| block.0 == left && !seq_lt(right, block.1));
        known.map_or(left, |block| block.1)
    }

    /// A sample from an ACK or a SACK; `acked` are SRTT and RTTVAR by ACKs alone (RFC 6298, section 2.3:
    /// gains 1/8 and 1/4; RTTVAR uses the old SRTT).
    pub fn on_rtt_sample(&mut self, sample: i64, acked: Option<(i64, i64)>) {
        let (srtt, rttvar) = self.sack_rtt.or(acked).unwrap_or((sample, sample / 2));
        self.sack_rtt = Some((srtt + (sample - srtt) / 8, rttvar + ((srtt - sample).abs() - rttvar) / 4));
    }

    pub fn on_sacked(&mut self, right: u32) {
        self.sack_high = Some(self.sack_high.map_or(right, |high| seq_max(high, right)));
    }

    pub fn remember_sacks(&mut self, blocks: [(u32, u32); 4]) {
        self.last_sacks = blocks;
    }

    /// Extends the repair after an RTO to `end`.
    pub fn extend_rto(&mut self, end: u32) {
        self.rto_high = self.rto_high.map(|high| seq_max(high, end));
    }

    /// What was sent unseen is this number of bytes shorter, but ends at `min_end` or above; with it the
    /// recovery or the repair that ends with it.
    pub fn shorten_unseen(&mut self, bytes: u32, min_end: u32) {
        let Some(high) = self.unseen_high else { return };
        let end = seq_max(high.wrapping_sub(bytes), min_end);
        for estimate in [&mut self.unseen_high, &mut self.rto_high, &mut self.recovery_high] {
            *estimate = estimate.map(|known| if known == high { end } else { known });
        }
    }

    /// Nothing is left of the episode, provided that there are no gaps: all below `una` is
    /// acknowledged.
    pub fn is_over(&self, now: i64, una: u32) -> bool {
        self.transit.is_none()
            && self.sack_high.is_none()
            && !self.is_recovering(una)
            && !is_open(self.undone_rto_high, una)
            && !self.was_sent_unseen(una)
            && self.ended_rto.is_none_or(|(_, at)| now - at > RULES.rto_end_remembered)
    }

    /// Memory in bytes, heap included.
    pub fn memory(&self) -> usize {
        size_of::<LossEpisode>() + self.transit.as_ref().map_or(0, |transit| transit.memory())
    }
}

/// `high` has not been acknowledged yet.
#[inline]
pub fn is_open(high: Option<u32>, una: u32) -> bool {
    high.is_some_and(|high| seq_lt(una, high))
}
