//! Runs one fixed scenario without recording and prints its cost as one line of JSON.
//!
//!     ackclock-bench CASE [--seconds S] [--variant NAME]
//!
//!     ackclock-bench capture-write FILE PACKETS [MAX_PER_FLOW]
//!     ackclock-bench capture-flood FILE SYNS
//!     ackclock-bench capture-short FILE FLOWS
//!     ackclock-bench capture-scan FILE PORTS
//!     ackclock-bench capture-read FILE
//!     ackclock-bench variants
//!     ackclock-bench runs FILE        a plan (docs/inside/plan.md) in each line, one after another
//!     ackclock-bench replay QUEUE BITS_PER_SECOND SEED ARRIVALS       packets of a file at a queue
//!
//! Every link measures its queue, as in runs with a summary.

mod aqm;
mod captures;
mod cases;
mod media;
mod replay;
mod usage;

use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::tcp::Variant;
use ackclock_core::{Rate, Time};
use ackclock_sim::build::{BuiltNetwork, Role, build};
use ackclock_sim::{Plan, tcp_of};
use cases::Case;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

#[derive(Serialize)]
struct CaseResult<'a> {
    case: &'a str,
    variant: &'static str,
    /// Segments delivered in order, and datagrams.
    data_packets: u64,
    cpu_s: f64,
    wall_s: f64,
    element_calls: u64,
    calls_per_cpu_s: f64,
    packets_per_cpu_s: f64,
    peak_rss_kb: u64,
    retransmissions: u64,
    timeouts: u64,
}

#[derive(Default)]
struct Totals {
    data_packets: u64,
    element_calls: u64,
    retransmissions: u64,
    timeouts: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["capture-write", file, packets] => integer(packets).and_then(|n| captures::write(file.as_ref(), n, usize::MAX)),
        ["capture-write", file, packets, max] => {
            integer(packets).and_then(|n| captures::write(file.as_ref(), n, integer(max)? as usize))
        }
        ["capture-flood", file, syns] => integer(syns).and_then(|n| captures::write_flood(file.as_ref(), n as u32)),
        ["capture-short", file, flows] => {
            integer(flows).and_then(|n| captures::write_connections(file.as_ref(), n as u32, captures::Mix::Short))
        }
        ["capture-scan", file, ports] => {
            integer(ports).and_then(|n| captures::write_connections(file.as_ref(), n as u32, captures::Mix::Scan))
        }
        ["capture-read", file] => captures::read(file.as_ref()),
        ["variants"] => variants(),
        ["runs", file] => runs(file.as_ref()),
        ["replay", queue, bps, seed, arrivals] => integer(bps).and_then(|bps| {
            let rate = Rate::try_from(bps).map_err(|e| e.to_string())?;
            replay::replay(queue, rate, integer(seed)?, arrivals.as_ref())
        }),
        _ => select().map(|selection| measure(&selection)),
    };
    match outcome {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("ackclock-bench: {problem}");
            ExitCode::from(2)
        }
    }
}

/// The names of all congestion controls, as a JSON list.
fn variants() -> Result<String, String> {
    let names: Vec<&str> = Variant::ALL.iter().map(|variant| variant.name()).collect();
    serde_json::to_string(&names).map_err(|error| error.to_string())
}

/// Runs the plans of a file and prints their cost. The summaries are made, and written nowhere.
fn runs(file: &Path) -> Result<String, String> {
    #[derive(Serialize)]
    struct RunsResult {
        runs: u64,
        summary_bytes: usize,
        cpu_s: f64,
        wall_s: f64,
    }
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let watch = usage::Stopwatch::start();
    let (mut runs, mut summary_bytes) = (0, 0);
    for line in text.lines() {
        let plan = Plan::from_json(line).map_err(|error| error.to_string())?;
        let result = ackclock_sim::run(&plan).map_err(|error| error.to_string())?;
        summary_bytes += serde_json::to_string(&result.summary).map_err(|error| error.to_string())?.len();
        runs += 1;
    }
    let usage::Usage { cpu_s, wall_s, .. } = watch.stop();
    serde_json::to_string(&RunsResult { runs, summary_bytes, cpu_s, wall_s }).map_err(|error| error.to_string())
}

