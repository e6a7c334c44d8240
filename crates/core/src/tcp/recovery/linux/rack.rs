//! RACK (RFC 8985, section 6) as Linux has it: `tcp_rack_advance()`, `tcp_rack_detect_loss()`,
//! `tcp_rack_update_reo_wnd()`.

use super::RecoveryContext;
use crate::tcp::scoreboard::{Index, Scoreboard, SentSegment};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// `TCP_RACK_RECOVERY_THRESH`: recoveries for which a widened reordering window remains.
pub const PERSIST: u32 = 16;
/// Maximum of the reordering window, in quarters of the minimum RTT.
const MAX_STEPS: u32 = 255;

#[derive(Clone, Debug)]
pub struct Rack {
    /// All transmissions in the order of sending (`tsorted_sent_queue`); what RACK marked lost has
    /// left.
    sent: VecDeque<XmitRecord>,
    /// RACK.xmit_ts and RACK.end_seq: of the delivered segments, the one sent last.
    newest: (Time, Index),
    /// RACK.rtt.
    rtt: Span,
    /// A delivery since losses were last looked for.
    pub advanced: bool,
    pub dsack_seen: bool,
    /// RACK.reo_wnd_mult, RACK.reo_wnd_persist.
    pub steps: u32,
    pub persist: u32,
    /// Segments delivered when the reordering window was last adapted, and now.
    last_delivered: u64,
    pub total_delivered: u64,
}

#[derive(Clone, Copy, Debug)]
struct XmitRecord {
    at: Time,
    index: Index,
    /// Segments delivered before (`tx.delivered`).
    delivered: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: VecDeque::new(),
            newest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            advanced: false,
            dsack_seen: false,
            steps: 1,
            persist: 0,
            last_delivered: 0,
            total_delivered: 0,
        }
    }
}

impl Rack {
    pub fn on_sent(&mut self, index: Index, now: Time) {
        self.sent.push_back(XmitRecord { at: now, index, delivered: self.total_delivered });
    }

    /// `tcp_rack_advance()`. The RTT of a retransmission below the minimum is the original's.
    pub fn advance(&mut self, index: Index, sent_at: Time, retransmitted: bool, now: Time, min_rtt: Option<Span>) {
        let rtt = now - sent_at;
        if retransmitted && min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max((sent_at, index));
    }

    /// A segment sent then has not been delivered within the RTT of the last delivery and `wait`,
    /// which is a quarter of the minimum RTT and so a little more than one of the path's: it has not
    /// expired at exactly that time.
    pub fn has_expired(&self, sent_at: Time, wait: Span, now: Time) -> bool {
        let due = sent_at + self.rtt + wait;
        due < now || (due == now && wait == Span::ZERO)
    }

    /// Marks segments lost. Returns how long the last of those sent before the newest delivery may
    /// still arrive.
    pub fn detect(&mut self, reo_wnd: Span, ctx: &mut RecoveryContext<'_>) -> Option<Span> {
        let mut at = 0;
        while let Some(&record) = self.sent.get(at) {
            if (record.at, record.index) >= self.newest {
                return None;
            }
            let sent = ctx.scoreboard.get(record.index);
            if !sent.is_some_and(|sent| is_last(sent, record.at)) {
                self.remove(at);
                continue;
            }
            if sent.is_some_and(is_waiting) {
                at += 1;
                continue;
            }
            if !self.has_expired(record.at, reo_wnd, ctx.now) {
                break;
            }
            ctx.scoreboard.mark_lost(record.index);
            self.remove(at);
        }
        let end = self.sent.partition_point(|record| record.at <= self.newest.0);
        let last = self.sent.range(..end).rev().find(|record| {
            let valid = ctx.scoreboard.get(record.index).is_some_and(|sent| is_last(sent, record.at) && !is_waiting(sent));
            valid && (record.at, record.index) < self.newest
        })?;
        let due = last.at + self.rtt + reo_wnd;
        (due >= ctx.now).then(|| due - ctx.now)
    }

    fn remove(&mut self, at: usize) {
        if at == 0 {
            self.sent.pop_front();
        } else {
            self.sent.remove(at);
        }
    }

    /// Segments delivered when this transmission was sent.
    pub fn delivered_before(&self, sent_at: Time, index: Index) -> u64 {
        let from = self.sent.partition_point(|record| record.at < sent_at);
        let same = self.sent.range(from..).take_while(|record| record.at == sent_at);
        { same }.find(|record| record.index == index).map_or(0, |record| record.delivered)
    }

    /// One step for each RTT with a D-SACK; back to one after 16 recoveries without.
    /// `prior_delivered`: segments delivered when the newest of an ACK's was sent.
    pub fn update_reo_wnd(&mut self, prior_delivered: u64) {
        if prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.dsack_seen = false;
            self.last_delivered = self.total_delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// All segments have new indices: the last transmissions of those in flight, in the order of sending.
    pub fn follow_division(&mut self, scoreboard: &Scoreboard) {
        let delivered = self.total_delivered;
        let in_flight = (scoreboard.first_index()..scoreboard.end_index()).filter_map(|index| {
            Some((index, scoreboard.get(index).filter(|sent| !sent.is_sacked() && !is_waiting(sent))?.sent_at))
        });
        let mut sent: Vec<XmitRecord> = in_flight.map(|(index, at)| XmitRecord { at, index, delivered }).collect();
        sent.sort_by_key(|record| (record.at, record.index));
        self.sent = sent.into();
    }

    /// The front holds no transmission that is of use.
    pub fn trim(&mut self, first: Index) {
        while self.sent.front().is_some_and(|record| record.index < first) {
            self.sent.pop_front();
        }
    }
}

/// This is the last transmission of the segment, and it is not delivered.
fn is_last(sent: &SentSegment, at: Time) -> bool {
    sent.sent_at == at && !sent.is_sacked()
}

/// Marked lost and not yet retransmitted.
fn is_waiting(sent: &SentSegment) -> bool {
    sent.is_lost() && !sent.is_retransmitted()
}
