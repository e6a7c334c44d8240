//! What the sender knew and did, as far as the capture shows it: ACKs that it has received, losses
//! that it can have detected, the recovery that it is in. [`SenderModel::evidence`] gathers that for
//! the classification of a retransmission.

mod ack_transit;
mod dupack_triggers;
mod loss_episode;
mod rack;

use super::classify::{Classification, KindRule, RetransmissionEvidence, SegmentKind};
use super::context::PacketContext;
use super::outstanding::{SackMark, SentRange};
use super::rules::{RULES, share_of};
use super::seq::{seq_lt, seq_max, seq_min};
use crate::compact::compact;
use crate::decode::Segment;
use ack_transit::{AckSnapshot, AckTransit};
use dupack_triggers::DupackTriggers;
pub use loss_episode::DueCopy;
use loss_episode::{IDLE, LossEpisode, is_open};
use rack::RackState;

#[derive(Debug, Default)]
pub struct SenderModel {
    episode: Option<Box<LossEpisode>>,
    rack: RackState,
    triggers: DupackTriggers,
    /// A timer has fired since the last advancing ACK.
    timer_fired: bool,
    /// Whether the sender uses tail loss probes, once known.
    uses_tlp: Option<bool>,
    /// The sender detects lost retransmissions, or by time (RACK).
    uses_rack: bool,
    /// The sender does not undo spurious RTOs.
    keeps_spurious_rtos: bool,
}

compact!(SenderModel { episode, rack, triggers, timer_fired, uses_tlp, uses_rack, keeps_spurious_rtos });

/// What an RTO interrupted.
#[derive(Debug, Clone, Copy)]
pub struct RtoStart {
    /// End of the fast recovery that was under way, and of the repair after an earlier RTO.
    pub recovery_high: Option<u32>,
    pub rto_high: Option<u32>,
    /// The next packets may show that it was no RTO.
    pub is_provisional: bool,
}

/// What the sender has received, by the capture's vantage.
struct Received {
    una: u32,
    dupacks: u32,
    sack_high: Option<u32>,
    since_advance: i64,
    /// By tracked ACKs in transit: whether the packet was sent on receipt of an ACK, and whether it is
    /// the first after an advancing ACK.
    tracked: Option<(bool, bool)>,
}

impl SenderModel {
    /// Evidence about a retransmission: `previous` is the range's last copy, if captured,
    /// `was_retransmitted` whether it was retransmitted before, `dsacks` the retransmissions that
    /// D-SACKs showed to be spurious.
    pub fn evidence(
        &self,
        ctx: &PacketContext<'_>,
        previous: Option<&SentRange>,
        was_retransmitted: bool,
        dsacks: u32,
    ) -> RetransmissionEvidence {
        let (episode, at_sender) = (self.episode(), ctx.is_at_sender());
        let last_ack_at = if at_sender { ctx.last_ack_at } else { i64::MIN };
        // Queues before the capture smooth the sender's pauses; its TSvals keep them.
        let captured_pause = ctx.now - ctx.last_sent_at.max(last_ack_at);
        let tsval_pause = ctx.sender.tsval_clock.pause();
        let silence = if at_sender { captured_pause } else { tsval_pause.unwrap_or(captured_pause) };
        let last_copy_at = previous.map_or(i64::MIN, |range| range.last_at);
        let timer_age = if at_sender { ctx.now - ctx.last_advance_at.max(last_copy_at) } else { silence };
        let received = self.received(ctx, silence);
        let una = received.una;
        let is_tracked = received.tracked.is_some();
        let (loss_shown, follows_advance) = received.tracked.unwrap_or_else(|| {
            let reordering_window = reordering_window(ctx, dsacks);
            let shown = previous.is_some_and(|range| {
                let earlier = &episode.rack_at_last_sent;
                at_sender && self.rack.newly_marks_lost(range, earlier, ctx.last_sent_at, reordering_window)
            });
            (shown, at_sender && ctx.now - ctx.last_advance_at < RULES.max_ack_delay)
        });
        RetransmissionEvidence {
            silence,
            timer_age: if is_tracked { received.since_advance } else { timer_age },
            since_advance: received.since_advance,
            rtt: episode.sack_rtt.filter(|_| self.uses_rack(ctx)).or(ctx.srtt).map(|(srtt, rttvar)| match at_sender {
                true => (srtt, rttvar),
                // The receiver's own delays are not those of the path.
                false => {
                    let remote = ctx.vantage.remote_srtt().or(ctx.vantage.remote_rtt());
                    (ctx.min_rtt.unwrap_or(0) + remote.unwrap_or(0), 0)
                }
            }),
            is_lowest_unacked: !seq_lt(una, ctx.start()),
            is_highest_sent: !seq_lt(ctx.end(), ctx.nxt),
            was_sacked: previous.is_some_and(|range| range.sacked.is_sacked() && (at_sender || is_sack_received(ctx, range))),
            is_first_retransmission: previous.map_or(!was_retransmitted, |range| range.transmissions == 1),
            sacked_above: received.sack_high.is_some_and(|high| seq_lt(ctx.start(), high) && seq_lt(una, high)),
            dupacks: received.dupacks,
            dupacks_at_capture: ctx.dupacks,
            since_last_copy: previous.map(|range| ctx.since_copy(range)),
            min_feedback_time: if at_sender { ctx.min_rtt } else { ctx.vantage.remote_rtt() },
            loss_shown,
            follows_advance,
            is_paced: episode.is_paced(),
            previous_gap: if tsval_pause.is_none() { episode.last_gap } else { 0 },
            later_data_acked: previous.filter(|_| at_sender).map(|range| match self.predates_rack(ctx) {
                true => self.rack.sent_before_new(range),
                false => self.rack.sent_before(range),
            }),
            after_timeout: is_open(episode.rto_high, una) || self.is_rto_end_in_transit(ctx),
            in_recovery: is_open(episode.recovery_high, una),
            is_remote: !at_sender,
            was_captured: true,
            is_tracked,
            timer_fired: self.timer_fired,
            uses_tlp: self.uses_tlp,
            is_modern: ctx.sender.is_modern(at_sender),
            sack: ctx.sack,
            follows_sack: at_sender && ctx.now.saturating_sub(episode.sacked_at) < RULES.max_ack_delay,
            uses_rack: self.uses_rack(ctx),
            predates_rack: self.predates_rack(ctx),
        }
    }

