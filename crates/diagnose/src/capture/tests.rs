//! Each rule finds its evidence, and is silent when the nearest figure is on the other side.

use super::{Check, Claim, Connection, Owner, RULES, Remedy, Rule, RuleClaim, SendingEnd, Transfer, claims_of, limits_of};
use ackclock_trace::report::{
    BucketReport, CaptureSummary, ConnectionCounts, DirectionReport, Finding, FlowCorrelation, FlowReport, HistogramBin,
    JoinedDirectionReport, KindReport, Limits, ListenerFacts, NotDecodedReport, OneBurst, PathEstimate, PathMtuReport,
    PolicerReport, QueuedDirection, Report, StallReport, VantagePoint,
};
use std::collections::BTreeSet;

/// What a row does to a case.
type Change = fn(&mut Case);

/// A download, captured at the server, its sender, and what else the rules need.
#[derive(Default)]
struct Case {
    flow: FlowReport,
    partner: Option<FlowReport>,
    namesake: Option<FlowReport>,
    shared_bps: f64,
    starts_s: [f64; 2],
    listener: Option<ListenerFacts>,
    pairs: Vec<FlowCorrelation>,
    against: Option<QueuedDirection>,
}

/// A second of a full path: 1,000 segments in an RTT of 100 ms, of which nothing is remarkable.
fn case() -> Case {
    let mut case = Case::default();
    let flow = &mut case.flow;
    (flow.flow, flow.packets, flow.duration_s) = (Some(1), 1500, 10.0);
    (flow.client, flow.server) = ("198.51.100.7:50000".into(), "192.0.2.1:443".into());
    flow.handshake_rtt_ms = Some(100.0);
    flow.handshake.complete = true;
    (flow.handshake.sack, flow.handshake.window_scaling) = (true, true);
    flow.vantage.place = VantagePoint::Server;
    flow.a2b.packets = 500;
    let data = &mut flow.b2a;
    data.packets = 1000;
    (data.segments, data.unique_bytes, data.largest_segment_bytes) = (1000, 1_448_000, 1448);
    (data.goodput_bps, data.throughput_bps) = (Some(1e6), Some(1.05e6));
    let rtt = &mut data.rtt_ms;
    (rtt.count, rtt.min, rtt.mean, rtt.p50, rtt.p95) = (500, Some(100.0), Some(105.0), Some(105.0), Some(120.0));
    (data.outstanding_bytes.mean, data.outstanding_bytes.max) = (Some(13_000.0), 16_000);
    (data.advertised_window_bytes.min, data.advertised_window_bytes.max) = (Some(60_000), Some(65_000));
    data.advertised_window_bytes.mean = Some(64_000.0);
    let shares = Limits { path_rate: Some(0.0), receive_window: Some(0.0), ..Limits::default() };
    data.limited = Some(Limits { send_buffer: Some(0.0), cwnd: Some(0.0), application: Some(0.0), ..shares });
    case
}

/// The same between two captures, with a bottleneck of 4 Mb/s.
fn two_captures(case: &mut Case) {
    let crossing = || {
        let mut crossing =
            JoinedDirectionReport { sender_side_capture: 1, loss_rate: Some(0.01), ..JoinedDirectionReport::default() };
        let delay = &mut crossing.one_way_delay_ms;
        (delay.min, delay.p50, delay.p95) = (Some(50.0), Some(52.0), Some(60.0));
        crossing.loss_cause.verdict = "unclear";
        crossing
    };
    case.flow.a2b.joined = Some(JoinedDirectionReport { sender_side_capture: 2, ..crossing() });
    case.flow.b2a.joined = Some(crossing());
}

/// The capture is at the receiver, which has echoed timestamps.
fn at_receiver(case: &mut Case) {
    case.flow.vantage.place = VantagePoint::Client;
    let limited = case.flow.b2a.limited.get_or_insert_default();
    *limited = Limits { receive_window: Some(0.0), unknown: Some(1.0), ..Limits::default() };
    let echoes = &mut case.flow.a2b.timestamp_rtt_ms;
    (echoes.count, echoes.min, echoes.p50, echoes.p95) = (500, Some(100.0), Some(101.0), Some(110.0));
    echoes.mean = Some(102.0);
}

impl Case {
    fn data(&mut self) -> &mut ackclock_trace::report::DirectionReport {
        &mut self.flow.b2a
    }

    fn shares(&mut self) -> &mut Limits {
        self.flow.b2a.limited.get_or_insert_default()
    }

    fn crossing(&mut self) -> &mut JoinedDirectionReport {
        if self.flow.b2a.joined.is_none() {
            two_captures(self);
        }
        self.flow.b2a.joined.get_or_insert_default()
    }

    /// The direction of the ACKs between two captures.
    fn back(&mut self) -> &mut JoinedDirectionReport {
        self.crossing();
        self.flow.a2b.joined.get_or_insert_default()
    }

    fn transfers(&self) -> Vec<Transfer<'_>> {
        let of =
            |end| Transfer { against: self.against, ..Transfer::new(&self.flow, self.partner.as_ref(), end, self.shared_bps) };
        SendingEnd::BOTH.map(of).into_iter().filter(|transfer| transfer.figures.unique_bytes >= super::ENOUGH_BYTES).collect()
    }

    fn claims(&self) -> Vec<RuleClaim> {
        let (partner, namesake) = (self.partner.as_ref(), self.namesake.as_ref());
        let (starts_s, listener) = (self.starts_s, self.listener);
        let connection = Connection { flow: &self.flow, partner, namesake, starts_s, listener };
        claims_of(&connection, &self.transfers(), &self.pairs.iter().collect::<Vec<_>>())
    }

    fn findings(&self) -> Vec<Finding> {
        self.claims().into_iter().map(RuleClaim::finding).collect()
    }

    fn finding(&self, code: &str) -> Option<Finding> {
        self.findings().into_iter().find(|finding| finding.finding == code)
    }
}

