//! What the analyzer says of our own captures, beside what really happened.

use crate::common::{bulk, go, hop, plan, way};
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

/// The data's direction of the only flow, and where the capture was found to stand.
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

/// One download with this tcp and loss, captured at both ends.
fn case(name: &str, tcp: &Value, loss: f64) -> (ackclock_sim::summary::FlowRow, String, String) {
    let (server, client) = (scratch(&format!("{name}.s.pcap")), scratch(&format!("{name}.c.pcapng")));
    let mut down = way(5_000_000, 20, 60);
    down["loss"] = json!({"kind": "bernoulli", "mean": loss});
    let mut plan = plan(30_000, json!([hop("h", down, way(5_000_000, 20, 60))]), json!([bulk("d", &[0])]));
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
fn at_the_senders_end_segments_retransmissions_and_timeouts_are_those_that_were() {
    for (name, tcp) in tcps() {
        for loss in [0.001, 0.01, 0.04] {
            let (truth, server, _) = case(&format!("{name}-{loss}"), &tcp, loss);
            let (seen, place) = analyze(&server);
            assert_eq!(place, VantagePoint::Server, "{name} {loss}");
            assert_eq!(seen.segments, truth.segments_sent, "{name} {loss}");
            assert_eq!(seen.retransmitted_segments, truth.retransmitted_segments, "{name} {loss}");
            // The timer may run out while duplicate ACKs still arrive, and then looks like the
            // recovery that it ends: NewReno's impatient variant does that at any loss, the others
            // where many retransmissions are lost too.
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
fn at_the_receivers_end_what_fills_a_hole_is_counted_and_nothing_is_taken_for_reordering() {
    for (name, tcp) in tcps() {
        let (truth, _, client) = case(&format!("{name}-far"), &tcp, 0.01);
        let (seen, place) = analyze(&client);
        assert_eq!((place, seen.out_of_order), (VantagePoint::Client, 0), "{name}");
        let all = truth.retransmitted_segments;
        // What was lost twice never came by.
        assert!(
            seen.retransmitted_segments <= all && seen.retransmitted_segments * 100 >= all * 95,
            "{name}: {} of {all}",
            seen.retransmitted_segments
        );
    }
}

#[test]
fn the_rtt_is_the_senders_own_within_one_percent() {
    let (truth, server, _) = case("rtt", &json!({}), 0.001);
    let (seen, _) = analyze(&server);
    let close = |a: Option<f64>, b: Option<f64>| (a.expect("a figure") / b.expect("a figure") - 1.0).abs() < 0.01;
    let theirs = serde_json::to_value(&truth).expect("JSON")["rtt_ms"].clone();
    assert!(close(seen.rtt_ms.mean, theirs["mean"].as_f64()), "{:?} {theirs}", seen.rtt_ms);
    assert!(close(seen.rtt_ms.sd, theirs["sd"].as_f64()), "{:?} {theirs}", seen.rtt_ms);
    assert!(close(seen.rtt_ms.p50, theirs["p50"].as_f64()), "{:?} {theirs}", seen.rtt_ms);
}
