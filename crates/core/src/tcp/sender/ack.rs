//! What an ACK means: what it takes off the board, and what recovery and congestion control hear of it.

use super::Sender;
use crate::packet::{Flags, Segment};
use crate::tcp::cc::{Ack, CongestionControl};
use crate::tcp::config::RtoRestart;
use crate::tcp::delivery::Arrivals;
use crate::tcp::ecn::Marks;
use crate::tcp::recovery::{AckFacts, AnyRecovery, Recovery, Repair};
use crate::tcp::scoreboard::Acked;
use crate::tcp::stats::Limit;
use crate::tcp::timestamps::Echo;
use crate::units::Time;

impl Sender {
    #[inline]
    pub(super) fn set_window(&mut self, ack: u64, window: u64) {
        self.peer_window = window;
        self.largest_window = self.largest_window.max(window);
        self.right_edge = self.right_edge.max(ack + window);
    }

    /// Takes an ACK in.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, echo: Echo) {
        let known = segment.ack <= self.next && segment.ack >= self.una;
        if !known || self.says_nothing(segment) {
            return;
        }
        let says_more = segment.dupacks_seen || !segment.sack.is_empty();
        let clean = segment.ack > self.una && !says_more && self.board.is_clean() && !self.watched;
        if clean && self.recovery.on_clean_ack(segment.ack) {
            self.take_clean_ack(now, segment, echo);
        } else {
            self.take_ack(now, segment, echo);
        }
    }

    #[inline(never)]
    fn take_ack(&mut self, now: Time, segment: &Segment, echo: Echo) {
        let flight_before = self.board.len();
        let same_window = u64::from(segment.window) == self.peer_window;
        self.set_window(segment.ack, u64::from(segment.window));
        let (sacked, dsack) = if segment.sack.is_empty() { (0, false) } else { self.take_blocks(segment) };
        let advanced = segment.ack > self.una;
        let acked = if advanced { self.advance(now, segment.ack, echo) } else { Acked::default() };
        if sacked > 0 {
            self.time_sacked(now, advanced);
        }
        let bare = segment.payload == 0 && !segment.flags.any(Flags::SYN.with(Flags::FIN));
        let duplicate = !advanced && flight_before > 0 && (sacked > 0 || (bare && same_window && segment.sack.is_empty()));
        let mut facts = AckFacts {
            advanced,
            acked: acked.segments,
            sacked_before: acked.sacked_before,
            sacked,
            duplicate,
            enough: segment.dupacks_seen && self.config.dupack_marking,
            dsack,
            echo: echo.rtt(),
            late: false,
        };
        if self.fine_timer.is_some() {
            facts.late = self.check_fine_timer(now, &facts);
        }
        if self.undo.is_some() {
            self.take_back(now, segment, &facts);
        }
        let marks = if self.ecn.is_some() { self.hear_marks(now, segment, &acked, &facts) } else { Marks::default() };
        if self.piped.is_some() {
            self.sample_pipe(now, &acked);
        }
        let (recovery, mut repair) = self.split(now);
        let mut grow = recovery.on_ack(&facts, &mut repair);
        if self.piped.is_some() {
            self.settle_pipe(now);
        }
        if self.ecn.is_some() {
            grow = self.answer_marks(now, marks, &facts, grow);
        }
        if self.deliveries.is_some() {
            self.note_arrivals(now, &acked, &facts);
        }
        if grow {
            let mut ack = self.reading(now, &acked);
            if let Some(pipe) = &mut self.piped {
                ack.limited = pipe.validated(now, self.cc.cwnd());
            }
            self.cc.on_ack(&ack);
        }
        if advanced {
            self.tune_send_buffer();
        }
        if advanced || self.config.rto.restart == RtoRestart::EveryAck {
            self.restart_timer(now);
        }
        self.check_probe(now);
    }

    /// How many segments the SACK blocks newly report, and whether they tell of one that arrived twice.
    fn take_blocks(&mut self, segment: &Segment) -> (u32, bool) {
        let sacked = segment.sack.near(segment.ack).map(|(s, e)| self.board.sack(s, e)).sum();
        (sacked, reported_twice(segment).is_some())
    }

    /// A segment sent once that SACK reports has made its round trip too, if the ACK number says nothing (Linux: `sack_rtt_us`).
    fn time_sacked(&mut self, now: Time, advanced: bool) {
        let Some(sent) = self.board.take_first_sacked().filter(|_| !advanced) else { return };
        if self.config.sack_rtt {
            self.rtt.sample(now - sent);
        }
        let before_oldest = self.board.first().is_some_and(|oldest| sent < oldest.sent_at);
        if before_oldest && self.config.rto.restart == RtoRestart::HeadAndSack {
            self.restart_timer(now);
        }
    }

    /// Nothing is in flight and the window is as it was: what most segments tell an end that only receives.
    fn says_nothing(&self, segment: &Segment) -> bool {
        self.all_through() && self.probe_at == Time::NEVER && u64::from(segment.window) == self.peer_window
    }

    pub(super) fn split(&mut self, now: Time) -> (&mut AnyRecovery, Repair<'_>) {
        self.calm = false;
        let spared = self.ecn.is_some() && self.cut_by_mark();
        let repair = Repair {
            now,
            board: &mut self.board,
            cc: &mut self.cc,
            stats: &mut self.stats,
            una: self.una,
            next: self.next,
            threshold: self.config.dupack_threshold,
            newreno_exit: self.config.newreno_exit,
            limited_transmit: self.config.limited_transmit,
            rtt: &self.rtt,
            rto_at: self.rto_at,
            timer: &mut self.repair_at,
            undo: self.undo.as_deref_mut(),
            piped: self.piped.as_deref_mut(),
            spared,
        };
        (&mut self.recovery, repair)
    }

    /// The cumulative ACK moved.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, ack: u64, echo: Echo) -> Acked {
        let acked = self.board.ack_to(ack);
        self.una = ack;
        self.timeouts_in_a_row = 0;
        // Karn: an ACK that covers a retransmission says nothing of the others it covers, which may have waited for it.
        let once = if acked.resent { None } else { acked.last_sent.zip(acked.first_sent) };
        if let Some((last, _)) = once {
            self.stats.rtt.add(now - last);
        }
        // A delayed ACK's wait belongs into the timeout, so the estimator gets the first segment's time (RFC 7323, section 4.1).
        let sample = once.map(|(_, first)| now - first).or_else(|| echo.rtt());
        if let Some(rtt) = sample {
            self.rtt.sample(rtt);
            self.rtt.forget_backoff();
        }
        acked
    }

    /// What the congestion control may know of an ACK.
    #[inline]
    pub(super) fn reading(&self, now: Time, acked: &Acked) -> Ack {
        // RFC 3465, section 2.3: one segment an ACK while a timeout's losses are repaired, as an ACK may cover what arrived before.
        let most = if self.una <= self.timed_out_to { self.config.byte_counting.min(1) } else { self.config.byte_counting };
        let credit = if most == 0 { 1.0 } else { f64::from((acked.segments - acked.sacked_before).min(most)) };
        Ack {
            now,
            credit,
            acked: acked.segments,
            in_flight: self.board.in_flight(),
            rtt: acked.last_sent.filter(|_| !acked.resent).map(|sent| now - sent),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            limited: self.window_limited(acked),
            cleared: self.board.first_index(),
            sent: self.board.end_index(),
            ..Ack::default()
        }
    }

    /// The window held the sender back. One that is paced fills its window late, so half of it in use is enough (RFC 7661,
    /// section 4.1).
    #[inline]
    pub(super) fn window_limited(&self, acked: &Acked) -> bool {
        match self.limit {
            Limit::Cwnd => true,
            Limit::Pacing => 2.0 * f64::from(self.board.in_flight() + acked.segments) >= self.cc.cwnd(),
            _ => false,
        }
    }

    /// Tells a congestion control that watches deliveries of each segment that was taken for lost since the last call.
    #[inline(never)]
    pub(super) fn note_losses(&mut self, now: Time) {
        let Some(deliveries) = &mut self.deliveries else { return };
        let mut lost = std::mem::take(&mut self.lost);
        self.board.take_lost(&mut lost);
        for index in lost.drain(..) {
            if let Some(loss) = deliveries.on_loss(index) {
                self.cc.on_loss(now, &loss);
            }
        }
        self.lost = lost;
    }

    /// Tells a congestion control that watches deliveries what arrived and what was lost.
    #[inline(never)]
    fn note_arrivals(&mut self, now: Time, acked: &Acked, facts: &AckFacts) {
        self.note_losses(now);
        let mut ack = self.reading(now, acked);
        ack.recovering = self.recovery.active() || self.una <= self.timed_out_to;
        self.tell_deliveries(&mut ack, acked, facts);
    }

    /// The same with what else the congestion control may know of this ACK, to which it adds.
    #[inline]
    pub(super) fn tell_deliveries(&mut self, ack: &mut Ack, acked: &Acked, facts: &AckFacts) {
        let Some(deliveries) = &mut self.deliveries else { return };
        let arrivals = Arrivals {
            acked: acked.segments - acked.sacked_before,
            sacked: facts.sacked,
            blind_duplicate: facts.duplicate && facts.sacked == 0,
            newest: self.board.take_newest_arrival(),
            base: self.board.first_index(),
            losses: self.board.losses(),
        };
        let delivered = deliveries.on_ack(ack.now, &arrivals);
        (ack.delivered, ack.lost, ack.rate) = (delivered.segments, delivered.lost, delivered.rate);
        if ack.delivered > 0 || ack.lost > 0 {
            self.cc.on_delivery(ack);
        }
    }
}

/// RFC 2883, section 4: the first block tells of a duplicate when it lies below the ACK or inside the second block.
pub(super) fn reported_twice(segment: &Segment) -> Option<(u64, u64)> {
    let mut blocks = segment.sack.near(segment.ack);
    let first = blocks.next().filter(|b| b.0 < b.1)?;
    let inside = first.1 <= segment.ack || blocks.next().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
    inside.then_some(first)
}
