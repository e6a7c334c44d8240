//! A data packet and the state of its direction when it passes: the input of the sender model, the
//! ledger and its revisers. A copy, so that they change nothing but themselves.

use super::classify::{ProbeEvidence, is_new_data_probe};
use super::clues::{IpIdTracker, TsvalClock, Vantage};
use super::outstanding::SentRange;
use super::rules::{RULES, share_of};
use super::seq::{seq_diff, seq_lt};
use crate::decode::Segment;

/// Times in nanoseconds, sizes in bytes.
#[derive(Debug, Clone, Copy)]
pub struct PacketContext<'a> {
    pub now: i64,
    pub segment: &'a Segment<'a>,
    /// Number of full segments in the packet (TSO).
    pub segments: u32,
    /// SND.UNA and SND.NXT, as captured.
    pub una: u32,
    pub nxt: u32,
    /// Duplicate ACKs captured since the last advancing ACK.
    pub dupacks: u32,
    pub last_sent_at: i64,
    pub last_ack_at: i64,
    pub last_advance_at: i64,
    pub min_rtt: Option<i64>,
    /// SRTT and RTTVAR.
    pub srtt: Option<(i64, i64)>,
    pub vantage: Vantage,
    pub sender: SenderClues,
    /// Both ends permit SACK, as far as known.
    pub sack: bool,
    /// Pure ACKs of the other end.
    pub peer_pure_acks: u32,
    /// The other end's SYN was retransmitted.
    pub peer_syn_retransmitted: bool,
    /// Minimum time to the answers to the other end's packets that were sent once.
    pub peer_rtt: Option<i64>,
    /// Time of the other end's last packet with data.
    pub peer_last_sent_at: i64,
}

/// What the packets of a sender show of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderClues {
    pub ip_id: IpIdTracker,
    /// Gaps in the IP identifications are missing data packets.
    pub ip_id_counts_data: bool,
    pub tsval_clock: TsvalClock,
    pub full_segment: u32,
    /// Two more segments fit into the advertised window, and data is waiting to be sent.
    pub can_send_more: bool,
    /// Initial windows as the ACKs at the sender show them, and as its timestamps do anywhere.
    pub small_initial_window: bool,
    pub small_initial_flight: bool,
    pub large_initial_window: bool,
}

impl SenderClues {
    /// The handshake was repeated, after which any stack begins with one segment (RFC 5681, section 3.1).
    pub fn forget_small_window(&mut self) {
        (self.small_initial_window, self.small_initial_flight) = (false, false);
    }

    /// The stack is older than RFC 6928.
    pub fn has_small_window(&self, at_sender: bool) -> bool {
        if at_sender { self.small_initial_window } else { self.small_initial_flight }
    }

    /// The stack is not older than tail loss probes. A large initial window is known at the sender only.
    pub fn is_modern(&self, at_sender: bool) -> bool {
        let tick = self.tsval_clock.tick();
        !self.has_small_window(at_sender) && (at_sender && self.large_initial_window || tick > 0 && tick <= RULES.modern_tick)
    }
}

