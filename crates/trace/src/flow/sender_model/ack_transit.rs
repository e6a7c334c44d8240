//! ACKs on their way from a remote capture to the sender. Which of them the sender has received when
//! it sends is known by the timestamp that it echoes (RFC 7323, section 4.3), or without timestamps
//! by the remote RTT.

use super::super::rules::{RULES, share_of};
use super::super::seq::{seq_diff, seq_lt};
use crate::compact::compact;
use crate::decode::Timestamps;
use std::collections::VecDeque;

/// What the sender knows once it has received an ACK.
#[derive(Debug, Clone, Copy)]
pub struct AckSnapshot {
    pub at: i64,
    /// Of several ACKs that count as one, the first's.
    pub first_at: i64,
    /// TSval of the first one.
    pub tsval: Option<u32>,
    pub una: u32,
    pub dupacks: u32,
    pub sack_high: Option<u32>,
}

compact!(AckSnapshot { at, first_at, tsval, una, dupacks, sack_high });

#[derive(Debug, Default)]
pub struct AckTransit {
    /// In the order of time; the sender has received the first one.
    snapshots: VecDeque<AckSnapshot>,
    /// First packet that shows the SND.UNA that the sender knows: its time and its TSval.
    advanced_at: i64,
    advanced_tsval: Option<u32>,
    /// Maximum time for which the sender can have known it before that packet.
    advanced_before: i64,
    /// The last packet was that first one.
    is_advance: bool,
    /// The last packet was sent on receipt of an ACK.
    is_prompt: bool,
    /// The sender has received an ACK since tracking began.
    is_synchronized: bool,
    /// When the last third duplicate ACK passed.
    third_dupack_at: i64,
    /// A packet passed after the sender had received three duplicate ACKs for this segment.
    repaired_una: Option<u32>,
    remote_rtt: i64,
}

compact!(AckTransit {
    snapshots,
    advanced_at,
    advanced_tsval,
    advanced_before,
    is_advance,
    is_prompt,
    is_synchronized,
    third_dupack_at,
    repaired_una,
    remote_rtt
});

/// Maximum number of ACKs.
const MAX_SNAPSHOTS: usize = 256;

impl AckTransit {
    /// Begins when something is missing at the capture. The sender receives `snapshot` after a remote
    /// RTT.
    pub fn begin(snapshot: AckSnapshot, remote_rtt: i64) -> AckTransit {
        AckTransit {
            snapshots: VecDeque::from([snapshot]),
            advanced_at: snapshot.at.saturating_add(remote_rtt),
            third_dupack_at: i64::MIN,
            remote_rtt,
            ..AckTransit::default()
        }
    }

    /// Begins when the sender shows that it has received no more than `snapshot`.
    pub fn begin_received(snapshot: AckSnapshot, remote_rtt: i64) -> AckTransit {
        AckTransit { advanced_at: snapshot.at, is_synchronized: true, ..AckTransit::begin(snapshot, remote_rtt) }
    }

    /// An ACK passes.
    pub fn on_ack(&mut self, ack: AckSnapshot) {
        if ack.dupacks == RULES.dupthresh {
            self.third_dupack_at = ack.at;
        }
        let is_only = self.snapshots.len() == 1;
        let burst = RULES.ack_burst.max(share_of(self.remote_rtt, RULES.ack_burst_share));
        match self.snapshots.back_mut().filter(|_| !is_only) {
            Some(last) if ack.at.saturating_sub(last.first_at) < burst => {
                *last = AckSnapshot { first_at: last.first_at, tsval: last.tsval, ..ack }
            }
            _ => {
                if self.snapshots.len() == MAX_SNAPSHOTS {
                    self.snapshots.pop_front();
                }
                self.snapshots.push_back(ack);
            }
        }
    }

    /// A packet of the sender passes: drops the ACKs before the last one that it has received.
    pub fn on_data_packet(&mut self, now: i64, timestamps: Option<Timestamps>, remote_rtt: i64) {
        let previous = self.snapshots.front().copied();
        // ACKs that count as one may have the same timestamp as the third duplicate, or as those before it.
        let third_at = self.third_dupack_at.saturating_add(RULES.ack_burst);
        let is_after_third = |ack: &AckSnapshot| ack.dupacks >= RULES.dupthresh && ack.first_at > third_at;
        if let Some(ack) = self.received().filter(|ack| timestamps.is_some() && is_after_third(ack)) {
            self.repaired_una = Some(ack.una);
        }
        (self.remote_rtt, self.is_prompt) = (remote_rtt, false);
        while self.snapshots.get(1).is_some_and(|next| is_received(next, now, timestamps, remote_rtt)) {
            self.snapshots.pop_front();
            self.is_synchronized = true;
            // Queues between sender and capture only make it later.
            let since = self.snapshots.front().map_or(i64::MAX, |ack| now.saturating_sub(ack.at));
            self.is_prompt = since <= remote_rtt + share_of(remote_rtt, RULES.prompt_share) + RULES.prompt;
        }
        let advance = self.snapshots.front().copied().zip(previous).filter(|(received, previous)| {
            // With timestamps nothing is known until the first echo.
            seq_lt(previous.una, received.una) || previous.tsval.is_none() && received.tsval.is_some()
        });
        self.is_advance = advance.is_some();
        if let Some((received, _)) = advance {
            self.advanced_at = now;
            self.advanced_before = now.saturating_sub(received.at.saturating_add(remote_rtt)).max(0);
            self.advanced_tsval = timestamps.map(|timestamps| timestamps.value);
        }
    }

