//! A flow has random streams of its own: another flow changes nothing of it before the two can
//! meet.

use crate::common::{MS, S, bulk, cbr, hop, hop_direction, plan};
use ackclock_core::Time;
use ackclock_core::network::EndpointId;
use ackclock_core::packet::{Body, Packet};
use ackclock_core::probe::Probe;
use ackclock_sim::Plan;
use ackclock_sim::build::build;
use serde_json::{Value, json};

/// What both ends of one flow send and receive.
struct Watched {
    ends: [EndpointId; 2],
    seen: Vec<String>,
}

impl Watched {
    fn note(&mut self, what: &str, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        let Some(end) = self.ends.iter().position(|&end| end == by) else { return };
        let content = match body {
            Body::Segment(segment) => format!("{} {}", segment.seq, segment.ack),
            Body::Datagram(datagram) => format!("{}", datagram.number),
            _ => String::new(),
        };
        self.seen.push(format!("{} {what} {end} {} {content}", now.0, packet.len));
    }
}

impl Probe for Watched {
    const WATCHING: bool = false;

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.note("sent", now, by, packet, body);
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.note("received", now, by, packet, body);
    }
}

/// The packets of flow `name` until `end`.
fn packets_of(name: &str, hops: &Value, flows: &[Value], end: u64) -> Vec<String> {
    let clients = flows.iter().filter_map(|flow| flow["client"].as_u64()).max().unwrap_or(0) + 1;
    let mut plan = plan(10_000, hops.clone(), json!(flows));
    plan["clients"] = json!(clients);
    let plan = Plan::from_json(&plan.to_string()).expect("a good plan");
    let number = plan.flows.iter().position(|flow| flow.name == name).expect("the flow");
    let mut built = build(&plan);
    let mut watched = Watched { ends: [built.flows[number].server, built.flows[number].client], seen: Vec::new() };
    built.network.run_until(Time(end), &mut watched);
    watched.seen
}

/// Two hops that lose and delay at random, shared by both clients, and one for each client.
fn path(queue: &Value) -> Value {
    let rough = |bps| {
        let mut direction = hop_direction(bps, 10, 0);
        direction["queue"] = queue.clone();
        direction["loss"] = json!({"kind": "bernoulli", "mean": 0.01});
        direction["jitter"] = json!({"kind": "exponential", "mean_ps": MS, "in_order": true});
        direction
    };
    let mut access = hop("access", rough(20_000_000), rough(20_000_000));
    access["per_client"] = json!(true);
    json!([hop("core", rough(8_000_000), rough(8_000_000)), access])
}

fn queues() -> [Value; 3] {
    [
        json!({"kind": "droptail", "packets": 30, "bytes": null}),
        json!({"kind": "fq-codel", "packets": 1000, "bytes": 1_000_000, "flows": 1024, "quantum": 1514, "target_ps": 5 * MS,
               "interval_ps": 100 * MS, "mtu": 1514, "signal": "drop"}),
        json!({"kind": "pie", "packets": 1000, "bytes": null, "target_ps": 15 * MS, "update_ps": 15 * MS, "alpha": 0.125,
               "beta": 1.25, "burst_ps": 150 * MS, "signal": "drop", "mark_up_to": 0.1, "mean_packet": 1500}),
    ]
}

/// A TCP flow with the delays that a scenario gives it, alone and beside others.
fn jittered(name: &str, hops: &[usize], client: u32, start_ms: u64) -> Value {
    let mut flow = bulk(name, hops);
    flow["client"] = json!(client);
    flow["tcp"]["processing_jitter"] = json!({"p50_ps": 25_000_000u64, "p99_ps": 80_000_000u64});
    flow["start"] = json!({"low_ps": start_ms * MS, "high_ps": (start_ms + 10) * MS});
    flow["overhead_ps"] = json!(500_000_000u64);
    flow["overhead_alone_ps"] = json!(100_000_000u64);
    flow
}

