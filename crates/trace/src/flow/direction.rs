//! One direction of a flow: what one end sends, and the ACKs for it. It leads each packet through
//! clues, outstanding ranges, loss history and statistics.

use super::advertised_window::AdvertisedWindow;
use super::classify::{Classification, SegmentKind, SpanEvidence, classify_span};
use super::clues::{NumberedPacket, RttClues, Vantage};
use super::context::PacketContext;
use super::data_sender::DataSender;
use super::events::{AckEvent, DataEvent};
use super::ledger::{Ledger, Revision};
use super::loss_history::LossHistory;
use super::outstanding::{Outstanding, Placement, SendSpace};
use super::rules::RULES;
use super::segment_counts::SegmentCounts;
use super::send_stats::SendStats;
use super::seq::{seq_diff, seq_lt, seq_max};
use super::syn_offer::SynOffer;
use crate::compact::compact;
use crate::decode::{Flags, SackBlocks, Segment};

#[derive(Debug, Default)]
pub struct FlowDirection {
    space: SendSpace,
    dupacks: u32,
    last_sent_at: i64,
    last_ack_at: i64,
    last_advance_at: i64,
    counts: SegmentCounts,
    rtt: RttClues,
    /// Advertised by the other end.
    window: AdvertisedWindow,
    syn: SynOffer,
    mss: u16,
    /// An ACK for this direction was captured.
    is_acked: bool,
    sender: Option<Box<DataSender>>,
    loss: Option<Box<LossHistory>>,
}

compact!(FlowDirection {
    space,
    dupacks,
    last_sent_at,
    last_ack_at,
    last_advance_at,
    counts,
    rtt,
    window,
    syn,
    mss,
    is_acked,
    sender,
    loss
});

/// Maximum number of outstanding ranges if no ACKs are captured.
const MAX_RANGES_ONE_WAY: usize = 64;
/// Packets from which a timeline is kept.
const MIN_TIMELINE_PACKETS: u32 = 32;
/// Confidence that one old byte after a silence is a probe.
const PROBE: f32 = 0.95;

impl FlowDirection {
    /// A packet of this end. `now` never decreases.
    #[inline]
    pub(super) fn on_data(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection) -> (DataEvent, Vec<Revision>) {
        let mut revisions = Vec::new();
        self.update_clues(now, s);
        if s.seq_len() == 0 || s.flags.has(Flags::RST) {
            return (self.on_no_data(s), revisions);
        }
        if s.flags.has(Flags::SYN) {
            self.syn = SynOffer::of(s);
        }
        self.space.begin_at(s.seq);
        if self.loss.as_ref().is_some_and(|loss| loss.awaits_data()) {
            let ctx = self.context(now, s, peer);
            self.loss_mut().before_data(&ctx, &mut revisions);
        }
        let event = match self.space.place(s.seq) {
            Placement::Next => self.on_next(now, s, peer),
            Placement::AfterGap(gap) => self.on_gap(now, s, peer, gap),
            Placement::Elsewhere => {
                self.sender_mut().outstanding.clear();
                self.space.restart_at(s.seq);
                self.on_next(now, s, peer)
            }
            Placement::Old => self.on_old(now, s, peer, &mut revisions),
        };
        if let Some(loss) = self.loss.as_deref_mut() {
            loss.after_data(now - self.last_ack_at, now.saturating_sub(self.last_sent_at));
        }
        self.last_sent_at = now;
        let in_flight = self.space.in_flight();
        self.sender_mut().on_sent(now, s, in_flight);
        (event, revisions)
    }

    #[inline]
    fn update_clues(&mut self, now: i64, s: &Segment<'_>) {
        self.counts.on_packet(s);
        if s.payload > 0 {
            let segments = self.segments_in(s);
            self.sender_mut().stats.on_payload(s.payload, segments);
        }
        // The identification of a SYN-ACK is often zero.
        if let (Some(id), false) = (s.ip_id, s.flags.has(Flags::SYN)) {
            let ids = if s.payload > u32::from(self.mss) { self.segments_in(s) as u16 } else { 1 };
            if let Some(sender) = self.sender.as_deref_mut() {
                let is_idle = self.loss.as_ref().is_none_or(|loss| loss.is_idle(self.space.una()));
                let in_rto_recovery = self.loss.as_ref().is_some_and(|loss| loss.has_rto());
                sender.ip_id.on_packet(NumberedPacket { id, ids, has_payload: s.payload > 0, is_idle, in_rto_recovery });
            }
        }
        if let Some(timestamps) = s.options.timestamps {
            self.rtt.on_tsval(timestamps.value, now);
            if s.seq_len() > 0 {
                self.sender_mut().tsval_clock.on_packet(timestamps.value, now);
            }
        }
    }

