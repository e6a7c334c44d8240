//! RTT between capture point and receiver of one direction, from ACKs and from timestamps.

use super::super::opt_time::OptTime;
use super::super::rules::RULES;
use super::super::seq::seq_diff;
use crate::compact::compact;
use crate::metrics::RttSampleSet;

#[derive(Debug, Default)]
pub struct RttClues {
    from_acks: RttSampleSet,
    from_timestamps: RttSampleSet,
    /// TSval that has not been echoed, and its time.
    pending_tsval: u32,
    pending_at: OptTime,
    /// From the last retransmitted SYN to its SYN-ACK, nanoseconds.
    syn_rtt: OptTime,
    standing_queue: bool,
    /// Minimum from SACKs of segments that were sent once, nanoseconds.
    min_from_sacks: OptTime,
}

compact!(RttClues { from_acks, from_timestamps, pending_tsval, pending_at, syn_rtt, standing_queue, min_from_sacks });

impl RttClues {
    /// A packet of this direction with a TSval.
    #[inline]
    pub fn on_tsval(&mut self, tsval: u32, now: i64) {
        if !self.pending_at.is_some() {
            self.pending_tsval = tsval;
            self.pending_at.set(now);
        }
    }

    /// A packet of the other direction with a TSecr (RFC 7323, section 4).
    #[inline]
    pub fn on_tsecr(&mut self, tsecr: u32, now: i64) {
        let Some(at) = self.pending_at.get() else { return };
        let past = seq_diff(self.pending_tsval, tsecr);
        if past >= 0 {
            self.pending_at.clear();
            if past == 0 {
                self.from_timestamps.add(now - at);
            }
        }
    }

    /// A sample from an ACK, nanoseconds.
    #[inline]
    pub fn on_sample(&mut self, rtt: i64) {
        self.from_acks.add(rtt);
        self.standing_queue = self.from_acks.is_srtt_above_min(RULES.standing_queue);
    }

    /// A sample from a SACK of a segment that was sent once, nanoseconds.
    pub fn on_sack_sample(&mut self, rtt: i64) {
        self.min_from_sacks.set(self.min_from_sacks.get().map_or(rtt, |min| min.min(rtt)));
    }

    /// A retransmitted SYN was answered after this time.
    pub fn on_syn_ack(&mut self, rtt: i64) {
        self.syn_rtt.set(rtt);
    }

    pub fn from_acks(&self) -> &RttSampleSet {
        &self.from_acks
    }

    /// Retransmissions included.
    pub fn from_timestamps(&self) -> &RttSampleSet {
        &self.from_timestamps
    }

    /// Minimum from ACKs.
    #[inline]
    pub fn min(&self) -> Option<i64> {
        self.from_acks.min()
    }

    /// Minimum from ACKs and timestamps.
    #[inline]
    pub fn min_of_all(&self) -> Option<i64> {
        smaller(self.from_acks.min(), self.from_timestamps.min())
    }

    /// Minimum time until an ACK, a SACK or the echo of a timestamp shows a segment to have arrived.
    #[inline]
    pub fn min_feedback(&self) -> Option<i64> {
        smaller(self.min_of_all(), self.min_from_sacks.get())
    }

    pub fn syn_rtt(&self) -> Option<i64> {
        self.syn_rtt.get()
    }

    /// SRTT is so far above the minimum that a queue stands.
    #[inline]
    pub fn has_standing_queue(&self) -> bool {
        self.standing_queue
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.from_acks.memory() + self.from_timestamps.memory()
    }
}

/// The smaller of two times, of which either may be unknown.
#[inline]
fn smaller(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298, section 2.3: a sample counts for an eighth of SRTT.
    #[test]
    fn queue_stands_when_srtt_is_more_than_a_quarter_above_the_minimum() {
        let has_queue = |second: i64| {
            let mut clues = RttClues::default();
            clues.on_sample(100_000);
            clues.on_sample(second);
            clues.has_standing_queue()
        };
        assert!(!has_queue(300_000));
        assert!(has_queue(300_008));
    }
}
