//! One direction of a flow: what one end sends, and the ACKs for it.

use super::advertised_window::AdvertisedWindow;
use super::clues::{RttClues, Vantage};
use super::end_clues::EndClues;
use super::events::{AckEvent, DataEvent};
use super::ledger::{Ledger, Revision};
use super::outstanding::SendSpace;
use super::received_acks::ReceivedAcks;
use super::rules::RULES;
use super::segment_counts::SegmentCounts;
use super::send_stats::SendStats;
use super::sent_data::{SentData, SentPacket};
use super::silent_peer::Unanswered;
use super::syn_offer::SynOffer;
use crate::compact::compact;
use crate::decode::{Flags, SackBlocks, Segment};

#[derive(Debug, Default)]
pub struct FlowDirection {
    data: SentData,
    acks: ReceivedAcks,
    clues: EndClues,
}

compact!(FlowDirection { data, acks, clues });

impl FlowDirection {
    /// A packet of this end. `now` never decreases.
    #[inline]
    pub(super) fn on_data(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection) -> (DataEvent, Vec<Revision>) {
        let FlowDirection { data, acks, clues } = self;
        clues.on_packet(now, s);
        let packet = SentPacket { now, segment: s, clues, acks, peer: &peer.clues, peer_data: &peer.data };
        data.update_clues(&packet);
        let mut revisions = Vec::new();
        let event = match s.seq_len() == 0 || s.flags.has(Flags::RST) {
            true => data.on_no_data(&packet),
            false => data.on_data(&packet, &mut revisions),
        };
        (event, revisions)
    }

    /// A packet of the other end with the ACK flag.
    #[inline]
    pub(super) fn on_ack(&mut self, now: i64, s: &Segment<'_>) -> AckEvent {
        let FlowDirection { data, acks, clues } = self;
        let (was_closed, previous_at) = (acks.window().is_closed(), acks.last_at());
        let ack = acks.on_packet(now, s);
        if was_closed && !acks.window().is_closed() {
            data.on_window_opened(previous_at);
        }
        data.begin_at_ack(now, s.ack, ack.is_first);
        clues.on_ack(now, s);
        let mut event = AckEvent::default();
        let blocks = if s.options.only_timestamps() { SackBlocks::default() } else { s.options.sack() };
        if !blocks.is_empty() {
            event.spurious += data.on_dsack(s.ack, &blocks);
        }
        let advance = data.space().advance_by(s.ack);
        if advance > 0 {
            data.on_advance(now, s, clues.rtt_mut(), &mut event);
            acks.on_advance();
        } else if advance == 0 && !data.space().is_all_acked() && ack.is_duplicate(s, !blocks.is_empty()) {
            event.is_duplicate = true;
            data.on_dupack(now, acks.on_duplicate());
        }
        if !blocks.is_empty() {
            data.on_sack(now, (&blocks, advance > 0), clues.rtt_mut());
        }
        data.after_ack(now, s, advance, acks.dupacks());
        event
    }

    /// The duplicate ACK passes a remote capture on its way to this sender.
    pub(super) fn on_dupack_in_transit(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection) {
        let vantage = Vantage::of(self.clues.rtt(), peer.clues.rtt());
        self.data.on_dupack_in_transit(now, s, self.acks.dupacks(), vantage);
    }

    /// `span` nanoseconds have passed since the flow's previous packet.
    #[inline]
    pub(super) fn on_span(&mut self, span: i64) {
        self.data.on_span(span, &self.acks, self.clues.rtt());
    }

    pub(super) fn set_window_shift(&mut self, shift: u8) {
        self.acks.set_window_shift(shift);
    }

    pub(super) fn limit_mss(&mut self, mss: u16) {
        self.clues.limit_mss(mss);
    }

    /// The highest sequence number and the lowest unacknowledged one; none before the first segment.
    pub(super) fn space(&self) -> &SendSpace {
        self.data.space()
    }

    /// Bytes sent and neither acknowledged nor SACKed.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.data.space().in_flight()
    }

    /// Time of the last packet of this end with data, SYN or FIN; zero before it.
    pub(super) fn last_sent_at(&self) -> i64 {
        self.data.last_at()
    }

    /// What this end has sent several times until `now` without an answer.
    pub fn unanswered(&self, now: i64) -> Option<Unanswered> {
        self.data.unanswered(now, &self.acks, self.counts().fins)
    }

    /// Keep-alive probes that nothing has answered until the flow's last packet, and the time of the first; none if
    /// there were fewer than show that the other end is gone.
    pub fn unanswered_probes(&self) -> Option<(u32, i64)> {
        let probes = self.ledger()?.rare().probes;
        let is_silent = probes.keep_alives >= u32::from(RULES.min_unanswered) && self.acks.last_at() < probes.first_at;
        is_silent.then_some((probes.keep_alives, probes.first_at))
    }

    /// The other end has sent an ACK, captured in its direction.
    pub fn has_acks(&self) -> bool {
        self.acks.has_any()
    }

    /// Payload sent, in bytes.
    pub fn payload(&self) -> u64 {
        self.data.payload()
    }

    pub fn counts(&self) -> &SegmentCounts {
        self.clues.counts()
    }

    /// RTTs between capture point and receiver.
    pub fn rtt(&self) -> &RttClues {
        self.clues.rtt()
    }

    /// The window that the other end advertises.
    pub fn window(&self) -> &AdvertisedWindow {
        self.acks.window()
    }

    pub fn syn(&self) -> &SynOffer {
        self.clues.syn()
    }

    /// TTL of the first data packet; zero before it.
    pub fn data_ttl(&self) -> u8 {
        self.data.data_ttl()
    }

    /// None if this end only acknowledged.
    pub fn stats(&self) -> Option<&SendStats> {
        self.data.stats()
    }

    /// None without gaps, retransmissions, SACK or probes.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.data.ledger()
    }

    /// Retransmitted segments.
    pub fn retransmitted(&self) -> u32 {
        self.ledger().map_or(0, Ledger::retransmitted)
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.clues.memory() + self.acks.memory() + self.data.memory()
    }
}
