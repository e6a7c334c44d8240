//! Hops with a medium: one element for both directions and all clients.

use crate::common::{MS, bulk, cbr, close, go, hop, hop_direction, plan};
use serde_json::{Value, json};

/// A half-duplex channel of 1 Mb/s with queues of `packets`, between hops of 1 ms.
fn channel(turnaround_ms: u64, packets: u64) -> Value {
    let mut hop = hop("air", hop_direction(0, 1, packets), hop_direction(0, 1, packets));
    hop["medium"] = json!({"kind": "half-duplex", "bps": 1_000_000, "turnaround_ps": turnaround_ms * MS});
    hop
}

/// Datagrams of 1000 bytes at this rate.
fn datagrams(name: &str, client: u32, direction: &str, bps: u64) -> Value {
    let mut flow = cbr(name, &[0]);
    flow["client"] = json!(client);
    flow["direction"] = json!(direction);
    flow["workload"]["bps"] = json!(bps);
    flow
}

fn with_clients(clients: u32, mut plan: Value) -> Value {
    plan["clients"] = json!(clients);
    plan
}

#[test]
fn one_datagram_flow_fills_a_half_duplex_channel_without_turnarounds() {
    let result = go(&plan(10_000, json!([channel(5, 10)]), json!([datagrams("d", 0, "down", 2_000_000)])));
    close(result.summary.flows[0].throughput_bps, 1e6, 5e3);
    close(result.summary.hops[0].utilization, 1.0, 1e-9);
    close(result.summary.hops[1].utilization, 0.0, 1e-9);
}

#[test]
fn half_duplex_directions_alternate_with_a_turnaround_for_each_packet() {
    // A packet takes 8 ms, the turnaround 2 ms: 8/10 of the rate, half of it in each direction.
    let flows = json!([datagrams("d", 0, "down", 2_000_000), datagrams("u", 0, "up", 2_000_000)]);
    let result = go(&plan(20_000, json!([channel(2, 10)]), flows));
    for flow in &result.summary.flows {
        close(flow.throughput_bps, 0.4e6, 2e3);
    }
    close(result.summary.hops[0].utilization, 0.5, 1e-3);
    close(result.summary.hops[1].utilization, 0.5, 1e-3);
}

#[test]
fn stations_of_a_medium_have_separate_queues() {
    let flows = json!([datagrams("greedy", 0, "down", 3_000_000), datagrams("modest", 1, "down", 200_000)]);
    let result = go(&with_clients(2, plan(20_000, json!([channel(0, 10)]), flows)));
    close(result.summary.flows[0].throughput_bps, 0.8e6, 4e3);
    close(result.summary.flows[1].throughput_bps, 0.2e6, 2e3);
    let stations: Vec<_> = result.hops.station[..4].to_vec();
    assert_eq!(stations, [Some(0), Some(1), Some(0), Some(1)], "down, then up");
    let drops = |station| {
        (0..result.hops.hop.len()).filter(|&i| result.hops.station[i] == Some(station)).map(|i| result.hops.drops[i]).max()
    };
    assert!(drops(0) > Some(1000) && drops(1) == Some(0), "{:?} {:?}", drops(0), drops(1));
}

#[test]
fn elements_after_a_medium_are_shared_unless_per_client() {
    // The list drops the first three data packets: of all stations together, or of each.
    let lost = |per_client: bool| {
        let mut hop = channel(0, 0);
        hop["down"]["loss"] = json!({"kind": "list", "packets": [1, 2, 3]});
        hop["per_client"] = json!(per_client);
        let mut flows = [datagrams("a", 0, "down", 100_000), datagrams("b", 1, "down", 100_000)];
        flows.iter_mut().for_each(|f| {
            f["workload"] = json!({"kind": "transfer", "bytes": 100_000});
            f["tcp"] = crate::common::tcp("reno");
        });
        let row = go(&with_clients(2, plan(60_000, json!([hop]), json!(flows)))).summary.hops.swap_remove(0);
        assert_eq!(row.drops_by_cause["loss"], row.drops);
        (row.drops, row.delivered)
    };
    let (shared, own) = (lost(false), lost(true));
    assert_eq!((shared.0, own.0), (3, 6));
    assert!(shared.1 >= 200 && own.1 >= 200, "lost packets are retransmitted: {shared:?} {own:?}");
}

