//! `tsq`: what a connection has waiting in its own first hop.

use crate::common::{MS, bulk, go, hop, plan, tcp, way};
use ackclock_sim::RunResult;
use serde_json::{Value, json};

const BOTH: [&str; 2] = ["down", "up"];

/// So many segments of 1000 bytes at most, whatever the pace.
fn segments(most: u32) -> Value {
    json!({"segments": most, "time_ps": MS, "most": 1000 * most})
}

fn sends(direction: &str, tsq: &Value) -> Value {
    let mut keys = tcp("reno");
    keys["tsq"] = tsq.clone();
    let mut flow = bulk("f", &[0, 1]);
    flow["direction"] = json!(direction);
    flow["tcp"] = keys;
    flow
}

/// Twenty seconds over a first hop of `first`, then a fast one (whichever end sends).
fn from(direction: &str, first: &Value, per_client: bool, tsq: &Value) -> RunResult {
    let fast = way(100_000_000, 20, 0);
    let mut own = hop("own", first.clone(), first.clone());
    own["per_client"] = json!(per_client);
    let rest = hop("rest", fast.clone(), fast);
    let hops = if direction == "up" { json!([rest, own]) } else { json!([own, rest]) };
    let mut whole = plan(20_000, hops, json!([sends(direction, tsq)]));
    whole["clients"] = json!(if per_client { 3 } else { 1 });
    go(&whole)
}

/// Longest wait in the sender's first hop in ms, drops there, and goodput in b/s.
fn outcome(result: &RunResult, direction: &str) -> (f64, u64, f64) {
    let row = result.summary.hops.iter().find(|row| row.hop == "own" && row.direction == direction).expect("its row");
    (row.queue_delay_ms.max.unwrap_or(0.0), row.drops, result.summary.flows[0].goodput_bps.expect("goodput"))
}

/// A segment takes 8.4 ms at 1 Mb/s with its headers (1052 bytes). Of two that wait there, the
/// second waits for the first.
#[test]
fn a_slow_first_hop_holds_the_limit_and_no_more() {
    let first = way(1_000_000, 1, 100);
    for direction in BOTH {
        for per_client in [false, true] {
            let (wait, drops, goodput) = outcome(&from(direction, &first, per_client, &Value::Null), direction);
            assert!(
                wait > 800.0 && drops > 0,
                "{direction}: without it the queue fills: {wait} ms, {drops} dropped, {goodput} b/s"
            );
            for most in [2, 5] {
                let result = from(direction, &first, per_client, &segments(most));
                let (wait, drops, goodput) = outcome(&result, direction);
                let longest = f64::from(most - 1) * 8.416 + 0.01;
                assert!(wait <= longest && wait > longest - 8.5, "{direction}, {most} segments: {wait} ms");
                assert_eq!((drops, result.summary.flows[0].retransmitted_segments), (0, 0), "{direction}, {most} segments");
                assert!(goodput > 0.93e6, "{direction}, {most} segments: {goodput} b/s");
                let held = result.summary.flows[0].limited_share.as_ref().expect("shares")["send_buffer"];
                assert!(held > 0.9, "{direction}: held by its queue for {held}");
            }
        }
    }
}

/// Of every kind of queue that drops, at the tail, at the head or from its middle: what is lost
/// there is heard of, too, or the sender would stand still.
#[test]
fn what_its_own_queue_drops_no_longer_counts() {
    for queue in [
        json!({"kind": "droptail", "packets": 2, "bytes": null}),
        json!({"kind": "droptail", "packets": 2, "bytes": null, "drop": "front"}),
        json!({"kind": "fq-codel", "packets": 100, "bytes": 200_000, "flows": 16, "quantum": 1514, "target_ps": MS, "interval_ps": 10 * MS,
               "mtu": 1514, "signal": "drop"}),
    ] {
        let first = json!({"queue": queue, "rate": {"kind": "fixed", "bps": 1_000_000}, "framing": "none", "outage": [],
            "loss": null, "duplicate": null, "delay_ps": MS, "jitter": null, "reorder": null});
        let (_, drops, goodput) = outcome(&from("up", &first, false, &segments(6)), "up");
        assert!(drops > 20 && goodput > 0.7e6, "{queue}: {drops} dropped, {goodput} b/s");
    }
}

/// Ten times as fast as the hop behind it, and so never long: the limit does not bind.
#[test]
fn before_a_fast_first_hop_nothing_changes() {
    let narrow = hop("narrow", way(5_000_000, 10, 50), way(5_000_000, 10, 50));
    let summary = |tsq: &Value| {
        let fast = hop("own", way(1_000_000_000, 1, 0), way(1_000_000_000, 1, 0));
        let result = go(&plan(20_000, json!([narrow, fast]), json!([sends("up", tsq)])));
        let row = result.summary.flows[0].clone();
        (row.segments_sent, row.retransmitted_segments, row.goodput_bps, row.rtt_ms.mean)
    };
    let without = summary(&Value::Null);
    assert!(without.1 > 0);
    assert_eq!(summary(&json!({"segments": 2, "time_ps": MS, "most": 4 << 20})), without);
}

/// Neither a hop without a rate nor the other end's first hop bounds anything.
#[test]
fn without_a_queue_of_its_own_nothing_is_bounded() {
    let narrow = hop("narrow", way(1_000_000, 10, 50), way(1_000_000, 10, 50));
    let open = hop("own", way(0, 1, 0), way(0, 1, 0));
    let sent = |tsq: &Value| {
        let result = go(&plan(10_000, json!([narrow, open]), json!([sends("up", tsq)])));
        (result.summary.flows[0].segments_sent, result.summary.hops.iter().map(|row| row.drops).sum::<u64>())
    };
    assert_eq!(sent(&segments(2)), sent(&Value::Null));
}
