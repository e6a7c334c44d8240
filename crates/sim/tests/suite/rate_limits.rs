//! Policers and shapers in a path, against arithmetic.

use crate::common::{MS, bulk, cbr, close, go, hop, hop_direction, plan};
use ackclock_sim::Plan;
use serde_json::{Value, json};

fn with(mut direction: Value, key: &str, value: Value) -> Value {
    direction[key] = value;
    direction
}

fn policed(bps: u64, burst: u64) -> Value {
    with(hop_direction(100_000_000, 5, 0), "policer", json!({"bps": bps, "burst": burst}))
}

/// A shaper without a burst, before a fast line.
fn shaped(bps: u64, packets: u64) -> Value {
    let queue = json!({"kind": "droptail", "packets": packets, "bytes": null});
    with(hop_direction(100_000_000, 5, 100), "shaper", json!({"bps": bps, "burst": null, "peak_bps": null, "queue": queue}))
}

fn clear() -> Value {
    hop_direction(100_000_000, 5, 0)
}

#[test]
fn policer_passes_its_burst_and_its_rate_of_a_constant_stream() {
    // 100 packets of 1000 B a second: 10 kB and 10 s of 400 kb/s are 510 packets.
    let result = go(&plan(10_000, json!([hop("h", policed(400_000, 10_000), clear())]), json!([cbr("x", &[0])])));
    let row = &result.summary.hops[0];
    let policed = row.drops_by_cause["policed"];
    assert!((489..=491).contains(&policed), "{policed}");
    assert_eq!((row.drops, row.delivered), (policed, 1000 - policed));
}

#[test]
fn policer_counts_a_packet_as_the_line_does_with_its_framing() {
    let framing = json!({"linklayer": {"cells": "atm", "overhead": 32, "mpu": 0}});
    // 1032 B are 22 cells, 1166 B: (10000 + 500000) / 1166 = 437 packets.
    let line = with(clear(), "policer", json!({"bps": 400_000, "burst": 10_000, "framing": framing}));
    let result = go(&plan(10_000, json!([hop("h", line, clear())]), json!([cbr("x", &[0])])));
    assert!((436..=438).contains(&result.summary.hops[0].delivered), "{}", result.summary.hops[0].delivered);
}

#[test]
fn queue_of_a_shaper_is_the_queue_of_its_hop_when_packets_wait_there() {
    let result = go(&plan(10_000, json!([hop("h", shaped(400_000, 5), clear())]), json!([cbr("x", &[0])])));
    let row = &result.summary.hops[0];
    assert!((499..=506).contains(&row.delivered), "{}", row.delivered);
    assert_eq!(row.drops, row.drops_by_cause["queue_full"]);
    // Of two arrivals in a packet's 20 ms one is dropped, and the other one waits behind four or five packets.
    close(row.queue_delay_ms.p50, 90.0, 12.0);
    close(row.utilization, 1.0, 0.01);
    close(Some(row.queue_packets_mean), 4.7, 0.5);
    let sample = result.hops.time_s.iter().position(|&at| at > 5.0).expect("a sample");
    assert!(result.hops.queue_packets[sample] >= 4);
}

#[test]
fn queue_of_the_line_is_the_queue_of_its_hop_when_the_shaper_is_above_its_rate() {
    let mut line = shaped(10_000_000, 50);
    line["rate"] = json!({"kind": "fixed", "bps": 1_000_000});
    let result = go(&plan(20_000, json!([hop("h", line, clear())]), json!([bulk("x", &[0])])));
    let row = &result.summary.hops[0];
    close(row.utilization, 1.0, 0.05);
    // A hundred packets of 1000 B take 800 ms.
    assert!(row.queue_delay_ms.max.expect("packets") > 700.0);
}

#[test]
fn each_client_has_its_own_policer_and_shaper_when_the_hop_is_per_client() {
    for line in [policed(400_000, 2_000), shaped(400_000, 5)] {
        let mut hop = hop("access", line, clear());
        hop["per_client"] = json!(true);
        let mut other = cbr("y", &[0]);
        other["client"] = json!(1);
        let mut plan = plan(10_000, json!([hop]), json!([cbr("x", &[0]), other]));
        plan["clients"] = json!(2);
        let result = go(&plan);
        for flow in &result.summary.flows {
            close(flow.goodput_bps, 400_000.0 * 972.0 / 1000.0, 6_000.0);
        }
    }
}

#[test]
fn station_of_a_medium_is_shaped_before_it() {
    let mut air = hop("air", with(shaped(400_000, 5), "rate", Value::Null), hop_direction(0, 5, 10));
    air["medium"] = json!({"kind": "half-duplex", "bps": 10_000_000, "turnaround_ps": MS / 10});
    let result = go(&plan(10_000, json!([air]), json!([cbr("x", &[0])])));
    close(result.summary.flows[0].goodput_bps, 400_000.0 * 972.0 / 1000.0, 6_000.0);
    assert!(result.summary.hops[0].drops_by_cause["queue_full"] > 480);
}

#[test]
fn sender_that_bounds_its_host_queue_goes_on_behind_a_policer() {
    let mut flow = bulk("x", &[0]);
    flow["tcp"]["tsq"] = json!({"segments": 2, "time_ps": MS, "most": 65_536});
    for line in [policed(1_000_000, 20_000), shaped(1_000_000, 20)] {
        let text = plan(20_000, json!([hop("h", line, clear())]), json!([flow])).to_string();
        if let Err(error) = Plan::from_json(&text) {
            panic!("{error}");
        }
        let result = go(&serde_json::from_str(&text).expect("JSON"));
        let goodput = result.summary.flows[0].goodput_bps.expect("a rate");
        assert!(goodput > 500_000.0, "{goodput}");
    }
}

#[test]
fn check_of_a_bucket_names_its_place() {
    let message = |line: Value| {
        let plan = plan(1000, json!([hop("h", line, clear())]), json!([cbr("x", &[0])]));
        Plan::from_json(&plan.to_string()).expect_err("an error").to_string()
    };
    assert_eq!(message(policed(1, 0)), "hop 'h' down: policer.burst is 0 bytes: no packet passes");
    let mut low = shaped(1000, 5);
    low["shaper"]["peak_bps"] = json!(999);
    assert_eq!(message(low), "hop 'h' down: shaper: peak_bps is below bps, 1000");
    let mut unknown = shaped(1000, 5);
    unknown["shaper"]["surprise"] = json!(1);
    assert!(message(unknown).contains("surprise"));
    assert!(message(policed(0, 1)).contains("the plan cannot be read"));
    let link_layer = json!({"linklayer": {"cells": "ptm", "overhead": 30, "mpu": 64, "surprise": 1}});
    assert!(message(with(clear(), "framing", link_layer)).contains("surprise"));
}