    /// A pure ACK, or a probe of one byte below SND.UNA (RFC 9293, section 3.8.4).
    #[inline]
    fn on_no_data(&mut self, s: &Segment<'_>) -> DataEvent {
        if s.flags.has(Flags::RST) || !s.flags.has(Flags::ACK) {
            return DataEvent::None;
        }
        self.counts.on_pure_ack();
        self.space.begin_at(s.seq);
        if seq_diff(s.seq, self.space.una()) == 1 && self.is_acked && self.payload() > 0 {
            return self.on_probe();
        }
        DataEvent::None
    }

    /// A zero-window probe or keep-alive.
    fn on_probe(&mut self) -> DataEvent {
        let kind = if self.window.last() == 0 { SegmentKind::WindowProbe } else { SegmentKind::KeepAlive };
        let classification = Classification::new(kind, PROBE);
        self.loss_mut().ledger_mut().count(classification, 1);
        DataEvent::Classified(classification)
    }

    /// A segment at SND.NXT.
    #[inline]
    fn on_next(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection) -> DataEvent {
        let mut event = DataEvent::New;
        let skips_ids = self.sender.as_ref().is_some_and(|sender| sender.ip_id.step() > 1);
        if skips_ids || self.loss.as_ref().is_some_and(|loss| loss.has_unseen()) {
            event = self.detect_unseen_retransmission(now, s, peer);
        }
        if self.space.is_all_acked() {
            self.last_advance_at = self.last_advance_at.max(now);
        } else if now - self.last_sent_at.max(self.last_ack_at) >= RULES.min_probe_silence {
            self.detect_new_data_probe(now, s, peer);
        }
        if self.sender.as_ref().is_some_and(|sender| sender.ip_id.has_missing()) {
            self.settle_missing(0, peer);
        }
        self.push(now, s, s.seq, s.seq_len(), peer);
        self.on_new_payload(now, s, if s.payload > 0 { s.ip_len } else { 0 });
        event
    }

    /// Data that looks new may have been sent before, and lost with the packets around it.
    #[inline(never)]
    fn detect_unseen_retransmission(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection) -> DataEvent {
        let ctx = self.context(now, s, peer);
        if ctx.unseen_packets() > 0 {
            self.loss_mut().on_unseen_packets(&ctx);
        }
        let Some(loss) = self.loss.as_deref_mut().filter(|loss| loss.was_sent_unseen(s.seq)) else { return DataEvent::New };
        let classification = loss.on_unseen_retransmission(&ctx);
        self.sender_mut().ip_id.on_explained(ctx.segments);
        DataEvent::Classified(classification)
    }

    #[cold]
    fn detect_new_data_probe(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection) {
        let ctx = self.context(now, s, peer);
        let oldest = self.sender.as_ref().and_then(|sender| sender.outstanding.first());
        let is_recovering = self.loss.as_ref().is_some_and(|loss| loss.suppresses_probe(ctx.una));
        if ctx.is_new_data_probe(oldest.map_or(now, |range| range.last_at), is_recovering) {
            self.loss_mut().on_new_data_probe();
        }
    }

    /// A segment above SND.NXT.
    fn on_gap(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection, gap: u32) -> DataEvent {
        let ctx = self.context(now, s, peer);
        self.loss_mut().on_gap(&ctx);
        self.settle_missing(if ctx.sender.full_segment > 0 { gap.div_ceil(ctx.sender.full_segment) } else { 1 }, peer);
        self.push(now, s, s.seq, s.seq_len(), peer);
        self.on_new_payload(now, s, s.ip_len);
        DataEvent::AfterGap
    }

