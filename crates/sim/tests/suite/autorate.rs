//! Shapers whose rate cake-autorate's rules change, behind a line.

use crate::common::{MS, bulk, cbr, go, hop, hop_direction, plan};
use ackclock_sim::{Plan, RunResult};
use serde_json::{Value, json};

fn cake_autorate() -> Value {
    json!({"cake-autorate": {
        "owd_delta_delay_thr_ps": 30 * MS, "avg_owd_delta_max_adjust_up_thr_ps": 10 * MS,
        "avg_owd_delta_max_adjust_down_thr_ps": 60 * MS, "bufferbloat_detection_window": 6, "bufferbloat_detection_thr": 3,
        "alpha_baseline_increase": 0.001, "alpha_baseline_decrease": 0.9,
        "shaper_rate_min_adjust_down_bufferbloat": 0.99, "shaper_rate_max_adjust_down_bufferbloat": 0.75,
        "shaper_rate_min_adjust_up_load_high": 1.0, "shaper_rate_max_adjust_up_load_high": 1.04,
        "shaper_rate_adjust_down_load_low": 0.99, "shaper_rate_adjust_up_load_low": 1.01, "high_load_thr": 0.75,
        "bufferbloat_refractory_period_ps": 300 * MS, "decay_refractory_period_ps": 1000 * MS,
    }})
}

fn autorate() -> Value {
    json!({"controller": cake_autorate(), "min_bps": 5_000_000, "max_bps": 80_000_000, "monitor_ps": 200 * MS,
        "pings": {"pingers": 6, "interval_ps": 300 * MS, "method": "fping"}})
}

/// A router's shaper of 20 Mb/s without a burst.
fn shaped(autorate: Value) -> Value {
    let queue = json!({"kind": "fq-codel", "packets": 1000, "bytes": 4_000_000, "target_ps": 5 * MS, "interval_ps": 100 * MS, "mtu": 1514,
        "signal": "drop", "flows": 1024, "quantum": 1514});
    let mut side = hop_direction(0, 0, 0);
    side["shaper"] = json!({"bps": 20_000_000, "burst": null, "peak_bps": null, "queue": queue});
    if !autorate.is_null() {
        side["shaper"]["autorate"] = autorate;
    }
    side
}

/// Downstream the line, then the shaper; the other way round upstream.
fn home(line_bps: u64, packets: u64, shaper: Value, flow: Value, duration_ms: u64) -> Value {
    let line = hop("line", hop_direction(line_bps, 10, packets), hop_direction(line_bps, 10, packets));
    let mut flow = flow;
    flow["hops"] = json!([0, 1]);
    plan(duration_ms, json!([line, hop("router", shaper, hop_direction(0, 0, 0))]), json!([flow]))
}

