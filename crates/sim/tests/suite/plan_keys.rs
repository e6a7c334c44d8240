//! The keys of a plan's impairments and media, and the messages of their checks.

use crate::common::{MS, cbr, hop, hop_direction, plan};
use ackclock_sim::Plan;
use serde_json::{Value, json};

/// A direction with every impairment; each `kind` of loss and jitter stands in one of the hops of
/// [`impaired`].
fn direction(loss: Value, jitter: Value, framing: Value) -> Value {
    let mut direction = hop_direction(1_000_000, 1, 10);
    direction["framing"] = framing;
    direction["mtu"] = json!({"ip": 1500, "icmp": true, "clamp_mss": true});
    direction["policer"] = json!({"bps": 1_000_000, "burst": 9000, "exceed": "ce", "framing": "cslip"});
    direction["shaper"] = json!({"bps": 1_000_000, "burst": 9000, "peak_bps": null, "framing": "slip",
        "queue": {"kind": "droptail", "packets": 5, "bytes": null}});
    direction["outage"] = json!([{"start_ps": 1, "end_ps": 5}, {"start_ps": 5, "end_ps": 9}]);
    direction["loss"] = loss;
    direction["duplicate"] = json!({"mean": 0.1});
    direction["jitter"] = jitter;
    direction["reorder"] = json!({"mean": 0.1, "delay_ps": MS});
    direction["handover"] = json!({"every_ps": 9 * MS, "first_ps": MS, "gap_ps": 8 * MS, "loss": 0.5, "low_ps": 1, "high_ps": 2});
    direction
}

fn ar1() -> Value {
    json!({"kind": "ar1", "mean_db": 20.0, "sd_db": 3.0, "correlation_ps": 100 * MS})
}

fn markov() -> Value {
    json!({"kind": "markov", "levels": [{"db": 5.0, "stay_ps": MS}, {"db": 20.0, "stay_ps": 2 * MS}]})
}

fn impaired() -> Value {
    let signal = |fading: Value| json!({"kind": "signal", "fading": fading, "step_ps": MS, "points": [[5.0, 1.0], [15.0, 0.0]]});
    let hops = [
        (
            json!({"kind": "bernoulli", "mean": 0.1}),
            json!({"kind": "uniform", "low_ps": 1, "high_ps": 2, "in_order": true}),
            json!("slip"),
        ),
        (
            json!({"kind": "gilbert-elliott", "good_ps": 9, "bad_ps": 1, "loss_good": 0.0, "loss_bad": 1.0}),
            json!({"kind": "normal", "mean_ps": 1, "sd_ps": 2, "in_order": false}),
            json!("cslip"),
        ),
        (signal(ar1()), json!({"kind": "exponential", "mean_ps": 1, "in_order": true}), json!("slip")),
        (signal(markov()), json!({"kind": "pareto", "mean_ps": 1, "shape": 1.5, "in_order": true}), json!("none")),
        (json!({"kind": "list", "packets": [3, 1]}), Value::Null, json!("none")),
    ];
    let hops: Vec<Value> = (0..)
        .zip(hops)
        .map(|(i, (loss, jitter, framing))| {
            hop(&format!("h{i}"), direction(loss, jitter, framing), hop_direction(1_000_000, 1, 10))
        })
        .collect();
    plan(1000, json!(hops), json!([cbr("x", &[0])]))
}

fn with_medium(medium: Value) -> Value {
    let mut hop = hop("air", hop_direction(0, 1, 10), hop_direction(0, 1, 10));
    hop["medium"] = medium;
    plan(1000, json!([hop]), json!([cbr("x", &[0])]))
}

fn both(value: Value) -> Value {
    json!({"down": value, "up": value})
}

fn half_duplex() -> Value {
    let mut plan = with_medium(json!({"kind": "half-duplex", "bps": 1_000_000, "turnaround_ps": MS}));
    plan["hops"][0]["roaming"] = json!({
        "every_ps": 1000 * MS, "first_ps": MS, "spread_ps": 0, "gap_ps": MS, "forwards": true,
        "cells": [{"speed": 1.0, "delay_ps": 0}, {"speed": 0.5, "delay_ps": MS}],
    });
    plan
}

fn station(fading: Value, caps: Value) -> Value {
    let loss = if fading.is_null() { Value::Null } else { json!({"down": [[5.0, 1.0], [15.0, 0.0]], "up": null}) };
    json!({
        "modulation": both(json!("16qam-1/2")), "error": both(json!(0.1)), "fading": fading, "signal_loss": loss,
        "service": {"class": "be", "interval_frames": 0, "bytes": 0}, "caps": {"down": caps, "up": []},
        "amc": {"hysteresis_db": 1.0, "delay_frames": 2, "up_offset_db": 0.0, "decade_db": 2.0},
    })
}