/// A code, the change that makes its evidence, and the smallest one that takes it back.
type Row = (&'static str, fn(&mut Case), fn(&mut Case));

fn reset(case: &mut Case, kind: &'static str) {
    let reset = &mut case.flow.reset;
    (reset.kind, reset.from, reset.at_s) = (Some(kind), Some("client"), Some(3.0));
    (reset.ttl, reset.usual_ttl) = (Some(64), Some(64));
}

/// Two captures whose delays differ by direction: p50 and p95 of the queueing delay.
fn queues(case: &mut Case, data: (f64, f64), acks: (f64, f64)) {
    let delay = &mut case.crossing().one_way_delay_ms;
    (delay.p50, delay.p95) = (Some(50.0 + data.0), Some(50.0 + data.1));
    let delay = &mut case.back().one_way_delay_ms;
    (delay.p50, delay.p95) = (Some(50.0 + acks.0), Some(50.0 + acks.1));
}

fn lost(case: &mut Case, verdict: &'static str) {
    let crossing = case.crossing();
    (crossing.lost.between_captures, crossing.loss_cause.verdict, crossing.loss_cause.radio_share) = (9, verdict, Some(0.4));
}

fn zero_window(case: &mut Case, longest_s: f64, at_end: Option<f64>) {
    let data = case.data();
    (data.zero_windows, data.zero_window_probes) = (1, 3);
    let window = &mut data.zero_window;
    (window.acks, window.closed_s, window.longest_s, window.closed_at_end_s) = (4, longest_s, longest_s, at_end);
}

fn syns(case: &mut Case, count: u32) {
    case.flow.a2b.causes.insert("handshake", KindReport { count, confidence: 1.0 });
}

fn unanswered(case: &mut Case, end: SendingEnd, what: &'static str) {
    let flow = &mut case.flow;
    let direction = if end == SendingEnd::Client { &mut flow.a2b } else { &mut flow.b2a };
    let unanswered = &mut direction.unanswered;
    (unanswered.what, unanswered.bytes, unanswered.copies) = (Some(what), 1448, 4);
    (unanswered.sent_at_s, unanswered.lasted_s) = (vec![1.0, 2.0, 4.0, 8.0], Some(9.0));
}

fn think(case: &mut Case, end: SendingEnd, total_s: f64) {
    let flow = &mut case.flow;
    let direction = if end == SendingEnd::Client { &mut flow.a2b } else { &mut flow.b2a };
    let think = &mut direction.think_time;
    (think.count, think.total_s, think.longest_s, think.longest_at_s) = (2, total_s, total_s, Some(5.0));
}

/// Late ACKs: small and full segments that waited for them, their mean delay, and the sum in s.
fn late_acks(case: &mut Case, held: [u32; 2], mean_ms: f64, waited_s: f64) {
    let late = &mut case.data().late_acks;
    (late.acks, late.held_small, late.held_full) = (held[0] + held[1], held[0], held[1]);
    (late.waited_s, late.mean_ms, late.sd_ms) = (waited_s, Some(mean_ms), Some(0.1 * mean_ms));
}

/// A SYN without an answer at a server that accepts others.
fn ignored(case: &mut Case, answers_within_ms: Option<f64>, behind_timestamps: u32) {
    case.flow.handshake.complete = false;
    unanswered(case, SendingEnd::Client, "syn");
    case.listener = Some(ListenerFacts { accepted: 2, answers_within_ms, is_unselective: true, behind_timestamps });
}

/// A SYN-ACK with NOPs instead of its window scale.
fn erased(case: &mut Case, erased: bool) {
    let handshake = &mut case.flow.handshake;
    (handshake.server_sack, handshake.client_window_scale, handshake.server_window_scale) = (true, Some(7), None);
    handshake.server_option_erased = erased;
}

fn pair(correlation: f64) -> FlowCorrelation {
    FlowCorrelation { flows: [1, 2], directions: ["b2a", "b2a"], correlation, bins: 50, bin_s: 0.1 }
}

/// A capture with the same addresses and ports, and other sequence numbers.
fn namesake(case: &mut Case, packets: u64) {
    case.namesake = Some(FlowReport { packets, ..FlowReport::default() });
}

const ROWS: &[Row] = &[
    ("receive_window", |case| case.shares().receive_window = Some(0.06), |case| case.shares().receive_window = Some(0.04)),
    ("send_buffer", |case| case.shares().send_buffer = Some(0.06), |case| case.shares().send_buffer = Some(0.04)),
    ("bottleneck", |case| case.shares().path_rate = Some(0.06), |case| case.shares().path_rate = Some(0.04)),
    (
        "ack_path",
        |case| {
            case.shares().path_rate = Some(0.6);
            queues(case, (3.0, 90.0), (80.0, 90.0));
        },
        |case| queues(case, (80.0, 90.0), (3.0, 90.0)),
    ),
    ("cwnd", |case| case.shares().cwnd = Some(0.06), |case| case.shares().cwnd = Some(0.04)),
    // The wait for the last ACK is no pause of the application.
    ("application", |case| case.shares().application = Some(0.06), |case| case.data().tail_ms = Some(200.0)),
    ("recovery", |case| case.shares().recovery = 0.06, |case| case.shares().recovery = 0.04),
    ("far_end", at_receiver, |case| {
        case.shares().path_rate = Some(0.0);
        case.flow.vantage.place = VantagePoint::Server;
    }),
    (
        "inferred_rate",
        |case| case.data().inferred_path = Some(PathEstimate { by: "acks", rate_bps: Some(1e6), ..PathEstimate::default() }),
        // The sender's own spacing.
        |case| case.data().goodput_bps = Some(1.2e6),
    ),
    (
        "inferred_token_bucket",
        |case| {
            let token_bucket = Some(BucketReport { rate_bps: 1e6, burst_bytes: 1e5, peak_bps: 1e7 });
            case.data().inferred_path = Some(PathEstimate { by: "arrivals", token_bucket, ..PathEstimate::default() });
        },
        // Two captures measure it.
        two_captures,
    ),
    ("loss_congestion", |case| lost(case, "congestion"), |case| lost(case, "unclear")),
    ("loss_radio", |case| lost(case, "radio"), |case| case.crossing().lost.between_captures = 0),
    ("loss_both", |case| lost(case, "both"), |case| lost(case, "radio")),
    (
        "policer",
        |case| {
            let policer = PolicerReport { rate_bps: 2e6, burst_bytes: 4e3, drops: 9, other_losses: 1, passed: 0 };
            case.data().inferred_path = Some(PathEstimate { by: "acks", policer: Some(policer), ..PathEstimate::default() });
        },
        // Two captures show that a radio lost most packets.
        |case| lost(case, "radio"),
    ),
    (
        "buffer",
        |case| {
            let buffer = &mut case.crossing().bottleneck_buffer_bytes;
            (buffer.max_based, buffer.rate_bps, buffer.filled) = (Some(50_000.0), Some(4e6), true);
        },
        |case| case.crossing().bottleneck_buffer_bytes.filled = false,
    ),
    (
        "buffer_at_least",
        |case| {
            let buffer = &mut case.crossing().bottleneck_buffer_bytes;
            (buffer.max_based, buffer.rate_bps) = (Some(25_100.0), Some(4e6));
        },
        // Less than 50 ms.
        |case| case.crossing().bottleneck_buffer_bytes.max_based = Some(24_900.0),
    ),
    (
        "link_stall",
        |case| case.crossing().link_stalls.push(StallReport { start_s: 1.0, duration_ms: 900.0 }),
        |case| case.crossing().link_stalls.clear(),
    ),
    (
        "loss_bursts",
        |case| case.crossing().loss_bursts.bursts.push(OneBurst { lost: 4, sent: 5, ..OneBurst::default() }),
        |case| case.crossing().loss_bursts.bursts[0].lost = 3,
    ),
    ("capture_drops", |case| case.data().repairs.missed_bytes = 2 * 1448 + 1, |case| case.data().repairs.missed_bytes = 2 * 1448),
    ("window_scaling_stripped", |case| erased(case, true), |case| erased(case, false)),
    (
        "one_direction",
        |case| {
            case.flow.b2a = DirectionReport::default();
            case.flow.a2b.packets = 20;
            case.flow.b2a.repairs.missed_bytes = 56_000;
        },
        // A packet of the server.
        |case| case.flow.b2a.packets = 1,
    ),
    ("nat_both_sides", |case| case.flow.translation_of = Some(2), |case| case.flow.translation_of = None),
    ("accept_queue", |case| ignored(case, Some(0.1), 0), |case| ignored(case, None, 0)),
    ("tw_recycle", |case| ignored(case, Some(0.1), 6), |case| ignored(case, Some(0.1), 0)),
    ("nagle_delayed_ack", |case| late_acks(case, [3, 0], 42.0, 0.6), |case| late_acks(case, [2, 0], 42.0, 0.6)),
    ("delayed_ack_stall", |case| late_acks(case, [0, 3], 200.0, 0.6), |case| late_acks(case, [0, 3], 200.0, 0.4)),
    (
        "keepalive_unanswered",
        |case| {
            let probes = &mut case.data().unanswered_keep_alives;
            (probes.count, probes.first_at_s) = (4, Some(5.0));
        },
        |case| case.data().unanswered_keep_alives.count = 0,
    ),
    (
        "reset_injected",
        |case| {
            reset(case, "abort");
            let reset = &mut case.flow.reset;
            (reset.ttl, reset.packets_after, reset.went_on_at_s) = (Some(66), 1, Some(3.01));
        },
        // Packets that were in transit.
        |case| case.flow.reset.ttl = Some(64),
    ),
    ("models", |case| case.data().repairs.recoveries = 3, |case| case.data().repairs.recoveries = 2),
    (
        "spurious_retransmissions",
        |case| (case.data().spurious_retransmits, case.data().retransmitted_segments) = (3, 30),
        |case| case.data().retransmitted_segments = 31,
    ),
    ("timeout_pairs", |case| case.data().repairs.pairs = 1, |case| case.data().repairs.pairs = 0),
    ("lost_retransmissions", |case| case.data().repairs.fast_then_timeout = 1, |case| case.data().repairs.fast_then_timeout = 0),
    ("reordering", |case| case.data().out_of_order = 3, |case| case.data().out_of_order = 2),
    ("ecn", |case| case.flow.a2b.ecn.echoed = 1, |case| case.flow.a2b.ecn.echoed = 0),
    (
        "ack_queue",
        |case| {
            case.shares().path_rate = Some(0.6);
            queues(case, (5.0, 20.0), (4.0, 51.0));
        },
        |case| queues(case, (5.0, 20.0), (4.0, 49.0)),
    ),
    (
        "ack_compression",
        |case| {
            let gaps = &mut case.data().ack_interarrival_ms;
            (gaps.gaps.count, gaps.compressed_share) = (50, Some(0.3));
            gaps.histogram = vec![HistogramBin { up_to: Some(1), count: 40 }, HistogramBin { up_to: None, count: 10 }];
        },
        |case| case.data().ack_interarrival_ms.compressed_share = Some(0.29),
    ),
    (
        "upload_slows_download",
        |case| {
            let upload = QueuedDirection { flow: 2, share: 0.9, queue_ms: 400.0, min_rtt_ms: 30.0, ..QueuedDirection::default() };
            case.against = Some(upload);
        },
        |case| case.against.as_mut().unwrap().queue_ms = 49.0,
    ),
    (
        "stretch_acks",
        |case| {
            let gaps = &mut case.data().ack_interarrival_ms;
            (gaps.gaps.count, gaps.segments_per_ack) = (50, Some(3.0));
        },
        |case| case.data().ack_interarrival_ms.gaps.count = 49,
    ),
    ("concurrent_flows", |case| case.pairs.push(pair(-0.5)), |case| case.pairs[0].correlation = -0.49),
    ("split_tcp_proxy", |case| namesake(case, 10), |case| namesake(case, 9)),
    ("handshake_loss", |case| syns(case, 1), |case| case.flow.handshake.complete = false),
    ("connection_refused", |case| reset(case, "refused"), |case| reset(case, "half_open")),
    ("connection_unanswered", |case| unanswered(case, SendingEnd::Client, "syn"), |case| reset(case, "refused")),
    (
        "handshake_unfinished",
        |case| unanswered(case, SendingEnd::Server, "syn"),
        |case| unanswered(case, SendingEnd::Server, "fin"),
    ),
    (
        "client_think_time",
        |case| think(case, SendingEnd::Client, 0.5),
        // Less than a twentieth of the time.
        |case| case.flow.duration_s = 10.1,
    ),
    ("server_think_time", |case| think(case, SendingEnd::Server, 0.5), |case| think(case, SendingEnd::Server, 0.49)),
    (
        "zero_window_death",
        |case| zero_window(case, 2.0, Some(2.0)),
        // The program there ended the connection.
        |case| reset(case, "abort"),
    ),
    ("zero_window_stall", |case| zero_window(case, 0.2, None), |case| zero_window(case, 0.19, None)),
    (
        "many_retransmissions",
        |case| (case.flow.a2b.segments, case.flow.a2b.retransmitted_segments) = (48, 25),
        |case| case.flow.a2b.retransmitted_segments = 14,
    ),
    (
        "path_mtu",
        |case| {
            let path_mtu = Some(PathMtuReport { delivered_bytes: 152, lost_bytes: 1500, lost: 7, peer_silent: false });
            case.data().rto_retransmits = 6;
            case.data().inferred_path = Some(PathEstimate { by: "acks", path_mtu, ..PathEstimate::default() });
        },
        // Two captures have the fate of each packet.
        two_captures,
    ),
    ("peer_gone", |case| unanswered(case, SendingEnd::Server, "data"), |case| unanswered(case, SendingEnd::Server, "syn")),
    ("reset_half_open", |case| reset(case, "half_open"), |case| reset(case, "refused")),
    ("reset_unknown_connection", |case| reset(case, "unknown_connection"), |case| reset(case, "abort")),
    ("reset_after_close", |case| reset(case, "after_close"), |case| reset(case, "abort")),
    ("reset_gave_up", |case| reset(case, "gave_up"), |case| reset(case, "abort")),
    ("reset_unread_data", |case| reset(case, "unread_data"), |case| reset(case, "abort")),
    // Another TTL is that of a middlebox.
    ("reset_abort", |case| reset(case, "abort"), |case| case.flow.reset.ttl = Some(66)),
    (
        "reset_by_middlebox",
        |case| {
            reset(case, "abort");
            case.flow.reset.ttl = Some(66);
        },
        |case| case.flow.reset.ttl = Some(65),
    ),
];

/// Names that a sentence to be forwarded has not.
const MODELS: [&str; 6] = ["Padhye", "Mathis", "square-root", "Reno", "CUBIC", "BBR"];

#[test]
fn rule_finds_its_evidence_and_nothing_when_the_nearest_figure_is_on_the_other_side() {
    for &(code, evidence, counter_evidence) in ROWS {
        let mut case = case();
        assert_eq!(case.finding(code), None, "{code} in an ordinary flow");
        evidence(&mut case);
        let finding = case.finding(code).unwrap_or_else(|| panic!("no {code} in {:#?}", case.findings()));
        assert!(finding.evidence.ends_with('.') && !finding.evidence.contains("  "), "{finding:?}");
        assert!(!finding.evidence.contains("NaN") && !finding.evidence.contains("inf "), "{finding:?}");
        assert!(MODELS.iter().all(|model| !finding.sentence.contains(model)), "{finding:?}");
        counter_evidence(&mut case);
        assert_eq!(case.finding(code), None, "{code} against its evidence");
    }
}

#[test]
fn every_rule_has_a_row_an_explanation_and_a_place_of_its_own() {
    let tested: BTreeSet<&str> = ROWS.iter().map(|(code, ..)| *code).collect();
    let mut places = BTreeSet::new();
    for rule in &RULES {
        assert!(tested.contains(rule.code) || matches!(rule.check, Check::Capture(_)), "no row for {}", rule.code);
        assert!(rule.explanation.ends_with('.'), "{}", rule.code);
        assert!(places.insert((rule.group, rule.place)), "the place of {}", rule.code);
        assert!(rule.thresholds.iter().all(|(text, value)| !text.is_empty() && value.is_finite()), "{}", rule.code);
    }
    let of_captures = RULES.iter().filter(|rule| matches!(rule.check, Check::Capture(_))).count();
    assert_eq!(tested.len() + of_captures, RULES.len());
}

#[test]
fn sentence_is_addressed_to_the_owner_of_the_claim_or_of_its_rule() {
    let rule = RULES.iter().find(|rule| rule.code == "bottleneck").unwrap();
    let claim = |claim: Claim| RuleClaim { rule, direction: "a2b", claim }.finding();
    let finding = claim(Claim::new("A queue of 1.5 MB stands. It is long.", ""));
    assert_eq!((finding.owner, &*finding.sentence), ("network", "A queue of 1.5 MB stands. For the operator of the network."));
    let finding = claim(Claim::new("-", "").in_short("Data waits.").for_owner(Owner::Router));
    assert_eq!((finding.owner, &*finding.sentence), ("router", "Data waits. For the owner of the router."));
}

/// The findings about a capture.
fn of_capture(capture: &Report) -> Vec<&'static str> {
    let holds = |rule: &&Rule| if let Check::Capture(check) = rule.check { check(capture) } else { false };
    RULES.iter().filter(holds).map(|rule| rule.code).collect()
}

