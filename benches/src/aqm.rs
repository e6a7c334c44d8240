//! The cost of loss recovery and of active queue management: two downloads of Linux 6 hosts share
//! CoDel's queue before 20 Mb/s and lose one packet in a thousand behind it.

use ackclock_sim::Plan;
use serde_json::{Value, json};

pub const NAMES: [&str; 1] = ["codel-2"];

const MS: u64 = 1_000_000_000;
const SECONDS: f64 = 200.0;

/// The plan of a case, for `seconds` or the seconds of the case.
pub fn plan(name: &str, seconds: Option<f64>) -> Option<Result<Plan, String>> {
    if !NAMES.contains(&name) {
        return None;
    }
    Some(serde_json::from_str(LINUX_6).map_err(|e| e.to_string()).and_then(|host| plan_of(&host, seconds.unwrap_or(SECONDS))))
}

fn plan_of(host: &Value, seconds: f64) -> Result<Plan, String> {
    let codel = json!({
        "kind": "codel", "packets": 1000, "bytes": null, "target_ps": 5 * MS, "interval_ps": 100 * MS, "mtu": 1514,
        "signal": "mark",
    });
    let direction = |loss: Value| {
        json!({
            "queue": codel, "rate": {"kind": "fixed", "bps": 20_000_000}, "framing": "none", "outage": [], "loss": loss,
            "duplicate": null, "delay_ps": 10 * MS, "jitter": null, "reorder": null,
        })
    };
    let flow = |client: u32| {
        json!({
            "name": client.to_string(), "client": client, "direction": "down", "hops": [0], "start": {"low_ps": 0, "high_ps": MS},
            "stop_ps": null, "overhead_ps": 0, "workload": {"kind": "bulk"}, "tcp": host,
        })
    };
    let plan = json!({
        "seed": 1, "duration_ps": (seconds * 1e12) as u64, "sample_ps": 0, "clients": 2,
        "measure": {"kind": "all"},
        "hops": [{
            "name": "line", "per_client": false, "medium": null,
            "down": direction(json!({"kind": "bernoulli", "mean": 0.001})), "up": direction(Value::Null),
        }],
        "captures": [], "flows": [flow(0), flow(1)],
    });
    Plan::from_json(&plan.to_string()).map_err(|e| e.to_string())
}

/// The packaged host `linux-6`, with segments of [`crate::cases::SEGMENT`] bytes.
const LINUX_6: &str = r#"{
    "variant": "cubic", "recovery": "rack", "slow_start": "hystart", "segment": 1024, "header": 40,
    "initial_window": 10, "initial_ssthresh": null, "first_climb": 0.05, "byte_counting": 65535,
    "dupack_threshold": 3, "limited_transmit": true, "immediate_ack_on_fill": true, "newreno_exit": "flight",
    "delayed_ack": {"push": true, "segments": 2, "timer_ps": 40000000000}, "quick_acks": 16, "ping_pong": true,
    "sack": true, "dsack": true, "sack_rtt": true, "sack_base_bytes": 4, "sack_block_bytes": 8,
    "sack_compression": {"longest_ps": 1000000000, "segments": 44, "share": 0.05},
    "undo": true, "eifel": true, "frto": "sack", "fine_timer": false, "idle_restart": "decay",
    "window_validation": "rfc2861", "window_rule": "sequence", "window_scaling": true, "ecn": false,
    "timestamps": true, "timestamp_bytes": 12, "syn_option_bytes": 20, "metrics_cache": "rtt",
    "rto_initial_ps": 1000000000000, "rto_min_ps": 200000000000, "rto_max_ps": 120000000000000,
    "rto_tick_ps": 1000000000, "rto_floor": "variance", "rto_restart": "head-and-sack", "pacing": false,
    "push": "chunks", "tso": {"most": 65536, "segments": 2, "time_ps": 1000000000},
    "send_buffer": null, "send_tuning": {"limit": 4194304, "overhead": 856, "start": 87040},
    "receive_buffer": 6291456,
    "receive_tuning": {"growth": "near", "opening": 65535, "overhead": null, "share": 0.625, "start": 131072}
}"#;