fn integer(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("found {word:?} where a whole number goes"))
}

struct Selection {
    case: String,
    variant: &'static str,
    plan: Plan,
    repetitions: u32,
}

fn select() -> Result<Selection, String> {
    let mut words = std::env::args().skip(1);
    let names = [&cases::NAMES[..], &media::NAMES[..], &aqm::NAMES[..]].concat().join(", ");
    let usage = || format!("usage: ackclock-bench CASE [--seconds S] [--variant NAME], CASE one of {names}");
    let name = words.next().ok_or_else(usage)?;
    let (mut variant, mut seconds) = (None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--variant" => {
                let named = words.next().and_then(|name| Variant::from_name(&name));
                variant = Some(named.ok_or("--variant takes a congestion control of `ackclock list variants`")?);
            }
            "--seconds" => {
                let number = words.next().and_then(|s| s.parse().ok()).filter(|&s: &f64| s > 0.0 && s < 1e6);
                seconds = Some(number.ok_or("--seconds takes a positive number")?);
            }
            _ => return Err(usage()),
        }
    }
    if let Some(plan) = media::plan(&name, seconds).or_else(|| aqm::plan(&name, seconds)) {
        return Ok(Selection { case: name, variant: "none", plan: plan?, repetitions: 1 });
    }
    let mut case = Case::from_name(&name).ok_or_else(usage)?;
    case.variant = variant.unwrap_or(case.variant);
    case.seconds = seconds.unwrap_or(case.seconds);
    Ok(Selection { case: name, variant: case.variant.name(), plan: case.plan(), repetitions: case.repetitions })
}

fn measure(selection: &Selection) -> String {
    let watch = usage::Stopwatch::start();
    let mut all = Totals::default();
    for _ in 0..selection.repetitions {
        let done = run(selection);
        all.data_packets += done.data_packets;
        all.element_calls += done.element_calls;
        all.retransmissions += done.retransmissions;
        all.timeouts += done.timeouts;
    }
    let used = watch.stop();
    let report = CaseResult {
        case: &selection.case,
        variant: selection.variant,
        data_packets: all.data_packets,
        cpu_s: used.cpu_s,
        wall_s: used.wall_s,
        element_calls: all.element_calls,
        calls_per_cpu_s: all.element_calls as f64 / used.cpu_s,
        packets_per_cpu_s: all.data_packets as f64 / used.cpu_s,
        peak_rss_kb: used.peak_rss_kb,
        retransmissions: all.retransmissions,
        timeouts: all.timeouts,
    };
    serde_json::to_string(&report).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}"))
}

fn run(selection: &Selection) -> Totals {
    let mut built = build(&selection.plan);
    let end = Time(selection.plan.duration_ps);
    built.network.run_until(end, &mut ());
    let BuiltNetwork { network, flows, .. } = &built;
    let mut done = Totals { element_calls: network.calls(), ..Totals::default() };
    for endpoints in flows {
        let tcp = |role| tcp_of(network.endpoint(endpoints.by_role(role)));
        if let (Some(sender), Some(receiver)) = (tcp(Role::Sender), tcp(Role::Receiver)) {
            let stats = sender.sender_stats(end);
            done.data_packets += receiver.receiver_stats().in_order_bytes / u64::from(cases::SEGMENT);
            done.retransmissions += stats.retransmitted_segments;
            done.timeouts += stats.timeouts;
        }
        if let AnyEndpoint::UdpSink(sink) = network.endpoint(endpoints.by_role(Role::Receiver)) {
            done.data_packets += sink.packets;
        }
    }
    done
}
