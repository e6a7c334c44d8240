//! Links on which both drivers must agree: each kind of element that may delay, drop, change or
//! copy a packet.

use super::assert_parity;
use serde_json::{Value, json};

const MS: u64 = 1_000_000_000;
const S: u64 = 1000 * MS;
/// No multiple of another interval: simultaneous events do not occur by design.
const DELAY: u64 = 7 * MS + 3_000_017;

fn direction(rate: &Value, queue: &Value) -> Value {
    json!({"queue": queue, "rate": rate, "framing": "none", "outage": [], "loss": null, "duplicate": null, "delay_ps": DELAY,
        "jitter": null, "reorder": null})
}

fn fixed(bps: u64) -> Value {
    json!({"kind": "fixed", "bps": bps})
}

fn droptail(packets: u64) -> Value {
    json!({"kind": "droptail", "packets": packets, "bytes": null})
}

fn hop(down: Value, up: Value) -> Value {
    json!({"name": "hop", "per_client": false, "medium": null, "down": down, "up": up})
}

fn medium(medium: Value) -> Value {
    let mut hop = hop(direction(&Value::Null, &droptail(30)), direction(&Value::Null, &droptail(30)));
    hop["medium"] = medium;
    hop
}

fn tcp() -> Value {
    json!({"variant": "reno", "recovery": "sack", "slow_start": "classic", "segment": 1448, "header": 40, "send_buffer": null,
        "receive_buffer": 400_000, "window_rule": "sequence", "delayed_ack": null, "send_tuning": null, "receive_tuning": null,
        "initial_window": 4, "initial_ssthresh": null, "rto_initial_ps": S, "rto_min_ps": 200 * MS, "rto_max_ps": 60 * S,
        "rto_tick_ps": MS, "rto_floor": "timeout", "sack": true, "timestamps": true, "timestamp_bytes": 12, "sack_base_bytes": 4,
        "sack_block_bytes": 8, "syn_option_bytes": 20, "window_scaling": true, "ecn": true, "pacing": false, "byte_counting": 2,
        "dupack_threshold": 3, "newreno_exit": "flight", "limited_transmit": false, "immediate_ack_on_fill": true})
}

fn flow(name: &str, client: u32, direction: &str, workload: Value, tcp: Value) -> Value {
    json!({"name": name, "client": client, "direction": direction, "hops": [0], "start": {"low_ps": 1_234_567, "high_ps": 1_234_567},
        "stop_ps": null, "overhead_ps": 0, "workload": workload, "tcp": tcp})
}

/// A download whose endpoints become real hosts, and two simulated stations with on-off datagram
/// traffic of rate `beside`.
fn plan(hop: Value, beside: u64) -> Value {
    let mut flows = vec![flow("live", 0, "down", json!({"kind": "bulk"}), tcp())];
    if beside > 0 {
        for (client, direction) in [(1, "down"), (2, "up")] {
            let mean = 50 * MS + 77_777;
            let workload = json!({"kind": "onoff", "bps": beside, "packet": 601, "on_ps": mean, "off_ps": mean,
                "distribution": "exponential", "shape": 1.5});
            flows.push(flow(&format!("beside{client}"), client, direction, workload, Value::Null));
        }
    }
    json!({"seed": 5, "duration_ps": 6 * S, "sample_ps": 100 * MS, "clients": 3, "measure": {"kind": "all"}, "hops": [hop],
        "flows": flows, "captures": []})
}

/// The download over two hops.
fn in_series(first: Value, mut second: Value) -> Value {
    let mut plan = plan(first, 0);
    second["name"] = json!("second");
    plan["hops"].as_array_mut().unwrap().push(second);
    plan["flows"][0]["hops"] = json!([0, 1]);
    plan
}

/// Number of rows with a fate.
fn count(fates: &[String], fate: &str) -> usize {
    fates.iter().filter(|row| row.split(',').nth(4) == Some(fate)).count()
}

#[test]
fn drivers_agree_on_a_fixed_rate_with_a_short_queue() {
    let shaped = || direction(&fixed(8_000_000), &droptail(20));
    let fates = assert_parity("fixed", &plan(hop(shaped(), shaped()), 2_000_000));
    assert!(count(&fates, "queue_full") > 10);
}

#[test]
fn drivers_agree_on_two_fixed_rates_in_series() {
    let first = hop(direction(&fixed(20_000_000), &droptail(50)), direction(&fixed(20_000_000), &droptail(50)));
    let second = hop(direction(&fixed(5_000_000), &droptail(15)), direction(&fixed(1_000_000), &droptail(15)));
    let fates = assert_parity("wires", &in_series(first, second));
    assert!(fates.iter().any(|row| row.contains("queue_full") && row.ends_with(",1,")), "the second hop drops");
}

