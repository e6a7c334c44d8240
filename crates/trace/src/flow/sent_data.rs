//! Data that one end sent, and what became of it: acknowledged, lost, retransmitted.

use super::classify::{Classification, KindRule, SegmentKind, SpanEvidence, classify_span};
use super::clues::{NumberedPacket, RttClues, Vantage};
use super::context::{PacketContext, SenderClues};
use super::data_sender::DataSender;
use super::end_clues::EndClues;
use super::events::{AckEvent, DataEvent};
use super::ledger::{Ledger, Revision};
use super::loss_history::LossHistory;
use super::outstanding::{AckedUncaptured, Outstanding, Placement, SendSpace};
use super::received_acks::ReceivedAcks;
use super::rules::RULES;
use super::send_stats::SendStats;
use super::seq::{seq_diff, seq_lt, seq_max};
use super::silent_peer::{MAX_COPIES, Unanswered, UnansweredKind};
use crate::compact::compact;
use crate::decode::{Flags, Segment};

#[derive(Debug, Default)]
pub struct SentData {
    space: SendSpace,
    last_at: i64,
    /// SND.UNA advanced, or data was sent with nothing outstanding: the retransmission timer restarts
    /// (RFC 6298, section 5).
    last_advance_at: i64,
    /// None while this end only acknowledges.
    sender: Option<Box<DataSender>>,
    /// None before a gap, a retransmission, SACK blocks or a probe.
    loss: Option<Box<LossHistory>>,
}

compact!(SentData { space, last_at, last_advance_at, sender, loss });

/// A packet of this end, with the state of both ends when it passes.
#[derive(Debug, Clone, Copy)]
pub struct SentPacket<'a> {
    pub now: i64,
    pub segment: &'a Segment<'a>,
    pub clues: &'a EndClues,
    pub acks: &'a ReceivedAcks,
    pub peer: &'a EndClues,
    pub peer_data: &'a SentData,
}

/// Maximum number of outstanding ranges if no ACKs are captured.
const MAX_RANGES_ONE_WAY: usize = 64;
/// Packets from which a timeline is kept.
const MIN_TIMELINE_PACKETS: u32 = 32;
/// Confidence that one old byte after a silence is a probe.
const PROBE: f32 = 0.95;

impl SentPacket<'_> {
    /// The direction has enough packets for a timeline of bytes.
    #[inline]
    fn keeps_timeline(&self) -> bool {
        self.clues.counts().packets >= MIN_TIMELINE_PACKETS
    }

    #[inline]
    fn segments(&self) -> u32 {
        self.clues.mss().segments_in(self.segment)
    }

    /// Maximum number of outstanding ranges.
    #[inline]
    fn max_ranges(&self) -> usize {
        if self.peer.counts().packets > 0 { usize::MAX } else { MAX_RANGES_ONE_WAY }
    }
}

impl SentData {
    // Packets of this end.

    /// Updates what the packet shows of a data sender.
    #[inline]
    pub fn update_clues(&mut self, packet: &SentPacket<'_>) {
        let (now, s) = (packet.now, packet.segment);
        if s.payload > 0 {
            let space = packet.clues.syn().is_captured.then(|| (self.space.una(), self.space.nxt()));
            self.sender_mut().on_payload(s, packet.segments(), space);
        }
        // The identification of a SYN-ACK is often zero.
        if let (Some(id), false) = (s.ip_id, s.flags.has(Flags::SYN)) {
            let ids = if packet.clues.mss().is_exceeded_by(s) { packet.segments() as u16 } else { 1 };
            if let Some(sender) = self.sender.as_deref_mut() {
                let is_idle = self.loss.as_ref().is_none_or(|loss| loss.is_idle(self.space.una()));
                let in_rto_recovery = self.loss.as_ref().is_some_and(|loss| loss.has_rto());
                let (has_payload, acks) = (s.payload > 0, packet.peer_data.last_advance_at == now);
                let full_segment = sender.stats.bytes().largest_segment;
                let window = packet.acks.window().last().max(self.space.outstanding());
                let numbered = NumberedPacket { id, ids, has_payload, acks, is_idle, window, full_segment, in_rto_recovery };
                sender.ip_id.on_packet(numbered);
            }
        }
        if let Some(timestamps) = s.options.timestamps.filter(|_| s.seq_len() > 0) {
            self.sender_mut().tsval_clock.on_packet(timestamps.value, now);
        }
    }

