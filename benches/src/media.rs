//! The cost of a medium: six overloaded stations on each medium, and the same flows over a fixed
//! rate. Stations, packet sizes and settings are those of `benches/peers/ns3_media.cc` for ns-3.

use ackclock_sim::Plan;
use serde_json::{Value, json};

pub const NAMES: [&str; 4] = ["plain-6", "wimax-6", "wlan-6", "grants-6"];

const MS: u64 = 1_000_000_000;
const STATIONS: u32 = 6;
/// Bytes of a datagram, headers included.
const PACKET: u32 = 1000;

/// A medium, its capacity for such packets in bit/s, and the seconds to simulate.
fn medium(name: &str) -> Option<(Value, u64, f64)> {
    Some(match name {
        "plain-6" => (Value::Null, 17_500_000, 200.0),
        "wimax-6" => (wimax(), 17_500_000, 200.0),
        "wlan-6" => (wlan(), 5_000_000, 500.0),
        "grants-6" => (grants(), 17_500_000, 200.0),
        _ => return None,
    })
}

/// The plan of a case, for `seconds` or the seconds of the case.
pub fn plan(name: &str, seconds: Option<f64>) -> Option<Result<Plan, String>> {
    let (medium, bps, default_seconds) = medium(name)?;
    let rate = if medium.is_null() { json!({"kind": "fixed", "bps": bps}) } else { Value::Null };
    let queue = json!({"kind": "droptail", "packets": 50, "bytes": null, "mark": null, "drop": "tail"});
    let direction = json!({
        "queue": queue, "rate": rate, "framing": "none", "outage": [], "loss": null, "duplicate": null, "delay_ps": MS,
        "jitter": null, "reorder": null,
    });
    // 120 % of the capacity.
    let each = bps * 6 / 5 / u64::from(STATIONS);
    let flow = |client: u32| {
        json!({
            "name": client.to_string(), "client": client, "direction": "down", "hops": [0], "start": {"low_ps": 0, "high_ps": MS},
            "stop_ps": null, "overhead_ps": 0, "workload": {"kind": "cbr", "bps": each, "packet": PACKET}, "tcp": null,
        })
    };
    let plan = json!({
        "seed": 1, "duration_ps": (seconds.unwrap_or(default_seconds) * 1e12) as u64, "sample_ps": 0, "clients": STATIONS,
        "measure": {"kind": "all"},
        "hops": [{"name": "air", "per_client": false, "medium": medium, "down": direction, "up": direction}],
        "captures": [], "flows": (0..STATIONS).map(flow).collect::<Vec<_>>(),
    });
    Some(Plan::from_json(&plan.to_string()).map_err(|e| e.to_string()))
}

fn both(value: &Value) -> Value {
    json!({"down": value, "up": value})
}

/// The packaged link `wimax-nist`.
fn wimax() -> Value {
    json!({
        "kind": "wimax", "fft": 256, "channel_hz": 7_000_000, "prefix": 16, "frame_ps": 5 * MS, "ttg_ps": MS / 200,
        "rtg_ps": MS / 200, "split": {"kind": "ratio", "down": 3, "up": 1}, "preamble": 3, "map_modulation": "16qam-1/2",
        "map_repetition": 1, "burst_gap": 1, "uplink_preamble": 0, "crc": true,
        "contention": {"opportunities": 5, "layout": {"kind": "request-only"}, "backoff": [2, 6], "tries": 16},
        "grant_frames": 2, "patience_frames": 20, "piggyback": true, "bundling": true, "repair": both(&Value::Null),
        "stations": [{
            "modulation": both(&json!("64qam-3/4")), "error": both(&json!(0.0)), "fading": null,
            "service": {"class": "be", "interval_frames": 0, "bytes": 0},
            "amc": {"hysteresis_db": 1.0, "delay_frames": 2, "up_offset_db": 0.0, "decade_db": 2.0}, "caps": both(&json!([])),
        }],
    })
}

/// 802.11b at 11 Mb/s, long preamble, control frames at 1 Mb/s, no RTS.
fn wlan() -> Value {
    let format = |bps: u64| json!({"bps": bps, "preamble_ps": MS / 1000 * 192, "symbol_ps": 0, "extension_ps": 0});
    json!({
        "kind": "wlan", "slot_ps": MS / 50, "sifs_ps": MS / 100, "difs_ps": MS / 20, "eifs_ps": MS / 1000 * 364,
        "cw": [31, 1023], "data": format(11_000_000), "control": format(1_000_000), "header_bytes": 36, "rts_threshold": null,
        "short_retries": 7, "long_retries": 4, "aggregate": null, "frame_error": {"down": 0.0, "up": 0.0},
    })
}

/// LTE's intervals and headers, a block error rate of 10 %.
fn grants() -> Value {
    let direction = json!({
        "bps": 20_000_000, "interval_ps": MS, "block": true, "packet_header": 4, "block_header": 3, "cap": null,
        "repair": {"error": 0.1, "attempts": 4, "delay_ps": 8 * MS, "rounds": 4, "round_delay_ps": 40 * MS},
    });
    json!({
        "kind": "grants", "down": direction, "up": direction, "ask": {"kind": "scheduled", "period_ps": 10 * MS, "first_grant": 100},
        "grant_delay_ps": 7 * MS, "piggyback": true, "many_requests": false,
    })
}
