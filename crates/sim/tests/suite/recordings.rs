//! Recorded rates: the part of the recording that a run replays.

use crate::common::{MS, S, bulk, cbr, close, go, hop, hop_direction, plan};
use serde_json::{Value, json};

/// 10 s at 1.2 Mb/s, then 10 s at 12 Mb/s.
fn halves() -> Vec<u64> {
    (1..=1000).map(|n| 10 * n).chain((10_001..=20_000).map(|n: u64| n)).collect()
}

/// A download of 5 s over a recording.
fn download(times_ms: &[u64], start_ps: Option<u64>, seed: u64, variant: &str) -> Value {
    let mut down = hop_direction(0, 10, 50);
    down["rate"] = json!({"kind": "trace", "times_ms": times_ms});
    if let Some(start) = start_ps {
        down["rate"]["start_ps"] = json!(start);
    }
    let mut flow = bulk("d", &[0]);
    flow["tcp"]["variant"] = json!(variant);
    let mut plan = plan(5_000, json!([hop("air", down, hop_direction(5_000_000, 10, 50))]), json!([flow]));
    plan["seed"] = json!(seed);
    plan
}

fn start_s(plan: &Value) -> f64 {
    let row = go(plan).summary.hops[0].recording.expect("a recorded rate");
    close(Some(row.period_s), 20.0, 1e-12);
    row.start_s
}

// finding("U6")
#[test]
fn recording_starts_anywhere_when_the_plan_has_no_start() {
    let starts: Vec<f64> = (1..=40).map(|seed| start_s(&download(&halves(), None, seed, "reno"))).collect();
    assert!(starts.iter().all(|start| (0.0..20.0).contains(start)), "{starts:?}");
    for quarter in 0..4 {
        let inside = starts.iter().filter(|&&start| (start / 5.0) as u32 == quarter).count();
        assert!((3..=20).contains(&inside), "{inside} of 40 in quarter {quarter}: {starts:?}");
    }
}

// finding("U6")
#[test]
fn recording_start_is_the_same_when_only_the_variant_differs() {
    for seed in 1..=5 {
        let of = |variant| start_s(&download(&halves(), None, seed, variant));
        assert_eq!(of("reno").to_bits(), of("cubic").to_bits(), "seed {seed}");
    }
}

// finding("U6")
#[test]
fn recording_start_differs_when_the_contents_differ() {
    let mut other = halves();
    other[0] -= 1;
    assert_ne!(start_s(&download(&halves(), None, 1, "reno")), start_s(&download(&other, None, 1, "reno")));
}

// finding("U6")
#[test]
fn goodput_is_that_of_the_half_in_which_the_run_starts() {
    let goodput = |start_ps| go(&download(&halves(), Some(start_ps), 1, "reno")).summary.flows[0].goodput_bps.unwrap();
    let (slow, fast) = (goodput(0), goodput(10 * S));
    assert!((0.9e6..1.2e6).contains(&slow), "{slow}");
    assert!((6e6..12e6).contains(&fast), "{fast}");
    assert_eq!(start_s(&download(&halves(), Some(10 * S), 1, "reno")).to_bits(), 10.0_f64.to_bits());
}

#[test]
fn recording_is_absent_when_the_rate_is_fixed() {
    let fixed =
        plan(1_000, json!([hop("h", hop_direction(1_000_000, 1, 50), hop_direction(1_000_000, 1, 50))]), json!([cbr("c", &[0])]));
    let summary = go(&fixed).summary;
    assert!(summary.hops.iter().all(|row| row.recording.is_none()));
    assert!(!serde_json::to_string(&summary).unwrap().contains("recording"));
}

#[test]
fn recording_repeats_when_the_run_is_longer_than_the_rest() {
    // From 15 s on 5 s are fast; then the recording begins again with the slow half.
    let mut plan = download(&halves(), Some(15_000 * MS), 1, "reno");
    plan["duration_ps"] = json!(15 * S);
    plan["measure"] = json!({"kind": "interval", "from_ps": 7 * S, "to_ps": 14 * S});
    let goodput = go(&plan).summary.flows[0].goodput_bps.unwrap();
    assert!((0.9e6..1.25e6).contains(&goodput), "{goodput}");
}
