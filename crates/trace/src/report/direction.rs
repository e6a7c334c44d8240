//! The figures of one direction: data that one end sent, and what the other end's ACKs said of it.

use super::{Limits, VantagePoint, limits, seconds};
use crate::classify::SegmentKind;
use crate::flow::{Flow, Half, Side, Spurious};
use crate::metrics::{ACK_BINS_MS, AckClock};
use ackclock_core::statistics::SummaryStats;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
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
    pub keep_alives: u32,
    pub resets: u32,
    pub ecn: EcnReport,
    pub bad_checksums: u64,
    pub largest_segment_bytes: u32,
    /// From the flow's first packet to this direction's first data, and from its last data to the
    /// last ACK that covered something.
    pub first_data_ms: Option<f64>,
    pub tail_ms: Option<f64>,
    /// Time to live of the SYN or its answer, and of the first packet with data: unlike where
    /// something on the path answers for the host.
    pub ttl: TtlReport,
    /// The bottleneck as this capture alone shows it.
    pub inferred_path: Option<super::PathEstimate>,
    /// From a second capture.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub joined: Option<super::JoinedDirectionReport>,
}

#[derive(Debug, Serialize)]
pub struct Bytes {
    /// Over the time in which anything was outstanding.
    pub mean: Option<f64>,
    pub max: u64,
}

#[derive(Debug, Serialize)]
pub struct WindowReport {
    pub min: Option<u32>,
    pub mean: Option<f64>,
    pub max: Option<u32>,
}