fn ofdm() -> Value {
    let cap =
        |buffer: Value| json!({"traffic": "tcp", "low_bps": 1, "high_bps": 2, "every_ps": MS, "burst": 3000, "buffer": buffer});
    with_medium(json!({
        "kind": "wimax", "fft": 256, "channel_hz": 7_000_000, "prefix": 16, "frame_ps": 5 * MS, "ttg_ps": MS / 200,
        "rtg_ps": MS / 200, "split": {"kind": "ratio", "down": 1, "up": 1}, "preamble": 3, "map_modulation": "16qam-1/2",
        "map_repetition": 1, "burst_gap": 1, "uplink_preamble": 0, "crc": true,
        "contention": {"opportunities": 5, "layout": {"kind": "whole", "modulation": "64qam-3/4"}, "backoff": [2, 6], "tries": 16},
        "grant_frames": 2, "patience_frames": 20, "piggyback": true, "least_grant_bytes": 0, "bundling": true,
        "repair": {
            "down": {"kind": "harq", "attempts": 4, "feedback_frames": 2},
            "up": {"kind": "arq", "block": 64, "window": 1024, "timer_frames": 4, "attempts": 8},
        },
        "stations": [station(ar1(), json!([cap(Value::Null)])), station(markov(), json!([cap(json!(9000))])), station(Value::Null, json!([]))],
        "connections": [{"traffic": "udp", "service": {"class": "ugs", "interval_frames": 4, "bytes": 250}}],
    }))
}

fn packet_radio() -> Value {
    with_medium(json!({
        "kind": "packet-radio", "hops": 2, "bps": 100_000, "latency_ps": MS, "to_receive_ps": MS, "to_send_ps": MS,
        "rts_bytes": 40, "cts_bytes": 40, "header_bytes": 16, "ack_bytes": 16, "backoff_base_ps": MS, "backoff_cap_ps": 9 * MS,
        "defer_by_backoff": true, "nack_cts": false, "piggyback": true, "ack_timeout_ps": MS, "tries": 8, "relay_packets": 10,
        "frame_error": both(json!(0.1)),
    }))
}

fn wlan() -> Value {
    let format = json!({"bps": 11_000_000, "preamble_ps": MS, "symbol_ps": 0, "extension_ps": 0});
    with_medium(json!({
        "kind": "wlan", "slot_ps": MS, "sifs_ps": MS, "difs_ps": MS, "eifs_ps": MS, "cw": [31, 1023], "data": format, "control": format,
        "header_bytes": 36, "rts_threshold": 500, "short_retries": 7, "long_retries": 4,
        "aggregate": {"frames": 64, "bytes": 65_535, "air_ps": MS}, "frame_error": both(json!(0.0)),
    }))
}

fn grants(request: Value) -> Value {
    let direction = json!({
        "bps": 10_000_000, "interval_ps": MS, "block": false, "packet_header": 28, "block_header": 8,
        "cap": {"bps": 1_000_000, "burst": 65_536},
        "repair": {"error": 0.1, "attempts": 4, "delay_ps": MS, "rounds": 3, "round_delay_ps": MS},
    });
    with_medium(json!({
        "kind": "grants", "down": direction, "up": direction, "ask": request, "grant_delay_ps": 4 * MS, "piggyback": true,
        "many_requests": true,
    }))
}

fn contention() -> Value {
    grants(json!({"kind": "contention", "opportunities": 4, "backoff": [3, 10], "tries": 16}))
}

fn scheduled() -> Value {
    grants(json!({"kind": "scheduled", "period_ps": MS, "first_grant": 100}))
}

fn plans() -> Vec<Value> {
    vec![impaired(), half_duplex(), ofdm(), packet_radio(), wlan(), contention(), scheduled()]
}

/// Pointers of all objects in a value.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(at.to_owned());
            members.iter().for_each(|(key, value)| objects(value, &format!("{at}/{key}"), found));
        }
        Value::Array(values) => values.iter().enumerate().for_each(|(i, value)| objects(value, &format!("{at}/{i}"), found)),
        _ => {}
    }
}

fn read(plan: &Value) -> Result<Plan, String> {
    Plan::from_json(&plan.to_string()).map_err(|error| error.to_string())
}

#[test]
fn every_object_of_a_plan_refuses_an_unknown_key() {
    for plan in plans() {
        read(&plan).unwrap_or_else(|error| panic!("{error}\n{plan}"));
        let mut found = Vec::new();
        objects(&plan, "", &mut found);
        for pointer in found {
            let mut changed = plan.clone();
            changed.pointer_mut(&pointer).unwrap()["surprise"] = json!(1);
            let error = read(&changed).err().unwrap_or_else(|| panic!("{pointer} takes a surprise: {plan}"));
            assert!(error.contains("surprise"), "{pointer}: {error}");
        }
    }
}

