//! The account of a hop's time: sums, saturated and lightly loaded hops of every kind, and closed
//! forms of the shares.

use crate::common::{MS, S, bulk, cbr, close, go, hop, hop_direction, plan};
use ackclock_sim::summary::{HopRow, TimeRow};
use serde_json::{Value, json};

fn both(value: Value) -> Value {
    json!({"down": value, "up": value})
}

/// The account of each direction of one hop with datagrams of `packet` bytes at these rates, in
/// bits per second (0: none), in each direction.
fn account_of(hop: &Value, packet: u32, bps: [u64; 2]) -> [HopRow; 2] {
    let source = |name: &str, bps: u64| {
        let mut flow = cbr(name, &[0]);
        flow["direction"] = json!(name);
        flow["workload"] = json!({"kind": "cbr", "bps": bps, "packet": packet});
        flow
    };
    let flows: Vec<Value> =
        [("down", bps[0]), ("up", bps[1])].into_iter().filter(|&(_, bps)| bps > 0).map(|(name, bps)| source(name, bps)).collect();
    let mut plan = plan(20_000, json!([hop]), json!(flows));
    plan["measure"] = json!({"kind": "interval", "from_ps": 2 * S, "to_ps": 20 * S});
    let hops = go(&plan).summary.hops;
    for row in &hops {
        let TimeRow { sending, overhead, blocked, idle } = row.time;
        close(Some(sending + overhead + blocked + idle), 1.0, 1e-9);
        let parts = [sending, overhead, blocked, idle, row.full_share];
        assert!(parts.iter().all(|&part| (0.0..=1.0).contains(&part)), "{parts:?}");
    }
    hops.try_into().expect("two directions")
}

fn rated() -> Value {
    hop("rated", hop_direction(1_000_000, 1, 50), hop_direction(1_000_000, 1, 50))
}

fn recorded() -> Value {
    let mut direction = hop_direction(0, 1, 50);
    // An opportunity of 1500 bytes every 12 ms: 1 Mb/s.
    direction["rate"] = json!({"kind": "trace", "times_ms": (1..=100).map(|n| 12 * n).collect::<Vec<u64>>(), "start_ps": 0});
    hop("recorded", direction.clone(), direction)
}

fn on_medium(medium: Value) -> Value {
    let mut hop = hop("air", hop_direction(0, 1, 50), hop_direction(0, 1, 50));
    hop["medium"] = medium;
    hop
}

fn half_duplex(turnaround_ms: u64) -> Value {
    on_medium(json!({"kind": "half-duplex", "bps": 1_000_000, "turnaround_ps": turnaround_ms * MS}))
}

/// 802.11b, long preamble, control frames at 1 Mb/s.
fn wlan() -> Value {
    let format = |bps: u64| json!({"bps": bps, "preamble_ps": 192_000_000, "symbol_ps": 0, "extension_ps": 0});
    on_medium(json!({
        "kind": "wlan", "slot_ps": 20_000_000, "sifs_ps": 10_000_000, "difs_ps": 50_000_000, "eifs_ps": 364_000_000u64,
        "cw": [31, 1023], "data": format(11_000_000), "control": format(1_000_000), "header_bytes": 36, "rts_threshold": null,
        "short_retries": 7, "long_retries": 4, "aggregate": null, "frame_error": both(json!(0.0)),
    }))
}

fn packet_radio(hops: u32) -> Value {
    on_medium(json!({
        "kind": "packet-radio", "hops": hops, "bps": 100_000, "latency_ps": 10 * MS, "to_receive_ps": 11_125_000_000u64,
        "to_send_ps": 13_250_000_000u64, "rts_bytes": 40, "cts_bytes": 40, "header_bytes": 16, "ack_bytes": 16,
        "backoff_base_ps": 20 * MS, "backoff_cap_ps": 120 * MS, "defer_by_backoff": true, "nack_cts": false, "piggyback": true,
        "ack_timeout_ps": 100 * MS, "tries": 8, "relay_packets": 10, "frame_error": both(json!(0.0)),
    }))
}

/// 4 Mb/s in each direction, `cap` bits per second for each station.
fn grants(cap: Option<u64>, error: f64) -> Value {
    let direction = json!({
        "bps": 4_000_000, "interval_ps": 2 * MS, "block": false, "packet_header": 10, "block_header": 20,
        "cap": cap.map(|bps| json!({"bps": bps, "burst": 3000})),
        "repair": {"error": error, "attempts": 4, "delay_ps": 8 * MS, "rounds": 2, "round_delay_ps": 40 * MS},
    });
    on_medium(json!({
        "kind": "grants", "down": direction, "up": direction, "grant_delay_ps": 4 * MS, "piggyback": true, "many_requests": false,
        "ask": {"kind": "contention", "opportunities": 4, "backoff": [2, 6], "tries": 16},
    }))
}

