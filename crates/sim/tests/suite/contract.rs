//! The contract of a plan: equal plans give equal bytes, an invalid plan gives one line.

use crate::common::{MS, S, bulk, cbr, go, hop, hop_direction, plan, tcp};
use ackclock_sim::Plan;
use serde_json::{Value, json};

fn good() -> Value {
    let mut down = hop_direction(2_000_000, 20, 20);
    down["loss"] = json!({"kind": "bernoulli", "mean": 0.005});
    let mut flow = bulk("d", &[0]);
    flow["start"] = json!({"low_ps": 0, "high_ps": S});
    flow["overhead_ps"] = json!(50_000_000u64);
    let burst = json!({"kind": "onoff", "bps": 500_000, "on_ps": 500 * MS, "off_ps": 500 * MS, "distribution": "pareto", "shape": 1.5, "packet": 500});
    let mut cross = cbr("x", &[0]);
    cross["workload"] = burst;
    plan(20_000, json!([hop("h", down, hop_direction(2_000_000, 20, 20))]), json!([flow, cross]))
}

#[test]
fn equal_plans_give_equal_bytes() {
    let (a, b) = (go(&good()), go(&good()));
    assert_eq!(serde_json::to_string(&a.summary).unwrap(), serde_json::to_string(&b.summary).unwrap());
    assert_eq!((a.series, a.hops), (b.series, b.hops));
}

#[test]
fn different_seeds_give_different_runs() {
    let mut other = good();
    other["seed"] = json!(2);
    assert_ne!(go(&good()).series, go(&other).series);
}

#[test]
fn recording_changes_no_result() {
    let mut silent = good();
    silent["sample_ps"] = json!(0);
    let (with, without) = (go(&good()), go(&silent));
    assert!(without.series.flow.is_empty() && !with.series.flow.is_empty());
    assert_eq!(serde_json::to_string(&with.summary.flows).unwrap(), serde_json::to_string(&without.summary.flows).unwrap());
}

#[test]
fn series_counters_grow_through_a_measurement_window() {
    let mut windowed = good();
    windowed["measure"] = json!({"kind": "interval", "from_ps": 5 * S, "to_ps": 15 * S});
    let result = go(&windowed);
    for column in [&result.series.delivered_bytes, &result.series.retransmitted_segments] {
        assert!(column.windows(2).all(|w| w[0] <= w[1]));
    }
    let down: Vec<u64> = (0..result.hops.hop.len())
        .filter(|&i| result.hops.direction[i] == "down")
        .map(|i| result.hops.delivered_bytes[i])
        .collect();
    assert!(down.windows(2).all(|w| w[0] <= w[1]));
    assert_eq!(result.series, go(&good()).series, "measuring changes no result");
}

#[test]
fn series_of_a_flow_begins_after_its_start_and_ends_with_it() {
    let mut plan = good();
    plan["flows"][0]["start"] = json!({"low_ps": S, "high_ps": S});
    plan["flows"][0]["workload"] = json!({"kind": "transfer", "bytes": 200_000});
    let result = go(&plan);
    let end = result.summary.flows[0].end_s;
    let times = &result.series.time_s;
    assert!(times.first().is_some_and(|&t| t > 1.0 && t < 1.2), "{times:?}");
    assert!(times.last().is_some_and(|&t| t >= end && t < end + 0.5), "{end} {times:?}");
    assert_eq!(result.series.delivered_bytes.last(), Some(&200_000));
}

/// A plan with one value changed, by JSON pointer.
fn with(pointer: &str, value: &Value) -> String {
    let mut plan = good();
    *plan.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value.clone();
    plan.to_string()
}

