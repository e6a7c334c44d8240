//! Packet radio: closed form of one frame exchange, link ARQ, relays.

use crate::common::{MS, bulk, cbr, close, go, hop, hop_direction, plan};
use serde_json::{Value, json};

/// Turnaround to transmit in milliseconds, the longer of the two turnarounds (Balakrishnan,
/// Padmanabhan and Katz 1997, table 4).
const TO_SEND: f64 = 13.25;

/// Transmission time at 100 kb/s in milliseconds.
fn air(bytes: u32) -> f64 {
    f64::from(bytes) * 0.08
}

/// Time from one RTS to the next of a radio that continues to send: it needs no turnaround, and
/// link ACKs are piggybacked on CTS.
fn back_to_back(bytes: u32) -> f64 {
    2.0 * TO_SEND + air(40) + air(40) + air(16 + bytes)
}

/// Time from the turnaround before one frame to that before the next, without piggybacking.
fn exchange(bytes: u32) -> f64 {
    TO_SEND + back_to_back(bytes) + TO_SEND + air(16)
}

fn radio(hops: u32) -> Value {
    json!({
        "kind": "packet-radio", "hops": hops, "bps": 100_000, "latency_ps": 10 * MS, "to_receive_ps": 11_125_000_000u64,
        "to_send_ps": 13_250_000_000u64, "rts_bytes": 40, "cts_bytes": 40, "header_bytes": 16, "ack_bytes": 16,
        "backoff_base_ps": 20 * MS, "backoff_cap_ps": 120 * MS, "defer_by_backoff": true, "nack_cts": false, "piggyback": true,
        "ack_timeout_ps": 100 * MS, "tries": 8, "relay_packets": 10, "frame_error": {"down": 0.0, "up": 0.0},
    })
}

/// Flows over packet radios with queues of 10 packets.
fn over(medium: Value, duration_ms: u64, flows: Value) -> Value {
    let mut air = hop("radio", hop_direction(0, 0, 10), hop_direction(0, 0, 10));
    air["medium"] = medium;
    plan(duration_ms, json!([air]), flows)
}

/// Datagrams of 1000 bytes, one every `every_ms` milliseconds.
fn datagrams(every_ms: u64) -> Value {
    let mut flow = cbr("d", &[0]);
    flow["workload"]["bps"] = json!(8_000_000 / every_ms);
    flow
}

#[test]
fn packet_radio_exchange_has_two_turnarounds_when_link_acks_are_piggybacked() {
    let result = go(&over(radio(1), 600_000, json!([datagrams(20)])));
    close(result.summary.flows[0].throughput_bps, 8000.0 / (back_to_back(1000) / 1000.0), 30.0);
    close(result.summary.hops[0].utilization, 1.0, 1e-3);
    let row = &result.summary.hops[0];
    let exchanges = row.control_packets as f64 / 2.0;
    assert!((exchanges - row.delivered as f64).abs() <= 1.0, "an RTS and a CTS each: {row:?}");
}

#[test]
fn packet_radio_exchange_has_four_turnarounds_without_piggybacking() {
    let mut alone = radio(1);
    alone["piggyback"] = json!(false);
    let result = go(&over(alone, 600_000, json!([datagrams(20)])));
    close(result.summary.flows[0].throughput_bps, 8000.0 / (exchange(1000) / 1000.0), 30.0);
    let row = &result.summary.hops[0];
    let exchanges = row.control_packets as f64 / 3.0;
    assert!((exchanges - row.delivered as f64).abs() <= 1.0, "an RTS, a CTS and a link ACK each: {row:?}");
}

#[test]
fn first_radio_is_busy_for_one_exchange_at_any_number_of_hops() {
    let busy_ms = |hops| {
        let plan = over(radio(hops), 10_000, json!([datagrams(4000)]));
        let result = go(&plan);
        assert_eq!(result.summary.flows[0].segments_sent, 3);
        result.summary.hops[0].utilization.unwrap() * 10_000.0 / 3.0
    };
    for hops in 1..=3 {
        close(Some(busy_ms(hops)), TO_SEND + back_to_back(1000), 1e-6);
    }
}