#[test]
fn mirrored_capture_is_found_when_packets_are_copies() {
    let capture = Report { packets: 10, tcp_packets: 5, ..Report::default() };
    assert!(of_capture(&capture).is_empty());
    assert_eq!(of_capture(&Report { mirrored_packets: 5, ..capture }), ["mirrored_capture"]);
}

#[test]
fn clock_steps_are_found_when_timestamps_step_back_further_than_queues_swap_packets() {
    let capture = |max_step_back_s| Report { packets: 10, tcp_packets: 10, max_step_back_s, ..Report::default() };
    assert!(of_capture(&capture(5e-5)).is_empty());
    assert_eq!(of_capture(&capture(2e-4)), ["clock_steps"]);
}

#[test]
fn not_decoded_is_found_when_a_tenth_or_everything_is() {
    let capture = |tcp: u64, kind: &str, packets: u64, carries_data: bool| Report {
        packets: tcp + packets,
        tcp_packets: tcp,
        not_decoded: vec![NotDecodedReport { kind: kind.into(), packets, carries_data }],
        ..Report::default()
    };
    assert_eq!(of_capture(&capture(90, "ESP", 10, true)), ["not_decoded"]);
    assert!(of_capture(&capture(91, "ESP", 9, true)).is_empty());
    assert!(of_capture(&capture(10, "ARP", 90, false)).is_empty(), "control protocols beside TCP");
    assert_eq!(of_capture(&capture(0, "ARP", 3, false)), ["not_decoded"], "nothing but control protocols");
    // UDP, or TCP that a filter leaves out, is decoded; an empty capture has nothing to decode.
    assert!(of_capture(&Report { packets: 90, ..Report::default() }).is_empty());
    assert!(of_capture(&Report::default()).is_empty());
    assert_eq!(of_capture(&Report { packets: 4, malformed: 4, ..Report::default() }), ["not_decoded"]);
}