/// Rates of the shaper in Mb/s from a time on.
fn rates(result: &RunResult, from_s: f64) -> Vec<f64> {
    let hops = &result.hops;
    let rows = (0..hops.hop.len()).filter(|&row| hops.time_s[row] >= from_s);
    rows.filter_map(|row| Some(hops.shaper_rate_bps[row]? as f64 / 1e6)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn shaper_rises_to_its_maximum_when_the_line_is_faster() {
    let result = go(&home(200_000_000, 1000, shaped(autorate()), bulk("x", &[]), 30_000));
    let rates = rates(&result, 20.0);
    assert!(rates.contains(&80.0) && mean(&rates) > 76.0, "{rates:?}");
    assert!(result.summary.flows[0].goodput_bps > Some(45e6));
}

#[test]
fn shaper_follows_a_line_with_a_deep_buffer_and_keeps_its_queue_short() {
    let at = |shaper: Value| go(&home(40_000_000, 1000, shaper, bulk("x", &[]), 60_000));
    let controlled = at(shaped(autorate()));
    let rate = mean(&rates(&controlled, 20.0));
    // The load is high up to 40 / 0.75 Mb/s, and the last step is 4 %.
    assert!((30.0..40.0 / 0.75 * 1.041).contains(&rate), "{rate} Mb/s");
    assert!(controlled.summary.flows[0].goodput_bps > Some(30e6), "{:?}", controlled.summary.flows[0].goodput_bps);
    // Without a shaper the buffer holds 1000 packets of 1052 B: 210 ms.
    let open = at(hop_direction(0, 0, 0));
    let delay = |result: &RunResult| result.summary.hops[0].queue_delay_ms.p50.expect("packets");
    assert!(delay(&controlled) < 0.3 * delay(&open), "{} {}", delay(&controlled), delay(&open));
}

#[test]
fn shaper_stays_below_the_rate_at_which_the_load_is_no_longer_high_when_the_line_has_no_buffer() {
    // Nothing delays the pings: the load is high up to 20 / 0.75 Mb/s, and the last step is 4 %.
    let result = go(&home(20_000_000, 10, shaped(autorate()), bulk("x", &[]), 40_000));
    let rates = rates(&result, 0.0);
    assert!(rates.iter().all(|&rate| (20.0..20.0 / 0.75 * 1.041).contains(&rate)), "{rates:?}");
}

#[test]
fn shaper_stays_at_its_base_when_the_line_is_idle_or_nearly() {
    let result = go(&home(40_000_000, 1000, shaped(autorate()), cbr("x", &[]), 20_000));
    assert!(rates(&result, 0.0).iter().all(|&rate| rate == 20.0));
}

#[test]
fn shaper_falls_to_its_minimum_when_the_line_falls_below_it() {
    let mut plan = home(40_000_000, 1000, shaped(autorate()), bulk("x", &[]), 60_000);
    plan["hops"][0]["down"]["rate"] = json!({"kind": "schedule", "steps": [[0, 40_000_000], [20_000 * MS, 3_000_000]]});
    let result = go(&plan);
    assert!(mean(&rates(&result, 15.0)[..40]) > 25.0);
    assert!(mean(&rates(&result, 40.0)) < 5.5, "{}", mean(&rates(&result, 40.0)));
}

#[test]
fn upstream_shaper_of_a_station_has_pings_of_its_own() {
    let mut plan = home(40_000_000, 1000, hop_direction(0, 0, 0), bulk("x", &[]), 40_000);
    plan["hops"][1]["up"] = shaped(autorate());
    plan["hops"][1]["per_client"] = json!(true);
    plan["clients"] = json!(2);
    plan["flows"][0]["direction"] = json!("up");
    let result = go(&plan);
    let hops = &result.hops;
    let of = |client: u32| {
        let rows = (0..hops.hop.len()).filter(move |&row| hops.station[row] == Some(client) && hops.time_s[row] > 20.0);
        rows.filter_map(|row| hops.shaper_rate_bps[row]).collect::<Vec<_>>()
    };
    let busy: Vec<f64> = of(0).iter().map(|&bps| bps as f64 / 1e6).collect();
    assert!(mean(&busy) > 25.0, "{busy:?}");
    // The other client's pings see the queue of the line, but its own shaper is idle.
    assert!(of(1).iter().all(|&rate| rate <= 20_000_000), "{:?}", of(1));
}

#[test]
fn one_way_delays_spare_the_direction_without_a_queue() {
    let both = |method: &str| {
        let mut controller = autorate();
        controller["pings"]["method"] = json!(method);
        let mut plan = home(15_000_000, 1000, shaped(controller.clone()), bulk("x", &[]), 40_000);
        // The line's queue is upstream alone; downstream a little traffic.
        plan["hops"][0]["down"] = hop_direction(100_000_000, 10, 1000);
        plan["flows"][0]["direction"] = json!("up");
        rates(&go(&plan), 10.0)
    };
    assert!(both("tsping").iter().all(|&rate| rate == 20.0));
    assert!(mean(&both("fping")) < 15.0, "half of the round-trip time is a delay downstream, too");
}

#[test]
fn fixed_shaper_and_its_flows_are_as_without_the_key() {
    let text = |plan: &Value| format!("{:?}", go(plan));
    let plain = home(40_000_000, 1000, shaped(Value::Null), bulk("x", &[]), 5_000);
    let mut null = plain.clone();
    null["hops"][1]["down"]["shaper"]["autorate"] = Value::Null;
    assert_eq!(text(&plain), text(&null));
    // A controller that may choose one rate only: the pings are all that is new.
    let mut fixed = autorate();
    (fixed["min_bps"], fixed["max_bps"]) = (json!(20_000_000), json!(20_000_000));
    let pinged = go(&home(40_000_000, 1000, shaped(fixed), bulk("x", &[]), 5_000));
    let (with, without) =
        (pinged.summary.flows[0].goodput_bps.expect("a rate"), go(&plain).summary.flows[0].goodput_bps.expect("a rate"));
    assert!((with / without - 1.0).abs() < 0.02, "{with} {without}");
}

#[test]
fn check_of_a_controller_names_its_place() {
    let message = |change: &dyn Fn(&mut Value)| {
        let mut side = shaped(autorate());
        change(&mut side["shaper"]);
        let plan = home(40_000_000, 1000, side, cbr("x", &[]), 1000);
        Plan::from_json(&plan.to_string()).expect_err("an error").to_string()
    };
    let place = "hop 'router' down: shaper: ";
    let order = message(&|shaper| shaper["autorate"]["min_bps"] = json!(21_000_000));
    assert_eq!(order, format!("{place}autorate: min_bps 21000000, bps 20000000 and max_bps 80000000 do not increase"));
    assert_eq!(
        message(&|shaper| shaper["autorate"]["pings"]["pingers"] = json!(0)),
        format!("{place}0 pingers: 1 to 1000 are possible")
    );
    assert_eq!(
        message(&|shaper| shaper["peak_bps"] = json!(90_000_000)),
        format!("{place}autorate: a shaper with peak_bps has one rate")
    );
    assert!(message(&|shaper| shaper["autorate"]["surprise"] = json!(1)).contains("surprise"));
    let user = json!({"user": {"name": "python:my.Controller", "digest": "0"}});
    let mut side = shaped(autorate());
    side["shaper"]["autorate"]["controller"] = user;
    let plan = home(40_000_000, 1000, side, cbr("x", &[]), 1000);
    let missing = Plan::from_json(&plan.to_string()).expect("a plan").check_user_code().expect_err("no code").to_string();
    assert_eq!(missing, "there is no rate controller 'python:my.Controller': it must be given with the plan");
}