    /// With the capture at the sender: it detects losses by time, as far as known. A stack with a small
    /// initial window is older than RACK.
    pub fn uses_rack(&self, ctx: &PacketContext<'_>) -> bool {
        let is_likely = ctx.sender.large_initial_window || (self.uses_rack && !ctx.sender.small_initial_window);
        ctx.is_at_sender() && ctx.sack && is_likely
    }

    /// The same, and with a remote capture that the sender's timestamps do not exclude it: RACK is
    /// younger than ticks of more than a millisecond.
    pub fn may_use_rack(&self, ctx: &PacketContext<'_>) -> bool {
        let is_young = ctx.tsval().is_some() && ctx.sender.tsval_clock.tick() <= RULES.modern_tick;
        self.uses_rack(ctx) || !ctx.is_at_sender() && ctx.sack && is_young && !ctx.sender.small_initial_flight
    }

    /// The sender's stack is older than RACK: its initial window is that of RFC 3390, or its timestamps
    /// count more than a millisecond. On a path of one Ethernet ACKs come while the initial window is
    /// still sent, so that it does not show.
    fn predates_rack(&self, ctx: &PacketContext<'_>) -> bool {
        let is_coarse = ctx.tsval().is_some() && ctx.sender.tsval_clock.tick() > RULES.modern_tick;
        let shows_window = !ctx.is_at_sender() || ctx.min_rtt.is_none_or(|rtt| rtt > RULES.max_local_rtt);
        shows_window && ctx.sender.has_small_window(ctx.is_at_sender()) && !self.uses_rack || is_coarse
    }

    /// The sender's RTO when its timer was last started by an advancing ACK (RFC 6298, sections 2 and
    /// 5.3), with the common minimum applied to the variance term.
    pub fn rto(&self, ctx: &PacketContext<'_>) -> i64 {
        let (srtt, rttvar) = self.episode().armed_rtt.or(ctx.srtt).unwrap_or_default();
        srtt + (4 * rttvar).max(RULES.common_rto_min)
    }

