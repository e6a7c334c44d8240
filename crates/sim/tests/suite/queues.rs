//! Queues in whole runs.

use crate::common::{cbr, close, go, hop, hop_direction, plan};
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