// finding("K13")
#[test]
fn later_flow_changes_no_packet_of_another_before_it_starts() {
    for queue in queues() {
        let hops = path(&queue);
        let watched = jittered("watched", &[0, 1], 0, 0);
        let until = 4 * S;
        let alone = packets_of("watched", &hops, std::slice::from_ref(&watched), until);
        assert!(alone.len() > 2000, "{}", alone.len());
        let mut datagrams = cbr("later", &[0, 1]);
        datagrams["start"] = json!({"low_ps": until, "high_ps": until});
        let mut upload = jittered("later", &[0, 1], 0, 4000);
        upload["direction"] = json!("up");
        for later in [jittered("later", &[0, 1], 0, 4000), jittered("later", &[0, 1], 1, 4000), upload, datagrams] {
            for flows in [[watched.clone(), later.clone()], [later, watched.clone()]] {
                let beside = packets_of("watched", &hops, &flows, until);
                assert!(beside == alone, "{} packets, {} alone, {queue}", beside.len(), alone.len());
            }
        }
    }
}

// finding("K13")
#[test]
fn flow_on_other_hops_changes_no_packet_of_another() {
    for queue in queues() {
        let hops = path(&queue);
        // Each client has an access hop of its own; the core is only the second's.
        let watched = jittered("watched", &[1], 0, 0);
        let until = 10 * S;
        let alone = packets_of("watched", &hops, std::slice::from_ref(&watched), until);
        let mut datagrams = cbr("other", &[0, 1]);
        datagrams["client"] = json!(1);
        for other in [jittered("other", &[0, 1], 1, 0), jittered("other", &[0], 0, 0), datagrams] {
            for flows in [[watched.clone(), other.clone()], [other, watched.clone()]] {
                assert!(packets_of("watched", &hops, &flows, until) == alone, "{queue}");
            }
        }
    }
}

/// Media with random parts of their own.
fn media() -> [Value; 2] {
    let granted = json!({"bps": 20_000_000, "interval_ps": MS, "block": false, "packet_header": 6, "block_header": 8, "cap": null,
                         "repair": {"error": 0.1, "attempts": 4, "delay_ps": 8 * MS, "rounds": 3, "round_delay_ps": 40 * MS}});
    let half_duplex = json!({"kind": "half-duplex", "bps": 20_000_000, "turnaround_ps": MS / 10});
    let grants = json!({"kind": "grants", "down": granted, "up": granted, "grant_delay_ps": 4 * MS, "piggyback": true,
                        "many_requests": true, "ask": {"kind": "scheduled", "period_ps": 10 * MS, "first_grant": 100}});
    [half_duplex, grants].map(|medium| {
        let mut direction = hop_direction(0, 10, 0);
        direction["queue"] = json!({"kind": "droptail", "packets": 100, "bytes": null});
        let mut air = hop("air", direction.clone(), direction);
        air["medium"] = medium;
        json!([air])
    })
}

// finding("K13")
#[test]
fn idle_client_of_a_medium_changes_no_packet_of_another() {
    for hops in media() {
        let watched = jittered("watched", &[0], 0, 0);
        let until = 4 * S;
        let alone = packets_of("watched", &hops, std::slice::from_ref(&watched), until);
        assert!(alone.len() > 2000, "{}", alone.len());
        let beside = packets_of("watched", &hops, &[watched, jittered("later", &[0], 1, 4000)], until);
        assert!(beside == alone, "{hops}");
    }
}

#[test]
fn flow_has_the_longer_delays_once_another_has_started() {
    let hops = json!([hop("core", hop_direction(8_000_000, 10, 30), hop_direction(8_000_000, 10, 30))]);
    let watched = jittered("watched", &[0], 0, 0);
    let alone = packets_of("watched", &hops, std::slice::from_ref(&watched), S);
    let mut fixed = watched.clone();
    fixed["overhead_ps"] = fixed["overhead_alone_ps"].clone();
    let shared = [watched, jittered("other", &[0], 0, 0)];
    assert_eq!(packets_of("watched", &hops, &[fixed], S), alone);
    assert_ne!(packets_of("watched", &hops, &shared, S), alone);
}