    /// A packet without data, or a probe of one byte below SND.UNA (RFC 9293, section 3.8.4).
    #[inline]
    pub fn on_no_data(&mut self, packet: &SentPacket<'_>) -> DataEvent {
        let s = packet.segment;
        if s.flags.has(Flags::RST) || !s.flags.has(Flags::ACK) {
            return DataEvent::None;
        }
        self.space.begin_at(s.seq);
        let has_sent = self.payload() > 0 || packet.clues.syn().is_captured;
        if seq_diff(s.seq, self.space.una()) == 1 && packet.acks.has_any() && has_sent {
            return self.on_probe(packet);
        }
        DataEvent::None
    }

    /// A packet with data, SYN or FIN.
    #[inline]
    pub fn on_data(&mut self, packet: &SentPacket<'_>, revisions: &mut Vec<Revision>) -> DataEvent {
        let (now, s) = (packet.now, packet.segment);
        self.space.begin_at(s.seq);
        if self.loss.as_ref().is_some_and(|loss| loss.awaits_data()) {
            let ctx = self.context(packet);
            self.loss_mut().before_data(&ctx, revisions);
        }
        let event = match self.space.place(s.seq) {
            Placement::Next => self.on_next(packet),
            Placement::AfterGap(gap) => self.on_gap(packet, gap),
            Placement::Elsewhere => {
                self.sender_mut().outstanding.clear();
                self.space.restart_at(s.seq);
                self.on_next(packet)
            }
            Placement::Old => self.on_old(packet, revisions),
        };
        if let Some(loss) = self.loss.as_deref_mut() {
            loss.after_data(now - packet.acks.last_at(), now.saturating_sub(self.last_at));
        }
        self.last_at = now;
        let in_flight = self.space.in_flight();
        self.sender_mut().on_sent(now, s, in_flight);
        event
    }

    /// A zero-window probe or keep-alive.
    fn on_probe(&mut self, packet: &SentPacket<'_>) -> DataEvent {
        let classification = match packet.acks.window().last() {
            0 => Classification::new(SegmentKind::WindowProbe, PROBE, KindRule::WindowProbe),
            _ => Classification::new(SegmentKind::KeepAlive, PROBE, KindRule::KeepAlive),
        };
        let ledger = self.loss_mut().ledger_mut();
        ledger.count(classification, 1);
        ledger.on_probe(packet.now, classification.kind, packet.acks.last_at());
        DataEvent::Classified(classification)
    }

    /// A closed window opened with a packet of the other end, whose last one before it came at `previous_at`.
    pub fn on_window_opened(&mut self, previous_at: i64) {
        if let Some(loss) = self.loss.as_deref_mut() {
            loss.ledger_mut().on_window_opened(previous_at);
        }
    }

    /// A segment at SND.NXT.
    #[inline]
    fn on_next(&mut self, packet: &SentPacket<'_>) -> DataEvent {
        let (now, s) = (packet.now, packet.segment);
        let mut event = DataEvent::New;
        if s.payload == 1 && self.is_new_data_window_probe(packet) {
            self.space.on_probe();
            return self.on_probe(packet);
        }
        if packet.peer_data.last_at > self.last_at || self.space.is_all_acked() {
            self.detect_think_time(packet);
        }
        // A packet that a later one overtook is no retransmission of what was sent before that.
        let step = self.sender.as_ref().map_or(1, |sender| sender.ip_id.step());
        if step > 1 || step >= 0 && self.loss.as_ref().is_some_and(|loss| loss.has_unseen()) {
            event = self.detect_unseen_retransmission(packet);
        }
        if self.space.is_all_acked() {
            self.last_advance_at = self.last_advance_at.max(now);
            let sender = self.sender.as_deref_mut().filter(|_| s.payload > 0);
            if let Some(late) = sender.and_then(|sender| sender.stats.late_acks_mut()) {
                let remote_rtt = packet.peer.rtt().min_of_all().unwrap_or(0);
                late.on_data(now, packet.peer_data.last_at, remote_rtt, packet.clues.mss().is_filled_by(s));
            }
        } else if now - self.last_at.max(packet.acks.last_at()) >= RULES.min_probe_silence {
            self.detect_new_data_probe(packet);
        }
        if let Some(sender) = self.sender.as_deref_mut().filter(|sender| sender.ip_id.has_missing()) {
            sender.ip_id.on_late(packet.segments());
            self.settle_missing(0, packet);
        }
        self.push_new(packet, if s.payload > 0 { s.ip_len } else { 0 });
        event
    }

