//! Plans for tests.
#![allow(dead_code, reason = "each test file uses some of these")]

use ackclock_sim::{Plan, RunResult, run};
use serde_json::{Value, json};

pub const MS: u64 = 1_000_000_000;
pub const S: u64 = 1000 * MS;

/// One direction with a rate (0: unlimited), a one-way delay and a queue of `packets` (0:
/// unlimited).
pub fn hop_direction(bps: u64, delay_ms: u64, packets: u64) -> Value {
    json!({
        "queue": if packets > 0 { json!({"kind": "droptail", "packets": packets, "bytes": null}) } else { Value::Null },
        "rate": if bps > 0 { json!({"kind": "fixed", "bps": bps}) } else { Value::Null },
        "framing": "none", "outage": [], "loss": null, "duplicate": null,
        "delay_ps": delay_ms * MS, "jitter": null, "reorder": null,
    })
}

pub fn hop(name: &str, down: Value, up: Value) -> Value {
    json!({"name": name, "per_client": false, "medium": null, "down": down, "up": up})
}

pub fn tcp(variant: &str) -> Value {
    json!({
        "variant": variant, "recovery": "sack", "slow_start": "classic", "segment": 1000, "header": 40,
        "send_buffer": null, "receive_buffer": 1_000_000, "window_rule": "sequence", "delayed_ack": null,
        "send_tuning": null, "receive_tuning": null,
        "initial_window": 2, "initial_ssthresh": null, "rto_initial_ps": S, "rto_min_ps": 200 * MS, "rto_max_ps": 60 * S,
        "rto_tick_ps": MS, "rto_floor": "timeout", "sack": true, "timestamps": true, "timestamp_bytes": 12,
        "sack_base_bytes": 4, "sack_block_bytes": 8, "syn_option_bytes": 20, "window_scaling": true, "ecn": false,
        "pacing": false, "byte_counting": 2, "dupack_threshold": 3, "newreno_exit": "flight", "limited_transmit": false,
        "immediate_ack_on_fill": true,
    })
}

/// A flow of client 0 over these hops, from 0 to the end of the run.
pub fn flow(name: &str, hops: &[usize], workload: Value, tcp: Value) -> Value {
    json!({
        "name": name, "client": 0, "direction": "down", "hops": hops, "start": {"low_ps": 0, "high_ps": 0}, "stop_ps": null,
        "overhead_ps": 0, "workload": workload, "tcp": tcp,
    })
}

/// 1000-byte packets every 10 ms: 972 bytes of payload each.
pub fn cbr(name: &str, hops: &[usize]) -> Value {
    flow(name, hops, json!({"kind": "cbr", "bps": 800_000, "packet": 1000}), Value::Null)
}

pub fn bulk(name: &str, hops: &[usize]) -> Value {
    flow(name, hops, json!({"kind": "bulk"}), tcp("reno"))
}

pub fn plan(duration_ms: u64, hops: Value, flows: Value) -> Value {
    json!({
        "seed": 1, "duration_ps": duration_ms * MS, "sample_ps": 100 * MS, "clients": 1, "measure": {"kind": "all"},
        "hops": hops, "flows": flows, "captures": [],
    })
}

/// Reads, checks and runs a plan. The run checks packet conservation.
pub fn go(plan: &Value) -> RunResult {
    let plan = Plan::from_json(&plan.to_string()).expect("a good plan");
    run(&plan).expect("a good run")
}

#[track_caller]
pub fn close(got: Option<f64>, want: f64, tolerance: f64) {
    let got = got.expect("a figure");
    assert!((got - want).abs() <= tolerance, "got {got}, want {want} within {tolerance}");
}
