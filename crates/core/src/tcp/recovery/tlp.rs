//! Tail loss probe (RFC 8985, section 7): after two RTTs without an ACK one more segment is sent to
//! trigger one.

use super::{AckInfo, RecoveryContext};
use crate::tcp::scoreboard::{Index, Scoreboard};
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug, Default)]
pub struct Tlp {
    /// TLP.end_seq: snd.nxt at the last probe, until an ACK answers it.
    end: Option<u64>,
    /// TLP.is_retrans.
    retransmitted: bool,
    /// The window that a pending probe may use; 0 if none is pending.
    allowance: f64,
}

/// TLP.max_ack_delay: how long the receiver may delay the ACK of a single segment.
const MAX_ACK_DELAY: Span = Span::from_ms(200);
/// Granularity of host timers (Linux: TCP_TIMEOUT_MIN, two ticks of a millisecond).
const MIN_PTO: Span = Span::from_ms(2);
/// PTO before the first RTT sample.
const INITIAL_PTO: Span = Span::from_secs(1);

impl Tlp {
    /// The PTO (TLP_calc_PTO, section 7.2), no later than the retransmission timer.
    pub fn due(&self, rto_at: Time, ctx: &RecoveryContext<'_>) -> Time {
        let scoreboard = &*ctx.scoreboard;
        if !ctx.tail_loss_probe
            || self.end.is_some()
            || self.allowance > 0.0
            || scoreboard.is_empty()
            || scoreboard.sacked_out() > 0
            || scoreboard.lost_out() > 0
        {
            return Time::NEVER;
        }
        let pto = ctx.rtt.srtt().map_or(INITIAL_PTO, |srtt| {
            let lone = if scoreboard.len() == 1 { MAX_ACK_DELAY } else { Span::ZERO };
            (srtt.saturating_mul(2) + lone).max(MIN_PTO)
        });
        (ctx.now + pto).min(rto_at)
    }

    /// TLP_send_probe (section 7.3): the window allows one more segment.
    pub fn probe(&mut self, ctx: &RecoveryContext<'_>) {
        self.allowance = f64::from(ctx.scoreboard.in_flight()) + 1.0;
    }

    pub fn on_sent(&mut self, retransmission: bool, ctx: &RecoveryContext<'_>) {
        if self.allowance > 0.0 {
            *self = Tlp { end: Some(ctx.next), retransmitted: retransmission, allowance: 0.0 };
        }
    }

    /// TLP_process_ack (section 7.4.2). Returns whether the probe has repaired a loss.
    pub fn on_ack(&mut self, ack: &AckInfo, ctx: &RecoveryContext<'_>) -> bool {
        if ack.advanced {
            self.allowance = 0.0;
        }
        let Some(end) = self.end.filter(|&end| ctx.una >= end) else { return false };
        let beyond = ctx.una > end;
        let twice = ack.dsack || (ack.duplicate && ack.sacked == 0);
        if !self.retransmitted || twice || beyond {
            self.end = None;
        }
        self.retransmitted && beyond && !twice
    }

    pub fn reset(&mut self) {
        *self = Tlp::default();
    }

    pub fn window(&self) -> f64 {
        self.allowance
    }

    /// The segment that the probe retransmits when there is no new data: the last one.
    pub fn probe_index(&self, scoreboard: &Scoreboard) -> Option<Index> {
        (self.allowance > 0.0)
            .then(|| scoreboard.end_index().checked_sub(1))
            .flatten()
            .filter(|&last| scoreboard.get(last).is_some())
    }
}