#[test]
fn codes_are_unique_and_rules_of_one_kind_that_run_together_stand_together() {
    let codes: BTreeSet<&str> = RULES.iter().map(|rule| rule.code).collect();
    assert_eq!(codes.len(), RULES.len());
    let kinds = RULES.chunk_by(|a, b| std::mem::discriminant(&a.check) == std::mem::discriminant(&b.check)).count();
    assert_eq!(kinds, 6, "directions, pairs, connections, ends, resets, captures");
}

#[test]
fn rules_are_silent_about_figures_of_zero() {
    let case = Case { flow: FlowReport { flow: Some(1), ..FlowReport::default() }, ..Case::default() };
    assert_eq!(case.findings(), []);
    let mut case = Case::default();
    case.flow.b2a.unique_bytes = super::ENOUGH_BYTES;
    let codes: Vec<&str> = case.findings().iter().map(|finding| finding.finding).collect();
    assert_eq!(codes, ["far_end"]);
}

#[test]
fn peer_is_not_gone_when_only_long_packets_are_lost() {
    let mut case = case();
    unanswered(&mut case, SendingEnd::Server, "data");
    assert!(case.finding("peer_gone").is_some());
    case.crossing().path_mtu = Some(PathMtuReport { delivered_bytes: 1400, lost_bytes: 1500, lost: 7, peer_silent: false });
    assert!(case.finding("peer_gone").is_none());
    assert!(sentences(&case, "path_mtu").0.contains("packets of up to 1400 B arrive"));
    assert!(sentences(&case, "path_mtu").1.contains("tcp_mtu_probing = 1"));
    assert!(!sentences(&case, "path_mtu").0.contains("vanished"));
}

