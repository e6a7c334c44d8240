//! Results of the comparison of two captures: fields of each direction and of the document.
//! docs/reference/analyze.md has their definitions.

use super::{FlowRows, Report, UdpFlowReport, ms};
use crate::join::policer::PolicerEstimate;
use crate::join::{
    BacklogMeasure, BufferCaveat, CaptureSide, ClockRelation, Joined, JoinedDirection, LinkStall, LossAttribution, LossBursts,
    SizeLimit, TokenBucketEstimate,
};
use ackclock_contract::Document;
use ackclock_core::statistics::SummaryStats;
use serde::Serialize;

/// Fields of a direction.
#[derive(Debug, Default, Serialize, Document)]
pub struct JoinedDirectionReport {
    /// The capture near this direction's sender: 1 or 2.
    pub sender_side_capture: u8,
    /// With the offset of `clock.assumption`.
    pub one_way_delay_ms: SummaryStats,
    pub loss_rate: Option<f64>,
    pub lost: LostReport,
    pub loss_bursts: BurstReport,
    /// Times in which the link sent nothing although packets waited.
    pub link_stalls: Vec<StallReport>,
    pub bottleneck_buffer_bytes: BufferReport,
    pub delay_loss_correlation: Option<f64>,
    pub loss_cause: LossCauseReport,
    /// A token bucket without a queue that dropped packets of this direction.
    pub policer: Option<PolicerReport>,
    /// A size above which no packet of this direction arrived.
    pub path_mtu: Option<PathMtuReport>,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct LostReport {
    pub sent: u64,
    pub between_captures: u64,
    /// Arrived, but missing in the capture near the receiver.
    pub capture_drops_receiver: u64,
    /// Missing in the capture near the sender.
    pub capture_drops_sender: u64,
    pub network_duplicates: u64,
    /// The first `MAX_LISTED` lost packets.
    pub packets: Vec<LostPacket>,
}

#[derive(Debug, Serialize, Document)]
pub struct LostPacket {
    /// Departure, Unix time of the capture near the sender.
    pub time_s: f64,
    pub sequence: u32,
    pub bytes: u32,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct StallReport {
    /// Last arrival before it, after the direction's first packet.
    pub start_s: f64,
    /// From then to the next arrival.
    pub duration_ms: f64,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct BurstReport {
    pub bin_ms: u32,
    pub above_50: u32,
    pub above_80: u32,
    pub all_lost: u32,
    pub bursts: Vec<OneBurst>,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct OneBurst {
    /// Time after the direction's first packet.
    pub start_s: f64,
    pub duration_ms: f64,
    /// From the first to the last lost packet.
    pub lost_span_ms: f64,
    pub sent: u32,
    pub lost: u32,
    pub peak_share: f64,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct BufferReport {
    pub min_based: Option<f64>,
    pub max_based: Option<f64>,
    pub rate_bps: Option<f64>,
    /// The buffer overflowed. If not, it may be larger than `max_based`.
    pub filled: bool,
    /// Reasons why this may not be the buffer of a single droptail queue: `marks`, `early_drops`,
    /// `delay_tail` (then there is no `max_based`), `token_bucket`, `flow_queues`.
    #[serde(rename = "doubts")]
    pub caveats: Vec<&'static str>,
    pub token_bucket: Option<BucketReport>,
}

#[derive(Debug, Clone, Default, Serialize, Document)]
pub struct BucketReport {
    pub rate_bps: f64,
    pub burst_bytes: f64,
    pub peak_bps: f64,
}

/// A policer: what exceeds `rate_bps * t + burst_bytes` is dropped, and nothing waits.
#[derive(Debug, Clone, Default, Serialize, Document)]
pub struct PolicerReport {
    pub rate_bps: f64,
    pub burst_bytes: f64,
    /// Losses of the direction at an empty bucket, and its other losses.
    pub drops: u32,
    pub other_losses: u32,
    /// Packets of all flows that passed although the bucket was empty.
    pub passed: u32,
}

/// A size above which no packet arrived, while shorter ones did.
#[derive(Debug, Clone, Copy, Default, Serialize, Document)]
pub struct PathMtuReport {
    /// IP bytes of the largest packet that arrived, and of the smallest longer one, which did not.
    pub delivered_bytes: u32,
    pub lost_bytes: u32,
    /// Packets that were lost above it.
    pub lost: u32,
    /// The peer sent nothing after the second of them: one that vanished in that moment looks the same.
    pub peer_silent: bool,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct LossCauseReport {
    pub verdict: &'static str,
    pub radio_share: Option<f64>,
    /// Losses that were located after the bottleneck, by the regularity of its arrivals.
    pub lost_behind_bottleneck: u32,
    /// Losses that were located before it.
    pub lost_before_bottleneck: u32,
    /// Losses while the link stalled.
    pub lost_in_stalls: u32,
    pub evidence: String,
}

/// The second capture's clock relative to the first's.
#[derive(Debug, Serialize, Document)]
pub struct ClockReport {
    pub offset_ms: f64,
    pub offset_interval_ms: [f64; 2],
    pub skew_ppm: f64,
    pub skew_interval_ppm: [f64; 2],
    pub assumption: &'static str,
    /// Amount by which clocks declared correct give packets negative delays, beyond their declared
    /// error.
    pub conflict_ms: Option<f64>,
    /// Number of packets that overtook others and arrived clearly sooner than those that did not: the
    /// interval includes them, the offset does not.
    pub overtaking_packets: usize,
    /// Number of packets left out because one capture recorded them later than they passed.
    pub late_timestamps: usize,
}

#[derive(Debug, Serialize, Document)]
pub struct JoinReport {
    pub clock: Option<ClockReport>,
    pub joined_flows: usize,
    /// Number of UDP flows in both.
    pub joined_udp_flows: usize,
    /// Numbers of the flows in both, from 1, in the first and in the second capture.
    pub partners: Vec<[usize; 2]>,
    /// Report of the second capture alone.
    pub second: Box<Report>,
}

/// Maximum number of lost packets and of bursts that are listed.
const MAX_LISTED: usize = 10_000;
const KNOWN: &str = "known: both clocks are declared correct within the interval";
const SYMMETRIC: &str = "symmetric: assumes equal minimum delays in both directions; without that only the interval is known";

impl Report {
    /// The first capture's report with the results of the comparison.
    pub fn joined(first: &CaptureSide, second: &CaptureSide, joined: &Joined) -> Report {
        let rows = FlowRows::of(&first.analysis).with_joined(joined);
        let of_second = FlowRows::of(&second.analysis);
        let mut report = Report::joined_without_flows(first, second, joined);
        let start = first.analysis.totals.first_at.unwrap_or(0);
        let udp = first.analysis.datagram_flows().iter().enumerate();
        report.udp_flows =
            Some(udp.map(|(number, flow)| UdpFlowReport::of(flow, start).with_joined(flow, joined, number)).collect());
        report.flows = (0..rows.len()).map(|number| rows.row(number)).collect();
        if let Some(joined) = &mut report.joined {
            joined.second.flows = (0..of_second.len()).map(|number| of_second.row(number)).collect();
        }
        report
    }

    /// As [`Report::joined`], without the flows of either capture.
    pub fn joined_without_flows(first: &CaptureSide, second: &CaptureSide, joined: &Joined) -> Report {
        let mut report = Report::without_flows(&first.analysis, &first.capture);
        report.joined = Some(JoinReport {
            clock: joined.clock.as_ref().map(ClockReport::of),
            joined_flows: joined.flows.len(),
            joined_udp_flows: joined.datagram_flows.len(),
            partners: joined.flows.iter().map(|f| [f.number + 1, f.other_number + 1]).collect(),
            second: Box::new(Report { udp_flows: None, ..Report::without_flows(&second.analysis, &second.capture) }),
        });
        report
    }
}

impl ClockReport {
    fn of(clock: &ClockRelation) -> ClockReport {
        ClockReport {
            offset_ms: clock.offset() * 1e-6,
            offset_interval_ms: clock.offset_interval().map(|ns| ns * 1e-6),
            skew_ppm: clock.skew * 1e6,
            skew_interval_ppm: clock.skew_interval.map(|s| s * 1e6),
            assumption: if clock.known { KNOWN } else { SYMMETRIC },
            overtaking_packets: clock.caveats.overtaking,
            late_timestamps: clock.caveats.late_timestamps,
            conflict_ms: (clock.conflict > 0.0).then_some(clock.conflict * 1e-6),
        }
    }
}

impl JoinedDirectionReport {
    pub(super) fn of(direction: &JoinedDirection) -> JoinedDirectionReport {
        let lost = direction.lost.len() as u64;
        JoinedDirectionReport {
            sender_side_capture: if direction.first_to_second { 1 } else { 2 },
            one_way_delay_ms: SummaryStats::of(direction.delays.iter().map(|&ns| ns as f64)).scaled(1e-6),
            loss_rate: (direction.sent > 0).then(|| lost as f64 / direction.sent as f64),
            lost: LostReport {
                sent: direction.sent,
                between_captures: lost,
                capture_drops_receiver: direction.uncaptured,
                capture_drops_sender: direction.missing_at_sender,
                network_duplicates: direction.duplicated,
                packets: direction
                    .lost
                    .iter()
                    .take(MAX_LISTED)
                    .map(|&(at, sequence, bytes)| LostPacket { time_s: super::seconds(at), sequence, bytes })
                    .collect(),
            },
            loss_bursts: BurstReport::of(&direction.bursts),
            link_stalls: direction.stalls.iter().take(MAX_LISTED).map(StallReport::of).collect(),
            bottleneck_buffer_bytes: BufferReport {
                min_based: direction.buffer.min_based,
                max_based: direction.buffer.max_based,
                rate_bps: direction.buffer.rate_bps,
                filled: direction.buffer.filled,
                caveats: BufferCaveat::ALL
                    .into_iter()
                    .filter(|d| direction.buffer.caveats[*d as usize])
                    .map(BufferCaveat::name)
                    .collect(),
                token_bucket: direction.token_bucket.map(BucketReport::of),
            },
            delay_loss_correlation: direction.attribution.correlation,
            loss_cause: LossCauseReport::of(direction),
            path_mtu: direction.attribution.size_limit.map(PathMtuReport::of),
            policer: direction
                .attribution
                .policed
                .filter(|policed| policed.drops > 0)
                .map(|policed| PolicerReport::of(&policed.policer, policed.drops, direction.attribution.losses - policed.drops)),
        }
    }
}

impl StallReport {
    fn of(stall: &LinkStall) -> StallReport {
        StallReport { start_s: super::seconds(stall.start), duration_ms: ms(stall.end - stall.start) }
    }
}

impl BucketReport {
    pub fn of(bucket: TokenBucketEstimate) -> BucketReport {
        BucketReport { rate_bps: bucket.rate_bps, burst_bytes: bucket.burst_bytes, peak_bps: bucket.peak_bps }
    }
}

impl PolicerReport {
    /// `drops` and `others` are the direction's losses at an empty bucket, and the others.
    pub fn of(policer: &PolicerEstimate, drops: u32, others: u32) -> PolicerReport {
        PolicerReport {
            rate_bps: policer.rate_bps,
            burst_bytes: policer.burst_bytes,
            drops,
            other_losses: others,
            passed: policer.passed as u32,
        }
    }
}

impl PathMtuReport {
    pub fn of(limit: SizeLimit) -> PathMtuReport {
        PathMtuReport {
            delivered_bytes: limit.delivered,
            lost_bytes: limit.lost_from,
            lost: limit.lost,
            peer_silent: limit.is_peer_silent,
        }
    }
}

impl BurstReport {
    fn of(bursts: &LossBursts) -> BurstReport {
        let [above_50, above_80, all_lost] = bursts.classes();
        BurstReport {
            bin_ms: 100,
            above_50,
            above_80,
            all_lost,
            bursts: bursts
                .all
                .iter()
                .take(MAX_LISTED)
                .map(|b| OneBurst {
                    start_s: super::seconds(b.start),
                    duration_ms: ms(b.duration),
                    lost_span_ms: ms(b.last_lost - b.first_lost),
                    sent: b.sent,
                    lost: b.lost,
                    peak_share: b.peak,
                })
                .collect(),
        }
    }
}

impl LossCauseReport {
    fn of(direction: &JoinedDirection) -> LossCauseReport {
        let a = &direction.attribution;
        LossCauseReport {
            verdict: a.origin.name(),
            radio_share: a.radio_share,
            lost_behind_bottleneck: a.after_bottleneck,
            lost_before_bottleneck: a.before_bottleneck,
            lost_in_stalls: a.in_stalls,
            evidence: evidence(a),
        }
    }
}

/// The evidence of a direction's verdict, as a clause.
fn evidence(a: &LossAttribution) -> String {
    let mut text = format!("{} losses", a.losses);
    if let Some(limit) = a.size_limit {
        let (lost, from, delivered) = (limit.lost, limit.lost_from, limit.delivered);
        return format!("{text}, {lost} of them of {from} B or more; the largest packet that arrived has {delivered} B");
    }
    if let Some(policed) = a.policed.filter(|policed| policed.drops > 0) {
        let (policer, drops) = (policed.policer, policed.drops);
        let (rate, burst) = (policer.rate_bps * 1e-6, policer.burst_bytes * 1e-3);
        text += &format!(", {drops} of them where arrivals exceed {rate:.3} Mb/s x t + {burst:.1} KB");
    }
    if let Some((overflow, full)) = a.overflow {
        let limit = match overflow.measure {
            BacklogMeasure::BytesAtArrival | BacklogMeasure::BytesAtService => format!("{} B", overflow.limit),
            BacklogMeasure::PacketsAtArrival | BacklogMeasure::PacketsAtService => format!("{} packets", overflow.limit),
        };
        let percent = 100.0 * overflow.rate_above;
        text += &format!(", {full} of them at a backlog of {limit} or more, of which the queue drops {percent:.0} %");
    }
    if let Some(waits) = a.short_waits.filter(|waits| waits.short.all > 0 && waits.others.all > 0) {
        let [short, others] = [waits.short, waits.others].map(|part| 100.0 * part.rate());
        text += &format!(
            "; {short:.2} % lost of the packets that waited at most {:.1} ms, {others:.2} % of those that waited longer",
            ms(waits.wait)
        );
    } else if a.short_waits.is_some_and(|waits| waits.others.all == 0) {
        text += ", and no packet waited in a queue";
    }
    if let Some(share) = a.idle_share {
        text += &format!("; by the service times that passed unused {:.0} % lost after the bottleneck", 100.0 * share);
    }
    text += &format!("; the minimum delay is {:.1} ms", ms(a.min_delay));
    if a.in_stalls > 0 {
        text += &format!("; {} while the link stalled", a.in_stalls);
    }
    let located = [(a.after_bottleneck, "after the bottleneck"), (a.before_bottleneck, "dropped before the bottleneck")];
    let parts: Vec<String> =
        located.into_iter().filter(|(count, _)| *count > 0).map(|(count, place)| format!("{count} {place}")).collect();
    if !parts.is_empty() {
        text += &format!("; by the arrivals around them: {}", parts.join(", "));
    }
    text
}
