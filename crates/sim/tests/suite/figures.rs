//! Reported metrics of constant-rate traffic against values computed by hand.

use crate::common::{MS, S, bulk, cbr, close, flow, go, hop, hop_direction, plan, tcp};
use serde_json::{Value, json};

/// No rate limit and 25 ms of delay: packets sent every 10 ms arrive at 25, 35, 45 ms and so on.
fn pipe() -> Value {
    json!([hop("pipe", hop_direction(0, 25, 0), hop_direction(0, 25, 0))])
}

#[test]
fn goodput_counts_arrivals_before_the_end_of_the_run() {
    let result = go(&plan(1000, pipe(), json!([cbr("c", &[0])])));
    let row = &result.summary.flows[0];
    // Sent at 0 to 990 ms; the last arrival before 1 s is at 995 ms.
    assert_eq!((row.segments_sent, result.summary.engine.data_packets), (100, 98));
    close(row.goodput_bps, 98.0 * 972.0 * 8.0, 1e-6);
    close(row.throughput_bps, 98.0 * 1000.0 * 8.0, 1e-6);
    assert_eq!((row.variant.as_str(), row.rtt_ms.count, row.completed_s), ("udp", 0, None));
}

#[test]
fn lost_datagrams_count_as_infinite_delay() {
    let found = |rate_bps: u64, queue: u64| {
        let narrow = hop("narrow", hop_direction(rate_bps, 25, queue), hop_direction(0, 25, 0));
        let result = go(&plan(2000, json!([narrow]), json!([cbr("c", &[0])])));
        let row = result.summary.flows[0].clone();
        (row.datagrams.unwrap(), row.one_way_delay_ms.unwrap())
    };
    // 1000 B each 10 ms are 800 kb/s.
    let (datagrams, delay) = found(1_000_000, 10);
    assert_eq!((datagrams.lost, datagrams.delay_p95_ms), (0, delay.p95));
    let (datagrams, delay) = found(400_000, 4);
    // A packet takes 20 ms, so that the 98th arrives at 1,985 ms. It waited up to five such times, and
    // was sent as number 186 to 188: the others before it are lost.
    assert!((88..=90).contains(&datagrams.lost), "{}", datagrams.lost);
    assert_eq!(datagrams.delay_p95_ms, None);
    assert!(delay.p95.unwrap() < 130.0, "of those that arrived");
}

#[test]
fn interval_counts_events_within_it_only() {
    let mut plan = plan(1000, pipe(), json!([cbr("c", &[0])]));
    plan["measure"] = json!({"kind": "interval", "from_ps": 200 * MS, "to_ps": 700 * MS});
    let result = go(&plan);
    let row = &result.summary.flows[0];
    // Arrivals at 205 to 695 ms.
    assert_eq!(row.segments_sent, 50);
    close(row.goodput_bps, 50.0 * 972.0 * 8.0 / 0.5, 1e-6);
    assert_eq!(result.summary.hops[0].delivered, 50);
}

#[test]
fn stopped_flow_is_measured_until_its_stop() {
    let mut source = cbr("c", &[0]);
    source["stop_ps"] = json!(505 * MS);
    let row = &go(&plan(1000, pipe(), json!([source]))).summary.flows[0];
    // Arrivals at 25 to 495 ms.
    close(row.goodput_bps, 48.0 * 972.0 * 8.0 / 0.505, 1e-6);
    close(Some(row.end_s), 0.505, 1e-12);
}

#[test]
fn rate_excludes_the_time_before_a_late_start() {
    let mut source = cbr("c", &[0]);
    source["start"] = json!({"low_ps": 500 * MS, "high_ps": 500 * MS});
    let row = &go(&plan(1000, pipe(), json!([source]))).summary.flows[0];
    // Arrivals at 525 to 995 ms, in half a second.
    close(row.goodput_bps, 48.0 * 972.0 * 8.0 / 0.5, 1e-6);
    close(row.host_start_s, 0.5, 1e-12);
    close(Some(row.from_s), 0.5, 1e-12);
}

#[test]
fn rate_is_none_when_the_flow_does_not_run_in_the_window() {
    let mut late = cbr("late", &[0]);
    late["start"] = json!({"low_ps": 900 * MS, "high_ps": 900 * MS});
    let mut plan = plan(1000, pipe(), json!([cbr("c", &[0]), late]));
    plan["measure"] = json!({"kind": "interval", "from_ps": 0, "to_ps": 500 * MS});
    let result = go(&plan);
    assert!(result.summary.flows[0].goodput_bps.is_some());
    assert_eq!(result.summary.flows[1].goodput_bps, None);
}

#[test]
fn queue_delay_is_zero_and_one_service_time_for_two_packets_at_once() {
    // Two packets every 10 ms with a service time of 5 ms: the link is always busy, and the second
    // packet waits 5 ms.
    let link = json!([hop("link", hop_direction(1_600_000, 0, 0), hop_direction(0, 0, 0))]);
    let result = go(&plan(1000, link, json!([cbr("a", &[0]), cbr("b", &[0])])));
    let row = &result.summary.hops[0];
    close(row.utilization, 1.0, 1e-9);
    close(row.queue_delay_ms.mean, 2.5, 1e-6);
    close(row.queue_delay_ms.max, 5.0, 1e-6);
    close(row.queue_delay_ms.p95, 5.0, 0.05);
    close(Some(row.queue_packets_mean), 0.5, 1e-9);
}