#[test]
fn verdict_about_a_reader_that_stopped_is_no_slow_reader() {
    let mut case = case();
    case.shares().receive_window = Some(0.9);
    zero_window(&mut case, 8.0, Some(8.0));
    let (party, evidence) = verdict(&case);
    assert_eq!(party, "receiving_host");
    assert!(evidence.contains("never opened again: the program there has stopped reading"), "{evidence}");
}

#[test]
fn upload_is_not_blamed_when_echoed_timestamps_show_another_queue() {
    // The median is of the time without the upload, too.
    for (waited_ms, is_blamed) in [(210.0, true), (190.0, false)] {
        let mut case = case();
        let upload = QueuedDirection { share: 0.9, queue_ms: 400.0, ..QueuedDirection::default() };
        case.against = Some(QueuedDirection { flow: 2, min_rtt_ms: 30.0, ..upload });
        let echoes = &mut case.flow.a2b.timestamp_rtt_ms;
        (echoes.count, echoes.min, echoes.p50, echoes.p95) = (10, Some(30.0), Some(31.0), Some(30.0 + waited_ms));
        assert_eq!(case.finding("upload_slows_download").is_some(), is_blamed);
    }
}

#[test]
fn verdict_about_losses_names_the_policer_when_one_is_found() {
    for is_policed in [true, false] {
        let mut case = lossy(0.0);
        let policer = PolicerReport { rate_bps: 2e6, burst_bytes: 4e3, drops: 9, other_losses: 1, passed: 0 };
        let policer = Some(policer).filter(|_| is_policed);
        case.data().inferred_path = Some(PathEstimate { by: "acks", policer, ..PathEstimate::default() });
        let (party, evidence) = verdict(&case);
        assert_eq!(party, "network");
        assert_eq!(evidence.contains("The link drops what exceeds 2.00 Mb/s with bursts of 4.0 KB"), is_policed, "{evidence}");
        assert_eq!(evidence.contains("hardly a queue"), !is_policed, "{evidence}");
    }
}

#[test]
fn path_mtu_has_a_caveat_when_the_peer_is_silent() {
    let mut case = case();
    unanswered(&mut case, SendingEnd::Server, "data");
    let path_mtu = PathMtuReport { delivered_bytes: 52, lost_bytes: 1500, lost: 5, peer_silent: true };
    case.crossing().path_mtu = Some(path_mtu);
    let finding = case.finding("path_mtu").expect("a finding");
    assert!(finding.evidence.contains("had it vanished in that moment"), "{}", finding.evidence);
    assert!(finding.sentence.contains("those of the handshake did"), "{}", finding.sentence);
}

