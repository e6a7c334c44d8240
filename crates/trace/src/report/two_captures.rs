//! What two captures add: to each direction, and to the document.

use super::{Report, ms};
use crate::join::{BufferCaveat, CaptureSide, ClockRelation, Joined, JoinedDirection, LossBursts, TokenBucketEstimate};
use ackclock_core::statistics::SummaryStats;
use serde::Serialize;

/// Beside the figures of a direction.
#[derive(Debug, Serialize)]
pub struct JoinedDirectionReport {
    /// The capture near this direction's sender: 1 or 2.
    pub sender_side_capture: u8,
    /// Under the offset that `clock.assumption` names.
    pub one_way_delay_ms: SummaryStats,
    pub loss_rate: Option<f64>,
    pub lost: LostReport,
    pub loss_bursts: BurstReport,
    pub bottleneck_buffer_bytes: BufferReport,
    pub delay_loss_correlation: Option<f64>,
    pub loss_cause: LossCauseReport,
}

#[derive(Debug, Serialize)]
pub struct LostReport {
    pub sent: u64,
    pub between_captures: u64,
    /// Arrived, but missing in the capture near the receiver; and missing in the one near the sender.
    pub capture_drops_receiver: u64,
    pub capture_drops_sender: u64,
    pub network_duplicates: u64,
    /// Each lost packet, the first `MAX_LISTED`.
    pub packets: Vec<LostPacket>,
}

#[derive(Debug, Serialize)]
pub struct LostPacket {
    /// Unix time by the capture near the sender.
    pub time_s: f64,
    pub sequence: u32,
    pub bytes: u32,
}

#[derive(Debug, Serialize)]
pub struct BurstReport {
    pub bin_ms: u32,
    pub above_50: u32,
    pub above_80: u32,
    pub all_lost: u32,
    pub bursts: Vec<OneBurst>,
}

#[derive(Debug, Serialize)]
pub struct OneBurst {
    /// From the direction's first packet.
    pub start_s: f64,
    pub duration_ms: f64,
    /// From the first lost packet to the last.
    pub lost_span_ms: f64,
    pub sent: u32,
    pub lost: u32,
    pub peak_share: f64,
}

#[derive(Debug, Serialize)]
pub struct BufferReport {
    pub min_based: Option<f64>,
    pub max_based: Option<f64>,
    pub rate_bps: Option<f64>,
    /// False: nothing overflowed, and the buffer may be larger than `max_based`.
    pub filled: bool,
    /// Why this may not be the buffer of one droptail queue: `marks`, `early_drops`, `delay_tail` (no `max_based` then), `token_bucket`,
    /// `flow_queues`.
    #[serde(rename = "doubts")]
    pub caveats: Vec<&'static str>,
    /// What lets packets through at the line's rate until a burst is used up.
    pub token_bucket: Option<BucketReport>,
}

#[derive(Debug, Serialize)]
pub struct BucketReport {
    pub rate_bps: f64,
    pub burst_bytes: f64,
    pub peak_bps: f64,
}

#[derive(Debug, Serialize)]
pub struct LossCauseReport {
    pub verdict: &'static str,
    pub radio_share: Option<f64>,
    /// Where the bottleneck's arrivals are even enough to tell single packets: lost packets whose time on it passed empty, and whose time others had.
    pub lost_behind_bottleneck: u32,
    pub lost_before_bottleneck: u32,
    pub evidence: String,
}

