//! Runs one fixed scenario without recording and prints what it cost, as one line of JSON.
//!
//!     ackclock-bench CASE [--seconds S] [--variant NAME] [--metered]
//!
//!     ackclock-bench capture-write FILE PACKETS [MOST_OF_A_FLOW]
//!     ackclock-bench capture-flood FILE SYNS
//!     ackclock-bench capture-read FILE [WORKERS]
//!     ackclock-bench variants
//!
//! `--metered` lets every link measure its queue, as runs with a summary do.

mod captures;
mod cases;
mod media;
mod usage;

use ackclock_core::Time;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::tcp::Variant;
use ackclock_sim::build::{BuiltNetwork, Metering, Role, build};
use ackclock_sim::{Plan, tcp_of};
use cases::Case;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Report<'a> {
    case: &'a str,
    variant: &'static str,
    /// Delivered in order at the receivers; datagrams in whatever order.
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
struct Done {
    data_packets: u64,
    element_calls: u64,
    retransmissions: u64,
    timeouts: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["capture-write", file, packets] => whole(packets).and_then(|n| captures::write(file.as_ref(), n, usize::MAX)),
        ["capture-write", file, packets, most] => {
            whole(packets).and_then(|n| captures::write(file.as_ref(), n, whole(most)? as usize))
        }
        ["capture-flood", file, syns] => whole(syns).and_then(|n| captures::write_flood(file.as_ref(), n as u32)),
        ["capture-read", file] => captures::read(file.as_ref(), 1),
        ["capture-read", file, workers] => whole(workers).and_then(|n| captures::read(file.as_ref(), n as usize)),
        ["variants"] => variants(),
        _ => ask().map(|asked| measure(&asked)),
    };
    match done {
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

/// Every congestion control's name, as a JSON list.
fn variants() -> Result<String, String> {
    let names: Vec<&str> = Variant::ALL.iter().map(|variant| variant.name()).collect();
    serde_json::to_string(&names).map_err(|error| error.to_string())
}

fn whole(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("found {word:?} where a whole number goes"))
}

struct Asked {
    case: String,
    variant: &'static str,
    plan: Plan,
    repetitions: u32,
    metering: Metering,
}

fn ask() -> Result<Asked, String> {
    let mut words = std::env::args().skip(1);
    let names = [&cases::NAMES[..], &media::NAMES[..]].concat().join(", ");
    let usage = || format!("usage: ackclock-bench CASE [--seconds S] [--variant NAME] [--metered], CASE one of {names}");
    let name = words.next().ok_or_else(usage)?;
    let (mut metering, mut variant, mut seconds) = (Metering::Off, None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--metered" => metering = Metering::On,
            "--variant" => {
                let named = words.next().and_then(|name| Variant::from_name(&name));
                variant = Some(named.ok_or("--variant takes a congestion control of `ackclock list variants`")?.name());
            }
            "--seconds" => {
                let number = words.next().and_then(|s| s.parse().ok()).filter(|&s: &f64| s > 0.0 && s < 1e6);
                seconds = Some(number.ok_or("--seconds takes a positive number")?);
            }
            _ => return Err(usage()),
        }
    }
    if let Some(plan) = media::plan(&name, seconds) {
        return Ok(Asked { case: name, variant: "none", plan: plan?, repetitions: 1, metering });
    }
    let mut case = Case::from_name(&name).ok_or_else(usage)?;
    case.variant = variant.unwrap_or(case.variant);
    case.seconds = seconds.unwrap_or(case.seconds);
    Ok(Asked { case: name, variant: case.variant, plan: case.plan(), repetitions: case.repetitions, metering })
}

fn measure(asked: &Asked) -> String {
    let watch = usage::Watch::start();
    let mut all = Done::default();
    for _ in 0..asked.repetitions {
        let done = run(asked);
        all.data_packets += done.data_packets;
        all.element_calls += done.element_calls;
        all.retransmissions += done.retransmissions;
        all.timeouts += done.timeouts;
    }
    let used = watch.stop();
    let report = Report {
        case: &asked.case,
        variant: asked.variant,
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

fn run(asked: &Asked) -> Done {
    let mut world = build(&asked.plan, asked.metering);
    let end = Time(asked.plan.duration_ps);
    world.network.run_until(end, &mut ());
    let BuiltNetwork { network, flows, .. } = &world;
    let mut done = Done { element_calls: network.calls(), ..Done::default() };
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