    /// A byte of new data before a closed window: the receiver need not accept it (RFC 9293, section
    /// 3.8.6.1), so that SND.NXT stays.
    #[cold]
    fn is_new_data_window_probe(&self, packet: &SentPacket<'_>) -> bool {
        packet.acks.window().is_closed() && self.space.is_all_acked() && !packet.segment.flags.has(Flags::SYN | Flags::FIN)
    }

    /// This end's first data after the other end's: what is beyond the RTT to this end is think time.
    /// So is the time from the end of the handshake to the data of the end that begins.
    #[cold]
    fn detect_think_time(&mut self, packet: &SentPacket<'_>) {
        let (now, payload, peer) = (packet.now, packet.segment.payload, packet.peer_data);
        let begins = packet.clues.syn().is_captured && self.payload() <= u64::from(payload) && peer.payload() == 0;
        let received_at = if begins { peer.last_at.max(self.last_advance_at) } else { peer.last_at };
        if payload == 0 || received_at <= 0 || received_at < self.last_at {
            return;
        }
        let arrived_at = received_at + packet.peer.rtt().min().unwrap_or(0);
        // An ACK that came before shows that the data had arrived.
        let acked_at = if peer.space.is_all_acked() && peer.last_advance_at < now { peer.last_advance_at } else { 0 };
        let think = now - arrived_at.max(acked_at);
        if think >= RULES.min_think {
            self.sender_mut().stats.on_think(now, think);
        }
    }

    /// Data that looks new may have been sent before, and lost with the packets around it.
    #[inline(never)]
    fn detect_unseen_retransmission(&mut self, packet: &SentPacket<'_>) -> DataEvent {
        let ctx = self.context(packet);
        if ctx.unseen_packets() > 0 {
            self.loss_mut().on_unseen_packets(&ctx);
        }
        let Some(loss) = self.loss.as_deref_mut().filter(|loss| loss.was_sent_unseen(ctx.start())) else {
            return DataEvent::New;
        };
        let classification = loss.on_unseen_retransmission(&ctx);
        self.sender_mut().ip_id.on_explained(ctx.segments);
        DataEvent::Classified(classification)
    }

    #[cold]
    fn detect_new_data_probe(&mut self, packet: &SentPacket<'_>) {
        let ctx = self.context(packet);
        let is_recovering = self.loss.as_ref().is_some_and(|loss| loss.suppresses_probe(ctx.una));
        if ctx.is_new_data_probe(is_recovering) {
            self.loss_mut().on_new_data_probe();
        }
    }

    /// A segment above SND.NXT.
    fn on_gap(&mut self, packet: &SentPacket<'_>, gap: u32) -> DataEvent {
        let s = packet.segment;
        let ctx = self.context(packet);
        self.loss_mut().on_gap(&ctx);
        let unseen = self.loss_mut().was_sent_unseen(s.seq).then(|| self.loss_mut().on_unseen_retransmission(&ctx));
        self.settle_missing(if ctx.sender.full_segment > 0 { gap.div_ceil(ctx.sender.full_segment) } else { 1 }, packet);
        self.push_new(packet, s.ip_len);
        unseen.map_or(DataEvent::AfterGap, DataEvent::Classified)
    }

    /// A segment below SND.NXT: a probe, a segment that fills a gap, or one captured before.
    fn on_old(&mut self, packet: &SentPacket<'_>, revisions: &mut Vec<Revision>) -> DataEvent {
        if self.is_probe(packet) {
            return self.on_probe(packet);
        }
        let mut ctx = self.context(packet);
        let late = self.loss.as_ref().and_then(|loss| loss.captured_late(ctx.start(), ctx.now));
        if is_first_syn(packet) || late.is_some_and(|late| !late.was_gap) {
            return self.on_new_after_ack(packet);
        }
        if let Some(late) = &late {
            // The sender did not know of the ACK.
            ctx.una = late.gap.start;
        }
        let start = seq_max(ctx.start(), ctx.una);
        let loss = self.loss.get_or_insert_default();
        let sender = self.sender.get_or_insert_default();
        let gap = loss.gap_at(start).or(late.map(|late: AckedUncaptured| late.gap));
        let classification = if let Some(gap) = gap.filter(|_| seq_lt(start, ctx.end())) {
            if late.is_some() {
                loss.ledger_mut().uncount_missed(ctx.segment.payload);
            }
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
            sender.stats.on_new_payload(new.min(ctx.segment.payload), 0);
            sender.push(ctx.now, ctx.segment, ctx.nxt, new, packet.max_ranges());
            self.space.on_sent(ctx.nxt.wrapping_add(new));
        }
        DataEvent::Classified(classification)
    }

