//! The facts of the rules about a transfer: one direction of a flow, from the capture nearer its
//! sender.

use super::sending_end::SendingEnd;
use super::waits;
use crate::number_text::rate;
use ackclock_core::statistics::SummaryStats;
use ackclock_trace::report::{
    DirectionReport, FlowReport, HandshakeReport, JoinedDirectionReport, Limits, PolicerReport, QueuedDirection, VantagePoint,
};

/// Minimum data of a direction, in bytes, whose limits are diagnosed.
pub const ENOUGH_BYTES: u64 = 20_000;
/// Payload of a full segment in bytes, if none was captured.
pub const FULL_BYTES: u32 = 1460;
/// A rate above this share of a limit reaches the limit, slow start included.
pub const NEARLY: f64 = 0.75;

/// One direction of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    pub flow: &'a FlowReport,
    pub sender: SendingEnd,
    /// Of the capture near the sender.
    pub figures: &'a DirectionReport,
    /// The opposite direction in the same capture.
    pub other: &'a DirectionReport,
    pub place: VantagePoint,
    /// This direction between two captures; none with one.
    pub crossing: Option<&'a JoinedDirectionReport>,
    /// The direction of the ACKs between two captures.
    pub back: Option<&'a JoinedDirectionReport>,
    /// Rate of other flows from the receiver's host in the direction of the ACKs, bit/s.
    pub shared_bps: f64,
    /// With one capture: what the receiver sends to the sender meanwhile, in another flow with a queue.
    pub against: Option<QueuedDirection>,
    /// This direction in the capture near its receiver, with two captures.
    pub arriving: Option<&'a DirectionReport>,
    /// The handshake in the second of two captures.
    pub second_handshake: Option<&'a HandshakeReport>,
}

/// A figure that is known and not 0.
pub fn above_zero(figure: Option<f64>) -> Option<f64> {
    figure.filter(|value| *value != 0.0)
}

