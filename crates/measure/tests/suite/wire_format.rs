//! JSON keys of the wire format and of the options from Python, which other versions and users
//! know. Rust's names may differ.

use ackclock_measure::control::message::{ClientRequest, ClockState, ServerReply, TestOutcome, Welcome};
use ackclock_measure::path::PathConfig;
use ackclock_measure::quotas::Quotas;
use ackclock_measure::test_spec::{Bulk, Direction, TestSpec, Train, Transfers};
use serde_json::{Value, from_value, json, to_value};

fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort_unstable();
    keys
}

#[test]
fn quotas_clock_and_welcome_have_their_json_keys_when_serialized() {
    let quotas = to_value(Quotas::default()).unwrap();
    let expected = [
        "capture_bytes",
        "connections",
        "idle_ns",
        "rate_bps",
        "rows",
        "session_bytes",
        "session_ns",
        "sessions",
        "sessions_per_peer",
        "strangers",
        "strangers_per_peer",
        "test_ns",
        "tests",
    ];
    assert_eq!(keys(&quotas), expected);
    let clock = ClockState { synchronised: true, pps: false, max_error_ns: 7 };
    assert_eq!(to_value(clock).unwrap(), json!({"synchronised": true, "pps": false, "most_error_ns": 7}));
    let welcome =
        Welcome { version: "1".into(), system: "Linux".into(), quotas: Quotas::default(), congestion: Vec::new(), clock };
    let reply = to_value(ServerReply::Welcome(welcome)).unwrap();
    assert_eq!(keys(&reply["welcome"]), ["caps", "clock", "congestion", "system", "version"]);
}

#[test]
fn requests_and_specs_have_their_json_keys_when_serialized() {
    let train = Train { payload: 20, gap_ns: 1000, count: 9 };
    let bulk = Bulk {
        down: 1,
        up: 0,
        congestion: None,
        send_buffer: None,
        receive_buffer: None,
        receive_window: None,
        duration_ns: 1,
        sample_ns: 2,
        max_bytes: None,
    };
    let transfers = Transfers { direction: Direction::Up, bytes: 5, count: 6, congestion: None, every_ns: 7, limit_ns: 8 };
    for (spec, expected) in [
        (
            TestSpec::Datagrams { down: Some(train), up: None },
            json!({"datagrams": {"down": {"payload": 20, "gap_ns": 1000, "count": 9}, "up": null}}),
        ),
        (
            TestSpec::Bulk(bulk),
            json!({"bulk": {"down": 1, "up": 0, "congestion": null, "send_buffer": null, "receive_buffer": null,
                "receive_window": null, "duration_ns": 1, "sample_ns": 2}}),
        ),
        (
            TestSpec::Transfers(transfers),
            json!({"transfers": {"way": "up", "bytes": 5, "count": 6, "congestion": null, "every_ns": 7, "limit_ns": 8}}),
        ),
    ] {
        let request = ClientRequest::Start { test: 3, spec };
        assert_eq!(to_value(&request).unwrap(), json!({"start": {"test": 3, "spec": expected}}));
    }
    let others = [
        (ClientRequest::Go { test: 1 }, json!({"go": {"test": 1}})),
        (ClientRequest::Stop { test: 1, quiet_ns: 2 }, json!({"stop": {"test": 1, "quiet_ns": 2}})),
        (ClientRequest::Capture { bytes: 1 }, json!({"capture": {"bytes": 1}})),
        (ClientRequest::Captured {}, json!({"captured": {}})),
        (ClientRequest::KeepAlive {}, json!({"keep-alive": {}})),
        (ClientRequest::Quit {}, json!({"quit": {}})),
    ];
    for (request, expected) in others {
        assert_eq!(to_value(&request).unwrap(), expected);
    }
}

#[test]
fn replies_and_path_options_have_their_json_keys_when_read() {
    let outcome = json!({"unsent": 1, "held": 2, "overrun": 3, "flows": [], "cut_short": null});
    let expected = TestOutcome { unsent: 1, held: 2, overrun: 3, ..TestOutcome::default() };
    for (text, reply) in [
        (json!({"ready": {"test": 1, "port": null}}), ServerReply::Ready { test: 1, port: None }),
        (json!({"open": {"test": 1}}), ServerReply::Open { test: 1 }),
        (json!({"refused": {"test": 1, "reason": "r"}}), ServerReply::Refused { test: 1, reason: "r".into(), allowed: None }),
        (json!({"done": {"test": 1, "outcome": outcome}}), ServerReply::Done { test: 1, outcome: expected }),
        (json!({"flows": {"test": 1, "flows": []}}), ServerReply::Flows { test: 1, flows: Vec::new() }),
        (json!({"capturing": {"refused": null}}), ServerReply::Capturing { refused: None }),
        (json!({"captured": {"dropped": 4}}), ServerReply::Captured { dropped: 4 }),
        (json!({"bye": {"reason": "r"}}), ServerReply::Bye { reason: "r".into() }),
    ] {
        assert_eq!(from_value::<ServerReply>(text).unwrap(), reply);
    }
    let options = json!({"most_hops": 1, "looks": 2, "sizes": [64], "rounds": 3, "every_ns": 4, "brisk_ns": 5,
        "patience_ns": 6});
    let config =
        PathConfig { max_hops: 1, discovery_probes: 2, sizes: vec![64], rounds: 3, every_ns: 4, brisk_ns: 5, timeout_ns: 6 };
    assert_eq!(from_value::<PathConfig>(options).unwrap(), config);
}