#[test]
fn drivers_agree_on_policers_and_shapers() {
    let mut down = direction(&fixed(20_000_000), &droptail(50));
    down["policer"] = json!({"bps": 5_000_000, "burst": 30_000,
        "framing": {"linklayer": {"cells": "ptm", "overhead": 30, "mpu": 0}}});
    let mut up = direction(&fixed(20_000_000), &droptail(50));
    up["shaper"] = json!({"bps": 300_000, "burst": 3044, "peak_bps": 2_000_000, "queue": droptail(20)});
    let fates = assert_parity("policer", &plan(hop(down, up), 400_000));
    assert!(count(&fates, "policed") > 10 && count(&fates, "queue_full") > 3);
    let codel = json!({"kind": "codel", "packets": 1000, "bytes": null, "target_ps": 5 * MS, "interval_ps": 100 * MS,
        "mtu": 1514, "signal": "mark"});
    for burst in [Value::Null, json!(15_000)] {
        let mut down = direction(&fixed(20_000_000), &droptail(50));
        down["policer"] = json!({"bps": 15_000_000, "burst": 9_000, "exceed": "ce"});
        down["shaper"] = json!({"bps": 6_000_000, "burst": burst, "peak_bps": null, "queue": codel});
        let fates = assert_parity("shaper", &plan(hop(down, direction(&fixed(1_000_000), &droptail(20))), 1_000_000));
        assert!(fates.iter().filter(|row| !row.ends_with(',')).count() > 3, "nothing is marked");
    }
}

/// A hop behind one with a rate, so that no two packets reach it at one instant.
fn behind_a_rate(down: Value, up: Value) -> Value {
    in_series(hop(direction(&fixed(20_000_000), &droptail(50)), up.clone()), hop(down, up))
}

#[test]
fn drivers_agree_on_an_mtu_and_a_tunnel() {
    let up = direction(&fixed(1_000_000), &droptail(20));
    let down = direction(&fixed(8_000_000), &droptail(20));
    for icmp in [true, false] {
        let mut small = down.clone();
        small["mtu"] = json!({"ip": 1100, "icmp": icmp, "clamp_mss": false});
        let mut plan = behind_a_rate(small, up.clone());
        // Without reports the sender finds after some timeouts that 1024 bytes pass.
        plan["flows"][0]["tcp"]["mtu_probing"] = json!(if icmp { "off" } else { "black-hole" });
        plan["duration_ps"] = json!(30 * S);
        assert!(count(&assert_parity("mtu", &plan), "mtu") > 3);
    }
    let mut tunneled = behind_a_rate(down, up);
    tunneled["tunnels"] = json!([{"over": [1], "kind": "wireguard", "mtu": 1200, "df": false}]);
    assert!(count(&assert_parity("tunnel", &tunneled), "queue_full") > 3);
}

#[test]
fn drivers_agree_on_a_scheduled_rate() {
    let steps = json!([[0, 8_000_000], [400 * MS, 0], [450 * MS, 3_000_000]]);
    for linear in [false, true] {
        let rate = json!({"kind": "schedule", "steps": steps, "repeat_ps": S, "linear": linear});
        let fates =
            assert_parity("schedule", &plan(hop(direction(&rate, &droptail(25)), direction(&rate, &droptail(25))), 300_000));
        assert!(count(&fates, "queue_full") > 3);
    }
}

#[test]
fn drivers_agree_on_scheduled_delays_and_losses() {
    let mean = json!({"steps": [[0, 0.0], [S, 0.05]], "repeat_ps": 2 * S});
    let losses = [
        json!({"kind": "bernoulli-schedule", "steps": mean["steps"], "repeat_ps": 2 * S, "linear": true}),
        json!({"kind": "gilbert-elliott-schedule", "bad_ps": 7 * MS, "mean": mean}),
    ];
    for loss in losses {
        let mut down = direction(&fixed(8_000_000), &droptail(25));
        down["delay_schedule"] = json!({"steps": [[0, 20 * MS + 7], [700 * MS, 5 * MS]], "repeat_ps": 1500 * MS});
        down["loss"] = loss;
        let mut up = direction(&fixed(2_000_000), &droptail(25));
        up["delay_schedule"] = json!({"steps": [[0, MS], [500 * MS, 30 * MS]], "repeat_ps": S, "linear": true});
        let fates = assert_parity("schedules", &plan(hop(down, up), 300_000));
        assert!(count(&fates, "loss") > 10);
    }
}