    /// A segment below SND.NXT: a probe, a segment that fills a gap, or one captured before.
    fn on_old(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection, revisions: &mut Vec<Revision>) -> DataEvent {
        if self.is_probe(now, s) {
            return self.on_probe();
        }
        let ctx = self.context(now, s, peer);
        let start = seq_max(ctx.start(), ctx.una);
        let loss = self.loss.get_or_insert_default();
        let sender = self.sender.get_or_insert_default();
        let classification = if let Some(gap) = loss.gap_at(start).filter(|_| seq_lt(start, ctx.end())) {
            sender.fill_gap(&ctx, &gap);
            loss.on_gap_fill(&ctx, &gap, revisions)
        } else {
            let previous = sender.previous_copy(&ctx, start);
            let classification = loss.on_repeat(&ctx, previous.as_ref(), revisions);
            if classification.kind.is_retransmission() {
                sender.retransmit(&ctx, start);
            }
            classification
        };
        if seq_lt(ctx.nxt, ctx.end()) {
            let new = seq_diff(ctx.nxt, ctx.end()) as u32;
            sender.stats.on_new_payload(new.min(s.payload), 0);
            self.push(now, s, ctx.nxt, new, peer);
        }
        DataEvent::Classified(classification)
    }

    /// One old byte of a sender that has nothing outstanding, after a silence or before a zero window.
    fn is_probe(&self, now: i64, s: &Segment<'_>) -> bool {
        s.payload == 1
            && (now - self.last_sent_at >= RULES.min_keep_alive || self.window.last() == 0)
            && !s.flags.has(Flags::SYN | Flags::FIN)
            && self.space.is_all_acked()
            && seq_diff(s.seq, self.space.nxt()) == 1
    }

    /// Counts what only IP identifications show, once a gap has explained `missing` segments. Not while
    /// data that was sent unseen is being retransmitted.
    #[inline(never)]
    fn settle_missing(&mut self, missing: u32, peer: &FlowDirection) {
        let is_pending = self.loss.as_ref().is_some_and(|loss| loss.was_sent_unseen(self.space.nxt()));
        let sender = self.sender.get_or_insert_default();
        sender.ip_id.on_gap(missing);
        let is_certain = sender.ip_id.has_missing() && sender.ip_ids_count_data(self.counts.pure_acks);
        if !is_pending && is_certain && !Vantage::of(&self.rtt, &peer.rtt).is_at_sender() {
            let (lost, after_rto) = sender.ip_id.take_missing();
            self.loss_mut().ledger_mut().count_unseen(lost, after_rto);
        }
    }

    #[inline]
    fn on_new_payload(&mut self, now: i64, s: &Segment<'_>, ip_len: u32) {
        let keeps_timeline = self.counts.packets >= MIN_TIMELINE_PACKETS;
        self.sender_mut().on_new_payload(now, s, ip_len, keeps_timeline);
    }

    #[inline]
    fn push(&mut self, now: i64, s: &Segment<'_>, start: u32, len: u32, peer: &FlowDirection) {
        let max_ranges = if peer.counts.packets > 0 { usize::MAX } else { MAX_RANGES_ONE_WAY };
        self.sender_mut().push(now, s, start, len, max_ranges);
        self.space.on_sent(start.wrapping_add(len));
    }

    /// A packet of the other end with the ACK flag.
    #[inline]
    pub(super) fn on_ack(&mut self, now: i64, s: &Segment<'_>) -> AckEvent {
        let is_same_window = self.window.on_packet(s);
        self.space.begin_at(s.ack);
        if !self.is_acked {
            self.on_first_ack(now, s.ack);
        }
        if let Some(timestamps) = s.options.timestamps {
            self.rtt.on_tsecr(timestamps.echo, now);
        }
        let mut event = AckEvent::default();
        let blocks = if s.options.only_timestamps() { SackBlocks::default() } else { s.options.sack() };
        if !blocks.is_empty() {
            event.spurious += self.loss_mut().on_dsack(s.ack, &blocks);
        }
        let advance = seq_diff(self.space.una(), s.ack);
        if advance > 0 {
            self.on_advance(now, s, &mut event);
        } else if advance == 0 {
            // RFC 5681, section 2: data is outstanding, no data, the same window; or SACK blocks.
            let is_pure = s.payload == 0 && !s.flags.has(Flags::SYN | Flags::FIN | Flags::RST);
            event.is_duplicate = is_pure && !self.space.is_all_acked() && (is_same_window || !blocks.is_empty());
            if event.is_duplicate {
                self.on_dupack(now);
            }
        }
        if !blocks.is_empty() {
            self.on_sack(now, &blocks);
        }
        if s.payload == 0
            && !s.flags.has(Flags::RST)
            && let Some(sender) = self.sender.as_deref_mut()
        {
            sender.stats.on_pure_ack(now);
        }
        if advance >= 0
            && let Some(loss) = self.loss.as_deref_mut()
        {
            loss.on_ack_in_transit(now, s, self.space.una(), self.dupacks);
        }
        self.last_ack_at = now;
        event
    }

