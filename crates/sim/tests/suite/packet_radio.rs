//! Packet radio: the exchange of one frame in closed form, link ARQ, relays.

use crate::common::{MS, bulk, cbr, close, go, hop, plan, way};
use serde_json::{Value, json};

/// Table 4 of Balakrishnan, Padmanabhan and Katz (1997), in milliseconds: the slower of a radio's
/// two turns, which both wait for.
const TO_SEND: f64 = 13.25;

/// Milliseconds of so many bytes at 100 kb/s.
fn air(bytes: u32) -> f64 {
    f64::from(bytes) * 0.08
}

/// From one RTS to the next of a radio that goes on: it stands at sending and need not turn, and
/// link ACKs ride on the CTSs.
fn going_on(bytes: u32) -> f64 {
    2.0 * TO_SEND + air(40) + air(40) + air(16 + bytes)
}

/// From one frame's start of turning to the next one's, when the link ACK travels alone.
fn exchange(bytes: u32) -> f64 {
    TO_SEND + going_on(bytes) + TO_SEND + air(16)
}

fn radio(hops: u32) -> Value {
    json!({
        "kind": "packet-radio", "hops": hops, "bps": 100_000, "latency_ps": 10 * MS, "to_receive_ps": 11_125_000_000u64,
        "to_send_ps": 13_250_000_000u64, "rts_bytes": 40, "cts_bytes": 40, "header_bytes": 16, "ack_bytes": 16,
        "backoff_base_ps": 20 * MS, "backoff_cap_ps": 120 * MS, "defer_by_backoff": true, "nack_cts": false, "piggyback": true,
        "ack_timeout_ps": 100 * MS, "tries": 8, "relay_packets": 10, "frame_error": {"down": 0.0, "up": 0.0},
    })
}

/// Flows over these radios, queues of 10 packets.
fn over(medium: Value, duration_ms: u64, flows: Value) -> Value {
    let mut air = hop("radio", way(0, 0, 10), way(0, 0, 10));
    air["medium"] = medium;
    plan(duration_ms, json!([air]), flows)
}

/// 1000-byte datagrams, one every so many milliseconds.
fn datagrams(every_ms: u64) -> Value {
    let mut flow = cbr("d", &[0]);
    flow["workload"]["bps"] = json!(8_000_000 / every_ms);
    flow
}

#[test]
fn datagrams_over_one_hop_pay_two_turns_and_two_short_frames_each_when_link_acks_ride() {
    let result = go(&over(radio(1), 600_000, json!([datagrams(20)])));
    close(result.summary.flows[0].throughput_bps, 8000.0 / (going_on(1000) / 1000.0), 30.0);
    close(result.summary.hops[0].utilization, 1.0, 1e-3);
    let row = &result.summary.hops[0];
    let exchanges = row.control_packets as f64 / 2.0;
    assert!((exchanges - row.delivered as f64).abs() <= 1.0, "an RTS and a CTS each: {row:?}");
}

#[test]
fn datagrams_over_one_hop_pay_four_turns_and_three_short_frames_each_when_link_acks_travel_alone() {
    let mut alone = radio(1);
    alone["piggyback"] = json!(false);
    let result = go(&over(alone, 600_000, json!([datagrams(20)])));
    close(result.summary.flows[0].throughput_bps, 8000.0 / (exchange(1000) / 1000.0), 30.0);
    let row = &result.summary.hops[0];
    let exchanges = row.control_packets as f64 / 3.0;
    assert!((exchanges - row.delivered as f64).abs() <= 1.0, "an RTS, a CTS and a link ACK each: {row:?}");
}

#[test]
fn a_lone_datagram_keeps_its_first_radio_for_one_turn_and_one_exchange_however_many_hops_follow() {
    let busy_ms = |hops| {
        let plan = over(radio(hops), 10_000, json!([datagrams(4000)]));
        let result = go(&plan);
        assert_eq!(result.summary.flows[0].segments_sent, 3);
        result.summary.hops[0].utilization.unwrap() * 10_000.0 / 3.0
    };
    for hops in 1..=3 {
        close(Some(busy_ms(hops)), TO_SEND + going_on(1000), 1e-6);
    }
}

/// One transfer over one hop with a window of so many 1052-byte packets, and what the client's
/// radio does to ACKs that wait.
fn transfer(packets: u32, acks: Value) -> ackclock_sim::RunResult {
    let mut flow = bulk("d", &[0]);
    flow["tcp"]["receive_buffer"] = json!(1000 * packets);
    let mut plan = over(radio(1), 600_000, json!([flow]));
    plan["hops"][0]["up"]["acks"] = acks;
    go(&plan)
}

/// `filter` is a rule, or null for none.
fn acks(filter: Value) -> Value {
    json!({"first": false, "drop": "tail", "filter": filter})
}

#[test]
fn one_packet_at_a_time_makes_two_exchanges_a_round_trip_without_any_contention() {
    let row = transfer(1, acks(Value::Null)).summary.flows.swap_remove(0);
    let latency = 10.0;
    let round = 2.0 * TO_SEND + going_on(1052) + going_on(52) + 2.0 * latency;
    close(row.throughput_bps, 1052.0 * 8.0 / (round / 1000.0), 60.0);
    assert_eq!((row.timeouts, row.retransmitted_segments), (0, 0));
}

#[test]
fn a_radio_that_goes_on_keeps_the_acks_of_its_packets_waiting_so_that_a_filter_has_something_to_take() {
    let all_older = json!({
        "keep": 1, "occupancy": 0, "probability": 1.0, "survivor": "tail", "duplicates": "below", "sack": "off", "signs": false,
        "window": false,
    });
    let (plain, thinned) = (transfer(8, acks(Value::Null)), transfer(8, acks(all_older)));
    let [reno, af] = [&plain, &thinned].map(|run| run.summary.flows[0].throughput_bps.unwrap());
    let waiting = plain.summary.hops[1].queue_packets_mean;
    assert!(waiting > 1.0, "ACKs wait behind the data that a radio receives: {waiting}");
    assert!(af > 1.1 * reno, "and one ACK says what many said: {reno} {af}");
}

#[test]
fn damaged_frames_are_sent_again_until_the_tries_are_used_up() {
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
fn each_hop_costs_throughput_because_a_relay_is_one_radio() {
    let throughput = |hops| {
        let mut flow = bulk("d", &[0]);
        flow["tcp"]["receive_buffer"] = json!(32_000);
        go(&over(radio(hops), 300_000, json!([flow]))).summary.flows[0].throughput_bps.unwrap()
    };
    let [one, two, three] = [throughput(1), throughput(2), throughput(3)];
    // A relay takes part in both exchanges of every packet and every ACK; of three hops the first
    // and the last may be used at once.
    assert!(two < 0.6 * one && three < 0.85 * two, "{one} {two} {three}");
}

#[test]
fn the_same_seed_is_the_same_run_and_another_is_not() {
    let run = |seed: u64| {
        let mut plan = over(radio(3), 60_000, json!([bulk("d", &[0])]));
        plan["seed"] = json!(seed);
        go(&plan).series
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn constants_that_would_stall_the_radios_are_refused() {
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
