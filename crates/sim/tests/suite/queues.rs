//! Queues by what they do in whole runs.

use crate::common::{cbr, close, go, hop, plan, way};
use serde_json::{Value, json};

/// One 800 kb/s source of 1000-byte packets before half that rate, for ten seconds, and what its
/// hop then says.
fn overload(queue: Value) -> ackclock_sim::summary::HopRow {
    let mut narrow = way(400_000, 5, 0);
    narrow["queue"] = queue;
    let result = go(&plan(10_000, json!([hop("narrow", narrow, way(0, 5, 0))]), json!([cbr("c", &[0])])));
    result.summary.hops[0].clone()
}

#[test]
fn dropping_from_the_front_delivers_as_much_and_drops_as_many() {
    let tail = overload(json!({"kind": "droptail", "packets": 10, "bytes": null}));
    let front = overload(json!({"kind": "droptail", "packets": 10, "bytes": null, "drop": "front"}));
    assert_eq!((tail.delivered, tail.drops), (front.delivered, front.drops));
    assert_eq!(front.drops_by_cause["queue_full"], front.drops);
    // A full queue of ten, 20 ms each; the one that is served was the ninth behind when the next
    // pushed it forward.
    close(tail.queue_delay_ms.max, 200.0, 10.1);
    assert!(front.queue_delay_ms.max < tail.queue_delay_ms.max);
}

#[test]
fn nobody_is_marked_who_does_not_understand_it() {
    let row = overload(json!({"kind": "droptail", "packets": 10, "bytes": null, "mark": {"kind": "packets", "packets": 2}}));
    assert_eq!(row.marks, 0);
}
