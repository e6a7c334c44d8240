//! Hosts in time: processing times, merged segments, and two hosts a flow.

use crate::common::{MS, bulk, close, go, hop, hop_direction, plan, tcp};
use ackclock_sim::RunResult;
use serde_json::{Value, json};

const US: u64 = 1_000_000;

/// A last part of a path that is a link, a delay, another element, or a medium.
fn last_parts() -> [(&'static str, Value); 4] {
    let plain = hop_direction(10_000_000, 20, 0);
    let mut lossy = plain.clone();
    lossy["loss"] = json!({"kind": "list", "packets": [1_000_000]});
    let mut jittery = plain.clone();
    jittery["jitter"] = json!({"kind": "uniform", "low_ps": 0, "high_ps": 0, "in_order": true});
    let mut medium = hop_direction(0, 20, 0);
    medium["queue"] = json!({"kind": "droptail", "packets": 1000, "bytes": null});
    let mut shared = hop("h", medium.clone(), medium);
    shared["medium"] = json!({"kind": "half-duplex", "bps": 10_000_000, "turnaround_ps": 0});
    let both = |direction: Value| hop("h", direction.clone(), direction);
    [("link", both(plain)), ("delay", both(lossy)), ("element", both(jittery)), ("medium", shared)]
}

fn constant(us: u64) -> Value {
    json!({"p50_ps": us * US, "p99_ps": us * US})
}

fn run(hop: &Value, flows: Value) -> RunResult {
    go(&plan(3000, json!([hop]), flows))
}

fn with_tcp(name: &str, server: Value, client: Value) -> Value {
    let mut flow = bulk(name, &[0]);
    flow["tcp"] = server;
    flow["tcp_client"] = client;
    flow
}

#[test]
fn rtt_has_the_processing_times_of_both_hosts_whatever_the_path_ends_in() {
    for (name, hop) in last_parts() {
        let mut slow = tcp("reno");
        slow["receive_buffer"] = json!(10_000);
        let min = |server: Value, client: Value| run(&hop, json!([with_tcp("d", server, client)])).summary.flows[0].rtt_ms.min;
        let alone = min(slow.clone(), slow.clone()).expect("samples");
        let (mut server, mut client) = (slow.clone(), slow);
        server["processing_jitter"] = constant(300);
        client["processing_jitter"] = constant(500);
        let both = min(server, client).unwrap_or_else(|| panic!("{name}: no samples"));
        close(Some(both), alone + 0.8, 0.05);
    }
}

#[test]
fn hosts_process_packets_of_their_own_flows_only() {
    for (_, hop) in last_parts() {
        let mut slow = tcp("reno");
        slow["receive_buffer"] = json!(10_000);
        let mut processing = slow.clone();
        processing["processing_jitter"] = constant(2000);
        let flows = json!([with_tcp("a", processing.clone(), processing), with_tcp("b", slow.clone(), slow)]);
        let flows = run(&hop, flows).summary.flows;
        let min = |number: usize| flows[number].rtt_ms.min.expect("samples");
        assert!(min(0) - min(1) > 3.0, "{} {}", min(0), min(1));
    }
}

fn acks_per_segment(tcp_of_client: impl Fn(&mut Value)) -> f64 {
    let direction = || hop_direction(1_000_000_000, 5, 0);
    let mut fast = tcp("reno");
    fast["delayed_ack"] = json!({"segments": 2, "timer_ps": 40 * MS});
    fast["receive_buffer"] = json!(4_000_000);
    // A PSH ends the merging.
    fast["push"] = json!("chunks");
    let mut client = fast.clone();
    tcp_of_client(&mut client);
    let result = run(&hop("h", direction(), direction()), json!([with_tcp("d", fast, client)]));
    let delivered = |direction: &str| {
        result.summary.hops.iter().find(|hop| hop.direction == direction).map_or(0.0, |hop| hop.delivered as f64)
    };
    delivered("up") / delivered("down")
}

#[test]
fn merged_segments_are_one_ack_decision() {
    let single = acks_per_segment(|_| {});
    assert!((0.49..0.51).contains(&single), "{single}");
    // A packet of 1052 bytes takes 8.4 us: six arrive within 50 us, unless a burst of the sender ends.
    let merged = acks_per_segment(|client| client["gro_ps"] = json!(50 * US));
    assert!((0.15..0.35).contains(&merged), "{merged}");
    assert!((0.49..0.51).contains(&acks_per_segment(|client| client["gro_ps"] = json!(5 * US))));
}
