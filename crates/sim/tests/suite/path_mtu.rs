//! MTUs in a path: reports, black holes and clamped SYNs.

use crate::common::{S, bulk, cbr, close, go, hop, hop_direction, plan};
use ackclock_core::tcp::{LinuxRule, LinuxRules};
use ackclock_sim::Plan;
use serde_json::{Value, json};

fn line(mtu: Value) -> Value {
    // Without a limit, so that no queue drops.
    let mut direction = hop_direction(10_000_000, 5, 0);
    direction["mtu"] = mtu;
    direction
}

fn mtu(ip: u16, icmp: bool, clamp_mss: bool) -> Value {
    json!({"ip": ip, "icmp": icmp, "clamp_mss": clamp_mss})
}

/// A bulk flow of segments of 1000 B, 1052 B with headers, over two hops of which the second has an MTU.
fn run(down: Value, change: impl Fn(&mut Value)) -> ackclock_sim::RunResult {
    let mut flow = bulk("x", &[0, 1]);
    change(&mut flow["tcp"]);
    let far = hop("far", line(down), line(Value::Null));
    go(&plan(20_000, json!([hop("near", line(Value::Null), line(Value::Null)), far]), json!([flow])))
}

fn dropped(result: &ackclock_sim::RunResult) -> u64 {
    result.summary.hops.iter().map(|row| row.drops_by_cause.get("mtu").copied().unwrap_or(0)).sum()
}

/// Goodput of 10 Mb/s with segments of this payload.
fn goodput(payload: f64) -> f64 {
    10e6 * payload / (payload + 52.0)
}

#[test]
fn sender_makes_segments_smaller_when_a_router_reports_the_mtu() {
    for recovery in ["sack", "newreno", "rack", "prr", "linux", "classic", "fack", "rate-halving"] {
        let result = run(mtu(600, true, false), |tcp| {
            tcp["recovery"] = json!(recovery);
            tcp["initial_window"] = json!(10);
        });
        let flow = &result.summary.flows[0];
        // Without its slow start and its losses the flow has the line.
        close(flow.goodput_bps, goodput(548.0), 0.1 * goodput(548.0));
        assert_eq!(dropped(&result), 10, "{recovery}: the initial window");
        assert_eq!((flow.timeouts, flow.fast_retransmits), (0, 0), "{recovery}");
    }
}

#[test]
fn nothing_changes_when_the_mtu_takes_every_packet() {
    let text = |down: Value| {
        let mut result = run(down, |_| {}).summary;
        // The router is called for each packet.
        result.engine.elements_called = 0;
        serde_json::to_string(&result).expect("JSON")
    };
    assert_eq!(text(mtu(1052, true, false)), text(Value::Null));
    assert_eq!(text(mtu(1052, false, true)), text(Value::Null), "the MSS has the room of 40 B of headers");
}

#[test]
fn connection_stalls_when_no_router_reports_the_mtu() {
    let result = run(mtu(600, false, false), |_| {});
    assert_eq!(result.summary.flows[0].goodput_bps, Some(0.0));
    assert!(result.summary.flows[0].timeouts > 3 && dropped(&result) > 4);
}

#[test]
fn syn_offers_the_mss_that_fits_when_it_is_clamped() {
    for icmp in [true, false] {
        let result = run(mtu(600, icmp, true), |_| {});
        close(result.summary.flows[0].goodput_bps, goodput(548.0), 0.1 * goodput(548.0));
        assert_eq!(dropped(&result), 0);
    }
}

fn linux(tcp: &mut Value, probing: &str) {
    tcp["recovery"] = json!("linux");
    tcp["initial_window"] = json!(10);
    tcp["segment"] = json!(1448);
    tcp["push"] = json!("chunks");
    tcp["linux_rules"] = json!(true);
    tcp["mtu_probing"] = json!(probing);
}

#[test]
fn host_finds_the_mtu_behind_a_black_hole_when_it_probes() {
    let stalled = run(mtu(1400, false, false), |tcp| linux(tcp, "off"));
    assert_eq!(stalled.summary.flows[0].goodput_bps, Some(0.0));
    // The fourth RTO, of about 3.5 s, is that of the black hole.
    for (probing, stall) in [("black-hole", 3.9), ("always", 0.0)] {
        let result = run(mtu(1400, false, false), |tcp| linux(tcp, probing));
        let flow = &result.summary.flows[0];
        // From 1024 B the search goes to 1236, 1342 and 1347 B: 1348 B would pass.
        close(flow.goodput_bps, goodput(1347.0) * (20.0 - stall) / 20.0, 0.05 * goodput(1347.0));
    }
}