#[test]
fn full_queue_counts_its_drops() {
    // Two packets every 10 ms with a service time of 10 ms and a queue of one: from the second pair
    // on, half is lost.
    let link = json!([hop("link", hop_direction(800_000, 0, 1), hop_direction(0, 0, 0))]);
    let result = go(&plan(1000, link, json!([cbr("a", &[0]), cbr("b", &[0])])));
    let row = &result.summary.hops[0];
    assert_eq!(row.drops, row.drops_by_cause["queue_full"]);
    assert!((98..=100).contains(&row.drops), "{}", row.drops);
    close(row.utilization, 1.0, 1e-9);
}

#[test]
fn per_client_hops_add_drops_and_average_utilization() {
    let mut per_client = hop("access", hop_direction(1_600_000, 1, 0), hop_direction(0, 0, 0));
    per_client["per_client"] = json!(true);
    let mut second = cbr("b", &[0]);
    second["client"] = json!(1);
    let mut plan = plan(1000, json!([per_client]), json!([cbr("a", &[0]), second]));
    plan["clients"] = json!(4);
    let result = go(&plan);
    let row = &result.summary.hops[0];
    // Two of four links have a utilization of 0.5.
    close(row.utilization, 0.25, 1e-9);
    assert_eq!((row.queue_delay_ms.count, row.delivered), (200, 200));
    close(row.queue_delay_ms.max, 0.0, 0.0);
    assert_eq!(result.hops.station[..4], [Some(0), Some(1), Some(2), Some(3)]);
}

#[test]
fn samples_are_at_multiples_of_the_step_before_the_events_of_that_instant() {
    // Packets are sent at 10 k ms and arrive at 25 + 10 k ms. The packet sent at 100 ms is not in
    // the sample at 100 ms.
    let link = json!([hop("link", hop_direction(80_000_000, 25, 0), hop_direction(0, 25, 0))]);
    let result = go(&plan(1000, link, json!([cbr("c", &[0])])));
    let down: Vec<usize> = (0..result.hops.time_s.len()).filter(|&i| result.hops.direction[i] == "down").collect();
    assert_eq!(down.len(), 10);
    for (k, &i) in down.iter().enumerate() {
        close(Some(result.hops.time_s[i]), (k + 1) as f64 * 0.1, 1e-12);
        assert_eq!(result.hops.delivered_bytes[i], (k as u64 + 1) * 10 * 1000);
    }
}

#[test]
fn transfer_time_includes_the_handshake() {
    // 8 Mb/s and 50 ms in each direction: at least two RTTs and a service time.
    let path = json!([hop("path", hop_direction(8_000_000, 50, 0), hop_direction(8_000_000, 50, 0))]);
    let file = flow("file", &[0], json!({"kind": "transfer", "bytes": 1000}), tcp("reno"));
    let row = &go(&plan(5000, path, json!([file]))).summary.flows[0];
    let seconds = row.completed_s.expect("complete");
    // SYN, SYN-ACK, ACK, data: two RTTs and the service time of four packets.
    close(Some(seconds), 0.2 + (60.0 + 60.0 + 52.0 + 1052.0) * 1e-6, 1e-9);
    close(row.goodput_bps, 8000.0 / seconds, 1e-6);
    close(row.throughput_bps, 1052.0 * 8.0 / seconds, 1e-6);
}

#[test]
fn all_active_window_is_from_the_last_start_to_the_first_end() {
    let path = json!([hop("path", hop_direction(8_000_000, 5, 100), hop_direction(8_000_000, 5, 100))]);
    let file = flow("file", &[0], json!({"kind": "transfer", "bytes": 500_000}), tcp("reno"));
    let mut long = bulk("long", &[0]);
    long["start"] = json!({"low_ps": 100 * MS, "high_ps": 100 * MS});
    let mut plan = plan(20_000, path, json!([file, long]));
    let whole = go(&plan);
    plan["measure"] = json!({"kind": "all-active"});
    let active = go(&plan);
    let end = whole.summary.flows[0].completed_s.expect("complete");
    for row in &active.summary.flows {
        close(Some(row.end_s), end, 1e-9);
        // One of them started before the window.
        close(Some(row.from_s), 0.1, 1e-9);
        let covered = end - 0.1;
        assert!(row.goodput_bps.expect("a rate") <= 8_000_000.0 && covered > 0.0);
    }
    close(active.summary.hops[0].utilization, 1.0, 0.02);
}

#[test]
fn all_active_run_fails_when_flows_never_overlap() {
    let mut late = bulk("late", &[0]);
    late["start"] = json!({"low_ps": 3 * S, "high_ps": 3 * S});
    let file = flow("file", &[0], json!({"kind": "transfer", "bytes": 1000}), tcp("reno"));
    let mut plan =
        plan(5000, json!([hop("p", hop_direction(8_000_000, 5, 0), hop_direction(8_000_000, 5, 0))]), json!([file, late]));
    plan["measure"] = json!({"kind": "all-active"});
    let error = ackclock_sim::run(&ackclock_sim::Plan::from_json(&plan.to_string()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("never all run at once") && !error.contains('\n'), "{error}");
}
