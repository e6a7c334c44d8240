//! Videos over whole networks, against arithmetic.

use crate::common::{MS, S, close, flow, go, hop, hop_direction, plan, tcp};
use ackclock_core::score::VideoScore;
use ackclock_sim::metrics::AppScore;
use ackclock_sim::{Plan, RunResult};
use serde_json::{Value, json};

fn work(adaptation: &str) -> Value {
    json!({
        "kind": "video", "ladder": "netflix-2015", "adaptation": adaptation, "segment_ps": 4 * S, "buffer_ps": 30 * S,
        "start_threshold_ps": 2 * S, "resume_threshold_ps": 2 * S, "request": 100, "handshake": [0, 0],
    })
}

/// A video over one hop with this rate in both directions, 10 ms and a queue of `packets`.
fn run(seconds: u64, bps: u64, packets: u64, work: Value, change: impl Fn(&mut Value)) -> RunResult {
    let line = hop("line", hop_direction(bps, 10, packets), hop_direction(bps, 10, 0));
    let mut plan = plan(1000 * seconds, json!([line]), json!([flow("video", &[0], work, tcp("reno"))]));
    change(&mut plan);
    go(&plan)
}

fn score(run: &RunResult) -> VideoScore {
    match run.summary.flows[0].app.as_ref().map(|app| app.score) {
        Some(AppScore::Video(score)) => score,
        other => panic!("a video, not {other:?}"),
    }
}

fn measure_from(seconds: u64, to: u64) -> impl Fn(&mut Value) {
    move |plan| plan["measure"] = json!({"kind": "interval", "from_ps": seconds * S, "to_ps": to * S})
}

#[test]
fn video_plays_at_the_top_without_a_switch_or_a_stall_when_the_rate_is_above_it() {
    let found = score(&run(120, 20_000_000, 100, work("throughput"), measure_from(60, 120)));
    assert_eq!((found.stalls, found.switches, found.top_share, found.lines), (0, 0, Some(1.0), Some(1080)));
    assert_eq!(found.bitrate_bps, Some(5.8e6));
    close(Some(found.played_s), 60.0, 1e-9);
    // BBA-0 with the paper's buffer: what is played after 300 s was requested with a full one.
    let mut deep = work("buffer");
    deep["buffer_ps"] = (240 * S).into();
    let found = score(&run(400, 20_000_000, 100, deep, measure_from(300, 400)));
    assert_eq!((found.stalls, found.switches, found.top_share), (0, 0, Some(1.0)));
    // The first segment: two round trips, and 375 kB at 20 Mb/s in slow start.
    let whole = score(&run(120, 20_000_000, 100, work("throughput"), |_| ()));
    let start = whole.start_s.unwrap();
    assert!((0.19..0.6).contains(&start) && whole.stalls == 0, "{whole:?}");
    assert_eq!(whole.switches, 1, "from 750 kb/s to the top once the throughput is known");
}

#[test]
fn video_stalls_for_the_computed_time_when_the_rate_is_below_the_lowest() {
    let score = score(&run(400, 200_000, 0, work("buffer"), |_| ()));
    // 117,500 B in 118 packets with 52 B of headers each, and a round trip with the request of 152 B.
    let period = (117_500.0 + 118.0 * 52.0 + 152.0) * 8.0 / 200_000.0 + 0.02;
    close(score.start_s, period + 0.02 + 2.0 * 72.0 * 8.0 / 200_000.0, 0.02);
    let stalled = (400.0 - period) * (1.0 - 4.0 / period);
    assert!((score.stall_s - stalled).abs() < 4.0, "{} and not {stalled}", score.stall_s);
    assert_eq!(score.stalls, ((400.0 - 0.02) / period) as u64 - 1, "one between two segments; the last one still plays");
    close(score.bitrate_bps, 235e3, 1e-3);
    assert_eq!((score.switches, score.top_share), (0, Some(0.0)));
}

#[test]
fn idle_time_between_segments_restarts_the_window_of_a_host_that_does_so() {
    let at = |restart: &str| {
        run(120, 20_000_000, 50, work("throughput"), |plan| {
            measure_from(60, 120)(plan);
            plan["flows"][0]["tcp"]["idle_restart"] = restart.into();
        })
    };
    let [kept, restarted] = ["off", "restart"].map(at);
    for run in [&kept, &restarted] {
        let down = &run.summary.hops[0];
        // 5.8 Mb/s and headers of 52 B on 1000 B.
        close(down.utilization, 5.8 * 1.052 / 20.0, 0.03);
        assert!(down.time.idle > 0.6 && score(run).stalls == 0);
    }
    let [kept, restarted] = [kept, restarted].map(|run| run.summary.hops[0].drops);
    assert!(kept > 2 * restarted, "a window at once into a queue of 50 packets: {kept} drops, and {restarted}");
}

#[test]
fn video_ends_when_the_person_leaves() {
    let run = run(60, 20_000_000, 100, work("throughput"), |plan| plan["flows"][0]["stop_ps"] = (20 * S).into());
    let score = score(&run);
    assert_eq!(score.stalls, 0);
    close(Some(score.played_s + score.start_s.unwrap()), 20.0, 1e-6);
    // 20 s and a buffer of 28 s, over the 20 s and more for which the connection lasts.
    assert!(run.summary.flows[0].goodput_bps < Some(48.0 * 5.8e6 / 20.0), "nothing is requested behind 20 s");
}

#[test]
fn video_is_refused_when_its_buffer_is_too_small_or_the_client_has_no_player() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let line = hop("line", hop_direction(1_000_000, 10, 0), hop_direction(1_000_000, 10, 0));
        let mut plan = plan(1000, json!([line]), json!([flow("video", &[0], work("buffer"), tcp("reno"))]));
        change(&mut plan["flows"][0]);
        Plan::from_json(&plan.to_string()).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|flow| flow["workload"]["buffer_ps"] = (8 * S - MS).into()));
    assert!(!refused(&|flow| flow["workload"]["start_threshold_ps"] = (28 * S).into()));
    assert!(refused(&|flow| flow["workload"]["resume_threshold_ps"] = (29 * S).into()));
    assert!(refused(&|flow| flow["workload"]["handshake"] = json!([0, 10])));
    assert!(refused(&|flow| flow["direction"] = "up".into()));
    assert!(refused(&|flow| flow["tcp"] = Value::Null));
}
