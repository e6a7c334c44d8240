//! Calls, games and pages over whole networks, against figures by hand.

use crate::common::{MS, close, flow, go, hop, hop_direction, plan, tcp};
use ackclock_core::score::{CallScore, GameScore, PageScore};
use ackclock_sim::metrics::AppScore;
use ackclock_sim::{Plan, RunResult};
use serde_json::{Value, json};

/// G.711 with concealment in packets of 20 ms.
fn call() -> Value {
    let work = json!({"kind": "call", "gap_ps": 20 * MS, "packet": 200, "impairment": 0.0, "loss_robustness": 25.1});
    flow("call", &[0], work, Value::Null)
}

fn game() -> Value {
    flow("game", &[0], json!({"kind": "game", "gap_ps": 40 * MS, "packet": 100, "deadline_ps": 100 * MS}), Value::Null)
}

/// A connection of a page with a document of 1460 B and eight children of 1460 B, over four connections.
fn page_connections() -> Vec<Value> {
    let mut host = tcp("reno");
    host["segment"] = 1460.into();
    host["initial_window"] = 10.into();
    let connection = |number: u32| {
        let work = json!({"kind": "page", "page": 0, "load": 0, "connection": number});
        flow(&format!("page.{number}"), &[0], work, host.clone())
    };
    (0..4).map(connection).collect()
}

fn path(bps: u64, delay_ms: u64) -> Value {
    json!([hop("line", hop_direction(bps, delay_ms, 0), hop_direction(bps, delay_ms, 0))])
}

fn call_score(run: &RunResult) -> CallScore {
    match run.summary.flows[0].app.as_ref().map(|app| app.score) {
        Some(AppScore::Call(score)) => score,
        other => panic!("a call, not {other:?}"),
    }
}

fn game_score(run: &RunResult) -> GameScore {
    match run.summary.flows[0].app.as_ref().map(|app| app.score) {
        Some(AppScore::Game(score)) => score,
        other => panic!("a game, not {other:?}"),
    }
}

fn page_score(run: &RunResult) -> PageScore {
    match run.summary.flows[0].app.as_ref().map(|app| app.score) {
        Some(AppScore::Page(score)) => score,
        other => panic!("a page, not {other:?}"),
    }
}

#[test]
fn call_on_an_idle_path_is_rated_by_its_delay_alone() {
    // 20 ms of speech, 100 on the path, 20 in the buffer: Ta = 140, X = log2(1.4) = 0.485.
    for (delay_ms, rating) in [(30, 93.2), (100, 93.2 - 0.0533), (360, 93.2 - 24.07)] {
        let run = go(&plan(30_000, path(0, delay_ms), json!([call()])));
        let score = call_score(&run);
        close(score.mouth_to_ear_ms, 40.0 + delay_ms as f64, 1e-6);
        close(score.rating.mean, rating, 0.005);
        assert_eq!((score.windows, score.unplayed_share), (3, Some(0.0)));
    }
}

#[test]
fn call_with_one_direction_lost_is_rated_0() {
    let mut up = hop_direction(0, 30, 0);
    up["loss"] = json!({"kind": "bernoulli", "mean": 1.0});
    let run = go(&plan(20_000, json!([hop("line", hop_direction(0, 30, 0), up)]), json!([call()])));
    let score = call_score(&run);
    assert_eq!((score.rating.mean, score.mos.mean, score.mos.p10), (Some(0.0), Some(1.0), Some(1.0)));
    assert_eq!(run.summary.flows[0].app.as_ref().and_then(|app| app.grade), Some("not recommended"));
}

#[test]
fn call_with_independent_losses_is_rated_by_the_formula() {
    let mut lossy = hop_direction(0, 30, 0);
    lossy["loss"] = json!({"kind": "bernoulli", "mean": 0.05});
    let run = go(&plan(300_000, json!([hop("line", lossy.clone(), lossy)]), json!([call()])));
    let score = call_score(&run);
    // The lower of two directions, each of 500 packets with a standard deviation of 1 %.
    close(score.unplayed_share, 0.05, 0.005);
    close(score.rating.mean, 93.2 - 17.0, 2.5);
}

#[test]
fn call_windows_are_those_of_the_measured_time() {
    let mut late = plan(60_000, path(0, 30), json!([call()]));
    late["measure"] = json!({"kind": "interval", "from_ps": 15_000 * MS, "to_ps": 50_000 * MS});
    assert_eq!(call_score(&go(&late)).windows, 3, "of 10, 10 and 15 s");
}

#[test]
fn no_packet_of_a_game_is_late_on_an_idle_path_and_each_is_behind_its_deadline() {
    let at = |delay_ms| game_score(&go(&plan(10_000, path(0, delay_ms), json!([game()]))));
    let near = at(20);
    assert_eq!((near.late_share, near.over_50_ms_share, near.lost_share), (Some(0.0), Some(0.0), Some(0.0)));
    close(near.rtt_p95_ms, 40.0, 0.3);
    let far = at(51);
    assert_eq!((far.late_share, far.over_50_ms_share, far.lost_share), (Some(1.0), Some(1.0), Some(0.0)));
}