    #[cold]
    fn on_first_ack(&mut self, now: i64, ack: u32) {
        self.is_acked = true;
        self.last_advance_at = now;
        if self.sender.as_ref().is_none_or(|sender| sender.outstanding.is_empty()) {
            self.space.acked_before_capture(ack);
        }
    }

    #[inline]
    fn on_advance(&mut self, now: i64, s: &Segment<'_>, event: &mut AckEvent) {
        let (una, outstanding) = (self.space.una(), self.space.outstanding());
        event.acked = seq_diff(una, s.ack) as u32;
        if let Some(loss) = self.loss.as_deref_mut() {
            event.spurious += loss.on_advance(now, s, una, &self.rtt);
        }
        let sender = self.sender.get_or_insert_default();
        let min_rtt = self.rtt.min().unwrap_or(0);
        if let Some(acked) = sender.on_acked(now, s.ack, &mut self.space, self.loss.as_deref_mut(), min_rtt) {
            if acked.gives_sample {
                let rtt = now - acked.range.first_at;
                self.rtt.on_sample(rtt);
                event.rtt = Some(rtt);
            }
            if s.flags.has(Flags::SYN) && acked.range.transmissions > 1 {
                self.rtt.on_syn_ack(now - acked.range.last_at);
            }
            let gap = now - self.last_advance_at;
            sender.stats.on_data_acked(event.acked, acked.range.first_at, gap, outstanding, sender.is_app_limited);
        }
        sender.stats.on_advance_at(now);
        sender.outstanding.shrink();
        if sender.outstanding.is_empty() {
            self.space.clear_sacked();
            if sender.is_blank() {
                self.sender = None;
            }
        }
        let uncaptured = self.space.on_acked(s.ack);
        if uncaptured > 0 {
            self.loss_mut().ledger_mut().count_missed(uncaptured.into());
        }
        self.dupacks = 0;
        self.last_advance_at = now;
    }

    fn on_dupack(&mut self, now: i64) {
        self.dupacks = self.dupacks.saturating_add(1);
        if self.dupacks == RULES.dupthresh {
            let una = self.space.una();
            self.loss_mut().on_third_dupack(una, now);
        }
        self.sender_mut().stats.on_duplicate_ack();
    }

    /// The duplicate ACK passes a remote capture on its way to this sender: the first sign of a loss
    /// behind it.
    pub(super) fn on_dupack_in_transit(&mut self, now: i64, s: &Segment<'_>, peer: &FlowDirection) {
        let vantage = Vantage::of(&self.rtt, &peer.rtt);
        let Some(remote_rtt) = vantage.remote_rtt().filter(|_| !vantage.is_at_sender()) else { return };
        let (advanced_at, una, dupacks) = (self.last_advance_at, self.space.una(), self.dupacks);
        self.loss_mut().begin_tracking_by_dupack(now, s, (advanced_at, una, dupacks), remote_rtt);
    }

    fn on_sack(&mut self, now: i64, blocks: &[(u32, u32)]) {
        let min_rtt = self.rtt.min().unwrap_or(0);
        let mut nothing = Outstanding::default();
        let outstanding = self.sender.as_deref_mut().map_or(&mut nothing, |sender| &mut sender.outstanding);
        self.loss.get_or_insert_default().on_sack(now, blocks, &mut self.space, outstanding, min_rtt);
    }

    /// `span` nanoseconds have passed since the flow's previous packet.
    #[inline]
    pub(super) fn on_span(&mut self, span: i64) {
        let Some(sender) = self.sender.as_deref_mut().filter(|sender| sender.stats.has_data()) else { return };
        let (una, is_all_acked) = (self.space.una(), self.space.is_all_acked());
        let probes = |loss: &LossHistory| loss.ledger().counts().count(SegmentKind::WindowProbe);
        let limit = classify_span(&SpanEvidence {
            span,
            is_all_acked,
            outstanding: self.space.outstanding(),
            full_segment: sender.stats.bytes().largest_segment,
            window: self.is_acked.then(|| self.window.last()),
            has_probed: is_all_acked && self.loss.as_deref().is_some_and(|loss| probes(loss) > 0),
            is_recovering: self.loss.as_ref().is_some_and(|loss| loss.is_recovering(una)),
            is_app_limited: sender.is_app_limited,
        });
        sender.stats.on_span(span, limit, self.space.in_flight(), self.rtt.has_standing_queue());
    }