#[test]
fn tcp_crosses_a_medium_between_other_hops_in_both_directions() {
    let hops = json!([
        hop("core", hop_direction(10_000_000, 5, 100), hop_direction(10_000_000, 5, 100)),
        channel(1, 20),
        hop("home", hop_direction(0, 1, 0), hop_direction(0, 1, 0))
    ]);
    let mut flow = bulk("d", &[0, 1, 2]);
    flow["client"] = json!(1);
    let result = go(&with_clients(3, plan(30_000, hops, json!([flow]))));
    // With an ACK for each packet a pair takes (1052 + 52) * 8 us and at most two turnarounds.
    let goodput = result.summary.flows[0].goodput_bps.unwrap();
    assert!(goodput > 0.9 * 8e3 / (8.832e-3 + 2e-3) && goodput < 1e6 * 1000.0 / 1104.0, "{goodput}");
}

#[test]
fn medium_is_rejected_with_a_rate_a_framing_or_too_many_clients() {
    let base = || plan(1000, json!([channel(0, 10)]), json!([cbr("x", &[0])]));
    let cases = [
        ("/hops/0/down/rate", json!({"kind": "fixed", "bps": 1}), "only one of them"),
        ("/hops/0/up/framing", json!("cslip"), "framing"),
        ("/hops/0/medium/bps", json!(0), "0 b/s"),
        ("/hops/0/medium/turnaround_ps", json!(u64::MAX), "100 days"),
        ("/hops/0/medium/kind", json!("ether"), "ether"),
        ("/clients", json!(40_000), "32768"),
    ];
    for (pointer, value, word) in cases {
        let mut plan = base();
        *plan.pointer_mut(pointer).unwrap() = value;
        let error = ackclock_sim::Plan::from_json(&plan.to_string()).expect_err(pointer).to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{pointer}: {error}");
    }
}

/// The channel of the paper wimax-simulated: 7 MHz, frames of 5 ms, 64-QAM 3/4, with this split.
pub fn wimax(down: u32, up: u32) -> Value {
    let both = |value: Value| json!({"down": value, "up": value});
    json!({
        "kind": "wimax", "fft": 256, "channel_hz": 7_000_000, "prefix": 16, "frame_ps": 5 * MS, "ttg_ps": MS / 200, "rtg_ps": MS / 200,
        "split": {"kind": "ratio", "down": down, "up": up}, "preamble": 3, "map_modulation": "16qam-1/2", "map_repetition": 1,
        "burst_gap": 1, "uplink_preamble": 0, "crc": true,
        "contention": {"opportunities": 5, "layout": {"kind": "request-only"}, "backoff": [2, 6], "tries": 16},
        "grant_frames": 2, "patience_frames": 20, "piggyback": true, "bundling": true, "repair": both(Value::Null),
        "stations": [{
            "modulation": both(json!("64qam-3/4")), "error": both(json!(0.0)), "fading": null,
            "service": {"class": "be", "interval_frames": 0, "bytes": 0},
            "amc": {"hysteresis_db": 1.0, "delay_frames": 2, "up_offset_db": 0.0, "decade_db": 2.0}, "caps": both(json!([])),
        }],
    })
}

fn cell(medium: Value) -> Value {
    let mut hop = hop("air", hop_direction(0, 1, 50), hop_direction(0, 1, 50));
    hop["medium"] = medium;
    hop
}

#[test]
fn wimax_utilization_is_that_of_the_data_symbols() {
    let flows: Vec<Value> = (0..6).map(|client| datagrams(&format!("d{client}"), client, "down", 6_000_000)).collect();
    let result = go(&with_clients(6, plan(10_000, json!([cell(wimax(3, 1))]), json!(flows))));
    let total: f64 = result.summary.flows.iter().filter_map(|flow| flow.throughput_bps).sum();
    // 103 symbols of 108 bytes; overhead: 14 bytes for the packet fragmented at the end of a frame,
    // 10 for each packet of 1000 bytes.
    close(Some(total), 8.0 * 200.0 * (103.0 * 108.0 - 14.0) * 1000.0 / 1010.0, 0.01 * 17e6);
    close(result.summary.hops[0].utilization, 103.0 / 106.0, 0.005);
}