/// A transfer over one hop with a window of `packets` of 1052 bytes, and an ACK policy at the
/// client's radio.
fn transfer(packets: u32, acks: Value) -> ackclock_sim::RunResult {
    let mut flow = bulk("d", &[0]);
    flow["tcp"]["receive_buffer"] = json!(1000 * packets);
    let mut plan = over(radio(1), 600_000, json!([flow]));
    plan["hops"][0]["up"]["acks"] = acks;
    go(&plan)
}

/// `filter`: a filter, or null.
fn acks(filter: Value) -> Value {
    json!({"first": false, "drop": "tail", "filter": filter})
}

#[test]
fn window_of_one_packet_takes_two_exchanges_an_rtt() {
    let row = transfer(1, acks(Value::Null)).summary.flows.swap_remove(0);
    let latency = 10.0;
    let round = 2.0 * TO_SEND + back_to_back(1052) + back_to_back(52) + 2.0 * latency;
    close(row.throughput_bps, 1052.0 * 8.0 / (round / 1000.0), 60.0);
    assert_eq!((row.timeouts, row.retransmitted_segments), (0, 0));
}

#[test]
fn ack_filter_raises_throughput_when_a_radio_delays_acks() {
    let all_older = json!({
        "keep": 1, "occupancy": 0, "probability": 1.0, "survivor": "tail", "duplicates": "below", "sack": "off", "signs": false,
        "window": false,
    });
    let (plain, thinned) = (transfer(8, acks(Value::Null)), transfer(8, acks(all_older)));
    let [reno, af] = [&plain, &thinned].map(|run| run.summary.flows[0].throughput_bps.unwrap());
    let waiting = plain.summary.hops[1].queue_packets_mean;
    assert!(waiting > 1.0, "ACKs wait behind the data that a radio receives: {waiting}");
    assert!(af > 1.1 * reno, "one ACK replaces many: {reno} {af}");
}

#[test]
fn damaged_frames_are_retransmitted_up_to_the_maximum_tries() {
    let mut lossy = radio(1);
    lossy["frame_error"]["down"] = json!(0.3);
    let row = go(&over(lossy.clone(), 600_000, json!([datagrams(1000)]))).summary.hops.swap_remove(0);
    assert_eq!(row.drops, 0, "eight tries lose 0.3^8 = 7e-5 of the packets: {row:?}");
    lossy["tries"] = json!(2);
    let row = go(&over(lossy, 2_000_000, json!([datagrams(1000)]))).summary.hops.swap_remove(0);
    let share = row.drops_by_cause["loss"] as f64 / 2000.0;
    assert!((share - 0.09).abs() < 0.02, "both tries fail with 0.3^2: {share}");
}

#[test]
fn throughput_falls_with_each_radio_hop() {
    let throughput = |hops| {
        let mut flow = bulk("d", &[0]);
        flow["tcp"]["receive_buffer"] = json!(32_000);
        go(&over(radio(hops), 300_000, json!([flow]))).summary.flows[0].throughput_bps.unwrap()
    };
    let [one, two, three] = [throughput(1), throughput(2), throughput(3)];
    // A relay receives and forwards every packet and every ACK. Of three hops, the first and the
    // last can be used at the same time.
    assert!(two < 0.6 * one && three < 0.85 * two, "{one} {two} {three}");
}

/// By the rules of ns-2's `Mac/Multihop`, without a cap on the back-off.
fn multihop(hops: u32) -> Value {
    let mut radio = radio(hops);
    radio["mac"] = json!("ns2-multihop");
    radio["backoff_cap_ps"] = json!(8_640_000_000 * MS);
    radio
}

// finding("P15")
#[test]
fn multihop_exchange_has_one_turnaround() {
    let result = go(&over(multihop(1), 600_000, json!([datagrams(20)])));
    let exchange = back_to_back(1000) - TO_SEND;
    close(result.summary.flows[0].throughput_bps, 8000.0 / (exchange / 1000.0), 30.0);
    for hops in 1..=3 {
        let delay = go(&over(multihop(hops), 60_000, json!([datagrams(4000)]))).summary.flows[0].one_way_delay_ms;
        close(delay.unwrap().max, f64::from(hops) * (exchange + 10.0), 0.05);
    }
}

