//! What the sending half does about marks: which of its packets may be marked, and how it answers an echo.

use super::Sender;
use crate::packet::{Ecn, Flags, Segment};
use crate::tcp::cc::{Congestion, CongestionControl, CongestionSignal, EcnAgreement, EcnResponse};
use crate::tcp::ecn::{EcnFeedback, EcnMode, EcnPackets, MarkReport};
use crate::tcp::recovery::{AckInfo, Cwr, Recovery};
use crate::tcp::scoreboard::Acked;
use crate::units::Time;

/// Kept where the two ends have agreed on ECN.
#[derive(Clone, Debug)]
pub struct SenderEcn {
    feedback: EcnFeedback,
    /// The peer echoes until it hears that the window has been cut.
    latches_ece: bool,
    capable: Ecn,
    packets: EcnPackets,
    /// The next new data says that the window has been cut.
    cwr_owed: bool,
    /// First byte that had not been sent when the window was last cut, for whatever reason.
    cwr_high: u64,
    repairing: bool,
    episode: Option<Cwr>,
}

impl Sender {
    /// The handshake has settled it.
    pub fn set_ecn_mode(&mut self, agreed: EcnMode) {
        let accurate = agreed == EcnMode::Accurate;
        let beta = self.config.ecn_beta;
        self.cc.on_ecn_negotiated(&EcnAgreement { echoed: agreed != EcnMode::Off, accurate, beta });
        self.ecn = (agreed != EcnMode::Off).then(|| {
            let capable = if matches!(self.cc.ecn_response(), EcnResponse::Scalable { .. }) { Ecn::Ect1 } else { Ecn::Ect0 };
            Box::new(SenderEcn {
                feedback: EcnFeedback::new(agreed),
                latches_ece: !accurate,
                capable,
                packets: self.config.ecn_packets,
                cwr_owed: false,
                cwr_high: 0,
                repairing: false,
                episode: None,
            })
        });
    }

    /// Its congestion control counts marks, so the peer is to say of each segment whether it came marked.
    pub fn counts_marks(&self) -> bool {
        self.cc.ecn_response() != EcnResponse::Cut
    }

    /// RFC 3168, sections 6.1.2, 6.1.4 and 6.1.5: new data is ECN-capable, and the first after a cut says so.
    pub fn write_ecn(&mut self, segment: &mut Segment) {
        let Some(ecn) = &mut self.ecn else { return };
        let new = segment.payload > 0 && !segment.retransmission;
        let controlled = segment.payload == 0 && self.config.ack_control.is_some();
        if new || controlled || ecn.packets == EcnPackets::All {
            segment.ecn = ecn.capable;
        }
        if new && std::mem::take(&mut ecn.cwr_owed) {
            segment.flags = segment.flags.with(Flags::CWR);
        }
    }

    /// What an ACK says of marks; a congestion control that counts them is told.
    #[inline(never)]
    pub(super) fn on_ecn_feedback(&mut self, now: Time, segment: &Segment, acked: &Acked, info: &AckInfo) -> MarkReport {
        let delivered = info.delivered();
        let Some(ecn) = &mut self.ecn else { return MarkReport::default() };
        let marks = ecn.feedback.on_ack(segment, delivered, self.segment);
        if self.cc.ecn_response() != EcnResponse::Cut {
            let mut ack = self.cc_ack(now, acked);
            (ack.delivered, ack.marked) = (delivered, marks.segments);
            ack.recovering = self.recovery.active() || self.una <= self.rto_recovery_point;
            self.cc.on_marks(&ack);
        }
        marks
    }

    /// RFC 3168, section 6.1.2: a mark cuts the window as a loss would, but once for all marks and losses of a flight. Says whether the
    /// window may grow on this ACK.
    #[inline(never)]
    pub(super) fn respond_to_marks(&mut self, now: Time, marks: MarkReport, info: &AckInfo, grow: bool) -> bool {
        let Some(mut ecn) = self.ecn.take() else { return grow };
        let repairing = self.recovery.active() || self.una <= self.rto_recovery_point;
        if repairing {
            // A cut for a loss is said, too.
            if !ecn.repairing {
                (ecn.cwr_high, ecn.cwr_owed) = (self.next, ecn.latches_ece);
            }
            ecn.episode = None;
        } else {
            self.continue_cwr(now, &mut ecn, info);
            if marks.seen && ecn.episode.is_none() && self.una > ecn.cwr_high {
                self.cut_for_mark(now, &mut ecn, info);
            }
        }
        ecn.repairing = repairing;
        let grow = grow && (ecn.episode.is_none() || matches!(self.cc.ecn_response(), EcnResponse::Scalable { .. }));
        self.ecn = Some(ecn);
        grow
    }

    /// The episode takes an ACK in, or is over.
    fn continue_cwr(&mut self, now: Time, ecn: &mut SenderEcn, info: &AckInfo) {
        let Some(mut episode) = ecn.episode.take() else { return };
        let (_, mut ctx) = self.recovery_context(now);
        if episode.over(ctx.una, now) {
            episode.leave(&mut ctx);
        } else {
            episode.on_ack(info, &ctx);
            ecn.episode = Some(episode);
        }
    }

    fn cut_for_mark(&mut self, now: Time, ecn: &mut SenderEcn, info: &AckInfo) {
        let before = self.cc.cwnd();
        // What was in flight as the ACK came.
        let flight = f64::from(self.scoreboard.len() + info.acked).min(libm::floor(before));
        self.stats.window_cuts += 1;
        self.stats.ecn_cuts += 1;
        if let Some(undo) = &mut self.undo {
            undo.discard();
        }
        match &mut self.cwv {
            None => self.cc.on_congestion(&Congestion { now, signal: CongestionSignal::Ecn, flight }),
            Some(cwv) => {
                cwv.cut(now, &mut self.cc, (CongestionSignal::Ecn, flight), 0);
                // Nothing was lost that could be taken off as well.
                cwv.reset();
            }
        }
        (ecn.cwr_high, ecn.cwr_owed) = (self.next, ecn.latches_ece);
        let (recovery, ctx) = self.recovery_context(now);
        ecn.episode = Some(Cwr::begin(recovery, before, info, &ctx));
    }

    /// The window has been cut for a mark in this flight, and losses in it do not cut it again; but a share of marks says little of a
    /// loss (RFC 8257, section 3.4).
    pub(super) fn in_cwr(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.episode.is_some()) && self.cc.ecn_response() == EcnResponse::Cut
    }

    /// The retransmission timer has gone off.
    pub(super) fn end_cwr(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.episode = None;
        }
    }

    /// The window in force while nothing is repaired.
    pub(super) fn cwr_window(&self) -> Option<f64> {
        let episode = self.ecn.as_ref()?.episode.as_ref()?;
        (!self.recovery.active()).then(|| episode.window(&self.cc))
    }
}