    /// New data, captured just after its own ACK.
    fn on_new_after_ack(&mut self, packet: &SentPacket<'_>) -> DataEvent {
        let s = packet.segment;
        if let Some(loss) = self.loss.as_deref_mut() {
            loss.ledger_mut().uncount_missed(s.payload);
        }
        let (ip_len, keeps_timeline) = (if s.payload > 0 { s.ip_len } else { 0 }, packet.keeps_timeline());
        self.sender_mut().on_new_payload(packet.now, s, ip_len, keeps_timeline);
        DataEvent::New
    }

    /// One old byte of a sender that has nothing outstanding, after a silence, before a zero window, or where the
    /// last segment had more: retransmissions have all of theirs.
    fn is_probe(&self, packet: &SentPacket<'_>) -> bool {
        let s = packet.segment;
        s.payload == 1
            && (packet.now - self.last_at >= RULES.min_keep_alive
                || packet.acks.window().last() == 0
                || self.sender.as_ref().is_some_and(|sender| sender.last_payload > 1))
            && !s.flags.has(Flags::SYN | Flags::FIN)
            && self.space.is_all_acked()
            && seq_diff(s.seq, self.space.nxt()) == 1
    }

    /// Counts what only IP identifications show, once a gap has explained `missing` segments. Not while
    /// data that was sent unseen is being retransmitted.
    #[inline(never)]
    fn settle_missing(&mut self, missing: u32, packet: &SentPacket<'_>) {
        let is_pending = self.loss.as_ref().is_some_and(|loss| loss.was_sent_unseen(self.space.nxt()));
        let sender = self.sender.get_or_insert_default();
        sender.ip_id.on_gap(missing);
        if !is_pending {
            sender.ip_id.drop_unneeded();
        }
        let is_certain = sender.ip_id.has_missing() && sender.ip_ids_count_data(packet.clues.counts().pure_acks);
        if !is_pending && is_certain && !Vantage::of(packet.clues.rtt(), packet.peer.rtt()).is_at_sender() {
            let (lost, after_rto) = sender.ip_id.take_missing();
            self.loss_mut().ledger_mut().count_unseen(lost, after_rto);
        }
    }

    /// A new segment, of which `ip_len` bytes count as new.
    #[inline]
    fn push_new(&mut self, packet: &SentPacket<'_>, ip_len: u32) {
        let (now, s) = (packet.now, packet.segment);
        let sender = self.sender.get_or_insert_default();
        sender.push(now, s, s.seq, s.seq_len(), packet.max_ranges());
        sender.on_new_payload(now, s, ip_len, packet.keeps_timeline());
        self.space.on_sent(s.seq.wrapping_add(s.seq_len()));
    }