/// Gaps between the ACKs for this direction's data, where they pass the capture.
#[derive(Debug, Default, Serialize)]
pub struct AckGaps {
    #[serde(flatten)]
    pub gaps: SummaryStats,
    /// Upper edges in milliseconds; the last bin, which is open, has none.
    pub histogram: Vec<Bin>,
    pub segments_per_ack: Option<f64>,
    pub stretched_share: Option<f64>,
    pub compressed_share: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct Bin {
    pub up_to: Option<u32>,
    pub count: u32,
}

#[derive(Debug, Serialize)]
pub struct KindReport {
    pub count: u32,
    pub confidence: f64,
}

#[derive(Debug, Serialize)]
pub struct SpuriousReport {
    pub dsack: u32,
    pub timestamp: u32,
    pub early_ack: u32,
    pub of_timeouts: u32,
    /// Segments sent again by timeout whose ACK came sooner than the least RTT (`wimax-measured`'s
    /// test), whatever else told.
    pub early_timeouts: u32,
}

#[derive(Debug, Default, Serialize)]
pub struct RepairReport {
    pub timeouts: u32,
    pub recoveries: u32,
    /// Tail-loss probes that carried new data: in `tlp_retransmits`, but no retransmissions.
    pub new_data_probes: u32,
    pub fast_then_timeout: u32,
    /// Timeouts within a recovery that duplicates had begun, mostly of other segments than those;
    /// and how many of their retransmissions were acknowledged sooner than the least RTT, or by the
    /// ACK for the recovery's own.
    pub pairs: u32,
    pub pairs_not_needed: u32,
    /// Retransmissions that fill a hole: the first copy was lost before the capture.
    pub lost_upstream: u32,
    /// Transmissions that only the sender's packet numbers show.
    pub unseen_transmissions: u32,
    /// Acknowledged without having been captured.
    pub missed_bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct TtlReport {
    pub syn: Option<u8>,
    pub data: Option<u8>,
}

#[derive(Debug, Serialize)]
pub struct EcnReport {
    pub marked: u64,
    pub echoed: u64,
    pub reduced: u64,
}

impl DirectionReport {
    pub fn of(flow: &Flow, side: Side, place: VantagePoint) -> DirectionReport {
        let half = flow.half(side);
        let (c, tally) = (&half.counts, half.tally());
        let (a, t) = half.sending().map(|s| (s.amounts, s.times)).unwrap_or_default();
        let spurious = half.trouble().map_or(Spurious::default(), |t| t.oddities().spurious);
        let life = seconds(flow.last_at - flow.first_at);
        let rate = |bytes: u64| (life > 0.0).then(|| bytes as f64 * 8.0 / life);
        let span = t.busy + t.idle + t.closed;
        let share = |part: i64| (span > 0).then(|| part as f64 / span as f64);
        let present = SegmentKind::ALL.into_iter().filter_map(|cause| Some((cause, tally.confidence(cause)?)));
        DirectionReport {
            packets: u64::from(c.packets),
            segments: u64::from(a.segments),
            payload_bytes: a.payload,
            unique_bytes: a.unique,
            retransmitted_segments: u64::from(c.retransmitted),
            retransmission_rate: (a.segments > 0)
                .then(|| f64::from(c.retransmitted) / (f64::from(a.segments) + f64::from(unseen(half)))),
            rto_retransmits: tally.count(SegmentKind::Timeout),
            fast_retransmits: tally.count(SegmentKind::Fast) + tally.count(SegmentKind::Rack),
            tlp_retransmits: tally.count(SegmentKind::TailProbe) + half.trouble().map_or(0, |t| t.oddities().new_probes),
            go_back_n_retransmits: tally.count(SegmentKind::GoBackN),
            spurious_retransmits: spurious.all(),
            out_of_order: tally.count(SegmentKind::Reordered),
            network_duplicates: tally.count(SegmentKind::NetworkDuplicate),
            duplicate_acks: u64::from(a.duplicate_acks),
            rtt_ms: half.rtt.summary_ms(),
            timestamp_rtt_ms: half.stamp_rtt.summary_ms(),
            outstanding_bytes: Bytes::of(half),
            throughput_bps: rate(a.unique_ip_bytes),
            goodput_bps: rate(a.unique),
            window_limited_share: share(t.window + t.closed),
            limited: limits::of(flow, side, place),
            recovery_share: share(t.recovery),
            idle_share: share(t.idle),
            ack_interarrival_ms: half.ack_clock().map(AckGaps::of).unwrap_or_default(),
            advertised_window_bytes: WindowReport::of(half),
            causes: present
                .map(|(cause, sure)| (cause.name(), KindReport { count: tally.count(cause), confidence: f64::from(sure) }))
                .collect(),
            spurious: SpuriousReport {
                dsack: spurious.by_dsack,
                timestamp: spurious.by_stamp,
                early_ack: spurious.by_early_ack,
                of_timeouts: spurious.of_timeouts,
                early_timeouts: half.trouble().map_or(0, |t| t.oddities().pairs.early_timeouts),
            },
            repairs: RepairReport::of(half),
            pure_acks: u64::from(c.pure_acks),
            zero_window_probes: tally.count(SegmentKind::WindowProbe),
            zero_windows: c.zero_windows,
            keep_alives: tally.count(SegmentKind::KeepAlive),
            resets: c.resets,
            ecn: EcnReport { marked: u64::from(c.marks), echoed: u64::from(c.echoes), reduced: u64::from(c.reductions) },
            bad_checksums: u64::from(c.bad_checksums),
            largest_segment_bytes: a.largest_segment,
            first_data_ms: t.first_data.get().map(|at| super::ms(at - flow.first_at)),
            tail_ms: t.first_data.get().map(|_| super::ms((t.last_news - t.last_data).max(0))),
            ttl: TtlReport {
                syn: half.choices.seen.then_some(half.choices.ttl),
                data: t.first_data.get().map(|_| half.data_ttl),
            },
            inferred_path: None,
            joined: None,
        }
    }
}

impl Bytes {
    fn of(half: &Half) -> Bytes {
        let Some(sending) = half.sending() else { return Bytes { mean: None, max: 0 } };
        Bytes { mean: sending.flight.mean(sending.times.busy), max: u64::from(sending.flight.max()) }
    }
}

impl WindowReport {
    fn of(half: &Half) -> WindowReport {
        let o = &half.offered;
        let some = o.count > 0;
        WindowReport {
            min: some.then_some(o.min),
            mean: some.then(|| o.sum as f64 / f64::from(o.count)),
            max: some.then_some(o.max),
        }
    }
}

impl AckGaps {
    fn of(clock: &AckClock) -> AckGaps {
        let edges = ACK_BINS_MS.iter().copied().map(Some).chain([None]);
        AckGaps {
            gaps: clock.summary_ms(),
            histogram: edges.zip(clock.bins()).map(|(up_to, count)| Bin { up_to, count }).collect(),
            segments_per_ack: clock.segments_per_ack(),
            stretched_share: clock.stretched_share(),
            compressed_share: clock.compressed_share(),
        }
    }
}

impl RepairReport {
    fn of(half: &Half) -> RepairReport {
        let Some(trouble) = half.trouble() else { return RepairReport::default() };
        let odd = trouble.oddities();
        RepairReport {
            timeouts: trouble.timeouts,
            recoveries: trouble.recoveries,
            new_data_probes: odd.new_probes,
            fast_then_timeout: odd.fast_then_timeout,
            pairs: odd.pairs.all,
            pairs_not_needed: odd.pairs.not_needed,
            lost_upstream: odd.lost_upstream,
            unseen_transmissions: odd.unseen_again,
            missed_bytes: odd.missed_bytes,
        }
    }
}

fn unseen(half: &Half) -> u32 {
    half.trouble().map_or(0, |t| t.oddities().unseen_again)
}
