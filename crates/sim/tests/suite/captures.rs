//! Captures of runs, counted by other people's readers against our own counters.

use crate::common::{S, bulk, cbr, go, hop, plan, way};
use serde_json::{Value, json};
use std::process::Command;

fn scratch(name: &str) -> String {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("captures");
    std::fs::create_dir_all(&dir).expect("a scratch folder");
    dir.join(name).to_str().expect("a plain path").to_owned()
}

fn lossy() -> Value {
    let mut down = way(5_000_000, 20, 30);
    down["loss"] = json!({"kind": "bernoulli", "mean": 0.003});
    plan(20_000, json!([hop("h", down, way(5_000_000, 20, 30))]), json!([bulk("d", &[0]), cbr("c", &[0])]))
}

fn capture(flow: &str, end: &str, path: &str, format: &str) -> Value {
    json!({"flow": flow, "end": end, "path": path, "format": format})
}

/// Standard output, or none where the program is not installed.
fn read(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).output() else {
        println!("skipped: {program} is not installed");
        return None;
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn readers_count_the_retransmissions_that_we_count() {
    let (pcap, pcapng) = (scratch("server.pcap"), scratch("server.pcapng"));
    let mut plan = lossy();
    plan["captures"] = json!([capture("d", "server", &pcap, "pcap"), capture("d", "server", &pcapng, "pcapng")]);
    let row = go(&plan).summary.flows.swap_remove(0);
    assert!(row.retransmitted_segments > 20, "{}", row.retransmitted_segments);
    if let Some(said) = read("tcptrace", &["-l", "-n", &pcap]) {
        let of =
            |key: &str| said.lines().find(|l| l.contains(key)).and_then(|l| l.split_whitespace().last()?.parse::<u64>().ok());
        assert_eq!(of("rexmt data pkts:"), Some(row.retransmitted_segments), "{said}");
        assert_eq!(of("actual data pkts:"), Some(row.segments_sent));
    }
    let filter = "tcp.len > 0 and (tcp.analysis.retransmission or tcp.analysis.out_of_order)";
    for path in [&pcap, &pcapng] {
        if let Some(said) = read("tshark", &["-r", path, "-Y", filter, "-T", "fields", "-e", "frame.number"]) {
            assert_eq!(said.lines().count() as u64, row.retransmitted_segments);
        }
        if let Some(said) =
            read("tshark", &["-r", path, "-Y", "_ws.malformed or tcp.checksum.status == 0", "-o", "tcp.check_checksum:TRUE"])
        {
            assert_eq!(said, "");
        }
    }
}

#[test]
fn both_ends_tell_one_story_joined_by_the_packets_numbers() {
    let (server, client) = (scratch("s.pcap"), scratch("c.pcap"));
    let mut plan = lossy();
    plan["captures"] = json!([capture("d", "server", &server, "pcap"), capture("d", "client", &client, "pcap")]);
    let summary = go(&plan).summary;
    let ids = |path: &str| -> Option<Vec<(String, f64)>> {
        let said = read("tshark", &["-r", path, "-Y", "tcp.len > 0", "-T", "fields", "-e", "ip.id", "-e", "frame.time_epoch"])?;
        Some(said.lines().filter_map(|l| l.split_once('\t')).map(|(id, t)| (id.to_owned(), t.parse().unwrap_or(0.0))).collect())
    };
    let (Some(sent), Some(received)) = (ids(&server), ids(&client)) else { return };
    assert_eq!(sent.len() as u64, summary.flows[0].segments_sent);
    let mut sent = sent.iter();
    for (id, at) in &received {
        // Packets keep their order here: those skipped were lost.
        let (_, left) = sent.find(|(s, _)| s == id).expect("received, so sent");
        let delay = at - left;
        assert!((0.02..0.1).contains(&delay), "{id}: {delay}");
    }
}

#[test]
fn capturing_changes_nothing_and_udp_is_captured_too() {
    let path = scratch("udp.pcapng");
    let mut plan = lossy();
    let silent = go(&plan);
    plan["captures"] = json!([capture("c", "client", &path, "pcapng")]);
    let seen = go(&plan);
    assert_eq!(serde_json::to_string(&silent.summary).unwrap(), serde_json::to_string(&seen.summary).unwrap());
    if let Some(said) = read("tshark", &["-r", &path, "-Y", "udp", "-T", "fields", "-e", "frame.len"]) {
        let goodput = seen.summary.flows[1].goodput_bps.expect("a rate");
        let packets = (goodput * 20.0 / 8.0 / 972.0).round() as usize;
        assert_eq!(said.lines().filter(|l| *l == "1014").count(), packets);
    }
}

#[test]
fn a_capture_that_cannot_be_written_fails_the_run_with_one_line() {
    let mut plan = lossy();
    plan["duration_ps"] = json!(S);
    plan["captures"] = json!([capture("d", "server", "/nonexistent/x.pcap", "pcap")]);
    let plan = ackclock_sim::Plan::from_json(&plan.to_string()).unwrap();
    let error = ackclock_sim::run(&plan).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/x.pcap") && !error.contains('\n'), "{error}");
}