impl PacketContext<'_> {
    /// First sequence number of the packet.
    pub fn start(&self) -> u32 {
        self.segment.seq
    }

    /// First sequence number after the packet.
    pub fn end(&self) -> u32 {
        self.segment.seq.wrapping_add(self.segment.seq_len())
    }

    pub fn tsval(&self) -> Option<u32> {
        self.segment.options.timestamps.map(|timestamps| timestamps.value)
    }

    pub fn is_at_sender(&self) -> bool {
        self.vantage.is_at_sender()
    }

    /// Data packets that the sender sent directly before this one and that were not captured, if the
    /// IP identifications show that.
    pub fn unseen_packets(&self) -> u32 {
        // Nothing is retransmitted before its loss can show. Queues bring packets together.
        let is_late = 2 * self.pause() >= self.vantage.remote_rtt().unwrap_or(0);
        let ids = &self.sender.ip_id;
        let may_count = ids.is_monotonic() && !ids.skips_for_others();
        let counts = self.sender.ip_id_counts_data && is_late || may_count && self.follows_rto_silence();
        match self.segment.payload > 0 && !self.is_at_sender() && counts {
            true => self.sender.ip_id.missing_data_before_last(),
            false => 0,
        }
    }

    /// The sender paused for an RTO although it had data to send, room in the window, and no request
    /// to wait for: its last packets were lost, and numbers that are missing are theirs.
    pub fn follows_rto_silence(&self) -> bool {
        let min = share_of(RULES.common_rto_min, RULES.remote_rto_min);
        self.pause() >= min && self.sender.can_send_more && self.peer_last_sent_at < self.last_sent_at
    }

    /// Time since the sender sent a packet that was captured at `at` with this TSval. Queues on the path
    /// spread packets; the sender's clock does not.
    pub fn since(&self, at: i64, tsval: Option<u32>) -> i64 {
        let captured = self.now - at;
        let ticks = self.tsval().zip(tsval).map(|(now, then)| i64::from(seq_diff(then, now)));
        match ticks.filter(|&ticks| !self.is_at_sender() && ticks >= 0) {
            Some(0) => 0,
            Some(ticks) if self.sender.tsval_clock.tick() > 0 => captured.min(ticks * self.sender.tsval_clock.tick()),
            _ => captured,
        }
    }

    /// The packet was sent after all that were captured before it, by IP identification or TSval.
    pub fn is_sent_last(&self) -> bool {
        match self.sender.ip_id.is_monotonic() && self.segment.ip_id.is_some() {
            true => self.sender.ip_id.step() > 0,
            false => self.segment.options.timestamps.is_some() && self.sender.tsval_clock.step() >= 0,
        }
    }

    /// The packet was sent before others that were captured before it, by IP identification or TSval:
    /// a retransmission is a new packet, so that this one is a copy by the network or late.
    pub fn is_old_packet(&self) -> bool {
        if self.sender.ip_id.is_monotonic() && self.segment.ip_id.is_some() {
            return self.sender.ip_id.step() <= 0;
        }
        let is_highest = !seq_lt(self.end(), self.nxt);
        self.segment.options.timestamps.is_some() && self.sender.tsval_clock.step() < i32::from(is_highest)
    }

    /// RTOs before that of this packet in the sender's pause: each one doubles (RFC 6298, section 5.5), so
    /// that they follow the first packet of the pause by 1, 3, 7 .. times the first.
    pub fn earlier_rtos(&self) -> u32 {
        let rtt = self.vantage.max_remote_rtt().saturating_add(self.min_rtt.unwrap_or(0));
        let first = share_of(RULES.common_rto_min.saturating_add(rtt), RULES.remote_due_rto).max(1);
        let intervals = self.pause() / first;
        (u32::try_from(intervals).unwrap_or(u32::MAX).saturating_add(1).ilog2()).saturating_sub(1)
    }

    /// Time since the sender's last packet, by its own clock if that is known.
    fn pause(&self) -> i64 {
        self.sender.tsval_clock.pause().unwrap_or(self.now - self.last_sent_at).max(0)
    }

    /// Time since the sender sent the range's last copy. With a remote capture by the sender's clock: a
    /// copy may be late, and queues bring two together.
    pub fn since_copy(&self, range: &SentRange) -> i64 {
        let (captured, tick) = (self.now - range.last_at, self.sender.tsval_clock.tick());
        let ticks = self.tsval().map(|tsval| i64::from(seq_diff(range.tsval, tsval)));
        ticks.filter(|&ticks| !self.is_at_sender() && tick > 0 && ticks >= 0).map_or(captured, |ticks| ticks * tick)
    }

    /// The packet is a second copy of the previous one, made by the network: it has the same
    /// identification and TSval, and nothing can have triggered a retransmission yet.
    pub fn is_same_packet(&self, previous: &SentRange) -> bool {
        let rtt = self.min_rtt.unwrap_or(RULES.unknown_rtt).max(RULES.min_duplicate_rtt);
        let is_soon = self.now - previous.last_at < rtt / 2;
        match self.tsval() {
            // No sender retransmits within the tick of a TSval.
            Some(tsval) => is_soon && tsval == previous.tsval,
            None => {
                let (id, since) = (self.segment.ip_id.unwrap_or(0), self.now - previous.last_at);
                let is_numbered = self.sender.ip_id.is_monotonic() || id > 0 && since <= RULES.max_copy_delay;
                is_soon && self.segment.ip_id == Some(previous.ip_id) && is_numbered
            }
        }
    }

    /// The packet may be a tail loss probe with new data.
    pub fn is_new_data_probe(&self, is_recovering: bool) -> bool {
        let Some((srtt, rttvar)) = self.srtt else { return false };
        let silence = self.now - self.last_sent_at.max(self.last_ack_at);
        let armed = self.now - self.last_sent_at.max(self.last_advance_at);
        let is_single = seq_diff(self.una, self.nxt) as u32 <= self.sender.full_segment;
        let evidence = ProbeEvidence { silence, armed, is_single, srtt, rttvar, is_recovering };
        self.segment.payload > 0 && self.sack && self.is_at_sender() && is_new_data_probe(&evidence)
    }
}