/// Keys that may be absent: each then has the value null, false or 0.
const OPTIONAL: [&str; 19] = [
    "mtu",
    "clamp_mss",
    "policer",
    "shaper",
    "exceed",
    "policer/framing",
    "shaper/framing",
    "handover",
    "roaming",
    "signal_loss",
    "least_grant_bytes",
    "connections",
    "rts_threshold",
    "aggregate",
    "shared_queue",
    "signal_loss/down",
    "signal_loss/up",
    "repair/down",
    "repair/up",
];

#[test]
fn every_key_of_a_plan_is_required_unless_documented() {
    for plan in plans() {
        let mut found = Vec::new();
        objects(&plan, "", &mut found);
        for pointer in found {
            let keys: Vec<String> = plan.pointer(&pointer).unwrap().as_object().unwrap().keys().cloned().collect();
            for key in keys {
                let place = format!("{pointer}/{key}");
                if OPTIONAL.iter().any(|optional| place.ends_with(&format!("/{optional}"))) {
                    continue;
                }
                let mut changed = plan.clone();
                changed.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(&key);
                let error = read(&changed).err().unwrap_or_else(|| panic!("{place} may be absent: {plan}"));
                assert!(error.contains(&key), "{place}: {error}");
            }
        }
    }
}

/// Sets a value by its pointer, reads the plan, and returns the message.
fn message(mut plan: Value, pointer: &str, value: Value) -> String {
    *plan.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
    read(&plan).err().unwrap_or_else(|| panic!("{pointer} is accepted"))
}

#[test]
fn check_of_an_impairment_names_place_key_and_limit() {
    let long = u64::MAX / 2;
    let limit = "at most 8640000000000000000 (100 days) is possible";
    for (pointer, value, expected) in [
        ("0/down/delay_ps", json!(long), format!("delay_ps is {long}: {limit}")),
        ("0/down/loss/mean", json!(1.5), "loss.mean is 1.5: it must lie between 0 and 1".into()),
        ("0/down/jitter/low_ps", json!(3), "jitter.low_ps 3 is above jitter.high_ps 2".into()),
        ("0/down/duplicate/mean", json!(-0.5), "duplicate.mean is -0.5: it must lie between 0 and 1".into()),
        ("0/down/reorder/delay_ps", json!(long), format!("reorder.delay_ps is {long}: {limit}")),
        ("0/down/handover/gap_ps", json!(9 * MS), "handover.gap_ps is not shorter than handover.every_ps".into()),
        (
            "0/down/outage/1/start_ps",
            json!(4),
            "an outage from 4 to 9 ps: outages must be in order without overlap, start_ps below end_ps".into(),
        ),
        ("1/down/loss/bad_ps", json!(0), "loss.good_ps and loss.bad_ps must be above 0".into()),
        ("1/down/jitter/sd_ps", json!(long), format!("jitter.sd_ps is {long}: {limit}")),
        ("2/down/loss/step_ps", json!(0), "loss.step_ps is 0: it must be above 0".into()),
        ("2/down/loss/points/0/0", json!(900), "900 dB: -200 to 200 are possible".into()),
        ("2/down/loss/fading/sd_db", json!(-1), "a fading channel's sd_db must be at least 0, its correlation_ps above 0".into()),
        (
            "3/down/loss/fading/levels",
            json!([]),
            "a channel of levels needs at least one level, each with stay_ps above 0".into(),
        ),
        ("3/down/jitter/shape", json!(1), "a Pareto shape of 1: it must be above 1 for a finite mean".into()),
        ("4/down/loss/packets/0", json!(0), "loss.packets has 0: packets are numbered from 1".into()),
    ] {
        let hop = &pointer[..1];
        let message = message(impaired(), &format!("/hops/{pointer}"), value);
        assert_eq!(message, format!("hop 'h{hop}' down: {expected}"), "{pointer}");
    }
}