/// A flow of Linux's rules, with or without that of the path MTU, at 1 Mb/s over an MTU: payload per
/// packet that crossed the second hop, and the packets dropped by the MTU.
fn over_tiny_mtu(ip: u16, has_rule: bool, seconds: u64) -> (ackclock_sim::RunResult, u64) {
    let rules = LinuxRules::all();
    let rules = if has_rule { rules } else { rules.without(LinuxRule::PathMtu) };
    let mut flow = bulk("x", &[0, 1]);
    linux(&mut flow["tcp"], "off");
    flow["tcp"]["linux_rules"] = serde_json::to_value(rules).expect("names");
    let mut slow = hop_direction(1_000_000, 5, 30);
    slow["mtu"] = mtu(ip, true, false);
    let hops = json!([hop("near", hop_direction(1_000_000, 5, 30), line(Value::Null)), hop("far", slow, line(Value::Null))]);
    let result = go(&plan(seconds * 1000, hops, json!([flow])));
    let count = dropped(&result);
    (result, count)
}

#[test]
fn linux_sends_552_bytes_that_routers_divide_when_a_report_has_less() {
    // Of 552 B with 20 B of IP, a router with 300 B makes fragments of 300 and 272 B.
    let goodput = |result: &ackclock_sim::RunResult| result.summary.flows[0].goodput_bps;
    let (divided, drops) = over_tiny_mtu(300, true, 20);
    close(goodput(&divided), 1e6 * 500.0 / 572.0, 0.05e6);
    assert!((1..=10).contains(&drops), "{drops}: what left before the report");
    let (smaller, _) = over_tiny_mtu(300, false, 20);
    close(goodput(&smaller), 1e6 * 248.0 / 300.0, 0.05e6);
    // The nearest case: 552 B is what the report says, and nothing is divided.
    let [with, without] = [true, false].map(|has_rule| goodput(&over_tiny_mtu(552, has_rule, 20).0));
    assert_eq!(with, without);
    close(with, 1e6 * 500.0 / 552.0, 0.05e6);
}

#[test]
fn linux_tries_its_former_size_again_when_a_report_is_ten_minutes_old() {
    let drops = |has_rule: bool, seconds: u64| over_tiny_mtu(1000, has_rule, seconds).1;
    let once = drops(true, 590);
    assert!((1..=10).contains(&once), "{once}: what left before the report");
    // A second report follows: what left in the RTT before it, of at most 60 queued segments.
    let twice = drops(true, 640);
    assert!(twice > once && twice - once < 70, "{twice} after {once}");
    assert_eq!(drops(false, 640), once, "a host without the rule keeps the size");
}

#[test]
fn report_crosses_the_hops_between_router_and_sender() {
    // 40 ms to the server and back, and the initial window again: the first data arrives 40 ms later.
    let delay = |down: Value| run(down, |_| {}).summary.flows[0].rtt_ms.min.expect("samples");
    close(Some(delay(mtu(600, true, false))), delay(Value::Null), 1.0);
    let mut far = line(mtu(600, true, false));
    far["delay_ps"] = json!(0);
    let lossy = {
        let mut up = line(Value::Null);
        up["loss"] = json!({"kind": "bernoulli", "mean": 1.0});
        up
    };
    let hops = json!([hop("near", line(Value::Null), lossy), hop("far", far, line(Value::Null))]);
    let result = go(&plan(5000, hops, json!([bulk("x", &[0, 1])])));
    assert_eq!(result.summary.flows[0].goodput_bps, Some(0.0), "no report and no ACK arrives");
}

#[test]
fn check_of_an_mtu_names_its_place() {
    let message = |mtu: Value| {
        let plan = plan(1000, json!([hop("h", line(mtu), line(Value::Null))]), json!([cbr("x", &[0])]));
        Plan::from_json(&plan.to_string()).expect_err("an error").to_string()
    };
    assert_eq!(message(mtu(67, true, false)), "hop 'h' down: mtu.ip is 67 bytes: at least 68 (RFC 791)");
    let mut unknown = mtu(68, true, false);
    unknown["surprise"] = json!(1);
    assert!(message(unknown).contains("surprise"));
}

#[test]
fn later_connection_of_the_hosts_starts_with_the_size_that_was_reported() {
    let mut first = bulk("first", &[0, 1]);
    first["workload"] = json!({"kind": "transfer", "bytes": 50_000});
    first["tcp"]["metrics_cache"] = json!("rtt");
    let mut second = first.clone();
    second["name"] = json!("second");
    second["start"] = json!({"low_ps": 2 * S, "high_ps": 2 * S});
    let far = hop("far", line(mtu(600, true, false)), line(Value::Null));
    let hops = json!([hop("near", line(Value::Null), line(Value::Null)), far]);
    let result = go(&plan(4000, hops.clone(), json!([first, second])));
    assert_eq!(result.summary.flows[0].retransmitted_segments, 4, "two segments of the initial window");
    assert_eq!(result.summary.flows[1].retransmitted_segments, 0);
    first["tcp"]["metrics_cache"] = json!("off");
    second["tcp"]["metrics_cache"] = json!("off");
    let result = go(&plan(4000, hops, json!([first, second])));
    assert_eq!(result.summary.flows[1].retransmitted_segments, 4);
}