/// The evidence and the advice of a finding that is there.
fn sentences(case: &Case, code: &str) -> (String, String) {
    let finding = case.finding(code).unwrap_or_else(|| panic!("no {code}"));
    (finding.evidence, finding.advice.into_owned())
}

#[test]
fn receive_window_that_grew_is_not_named_by_its_maximum() {
    for (min, grew) in [(65_536, true), (20_000_000, false)] {
        let mut case = case();
        case.shares().receive_window = Some(0.11);
        let window = &mut case.data().advertised_window_bytes;
        (window.min, window.mean, window.max) = (Some(min), Some(1.5e7), Some(20_000_000));
        let (evidence, _) = sentences(&case, "receive_window");
        assert_eq!(evidence.contains("filled it while it grew"), grew, "{evidence}");
        assert_eq!(evidence.contains("one window per RTT"), !grew, "{evidence}");
    }
}

#[test]
fn rate_by_acks_that_a_frame_carried_together_is_none_when_a_queue_stands() {
    for (path_rate, is_rate) in [(0.6, false), (0.0, true)] {
        let mut case = case();
        case.shares().path_rate = Some(path_rate);
        let path = PathEstimate { by: "acks", rate_bps: Some(100e6), share: Some(0.9), ..PathEstimate::default() };
        case.data().inferred_path = Some(path);
        assert_eq!(case.finding("inferred_rate").is_some(), is_rate);
    }
}

#[test]
fn reader_is_slow_only_when_the_window_is_closed_for_long() {
    for (closed_s, is_reader) in [(1e-4, false), (3.0, true)] {
        let mut case = case();
        case.shares().receive_window = Some(0.9);
        case.data().zero_windows = 2;
        case.data().zero_window.closed_s = closed_s;
        let (evidence, advice) = sentences(&case, "receive_window");
        assert_eq!(evidence.contains("reads more slowly"), is_reader, "{evidence}");
        assert_eq!(evidence.contains("the reader keeps up"), !is_reader, "{evidence}");
        assert!(advice.starts_with(if is_reader { "Examine the receiving application" } else { "Enlarge the receive buffer" }));
        let limit = limits_of(&case.transfers()).b2a;
        assert_eq!(limit, Some(if is_reader { "application" } else { "receive_window" }));
    }
}

#[test]
fn probes_of_a_closed_window_show_data_that_waits() {
    let mut case = case();
    case.shares().receive_window = Some(0.9);
    (case.data().zero_windows, case.data().zero_window_probes) = (11, 22);
    assert!(sentences(&case, "receive_window").0.contains("probed the closed window"));
}

#[test]
fn window_without_scaling_gets_no_larger_buffer() {
    let mut case = case();
    case.shares().receive_window = Some(0.9);
    (case.flow.handshake.window_scaling, case.data().advertised_window_bytes.max) = (false, Some(65_535));
    assert!(sentences(&case, "receive_window").1.contains("turn window scaling on at both ends"));
    (case.flow.handshake.client_window_scale, case.flow.handshake.server_mss) = (Some(7), Some(1460));
    assert!(sentences(&case, "receive_window").1.contains("turn window scaling on at the server"));
    assert_eq!(verdict(&case).0, "receiving_host");
    case.flow.handshake.server_option_erased = true;
    assert!(sentences(&case, "receive_window").1.contains("NOPs stand in its place"));
    let (party, evidence) = verdict(&case);
    assert_eq!(party, "network");
    assert!(evidence.contains("limited by a window that the path keeps small"), "{evidence}");
    two_captures(&mut case);
    let mut partner = FlowReport::default();
    partner.handshake.server_window_scale = Some(7);
    case.partner = Some(partner);
    assert!(sentences(&case, "receive_window").1.contains("the path takes the window scale option away"));
}

#[test]
fn window_scale_is_stripped_only_when_both_captures_have_the_syn_and_one_its_option() {
    for (mss, is_stripped) in [(Some(1460), true), (None, false)] {
        let mut case = case();
        two_captures(&mut case);
        case.flow.handshake.server_mss = Some(1460);
        let mut partner = FlowReport::default();
        (partner.handshake.server_mss, partner.handshake.server_window_scale) = (mss, Some(7));
        case.partner = Some(partner);
        assert_eq!(case.finding("window_scaling_stripped").is_some(), is_stripped);
    }
}

#[test]
fn receiver_without_window_updates_is_no_slow_program() {
    for (opened_by_probe, is_announced) in [(9, false), (8, true)] {
        let mut case = case();
        zero_window(&mut case, 0.3, None);
        (case.data().zero_windows, case.data().zero_window.opened_by_probe) = (9, opened_by_probe);
        let (evidence, advice) = sentences(&case, "zero_window_stall");
        assert_eq!(evidence.contains("sends no window updates"), !is_announced, "{evidence}");
        assert_eq!(advice.starts_with("Examine the receiving application"), is_announced, "{advice}");
    }
}

#[test]
fn waits_for_delayed_acks_are_no_queue_and_no_pause_of_the_application() {
    let mut alone = case();
    alone.shares().path_rate = Some(0.97);
    assert!(alone.finding("bottleneck").is_some());
    late_acks(&mut alone, [0, 49], 200.0, 9.7);
    assert_eq!((alone.finding("bottleneck"), alone.finding("cwnd")), (None, None));
    assert_eq!(verdict(&alone).0, "sending_host");
    let mut small = case();
    small.shares().application = Some(0.97);
    late_acks(&mut small, [39, 0], 43.0, 9.5);
    assert_eq!(small.finding("application"), None);
    assert_eq!(verdict(&small).0, "application");
    // A queue's delays are not a timer's.
    small.data().late_acks.sd_ms = Some(30.0);
    assert!(small.finding("nagle_delayed_ack").is_none() && small.finding("application").is_some());
}

