//! What an emulation says of itself and of its link.

use crate::audit::{Audit, Audits};
use crate::log::LogReport;
use ackclock_core::element::Element;
use ackclock_core::statistics::SummaryStats;
use ackclock_core::{Span, Time};
use ackclock_sim::build::BuiltNetwork;
use ackclock_sim::plan::RatePlan;
use ackclock_sim::{Plan, metrics};
use serde::Serialize;

/// The document of `ackclock emulate --json`, but for the link's name.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub valid: bool,
    /// Why not, or that nothing speaks against it.
    pub why: String,
    /// Deviations from the options that are no fault of the link, one sentence each.
    pub notes: Vec<String>,
    /// How much later than planned packets left.
    pub release_error_us: SummaryStats,
    /// How long packets from the hosts waited before the network took them in.
    pub input_lateness_us: SummaryStats,
    pub deadline_misses: u64,
    pub unintended_drops: u64,
    pub hops: Vec<HopReport>,
    /// Of each live client by itself.
    pub clients: Vec<ClientReport>,
    pub command: CommandReport,
    pub seconds: f64,
    /// Unix time of the beginning, from which the log counts.
    pub started: f64,
    /// Packets from the hosts, and packets to them.
    pub packets_in: u64,
    pub packets_out: u64,
    /// 1-minute load and stolen CPU time, in percent, while it ran.
    pub load: f64,
    pub steal_percent: f64,
    /// CPU time that the emulator itself used.
    pub cpu_seconds: f64,
    /// Null without a log.
    pub log: Option<LogReport>,
}

/// How well one client's link kept its times.
#[derive(Debug, Clone, Serialize)]
pub struct ClientReport {
    /// From 0.
    pub client: usize,
    pub valid: bool,
    pub why: String,
    pub release_error_us: SummaryStats,
    pub input_lateness_us: SummaryStats,
    pub deadline_misses: u64,
    pub unintended_drops: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct HopReport {
    pub hop: String,
    pub direction: &'static str,
    /// Of a fixed rate; none on other links.
    pub asked_bps: Option<f64>,
    /// While it was sending.
    pub achieved_bps: Option<f64>,
    pub drops: u64,
    pub marks: u64,
    pub delivered: u64,
    pub queue_delay_ms_mean: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CommandReport {
    pub argv: Vec<String>,
    /// Its exit status; 128 and the signal's number if one ended it; none without a command.
    pub exit: Option<i32>,
    /// The error of execve(2); none if the command was run.
    pub not_run: Option<&'static str>,
}

/// As `verdict`; none for a link over which no command ran.
pub fn verdict_of_run(audit: &Audit, command: &CommandReport) -> (bool, String) {
    match command.not_run {
        Some(error) => (false, format!("the command could not be run: {error}")),
        None => verdict(audit),
    }
}

/// Whether an audit found nothing, and what it found.
pub fn verdict(audit: &Audit) -> (bool, String) {
    let faults = audit.faults();
    let why = if faults.is_empty() { "every packet kept its time".into() } else { faults.join("; ") };
    (faults.is_empty(), why)
}

/// Every client's audit.
pub fn clients(audits: &Audits) -> Vec<ClientReport> {
    let of = |(client, audit): (usize, Audit)| {
        let (valid, why) = verdict(&audit);
        ClientReport {
            client,
            valid,
            why,
            release_error_us: audit.release_error(),
            input_lateness_us: audit.input_lateness(),
            deadline_misses: audit.misses(),
            unintended_drops: audit.unintended(),
        }
    };
    audits.each().enumerate().map(of).collect()
}

/// Every hop's figures from the start until `now`.
pub fn hops(plan: &Plan, world: &mut BuiltNetwork, now: Time) -> Vec<HopReport> {
    let BuiltNetwork { network, directed_hops, .. } = world;
    let figures = metrics::hops(directed_hops, network, now);
    let mut rows = Vec::new();
    for (directed_hop, figures) in directed_hops.iter().zip(figures) {
        let (mut busy, mut sent) = (Span::ZERO, 0);
        for chain in &directed_hop.chains {
            if let Some(meter) = network.element(chain.link).meter(now, chain.place) {
                busy = busy + meter.busy;
                sent += meter.sent_bytes;
            }
        }
        let asked = match plan.hops[directed_hop.hop].direction(directed_hop.direction).and_then(|config| config.rate.as_ref()) {
            Some(RatePlan::Fixed { bps }) => Some(*bps as f64),
            _ => None,
        };
        rows.push(HopReport {
            hop: plan.hops[directed_hop.hop].name.clone(),
            direction: directed_hop.direction.name(),
            asked_bps: asked,
            achieved_bps: asked.filter(|_| busy > Span::ZERO).map(|_| sent as f64 * 8.0 / busy.as_secs()),
            drops: figures.drops.iter().sum(),
            marks: figures.marks,
            delivered: figures.delivered,
            queue_delay_ms_mean: figures.queue_delay.mean().map(|s| s * 1e3),
        });
    }
    rows
}
