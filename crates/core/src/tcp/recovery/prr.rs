//! Proportional rate reduction (RFC 9937, which obsoletes RFC 6937): losses by RFC 6675; the window
//! falls with deliveries, so a recovery ends at the variant's window without a pause and without a
//! burst.

use super::{AckInfo, Recovery, RecoveryContext, Retransmit, Sack};
use crate::tcp::cc::{AnyCc, CongestionControl};
use crate::tcp::scoreboard::{Index, Scoreboard};

#[derive(Clone, Debug, Default)]
pub struct Prr {
    sack: Sack,
    reduction: Option<Reduction>,
}

/// The window of one recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// RecoverFS: the flight, less the segments SACKed before.
    flight: f64,
    /// prr_delivered.
    delivered: f64,
    /// Segments sent before the recovery; prr_out is the count since.
    sent_before: u64,
    /// Losses on the scoreboard at the last ACK.
    losses: u64,
    window: f64,
}

impl Reduction {
    /// Section 6.1. The scoreboard has processed the ACK that starts the recovery; it counts as
    /// delivered in it.
    pub fn start(ack: &AckInfo, ctx: &RecoveryContext<'_>) -> Reduction {
        let sacked_earlier = ctx.scoreboard.sacked_out() + ack.sacked_before - ack.sacked.min(ctx.scoreboard.sacked_out());
        let flight = (ctx.scoreboard.len() + ack.acked).saturating_sub(sacked_earlier).max(1);
        let mut reduction = Reduction {
            flight: f64::from(flight),
            delivered: 0.0,
            sent_before: ctx.stats.segments_sent,
            losses: ctx.scoreboard.losses(),
            window: 0.0,
        };
        reduction.on_ack(ack, ctx);
        reduction
    }

    /// Section 6.2: the number of segments that this ACK releases.
    pub fn on_ack(&mut self, ack: &AckInfo, ctx: &RecoveryContext<'_>) {
        let delivered = f64::from(ack.delivered());
        let safe = ack.advanced && ctx.scoreboard.losses() == self.losses;
        self.losses = ctx.scoreboard.losses();
        let first = self.delivered == 0.0;
        if delivered == 0.0 && !first {
            return;
        }
        self.delivered += delivered;
        let out = (ctx.stats.segments_sent - self.sent_before) as f64;
        let in_flight = f64::from(ctx.scoreboard.in_flight());
        let target = ctx.cc.cwnd();
        let mut count = if in_flight > target {
            proportional(self.delivered, target, self.flight) - out
        } else {
            // The conservative bound, or slow start's if SafeACK is set.
            let bound = (self.delivered - out).max(delivered) + f64::from(u8::from(safe));
            bound.min(target - in_flight)
        };
        if out == 0.0 {
            // The fast retransmission itself.
            count = count.max(1.0);
        }
        self.window = in_flight + count.max(0.0);
    }

    /// Losses detected between ACKs: the room that they free has not been earned by deliveries.
    pub fn on_timer(&mut self, ctx: &RecoveryContext<'_>) {
        self.losses = ctx.scoreboard.losses();
        self.window = f64::from(ctx.scoreboard.in_flight()) + 1.0;
    }

    /// A congestion control that controls recovery keeps its own window.
    pub fn window(&self, cc: &AnyCc) -> f64 {
        if cc.controls_recovery() { cc.cwnd() } else { self.window }
    }
}

/// Section 6.2: CEIL(prr_delivered * ssthresh / RecoverFS).
fn proportional(delivered: f64, ssthresh: f64, flight: f64) -> f64 {
    libm::ceil(delivered * ssthresh / flight)
}

impl Recovery for Prr {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        let grow = self.sack.on_ack(ack, ctx);
        if !self.sack.active() {
            self.reduction = None;
        } else if let Some(reduction) = &mut self.reduction {
            reduction.on_ack(ack, ctx);
        } else {
            self.reduction = Some(Reduction::start(ack, ctx));
        }
        grow
    }

    #[inline]
    fn on_clean_ack(&mut self, una: u64) -> bool {
        self.sack.on_clean_ack(una)
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.sack.on_timeout(ctx);
        self.reduction = None;
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        self.reduction.map_or_else(|| cc.cwnd(), |r| r.window(cc))
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        self.sack.next_retransmit(scoreboard)
    }

    fn next_rescue(&mut self, scoreboard: &mut Scoreboard) -> Option<Index> {
        self.sack.next_rescue(scoreboard)
    }

    fn active(&self) -> bool {
        self.sack.active()
    }

    fn reported_window(&self, cc: &AnyCc) -> f64 {
        self.window(cc)
    }
}
