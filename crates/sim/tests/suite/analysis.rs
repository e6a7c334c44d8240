//! The analyzer's report of simulated captures against the simulator's counters.

use crate::common::{bulk, go, hop, hop_direction, plan};
use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::report::{DirectionReport, Report, VantagePoint};
use serde_json::{Value, json};
use std::path::Path;

fn scratch(name: &str) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("analysis");
    std::fs::create_dir_all(&dir).expect("a scratch folder");
    dir.join(name).to_str().expect("a plain path").to_owned()
}

/// The data direction of the only flow, and the inferred vantage point.
fn analyze(path: &str) -> (DirectionReport, VantagePoint) {
    let mut capture = Capture::open(Path::new(path)).expect("a capture");
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).expect("readable");
    capture.finish();
    let mut report = Report::of(&analysis, &capture);
    assert_eq!((report.flows.len(), report.malformed, report.bad_checksums), (1, 0, 0));
    let flow = report.flows.swap_remove(0);
    (flow.b2a, flow.vantage.place)
}

/// A download with this TCP and loss rate, captured at both ends.
fn case(name: &str, tcp: &Value, loss: f64) -> (ackclock_sim::summary::FlowRow, String, String) {
    let (server, client) = (scratch(&format!("{name}.s.pcap")), scratch(&format!("{name}.c.pcapng")));
    let mut down = hop_direction(5_000_000, 20, 60);
    down["loss"] = json!({"kind": "bernoulli", "mean": loss});
    let mut plan = plan(30_000, json!([hop("h", down, hop_direction(5_000_000, 20, 60))]), json!([bulk("d", &[0])]));
    for (key, value) in tcp.as_object().expect("keys") {
        plan["flows"][0]["tcp"][key] = value.clone();
    }
    plan["captures"] = json!([
        {"flow": "d", "end": "server", "path": server, "format": "pcap"},
        {"flow": "d", "end": "client", "path": client, "format": "pcapng"},
    ]);
    (go(&plan).summary.flows.swap_remove(0), server, client)
}

fn tcps() -> Vec<(&'static str, Value)> {
    vec![
        ("reno", json!({})),
        ("newreno", json!({"recovery": "newreno"})),
        ("classic", json!({"recovery": "classic", "sack": false})),
        ("cubic", json!({"variant": "cubic"})),
    ]
}

#[test]
fn analyzer_counts_equal_the_senders_when_captured_at_the_sender() {
    for (name, tcp) in tcps() {
        for loss in [0.001, 0.01, 0.04] {
            let (truth, server, _) = case(&format!("{name}-{loss}"), &tcp, loss);
            let (seen, place) = analyze(&server);
            assert_eq!(place, VantagePoint::Server, "{name} {loss}");
            assert_eq!(seen.segments, truth.segments_sent, "{name} {loss}");
            assert_eq!(seen.retransmitted_segments, truth.retransmitted_segments, "{name} {loss}");
            // An RTO while duplicate ACKs arrive is indistinguishable from the recovery that it
            // ends. It occurs with NewReno's impatient variant at any loss rate, with the others at
            // high loss rates.
            if name == "newreno" || loss > 0.01 {
                continue;
            }
            let timeouts = u64::from(seen.rto_retransmits + seen.tlp_retransmits);
            assert!(
                timeouts.abs_diff(truth.timeouts) <= 1.max(truth.timeouts / 20),
                "{name} {loss}: {timeouts} of {}",
                truth.timeouts
            );
        }
    }
}

#[test]
fn gap_fills_are_retransmissions_and_none_reordered_when_captured_at_the_receiver() {
    for (name, tcp) in tcps() {
        let (truth, _, client) = case(&format!("{name}-far"), &tcp, 0.01);
        let (seen, place) = analyze(&client);
        assert_eq!((place, seen.out_of_order), (VantagePoint::Client, 0), "{name}");
        let all = truth.retransmitted_segments;
        // Retransmissions that were lost are not in the capture.
        assert!(
            seen.retransmitted_segments <= all && seen.retransmitted_segments * 100 >= all * 95,
            "{name}: {} of {all}",
            seen.retransmitted_segments
        );
    }
}

#[test]
fn analyzer_rtt_is_within_one_percent_of_the_senders() {
    let (truth, server, _) = case("rtt", &json!({}), 0.001);
    let (seen, _) = analyze(&server);
    let close = |a: Option<f64>, b: Option<f64>| (a.expect("a figure") / b.expect("a figure") - 1.0).abs() < 0.01;
    let theirs = serde_json::to_value(&truth).expect("JSON")["rtt_ms"].clone();
    assert!(close(seen.rtt_ms.mean, theirs["mean"].as_f64()), "{:?} {theirs}", seen.rtt_ms);
    assert!(close(seen.rtt_ms.sd, theirs["sd"].as_f64()), "{:?} {theirs}", seen.rtt_ms);
    assert!(close(seen.rtt_ms.p50, theirs["p50"].as_f64()), "{:?} {theirs}", seen.rtt_ms);
}