    /// State of the direction for a data packet.
    fn context<'a>(&self, packet: &SentPacket<'a>) -> PacketContext<'a> {
        let SentPacket { now, segment, clues, acks, peer, peer_data } = *packet;
        let free = acks.window().last().saturating_sub(self.space.in_flight());
        let mut sender: SenderClues =
            self.sender.as_ref().map_or_else(Default::default, |sender| sender.clues(clues.counts().pure_acks, free));
        let peer_syn_retransmitted = peer_data.count(SegmentKind::Handshake) > 0;
        if peer_syn_retransmitted || self.count(SegmentKind::Handshake) > 0 {
            sender.forget_small_window();
        }
        PacketContext {
            now,
            segment,
            segments: packet.segments(),
            una: self.space.una(),
            nxt: self.space.nxt(),
            dupacks: acks.dupacks(),
            last_sent_at: self.last_at,
            last_ack_at: acks.last_at(),
            last_advance_at: self.last_advance_at,
            min_rtt: clues.rtt().min_feedback(),
            srtt: clues.rtt().from_acks().smoothed(),
            vantage: Vantage::of(clues.rtt(), peer.rtt()),
            sender,
            sack: clues.syn().allows_sack() && peer.syn().allows_sack(),
            peer_pure_acks: peer.counts().pure_acks,
            peer_syn_retransmitted,
            peer_rtt: peer.rtt().min_of_all(),
            peer_last_sent_at: peer_data.last_at,
        }
    }

    // ACKs of the other end.

    /// Any ACK, before it is processed.
    #[inline]
    pub fn begin_at_ack(&mut self, now: i64, ack: u32, is_first: bool) {
        self.space.begin_at(ack);
        if is_first {
            self.on_first_ack(now, ack);
        }
    }

    #[cold]
    fn on_first_ack(&mut self, now: i64, ack: u32) {
        self.last_advance_at = now;
        if self.sender.as_ref().is_none_or(|sender| sender.outstanding.is_empty()) {
            self.space.acked_before_capture(ack);
        }
    }

    /// SACK blocks of an ACK, before `ack` is processed. Returns the segments that they show to be
    /// spuriously retransmitted.
    pub fn on_dsack(&mut self, ack: u32, blocks: &[(u32, u32)]) -> u32 {
        self.loss_mut().on_dsack(ack, blocks)
    }

    /// An ACK above SND.UNA.
    #[inline]
    pub fn on_advance(&mut self, now: i64, s: &Segment<'_>, rtt: &mut RttClues, event: &mut AckEvent) {
        let (una, outstanding) = (self.space.una(), self.space.outstanding());
        event.acked = seq_diff(una, s.ack) as u32;
        if let Some(loss) = self.loss.as_deref_mut() {
            event.spurious += loss.on_advance(now, s, una, rtt);
        }
        let sender = self.sender.get_or_insert_default();
        if let Some(acked) = sender.on_acked(now, s.ack, &mut self.space, self.loss.as_deref_mut(), rtt) {
            if acked.gives_sample {
                let sample = now - acked.range.first_at;
                rtt.on_sample(sample);
                if let Some(loss) = self.loss.as_deref_mut() {
                    loss.on_ack_rtt(sample);
                }
                event.rtt = Some(sample);
                if sample >= RULES.min_late_ack && s.payload == 0 && event.acked == outstanding {
                    let delay = sample - rtt.min_of_all().unwrap_or(sample);
                    if delay >= RULES.min_late_ack && acked.range.len == outstanding {
                        sender.stats.on_late_ack(now, delay);
                    }
                }
            }
            if s.flags.has(Flags::SYN) && acked.range.transmissions > 1 {
                rtt.on_syn_ack(now - acked.range.last_at);
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
            self.loss_mut().on_uncaptured(s.ack.wrapping_sub(uncaptured), s.ack, now);
        }
        self.last_advance_at = now;
    }

    /// The duplicate ACK with this number since SND.UNA advanced.
    pub fn on_dupack(&mut self, now: i64, number: u32) {
        if number == RULES.dupthresh {
            let una = self.space.una();
            self.loss_mut().on_third_dupack(una, now);
        }
        self.sender_mut().stats.on_duplicate_ack();
    }

    /// SACK blocks of an ACK that was processed, and whether it advanced.
    pub fn on_sack(&mut self, now: i64, blocks: (&[(u32, u32)], bool), rtt: &mut RttClues) {
        let mut nothing = Outstanding::default();
        let outstanding = self.sender.as_deref_mut().map_or(&mut nothing, |sender| &mut sender.outstanding);
        self.loss.get_or_insert_default().on_sack(now, blocks, &mut self.space, outstanding, rtt);
    }

    /// The ACK was processed; it was `advance` above SND.UNA.
    #[inline]
    pub fn after_ack(&mut self, now: i64, s: &Segment<'_>, advance: i32, dupacks: u32) {
        if s.payload == 0
            && !s.flags.has(Flags::RST)
            && let Some(sender) = self.sender.as_deref_mut()
        {
            sender.stats.on_pure_ack(now);
        }
        if let Some(loss) = self.loss.as_deref_mut().filter(|_| advance >= 0) {
            loss.on_ack_in_transit(now, s, self.space.una(), dupacks);
            loss.after_ack(now, (self.space.una(), advance > 0), dupacks);
        }
    }

    /// A duplicate ACK passes a remote capture on its way to this sender: the first sign of a loss
    /// behind it.
    pub fn on_dupack_in_transit(&mut self, now: i64, s: &Segment<'_>, dupacks: u32, vantage: Vantage) {
        let Some(remote_rtt) = vantage.remote_rtt().filter(|_| !vantage.is_at_sender()) else { return };
        let known = (self.last_advance_at, self.space.una(), dupacks);
        self.loss_mut().begin_tracking_by_dupack(now, s, known, remote_rtt);
    }

    // Time.

    /// `span` nanoseconds have passed since the flow's previous packet.
    #[inline]
    pub fn on_span(&mut self, span: i64, acks: &ReceivedAcks, rtt: &RttClues) {
        let Some(sender) = self.sender.as_deref_mut().filter(|sender| sender.stats.has_data()) else { return };
        let (una, is_all_acked) = (self.space.una(), self.space.is_all_acked());
        let probes = |loss: &LossHistory| loss.ledger().counts().count(SegmentKind::WindowProbe);
        let limit = classify_span(&SpanEvidence {
            span,
            is_all_acked,
            outstanding: self.space.outstanding(),
            full_segment: sender.stats.bytes().largest_segment,
            window: acks.has_any().then(|| acks.window().last()),
            has_probed: is_all_acked && self.loss.as_deref().is_some_and(|loss| probes(loss) > 0),
            is_recovering: self.loss.as_ref().is_some_and(|loss| loss.is_recovering(una)),
            is_app_limited: sender.is_app_limited,
        });
        sender.stats.on_span(span, limit, self.space.in_flight(), rtt.has_standing_queue());
    }

    #[inline]
    fn sender_mut(&mut self) -> &mut DataSender {
        self.sender.get_or_insert_default()
    }

    fn loss_mut(&mut self) -> &mut LossHistory {
        self.loss.get_or_insert_default()
    }

    #[inline]
    pub fn space(&self) -> &SendSpace {
        &self.space
    }

    /// Time of the last packet with data, SYN or FIN; zero before it.
    pub fn last_at(&self) -> i64 {
        self.last_at
    }

    /// What was sent several times until `now` without an answer: data and FIN at least
    /// [`RULES`]`.min_unanswered` times, a SYN twice. `fins` is the number of FINs.
    pub fn unanswered(&self, now: i64, acks: &ReceivedAcks, fins: u8) -> Option<Unanswered> {
        let oldest = self.sender.as_ref()?.outstanding.first()?;
        let is_last = oldest.end() == self.space.nxt();
        let what = match (is_last && oldest.len == 1 && self.payload() == 0, is_last && fins > 0) {
            (true, false) => UnansweredKind::Syn,
            (_, true) => UnansweredKind::Fin,
            (false, false) => UnansweredKind::Data,
        };
        let is_syn = what == UnansweredKind::Syn;
        let min_copies = if is_syn { 2 } else { RULES.min_unanswered };
        let mut sent_at = vec![oldest.first_at];
        sent_at.extend(self.ledger()?.times_at(oldest.start));
        sent_at.truncate(MAX_COPIES);
        let is_answered = acks.last_at() >= *sent_at.get(1)?;
        // Each copy waits for longer than the one before it (RFC 6298, section 5.5).
        let backs_off = sent_at.windows(3).all(|at| 4 * (at[2] - at[1]) >= 3 * (at[1] - at[0]));
        let is_long = is_syn || now - sent_at[0] >= RULES.unread_within;
        if oldest.sacked.is_sacked() || is_answered || oldest.transmissions < min_copies || !backs_off || !is_long {
            return None;
        }
        // SYN and FIN count as a byte each (RFC 9293, section 3.4).
        let bytes = if what == UnansweredKind::Data { oldest.len } else { oldest.len.saturating_sub(1) };
        Some(Unanswered { what, bytes, sent_at, copies: u32::from(oldest.transmissions) })
    }

    /// Payload sent, in bytes.
    pub fn payload(&self) -> u64 {
        self.stats().map_or(0, |stats| stats.bytes().payload)
    }

    pub fn data_ttl(&self) -> u8 {
        self.sender.as_ref().map_or(0, |sender| sender.data_ttl)
    }

    pub fn stats(&self) -> Option<&SendStats> {
        self.sender.as_ref().map(|sender| &sender.stats)
    }

    pub fn ledger(&self) -> Option<&Ledger> {
        self.loss.as_ref().map(|loss| loss.ledger())
    }

    /// Segments of a kind.
    fn count(&self, kind: SegmentKind) -> u32 {
        self.ledger().map_or(0, |ledger| ledger.counts().count(kind))
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.sender.as_ref().map_or(0, |sender| sender.memory()) + self.loss.as_ref().map_or(0, |loss| loss.memory())
    }
}

/// The only SYN of this end so far, captured after its own ACK or after later packets: no retransmission, as
/// the capture has no other copy.
fn is_first_syn(packet: &SentPacket<'_>) -> bool {
    packet.segment.flags.has(Flags::SYN) && packet.clues.syn().copies == 1
}