/// 7 MHz, frames of 5 ms, 64-QAM 3/4, three symbols of four down.
fn wimax() -> Value {
    on_medium(crate::media::wimax(3, 1))
}

fn all_kinds() -> Vec<(&'static str, Value)> {
    vec![
        ("rated", rated()),
        ("recorded", recorded()),
        ("half-duplex", half_duplex(2)),
        ("wlan", wlan()),
        ("packet radio", packet_radio(1)),
        ("packet radio of three hops", packet_radio(3)),
        ("grants", grants(None, 0.0)),
        ("grants with errors", grants(None, 0.1)),
        ("grants with a rate limit", grants(Some(1_000_000), 0.0)),
        ("wimax", wimax()),
    ]
}

// finding("U2")
#[test]
fn hop_is_not_idle_when_saturated() {
    for (kind, hop) in all_kinds() {
        for bps in [[30_000_000, 0], [0, 30_000_000], [30_000_000, 30_000_000]] {
            let rows = account_of(&hop, 1000, bps);
            for (row, _) in rows.iter().zip(bps).filter(|&(_, bps)| bps > 0) {
                assert!(row.time.idle <= 0.03, "{kind} {bps:?}: {row:?}");
                assert!(row.full_share >= 0.9, "{kind} {bps:?}: {row:?}");
            }
        }
    }
}

// finding("U2")
#[test]
fn hop_is_mostly_idle_when_lightly_loaded() {
    for (kind, hop) in all_kinds() {
        // A packet of 200 bytes every 1.6 s.
        for bps in [[1000, 0], [0, 1000]] {
            for row in account_of(&hop, 200, bps) {
                assert!(row.time.idle >= 0.8, "{kind}: {row:?}");
            }
        }
    }
}

// finding("U2")
#[test]
fn shared_medium_is_idle_until_a_packet_arrives() {
    // A packet of 200 bytes in each direction every 1.6 s; both take less than 4 ms.
    for (kind, hop) in [("half-duplex", half_duplex(0)), ("wlan", wlan())] {
        for row in account_of(&hop, 200, [1000, 1000]) {
            assert!(row.time.idle >= 0.9975, "{kind}: {row:?}");
        }
    }
}

#[test]
fn hop_without_a_rate_is_idle() {
    let pipe = hop("pipe", hop_direction(0, 5, 0), hop_direction(0, 5, 0));
    for row in account_of(&pipe, 1000, [1_000_000, 1_000_000]) {
        assert_eq!(row.time.idle, 1.0);
    }
}

#[test]
fn rated_hop_sends_for_the_serialisation_share() {
    // 1000 bytes at 1 Mb/s take 8 ms; one every 20 ms.
    let [down, up] = account_of(&rated(), 1000, [400_000, 0]);
    close(Some(down.time.sending), 0.4, 1e-3);
    close(Some(down.time.idle), 0.6, 1e-3);
    assert_eq!((down.time.overhead, down.time.blocked, up.time.idle), (0.0, 0.0, 1.0));
}

#[test]
fn recorded_hop_wastes_the_part_of_opportunities_that_packets_leave() {
    // One packet of 300 bytes uses a fifth of an opportunity; 100 opportunities for 60 packets.
    let [down, _] = account_of(&recorded(), 300, [125_000, 0]);
    let busy = 1.0 - down.time.idle;
    close(Some(down.time.sending / busy), 0.2, 0.02);
    close(Some(down.full_share), down.time.sending, 1e-9);
    assert!(down.full_share < 0.2, "{down:?}");
}

// finding("U2")
#[test]
fn medium_is_idle_between_packets_when_each_finds_it_empty() {
    // A packet of 1000 bytes every 20 ms takes 8 ms at 1 Mb/s; on 802.11b, without a back-off, a
    // preamble of 192 us and 1036 bytes at 11 Mb/s.
    for (medium, busy_ms) in [(half_duplex(0), 8.0), (wlan(), 0.192 + 0.754)] {
        let [down, up] = account_of(&medium, 1000, [400_000, 0]);
        close(Some(down.time.idle), 1.0 - busy_ms / 20.0, 2e-3);
        close(Some(down.full_share), busy_ms / 20.0, 2e-3);
        assert_eq!(up.time.idle, 1.0);
    }
}

#[test]
fn half_duplex_direction_is_blocked_while_the_other_one_sends() {
    // Each packet takes 8 ms and a turnaround of 2 ms; the directions alternate.
    for row in account_of(&half_duplex(2), 1000, [2_000_000, 2_000_000]) {
        close(Some(row.time.sending), 0.4, 2e-3);
        close(Some(row.time.overhead), 0.1, 2e-3);
        close(Some(row.time.blocked), 0.5, 2e-3);
    }
}

