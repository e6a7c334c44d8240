//! ECN at the sender: which segments are ECN-capable, and the response to the receiver's feedback
//! (RFC 3168, section 6.1).

use crate::packet::{Ecn, Flags, Segment};
use crate::tcp::cc::{AnyCc, Congestion, CongestionControl, CongestionSignal, EcnResponse};
use crate::tcp::ecn::{EcnCounts, EcnFeedback, EcnMode, EcnPackets, MarkReport};
use crate::tcp::recovery::{AckInfo, AnyRecovery, Cwr, RecoveryContext};

/// State of a sender whose connection has negotiated ECN.
#[derive(Clone, Debug)]
pub struct SenderEcn {
    feedback: EcnFeedback,
    /// The receiver repeats ECE until it receives CWR (RFC 3168).
    latches_ece: bool,
    capable: Ecn,
    packets: EcnPackets,
    /// The next segment of new data carries CWR.
    cwr_pending: bool,
    /// snd.nxt at the last reduction, whatever its cause.
    cwr_high: u64,
    repairing: bool,
    cwr: Option<Cwr>,
}

impl SenderEcn {
    /// None without ECN.
    pub fn new(mode: EcnMode, cc: &AnyCc, packets: EcnPackets) -> Option<Box<SenderEcn>> {
        if mode == EcnMode::Off {
            return None;
        }
        let capable = if matches!(cc.ecn_response(), EcnResponse::Scalable { .. }) { Ecn::Ect1 } else { Ecn::Ect0 };
        Some(Box::new(SenderEcn {
            feedback: EcnFeedback::new(mode),
            latches_ece: mode != EcnMode::Accurate,
            capable,
            packets,
            cwr_pending: false,
            cwr_high: 0,
            repairing: false,
            cwr: None,
        }))
    }

    /// RFC 3168, sections 6.1.2, 6.1.4 and 6.1.5: new data is ECN-capable, and the first after a
    /// reduction carries CWR. `pure_acks`: pure ACKs are ECN-capable, for ACK congestion control.
    pub fn write(&mut self, segment: &mut Segment, pure_acks: bool) {
        let new = segment.payload > 0 && !segment.retransmission;
        let every = self.packets == EcnPackets::All || (self.packets == EcnPackets::Established && !self.latches_ece);
        if new || (pure_acks && segment.payload == 0) || every {
            segment.ecn = self.capable;
        }
        if new && std::mem::take(&mut self.cwr_pending) {
            segment.flags = segment.flags.with(Flags::CWR);
        }
    }

    /// RFC 9768, section 3.2.2: the path clears the ACE field, so marks would not be reported;
    /// nothing is sent ECN-capable, and received marks are reported as before.
    pub fn disable_ect(&mut self) {
        self.capable = Ecn::NotEct;
    }

    /// The next segment of new data carries CWR, or no longer does (`tcp_ecn_queue_cwr()`,
    /// `tcp_ecn_withdraw_cwr()`).
    pub fn set_cwr_pending(&mut self, pending: bool) {
        self.cwr_pending = pending && self.latches_ece;
    }

    /// See [`EcnFeedback::on_marked_syn_ack`].
    pub fn on_marked_syn_ack(&mut self) {
        self.feedback.on_marked_syn_ack();
    }

    /// What the peer has reported.
    pub fn delivered(&self) -> EcnCounts {
        self.feedback.delivered()
    }

    /// The marks that an ACK newly reports. It acknowledges `delivered` segments of
    /// `segment_bytes`.
    /// `progress`: the ACK is newer than any before.
    pub fn on_ack(&mut self, segment: &Segment, delivered: u32, segment_bytes: u32, progress: bool) -> MarkReport {
        self.feedback.on_ack(segment, delivered, segment_bytes, progress)
    }

    /// RFC 3168, section 6.1.2: a mark reduces the window like a loss, but once for all marks and
    /// losses of a flight. Returns whether the window may grow on this ACK.
    pub fn respond(
        &mut self,
        marks: MarkReport,
        info: &AckInfo,
        repairing: bool,
        recovery: &AnyRecovery,
        ctx: &mut RecoveryContext<'_>,
    ) -> bool {
        if repairing {
            // A reduction for a loss is answered with CWR, too.
            if !self.repairing {
                (self.cwr_high, self.cwr_pending) = (ctx.next, self.latches_ece);
            }
            self.cwr = None;
        } else {
            self.continue_cwr(info, ctx);
            if marks.seen && self.cwr.is_none() && ctx.una > self.cwr_high {
                self.enter_cwr(info, recovery, ctx);
            }
        }
        self.repairing = repairing;
        self.cwr.is_none() || matches!(ctx.cc.ecn_response(), EcnResponse::Scalable { .. })
    }

    fn continue_cwr(&mut self, info: &AckInfo, ctx: &mut RecoveryContext<'_>) {
        let Some(mut cwr) = self.cwr.take() else { return };
        if cwr.over(ctx.una, ctx.now) {
            cwr.leave(ctx);
        } else {
            cwr.on_ack(info, ctx);
            self.cwr = Some(cwr);
        }
    }

    fn enter_cwr(&mut self, info: &AckInfo, recovery: &AnyRecovery, ctx: &mut RecoveryContext<'_>) {
        let before = ctx.cc.cwnd();
        // FlightSize when the ACK arrived.
        let flight = f64::from(ctx.scoreboard.len() + info.acked).min(libm::floor(before));
        ctx.stats.window_cuts += 1;
        ctx.stats.ecn_cuts += 1;
        let congestion = Congestion { now: ctx.now, signal: CongestionSignal::Ecn, flight };
        ctx.window_cut.cut_for_mark(ctx.cc, &congestion);
        (self.cwr_high, self.cwr_pending) = (ctx.next, self.latches_ece);
        self.cwr = Some(Cwr::begin(recovery, before, info, ctx));
    }

    /// A mark has reduced the window in this flight, so losses in it do not reduce it again. A
    /// response to the share of marks does not count as such (RFC 8257, section 3.4).
    pub fn already_reduced(&self, cc: &AnyCc) -> bool {
        self.cwr.is_some() && cc.ecn_response() == EcnResponse::Cut
    }

    pub fn on_rto(&mut self) {
        self.cwr = None;
    }

    /// The window in force during CWR.
    pub fn cwr_window(&self, cc: &AnyCc) -> Option<f64> {
        self.cwr.as_ref().map(|cwr| cwr.window(cc))
    }
}
