//! TCP small queues (`tsq`): the bytes of a connection in the queue of its first hop.

use crate::common::{MS, bulk, go, hop, hop_direction, plan, tcp};
use ackclock_sim::RunResult;
use serde_json::{Value, json};

const BOTH: [&str; 2] = ["down", "up"];

/// A fixed limit of `max` segments of 1000 bytes, at any pacing rate.
fn segments(max_segments: u32) -> Value {
    json!({"segments": max_segments, "time_ps": MS, "most": 1000 * max_segments})
}

fn sends(direction: &str, tsq: &Value) -> Value {
    let mut keys = tcp("reno");
    keys["tsq"] = tsq.clone();
    let mut flow = bulk("f", &[0, 1]);
    flow["direction"] = json!(direction);
    flow["tcp"] = keys;
    flow
}

/// A run of 20 seconds with `first` as the sender's first hop, then a fast hop.
fn from(direction: &str, first: &Value, per_client: bool, tsq: &Value) -> RunResult {
    let fast = hop_direction(100_000_000, 20, 0);
    let mut own = hop("own", first.clone(), first.clone());
    own["per_client"] = json!(per_client);
    let rest = hop("rest", fast.clone(), fast);
    let hops = if direction == "up" { json!([rest, own]) } else { json!([own, rest]) };
    let mut whole = plan(20_000, hops, json!([sends(direction, tsq)]));
    whole["clients"] = json!(if per_client { 3 } else { 1 });
    go(&whole)
}

/// Maximum queueing delay of the sender's first hop in ms, its drops, and the goodput in bit/s.
fn outcome(result: &RunResult, direction: &str) -> (f64, u64, f64) {
    let row = result.summary.hops.iter().find(|row| row.hop == "own" && row.direction == direction).expect("its row");
    (row.queue_delay_ms.max.unwrap_or(0.0), row.drops, result.summary.flows[0].goodput_bps.expect("goodput"))
}

/// A segment of 1052 bytes takes 8.4 ms at 1 Mb/s.
#[test]
fn tsq_bounds_the_queue_of_a_slow_first_hop() {
    let first = hop_direction(1_000_000, 1, 100);
    for direction in BOTH {
        for per_client in [false, true] {
            let (wait, drops, goodput) = outcome(&from(direction, &first, per_client, &Value::Null), direction);
            assert!(
                wait > 800.0 && drops > 0,
                "{direction}: without it the queue fills: {wait} ms, {drops} dropped, {goodput} b/s"
            );
            for max_segments in [2, 5] {
                let result = from(direction, &first, per_client, &segments(max_segments));
                let (wait, drops, goodput) = outcome(&result, direction);
                let longest = f64::from(max_segments - 1) * 8.416 + 0.01;
                assert!(wait <= longest && wait > longest - 8.5, "{direction}, {max_segments} segments: {wait} ms");
                assert_eq!(
                    (drops, result.summary.flows[0].retransmitted_segments),
                    (0, 0),
                    "{direction}, {max_segments} segments"
                );
                assert!(goodput > 0.93e6, "{direction}, {max_segments} segments: {goodput} b/s");
                let held = result.summary.flows[0].limited_share.as_ref().expect("shares")["send_buffer"];
                assert!(held > 0.9, "{direction}: limited by tsq for {held}");
            }
        }
    }
}

/// Every kind of queue that drops, from the tail, the front or the middle, reports its drops to the
/// sender. Otherwise the sender would stall.
#[test]
fn tsq_releases_bytes_that_the_first_hop_drops() {
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

/// The first hop is ten times as fast as the next hop, so its queue is below the limit.
#[test]
fn tsq_changes_nothing_when_the_first_hop_is_fast() {
    let narrow = hop("narrow", hop_direction(5_000_000, 10, 50), hop_direction(5_000_000, 10, 50));
    let summary = |tsq: &Value| {
        let fast = hop("own", hop_direction(1_000_000_000, 1, 0), hop_direction(1_000_000_000, 1, 0));
        let result = go(&plan(20_000, json!([narrow, fast]), json!([sends("up", tsq)])));
        let row = result.summary.flows[0].clone();
        (row.segments_sent, row.retransmitted_segments, row.goodput_bps, row.rtt_ms.mean)
    };
    let without = summary(&Value::Null);
    assert!(without.1 > 0);
    assert_eq!(summary(&json!({"segments": 2, "time_ps": MS, "most": 4 << 20})), without);
}

/// A hop without a rate and the first hop of the other end have no limit.
#[test]
fn tsq_bounds_nothing_when_the_first_hop_has_no_rate() {
    let narrow = hop("narrow", hop_direction(1_000_000, 10, 50), hop_direction(1_000_000, 10, 50));
    let open = hop("own", hop_direction(0, 1, 0), hop_direction(0, 1, 0));
    let sent = |tsq: &Value| {
        let result = go(&plan(10_000, json!([narrow, open]), json!([sends("up", tsq)])));
        (result.summary.flows[0].segments_sent, result.summary.hops.iter().map(|row| row.drops).sum::<u64>())
    };
    assert_eq!(sent(&segments(2)), sent(&Value::Null));
}