#[test]
fn drivers_agree_on_slots() {
    let slots = |bps: Value, grants: Value| {
        json!({"kind": "slots", "every_ps": S, "first_ps": 700 * MS, "bps": bps, "correlation": 0.5, "delay_ps": [0, 3 * MS, 11 * MS],
            "lost_ps": 20 * MS, "held_ps": 60 * MS, "grants": grants})
    };
    let grants = json!({"frame_ps": 1_333_333_333u64, "cycle": [49, 55], "every": 5, "pause": 15, "pauses": [1, 2]});
    let down = direction(&slots(json!([4_000_000, 8_000_000]), Value::Null), &droptail(40));
    let up = direction(&slots(json!([1_000_000, 2_000_000, 6_000_000]), grants), &droptail(40));
    let fates = assert_parity("slots", &plan(hop(down, up), 300_000));
    assert!(count(&fates, "outage") > 3 && count(&fates, "delivered") > 1000);
}

#[test]
fn drivers_agree_on_a_recorded_rate() {
    let times: Vec<u64> = (1..400).map(|n| n * n % 983 + n * 2).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    let rate = json!({"kind": "trace", "times_ms": times});
    let fates = assert_parity("recorded", &plan(hop(direction(&rate, &droptail(25)), direction(&rate, &droptail(25))), 300_000));
    assert!(count(&fates, "delivered") > 100);
}

#[test]
fn drivers_agree_on_random_and_bursty_loss_with_jitter_duplication_and_reordering() {
    let mut down = direction(&fixed(10_000_000), &droptail(40));
    down["loss"] =
        json!({"kind": "gilbert-elliott", "good_ps": 400 * MS, "bad_ps": 10 * MS, "loss_good": 0.001, "loss_bad": 0.5});
    down["jitter"] = json!({"kind": "exponential", "mean_ps": 2 * MS, "in_order": false});
    down["reorder"] = json!({"mean": 0.01, "delay_ps": 5 * MS + 1});
    let mut up = direction(&fixed(1_000_000), &droptail(40));
    up["loss"] = json!({"kind": "bernoulli", "mean": 0.02});
    up["duplicate"] = json!({"mean": 0.01});
    let fates = assert_parity("loss", &plan(hop(down, up), 500_000));
    assert!(count(&fates, "loss") > 20);
}

#[test]
fn drivers_agree_on_aqm_with_ecn_marks() {
    let queues = [
        json!({"kind": "codel", "packets": 1000, "bytes": null, "target_ps": 5 * MS, "interval_ps": 100 * MS, "mtu": 1514, "signal": "mark"}),
        json!({"kind": "red", "packets": 50, "bytes": null, "amount": "packets", "min": 5.0, "max": 15.0, "weight": 0.01, "max_p": 0.1,
            "gentle": true, "signal": "drop", "only": "all", "mean_packet": 1000}),
    ];
    for (name, queue) in ["codel", "red"].iter().zip(&queues) {
        let fates = assert_parity(
            name,
            &plan(hop(direction(&fixed(6_000_000), queue), direction(&fixed(600_000), &droptail(20))), 1_000_000),
        );
        let marked = fates.iter().filter(|row| !row.ends_with(',')).count();
        assert!(marked + count(&fates, "early") > 3, "{name} neither marked nor dropped");
    }
}

#[test]
fn drivers_agree_on_ack_filtering() {
    let mut up = direction(&fixed(100_000), &droptail(20));
    up["acks"] = json!({"first": true, "drop": "tail", "filter": {"keep": 1, "occupancy": 0, "probability": 1.0, "survivor": "tail",
        "window": true, "sack": "new", "signs": true, "duplicates": "keep"}});
    up["reconstruct"] = json!({"every": 3000, "within_ps": 100 * MS});
    let fates = assert_parity("filter", &plan(hop(direction(&fixed(10_000_000), &droptail(100)), up), 0));
    assert!(count(&fates, "ack_filter") > 100);
}

#[test]
fn drivers_agree_on_an_802_16_cell_with_other_stations() {
    let both_directions = |value: Value| json!({"down": value, "up": value});
    let cell = json!({"kind": "wimax", "fft": 256, "channel_hz": 7_000_000, "prefix": 16, "frame_ps": 5 * MS, "ttg_ps": MS / 200,
        "rtg_ps": MS / 200, "split": {"kind": "ratio", "down": 3, "up": 1}, "preamble": 3, "map_modulation": "16qam-1/2",
        "map_repetition": 1, "burst_gap": 1, "uplink_preamble": 0, "crc": true,
        "contention": {"opportunities": 5, "layout": {"kind": "request-only"}, "backoff": [2, 6], "tries": 16},
        "grant_frames": 2, "patience_frames": 20, "piggyback": true, "bundling": true,
        "repair": both_directions(json!({"kind": "harq", "attempts": 4, "feedback_frames": 2})),
        "stations": [{"modulation": both_directions(json!("64qam-3/4")), "error": both_directions(json!(0.05)), "fading": null,
            "service": {"class": "be", "interval_frames": 0, "bytes": 0},
            "amc": {"hysteresis_db": 1.0, "delay_frames": 2, "up_offset_db": 0.0, "decade_db": 2.0}, "caps": both_directions(json!([]))}]});
    let fates = assert_parity("wimax", &plan(medium(cell), 1_000_000));
    assert!(count(&fates, "delivered") > 1000);
}