    /// The last packet is the first since the sender received its last advancing ACK.
    pub fn is_advance(&self) -> bool {
        self.is_advance
    }

    /// The last packet was sent on receipt of an ACK.
    pub fn is_prompt(&self) -> bool {
        self.is_prompt
    }

    /// The last ACK that the sender has received; none before the first.
    pub fn received(&self) -> Option<AckSnapshot> {
        self.snapshots.front().filter(|_| self.is_synchronized).copied()
    }

    /// A packet at `now` has the time of a retransmission that the third duplicate ACK triggers.
    fn is_triggered(&self, now: i64) -> bool {
        let since = now.saturating_sub(self.third_dupack_at);
        let (from, to) = RULES.trigger_window;
        since >= share_of(self.remote_rtt, from) && since <= share_of(self.remote_rtt, to) + RULES.trigger_slack
    }

    /// The sender has sent packets after it received three duplicate ACKs for the segment at `seq`: it
    /// had retransmitted that segment before them.
    pub fn has_repaired(&self, seq: u32) -> bool {
        self.repaired_una == Some(seq)
    }

    /// Duplicate ACKs on their way to the sender.
    pub fn pending_dupacks(&self) -> u32 {
        match (self.snapshots.front(), self.snapshots.back()) {
            (Some(received), Some(last)) if received.una == last.una => last.dupacks.saturating_sub(received.dupacks),
            _ => 0,
        }
    }

    /// The sender has received all ACKs.
    pub fn is_empty(&self) -> bool {
        self.snapshots.len() <= 1
    }

    /// Time since the sender received its last advancing ACK, for a packet at `now` with this TSval;
    /// `tick` is that of the TSval clock, zero while unknown.
    pub fn since_advance(&self, now: i64, tsval: Option<u32>, tick: i64) -> i64 {
        // Without timestamps a queue on the path looks like a pause of the sender.
        if tsval.is_none() && self.is_triggered(now) {
            return 0;
        }
        match (tsval, self.advanced_tsval) {
            (Some(tsval), Some(advanced)) if tick > 0 && !self.is_advance => {
                i64::from(seq_diff(advanced, tsval)).saturating_mul(tick)
            }
            _ if self.is_advance => self.advanced_before,
            _ => now.saturating_sub(self.advanced_at).max(0),
        }
    }

    /// Memory in bytes, heap included.
    pub fn memory(&self) -> usize {
        size_of::<AckTransit>() + self.snapshots.capacity() * size_of::<AckSnapshot>()
    }
}

fn is_received(ack: &AckSnapshot, now: i64, timestamps: Option<Timestamps>, remote_rtt: i64) -> bool {
    match (ack.tsval, timestamps) {
        (Some(tsval), Some(sender)) => !seq_lt(sender.echo, tsval),
        _ => ack.first_at.saturating_add(remote_rtt - share_of(remote_rtt, RULES.rtt_variation)) <= now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(at: i64, tsval: u32, una: u32, dupacks: u32) -> AckSnapshot {
        AckSnapshot { at, first_at: at, tsval: Some(tsval), una, dupacks, sack_high: None }
    }

    #[test]
    fn ack_transit_follows_the_echoed_timestamp_and_measures_by_the_senders_clock() {
        let mut transit = AckTransit::begin(snapshot(0, 100, 1000, 0), 50);
        transit.on_ack(snapshot(10_000_000, 110, 2000, 0));
        transit.on_ack(snapshot(20_000_000, 120, 2000, 1));
        transit.on_data_packet(60_000_000, Some(Timestamps { value: 7000, echo: 110 }), 50);
        assert_eq!(transit.received().map(|ack| (ack.una, ack.dupacks)), Some((2000, 0)));
        transit.on_data_packet(70_000_000, Some(Timestamps { value: 7010, echo: 125 }), 50);
        assert_eq!(transit.received().map(|ack| (ack.una, ack.dupacks)), Some((2000, 1)));
        assert!(transit.is_empty());
        assert_eq!(transit.since_advance(99_000_000, Some(7300), 1_000_000), 300_000_000);
    }

    #[test]
    fn ack_is_received_after_all_but_a_twentieth_of_the_remote_rtt_when_there_are_no_timestamps() {
        let ack = AckSnapshot { tsval: None, ..snapshot(0, 0, 1000, 0) };
        assert!(!is_received(&ack, 94_999_999, None, 100_000_000));
        assert!(is_received(&ack, 95_000_000, None, 100_000_000));
    }
}
