//! One timer for the RTO, the tail loss probe and the reordering window, as in Linux
//! (`icsk_pending`): each replaces the others.

use super::RecoveryContext;
use crate::tcp::timer_wheel::TimerWheel;
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pending {
    #[default]
    None,
    Rto,
    Probe,
    Reordering,
}

#[derive(Clone, Copy, Debug)]
pub struct Timer {
    pub pending: Pending,
    at: Time,
}

impl Default for Timer {
    fn default() -> Timer {
        Timer { pending: Pending::None, at: Time::NEVER }
    }
}

/// `TCP_TIMEOUT_MIN_US`: what the timers of the probe and of the reordering window add.
pub const MIN_TIMEOUT: Span = Span::from_ms(2);

/// `TCP_TIMEOUT_INIT`: the probe's before the first RTT sample.
pub const INITIAL_TIMEOUT: Span = Span::from_secs(1);

impl Timer {
    pub fn set(&mut self, pending: Pending, at: Time, ctx: &mut RecoveryContext<'_>) {
        (self.pending, self.at) = (pending, at);
        self.apply(ctx);
    }

    /// The RTO, from now.
    pub fn set_rto(&mut self, wheel: TimerWheel, ctx: &mut RecoveryContext<'_>) {
        let at = wheel.expiry(ctx.now, ctx.rtt.rto());
        self.set(Pending::Rto, at, ctx);
    }

    pub fn clear(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.set(Pending::None, Time::NEVER, ctx);
    }

    /// Writes the timer into the sender's.
    pub fn apply(&self, ctx: &mut RecoveryContext<'_>) {
        (*ctx.rto_at, *ctx.timer) = if self.pending == Pending::Rto { (self.at, Time::NEVER) } else { (Time::NEVER, self.at) };
    }
}
