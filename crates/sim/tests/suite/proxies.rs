//! Split connections: a plan with a proxy between two flows.

use crate::common::{MS, S, close, flow, go, hop, hop_direction, plan, tcp};
use ackclock_sim::Plan;
use serde_json::{Value, json};

/// 100 Mb/s and 10 ms to the proxy, 5 Mb/s and 300 ms behind it.
fn hops() -> Value {
    json!([
        hop("core", hop_direction(100_000_000, 10, 0), hop_direction(100_000_000, 10, 0)),
        hop("sky", hop_direction(5_000_000, 300, 400), hop_direction(5_000_000, 300, 400))
    ])
}

fn part(name: &str, hops: &[usize], direction: &str, workload: Value) -> Value {
    let mut flow = flow(name, hops, workload, tcp("reno"));
    flow["direction"] = json!(direction);
    flow["start"] = json!({"low_ps": 0, "high_ps": S});
    flow
}

fn split(direction: &str, workload: Value, host: Value) -> Value {
    let names = if direction == "down" { ["load@sky", "load"] } else { ["load", "load@sky"] };
    let flows = json!([part(names[0], &[0], direction, workload.clone()), part(names[1], &[1], direction, workload)]);
    let mut plan = plan(30_000, hops(), flows);
    plan["proxies"] = json!([{"name": "sky", "near": 0, "far": 1, "buffer": 300_000, "handshake": "local", "tcp": host}]);
    plan
}

#[test]
fn split_connection_has_two_rows_and_the_last_is_the_connection() {
    for direction in ["down", "up"] {
        let run = go(&split(direction, json!({"kind": "transfer", "bytes": 2_000_000}), tcp("cubic")));
        let row = |name: &str| run.summary.flows.iter().find(|row| row.flow == name).unwrap();
        assert_eq!((row("load@sky").feeds.as_deref(), row("load").feeds.as_deref()), (Some("load"), None), "{direction}");
        let done = row("load").completed_s.expect("it completes");
        // Both times count from the start of the connection; the last part takes at least the time
        // of the slow path.
        assert!(done > 3.2 && row("load@sky").completed_s.unwrap() < done, "{direction}: {done}");
        let senders = if direction == "down" { ["reno", "cubic"] } else { ["cubic", "reno"] };
        assert_eq!([&run.summary.flows[0].variant, &run.summary.flows[1].variant], senders, "variant of the sending host");
        assert_eq!(run.summary.jain, Some(1.0), "one connection");
        let held = &run.summary.proxies[0].held_bytes_max;
        let (ours, theirs) = if direction == "down" { (held["down"], held["up"]) } else { (held["up"], held["down"]) };
        assert!((1..=300_000).contains(&ours) && theirs == 0, "{held:?}");
    }
}

#[test]
fn proxy_fills_the_far_path_that_the_server_alone_does_not() {
    let small = |mut tcp: Value| {
        tcp["send_buffer"] = json!(64_000);
        tcp
    };
    let mut alone = plan(30_000, hops(), json!([flow("load", &[0, 1], json!({"kind": "bulk"}), small(tcp("reno")))]));
    alone["flows"][0]["start"] = json!({"low_ps": 0, "high_ps": S});
    let alone = go(&alone);
    // One send buffer of the server per RTT of at least 620 ms, slow start included.
    close(alone.summary.flows[0].goodput_bps, 0.9 * 64_000.0 * 8.0 / 0.62, 80_000.0);
    let mut helped = split("down", json!({"kind": "bulk"}), tcp("reno"));
    helped["flows"][0]["tcp"] = small(tcp("reno"));
    let helped = go(&helped);
    let last = &helped.summary.flows[1];
    assert!(last.goodput_bps.unwrap() > 3.0e6, "{:?}", last.goodput_bps);
    // The proxy's buffer limits the rate: 300 kB per 600 ms.
    assert!(last.goodput_bps.unwrap() < 300_000.0 * 8.0 / 0.6);
}

#[test]
fn invalid_proxies_are_rejected() {
    let good = split("down", json!({"kind": "bulk"}), tcp("reno"));
    for (path, value, words) in [
        ("/proxies/0/buffer", json!(0), "buffer of 0"),
        ("/proxies/0/far", json!(7), "there are 2"),
        ("/proxies/0/near", json!(1), "another proxy|must precede"),
        ("/flows/1/client", json!(1), "client"),
        ("/flows/1/direction", json!("up"), "two TCP flows"),
        ("/proxies/0/handshake", json!("never"), "handshake|unknown variant"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        let error = Plan::from_json(&bad.to_string()).expect_err(path).to_string();
        assert!(words.split('|').any(|word| error.contains(word)), "{path}: {error}");
    }
}

#[test]
fn grants_medium_carries_tcp_in_both_directions() {
    let direction = |bps: u64| {
        json!({"bps": bps, "interval_ps": MS, "block": true, "packet_header": 4, "block_header": 3, "cap": null,
        "repair": {"error": 0.1, "attempts": 4, "delay_ps": 8 * MS, "rounds": 3, "round_delay_ps": 40 * MS}})
    };
    let medium = json!({"kind": "grants", "down": direction(20_000_000), "up": direction(5_000_000), "grant_delay_ps": 7 * MS,
        "ask": {"kind": "scheduled", "period_ps": 10 * MS, "first_grant": 100}, "piggyback": true, "many_requests": false});
    let mut air = hop("air", crate::common::hop_direction(0, 0, 100), crate::common::hop_direction(0, 0, 100));
    air["medium"] = medium;
    let flows = json!([flow("load", &[0, 1], json!({"kind": "bulk"}), tcp("cubic"))]);
    let run = go(&plan(
        10_000,
        json!([hop("core", crate::common::hop_direction(0, 10, 0), crate::common::hop_direction(0, 10, 0)), air]),
        flows,
    ));
    let load = &run.summary.flows[0];
    assert!(load.goodput_bps.unwrap() > 13e6, "{:?}", load.goodput_bps);
    // 20 ms of delay, 1 ms down; up a request within 10 ms, 7 ms to the grant, and 1 ms.
    assert!((29.0..45.0).contains(&load.rtt_ms.min.unwrap()), "{:?}", load.rtt_ms);
    assert!(run.summary.hops.iter().any(|hop| hop.hop == "air" && hop.control_packets > 100), "requests and grants are counted");
}
