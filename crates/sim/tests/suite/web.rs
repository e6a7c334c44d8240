//! Web pages as sequences of connections and as exchanges on a persistent connection, against
//! closed forms on an idle path.

use crate::common::{MS, close, flow, go, hop, hop_direction, plan, tcp};
use ackclock_sim::{Plan, RunResult};
use serde_json::{Value, json};

/// One-way delay.
const D: f64 = 0.05;
/// Upper bound of the transmission time of a page.
const WIRE: f64 = 0.001;

fn host(initial_window: u32) -> Value {
    let mut host = tcp("reno");
    host["initial_window"] = initial_window.into();
    host
}

fn connection(name: &str, direction: &str, bytes: u64, after: &[usize], job: (&str, u32), initial_window: u32) -> Value {
    let mut it = flow(name, &[0], json!({"kind": "transfer", "bytes": bytes}), host(initial_window));
    it["direction"] = direction.into();
    it["after"] = json!(after);
    it["job"] = json!({"name": job.0, "number": job.1});
    it
}

/// A request of 500 bytes and four answers of 10 kB.
fn page(first: usize, after: &[usize], number: u32, think_ms: u64, initial_window: u32) -> Vec<Value> {
    let mut request = connection(&format!("{number}.request"), "up", 500, after, ("web", number), initial_window);
    request["start"] = json!({"low_ps": think_ms * MS, "high_ps": think_ms * MS});
    let answer = |n| connection(&format!("{number}.answer-{n}"), "down", 10_000, &[first], ("web", number), initial_window);
    std::iter::once(request).chain((1..=4).map(answer)).collect()
}

fn path() -> Value {
    json!([hop("fast", hop_direction(1_000_000_000, 50, 0), hop_direction(1_000_000_000, 50, 0))])
}

fn pages(flows: Vec<Value>, duration_ms: u64) -> RunResult {
    go(&plan(duration_ms, path(), json!(flows)))
}

#[test]
fn page_load_time_is_two_handshakes_the_request_and_slow_start() {
    // 1 + 2 + 4 + 3 segments, 2 + 4 + 4, and all ten.
    for (initial_window, rounds) in [(1, 4.0), (2, 3.0), (10, 1.0)] {
        let run = pages(page(0, &[], 0, 0, initial_window), 5000);
        let jobs = run.summary.jobs.expect("jobs");
        assert_eq!((jobs.count, jobs.completed, jobs.list.len()), (1, 1, 1));
        // The request arrives after 3 D; the answers' SYN, SYN-ACK and slow-start rounds follow,
        // the last of them in one direction only.
        let want = 3.0 * D + 2.0 * D + (2.0 * rounds - 1.0) * D;
        close(jobs.mean_s, want, WIRE);
        close(jobs.list[0].completed_s, want, WIRE);
        close(run.summary.flows[0].completed_s, 3.0 * D, WIRE);
        for answer in &run.summary.flows[1..] {
            close(answer.host_start_s, 3.0 * D, WIRE);
            close(answer.completed_s, want - 3.0 * D, WIRE);
            assert_eq!(answer.segments_sent, 10);
        }
    }
}

#[test]
fn next_page_request_follows_the_last_byte_by_the_think_time() {
    let flows = [page(0, &[], 0, 0, 10), page(5, &[1, 2, 3, 4], 1, 700, 10)].concat();
    let jobs = pages(flows, 5000).summary.jobs.expect("jobs");
    assert_eq!((jobs.count, jobs.completed), (2, 2));
    let first = jobs.list[0].completed_s.expect("complete");
    close(Some(jobs.list[1].start_s), first + 0.7, 1e-9);
    close(jobs.list[1].completed_s, first, WIRE);
    close(jobs.sd_s, 0.0, WIRE);
}

#[test]
fn jobs_exclude_pages_never_requested_and_incomplete_pages_have_no_time() {
    let flows = [page(0, &[], 0, 0, 1), page(5, &[1, 2, 3, 4], 1, 700, 1)].concat();
    let run = pages(flows, 400);
    let jobs = run.summary.jobs.expect("jobs");
    assert_eq!((jobs.count, jobs.completed, jobs.mean_s), (1, 0, None));
    assert!(run.summary.flows[1].host_start_s.is_some() && run.summary.flows[5].host_start_s.is_none());
    assert_eq!(run.summary.flows[5].segments_sent, 0);
}

#[test]
fn persistent_connection_keeps_its_window() {
    let think = json!({"low_ps": 300 * MS, "high_ps": 300 * MS});
    let work = json!({"kind": "exchange", "request": 500, "answer": 40_000, "jobs": 3, "think": think});
    let run = pages(vec![flow("web", &[0], work, host(1))], 5000);
    let jobs = run.summary.jobs.expect("jobs");
    assert_eq!((jobs.count, jobs.completed), (3, 3));
    // 1 + 2 + 4 + 8 + 16 + 9 segments. The last 9 do not fill the window, which stays at 32. The
    // next page of 40 segments takes two rounds and increases the window to 36, as it is full for
    // few ACKs; the third page takes two rounds.
    let first = 3.0 * D + 11.0 * D;
    close(jobs.list[0].completed_s, first, WIRE);
    close(jobs.list[1].completed_s, 4.0 * D, 2.0 * WIRE);
    close(jobs.list[2].completed_s, 4.0 * D, 2.0 * WIRE);
    close(Some(jobs.list[2].start_s), first + 2.0 * 0.3 + 4.0 * D, 4.0 * WIRE);
    // The FIN is a segment of its own.
    assert_eq!(run.summary.flows[0].segments_sent, 121);
}

#[test]
fn equal_plans_give_equal_runs() {
    let crowd: Vec<Value> = (0..8).flat_map(|host| page(5 * host, &[], host as u32, host as u64, 2)).collect();
    let narrow = json!([hop("narrow", hop_direction(1_000_000, 20, 10), hop_direction(50_000, 20, 10))]);
    let plan = plan(20_000, narrow, json!(crowd));
    let [one, other] = [go(&plan), go(&plan)].map(|run| serde_json::to_string(&run.summary).expect("json"));
    assert_eq!(one, other);
    assert!(one.contains("\"completed\":8"), "{one}");
}

#[test]
fn after_accepts_earlier_transfers_only() {
    for (after, workload) in [(json!([0]), "transfer"), (json!([7]), "transfer"), (json!([]), "bulk")] {
        let mut it = connection("a", "down", 1, &[], ("web", 0), 1);
        it["after"] = after;
        it["workload"] = if workload == "bulk" { json!({"kind": "bulk"}) } else { it["workload"].clone() };
        assert!(Plan::from_json(&plan(1000, path(), json!([it])).to_string()).is_err());
    }
}
