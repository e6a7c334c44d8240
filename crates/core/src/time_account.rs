//! The account of a hop's time in one direction: sending, overhead, blocked, idle.

use crate::units::{Span, Time};

/// Time of one direction of a link or a medium since the start of the measurement.
///
/// The element that carries the packets fills the account: it knows when packets of the direction
/// are in it (`occupied`), when it transmits them (`sending`), and when others use the medium
/// (`blocked`). The rest of the occupied time is overhead, so the four shares add up to 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeAccount {
    since: Time,
    /// Packets of the direction wait or are in service.
    pub occupied: Span,
    /// Transmissions that carry packets of the direction, each once.
    pub sending: Span,
    /// Packets wait while another direction uses the medium, or while the link has an outage.
    pub blocked: Span,
    /// No capacity was left for another packet. `None`: that holds for all occupied time. A medium
    /// in frames has free capacity while a packet waits for its grant; one that both directions share
    /// has none while packets of the other direction are in it.
    pub full: Option<Span>,
    /// Share of a TDD frame that belongs to the other direction, 0 to 1.
    pub other_subframe: f64,
}

/// The account as shares of the time, which add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeShares {
    pub sending: f64,
    /// Contention, grants, turnaround, preambles, retransmissions of the link layer, and parts of
    /// frames that waiting packets cannot use.
    pub overhead: f64,
    pub blocked: f64,
    /// Nothing waits or is in service.
    pub idle: f64,
    /// No capacity was left.
    pub full: f64,
}

impl TimeAccount {
    /// Starts a new measurement at `now`. The account must be up to date.
    pub fn restart(&mut self, now: Time) {
        let full = self.full.map(|_| Span::ZERO);
        *self = TimeAccount { since: now, full, other_subframe: self.other_subframe, ..TimeAccount::default() };
    }

    /// Adds time without free capacity, for a medium in frames.
    pub fn add_full(&mut self, span: Span) {
        self.full = Some(self.full.unwrap_or(Span::ZERO) + span);
    }

    /// Time without free capacity since the start of the measurement.
    pub fn full_time(&self) -> Span {
        self.full.unwrap_or(self.occupied)
    }

    /// The shares of the time from the start of the measurement until `end`; all idle for an empty
    /// interval.
    pub fn shares(&self, end: Time) -> TimeShares {
        let total = (end - self.since).as_secs();
        if total <= 0.0 {
            return TimeShares { idle: 1.0, ..TimeShares::default() };
        }
        let occupied = (self.occupied.as_secs() / total).min(1.0);
        // A frame counts when it ends: at the edges of the measurement it may exceed the rest.
        let blocked = (self.blocked.as_secs() / total + self.other_subframe * occupied).min(occupied);
        let sending = (self.sending.as_secs() / total).min(occupied - blocked);
        let full = (self.full_time().as_secs() / total).min(1.0);
        TimeShares { sending, overhead: occupied - blocked - sending, blocked, idle: 1.0 - occupied, full }
    }
}

impl TimeShares {
    /// The mean of several links of one hop; idle without any.
    pub fn mean(of: &[TimeShares]) -> TimeShares {
        let n = of.len() as f64;
        if of.is_empty() {
            return TimeShares { idle: 1.0, ..TimeShares::default() };
        }
        let mean = |part: fn(&TimeShares) -> f64| of.iter().map(part).sum::<f64>() / n;
        TimeShares {
            sending: mean(|s| s.sending),
            overhead: mean(|s| s.overhead),
            blocked: mean(|s| s.blocked),
            idle: mean(|s| s.idle),
            full: mean(|s| s.full),
        }
    }
}
