//! TCP over IEEE 802.11: closed form of one flow, shares of stations and access point, invalid
//! plans.

use crate::common::{MS, bulk, close, go, hop, hop_direction, plan};
use serde_json::{Value, json};

/// 802.11b, long preamble, control frames at 1 Mb/s.
fn b() -> Value {
    let format = |bps: u64| json!({"bps": bps, "preamble_ps": 192_000_000, "symbol_ps": 0, "extension_ps": 0});
    json!({
        "kind": "wlan", "slot_ps": 20_000_000, "sifs_ps": 10_000_000, "difs_ps": 50_000_000, "eifs_ps": 364_000_000u64,
        "cw": [31, 1023], "data": format(11_000_000), "control": format(1_000_000), "header_bytes": 36, "rts_threshold": null,
        "short_retries": 7, "long_retries": 4, "aggregate": null, "frame_error": {"down": 0.0, "up": 0.0},
    })
}

fn over(medium: Value, duration_ms: u64, flows: Value) -> Value {
    let mut air = hop("air", hop_direction(0, 1, 100), hop_direction(0, 1, 100));
    air["medium"] = medium;
    plan(duration_ms, json!([air]), flows)
}

/// Duration of the exchange of one packet in microseconds, with the mean back-off.
fn exchange(packet: f64) -> f64 {
    50.0 + 310.0 + 192.0 + (36.0 + packet) * 8.0 / 11.0 + 10.0 + 304.0
}

#[test]
fn wlan_goodput_of_one_flow_matches_the_closed_form() {
    for (delayed, segments) in [(false, 1.0), (true, 2.0)] {
        let mut flow = bulk("d", &[0]);
        flow["tcp"]["segment"] = json!(1448);
        if delayed {
            flow["tcp"]["delayed_ack"] = json!({"segments": 2, "timer_ps": 200 * MS});
        }
        let got = go(&over(b(), 60_000, json!([flow]))).summary.flows[0].goodput_bps;
        // Sender and receiver count down their back-offs at the same time, so the exact value is
        // above.
        let form = segments * 1448.0 * 8.0 / (segments * exchange(1500.0) + exchange(52.0)) * 1e6;
        close(got, 1.03 * form, 0.07 * form);
    }
}

#[test]
fn access_point_gets_one_share_of_five_when_four_stations_upload() {
    let source = |direction: &str, client: u32| {
        let mut flow = crate::common::cbr(&format!("{direction}{client}"), &[0]);
        flow["direction"] = json!(direction);
        flow["client"] = json!(client);
        flow["workload"]["bps"] = json!(11_000_000);
        flow
    };
    let mut plan =
        over(b(), 60_000, json!([source("down", 0), source("up", 0), source("up", 1), source("up", 2), source("up", 3)]));
    plan["clients"] = json!(4);
    let result = go(&plan);
    let rates: Vec<f64> = result.summary.flows.iter().map(|flow| flow.throughput_bps.unwrap()).collect();
    let mean = rates.iter().sum::<f64>() / 5.0;
    assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.05), "{rates:?}");
}

#[test]
fn wlan_plan_is_rejected_when_no_station_could_send() {
    let cases = [
        ("/hops/0/medium/slot_ps", json!(0), "slot"),
        ("/hops/0/medium/cw", json!([31, 7]), "contention window"),
        ("/hops/0/medium/short_retries", json!(0), "retry limit"),
        ("/hops/0/medium/data/bps", json!(0), "0 b/s"),
        ("/hops/0/medium/data/bps", json!(u64::MAX), "data.bps"),
        ("/hops/0/medium/frame_error/up", json!(1.5), "frame_error.up"),
        ("/hops/0/medium/sifs_ps", json!(u64::MAX), "100 days"),
        ("/hops/0/medium/aggregate", json!({"frames": 0, "bytes": 1, "air_ps": MS}), "aggregate"),
    ];
    for (pointer, value, word) in cases {
        let mut plan = over(b(), 1000, json!([bulk("d", &[0])]));
        *plan.pointer_mut(pointer).unwrap() = value;
        let error = ackclock_sim::Plan::from_json(&plan.to_string()).expect_err(pointer).to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{pointer}: {error}");
    }
}