#[test]
fn limit_is_the_direction_whose_queue_stands_for_longer() {
    let mut case = case();
    case.shares().path_rate = Some(0.6);
    // A few large delays of ACKs are no standing queue.
    queues(&mut case, (84.0, 119.0), (0.1, 499.0));
    assert_eq!(limits_of(&case.transfers()).b2a, Some("bottleneck"));
    assert!(case.finding("ack_queue").is_some());
    queues(&mut case, (3.0, 119.0), (937.0, 999.0));
    assert_eq!(limits_of(&case.transfers()).b2a, Some("ack_path"));
    assert!(case.finding("ack_queue").is_none());
    // A fifth of the time has a queue, and it is the ACKs' then: medians over the whole flow do not
    // speak of it.
    (case.shares().path_rate, case.shares().cwnd) = (Some(0.19), Some(0.78));
    queues(&mut case, (8.0, 34.0), (0.1, 430.0));
    assert!(case.finding("ack_path").is_some());
}

#[test]
fn single_loss_is_not_the_limit_of_a_window() {
    for (events, text) in [(1, "limited it only briefly"), (9, "kept the window small")] {
        let mut case = case();
        case.shares().cwnd = Some(1.0);
        (case.data().repairs.recoveries, case.data().retransmitted_segments) = (events, 9);
        assert!(sentences(&case, "cwnd").1.contains(text));
    }
}

#[test]
fn acks_first_is_advised_only_when_data_shares_their_direction() {
    let mut case = case();
    case.shares().path_rate = Some(0.6);
    queues(&mut case, (5.0, 20.0), (4.0, 60.0));
    assert!(sentences(&case, "ack_queue").1.contains("ACKs alone fill the link"));
    case.shared_bps = 1e5;
    assert!(sentences(&case, "ack_queue").1.contains("Data shares the direction"));
}

#[test]
fn longer_buffer_is_not_advised_when_a_deep_one_overflows() {
    for (p95, text) in [(101.0, "A longer buffer would only add delay"), (99.0, "A longer queue, active queue management")] {
        let mut case = case();
        lost(&mut case, "congestion");
        queues(&mut case, (5.0, p95), (0.0, 0.0));
        assert!(sentences(&case, "loss_congestion").1.contains(text));
    }
}

#[test]
fn spurious_retransmissions_are_no_losses() {
    let mut case = case();
    case.shares().recovery = 0.3;
    let data = case.data();
    (data.repairs.recoveries, data.retransmitted_segments, data.spurious_retransmits) = (4, 427, 47);
    assert!(sentences(&case, "recovery").1.contains("95 segments were lost at a time"));
}

#[test]
fn queue_of_less_than_a_packet_or_than_jitter_is_none() {
    use super::has_queue;
    assert!(has_queue(Some(32_000.0), Some(254e3)));
    assert!(!has_queue(Some(59.0), Some(1000.0)));
    assert!(!has_queue(Some(2000.0), Some(10e6)));
    assert!(!has_queue(None, None));
}

/// 40 loss events in 1,000 segments, and these shares of the time.
fn lossy(application: f64) -> Case {
    let mut case = case();
    case.data().repairs.recoveries = 40;
    (case.shares().application, case.shares().cwnd) = (Some(application), Some(0.2));
    case
}

#[test]
fn models_need_three_losses_and_order_reno_below_cubic() {
    let mut case = lossy(0.1);
    case.data().ack_interarrival_ms.segments_per_ack = Some(2.0);
    let rates = super::models_of(&case.flow.b2a).unwrap();
    assert!(rates.cubic_bps >= rates.counted_bps && rates.counted_bps > rates.padhye_bps);
    case.data().repairs.recoveries = 2;
    assert!(super::models_of(&case.flow.b2a).is_none());
}

#[test]
fn rate_is_near_a_model_only_within_the_models_error() {
    let rows = [
        (1.0, 0.1, true, "which is near Reno's and CUBIC's alike: a quarter of them would give about"),
        (1.9, 0.1, false, "which is 1.9 times what Reno and CUBIC would get: a quarter of them would give about 2."),
        (0.72, 0.1, false, "which is 0.7 times what Reno and CUBIC would get"),
        (1.0, 0.8, true, "by coincidence"),
        (1.9, 0.8, false, "Fewer losses would gain little"),
        (2.1, 0.1, false, "does not respond to losses as Reno or CUBIC do"),
        (0.4, 0.1, false, "would allow more"),
    ];
    for (times, application, is_near, text) in rows {
        let mut case = lossy(application);
        let models = super::models_of(&case.flow.b2a).unwrap();
        case.data().goodput_bps = Some(times * models.cubic_bps);
        let (_, advice) = sentences(&case, "models");
        assert!(advice.contains(text), "{times}: {advice}");
        assert_eq!(advice.contains("near"), is_near, "{times}: {advice}");
    }
}

#[test]
fn path_with_more_recovery_than_queue_is_not_called_full() {
    let mut case = lossy(0.0);
    (case.shares().path_rate, case.shares().recovery) = (Some(0.34), 0.64);
    assert!(sentences(&case, "models").1.contains("loss recovery took 64 %"));
}

/// The verdict about one flow, and its evidence.
fn verdict(case: &Case) -> (&'static str, String) {
    let mut builder = super::SummaryBuilder::default();
    builder.add(&case.flow, &case.claims(), &case.transfers());
    let verdict = builder.verdict_of(&CaptureSummary::default(), case.flow.duration_s);
    (verdict.verdict, verdict.evidence)
}

/// The summary of a large flow without a defect, of small ones that were reset, and of small ones that were not.
fn beside_a_large_flow(reset_ones: u64, others: u64) -> CaptureSummary {
    let mut builder = super::SummaryBuilder::default();
    let large = case();
    builder.add(&large.flow, &large.claims(), &large.transfers());
    for number in 0..reset_ones + others {
        let mut small = case();
        small.flow.flow = Some(2 + number as usize);
        small.data().unique_bytes = 1000;
        reset(&mut small, if number < reset_ones { "unknown_connection" } else { "abort" });
        builder.add(&small.flow, &small.claims(), &small.transfers());
    }
    let connections = ConnectionCounts { established: 1 + reset_ones + others, ..ConnectionCounts::default() };
    let head = Report { summary: Some(CaptureSummary { connections, ..CaptureSummary::default() }), ..Report::default() };
    builder.summary(&head)
}