    /// The RTO is due if its timer runs for `age`. Stacks older than RACK may apply the common minimum to
    /// the sum.
    pub fn is_rto_due(&self, ctx: &PacketContext<'_>, age: i64) -> bool {
        let (srtt, rttvar) = self.episode().armed_rtt.or(ctx.srtt).unwrap_or_default();
        let min_rto = (srtt + 4 * rttvar).max(RULES.common_rto_min);
        age >= share_of(if self.predates_rack(ctx) { min_rto } else { self.rto(ctx) }, RULES.certain_rto)
    }

    pub fn set_due_copy(&mut self, copy: DueCopy) {
        self.episode_mut().due_copy = Some(copy);
    }

    pub fn take_due_copy(&mut self) -> Option<DueCopy> {
        self.episode.as_deref_mut().and_then(|episode| episode.due_copy.take())
    }

    fn received(&self, ctx: &PacketContext<'_>, silence: i64) -> Received {
        let episode = self.episode();
        let transit = episode.transit.as_deref();
        let Some((transit, ack)) = transit.and_then(|transit| Some((transit, transit.received()?))) else {
            let since_advance = if ctx.is_at_sender() { ctx.now - ctx.last_advance_at } else { silence };
            let (una, dupacks) = (ctx.una, ctx.dupacks);
            return Received { una, dupacks, sack_high: episode.sack_high, since_advance, tracked: None };
        };
        let since = transit.since_advance(ctx.now, ctx.tsval(), ctx.sender.tsval_clock.tick());
        // An advancing ACK would have been answered at once.
        let since_advance = if transit.is_advance() { since.min(silence) } else { since };
        let tracked = Some((transit.is_prompt(), transit.is_advance() && transit.is_prompt()));
        Received { una: ack.una, dupacks: ack.dupacks, sack_high: ack.sack_high, since_advance, tracked }
    }

    /// The ACK that ended the repair after an RTO may not have reached the sender yet.
    fn is_rto_end_in_transit(&self, ctx: &PacketContext<'_>) -> bool {
        let Some((high, at)) = self.episode().ended_rto else { return false };
        seq_lt(ctx.start(), high)
            && !ctx.is_at_sender()
            && ctx.now - at <= share_of(ctx.vantage.max_remote_rtt(), RULES.rto_end_rtts)
    }

    #[inline]
    fn episode(&self) -> &LossEpisode {
        self.episode.as_deref().unwrap_or(&IDLE)
    }

    #[inline]
    fn episode_mut(&mut self) -> &mut LossEpisode {
        self.episode.get_or_insert_default()
    }

    #[inline]
    pub fn has_episode(&self) -> bool {
        self.episode.is_some()
    }

    /// From here on the model follows the sender packet by packet.
    pub fn begin_episode(&mut self) {
        self.episode_mut();
    }

