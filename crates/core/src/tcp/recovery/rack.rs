//! RACK-TLP (RFC 8985): a segment is lost when one sent later has arrived and time enough for reordering has passed. The window falls by
//! PRR. The tail loss probe is in `tail.rs`.

use super::prr::Reduction;
use super::reordering::Reordering;
use super::tail::Tail;
use super::{AckFacts, Recovery, Repair, Resend};
use crate::tcp::cc::{AnyCc, CongestionControl, Signal};
use crate::tcp::scoreboard::{Index, Scoreboard, Sent};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Boxed, as it is larger than every other recovery.
#[derive(Clone, Debug, Default)]
pub struct Rack(Box<State>);

#[derive(Clone, Debug, Default)]
struct State {
    /// Everything sent, in the order of sending; what has arrived or been marked leaves from the front.
    sent: VecDeque<Transmission>,
    /// RACK.xmit_ts and, for RACK.end_seq, the segment's number: of those that arrived, the one sent last.
    newest: (Time, Index),
    /// RACK.rtt: that segment's.
    rtt: Span,
    /// RACK.fack: the highest segment that has arrived, and one more.
    forward: Index,
    reordering: Reordering,
    /// Something sent before `newest` waits for the reordering window to pass.
    deadline: Option<Time>,
    until: Option<u64>,
    not_before: u64,
    reduction: Option<Reduction>,
    tail: Tail,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    at: Time,
    index: Index,
    again: bool,
}

/// An echo is as coarse as the timestamp clock.
const ECHO_TICK: Span = Span::from_ms(1);

impl State {
    /// Section 6.2, steps 1 to 3: what this ACK says arrived.
    fn note_arrivals(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) {
        if repair.board.take_lowest_arrival() < self.forward {
            self.reordering.seen = true;
        }
        self.forward = self.forward.max(repair.board.first_index() + u64::from(repair.board.forward_acked()));
        let Some(newest) = repair.board.newest_arrival().filter(|&n| n > self.newest) else { return };
        let rtt = repair.now - newest.0;
        let too_early = repair.rtt.min().is_some_and(|min| rtt < min) || ack.echo.is_some_and(|echo| echo > rtt + ECHO_TICK);
        // It may be the original that has arrived.
        if too_early && self.sent_again(newest) {
            return;
        }
        (self.newest, self.rtt) = (newest, rtt);
    }

    fn sent_again(&self, (at, index): (Time, Index)) -> bool {
        let from = self.sent.partition_point(|t| t.at < at);
        self.sent.range(from..).take_while(|t| t.at == at).find(|t| t.index == index).is_none_or(|t| t.again)
    }

    /// Section 6.2, step 5: marks what is lost, and notes when what waits will be. One timer is enough for all that were sent
    /// before `newest`.
    fn detect(&mut self, repair: &mut Repair<'_>) {
        let wait = self.rtt + self.reordering.window(self.until.is_some() || repair.una < self.not_before, repair);
        self.deadline = None;
        while let Some(&Transmission { at, index, .. }) = self.sent.front() {
            if repair.board.get(index).is_some_and(|s| waits(s, at)) {
                if (at, index) >= self.newest {
                    return;
                }
                if at + wait > repair.now {
                    self.deadline = Some(self.newest.0 + wait);
                    return;
                }
                repair.board.mark_lost(index);
            }
            self.sent.pop_front();
        }
    }

    fn enter(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) {
        self.until = Some(repair.next);
        self.tail.forget();
        repair.cut(Signal::Duplicates, repair.flight());
        repair.stats.fast_retransmits += 1;
        self.reduction = Some(Reduction::start(ack, repair));
    }

    fn may_enter(&self, repair: &Repair<'_>) -> bool {
        repair.board.unsent_losses() && self.until.is_none() && repair.una >= self.not_before
    }