/// Datagrams of 1000 bytes whose intervals vary by a half.
fn varied(bps: u64) -> Value {
    let mut flow = datagrams(1);
    flow["workload"]["bps"] = json!(bps);
    flow["workload"]["spread"] = json!(0.5);
    flow
}

// finding("P15")
#[test]
fn relay_does_not_win_the_channel_from_a_sender_that_never_stops() {
    let received = |medium, bps| go(&over(medium, 300_000, json!([varied(bps)]))).summary.flows[0].throughput_bps.unwrap_or(0.0);
    for hops in [2, 3] {
        let [light, heavy] = [30_000, 80_000].map(|bps| received(multihop(hops), bps));
        assert!(light > 29_000.0, "what the chain can carry arrives: {light}");
        assert!(heavy < 1_000.0, "overload collapses: {heavy}");
        assert!(received(radio(hops), 80_000) > 5_000.0, "with the medium's own rules it does not");
    }
    let one = received(multihop(1), 100_000);
    assert!(one > 79_000.0, "one hop has no relay: {one}");
}

// finding("P6")
#[test]
fn backoff_doubles_without_a_cap_only_with_multihop() {
    // Two saturated radios: the one that fails waits ever longer, and the other has the channel.
    let up = |mut flow: Value| {
        flow["name"] = json!("u");
        flow["direction"] = json!("up");
        flow
    };
    let share = |medium| {
        let row = go(&over(medium, 300_000, json!([varied(100_000), up(varied(100_000))]))).summary.flows;
        let [down, up] = [0, 1].map(|index| row[index].throughput_bps.unwrap_or(0.0));
        down.min(up) / down.max(up)
    };
    let mut capped = multihop(1);
    capped["backoff_cap_ps"] = json!(120 * MS);
    let [uncapped, capped, ricochet] = [multihop(1), capped, radio(1)].map(share);
    assert!(uncapped < 0.05 && capped > 0.3 && ricochet > 0.3, "{uncapped} {capped} {ricochet}");
}

#[test]
fn equal_seeds_give_equal_packet_radio_runs() {
    let run = |seed: u64| {
        let mut plan = over(radio(3), 60_000, json!([bulk("d", &[0])]));
        plan["seed"] = json!(seed);
        go(&plan).series
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn packet_radio_plan_is_rejected_when_radios_would_stall() {
    let cases = [
        ("/hops/0/medium/hops", json!(0), "hops"),
        ("/hops/0/medium/backoff_base_ps", json!(0), "back-off"),
        ("/hops/0/medium/backoff_cap_ps", json!(40 * MS), "back-off"),
        ("/hops/0/medium/rts_bytes", json!(0), "rts_bytes"),
        ("/hops/0/medium/tries", json!(0), "tries"),
        ("/hops/0/medium/frame_error/up", json!(1.5), "frame_error.up"),
        ("/hops/0/medium/latency_ps", json!(u64::MAX), "100 days"),
    ];
    for (pointer, value, word) in cases {
        let mut plan = over(radio(1), 1000, json!([datagrams(20)]));
        *plan.pointer_mut(pointer).unwrap() = value;
        let error = ackclock_sim::Plan::from_json(&plan.to_string()).expect_err(pointer).to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{pointer}: {error}");
    }
}

#[test]
fn multihop_plan_is_rejected_with_rules_that_it_does_not_have() {
    let cases = [("defer_by_backoff", json!(false)), ("nack_cts", json!(true)), ("piggyback", json!(false))];
    for (key, value) in cases.into_iter().chain([("frame_error", json!({"down": 0.1, "up": 0.0}))]) {
        let mut medium = multihop(1);
        medium[key] = value;
        let plan = over(medium, 1000, json!([datagrams(20)]));
        let error = ackclock_sim::Plan::from_json(&plan.to_string()).expect_err(key).to_string();
        assert!(error.contains("Mac/Multihop") && !error.contains('\n'), "{key}: {error}");
    }
}