    /// State of the direction for a data packet.
    fn context<'a>(&self, now: i64, s: &'a Segment<'a>, peer: &FlowDirection) -> PacketContext<'a> {
        let free = self.window.last().saturating_sub(self.space.in_flight());
        let sender = self.sender.as_ref().map_or_else(Default::default, |sender| sender.clues(self.counts.pure_acks, free));
        PacketContext {
            now,
            segment: s,
            segments: self.segments_in(s),
            una: self.space.una(),
            nxt: self.space.nxt(),
            dupacks: self.dupacks,
            last_sent_at: self.last_sent_at,
            last_ack_at: self.last_ack_at,
            last_advance_at: self.last_advance_at,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.from_acks().smoothed(),
            vantage: Vantage::of(&self.rtt, &peer.rtt),
            sender,
            sack: self.syn.allows_sack() && peer.syn.allows_sack(),
            peer_pure_acks: peer.counts.pure_acks,
            peer_syn_retransmitted: peer.count(SegmentKind::Handshake) > 0,
        }
    }

    /// Full segments in a packet: more than one if the host or the card merges them (TSO, GRO). The MSS
    /// includes options (RFC 6691), but some stacks do not count them.
    #[inline]
    fn segments_in(&self, s: &Segment<'_>) -> u32 {
        let mss = u32::from(self.mss);
        if s.payload <= mss || mss == 0 {
            return 1;
        }
        s.payload.div_ceil(mss.saturating_sub(u32::from(s.header_len) - 20).max(1))
    }

    #[inline]
    fn sender_mut(&mut self) -> &mut DataSender {
        self.sender.get_or_insert_default()
    }

    fn loss_mut(&mut self) -> &mut LossHistory {
        self.loss.get_or_insert_default()
    }

    pub(super) fn set_window_shift(&mut self, shift: u8) {
        self.window.set_shift(shift);
    }

    pub(super) fn limit_mss(&mut self, mss: u16) {
        self.mss = if self.mss == 0 { mss } else { self.mss.min(mss) };
    }

    /// The highest sequence number and the lowest unacknowledged one; none before the first segment.
    pub(super) fn space(&self) -> &SendSpace {
        &self.space
    }

    /// Bytes sent and neither acknowledged nor SACKed.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.space.in_flight()
    }

    /// Payload sent, in bytes.
    pub fn payload(&self) -> u64 {
        self.sender.as_ref().map_or(0, |sender| sender.stats.bytes().payload)
    }

    pub fn counts(&self) -> &SegmentCounts {
        &self.counts
    }

    /// RTTs between capture point and receiver.
    pub fn rtt(&self) -> &RttClues {
        &self.rtt
    }

    /// The window that the other end advertises.
    pub fn window(&self) -> &AdvertisedWindow {
        &self.window
    }

    pub fn syn(&self) -> &SynOffer {
        &self.syn
    }

    /// TTL of the first data packet; zero before it.
    pub fn data_ttl(&self) -> u8 {
        self.sender.as_ref().map_or(0, |sender| sender.data_ttl)
    }

    /// None if this end only acknowledged.
    pub fn stats(&self) -> Option<&SendStats> {
        self.sender.as_ref().map(|sender| &sender.stats)
    }

    /// None without gaps, retransmissions, SACK or probes.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.loss.as_ref().map(|loss| loss.ledger())
    }

    /// Retransmitted segments.
    pub fn retransmitted(&self) -> u32 {
        self.ledger().map_or(0, Ledger::retransmitted)
    }

    /// Segments of a kind.
    fn count(&self, kind: SegmentKind) -> u32 {
        self.ledger().map_or(0, |ledger| ledger.counts().count(kind))
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.rtt.memory()
            + self.sender.as_ref().map_or(0, |sender| sender.memory())
            + self.loss.as_ref().map_or(0, |loss| loss.memory())
    }
}