#[test]
fn wlan_of_one_sender_has_the_overhead_of_dcf() {
    // Per frame: DIFS, the mean back-off of 15.5 slots, the preamble, SIFS, the ACK; and 1036 bytes
    // at 11 Mb/s in whole microseconds.
    let sending = 754.0;
    let overhead = 50.0 + 310.0 + 192.0 + 10.0 + 304.0;
    let [down, _] = account_of(&wlan(), 1000, [11_000_000, 0]);
    close(Some(down.time.sending), sending / (sending + overhead), 0.005);
    close(Some(down.time.overhead), overhead / (sending + overhead), 0.005);
}

#[test]
fn packet_radio_has_the_overhead_of_its_exchange() {
    // RTS, CTS and two turnarounds beside 1016 bytes, at 100 kb/s.
    let (frame, overhead) = (1016.0 * 0.08, 2.0 * 13.25 + 2.0 * 40.0 * 0.08);
    let [down, _] = account_of(&packet_radio(1), 1000, [200_000, 0]);
    close(Some(down.time.sending), frame / (frame + overhead), 0.01);
    close(Some(down.time.overhead), overhead / (frame + overhead), 0.01);
}

#[test]
fn wimax_frame_has_the_overhead_of_preamble_and_maps() {
    // 146 symbols of 34 us in 5 ms: 109 down, 37 up. Preamble and header take 3 symbols, maps and
    // gap another 3 (see `wimax_utilization_is_that_of_the_data_symbols`).
    let symbol = 0.034 / 5.0;
    let [down, _] = account_of(&wimax(), 1000, [30_000_000, 0]);
    close(Some(down.time.blocked), 37.0 * symbol, 0.002);
    close(Some(down.time.sending), 103.0 * symbol, 0.01);
    close(Some(down.time.overhead), 1.0 - 140.0 * symbol, 0.012);
}

#[test]
fn saturated_grants_have_the_overhead_of_their_headers() {
    // An interval carries 1000 bytes: 20 of a share's header, 10 for each packet of 1000 bytes.
    let [_, up] = account_of(&grants(None, 0.0), 1000, [0, 8_000_000]);
    close(Some(up.time.sending), 0.98 * 1000.0 / 1010.0, 0.01);
    // Retransmissions of the link layer are overhead: a share e / (1 - e) of the first ones.
    let [_, up] = account_of(&grants(None, 0.1), 1000, [0, 8_000_000]);
    close(Some(up.time.sending), 0.98 * 1000.0 / 1010.0 * 0.9, 0.02);
}

#[test]
fn capped_station_leaves_no_capacity_although_the_channel_sends_little() {
    let [down, _] = account_of(&grants(Some(1_000_000), 0.0), 1000, [8_000_000, 0]);
    assert!(down.time.sending < 0.3 && down.full_share > 0.97, "{down:?}");
}

/// A download with this window, in packets of 1052 bytes, over 1 Mb/s and an RTT of 100 ms, with or
/// without an upload over 200 kb/s.
fn download(window: u32, upload: bool) -> ackclock_sim::summary::PathRow {
    let mut down = bulk("down", &[0]);
    down["tcp"]["receive_buffer"] = json!(1000 * window);
    let mut flows = vec![down];
    if upload {
        let mut up = bulk("up", &[0]);
        up["direction"] = json!("up");
        up["tcp"]["receive_buffer"] = json!(20_000);
        flows.push(up);
    }
    let path = json!([hop("path", hop_direction(1_000_000, 50, 100), hop_direction(200_000, 50, 100))]);
    go(&plan(30_000, path, json!(flows))).summary.flows.swap_remove(0).path.expect("a TCP flow")
}

#[test]
fn path_is_saturated_only_when_the_window_fills_it() {
    // 12.5 packets fill the path.
    let below = download(9, false).saturated.expect("a hop");
    let above = download(20, false).saturated.expect("a hop");
    assert!(below.share < 0.05, "{below:?}");
    assert!(above.share > 0.95, "{above:?}");
    assert_eq!((above.hop.as_str(), above.direction), ("path", "down"));
}

#[test]
fn acks_wait_behind_the_data_of_an_upload() {
    let alone = download(9, false).ack_wait.expect("a hop");
    assert!(alone.share < 0.05, "{alone:?}");
    // A window of 20 packets takes 840 ms at 200 kb/s; 100 ms of it are the RTT.
    let beside = download(9, true);
    let wait = beside.ack_wait.expect("a hop");
    assert_eq!((wait.hop.as_str(), wait.direction), ("path", "up"));
    assert!(wait.share > 0.75 && (600.0..850.0).contains(&beside.ack_wait_ms), "{wait:?} {}", beside.ack_wait_ms);
}

// finding("U2")
#[test]
fn shared_medium_has_no_free_capacity_while_the_other_direction_sends() {
    // 8 ms of each 10 ms go up; a packet down every 1.6 s.
    let [down, up] = account_of(&half_duplex(0), 1000, [5000, 800_000]);
    assert!(down.time.idle > 0.95 && down.full_share > 0.75, "{down:?}");
    close(Some(up.full_share), down.full_share, 1e-9);
}