#[test]
fn invalid_plans_are_rejected_with_one_line_that_names_the_key() {
    let cases = [
        ("/duration_ps", json!(0), "duration_ps"),
        ("/duration_ps", json!(u64::MAX), "100 days"),
        ("/clients", json!(0), "clients"),
        ("/sample_ps", json!(1), "rows"),
        ("/hops", json!([]), "hops"),
        ("/flows", json!([]), "flows"),
        ("/flows/1/name", json!("d"), "two flows have the name 'd'"),
        ("/measure", json!({"kind": "interval", "from_ps": 5, "to_ps": 5}), "measure"),
        ("/measure", json!({"kind": "sometimes"}), "sometimes"),
        ("/measure", json!({"kind": "all", "from_ps": 1}), "from_ps"),
        ("/hops/0/down", json!(null), "direction down"),
        ("/hops/0/down/rate/bps", json!(0), "0 b/s"),
        ("/hops/0/down/rate", json!({"kind": "trace", "times_ms": []}), "opportunity"),
        ("/hops/0/down/rate", json!({"kind": "trace", "times_ms": [5, 3]}), "order"),
        ("/hops/0/down/rate", json!({"kind": "trace", "times_ms": [3, 5], "start_ps": 5 * MS}), "start_ps"),
        ("/hops/0/down/loss/mean", json!(1.5), "between 0 and 1"),
        ("/hops/0/down/loss", json!({"kind": "list", "packets": [0]}), "from 1"),
        ("/hops/0/down/outage", json!([{"start_ps": 5, "end_ps": 5}]), "outage"),
        ("/hops/0/down/jitter", json!({"kind": "pareto", "mean_ps": 1, "shape": 1.0, "in_order": true}), "shape"),
        ("/hops/0/down/delay_ps", json!(-1), "-1"),
        ("/flows/0/hops", json!([1]), "hops [1]"),
        ("/flows/0/hops", json!([]), "consecutive"),
        ("/flows/0/client", json!(1), "client 1"),
        ("/flows/0/stop_ps", json!(S), "stop_ps"),
        ("/flows/0/start/low_ps", json!(2 * S), "start.low_ps"),
        ("/flows/0/tcp", json!(null), "tcp is null"),
        ("/flows/1/tcp", tcp("reno"), "must be null"),
        ("/flows/0/tcp/variant", json!("tahoe2"), "'tahoe2'"),
        ("/flows/0/tcp/recovery", json!("hope"), "'hope'"),
        ("/flows/0/tcp/slow_start", json!("hasty"), "'hasty'"),
        ("/flows/0/tcp/segment", json!(0), "0 bytes"),
        ("/flows/0/tcp/segment", json!(65_500), "65535"),
        ("/flows/0/tcp/receive_buffer", json!(0), "receive buffer"),
        ("/flows/0/tcp/send_tuning", json!({"start": 2, "limit": 1, "overhead": 0}), "send_tuning"),
        ("/flows/0/tcp/receive_tuning", json!({"start": 1_000_001, "share": 1.0, "opening": 1}), "receive_tuning"),
        ("/flows/0/tcp/receive_tuning", json!({"start": 1, "share": 1.5, "opening": 1}), "receive_tuning.share"),
        ("/flows/0/tcp/rto_min_ps", json!(0), "rto_min_ps"),
        ("/flows/0/tcp/initial_window", json!(0.0), "initial_window"),
        ("/flows/0/workload", json!({"kind": "transfer", "bytes": 0}), "0 bytes"),
        ("/flows/1/workload/packet", json!(28), "28 bytes"),
        ("/flows/1/workload/on_ps", json!(1), "on_ps"),
        ("/captures", json!([{"flow": "z", "end": "server", "path": "/x", "format": "pcap"}]), "'z'"),
    ];
    for (pointer, value, word) in cases {
        let error = Plan::from_json(&with(pointer, &value)).expect_err(pointer).to_string();
        assert!(error.contains(word) && !error.contains('\n') && error.len() < 300, "{pointer} = {value}: {error}");
    }
}

#[test]
fn plan_is_rejected_with_more_clients_than_the_index_holds() {
    let mut plan = good();
    plan["clients"] = json!(4_000_000_000u32);
    plan["hops"][0]["per_client"] = json!(true);
    let error = Plan::from_json(&plan.to_string()).unwrap_err().to_string();
    assert!(error.contains("4000000000 clients"), "{error}");
}

#[test]
fn missing_or_unknown_key_is_an_error_also_for_nullable_keys() {
    for pointer in ["/hops/0/down/loss", "/flows/0/stop_ps", "/flows/0/tcp/send_buffer", "/flows/0/tcp/limited_transmit", "/seed"]
    {
        let mut plan = good();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        plan.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
        let error = Plan::from_json(&plan.to_string()).expect_err(pointer).to_string();
        assert!(error.contains(key), "{error}");
        plan.pointer_mut(parent).unwrap()["surprise"] = json!(1);
        assert!(Plan::from_json(&plan.to_string()).is_err());
    }
}

#[test]
fn plan_is_rejected_when_the_rtt_is_zero() {
    let plan = plan(1000, json!([hop("h", hop_direction(0, 0, 0), hop_direction(0, 0, 0))]), json!([bulk("d", &[0])]));
    let error = Plan::from_json(&plan.to_string()).unwrap_err().to_string();
    assert!(error.contains("RTT is 0"), "{error}");
}

#[test]
fn run_stops_when_interrupted() {
    let plan = Plan::from_json(&good().to_string()).unwrap();
    let mut calls = 0;
    let error = ackclock_sim::run_while(&plan, &mut || {
        calls += 1;
        calls < 10
    });
    assert_eq!(error.unwrap_err().to_string(), "interrupted");
    assert_eq!(calls, 10);
}