#[test]
fn nothing_is_claimed_of_a_file_without_connections_nor_of_transfers_that_are_too_short() {
    let summary = |established| {
        let connections = ConnectionCounts { established, ..ConnectionCounts::default() };
        let head = Report { summary: Some(CaptureSummary { connections, ..CaptureSummary::default() }), ..Report::default() };
        super::SummaryBuilder::default().summary(&head)
    };
    let (none, short) = (summary(0), summary(1));
    assert_eq!(none.verdict.unwrap().verdict, "unclear");
    assert_eq!(none.customer.unwrap(), "There is no TCP connection, and no data of which limits are known.");
    assert_eq!(short.verdict.unwrap().verdict, "nothing_wrong");
    assert_eq!(short.customer.unwrap(), "No transfer is long enough to show what limits it.");
}

#[test]
fn small_connection_that_failed_is_named_beside_a_large_flow_without_a_defect() {
    for (reset_ones, others, verdict, shown) in [
        (1, 3, "receiving_host", "1 of 5 connections failed. Flow 2"),
        (1, 4, "nothing_wrong", "Besides, 1 of 6 connections failed. Flow 2"),
        (0, 4, "nothing_wrong", ""),
    ] {
        let summary = beside_a_large_flow(reset_ones, others);
        let found = summary.verdict.unwrap();
        assert!(found.verdict == verdict && found.evidence.contains(shown), "{found:?}");
        let customer = summary.customer.unwrap();
        assert_eq!(customer.contains("reset the connection"), reset_ones > 0, "{customer}");
    }
}

#[test]
fn nothing_is_not_wrong_when_a_flow_shows_that_something_is() {
    let rows: [(Change, &str, &str); 5] = [
        (|case| (case.data().segments, case.data().retransmitted_segments) = (1000, 300), "network", "300 of 1000 segments"),
        (|case| unanswered(case, SendingEnd::Server, "fin"), "network", "The FIN"),
        (|case| case.data().outstanding_bytes.max = 1448, "sending_host", "Never more than one segment"),
        (|case| case.data().rtt_ms.p95 = Some(510.0), "unclear", "The RTT was 510 ms or more"),
        (|case| case.data().rtt_ms.p95 = Some(490.0), "nothing_wrong", "no defect took 20 %"),
    ];
    for (change, expected, text) in rows {
        let mut case = case();
        change(&mut case);
        let (name, evidence) = verdict(&case);
        assert!(name == expected && evidence.contains(text), "{name}: {evidence}");
        case.shares().application = Some(0.6);
        let advice = sentences(&case, "application").1;
        assert_eq!(
            advice.contains("Nothing on the path"),
            expected == "nothing_wrong" || text.contains("one segment"),
            "{advice}"
        );
    }
}

#[test]
fn verdict_names_the_owner_of_the_largest_limit() {
    let rows: [(Change, &str); 6] = [
        (|case| case.shares().receive_window = Some(0.8), "receiving_host"),
        (|case| case.shares().send_buffer = Some(0.8), "sending_host"),
        (|case| case.shares().application = Some(0.8), "application"),
        (|case| case.shares().recovery = 0.8, "network"),
        // A short queue is no defect.
        (|case| case.shares().path_rate = Some(0.8), "nothing_wrong"),
        (|case| case.shares().receive_window = Some(0.1), "nothing_wrong"),
    ];
    for (change, expected) in rows {
        let mut case = case();
        change(&mut case);
        assert_eq!(verdict(&case).0, expected);
    }
    let mut deep = case();
    deep.shares().path_rate = Some(0.8);
    deep.data().rtt_ms.p95 = Some(210.0);
    assert_eq!(verdict(&deep).0, "network");
}

#[test]
fn remedy_is_absent_where_the_path_rate_is_reached_in_spite_of_the_limit() {
    let remedy = |case: &Case, code: &str| {
        let claims = case.claims();
        claims.iter().find(|claim| claim.rule.code == code).unwrap_or_else(|| panic!("no {code} in {claims:#?}")).claim.remedy
    };
    let rows: [(Change, &str, Option<Remedy>); 4] = [
        (|case| case.shares().send_buffer = Some(0.8), "send_buffer", Some(Remedy::LargerBuffer)),
        (|case| case.shares().receive_window = Some(0.8), "receive_window", Some(Remedy::LargerBuffer)),
        (
            |case| {
                (case.shares().receive_window, case.data().zero_windows) = (Some(0.8), 2);
                case.data().zero_window.closed_s = 3.0;
            },
            "receive_window",
            Some(Remedy::FasterReader),
        ),
        (|case| (case.shares().receive_window, case.shares().path_rate) = (Some(0.5), Some(0.9)), "receive_window", None),
    ];
    for (change, code, expected) in rows {
        let mut case = case();
        change(&mut case);
        assert_eq!(remedy(&case, code), expected, "{:#?}", case.findings());
    }
    let mut lossy = lossy(0.1);
    lossy.data().goodput_bps = super::models_of(&lossy.flow.b2a).map(|models| models.cubic_bps);
    assert_eq!(remedy(&lossy, "models"), Some(Remedy::FewerLosses));
    lossy.shares().path_rate = Some(0.9);
    assert_eq!(remedy(&lossy, "models"), None);
}

#[test]
fn verdict_about_a_host_names_many_losses_as_well() {
    let rows = [(20, 0, true), (19, 0, false), (20, 1, false), (0, 0, false)];
    for (retransmitted, spurious, is_named) in rows {
        let mut case = case();
        case.shares().application = Some(0.8);
        (case.data().retransmitted_segments, case.data().spurious_retransmits) = (retransmitted, spurious);
        let (name, evidence) = verdict(&case);
        assert_eq!(name, "application");
        assert_eq!(evidence.contains(" Besides, 2 % of the segments of flow 1 b2a"), is_named, "{evidence}");
    }
}
