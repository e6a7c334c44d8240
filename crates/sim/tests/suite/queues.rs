//! Queues in whole runs.

use crate::common::{cbr, close, go, hop, hop_direction, plan};
use ackclock_sim::plan::Plan;
use serde_json::{Value, json};

/// The hop of a run of ten seconds: a source of 800 kb/s with packets of 1000 bytes on a link of
/// 400 kb/s.
fn overload(queue: Value) -> ackclock_sim::summary::HopRow {
    let mut narrow = hop_direction(400_000, 5, 0);
    narrow["queue"] = queue;
    let result = go(&plan(10_000, json!([hop("narrow", narrow, hop_direction(0, 5, 0))]), json!([cbr("c", &[0])])));
    result.summary.hops[0].clone()
}

#[test]
fn drop_from_front_delivers_and_drops_as_many_as_drop_from_tail() {
    let tail = overload(json!({"kind": "droptail", "packets": 10, "bytes": null}));
    let front = overload(json!({"kind": "droptail", "packets": 10, "bytes": null, "drop": "front"}));
    assert_eq!((tail.delivered, tail.drops), (front.delivered, front.drops));
    assert_eq!(front.drops_by_cause["queue_full"], front.drops);
    // A full queue of ten packets of 20 ms each. With drops from the front, the served packet was
    // ninth in the queue.
    close(tail.queue_delay_ms.max, 200.0, 10.1);
    assert!(front.queue_delay_ms.max < tail.queue_delay_ms.max);
}

#[test]
fn packets_are_not_marked_when_not_ecn_capable() {
    let row = overload(json!({"kind": "droptail", "packets": 10, "bytes": null, "mark": {"kind": "packets", "packets": 2}}));
    assert_eq!(row.marks, 0);
}

/// A plan with this queue is accepted.
fn accepted(queue: &Value) -> bool {
    let mut narrow = hop_direction(400_000, 5, 0);
    narrow["queue"] = queue.clone();
    let plan = plan(1_000, json!([hop("narrow", narrow, hop_direction(0, 5, 0))]), json!([cbr("c", &[0])]));
    Plan::from_json(&plan.to_string()).is_ok()
}

#[test]
fn queue_of_each_kind_needs_all_its_keys_and_accepts_no_other() {
    let codel = json!({"kind": "codel", "packets": 1000, "bytes": null, "target_ps": 5e9 as u64, "interval_ps": 1e11 as u64,
        "mtu": 1514, "signal": "mark"});
    let with = |base: &Value, changes: Value| {
        let mut queue = base.clone();
        queue.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        queue
    };
    let fq_codel = with(&codel, json!({"kind": "fq-codel", "bytes": 33_554_432, "flows": 1024, "quantum": 1514}));
    let pi = json!({"kind": "pie", "packets": null, "bytes": 1_000_000, "target_ps": 15_000_000, "update_ps": 15_000_000,
        "alpha": 0.125, "beta": 1.25});
    let queues = [
        json!({"kind": "droptail", "packets": 50, "bytes": null}),
        json!({"kind": "red", "packets": 10, "bytes": null, "amount": "packets", "min": 1.5, "max": 6, "weight": 0.01,
            "max_p": 0.1, "gentle": false, "signal": "drop", "only": "data", "mean_packet": 500}),
        with(&fq_codel, json!({"kind": "cake", "hosts": true})),
        with(&pi, json!({"burst_ps": 150, "signal": "mark", "mark_up_to": 0.1, "mean_packet": 1500})),
        with(&pi, json!({"kind": "dualpi2", "coupling": 2, "step_ps": 1, "overload": 0.25, "classic_share": 0.1})),
        codel,
        fq_codel.clone(),
    ];
    for queue in queues {
        assert!(accepted(&queue), "{queue}");
        for unknown in ["order", "service", "limit", "control", "surprise"] {
            assert!(!accepted(&with(&queue, json!({ unknown: null }))), "{unknown} in {queue}");
        }
        for key in queue.as_object().unwrap().keys() {
            let mut incomplete = queue.clone();
            incomplete.as_object_mut().unwrap().remove(key);
            assert!(!accepted(&incomplete), "{queue} without {key}");
        }
    }
    assert!(!accepted(&with(&fq_codel, json!({"bytes": null}))));
    assert!(!accepted(&with(&fq_codel, json!({"mtu": 1u64 << 32}))));
}

/// Packets of each flow that arrive, of three sources of 800 kb/s each on a link of 1.2 Mb/s; each flow by the
/// client and the device that has it.
fn shares(cake_hosts: bool, ends: [(u32, u32); 3]) -> [u64; 3] {
    let mut narrow = hop_direction(1_200_000, 5, 0);
    narrow["queue"] = json!({"kind": "cake", "packets": 1000, "bytes": 4_000_000, "target_ps": 5e9 as u64,
        "interval_ps": 1e11 as u64, "mtu": 1514, "signal": "drop", "flows": 1024, "quantum": 1514, "hosts": cake_hosts});
    let flow = |(number, (client, device)): (usize, (u32, u32))| {
        let mut flow = cbr(&format!("c{number}"), &[0]);
        (flow["client"], flow["device"]) = (json!(client), json!(device));
        flow
    };
    let flows: Vec<Value> = ends.into_iter().enumerate().map(flow).collect();
    let mut plan = plan(20_000, json!([hop("narrow", narrow, hop_direction(0, 5, 0))]), json!(flows));
    plan["clients"] = json!(2);
    let result = go(&plan);
    [0, 1, 2].map(|flow| (result.summary.flows[flow].goodput_bps.expect("a goodput") * 20.0 / 8.0 / 972.0) as u64)
}

// finding("U51")
#[test]
fn cake_is_fair_between_devices_of_a_client_as_between_clients() {
    // 3000 packets of 20 s: half to the host with one flow, and a quarter to each of the other's two.
    let near = |found: [u64; 3], wanted: [u64; 3]| {
        assert!(found.iter().zip(wanted).all(|(found, wanted)| found.abs_diff(wanted) < wanted / 10), "{found:?}");
    };
    let devices = shares(true, [(0, 0), (0, 0), (0, 1)]);
    near(devices, [750, 750, 1500]);
    // Another client alike, and its second device is no device of the first client.
    near(shares(true, [(0, 0), (0, 0), (1, 0)]), [750, 750, 1500]);
    near(shares(true, [(0, 1), (1, 1), (1, 1)]), [1500, 750, 750]);
    // One device, or a queue that does not count hosts: each flow alike.
    near(shares(true, [(0, 0), (0, 0), (0, 0)]), [1000; 3]);
    near(shares(false, [(0, 0), (0, 0), (0, 1)]), [1000; 3]);
}