/// A plan, what is set in its hop, and the message.
type Case = (fn() -> Value, &'static str, Value, String);

#[test]
fn check_of_a_medium_names_place_key_and_limit() {
    let long = u64::MAX / 2;
    let limit = "at most 8640000000000000000 (100 days) is possible";
    let too_long = |key: &str| format!("{key} is {long}: {limit}");
    let cases: [Case; 35] = [
        (half_duplex, "medium/turnaround_ps", json!(long), too_long("turnaround_ps")),
        (half_duplex, "roaming/every_ps", json!(1), "cells are changed at most once in a millisecond".into()),
        (half_duplex, "roaming/gap_ps", json!(1000 * MS), "the gap is not shorter than the time between changes".into()),
        (half_duplex, "roaming/cells", json!([]), "no cell is listed".into()),
        (half_duplex, "roaming/cells/0/speed", json!(2), "the speed 2 of a cell is outside 0.01 to 1".into()),
        (half_duplex, "roaming/cells/1/delay_ps", json!(long), too_long("delay_ps")),
        (ofdm, "medium/fft", json!(300), "an FFT of 300: 256 is OFDM; 128, 512, 1024 and 2048 are OFDMA".into()),
        (ofdm, "medium/channel_hz", json!(1), "a channel of 1 Hz: 1 to 100 MHz are possible".into()),
        (ofdm, "medium/prefix", json!(3), "a cyclic prefix of 1/3: 1/4, 1/8, 1/16 and 1/32 are possible".into()),
        (ofdm, "medium/frame_ps", json!(1), "a frame of 1 ps: 1 ms to 1 s are possible".into()),
        (ofdm, "medium/burst_gap", json!(65_537), "burst_gap is 65537, at most 65536 is possible".into()),
        (
            ofdm,
            "medium/contention/layout",
            json!({"kind": "columns", "columns": 1}),
            "contention in columns is for OFDMA, in symbols for OFDM".into(),
        ),
        (ofdm, "medium/contention/tries", json!(65_537), "contention.tries is 65537, at most 65536 is possible".into()),
        (ofdm, "medium/contention/backoff", json!([7, 6]), "a back-off from 2^7 to 2^6: exponents rise, to 15 at most".into()),
        (ofdm, "medium/grant_frames", json!(0), "grant_frames, patience_frames and contention.tries are 1 at least".into()),
        (ofdm, "medium/map_modulation", json!("8psk"), "no modulation '8psk' in this channel's set".into()),
        (ofdm, "medium/stations/0/error/up", json!(2), "an error of 2: a probability is from 0 to 1".into()),
        (ofdm, "medium/stations/0/fading", json!(null), "a loss by signal needs a signal that moves: its fading is null".into()),
        (ofdm, "medium/stations/0/amc/decade_db", json!(0), "amc.decade_db must be above 0, amc.hysteresis_db at least 0".into()),
        (
            ofdm,
            "medium/stations/0/amc/delay_frames",
            json!(long),
            format!("amc.delay_frames is {long} frames, at most 4294967296 are possible"),
        ),
        (ofdm, "medium/stations/0/service/bytes", json!(65_537), "service.bytes is 65537, at most 65536 is possible".into()),
        (
            ofdm,
            "medium/stations/1/caps/down/0/low_bps",
            json!(3),
            "a cap needs 0 < low_bps <= high_bps, burst above 0 and every_ps above 0".into(),
        ),
        (ofdm, "medium/repair/down/attempts", json!(0), "harq.attempts and harq.feedback_frames are 1 at least".into()),
        (ofdm, "medium/repair/up/window", json!(1025), "arq.window is 1025, at most 1024 is possible".into()),
        (packet_radio, "medium/hops", json!(65), "65 radio hops: 1 to 64 are possible".into()),
        (packet_radio, "medium/latency_ps", json!(long), too_long("latency_ps")),
        (packet_radio, "medium/rts_bytes", json!(0), "rts_bytes is 0: 1 to 65535 are possible".into()),
        (packet_radio, "medium/frame_error/up", json!(2), "frame_error.up is 2: it must lie between 0 and 1".into()),
        (wlan, "medium/sifs_ps", json!(long), too_long("sifs_ps")),
        (wlan, "medium/control/preamble_ps", json!(long), too_long("preamble_ps")),
        (wlan, "medium/slot_ps", json!(0), "the slot time is 0".into()),
        (wlan, "medium/cw/0", json!(0), "contention window 0 to 1023 is not an ascending range within 1 to 32767".into()),
        (contention, "medium/up/interval_ps", json!(long), format!("up: {}", too_long("interval_ps"))),
        (contention, "medium/down/repair/error", json!(2), "down: the error probability is outside 0 to 1".into()),
        (scheduled, "medium/ask/period_ps", json!(long), too_long("period_ps")),
    ];
    for (plan, pointer, value, expected) in cases {
        let message = message(plan(), &format!("/hops/0/{pointer}"), value);
        assert_eq!(message, format!("hop 'air': {expected}"), "{pointer}");
    }
}

#[test]
fn medium_excludes_what_it_cannot_combine() {
    let roaming = half_duplex()["hops"][0]["roaming"].clone();
    for (mut plan, expected) in [
        (ofdm(), "roaming and connections: only one of them is possible"),
        (packet_radio(), "packet radio has no cells for roaming"),
    ] {
        plan["hops"][0]["roaming"] = roaming.clone();
        assert_eq!(read(&plan).unwrap_err(), format!("hop 'air': {expected}"));
    }
    let mut plan = wlan();
    plan["hops"][0]["medium"]["shared_queue"] = json!(true);
    read(&plan).unwrap();
    plan["hops"][0]["roaming"] = roaming;
    assert_eq!(read(&plan).unwrap_err(), "hop 'air': roaming and shared_queue: only one of them is possible");
}