impl<'a> Transfer<'a> {
    /// A direction of `flow`, of whose second capture `partner` is the same flow.
    pub fn new(flow: &'a FlowReport, partner: Option<&'a FlowReport>, sender: SendingEnd, shared_bps: f64) -> Transfer<'a> {
        let crossing = sender.direction_of(flow).joined.as_ref();
        let is_far = crossing.is_some_and(|crossing| crossing.sender_side_capture == 2);
        let source = if is_far { partner.unwrap_or(flow) } else { flow };
        let arriving = crossing.and_then(|_| if std::ptr::eq(source, flow) { partner } else { Some(flow) });
        Transfer {
            flow,
            sender,
            figures: sender.direction_of(source),
            other: sender.peer().direction_of(source),
            place: source.vantage.place,
            crossing,
            back: sender.peer().direction_of(flow).joined.as_ref(),
            shared_bps,
            against: None,
            arriving: arriving.map(|flow| sender.direction_of(flow)),
            second_handshake: partner.map(|flow| &flow.handshake),
        }
    }

    /// Whether SYN and SYN-ACK have the window scale option in all captures.
    pub fn has_window_scaling(&self) -> bool {
        self.flow.handshake.window_scaling && self.second_handshake.is_none_or(|second| second.window_scaling)
    }

    /// Whether one capture has the window scale option of an end, and the other has not.
    pub fn strips_window_scaling(&self) -> bool {
        let ours = &self.flow.handshake;
        self.second_handshake.is_some_and(|there| {
            ours.client_window_scale.is_none() != there.client_window_scale.is_none()
                || ours.server_window_scale.is_none() != there.server_window_scale.is_none()
        })
    }

    /// Whether the capture is known not to be at the sender: its RTT and flight are not the sender's.
    pub fn is_far(&self) -> bool {
        self.place != self.sender.place() && self.place != VantagePoint::Unknown
    }

    /// Whether the capture shows the sender's flight and RTT. Elsewhere ACKs follow data at once, as if
    /// no data were in flight.
    pub fn shows_pace(&self) -> bool {
        self.figures.limited.is_some_and(|limited| limited.path_rate.is_some())
    }

    /// Whether the sender probed a zero window, so it had data (RFC 9293, 3.8.6.1).
    pub fn waits_closed(&self) -> bool {
        self.figures.zero_windows > 0 && self.figures.zero_window_probes > 0
    }

    /// Share of the flow's time in which the advertised window was zero.
    pub fn closed_share(&self) -> f64 {
        let lasted = self.flow.duration_s;
        if lasted > 0.0 { (self.figures.zero_window.closed_s / lasted).min(1.0) } else { 0.0 }
    }

    pub fn goodput_bps(&self) -> f64 {
        self.figures.goodput_bps.unwrap_or(0.0)
    }

    pub fn throughput_bps(&self) -> f64 {
        self.figures.throughput_bps.unwrap_or(0.0)
    }

    /// Rate that the spacing of packets shows in one capture, bit/s; 0 if unknown.
    pub fn inferred_bps(&self) -> f64 {
        self.figures.inferred_path.as_ref().and_then(|path| path.rate_bps).unwrap_or(0.0)
    }

    /// The bottleneck's rate from a standing queue between two captures.
    pub fn crossing_bps(&self) -> Option<f64> {
        above_zero(self.crossing.and_then(|crossing| crossing.bottleneck_buffer_bytes.rate_bps))
    }

    /// What the flow gets, and of which rate if the path's is known and larger: `3.80 Mb/s of 50.0 Mb/s`.
    pub fn share_of_path(&self) -> String {
        let goodput = self.goodput_bps();
        let path = self.crossing_bps().or(above_zero(Some(self.inferred_bps()))).filter(|bps| *bps > goodput);
        path.map_or_else(|| rate(goodput), |bps| format!("{} of {}", rate(goodput), rate(bps)))
    }

    /// Whether the direction has three quarters of the bottleneck's rate, measured by two captures or
    /// inferred from the spacing of its packets: its losses are then those of a sender that fills the
    /// path.
    pub fn has_path_rate(&self) -> bool {
        let goodput_bps = self.goodput_bps();
        // A rate below the goodput is the sender's own spacing.
        let inferred_bps = Some(self.inferred_bps()).filter(|bps| *bps > 0.9 * goodput_bps);
        let path_bps = NEARLY * self.crossing_bps().or(inferred_bps).unwrap_or(0.0);
        goodput_bps > path_bps && path_bps > 0.0
    }

    /// Shares of time, by what limited the sender; all 0 if unknown. A sender that waits for a delayed ACK with one
    /// segment in flight has a small window, and no queue.
    pub fn limited(&self) -> Limits {
        let limited = self.figures.limited.unwrap_or_default();
        let waited = self.share_of_waits(false).min(limited.path_rate.unwrap_or(0.0));
        let less = |share: Option<f64>| share.map(|share| share - waited);
        Limits { path_rate: less(limited.path_rate), cwnd: limited.cwnd.map(|share| share + waited), ..limited }
    }

    /// Share of the direction's time that small segments, or full ones, waited for delayed ACKs.
    pub fn share_of_waits(&self, small: bool) -> f64 {
        let lasted = self.flow.duration_s - 1e-3 * self.figures.first_data_ms.unwrap_or(0.0);
        if lasted > 0.0 { (waits::waited_s(self.figures, small) / lasted).min(1.0) } else { 0.0 }
    }

    /// Share of the time in which the path's rate limited, or a queue stood.
    pub fn queued_share(&self) -> f64 {
        self.limited().path_rate.unwrap_or(0.0)
    }

    /// Payload of a full segment in bytes.
    pub fn segment(&self) -> u32 {
        if self.figures.largest_segment_bytes > 0 { self.figures.largest_segment_bytes } else { FULL_BYTES }
    }

    /// Whether the flow had more than one segment in flight on average, where the capture shows that: one
    /// alone waits in no queue of its own, and its spacing is that of the program or of the other end.
    pub fn is_more_than_one_segment(&self) -> bool {
        let mean = self.figures.outstanding_bytes.mean.unwrap_or(0.0);
        !self.shows_pace() || mean > f64::from(self.figures.largest_segment_bytes)
    }

    /// Recoveries and timeouts.
    pub fn loss_events(&self) -> u32 {
        self.figures.repairs.recoveries + self.figures.repairs.timeouts
    }

    /// Spurious retransmissions. The receiver's capture has more evidence of them: D-SACKs may be lost
    /// on the path.
    pub fn not_needed(&self) -> u32 {
        let here = self.figures.spurious_retransmits;
        self.arriving.map_or(here, |arriving| here.max(arriving.spurious_retransmits))
    }

    /// Loss events per segment, the p of throughput models.
    pub fn loss_rate(&self) -> f64 {
        f64::from(self.loss_events()) / self.figures.segments.max(1) as f64
    }

    /// The path's minimum RTT in ms, without queues; 0 if unknown.
    pub fn min_rtt_ms(&self) -> f64 {
        self.figures.rtt_ms.min.unwrap_or(0.0)
    }

    /// Whether the direction of the ACKs has a tenth of this direction's data or more.
    pub fn has_data_beside_acks(&self) -> bool {
        self.other.unique_bytes as f64 > 0.1 * self.figures.unique_bytes as f64
    }

    /// One-way delays of the data and of the ACKs between two captures.
    pub fn delays_ms(&self) -> [Option<&'a SummaryStats>; 2] {
        [self.crossing, self.back].map(|crossing| crossing.map(|crossing| &crossing.one_way_delay_ms))
    }

    /// The verdict about the losses between two captures; with one `policer` or `unclear`.
    pub fn loss_cause(&self) -> &'static str {
        let of_one = if self.policer().is_some() { "policer" } else { "unclear" };
        self.crossing.map_or(of_one, |crossing| crossing.loss_cause.verdict)
    }

    /// The policer that dropped most of what was lost.
    pub fn policer(&self) -> Option<&'a PolicerReport> {
        match self.crossing {
            Some(crossing) => crossing.policer.as_ref().filter(|_| crossing.loss_cause.verdict == "policer"),
            None => self.figures.inferred_path.as_ref()?.policer.as_ref(),
        }
    }
}
