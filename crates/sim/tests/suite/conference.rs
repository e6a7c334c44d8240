//! Conferences over whole networks.

use crate::common::{S, flow, go, hop, hop_direction, plan};
use ackclock_core::score::ConferenceScore;
use ackclock_sim::metrics::AppScore;
use ackclock_sim::{Plan, RunResult};
use serde_json::{Value, json};

fn work(both_directions: bool) -> Value {
    json!({
        "kind": "conference", "frame_rate": 30, "min_bps": 50_000, "start_bps": 300_000, "max_bps": 2_500_000,
        "both_directions": both_directions,
    })
}

/// A conference over one hop for 60 s, measured from 30 s on.
fn conference(down: Value, up: Value, both_directions: bool) -> Value {
    let mut plan = plan(60_000, json!([hop("line", down, up)]), json!([flow("meet", &[0], work(both_directions), Value::Null)]));
    plan["measure"] = json!({"kind": "interval", "from_ps": 30 * S, "to_ps": 60 * S});
    plan
}

fn score(run: &RunResult) -> ConferenceScore {
    match run.summary.flows[0].app.as_ref().map(|app| app.score) {
        Some(AppScore::Conference(score)) => score,
        other => panic!("a conference, not {other:?}"),
    }
}

#[test]
fn conference_fills_a_line_with_little_delay_and_no_freeze() {
    let run = go(&conference(hop_direction(1_000_000, 20, 30), hop_direction(1_000_000, 20, 30), true));
    let found = score(&run);
    assert!((0.7e6..1.0e6).contains(&found.bitrate_bps.unwrap()), "{found:?}");
    // 20 ms of the path, 26 ms of a frame at the rate of the line, and the queue of the over-use detector.
    assert!(found.delay_p95_ms.unwrap() < 160.0, "{found:?}");
    assert_eq!((found.freezes, found.late_share), (0, Some(0.0)));
    let row = &run.summary.flows[0];
    assert!(row.goodput_bps.is_some_and(|bps| bps > 0.65e6) && row.variant == "udp");
}

#[test]
fn conference_has_the_score_of_its_worse_direction() {
    let found = score(&go(&conference(hop_direction(0, 20, 0), hop_direction(600_000, 20, 30), true)));
    assert!((0.4e6..0.6e6).contains(&found.bitrate_bps.unwrap()), "{found:?}");
    let down = score(&go(&conference(hop_direction(0, 20, 0), hop_direction(600_000, 20, 30), false)));
    assert!(down.bitrate_bps.unwrap() > 2e6, "media in one direction, and feedback in the other: {down:?}");
}

#[test]
fn conference_repairs_independent_losses_without_a_freeze() {
    let mut lossy = hop_direction(0, 20, 0);
    lossy["loss"] = json!({"kind": "bernoulli", "mean": 0.01});
    let found = score(&go(&conference(lossy, hop_direction(0, 20, 0), false)));
    assert!(found.bitrate_bps.unwrap() > 2e6 && found.freezes == 0, "{found:?}");
    // A repair takes a round trip more.
    assert!((20.0..120.0).contains(&found.delay_p95_ms.unwrap()), "{found:?}");
    let mut heavy = hop_direction(0, 20, 0);
    heavy["loss"] = json!({"kind": "bernoulli", "mean": 0.2});
    let found = score(&go(&conference(heavy, hop_direction(0, 20, 0), false)));
    assert!(found.bitrate_bps.unwrap() < 0.3e6, "the loss-based controller: {found:?}");
}

#[test]
fn conference_freezes_while_the_line_is_down() {
    let mut down = hop_direction(1_000_000, 20, 30);
    down["outage"] = json!([{"start_ps": 40 * S, "end_ps": 43 * S}]);
    let found = score(&go(&conference(down, hop_direction(1_000_000, 20, 30), false)));
    assert!(found.freezes >= 1 && (2.5..8.0).contains(&found.freeze_s), "{found:?}");
    assert!(found.late_share.unwrap() > 0.05, "{found:?}");
}

#[test]
fn conference_is_refused_when_its_rates_are_out_of_order_or_feedback_has_no_path() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut plan = conference(hop_direction(1_000_000, 20, 30), hop_direction(1_000_000, 20, 30), true);
        change(&mut plan);
        Plan::from_json(&plan.to_string()).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|plan| plan["flows"][0]["workload"]["start_bps"] = 3_000_000.into()));
    assert!(refused(&|plan| plan["flows"][0]["workload"]["min_bps"] = 1000.into()));
    assert!(refused(&|plan| plan["flows"][0]["workload"]["frame_rate"] = 0.into()));
    assert!(refused(&|plan| plan["hops"][0]["up"] = Value::Null));
}