    /// Fast recovery or the repair after an RTO is under way.
    #[inline]
    pub fn is_recovering(&self, una: u32) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.is_recovering(una))
    }

    /// The repair after an RTO is under way.
    pub fn is_in_rto_recovery(&self, una: u32) -> bool {
        is_open(self.episode().rto_high, una)
    }

    /// An RTO has not been repaired.
    #[inline]
    pub fn has_rto(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.rto_high.is_some())
    }

    pub fn timer_fired(&self) -> bool {
        self.timer_fired
    }

    /// Time between the last two data packets, nanoseconds.
    pub fn last_gap(&self) -> i64 {
        self.episode().last_gap
    }

    // Data packets.

    /// A data packet passed.
    #[inline]
    pub fn on_sent(&mut self, since_ack: i64, gap: i64) {
        let rack = self.rack;
        if let Some(episode) = self.episode.as_deref_mut() {
            episode.on_sent(since_ack, gap, rack);
        }
    }

    /// A retransmission by RTO.
    pub fn on_rto(&mut self, ctx: &PacketContext<'_>) -> RtoStart {
        self.timer_fired = true;
        let uses_rack = self.uses_rack(ctx);
        let episode = self.episode_mut();
        let recovery_high = episode.recovery_high.filter(|_| is_open(episode.recovery_high, ctx.una));
        let rto_high = episode.rto_high.filter(|_| is_open(episode.rto_high, ctx.una));
        // With an ACK in transit to the sender anything may follow.
        let is_provisional =
            ctx.is_at_sender() || episode.transit.is_some() && rto_high.is_none() && !seq_lt(ctx.start(), ctx.una);
        (episode.rto_high, episode.recovery_high) = (Some(ctx.nxt), None);
        // Linux: not if the RTO interrupts a recovery.
        episode.is_frto = uses_rack && recovery_high.is_none();
        RtoStart { recovery_high, rto_high, is_provisional }
    }

    /// A go-back-N retransmission. Without an RTO before it the RTO was not captured or not
    /// recognized.
    pub fn on_go_back_n(&mut self, ctx: &PacketContext<'_>) {
        let is_known = is_open(self.episode().rto_high, ctx.una);
        let episode = self.episode_mut();
        episode.is_frto = false;
        if !is_known {
            episode.rto_high = Some(ctx.nxt);
        }
    }

    /// F-RTO: the range is reported for the first time. The RTO was spurious if the range was sent before
    /// it and not retransmitted, and not if it was sent after it (RFC 5682, section 3.1, step 3).
    fn detect_spurious_rto(&mut self, range: &SentRange, now: i64) {
        let Some(episode) = self.episode.as_deref_mut().filter(|episode| episode.is_frto) else { return };
        let Some(high) = episode.rto_high else { return };
        if seq_lt(high, range.end()) {
            episode.is_frto = false;
        } else if range.transmissions == 1 {
            self.undo_rto(now);
        }
    }

    /// A tail loss probe.
    pub fn on_probe(&mut self) {
        self.timer_fired = true;
    }

    /// A retransmission by duplicate ACKs, SACK or RACK. Returns true if it begins a recovery.
    pub fn on_fast_retransmission(&mut self, ctx: &PacketContext<'_>) -> bool {
        let begins = !is_open(self.episode().recovery_high, ctx.una);
        if begins {
            self.episode_mut().recovery_high = Some(ctx.nxt);
        }
        begins
    }

    /// Learns from a retransmission what the sender's stack does. It detects lost retransmissions, and uses
    /// RACK: a second copy is triggered by newer data that arrived. It uses tail loss probes: a timer
    /// retransmits the last of several segments. It does not: the first timer after an advancing ACK
    /// retransmits the lowest of several. Returns true if the retransmission shows probes.
    pub fn learn_stack(&mut self, ctx: &PacketContext<'_>, classification: Classification) -> bool {
        let is_last = !seq_lt(ctx.end(), ctx.nxt);
        let is_first_timer = !self.timer_fired && !self.is_recovering(ctx.una);
        let shows_probes = classification.rule == KindRule::ProbeTimeout && is_last;
        match classification.kind {
            SegmentKind::TailProbe if shows_probes => self.uses_tlp = Some(true),
            SegmentKind::Rack if ctx.is_at_sender() && ctx.sack && classification.rule != KindRule::AckClocked => {
                self.uses_rack = true
            }
            SegmentKind::Timeout if !is_last && is_first_timer && self.uses_tlp.is_none() => self.uses_tlp = Some(false),
            _ => {}
        }
        shows_probes
    }

    /// A packet by RTO or go-back-N after `ctx.unseen_packets()` that were not captured. All
    /// outstanding data is retransmitted, and with it what was lost with its first copy. The uncaptured
    /// packets were sent after all captured ones: they were new, except for the retransmissions of the
    /// `gap_segments` that are known to be missing, and those of earlier RTOs.
    pub fn extend_unseen(&mut self, ctx: &PacketContext<'_>, gap_segments: u32) {
        let is_asked = ctx.dupacks >= RULES.dupthresh || self.is_recovering(ctx.una);
        let asked = if is_asked && ctx.sack { gap_segments } else { u32::from(is_asked) };
        let new = ctx.unseen_packets().saturating_sub(asked).saturating_sub(ctx.earlier_rtos());
        let end = ctx.nxt.wrapping_add(new.saturating_mul(ctx.sender.full_segment));
        let episode = self.episode_mut();
        episode.unseen_high = Some(episode.unseen_high.map_or(end, |known| seq_max(known, end)));
        episode.extend_rto(end);
    }

    /// A retransmission in a fast recovery, after `new` packets that were not captured and no
    /// retransmissions: they were sent above SND.NXT before it, and the recovery includes them.
    pub fn extend_recovery(&mut self, ctx: &PacketContext<'_>, new: u32) {
        let end = ctx.nxt.wrapping_add(new.saturating_mul(ctx.sender.full_segment));
        if new > 0 {
            let episode = self.episode_mut();
            episode.unseen_high = Some(episode.unseen_high.map_or(end, |known| seq_max(known, end)));
            episode.recovery_high = episode.recovery_high.map(|high| seq_max(high, end));
        }
    }

    /// New data after packets that were not captured, with nothing missing before: they carried the
    /// same data, and what follows it.
    pub fn begin_unseen(&mut self, ctx: &PacketContext<'_>) {
        let bytes = ctx.unseen_packets().saturating_mul(ctx.sender.full_segment);
        self.begin_tracking(ctx);
        self.episode_mut().unseen_high = Some(ctx.start().wrapping_add(bytes));
    }

    #[inline]
    pub fn has_unseen(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.unseen_high.is_some())
    }

    /// The segment at `seq` was sent before and not captured.
    pub fn was_sent_unseen(&self, seq: u32) -> bool {
        self.episode().was_sent_unseen(seq)
    }

    /// A segment of what was sent unseen passes. Its end was estimated with full segments.
    pub fn shorten_unseen(&mut self, ctx: &PacketContext<'_>) {
        let missing = ctx.sender.full_segment.saturating_sub(ctx.segment.payload);
        if ctx.segments == 1 && missing > 0 {
            self.episode_mut().shorten_unseen(missing, ctx.end());
        }
    }

    /// A retransmission of what was sent unseen belongs to the repair after an RTO.
    pub fn extend_rto_to_unseen(&mut self) {
        let episode = self.episode_mut();
        if let Some(end) = episode.unseen_high {
            episode.extend_rto(end);
        }
    }

    // ACKs in transit to a remote sender.

    #[inline]
    pub fn is_tracking(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.transit.is_some())
    }

    fn track(&mut self, transit: AckTransit) {
        self.episode_mut().transit = Some(Box::new(transit));
    }

    /// Something is missing: from here on it matters what the sender has received when.
    pub fn begin_tracking(&mut self, ctx: &PacketContext<'_>) {
        if ctx.is_at_sender() || self.is_tracking() {
            return;
        }
        let (at, una, dupacks) = (ctx.now, ctx.una, ctx.dupacks);
        let ack = AckSnapshot { at, first_at: at, tsval: None, una, dupacks, sack_high: None };
        self.track(AckTransit::begin(ack, ctx.vantage.remote_rtt().unwrap_or(0)));
    }

    /// A retransmission shows that the sender has received no ACK for it.
    pub fn begin_tracking_by_retransmission(&mut self, ctx: &PacketContext<'_>) {
        if ctx.is_at_sender() || self.is_tracking() {
            return;
        }
        let (at, una) = (ctx.now, seq_min(ctx.una, ctx.start()));
        let ack = AckSnapshot { at, first_at: at, tsval: None, una, dupacks: 0, sack_high: None };
        self.track(AckTransit::begin_received(ack, ctx.vantage.remote_rtt().unwrap_or(0)));
    }

    /// A duplicate ACK passes on its way to the sender, the first sign of a loss behind the capture.
    /// The sender knows the last advancing ACK, at `advanced_at`, until the duplicate arrives.
    pub fn begin_tracking_by_dupack(&mut self, advanced_at: i64, una: u32, dupacks: u32, remote_rtt: i64) {
        let (at, dupacks) = (advanced_at, dupacks.saturating_sub(1));
        let ack = AckSnapshot { at, first_at: at, tsval: None, una, dupacks, sack_high: None };
        self.track(AckTransit::begin(ack, remote_rtt));
    }

    /// An ACK passes on its way to the sender; `una` and `dupacks` include it.
    #[inline]
    pub fn on_ack_in_transit(&mut self, now: i64, s: &Segment<'_>, una: u32, dupacks: u32) {
        let Some(episode) = self.episode.as_deref_mut() else { return };
        let Some(transit) = &mut episode.transit else { return };
        let tsval = s.options.timestamps.map(|timestamps| timestamps.value);
        transit.on_ack(AckSnapshot { at: now, first_at: now, tsval, una, dupacks, sack_high: episode.sack_high });
    }

    /// A data packet passes and shows what its sender has received. Tracking ends when the sender has
    /// received all ACKs and nothing is missing.
    pub fn on_data_in_transit(&mut self, ctx: &PacketContext<'_>, has_gaps: bool) {
        let Some(episode) = self.episode.as_deref_mut() else { return };
        let Some(transit) = &mut episode.transit else { return };
        transit.on_data_packet(ctx.now, ctx.segment.options.timestamps, ctx.vantage.remote_rtt().unwrap_or(0));
        let (received, is_empty) = (transit.received(), transit.is_empty());
        if let Some(ack) = received {
            episode.on_ack_received(ctx.now, ack.una);
        }
        // A duplicate ACK is the first of a loss.
        let no_dupacks = received.is_none_or(|ack| ack.dupacks == 0);
        if is_empty && no_dupacks && !has_gaps && episode.rto_high.is_none() && episode.recovery_high.is_none() {
            episode.transit = None;
        }
    }

    /// SND.UNA as the sender knows it, and the duplicate ACKs on their way to it; none if that is
    /// tracked and not known yet.
    pub fn known_una(&self, captured_una: u32) -> Option<(u32, u32)> {
        match self.episode().transit.as_deref() {
            Some(transit) => transit.received().map(|ack| (ack.una, transit.pending_dupacks())),
            None => Some((captured_una, 0)),
        }
    }

    /// A remote sender has retransmitted the segment at `seq` by duplicate ACKs, whether or not that was
    /// captured.
    pub fn has_repaired(&self, seq: u32) -> bool {
        self.episode().transit.as_ref().is_some_and(|transit| transit.has_repaired(seq))
    }

    /// A third duplicate ACK passes, or a gap fills itself that one may have asked for.
    pub fn on_trigger(&mut self, seq: u32, at: i64) {
        self.triggers.add(seq, at);
    }

    /// A third duplicate ACK asked for the segment at `seq`.
    pub fn was_asked_for(&self, seq: u32) -> bool {
        self.triggers.asks_for(seq)
    }

    /// True if a retransmission of acknowledged data answers a third duplicate ACK that passed before
    /// the ACK for it: both were in transit at the same time.
    pub fn answers_trigger(&mut self, ctx: &PacketContext<'_>) -> bool {
        let (seq, max_rtt) = (ctx.start(), ctx.vantage.max_remote_rtt());
        let Some(min_rtt) = ctx.vantage.remote_rtt() else { return false };
        if !seq_lt(seq, ctx.una) || ctx.is_at_sender() || self.is_in_rto_recovery(ctx.una) {
            return false;
        }
        let answers = self.triggers.explains(seq, ctx.now, (min_rtt, max_rtt));
        if answers {
            self.triggers.begin_recovery(ctx.nxt, ctx.now, max_rtt);
        }
        answers
    }

    // ACKs.

    /// An advancing ACK.
    #[inline]
    pub fn on_advance(&mut self) {
        self.timer_fired = false;
        if let Some(episode) = self.episode.as_deref_mut() {
            episode.armed_rtt = episode.sack_rtt;
        }
    }

    /// A range is acknowledged.
    #[inline]
    pub fn on_range_acked(&mut self, range: &SentRange, now: i64, min_rtt: i64) {
        if !range.sacked.is_sacked() {
            self.detect_spurious_rto(range, now);
        }
        if !range.sacked.is_sacked() && range.could_be_acked_by(now, min_rtt) {
            self.rack.on_delivered(range, now);
        }
    }

    /// An RTT sample from a SACK that does not advance; `acked` are SRTT and RTTVAR by ACKs alone.
    pub fn on_sack_rtt(&mut self, sample: i64, acked: Option<(i64, i64)>) {
        self.episode_mut().on_rtt_sample(sample, acked);
    }

    /// An RTT sample from an ACK.
    #[inline]
    pub fn on_ack_rtt(&mut self, sample: i64) {
        if let Some(episode) = self.episode.as_deref_mut().filter(|episode| episode.sack_rtt.is_some()) {
            episode.on_rtt_sample(sample, None);
            episode.armed_rtt = episode.sack_rtt;
        }
    }

    /// A range is SACKed.
    pub fn on_range_sacked(&mut self, range: &SentRange, now: i64, min_rtt: i64) {
        self.episode_mut().sacked_at = now;
        self.detect_spurious_rto(range, now);
        if range.could_be_acked_by(now, min_rtt) {
            self.rack.on_delivered(range, now);
        }
    }

    /// A SACK at this time reported new data.
    pub fn was_sacked_at(&self, now: i64) -> bool {
        self.episode().sacked_at == now
    }

    /// From which sequence number on a SACK block reports what the last ACK did not.
    pub fn first_newly_sacked(&self, left: u32, right: u32) -> u32 {
        self.episode().first_newly_sacked(left, right)
    }

    pub fn on_sack_block(&mut self, right: u32) {
        self.episode_mut().on_sacked(right);
    }

    /// The blocks of an ACK have been marked.
    pub fn remember_sacks(&mut self, blocks: [(u32, u32); 4]) {
        if let Some(episode) = self.episode.as_deref_mut() {
            episode.remember_sacks(blocks);
        }
    }

    /// Ends recoveries that the ACK completes, unless it must reach the sender first.
    pub fn complete_recovery(&mut self, now: i64, ack: u32) {
        let Some(episode) = self.episode.as_deref_mut() else { return };
        if episode.transit.is_none() {
            episode.on_ack_received(now, ack);
        }
        if episode.sack_high.is_some_and(|high| !seq_lt(ack, high)) {
            episode.sack_high = None;
        }
    }

    /// Ends the episode if nothing of it is left. Returns true if it ended.
    pub fn end_episode(&mut self, now: i64, una: u32, has_gaps: bool) -> bool {
        let is_over = !has_gaps && self.episode.as_ref().is_some_and(|episode| episode.is_over(now, una));
        if is_over {
            self.episode = None;
        }
        is_over
    }

    // Revisions.

    /// What was taken for an RTO belonged to a recovery that goes on.
    pub fn revert_rto(&mut self, recovery_high: Option<u32>, nxt: u32) {
        self.timer_fired = false;
        let episode = self.episode_mut();
        episode.recovery_high = recovery_high.or(episode.rto_high).or(Some(nxt));
        episode.rto_high = None;
    }

    /// What was taken for a further RTO belonged to the repair after an earlier one.
    pub fn revert_further_rto(&mut self, rto_high: u32) {
        self.episode_mut().rto_high = Some(rto_high);
    }

    /// What was taken for a recovery is the repair after an RTO.
    pub fn recovery_was_rto(&mut self, nxt: u32) {
        let episode = self.episode_mut();
        episode.rto_high = Some(episode.recovery_high.take().unwrap_or(nxt));
    }

    /// A timestamp shows that the RTO was spurious: the sender may undo it (RFC 3522, section 3.2;
    /// RFC 4015).
    pub fn undo_rto(&mut self, now: i64) {
        if self.keeps_spurious_rtos {
            return;
        }
        if let Some(episode) = self.episode.as_deref_mut() {
            (episode.undone_rto_high, episode.undone_at) = (episode.rto_high.take(), now);
        }
    }

    /// The sender retransmits although its RTO was shown to be spurious: without a trigger, or on the
    /// very ACK that shows it. It has not undone the RTO, and goes on after it. A sender that undoes it
    /// has detected no loss by then (RFC 4015, section 3.2). Returns true in that case.
    pub fn resume_undone_rto(&mut self, ctx: &PacketContext<'_>, is_unexplained: bool) -> bool {
        let episode = self.episode();
        let on_that_ack =
            ctx.is_at_sender() && episode.undone_at == ctx.last_ack_at && ctx.now - ctx.last_ack_at < RULES.max_ack_delay;
        if !is_open(episode.undone_rto_high, ctx.start()) || !is_unexplained && !on_that_ack {
            return false;
        }
        self.keeps_spurious_rtos = true;
        let episode = self.episode_mut();
        (episode.rto_high, episode.undone_rto_high) = (episode.undone_rto_high, None);
        true
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.triggers.memory() + self.episode.as_ref().map_or(0, |episode| episode.memory())
    }
}

/// RACK's reordering window: a quarter of the minimum RTT, once more for each D-SACK, at most SRTT
/// (RFC 8985, section 6.2, step 4).
fn reordering_window(ctx: &PacketContext<'_>, dsacks: u32) -> i64 {
    let srtt = ctx.srtt.map_or(0, |(srtt, _)| srtt);
    share_of(ctx.min_rtt.unwrap_or(0), RULES.reordering_window).saturating_mul(1 + i64::from(dsacks)).min(srtt)
}

/// A remote sender has received the SACK for the range by now.
fn is_sack_received(ctx: &PacketContext<'_>, range: &SentRange) -> bool {
    let transit = (ctx.vantage.max_remote_rtt() * RULES.received_rtts).saturating_add(RULES.queue_slack);
    range.sacked != SackMark::Late && ctx.now - range.last_at > transit
}