#[test]
fn drivers_agree_on_a_packet_radio_of_two_hops() {
    let radio = json!({"kind": "packet-radio", "hops": 2, "bps": 100_000, "latency_ps": 10 * MS, "to_receive_ps": 11_125_000_000u64,
        "to_send_ps": 13_250_000_000u64, "rts_bytes": 40, "cts_bytes": 40, "header_bytes": 16, "ack_bytes": 16,
        "backoff_base_ps": 20 * MS, "backoff_cap_ps": 120 * MS, "defer_by_backoff": true, "nack_cts": false, "piggyback": true,
        "ack_timeout_ps": 100 * MS, "tries": 8, "relay_packets": 10, "frame_error": {"down": 0.05, "up": 0.05}});
    let mut plan = plan(medium(radio), 0);
    plan["duration_ps"] = json!(60 * S);
    plan["clients"] = json!(1);
    assert_parity("radio", &plan);
    for hop in plan["hops"].as_array_mut().expect("hops") {
        if hop["medium"]["kind"] == "packet-radio" {
            hop["medium"]["mac"] = json!("ns2-multihop");
            hop["medium"]["frame_error"] = json!({"down": 0.0, "up": 0.0});
        }
    }
    assert_parity("multihop radio", &plan);
}

#[test]
fn drivers_agree_on_a_wireless_lan_with_other_stations() {
    let format = |bps: u64| json!({"bps": bps, "preamble_ps": 192_000_000, "symbol_ps": 0, "extension_ps": 0});
    let lan = json!({"kind": "wlan", "slot_ps": 20_000_000, "sifs_ps": 10_000_000, "difs_ps": 50_000_000, "eifs_ps": 364_000_000u64,
        "cw": [31, 1023], "data": format(11_000_000), "control": format(1_000_000), "header_bytes": 36, "rts_threshold": null,
        "short_retries": 7, "long_retries": 4, "aggregate": null, "frame_error": {"down": 0.02, "up": 0.02}});
    let fates = assert_parity("wlan", &plan(medium(lan), 1_000_000));
    assert!(count(&fates, "delivered") > 1000);
}

#[test]
fn drivers_agree_on_a_shaper_whose_rate_is_controlled() {
    let rules = json!({
        "owd_delta_delay_thr_ps": 15 * MS, "avg_owd_delta_max_adjust_up_thr_ps": 5 * MS,
        "avg_owd_delta_max_adjust_down_thr_ps": 30 * MS, "bufferbloat_detection_window": 6, "bufferbloat_detection_thr": 3,
        "alpha_baseline_increase": 0.001, "alpha_baseline_decrease": 0.9,
        "shaper_rate_min_adjust_down_bufferbloat": 0.99, "shaper_rate_max_adjust_down_bufferbloat": 0.75,
        "shaper_rate_min_adjust_up_load_high": 1.0, "shaper_rate_max_adjust_up_load_high": 1.04,
        "shaper_rate_adjust_down_load_low": 0.99, "shaper_rate_adjust_up_load_low": 1.01, "high_load_thr": 0.75,
        "bufferbloat_refractory_period_ps": 300 * MS, "decay_refractory_period_ps": S,
    });
    let controlled = json!({"controller": {"cake-autorate": rules}, "min_bps": 1_000_000, "max_bps": 20_000_000,
        "monitor_ps": 200 * MS + 1_003, "pings": {"pingers": 6, "interval_ps": 300 * MS + 6_006, "method": "tsping"}});
    let mut down = direction(&fixed(6_000_000), &droptail(60));
    down["shaper"] = json!({"bps": 4_000_000, "burst": null, "peak_bps": null, "queue": droptail(30), "autorate": controlled});
    let folder = std::env::temp_dir().join(format!("ackclock-parity-{}-rates", std::process::id()));
    let plan = plan(hop(down, direction(&fixed(2_000_000), &droptail(30))), 0);
    super::simulate(&plan, &folder);
    let samples = std::fs::read_to_string(folder.join("hops.csv")).expect("samples");
    std::fs::remove_dir_all(&folder).expect("a folder");
    let rates: std::collections::BTreeSet<&str> =
        samples.lines().skip(1).filter_map(|row| row.rsplit(',').next()).filter(|rate| !rate.is_empty()).collect();
    assert!(rates.len() > 5, "the rate hardly changes: {rates:?}");
    assert_parity("autorate", &plan);
}