#[test]
fn responsiveness_is_that_of_a_full_queue_beside_and_on_a_download_and_absent_without_one() {
    // 25 packets of 1040 B in the queue of 2 Mb/s are 104 ms; the path has 20 ms.
    let narrow = hop("narrow", hop_direction(2_000_000, 10, 25), hop_direction(2_000_000, 10, 0));
    let download = flow("download", &[0], json!({"kind": "bulk"}), tcp("reno"));
    let mut with_start = download.clone();
    with_start["start"] = json!({"low_ps": 5000 * MS, "high_ps": 5000 * MS});
    let mut whole = plan(65_000, json!([narrow]), json!([game(), with_start]));
    whole["measure"] = json!({"kind": "interval", "from_ps": 10_000 * MS, "to_ps": 65_000 * MS});
    let found = go(&whole).summary.responsiveness.expect("a game and a download");
    assert!((70.0..=125.0).contains(&found.beside_load_ms) && (70.0..=130.0).contains(&found.on_load_ms), "{found:?}");
    close(Some(found.rpm), 60_000.0 / ((found.beside_load_ms + found.on_load_ms) / 2.0), 1e-6);
    // Against the RTT before the download, which is not in the window.
    close(Some(found.added_p95_ms), 104.0, 12.0);
    assert_eq!(found.grade, "C");
    let idle = plan(10_000, whole["hops"].clone(), json!([game()]));
    assert!(go(&idle).summary.responsiveness.is_none());
    let alone = plan(10_000, whole["hops"].clone(), json!([download]));
    assert!(go(&alone).summary.responsiveness.is_none());
}

#[test]
fn page_loads_in_round_trips_on_an_idle_path() {
    let objects: Vec<Value> = (0..9).map(|number| json!([1460, if number == 0 { None } else { Some(0) }])).collect();
    let load = |handshake: [u64; 2]| {
        let mut plan = plan(5000, path(1_000_000_000, 50), Value::Array(page_connections()));
        plan["pages"] = json!([{"request": 100, "handshake": handshake, "objects": objects}]);
        go(&plan)
    };
    let run = load([0, 0]);
    let score = page_score(&run);
    // The document after two RTTs of 100 ms. Then eight objects: the first connection has them one RTT
    // each, and three others open for one: at three RTTs 1 object, at four 4 more, at five the last 3.
    close(score.load_s, 0.5, 0.005);
    let rtts = (2.0 + 3.0 + 4.0 * 4.0 + 3.0 * 5.0) / 9.0;
    close(score.byte_index_s, 0.1 * rtts, 0.005);
    assert_eq!((score.bytes, score.arrived_bytes), (9 * 1460, 9 * 1460));
    let rows = &run.summary.flows;
    assert_eq!(
        rows.iter().map(|row| row.part_of.as_deref()).collect::<Vec<_>>(),
        [None, Some("page.0"), Some("page.0"), Some("page.0")]
    );
    assert!(rows[1].app.is_none());
    close(rows[1].host_start_s, 0.2, 0.002);
    // TLS takes one more RTT of each connection: 3, then 4, 5 twice (one and three others), 6.
    let tls = page_score(&load([500, 1400]));
    close(tls.load_s, 0.7, 0.005);
}

#[test]
fn http2_page_needs_one_connection_and_one_round_trip_for_each_level() {
    let objects: Vec<Value> = (0..9).map(|number| json!([1460, if number == 0 { None } else { Some(0) }])).collect();
    let mut plan = plan(5000, path(1_000_000_000, 50), Value::Array(page_connections()[..1].to_vec()));
    plan["pages"] = json!([{"request": 100, "handshake": [0, 0], "objects": objects, "multiplexed": true}]);
    let score = page_score(&go(&plan));
    // The document after two RTTs, and all others, which the initial window has room for, after three.
    close(score.load_s, 0.3, 0.005);
    close(score.byte_index_s, 0.1 * (2.0 + 8.0 * 3.0) / 9.0, 0.005);
}

#[test]
fn objects_of_a_page_wait_and_have_servers_as_they_are_given() {
    let objects = json!([[1460, null], [1460, 0], [1460, 0]]);
    let mut plan = plan(5000, path(1_000_000_000, 50), Value::Array(page_connections()[..2].to_vec()));
    plan["pages"] = json!([{"request": 100, "handshake": [0, 0], "objects": objects, "hosts": [0, 1, 0],
        "waits_ps": [0, 0, 30 * MS], "per_host": 1}]);
    let run = go(&plan);
    // The third waits 30 ms and has the open connection; the second opens another.
    close(page_score(&run).load_s, 0.4, 0.005);
    close(page_score(&run).byte_index_s, (0.2 + 0.4 + 0.33) / 3.0, 0.005);
    plan["pages"][0]["hosts"] = json!([0, 1]);
    assert!(Plan::from_json(&plan.to_string()).is_err(), "two hosts of three objects");
}

#[test]
fn page_that_is_not_complete_has_no_load_time() {
    let mut plan = plan(250, path(1_000_000_000, 50), Value::Array(page_connections()));
    plan["pages"] = json!([{"request": 100, "handshake": [0, 0], "objects": [[1460, null], [1460, 0]]}]);
    let score = page_score(&go(&plan));
    assert_eq!((score.load_s, score.byte_index_s, score.arrived_bytes), (None, None, 1460));
}

#[test]
fn page_is_refused_when_its_connections_or_objects_are_out_of_order() {
    let good = || {
        let mut plan = plan(1000, path(1_000_000, 50), Value::Array(page_connections()));
        plan["pages"] = json!([{"request": 100, "handshake": [0, 0], "objects": [[1460, null], [1460, 0]]}]);
        plan
    };
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut plan = good();
        change(&mut plan);
        Plan::from_json(&plan.to_string()).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|plan| plan["flows"][1]["workload"]["connection"] = 2.into()));
    assert!(refused(&|plan| plan["flows"][2]["workload"]["load"] = 1.into()));
    assert!(refused(&|plan| plan["flows"][0]["workload"]["page"] = 1.into()));
    assert!(refused(&|plan| plan["pages"][0]["objects"] = json!([[1460, null], [1460, 1]])));
    assert!(refused(&|plan| plan["pages"][0]["objects"] = json!([[1460, null], [1460, null]])));
    assert!(refused(&|plan| plan["pages"][0]["handshake"] = json!([0, 10])));
}