    /// One timer: for what may be reordered, or else for the tail.
    fn arm(&mut self, rto_at: Time, repair: &mut Repair<'_>) {
        let whole = self.until.is_none() && repair.una >= self.not_before;
        *repair.timer = match self.deadline {
            Some(deadline) => deadline,
            None if whole => self.tail.due(rto_at, repair),
            None => Time::NEVER,
        };
    }
}

/// This transmission of the segment is the last, and has neither arrived nor been given up.
fn waits(sent: &Sent, at: Time) -> bool {
    sent.sent_at == at && !sent.is_sacked() && (!sent.is_lost() || sent.is_resent())
}

impl Recovery for Rack {
    fn on_ack(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) -> bool {
        let state = &mut *self.0;
        state.note_arrivals(ack, repair);
        let leaving = state.until.is_some_and(|until| repair.una >= until);
        state.reordering.adapt(ack.dsack, leaving, repair);
        state.detect(repair);
        let tail_lost = state.tail.on_ack(ack, repair);
        let mut grow = false;
        if leaving {
            (state.until, state.reduction) = (None, None);
            repair.cc.on_recovered(repair.now, repair.cc.cwnd());
        } else if let Some(reduction) = &mut state.reduction {
            reduction.on_ack(ack, repair);
        } else if state.may_enter(repair) {
            state.enter(ack, repair);
        } else if tail_lost {
            // Section 7.4.2: the probe has repaired a loss, which counts like any other: a recovery begun and done.
            repair.stats.fast_retransmits += 1;
            repair.cut(Signal::Duplicates, repair.flight());
            repair.cc.on_recovered(repair.now, repair.cc.cwnd());
        } else {
            grow = ack.advanced;
        }
        // An ACK that advances restarts the retransmission timer.
        let rto_at = if ack.advanced { repair.now + repair.rtt.rto() } else { repair.rto_at };
        state.arm(rto_at, repair);
        grow
    }

    fn on_timeout(&mut self, repair: &mut Repair<'_>) {
        let state = &mut *self.0;
        state.not_before = repair.next;
        (state.until, state.reduction, state.deadline) = (None, None, None);
        state.sent.clear();
        state.tail.forget();
        *repair.timer = Time::NEVER;
    }

    fn on_timer(&mut self, repair: &mut Repair<'_>) -> bool {
        let state = &mut *self.0;
        let probes = state.deadline.is_none();
        *repair.timer = Time::NEVER;
        if probes {
            state.tail.probe(repair);
            return true;
        }
        state.detect(repair);
        if state.may_enter(repair) {
            state.enter(&AckFacts::default(), repair);
        } else if let Some(reduction) = &mut state.reduction {
            reduction.on_timer(repair);
        }
        state.arm(repair.rto_at, repair);
        false
    }

    /// What is in flight is remembered, and that segments come out of order.
    fn abandon(&mut self, repair: &mut Repair<'_>) {
        let state = &mut *self.0;
        (state.until, state.reduction, state.not_before) = (None, None, repair.next);
        state.reordering.seen = true;
        state.tail.forget();
    }

    fn watches_sends(&self) -> bool {
        true
    }

    fn on_sent(&mut self, index: Index, again: bool, repair: &mut Repair<'_>) {
        let state = &mut *self.0;
        state.sent.push_back(Transmission { at: repair.now, index, again });
        state.tail.on_sent(again, repair);
        if !again {
            state.arm(repair.rto_at, repair);
        }
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        self.0.reduction.map_or_else(|| cc.cwnd().max(self.0.tail.window()), |r| r.window(cc))
    }

    fn next_resend(&mut self, board: &mut Scoreboard) -> Option<Resend> {
        board.next_lost().map(Resend::IfRoom)
    }

    /// Section 7.3: with nothing new to send, the probe is the last segment.
    fn last_resort(&mut self, board: &mut Scoreboard) -> Option<Index> {
        self.0.tail.resends(board)
    }

    fn active(&self) -> bool {
        self.0.until.is_some()
    }

    fn reported_window(&self, cc: &AnyCc) -> f64 {
        self.0.reduction.map_or_else(|| cc.cwnd(), |r| r.window(cc))
    }
}
