//! Captures of runs: the counts of tcptrace and tshark against the simulator's counters.

use crate::common::{S, bulk, cbr, go, hop, hop_direction, plan};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Command;

/// The variable with the scratch folder of a test that runs another one, which writes the same files meanwhile.
const FOLDER: &str = "SCRATCH_FOLDER";

fn scratch(name: &str) -> String {
    let folder = std::env::var(FOLDER).unwrap_or_else(|_| "captures".to_owned());
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&dir).expect("a scratch folder");
    dir.join(name).to_str().expect("a plain path").to_owned()
}

fn lossy() -> Value {
    let mut down = hop_direction(5_000_000, 20, 30);
    down["loss"] = json!({"kind": "bernoulli", "mean": 0.003});
    plan(20_000, json!([hop("h", down, hop_direction(5_000_000, 20, 30))]), json!([bulk("d", &[0]), cbr("c", &[0])]))
}

fn capture(flow: &str, end: &str, path: &str, format: &str) -> Value {
    json!({"flow": flow, "end": end, "path": path, "format": format})
}

/// Standard output of a program; none if it is not installed.
fn read(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).output() else {
        let test = std::thread::current();
        // Not by a macro, whose output is shown of failed tests only.
        let _ = writeln!(std::io::stderr(), "skipped: {}: {program} is not installed", test.name().unwrap_or_default());
        return None;
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn tcptrace_and_tshark_count_the_same_retransmissions() {
    let (pcap, pcapng) = (scratch("server.pcap"), scratch("server.pcapng"));
    let mut plan = lossy();
    plan["captures"] = json!([capture("d", "server", &pcap, "pcap"), capture("d", "server", &pcapng, "pcapng")]);
    let row = go(&plan).summary.flows.swap_remove(0);
    assert!(row.retransmitted_segments > 20, "{}", row.retransmitted_segments);
    if let Some(output) = read("tcptrace", &["-l", "-n", &pcap]) {
        let of =
            |key: &str| output.lines().find(|l| l.contains(key)).and_then(|l| l.split_whitespace().last()?.parse::<u64>().ok());
        assert_eq!(of("rexmt data pkts:"), Some(row.retransmitted_segments), "{output}");
        assert_eq!(of("actual data pkts:"), Some(row.segments_sent));
    }
    let filter = "tcp.len > 0 and (tcp.analysis.retransmission or tcp.analysis.out_of_order)";
    for path in [&pcap, &pcapng] {
        if let Some(output) = read("tshark", &["-r", path, "-Y", filter, "-T", "fields", "-e", "frame.number"]) {
            assert_eq!(output.lines().count() as u64, row.retransmitted_segments);
        }
        if let Some(output) =
            read("tshark", &["-r", path, "-Y", "_ws.malformed or tcp.checksum.status == 0", "-o", "tcp.check_checksum:TRUE"])
        {
            assert_eq!(output, "");
        }
    }
}

#[test]
fn captures_of_both_ends_agree_by_ip_id() {
    let (server, client) = (scratch("s.pcap"), scratch("c.pcap"));
    let mut plan = lossy();
    plan["captures"] = json!([capture("d", "server", &server, "pcap"), capture("d", "client", &client, "pcap")]);
    let summary = go(&plan).summary;
    let ids = |path: &str| -> Option<Vec<(String, f64)>> {
        let output = read("tshark", &["-r", path, "-Y", "tcp.len > 0", "-T", "fields", "-e", "ip.id", "-e", "frame.time_epoch"])?;
        Some(output.lines().filter_map(|l| l.split_once('\t')).map(|(id, t)| (id.to_owned(), t.parse().unwrap_or(0.0))).collect())
    };
    let (Some(sent), Some(received)) = (ids(&server), ids(&client)) else { return };
    assert_eq!(sent.len() as u64, summary.flows[0].segments_sent);
    let mut sent = sent.iter();
    for (id, at) in &received {
        // The path keeps the order: skipped packets were lost.
        let (_, left) = sent.find(|(s, _)| s == id).expect("received, so sent");
        let delay = at - left;
        assert!((0.02..0.1).contains(&delay), "{id}: {delay}");
    }
}

#[test]
fn captures_include_udp_and_change_no_result() {
    let path = scratch("udp.pcapng");
    let mut plan = lossy();
    let silent = go(&plan);
    plan["captures"] = json!([capture("c", "client", &path, "pcapng")]);
    let seen = go(&plan);
    assert_eq!(serde_json::to_string(&silent.summary).unwrap(), serde_json::to_string(&seen.summary).unwrap());
    if let Some(output) = read("tshark", &["-r", &path, "-Y", "udp", "-T", "fields", "-e", "frame.len"]) {
        let goodput = seen.summary.flows[1].goodput_bps.expect("a rate");
        let packets = (goodput * 20.0 / 8.0 / 972.0).round() as usize;
        assert_eq!(output.lines().filter(|l| *l == "1014").count(), packets);
    }
}

#[test]
fn captures_change_no_flow_when_hosts_have_processing_times() {
    let path = scratch("processing.pcap");
    let mut plan = lossy();
    plan["flows"][0]["tcp"]["processing_jitter"] = json!({"p50_ps": 25_000_000u64, "p99_ps": 80_000_000u64});
    let silent = go(&plan);
    plan["captures"] = json!([capture("d", "client", &path, "pcap"), capture("d", "server", &scratch("sender.pcap"), "pcap")]);
    let seen = go(&plan);
    let flows = |result: &ackclock_sim::RunResult| serde_json::to_string(&result.summary.flows).expect("JSON");
    assert_eq!(flows(&silent), flows(&seen));
    // Packets are captured as they arrive, before the host's processing time: at 5 Mb/s full ones are
    // 1.6832 ms apart, to the microsecond of the file, and 1.6 ms more with the other flow's between.
    if let Some(output) =
        read("tshark", &["-r", &path, "-Y", "tcp.len == 1000", "-T", "fields", "-e", "frame.time_delta_displayed"])
    {
        let gaps: Vec<f64> = output.lines().filter_map(|line| line.parse().ok()).collect();
        let is_exact = |gap: f64| [0.001_683_2, 0.003_283_2].iter().any(|exact| (gap - exact).abs() < 1.1e-6);
        let exact = gaps.iter().filter(|&&gap| is_exact(gap)).count();
        assert!(exact > gaps.len() * 3 / 4, "{exact} of {}", gaps.len());
    }
}

#[test]
fn run_fails_when_a_capture_cannot_be_written() {
    let mut plan = lossy();
    plan["duration_ps"] = json!(S);
    plan["captures"] = json!([capture("d", "server", "/nonexistent/x.pcap", "pcap")]);
    let plan = ackclock_sim::Plan::from_json(&plan.to_string()).unwrap();
    let error = ackclock_sim::run(&plan).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/x.pcap") && !error.contains('\n'), "{error}");
}

/// The lines of a ground truth: captured packet, and the rest of the line.
fn truth_lines(path: &str) -> Vec<(u64, String)> {
    let text = std::fs::read_to_string(path).expect("a truth");
    let line = |line: &str| line.split_once(',').map(|(record, rest)| (record.parse().expect("a number"), rest.to_owned()));
    text.lines().skip(1).filter_map(line).collect()
}

#[test]
fn capture_with_offloads_has_the_same_segments_in_fewer_packets() {
    let mut plan = lossy();
    plan["flows"][0]["tcp"]["push"] = json!("chunks");
    let mut captures = Vec::new();
    for end in ["server", "client"] {
        for offloads in [json!(null), json!({"max_bytes": 65_535, "gro_ps": 10_000_000_000u64})] {
            let name = format!("{end}-{}", if offloads.is_null() { "segments" } else { "offloads" });
            let mut capture = capture("d", end, &scratch(&format!("{name}.pcap")), "pcap");
            capture["truth"] = json!(scratch(&format!("{name}.csv")));
            capture["offloads"] = offloads;
            captures.push(capture);
        }
    }
    plan["captures"] = Value::Array(captures);
    go(&plan);
    for end in ["server", "client"] {
        let [segments, merged] = ["segments", "offloads"].map(|kind| truth_lines(&scratch(&format!("{end}-{kind}.csv"))));
        assert!(segments.iter().zip(0..).all(|((record, _), line)| *record == line));
        let sorted = |lines: &[(u64, String)]| {
            let mut rest: Vec<String> = lines.iter().map(|(_, rest)| rest.clone()).collect();
            rest.sort();
            rest
        };
        assert_eq!(sorted(&segments), sorted(&merged), "{end}");
        let records = merged.last().expect("packets").0 + 1;
        assert!(records < merged.len() as u64, "{end}: {records} of {}", merged.len());
        let mut capture =
            ackclock_pcap::read::Capture::open(std::path::Path::new(&scratch(&format!("{end}-offloads.pcap")))).unwrap();
        let (mut packets, mut longest, mut last) = (0, 0, i64::MIN);
        while let Some(record) = capture.packet().unwrap() {
            assert!(record.at >= last, "times do not decrease");
            (packets, longest, last) = (packets + 1, longest.max(record.original_len), record.at);
        }
        assert_eq!(packets, records);
        assert!(longest > 1514, "{end}: {longest}");
    }
}

#[test]
fn plan_is_refused_when_a_capture_between_hops_has_offloads() {
    let mut plan = lossy();
    let mut middle = capture("d", "middle", "/tmp/x.pcap", "pcap");
    middle["after"] = json!(1);
    middle["offloads"] = json!({"max_bytes": 65_535, "gro_ps": 1});
    plan["captures"] = json!([middle]);
    let error = ackclock_sim::Plan::from_json(&plan.to_string()).unwrap_err().to_string();
    assert!(error.contains("which only hosts have"), "{error}");
}

// finding("U44")
#[test]
fn missing_reader_is_named_when_the_output_of_tests_is_captured() {
    let test = "captures::captures_of_both_ends_agree_by_ip_id";
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let run = alone.args([test, "--exact"]).env("PATH", "/nonexistent").env(FOLDER, "no-reader").output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && errors.contains(&format!("skipped: {test}: tshark is not installed")), "{errors}");
}
