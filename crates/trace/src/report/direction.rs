//! Statistics of one direction: the data of one end and the other end's ACKs for it.
//! docs/reference/analyze.md defines the fields.

use super::{CongestionControlReport, Limits, VantagePoint, limits, seconds};
use crate::flow::{Flow, FlowDirection, LateAcks, Ledger, SegmentKind, SendStats, Side};
use crate::metrics::{ACK_BINS_MS, AckClock};
use ackclock_contract::Document;
use ackclock_core::statistics::SummaryStats;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Serialize, Document)]
pub struct DirectionReport {
    pub packets: u64,
    pub segments: u64,
    pub payload_bytes: u64,
    pub unique_bytes: u64,
    pub retransmitted_segments: u64,
    pub retransmission_rate: Option<f64>,
    pub rto_retransmits: u32,
    pub fast_retransmits: u32,
    pub tlp_retransmits: u32,
    pub go_back_n_retransmits: u32,
    pub spurious_retransmits: u32,
    pub out_of_order: u32,
    pub network_duplicates: u32,
    pub duplicate_acks: u64,
    pub rtt_ms: SummaryStats,
    pub timestamp_rtt_ms: SummaryStats,
    pub outstanding_bytes: Bytes,
    pub throughput_bps: Option<f64>,
    pub goodput_bps: Option<f64>,
    pub window_limited_share: Option<f64>,
    pub limited: Option<Limits>,
    pub recovery_share: Option<f64>,
    pub idle_share: Option<f64>,
    pub ack_interarrival_ms: AckGaps,
    pub advertised_window_bytes: WindowReport,
    pub causes: BTreeMap<&'static str, KindReport>,
    pub spurious: SpuriousReport,
    pub repairs: RepairReport,
    pub pure_acks: u64,
    pub zero_window_probes: u32,
    pub zero_windows: u32,
    /// The times with a window of zero.
    pub zero_window: ZeroWindowReport,
    /// What this end sent several times without an answer, until the flow's last packet.
    pub unanswered: UnansweredReport,
    /// Pauses of this end's application between the other end's data and its own.
    pub think_time: ThinkTimeReport,
    pub keep_alives: u32,
    /// Keep-alive probes that nothing answered until the flow's last packet.
    pub unanswered_keep_alives: UnansweredProbesReport,
    /// ACKs of a segment that was alone in flight, later than the path explains, and the data that waited for them.
    pub late_acks: LateAckReport,
    pub resets: u32,
    pub ecn: EcnReport,
    pub bad_checksums: u64,
    pub largest_segment_bytes: u32,
    /// Time from the flow's first packet to this direction's first data.
    pub first_data_ms: Option<f64>,
    /// Time from the last data to the last advancing ACK.
    pub tail_ms: Option<f64>,
    /// TTLs of the SYN (or SYN-ACK) and of the first data: different if a middlebox answers for the
    /// host.
    pub ttl: TtlReport,
    /// The first retransmissions and other classified packets of this end, and its resets. None if
    /// the capture was read without [`crate::series::Packets`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<super::EventReport>>,
    /// Which congestion control this end uses; none without data.
    pub congestion_control: Option<CongestionControlReport>,
    /// Estimate of the bottleneck from this capture.
    pub inferred_path: Option<super::PathEstimate>,
    /// Results of the comparison with a second capture.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub joined: Option<super::JoinedDirectionReport>,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct Bytes {
    /// Mean over the time with outstanding data.
    pub mean: Option<f64>,
    pub max: u64,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct WindowReport {
    pub min: Option<u32>,
    pub mean: Option<f64>,
    pub max: Option<u32>,
}

/// Times between the ACKs for this direction's data, at the capture point.
#[derive(Debug, Default, Serialize, Document)]
pub struct AckGaps {
    #[serde(flatten)]
    pub gaps: SummaryStats,
    /// Bins with their upper edges in milliseconds; the last bin has none.
    pub histogram: Vec<HistogramBin>,
    pub segments_per_ack: Option<f64>,
    pub stretched_share: Option<f64>,
    pub compressed_share: Option<f64>,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct HistogramBin {
    pub up_to: Option<u32>,
    pub count: u32,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct KindReport {
    pub count: u32,
    pub confidence: f64,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct SpuriousReport {
    pub dsack: u32,
    pub timestamp: u32,
    pub early_ack: u32,
    pub of_timeouts: u32,
    /// RTO retransmissions with an ACK sooner than the minimum RTT (the test of `wimax-measured`),
    /// whatever other evidence.
    pub early_timeouts: u32,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct RepairReport {
    pub timeouts: u32,
    pub recoveries: u32,
    /// Tail loss probes with new data, of a sender that also retransmitted a tail: not in
    /// `tlp_retransmits`.
    pub new_data_probes: u32,
    pub fast_then_timeout: u32,
    /// RTOs during fast recovery, mostly of other segments.
    pub pairs: u32,
    /// Of their retransmissions those acknowledged sooner than the minimum RTT, or by the ACK for
    /// those of the recovery.
    pub pairs_not_needed: u32,
    /// Retransmissions that fill a gap: the first copy was lost before the capture point.
    pub lost_upstream: u32,
    /// Transmissions that only the sender's IP identifications show.
    pub unseen_transmissions: u32,
    /// Acknowledged bytes that were not captured.
    pub missed_bytes: u64,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct ZeroWindowReport {
    /// Packets of the other end that advertised a window of zero.
    pub acks: u32,
    /// Sum and maximum of the times until the window opened, or until the flow's last packet.
    pub closed_s: f64,
    pub longest_s: f64,
    /// For how long the window was zero at the flow's last packet; none if it was open.
    pub closed_at_end_s: Option<f64>,
    /// Times that it opened with the answer to a probe; the others the receiver announced.
    pub opened_by_probe: u32,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct UnansweredReport {
    /// `syn`, `data` or `fin`; none if all was answered.
    pub what: Option<&'static str>,
    /// Payload of the segment.
    pub bytes: u32,
    pub copies: u32,
    /// Times of the copies after the flow's first packet; the first ones.
    pub sent_at_s: Vec<f64>,
    /// From the first copy to the flow's last packet.
    pub lasted_s: Option<f64>,
}

/// At least three probes without an answer.
#[derive(Debug, Default, Serialize, Document)]
pub struct UnansweredProbesReport {
    pub count: u32,
    /// Time of the first one after the flow's first packet.
    pub first_at_s: Option<f64>,
}

/// An ACK is late if it comes 30 ms and more beyond the minimum RTT.
#[derive(Debug, Default, Serialize, Document)]
pub struct LateAckReport {
    pub acks: u32,
    /// Segments that left right after such an ACK: less than full ones, which Nagle's algorithm holds back, and
    /// full ones of a sender with one segment in flight.
    pub held_small: u32,
    pub held_full: u32,
    /// Sum, mean and standard deviation of the delays of the ACKs that these waited for, beyond the minimum RTT.
    pub waited_s: f64,
    pub mean_ms: Option<f64>,
    pub sd_ms: Option<f64>,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct ThinkTimeReport {
    pub count: u32,
    pub total_s: f64,
    pub longest_s: f64,
    /// Time after the flow's first packet at which the longest one ended.
    pub longest_at_s: Option<f64>,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct TtlReport {
    pub syn: Option<u8>,
    pub data: Option<u8>,
}

#[derive(Debug, Default, Serialize, Document)]
pub struct EcnReport {
    pub marked: u64,
    pub echoed: u64,
    pub reduced: u64,
}

impl DirectionReport {
    pub fn of(flow: &Flow, side: Side, vantage: VantagePoint) -> DirectionReport {
        let direction = flow.direction(side);
        let (c, syn) = (direction.counts(), direction.syn());
        let ledger = direction.ledger();
        let (kinds, rare) = ledger.map(|l| (l.counts().clone(), l.rare())).unwrap_or_default();
        let (a, t) = direction.stats().map(|s| (*s.bytes(), *s.times())).unwrap_or_default();
        let (spurious, retransmitted) = (rare.spurious, direction.retransmitted());
        let span = t.busy + t.idle + t.zero_window;
        let share = |part: i64| (span > 0).then(|| part as f64 / span as f64);
        let present = SegmentKind::ALL.into_iter().filter_map(|kind| Some((kind, kinds.confidence(kind)?)));
        DirectionReport {
            packets: u64::from(c.packets),
            segments: u64::from(a.segments),
            payload_bytes: a.payload,
            unique_bytes: a.unique,
            retransmitted_segments: u64::from(retransmitted),
            retransmission_rate: (a.segments > 0)
                .then(|| f64::from(retransmitted) / (f64::from(a.segments) + f64::from(rare.unseen))),
            rto_retransmits: kinds.count(SegmentKind::Timeout),
            fast_retransmits: kinds.count(SegmentKind::Fast) + kinds.count(SegmentKind::Rack),
            tlp_retransmits: kinds.count(SegmentKind::TailProbe),
            go_back_n_retransmits: kinds.count(SegmentKind::GoBackN),
            spurious_retransmits: spurious.all(),
            out_of_order: kinds.count(SegmentKind::Reordered),
            network_duplicates: kinds.count(SegmentKind::NetworkDuplicate),
            duplicate_acks: u64::from(a.duplicate_acks),
            rtt_ms: direction.rtt().from_acks().summary_ms(),
            timestamp_rtt_ms: direction.rtt().from_timestamps().summary_ms(),
            outstanding_bytes: Bytes::of(direction),
            throughput_bps: rate_bps(flow, a.unique_ip_bytes),
            goodput_bps: rate_bps(flow, a.unique),
            window_limited_share: share(t.window + t.zero_window),
            limited: limits::of(flow, side, vantage),
            recovery_share: share(t.recovery),
            idle_share: share(t.idle),
            ack_interarrival_ms: direction.stats().and_then(SendStats::ack_clock).map(AckGaps::of).unwrap_or_default(),
            advertised_window_bytes: WindowReport::of(direction),
            causes: present
                .map(|(kind, confidence)| {
                    (kind.name(), KindReport { count: kinds.count(kind), confidence: f64::from(confidence) })
                })
                .collect(),
            spurious: SpuriousReport {
                dsack: spurious.by_dsack,
                timestamp: spurious.by_timestamp,
                early_ack: spurious.by_early_ack,
                of_timeouts: spurious.of_timeouts,
                early_timeouts: rare.pairs.early_timeouts,
            },
            repairs: ledger.map(RepairReport::of).unwrap_or_default(),
            pure_acks: u64::from(c.pure_acks),
            zero_window_probes: kinds.count(SegmentKind::WindowProbe),
            zero_windows: direction.window().closed().map_or(0, |closed| closed.times),
            zero_window: ZeroWindowReport::of(flow, direction),
            unanswered: UnansweredReport::of(flow, direction),
            think_time: ThinkTimeReport::of(flow, direction),
            keep_alives: kinds.count(SegmentKind::KeepAlive),
            unanswered_keep_alives: UnansweredProbesReport::of(flow, direction),
            late_acks: direction.stats().map(|stats| LateAckReport::of(&stats.late_acks())).unwrap_or_default(),
            resets: c.resets,
            ecn: EcnReport { marked: u64::from(c.ce_marks), echoed: u64::from(c.ece), reduced: u64::from(c.cwr) },
            bad_checksums: u64::from(c.bad_checksums),
            largest_segment_bytes: a.largest_segment,
            first_data_ms: t.first_data.get().map(|at| super::ms(at - flow.first_at())),
            tail_ms: t.first_data.get().map(|_| super::ms((t.last_advance - t.last_data).max(0))),
            events: None,
            ttl: TtlReport { syn: syn.is_captured.then_some(syn.ttl), data: t.first_data.get().map(|_| direction.data_ttl()) },
            congestion_control: t.first_data.get().map(|_| CongestionControlReport::unknown()),
            inferred_path: None,
            joined: None,
        }
    }
}

/// Bytes over the flow's duration.
fn rate_bps(flow: &Flow, bytes: u64) -> Option<f64> {
    let duration = seconds(flow.last_at() - flow.first_at());
    (duration > 0.0).then(|| bytes as f64 * 8.0 / duration)
}

/// IP bytes of data, each byte once, over the flow's duration.
pub fn throughput_bps(flow: &Flow, side: Side) -> Option<f64> {
    rate_bps(flow, flow.direction(side).stats().map_or(0, |stats| stats.bytes().unique_ip_bytes))
}

impl Bytes {
    fn of(direction: &FlowDirection) -> Bytes {
        let Some(stats) = direction.stats() else { return Bytes { mean: None, max: 0 } };
        Bytes { mean: stats.flight().mean(stats.times().busy), max: u64::from(stats.flight().max()) }
    }
}

impl ZeroWindowReport {
    fn of(flow: &Flow, direction: &FlowDirection) -> ZeroWindowReport {
        let Some(closed) = direction.window().closed() else { return ZeroWindowReport::default() };
        let open_end = closed.since.get().map(|since| flow.last_at() - since);
        ZeroWindowReport {
            acks: closed.acks,
            closed_s: seconds(closed.total.saturating_add(open_end.unwrap_or(0))),
            longest_s: seconds(closed.longest.max(open_end.unwrap_or(0))),
            closed_at_end_s: open_end.map(seconds),
            opened_by_probe: direction.ledger().map_or(0, |ledger| ledger.rare().probes.answers_opened),
        }
    }
}

impl UnansweredReport {
    fn of(flow: &Flow, direction: &FlowDirection) -> UnansweredReport {
        let Some(unanswered) = direction.unanswered(flow.last_at()) else { return UnansweredReport::default() };
        UnansweredReport {
            what: Some(unanswered.what.name()),
            bytes: unanswered.bytes,
            copies: unanswered.copies,
            lasted_s: unanswered.sent_at.first().map(|at| seconds(flow.last_at() - at)),
            sent_at_s: unanswered.sent_at.iter().map(|at| seconds(at - flow.first_at())).collect(),
        }
    }
}

impl UnansweredProbesReport {
    fn of(flow: &Flow, direction: &FlowDirection) -> UnansweredProbesReport {
        let Some((count, first_at)) = direction.unanswered_probes() else { return UnansweredProbesReport::default() };
        UnansweredProbesReport { count, first_at_s: Some(seconds(first_at - flow.first_at())) }
    }
}

impl LateAckReport {
    fn of(late: &LateAcks) -> LateAckReport {
        let (mean_ms, sd_ms) = late.delay_ms().unzip();
        let (held_small, held_full) = (late.small, late.full);
        LateAckReport { acks: late.acks, held_small, held_full, waited_s: seconds(late.waited), mean_ms, sd_ms }
    }
}

impl ThinkTimeReport {
    fn of(flow: &Flow, direction: &FlowDirection) -> ThinkTimeReport {
        let Some(think) = direction.stats().map(SendStats::think).filter(|think| think.count > 0) else {
            return ThinkTimeReport::default();
        };
        ThinkTimeReport {
            count: think.count,
            total_s: seconds(think.total),
            longest_s: seconds(think.longest),
            longest_at_s: Some(seconds(think.longest_at - flow.first_at())),
        }
    }
}

impl WindowReport {
    fn of(direction: &FlowDirection) -> WindowReport {
        let window = direction.window();
        WindowReport { min: window.min(), mean: window.mean(), max: window.max() }
    }
}

impl AckGaps {
    fn of(clock: &AckClock) -> AckGaps {
        let edges = ACK_BINS_MS.iter().copied().map(Some).chain([None]);
        AckGaps {
            gaps: clock.summary_ms(),
            histogram: edges.zip(clock.bins()).map(|(up_to, count)| HistogramBin { up_to, count }).collect(),
            segments_per_ack: clock.segments_per_ack(),
            stretched_share: clock.stretched_share(),
            compressed_share: clock.compressed_share(),
        }
    }
}

impl RepairReport {
    fn of(ledger: &Ledger) -> RepairReport {
        let rare = ledger.rare();
        RepairReport {
            timeouts: ledger.rtos(),
            recoveries: ledger.recoveries(),
            new_data_probes: rare.new_data_probes(),
            fast_then_timeout: rare.fast_then_timeout,
            pairs: rare.pairs.all,
            pairs_not_needed: rare.pairs.not_needed,
            lost_upstream: rare.lost_upstream,
            unseen_transmissions: rare.unseen,
            missed_bytes: rare.missed_bytes,
        }
    }
}
