//! Both ends of all programs over the loopback interface.

#[path = "../../sim/tests/suite/common/mod.rs"]
mod common;

use ackclock_programs::{End, EndReport, ProgramsConfig, rows, run};
use ackclock_sim::Plan;
use ackclock_sim::metrics::AppScore;
use common::{MS, bulk, flow, hop, hop_direction, plan, tcp};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::thread;

fn programs(flows: Vec<Value>) -> Plan {
    let path = json!([hop("line", hop_direction(0, 1, 0), hop_direction(0, 1, 0))]);
    let mut plan = plan(3000, path, Value::Array(flows));
    plan["measure"] = json!({"kind": "interval", "from_ps": 1000 * MS, "to_ps": 3000 * MS});
    plan["pages"] = json!([{"request": 100, "handshake": [500, 4000], "objects": [[20_000, null], [50_000, 0], [50_000, 0]]}]);
    Plan::from_json(&plan.to_string()).expect("a good plan")
}

fn config(end: End, congestion_control: &str, name: &str) -> ProgramsConfig {
    ProgramsConfig {
        end,
        server: Ipv4Addr::new(127, 41, 0, 1),
        client: Ipv4Addr::new(127, 41, 0, 2),
        congestion_control: congestion_control.into(),
        start_file: std::env::temp_dir().join(format!("ackclock-programs-{}-{name}", std::process::id())),
    }
}

#[test]
fn programs_score_what_the_loopback_interface_delivers() {
    let call = json!({"kind": "call", "gap_ps": 20 * MS, "packet": 200, "impairment": 0.0, "loss_robustness": 25.1});
    let game = json!({"kind": "game", "gap_ps": 40 * MS, "packet": 100, "deadline_ps": 100 * MS});
    let mut flows = vec![flow("call", &[0], call, Value::Null), flow("game", &[0], game, Value::Null)];
    for connection in 0..2 {
        let work = json!({"kind": "page", "page": 0, "load": 0, "connection": connection});
        flows.push(flow(&format!("page.{connection}"), &[0], work, tcp("reno")));
    }
    let mut upload = bulk("upload", &[0]);
    upload["direction"] = "up".into();
    flows.extend([bulk("download", &[0]), upload]);
    let plan = programs(flows);
    let config = |end| config(end, "reno", "all");
    let [server, client]: [EndReport; 2] = thread::scope(|scope| {
        let ends = [End::Server, End::Client].map(|end| {
            let (plan, config) = (&plan, config(end));
            scope.spawn(move || run(plan, &config))
        });
        ends.map(|end| end.join().expect("no panic").expect("a report"))
    });
    std::fs::remove_file(config(End::Client).start_file).expect("the client has written it");
    let rows = rows(&plan, &[client, server]);
    assert_eq!(rows.iter().map(|row| row.flow.as_str()).collect::<Vec<_>>(), ["call", "game", "page.0", "download", "upload"]);
    let score = |number: usize| rows[number].app.as_ref().map(|app| app.score);
    let (Some(AppScore::Call(call)), Some(AppScore::Game(game)), Some(AppScore::Page(page))) = (score(0), score(1), score(2))
    else {
        panic!("{rows:?}");
    };
    // 20 ms of speech, nothing on the path, 20 in the buffer.
    common::close(call.mouth_to_ear_ms, 40.0, 10.0);
    assert!(call.unplayed_share < Some(0.1) && game.late_share < Some(0.1) && game.rtt_p50_ms < Some(20.0));
    assert_eq!((page.bytes, page.arrived_bytes), (120_000, 120_000));
    assert!(page.load_s < Some(1.0), "{page:?}");
    for row in &rows[3..] {
        assert!(row.app.is_none() && row.goodput_bps > Some(1e6), "{row:?}");
    }
    assert!(rows.iter().all(|row| row.lateness.count > 0 || row.app.is_none()));
}

#[test]
fn program_is_refused_when_it_has_no_room_for_its_header_or_no_such_congestion_control() {
    let run_one = |flows, congestion_control| {
        run(&programs(flows), &config(End::Server, congestion_control, "refused")).expect_err("no such program").to_string()
    };
    let small = json!({"kind": "game", "gap_ps": 40 * MS, "packet": 40, "deadline_ps": 100 * MS});
    assert_eq!(run_one(vec![flow("game", &[0], small, Value::Null)], "reno"), "flow game: its packets need 44 bytes");
    let transfer = flow("transfer", &[0], json!({"kind": "transfer", "bytes": 100}), tcp("reno"));
    assert!(run_one(vec![transfer], "reno").contains("calls, games, pages and bulk transfers"));
    assert!(run_one(vec![bulk("download", &[0])], "no-such").starts_with("congestion control no-such: "));
}
