//! The report of an emulation.

use crate::audit::{Audit, Audits};
use crate::cpu_wait::CpuWait;
use crate::grade::{Bound, Grade};
use crate::log::LogReport;
use ackclock_contract::Document;
use ackclock_core::element::Element;
use ackclock_core::statistics::SummaryStats;
use ackclock_core::{Span, Time};
use ackclock_sim::build::BuiltNetwork;
use ackclock_sim::plan::RatePlan;
use ackclock_sim::summary::RecordingRow;
use ackclock_sim::{Plan, metrics};
use serde::Serialize;

/// The document of `ackclock emulate --json` without the link's name.
#[derive(Debug, Clone, Serialize, Document)]
pub struct EmulationReport {
    /// Whether the grade is not invalid.
    pub valid: bool,
    /// The reason of the grade.
    pub why: String,
    #[document(names("exact", "usable", "unused", "invalid"))]
    pub grade: Grade,
    /// Of the errors that the machine's lateness can have caused.
    pub bound: Bound,
    /// Warnings that do not invalidate the run, one sentence each.
    pub notes: Vec<String>,
    /// Time from a packet's planned release to its transmission.
    pub release_error_us: SummaryStats,
    /// Time from a packet's RX timestamp to its entry into the network.
    pub input_lateness_us: SummaryStats,
    /// Packets released later after their due time than they may be.
    pub deadline_misses: u64,
    pub unintended_drops: u64,
    /// 99th percentile of the machine's timer error before the start.
    pub timer_p99_us: f64,
    pub hops: Vec<HopReport>,
    /// One per live client.
    pub clients: Vec<ClientReport>,
    pub command: CommandReport,
    pub seconds: f64,
    /// Unix time of the start, the origin of the log's times.
    pub started: f64,
    /// Packets received from hosts, and packets sent to hosts.
    pub packets_in: u64,
    pub packets_out: u64,
    /// 1-minute load average, and stolen CPU time during the run in percent.
    pub load: f64,
    pub steal_percent: f64,
    /// CPU time of the emulator.
    pub cpu_seconds: f64,
    /// How long the commands' processes waited for a CPU, which no bound covers.
    #[document(optional)]
    pub cpu_wait: CpuWait,
    /// Null without a log.
    pub log: Option<LogReport>,
}

/// The audit of one client.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ClientReport {
    /// From 0.
    pub client: usize,
    pub valid: bool,
    pub why: String,
    #[document(names("exact", "usable", "unused", "invalid"))]
    pub grade: Grade,
    pub bound: Bound,
    pub release_error_us: SummaryStats,
    pub input_lateness_us: SummaryStats,
    pub deadline_misses: u64,
    pub unintended_drops: u64,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct HopReport {
    pub hop: String,
    #[document(names("down", "up"))]
    pub direction: &'static str,
    /// Configured rate; none for other rate models than a fixed rate.
    pub asked_bps: Option<f64>,
    /// Rate during the hop's busy time.
    pub achieved_bps: Option<f64>,
    pub drops: u64,
    pub marks: u64,
    pub delivered: u64,
    pub queue_delay_ms_mean: Option<f64>,
    /// Absent without a recorded rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingRow>,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct CommandReport {
    pub argv: Vec<String>,
    /// Exit status; 128 + n if signal n killed the command; none without a command.
    pub exit: Option<i32>,
    /// Error of execve(2); none if the command was run.
    pub not_run: Option<&'static str>,
}

/// Grade and reason; invalid if the command was not run.
pub fn grade_of_run(audit: &Audit, bound: Bound, command: &CommandReport) -> (Grade, String) {
    match command.not_run {
        Some(error) => (Grade::Invalid, format!("the command could not be run: {error}")),
        None => (audit.evidence(bound).grade(), audit.evidence(bound).why()),
    }
}

/// The report of each client.
pub fn clients(audits: &Audits) -> Vec<ClientReport> {
    let report = |(client, (audit, bound)): (usize, (Audit, Bound))| {
        let evidence = audit.evidence(bound);
        let grade = evidence.grade();
        ClientReport {
            client,
            valid: grade != Grade::Invalid,
            why: evidence.why(),
            grade,
            bound,
            release_error_us: audit.release_error(),
            input_lateness_us: audit.input_lateness(),
            deadline_misses: audit.late(),
            unintended_drops: audit.unintended(),
        }
    };
    audits.each().enumerate().map(report).collect()
}

/// The report of each hop from the start until `now`.
pub fn hops(plan: &Plan, built: &mut BuiltNetwork, now: Time) -> Vec<HopReport> {
    let BuiltNetwork { network, directed_hops, .. } = built;
    let figures = metrics::hops(directed_hops, network, now);
    let mut rows = Vec::new();
    for (directed_hop, figures) in directed_hops.iter().zip(figures) {
        let (mut busy, mut sent) = (Span::ZERO, 0);
        for chain in &directed_hop.chains {
            if let Some(meter) = network.element(chain.link).meter(now, chain.queue) {
                busy = busy + meter.busy;
                sent += meter.sent_bytes;
            }
        }
        let hop = &plan.hops[directed_hop.hop];
        let configured = match hop.direction(directed_hop.direction).and_then(|direction| direction.rate.as_ref()) {
            Some(RatePlan::Fixed { bps }) => Some(*bps as f64),
            _ => None,
        };
        rows.push(HopReport {
            hop: hop.name.clone(),
            direction: directed_hop.direction.name(),
            asked_bps: configured,
            achieved_bps: configured.filter(|_| busy > Span::ZERO).map(|_| sent as f64 * 8.0 / busy.as_secs()),
            drops: figures.drops.iter().sum(),
            marks: figures.marks,
            delivered: figures.delivered,
            queue_delay_ms_mean: figures.queue_delay.mean().map(|s| s * 1e3),
            recording: RecordingRow::of(plan, directed_hop.hop, directed_hop.direction),
        });
    }
    rows
}