/// The second capture's clock against the first's.
#[derive(Debug, Serialize)]
pub struct ClockReport {
    pub offset_ms: f64,
    pub offset_interval_ms: [f64; 2],
    pub skew_ppm: f64,
    pub skew_interval_ppm: [f64; 2],
    pub assumption: &'static str,
    /// Clocks said to be right make packets arrive this much before they were sent, beyond the error that they are said to have.
    pub conflict_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct JoinReport {
    pub clock: Option<ClockReport>,
    pub joined_flows: usize,
    /// Numbers of flows that both have, from 1: in the first and in the second capture.
    pub partners: Vec<[usize; 2]>,
    /// The second capture by itself.
    pub second: Box<Report>,
}

const MAX_LISTED: usize = 10_000;
const KNOWN: &str = "known: both clocks are said to be right within the interval";
const SYMMETRIC: &str = "symmetric: the least delays of both ways are taken to be equal; without that only the interval is known";

impl Report {
    /// The first capture's report with what the second adds.
    pub fn joined(first: &CaptureSide, second: &CaptureSide, joined: &Joined) -> Report {
        let mut report = Report::of(&first.analysis, &first.capture);
        let known = first.analysis.flows();
        for flow in &joined.flows {
            let client = known.get(flow.number).client() as usize;
            let Some(row) = report.flows.get_mut(flow.number) else { continue };
            row.a2b.joined = flow.directions[client].as_ref().map(JoinedDirectionReport::of);
            row.b2a.joined = flow.directions[1 - client].as_ref().map(JoinedDirectionReport::of);
        }
        report.joined = Some(JoinReport {
            clock: joined.clock.as_ref().map(ClockReport::of),
            joined_flows: joined.flows.len(),
            partners: joined.flows.iter().map(|f| [f.number + 1, f.other_number + 1]).collect(),
            second: Box::new(Report::of(&second.analysis, &second.capture)),
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
            conflict_ms: (clock.conflict > 0.0).then_some(clock.conflict * 1e-6),
        }
    }
}

impl JoinedDirectionReport {
    fn of(way: &JoinedDirection) -> JoinedDirectionReport {
        let lost = way.lost.len() as u64;
        JoinedDirectionReport {
            sender_side_capture: if way.first_to_second { 1 } else { 2 },
            one_way_delay_ms: SummaryStats::of(way.delays.iter().map(|&ns| ns as f64)).scaled(1e-6),
            loss_rate: (way.sent > 0).then(|| lost as f64 / way.sent as f64),
            lost: LostReport {
                sent: way.sent,
                between_captures: lost,
                capture_drops_receiver: way.uncaptured,
                capture_drops_sender: way.unseen_at_sender,
                network_duplicates: way.duplicated,
                packets: way
                    .lost
                    .iter()
                    .take(MAX_LISTED)
                    .map(|&(at, sequence, bytes)| LostPacket { time_s: super::seconds(at), sequence, bytes })
                    .collect(),
            },
            loss_bursts: BurstReport::of(&way.bursts),
            bottleneck_buffer_bytes: BufferReport {
                min_based: way.buffer.min_based,
                max_based: way.buffer.max_based,
                rate_bps: way.buffer.rate_bps,
                filled: way.buffer.filled,
                caveats: BufferCaveat::ALL
                    .into_iter()
                    .filter(|d| way.buffer.caveats[*d as usize])
                    .map(BufferCaveat::name)
                    .collect(),
                token_bucket: way.bucket.map(BucketReport::of),
            },
            delay_loss_correlation: way.verdict.correlation,
            loss_cause: LossCauseReport::of(way),
        }
    }
}

impl BucketReport {
    pub fn of(bucket: TokenBucketEstimate) -> BucketReport {
        BucketReport { rate_bps: bucket.rate_bps, burst_bytes: bucket.burst_bytes, peak_bps: bucket.peak_bps }
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
    fn of(way: &JoinedDirection) -> LossCauseReport {
        let v = &way.verdict;
        let verdict = v.blame.name();
        let least = format!("the least delay is {:.1} ms", ms(v.least));
        let mut evidence = match v.edge > v.least {
            true => format!("{} of {} losses while the delay was {:.1} ms or more; {least}", v.at_peaks, v.judged, ms(v.edge)),
            false => format!("{} losses, and no packet waited in a queue; {least}", v.judged),
        };
        evidence += &match (v.empty, v.taken) {
            (0, 0) => match v.empty_share.filter(|share| *share >= 0.3) {
                Some(share) => {
                    format!("; of those lost in busy times at least {:.0} % were lost behind the bottleneck", 100.0 * share)
                }
                None => String::new(),
            },
            (0, full) => format!("; of none of the {full} did the time on the bottleneck pass empty: dropped before it"),
            (empty, 0) => format!("; of all {empty} the time on the bottleneck passed empty: lost behind it"),
            (empty, full) => format!(
                "; of {empty} the time on the bottleneck passed empty: lost behind it; of {full} it did not: dropped before it"
            ),
        };
        LossCauseReport {
            verdict,
            radio_share: v.radio_share,
            lost_behind_bottleneck: v.empty,
            lost_before_bottleneck: v.taken,
            evidence,
        }
    }
}