#[test]
fn acks_are_lost_when_the_uplink_has_two_symbols_and_not_with_thirty() {
    let acks = |split| {
        let mut medium = wimax(split, 1);
        medium["contention"]["layout"] = json!({"kind": "fractional", "modulation": "64qam-3/4"});
        let result = go(&plan(20_000, json!([cell(medium)]), json!([bulk("b", &[0])])));
        let up = &result.summary.hops[1];
        (up.delivered as f64 / 4000.0, up.drops)
    };
    let ((many, lost_at_two), (few, lost_at_six)) = (acks(2), acks(6));
    assert!(many > 6.0 && lost_at_two == 0, "at 2:1 every segment is acknowledged: {many} ACKs a frame");
    // Two symbols are 216 bytes. An ACK of 52 bytes takes 62, a fragmented one 14 more, a request
    // 2.
    let fits = (216.0 - 14.0 - 2.0) / 62.0;
    assert!(
        few <= fits * 1.01 && few > 0.9 * fits && lost_at_six > 10_000,
        "{few} ACKs a frame of {fits}, {lost_at_six} dropped"
    );
}

/// Six downloads over a cell with one split: total goodput, utilization of the data symbols down
/// and up, ACKs per frame, and ACKs dropped.
struct SplitResult {
    mbps: f64,
    down: f64,
    up: f64,
    acks: f64,
    dropped: u64,
}

fn six_downloads(split: u32, layout: Value) -> SplitResult {
    const SECONDS: u64 = 20;
    let mut medium = wimax(split, 1);
    medium["contention"]["layout"] = layout;
    let flow = |client: u32| {
        let mut flow = bulk(&format!("b{client}"), &[0]);
        flow["client"] = json!(client);
        flow
    };
    let flows: Vec<Value> = (0..6).map(flow).collect();
    let result = go(&with_clients(6, plan(SECONDS * 1000, json!([cell(medium)]), json!(flows))));
    let [down, up] = [0, 1].map(|row| result.summary.hops[row].utilization.unwrap());
    SplitResult {
        mbps: result.summary.flows.iter().filter_map(|flow| flow.goodput_bps).sum::<f64>() / 1e6,
        down,
        up,
        acks: result.summary.hops[1].delivered as f64 / (200 * SECONDS) as f64,
        dropped: result.summary.hops[1].drops,
    }
}

#[test]
fn acks_are_lost_only_at_splits_without_free_uplink_symbols() {
    // Uplink symbols for data beside ranging and requests at 64-QAM 3/4.
    let packed = || json!({"kind": "fractional", "modulation": "64qam-3/4"});
    let results = [1, 2, 3, 4, 5, 6].map(|split| six_downloads(split, packed()));
    for ((split, symbols), at) in (1..).zip([54.0, 30.0, 18.0, 11.0, 6.0, 2.0]).zip(&results) {
        let seen = format!("{split}:1: {:.2} Mb/s, {:.3} down, {:.3} up, {:.2} ACKs a frame", at.mbps, at.down, at.up, at.acks);
        // An ACK of 52 bytes takes 62 with header and CRC; a symbol carries 108 bytes.
        assert!(at.acks * 62.0 <= at.up * symbols * 108.0, "{seen}");
        if split <= 4 {
            assert!(at.down > 0.95 && at.up < 0.95 && at.dropped == 0, "the downlink is full and every ACK gets through: {seen}");
        }
    }
    let (four, six) = (&results[3], &results[5]);
    assert!(results.windows(2).take(3).all(|pair| pair[1].mbps > pair[0].mbps), "up to 4:1 the downlink is the bottleneck");
    assert!(
        six.up > 0.99 && six.dropped > 1000,
        "at 6:1 no symbol of the uplink is free: {:.3}, {} dropped",
        six.up,
        six.dropped
    );
    assert!(six.mbps < four.mbps, "a longer downlink carries less: {} of {}", six.mbps, four.mbps);
    // The same downlink, with ten more uplink symbols for data as there is no ranging.
    let without_ranging = six_downloads(6, json!({"kind": "request-only"}));
    assert!(
        without_ranging.dropped == 0 && without_ranging.up < 0.95,
        "{:.3} used, {} dropped",
        without_ranging.up,
        without_ranging.dropped
    );
    assert!(
        without_ranging.mbps > 1.1 * six.mbps && without_ranging.mbps > four.mbps,
        "{} and {}",
        without_ranging.mbps,
        six.mbps
    );
}

#[test]
fn wimax_plan_is_rejected_when_no_symbol_is_left_for_data() {
    let mut medium = wimax(6, 1);
    medium["contention"]["layout"] = json!({"kind": "whole", "modulation": "bpsk-1/2"});
    let plan = plan(1000, json!([cell(medium)]), json!([bulk("b", &[0])]));
    let error = ackclock_sim::Plan::from_json(&plan.to_string()).unwrap_err().to_string();
    assert!(error.contains("the uplink's 21 symbols have no room for data"), "{error}");
}
