//! Batches: the results of several runs depend on no other run and on no number of threads.

use crate::common::{bulk, hop, hop_direction, plan};
use ackclock_sim::{BatchPool, BatchRun, Plan, RunError, RunResult, run};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

fn plan_of(bps: u64) -> Plan {
    let mut down = hop_direction(bps, 20, 20);
    down["loss"] = json!({"kind": "bernoulli", "mean": 0.005});
    let hops = json!([hop("h", down, hop_direction(bps, 20, 20))]);
    Plan::from_json(&plan(3_000, hops, json!([bulk("d", &[0])])).to_string()).expect("a good plan")
}

fn runs() -> Vec<BatchRun> {
    (0..12).map(|number| BatchRun { plan: number % 2, seed: number as u64 / 2, series: number % 3 == 0 }).collect()
}

fn summary(result: &RunResult) -> String {
    serde_json::to_string(&result.summary).unwrap()
}

#[test]
fn batch_results_equal_single_runs_for_any_number_of_threads() {
    let plans = [plan_of(2_000_000), plan_of(5_000_000)];
    let single = runs().iter().map(|one| run(&Plan { seed: one.seed, ..plans[one.plan].clone() }).unwrap()).collect::<Vec<_>>();
    for threads in [1, 3] {
        let done = BatchPool::new(threads).unwrap().run(&plans, &runs(), &|| true).unwrap();
        for ((result, single), wanted) in done.iter().zip(&single).zip(runs()) {
            assert_eq!(summary(result), summary(single));
            assert_eq!(result.series.flow.is_empty(), !wanted.series);
            assert!(!wanted.series || (result.series == single.series && result.hops == single.hops));
        }
    }
}

#[test]
fn batch_starts_no_run_after_it_was_interrupted() {
    let calls = AtomicUsize::new(0);
    let stopped = || calls.fetch_add(1, Ordering::Relaxed) < 10;
    let plans = [plan_of(2_000_000), plan_of(5_000_000)];
    let error = BatchPool::new(1).unwrap().run(&plans, &runs(), &stopped).unwrap_err();
    assert!(matches!(error.error, RunError::Interrupted));
    assert_eq!(calls.into_inner(), 11);
}

#[test]
fn batch_error_names_the_run_that_failed() {
    let live = json!([{
        "name": "l", "client": 0, "direction": "down", "hops": [0], "start": {"low_ps": 0, "high_ps": 0}, "stop_ps": null,
        "overhead_ps": 0, "workload": {"kind": "live"}, "tcp": null,
    }]);
    let hops = json!([hop("h", hop_direction(2_000_000, 20, 20), hop_direction(2_000_000, 20, 20))]);
    let plans = [plan_of(2_000_000), Plan::from_json(&plan(3_000, hops, live).to_string()).unwrap()];
    let runs = [0, 0, 1].map(|plan| BatchRun { plan, seed: 1, series: false });
    assert_eq!(BatchPool::new(1).unwrap().run(&plans, &runs, &|| true).unwrap_err().run, 2);
}
