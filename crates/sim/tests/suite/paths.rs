//! Paths: one-way hops, cross traffic on some hops, several clients, all kinds of elements.

use crate::common::{MS, S, bulk, cbr, close, go, hop, hop_direction, plan, tcp};
use serde_json::{Value, json};

#[test]
fn one_way_hops_are_crossed_in_their_direction_only() {
    let hops =
        json!([hop("out", hop_direction(1_000_000, 10, 0), Value::Null), hop("back", Value::Null, hop_direction(0, 30, 0))]);
    let result = go(&plan(5000, hops, json!([bulk("d", &[0, 1])])));
    let directions: Vec<_> = result.summary.hops.iter().map(|h| (h.hop.as_str(), h.direction)).collect();
    assert_eq!(directions, [("out", "down"), ("back", "up")]);
    // 10 ms down, 30 ms up, and 1052 bytes at 1 Mb/s.
    close(result.summary.flows[0].rtt_ms.min, 40.0 + 8.416, 0.001);
}

#[test]
fn cross_traffic_crosses_its_own_hops_only() {
    let hops = json!([
        hop("core", hop_direction(10_000_000, 5, 0), hop_direction(0, 5, 0)),
        hop("middle", hop_direction(10_000_000, 5, 0), hop_direction(0, 5, 0)),
        hop("air", hop_direction(10_000_000, 5, 0), hop_direction(0, 5, 0)),
    ]);
    let mut through = cbr("through", &[0, 1, 2]);
    through["stop_ps"] = json!(500 * MS);
    let mut cross = cbr("cross", &[1]);
    cross["stop_ps"] = json!(500 * MS);
    let result = go(&plan(1000, hops, json!([through, cross])));
    let delivered: Vec<_> = result.summary.hops.iter().filter(|h| h.direction == "down").map(|h| h.delivered).collect();
    assert_eq!(delivered, [50, 100, 50]);
}

#[test]
fn upload_sends_data_up() {
    let hops = json!([hop("h", hop_direction(10_000_000, 5, 0), hop_direction(1_000_000, 5, 20))]);
    let mut up = bulk("u", &[0]);
    up["direction"] = json!("up");
    let result = go(&plan(10_000, hops, json!([up])));
    let row = &result.summary.flows[0];
    assert_eq!(row.direction, "up");
    let goodput = row.goodput_bps.expect("a rate");
    assert!((850_000.0..1_000_000.0).contains(&goodput), "{goodput}");
    assert!(result.summary.hops[1].utilization.expect("a rate") > 0.9);
}

#[test]
fn clients_with_several_flows_share_the_bottleneck() {
    let mut access = hop("access", hop_direction(10_000_000, 1, 50), hop_direction(10_000_000, 1, 50));
    access["per_client"] = json!(true);
    let hops = json!([hop("core", hop_direction(6_000_000, 5, 100), hop_direction(6_000_000, 5, 100)), access]);
    let flows: Vec<Value> = (0..6)
        .map(|i| {
            let mut flow = bulk(&format!("f{i}"), &[0, 1]);
            flow["client"] = json!(i % 3);
            flow["overhead_ps"] = json!(100_000_000u64);
            flow["start"] = json!({"low_ps": 0, "high_ps": 100 * MS});
            flow
        })
        .collect();
    let mut plan = plan(20_000, hops, json!(flows));
    plan["clients"] = json!(3);
    let result = go(&plan);
    let total: f64 = result.summary.flows.iter().filter_map(|f| f.goodput_bps).sum();
    assert!((5_000_000.0..6_000_000.0).contains(&total), "{total}");
    assert!(result.summary.jain.expect("flows") > 0.7, "{:?}", result.summary.jain);
    assert!(result.summary.flows.iter().all(|f| f.goodput_bps.expect("a rate") > 100_000.0));
}

/// A direction with every impairment.
fn rough(rate: &Value) -> Value {
    let mut direction = hop_direction(5_000_000, 10, 50);
    direction["rate"] = rate.clone();
    direction["framing"] = json!("cslip");
    direction["outage"] = json!([{"start_ps": S, "end_ps": S + 50 * MS}]);
    direction["loss"] = json!({"kind": "gilbert-elliott", "good_ps": S, "bad_ps": 10 * MS, "loss_good": 0.0, "loss_bad": 1.0});
    direction["duplicate"] = json!({"mean": 0.01});
    direction["jitter"] = json!({"kind": "exponential", "mean_ps": MS, "in_order": false});
    direction["reorder"] = json!({"mean": 0.01, "delay_ps": 5 * MS});
    direction
}

#[test]
fn packets_are_conserved_for_every_variant_recovery_and_element() {
    let catalogue = ackclock_sim::catalogue::catalogue();
    let fixed = json!({"kind": "fixed", "bps": 5_000_000});
    let trace = json!({"kind": "trace", "times_ms": [0, 2, 3, 3, 9]});
    for rate in [fixed, trace, Value::Null] {
        for variant in &catalogue.variants {
            for recovery in &catalogue.recoveries {
                let hops = json!([hop("rough", rough(&rate), rough(&rate))]);
                let mut flow = bulk("d", &[0]);
                flow["tcp"] = tcp(variant.name);
                flow["tcp"]["recovery"] = json!(recovery.name);
                flow["tcp"]["receive_buffer"] = json!(100_000);
                let row = &go(&plan(10_000, hops, json!([flow]))).summary.flows[0];
                let goodput = row.goodput_bps.expect("a rate");
                assert!(goodput > 100_000.0, "{} with {}: {goodput}", variant.name, recovery.name);
            }
        }
    }
}

#[test]
fn loss_list_drops_the_listed_packets() {
    let mut down = hop_direction(5_000_000, 10, 0);
    down["loss"] = json!({"kind": "list", "packets": [100, 2000]});
    let result = go(&plan(5000, json!([hop("h", down, hop_direction(5_000_000, 10, 0))]), json!([bulk("d", &[0])])));
    assert_eq!(result.summary.hops[0].drops_by_cause["loss"], 2);
    assert_eq!(result.summary.flows[0].retransmitted_segments, 2);
    assert_eq!(result.summary.flows[0].window_cuts, 2);
}
