//! The tail loss probe of RFC 8985, section 7: when no ACK comes for two round trips, one more segment calls for one.

use super::{AckInfo, RecoveryContext};
use crate::tcp::scoreboard::{Index, Scoreboard};
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug, Default)]
pub struct Tlp {
    /// TLP.end_seq: what had been sent when the last probe was, until an ACK answers it.
    end: Option<u64>,
    /// TLP.is_retrans.
    resent: bool,
    /// A probe is to go: the window it may use.
    allowance: f64,
}

/// TLP.max_ack_delay: how long the peer may hold back the ACK of a lone segment.
const MAX_ACK_DELAY: Span = Span::from_ms(200);
/// No host has a finer timer (Linux: TCP_TIMEOUT_MIN, two ticks of a millisecond).
const SHORTEST: Span = Span::from_ms(2);
/// PTO before there is a round trip to go by.
const INITIAL: Span = Span::from_secs(1);

impl Tlp {
    /// When to probe (TLP_calc_PTO, section 7.2), no later than the retransmission timer.
    pub fn due(&self, rto_at: Time, ctx: &RecoveryContext<'_>) -> Time {
        let scoreboard = &*ctx.scoreboard;
        if self.end.is_some()
            || self.allowance > 0.0
            || scoreboard.is_empty()
            || scoreboard.sacked_out() > 0
            || scoreboard.lost_out() > 0
        {
            return Time::NEVER;
        }
        let pto = ctx.rtt.srtt().map_or(INITIAL, |srtt| {
            let lone = if scoreboard.len() == 1 { MAX_ACK_DELAY } else { Span::ZERO };
            (srtt.saturating_mul(2) + lone).max(SHORTEST)
        });
        (ctx.now + pto).min(rto_at)
    }

    /// TLP_send_probe (section 7.3): the window lets one segment by.
    pub fn probe(&mut self, ctx: &RecoveryContext<'_>) {
        self.allowance = f64::from(ctx.scoreboard.in_flight()) + 1.0;
    }

    pub fn on_sent(&mut self, retransmission: bool, ctx: &RecoveryContext<'_>) {
        if self.allowance > 0.0 {
            *self = Tlp { end: Some(ctx.next), resent: retransmission, allowance: 0.0 };
        }
    }

    /// TLP_process_ack (section 7.4.2): says whether the probe has repaired a loss.
    pub fn on_ack(&mut self, ack: &AckInfo, ctx: &RecoveryContext<'_>) -> bool {
        if ack.advanced {
            self.allowance = 0.0;
        }
        let Some(end) = self.end.filter(|&end| ctx.una >= end) else { return false };
        let beyond = ctx.una > end;
        let twice = ack.dsack || (ack.duplicate && ack.sacked == 0);
        if !self.resent || twice || beyond {
            self.end = None;
        }
        self.resent && beyond && !twice
    }

    pub fn forget(&mut self) {
        *self = Tlp::default();
    }

    pub fn window(&self) -> f64 {
        self.allowance
    }

    pub fn resends(&self, scoreboard: &Scoreboard) -> Option<Index> {
        (self.allowance > 0.0)
            .then(|| scoreboard.end_index().checked_sub(1))
            .flatten()
            .filter(|&last| scoreboard.get(last).is_some())
    }
}
