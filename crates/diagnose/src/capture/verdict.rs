//! The verdict about a capture: which party most of the transfers' time, or of the connections, was
//! lost to.

use super::defects::{self, Defect, DefectKind};
use super::rule::{Check, Owner, Remedy, RuleClaim};
use super::rules::RULES;
use super::sending_end::SendingEnd;
use super::transfer::{ENOUGH_BYTES, Transfer, above_zero};
use crate::number_text::{general, many, milliseconds, percent, rate, whole_percent};
use ackclock_core::statistics::SummaryStats;
use ackclock_trace::report::{CaptureSummary, ConnectionCounts, FindingCount, FlowReport, Report, TopRow, VerdictReport};
use std::collections::BTreeMap;

const NOTHING_WRONG: &str = "nothing_wrong";
/// Something is wrong, and the capture does not show whose it is.
const UNCLEAR: &str = "unclear";
/// What a customer reads where no defect took that share.
const NOTHING_SLOWER: &str = "Neither the network nor the hosts took a fifth of these transfers' time.";
const ALL_SHORT: &str = "No transfer is long enough to show what limits it.";
const NO_CONNECTION: &str = "There is no TCP connection, and no data of which limits are known.";
/// Share of the transfers' time, or of the connections, from which there is a verdict.
const MATTERS: f64 = 0.2;
/// Queueing delay (p95) above which a queue is a defect, if it also exceeds the minimum RTT.
const LONG_QUEUE_MS: f64 = 50.0;
/// Share and number of retransmitted segments from which a verdict that is not the network's says so
/// as well: 10 of them give the share within a factor of two (95 %, Poisson).
const MANY_LOSSES: (f64, i64) = (0.02, 10);
/// Limits whose share of the time counts for their party.
const LIMITS: [&str; 8] = [
    "receive_window",
    "send_buffer",
    "application",
    "recovery",
    "ack_path",
    "upload_slows_download",
    "nagle_delayed_ack",
    "delayed_ack_stall",
];
/// Findings that concern a connection as a whole, whatever its time.
const FAILURES: [&str; 8] = [
    "path_mtu",
    "peer_gone",
    "handshake_unfinished",
    "reset_by_middlebox",
    "reset_injected",
    "zero_window_death",
    "reset_unknown_connection",
    "keepalive_unanswered",
];
/// Findings about SYNs without an answer, and what they say of all such connections.
const IGNORED_SYNS: [(&str, &str); 2] = [
    ("accept_queue", "reached a server that accepted others meanwhile: its accept queue is full"),
    ("tw_recycle", "carried timestamps below those of another host behind the same address, and the server dropped them"),
];
/// Findings whose share of a connection's time counts.
const WAITS: [&str; 3] = ["zero_window_stall", "server_think_time", "client_think_time"];
/// The same of a connection without limits.
const SMALL_WAITS: [&str; 5] =
    ["zero_window_stall", "server_think_time", "client_think_time", "nagle_delayed_ack", "delayed_ack_stall"];

/// The parties that a verdict names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Network,
    SendingHost,
    ReceivingHost,
    Application,
}

impl Party {
    /// None of a capture's own defects.
    fn of(owner: Owner) -> Option<Party> {
        match owner {
            Owner::Sender => Some(Party::SendingHost),
            Owner::Receiver => Some(Party::ReceivingHost),
            Owner::Application => Some(Party::Application),
            Owner::Router | Owner::Operator | Owner::Network => Some(Party::Network),
            Owner::Capture => None,
        }
    }

    /// The party of a claim, if its code is among these.
    fn among(claim: &RuleClaim, codes: &[&str]) -> Option<Party> {
        claim.owner_among(codes).and_then(Party::of)
    }

    /// The verdict that blames this party.
    fn verdict(self) -> &'static str {
        match self {
            Party::Network => "network",
            Party::SendingHost => "sending_host",
            Party::ReceivingHost => "receiving_host",
            Party::Application => "application",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Party::Network => "network",
            Party::SendingHost => "sending host",
            Party::ReceivingHost => "receiving host",
            Party::Application => "application",
        }
    }

    /// What its share of the time was.
    fn time(self) -> &'static str {
        match self {
            Party::Network => "limited by the network",
            Party::SendingHost => "limited by the sender's buffer, program, or pacing",
            Party::ReceivingHost => "limited by the receive window",
            Party::Application => "limited by the programs: no data to send, or small writes that wait for ACKs",
        }
    }
}

/// How the network's time was lost, by the finding that has it.
fn network_time(by: &RuleClaim) -> &'static str {
    match by.rule.code {
        _ if by.claim.remedy == Some(Remedy::FewerLosses) => "limited by losses",
        // Its share is that of a queue.
        "far_end" if by.claim.share.is_none() => "limited by losses",
        "bottleneck" | "far_end" => "limited by a long queue",
        "ack_path" | "upload_slows_download" => "limited by ACKs that wait",
        "recovery" => "limited by losses",
        "path_mtu" => "lost with packets too long for the path",
        "receive_window" => "limited by a window that the path keeps small",
        _ => "lost with connections that failed",
    }
}

/// What speaks for a verdict: a share of time or connections, and the largest part of it.
#[derive(Debug, Clone, Default)]
struct Case {
    share: f64,
    evidence: String,
    flow: Option<usize>,
    direction: Option<&'static str>,
    /// The sentences for the customer and for the operator; the evidence if there is none.
    sentences: Option<[String; 2]>,
}

impl Case {
    fn report(self, verdict: &'static str) -> VerdictReport {
        VerdictReport {
            verdict,
            share: above_zero(Some(self.share)),
            flow: self.flow,
            direction: self.direction,
            evidence: self.evidence,
        }
    }
}

/// A claim of a flow, as a verdict states it.
#[derive(Debug, Clone)]
struct Cause {
    flow: usize,
    direction: &'static str,
    evidence: String,
    /// For the customer and for the operator.
    sentences: [String; 2],
}

impl Cause {
    fn of(flow: &FlowReport, by: &RuleClaim) -> Cause {
        let number = flow.flow.unwrap_or(0);
        Cause {
            flow: number,
            direction: by.direction,
            evidence: if by.claim.has_models { by.stated().into() } else { by.claim.evidence.clone() },
            sentences: [by.sentence(), format!("{}: {}", figures_of(flow, by.direction), by.stated())],
        }
    }
}

/// A flow's direction in the operator's terms: its ends, and what it got.
fn figures_of(flow: &FlowReport, direction: &str) -> String {
    let sender = if direction == SendingEnd::Client.direction() { SendingEnd::Client } else { SendingEnd::Server };
    let (figures, rtt) = (sender.direction_of(flow), &sender.direction_of(flow).rtt_ms);
    let ends = match sender {
        SendingEnd::Client => [&flow.client, &flow.server],
        SendingEnd::Server => [&flow.server, &flow.client],
    };
    // Elsewhere the capture shows the RTT of a part of the path.
    let is_at_sender = figures.limited.is_some_and(|limited| limited.path_rate.is_some());
    let rtt = if is_at_sender { format!(", RTT {} to {}", milliseconds(rtt.min), milliseconds(rtt.p95)) } else { String::new() };
    format!(
        "Flow {}, from {} to {}, {} s at {}{rtt}, {} retransmitted",
        flow.flow.unwrap_or(0),
        ends[0],
        ends[1],
        general(flow.duration_s, 3),
        rate(figures.goodput_bps),
        percent(figures.retransmission_rate.unwrap_or(0.0))
    )
}

/// The time that a party's findings take.
#[derive(Debug, Clone)]
struct OwnedTime {
    seconds: f64,
    /// Seconds by how they were lost.
    kinds: Vec<(&'static str, f64)>,
    /// The largest part: seconds, and its claim.
    largest: (f64, Cause),
}

impl OwnedTime {
    /// How the time was lost, each with its share if there are several.
    fn words(&self, total_s: f64) -> String {
        match self.kinds.as_slice() {
            [(only, _)] => (*only).into(),
            several => {
                let parts: Vec<String> =
                    several.iter().map(|(kind, seconds)| format!("{kind} ({})", whole_percent(seconds / total_s))).collect();
                parts.join(", ")
            }
        }
    }
}

/// Retransmitted segments of a direction, without spurious ones.
#[derive(Debug, Clone, Copy)]
struct Losses {
    flow: usize,
    direction: &'static str,
    retransmitted: i64,
    segments: u64,
}

impl Losses {
    fn share(&self) -> f64 {
        if self.segments > 0 { self.retransmitted as f64 / self.segments as f64 } else { 0.0 }
    }

    fn sentence(&self) -> String {
        format!(
            " Besides, {} of the segments of flow {} {} were retransmitted ({} of {}).",
            whole_percent(self.share()),
            self.flow,
            self.direction,
            self.retransmitted,
            self.segments
        )
    }
}

/// A small connection that failed or waited.
#[derive(Debug, Clone)]
struct Failure {
    cause: Cause,
    share: f64,
    /// It failed, by one of [`FAILURES`].
    has_failed: bool,
}

/// Collects the findings of a capture's flows in their order.
#[derive(Debug, Default)]
pub struct SummaryBuilder {
    findings: BTreeMap<&'static str, u64>,
    /// In the order in which parties were found.
    times: Vec<(Party, OwnedTime)>,
    directions: u64,
    unknown: u64,
    total_s: f64,
    small: Vec<(Party, Vec<Failure>)>,
    max_losses: Option<Losses>,
    /// The worst defect, with its flow and direction, and the number of flows with one.
    defect: Option<(Defect, usize, &'static str)>,
    defective: u64,
}

impl SummaryBuilder {
    /// Adds a flow with its claims, made from these transfers.
    pub fn add(&mut self, flow: &FlowReport, claims: &[RuleClaim], transfers: &[Transfer<'_>]) {
        let mut codes: Vec<&'static str> = claims.iter().map(|claim| claim.rule.code).collect();
        codes.sort_unstable();
        codes.dedup();
        for code in codes {
            *self.findings.entry(code).or_default() += 1;
        }
        if flow.translation_of.is_some() {
            return; // counted with the flow that it translates
        }
        self.add_defects(flow, transfers);
        for transfer in transfers {
            let direction = transfer.sender.direction();
            let about: Vec<&RuleClaim> = claims.iter().filter(|claim| claim.direction == direction).collect();
            self.directions += 1;
            self.unknown += u64::from(about.iter().any(|claim| claim.rule.code == "far_end"));
            self.total_s += flow.duration_s;
            self.add_losses(transfer);
            // A reader that stopped is counted as a failure.
            let has_stopped = about.iter().any(|claim| claim.rule.code == "zero_window_death");
            // The queue that an upload fills is the one that the receiver's end sees in the RTT.
            let has_upload = about.iter().any(|claim| claim.rule.code == "upload_slows_download");
            let limits = about.iter().filter(|claim| match claim.rule.code {
                "receive_window" => !has_stopped,
                "far_end" => !has_upload,
                _ => true,
            });
            limits.for_each(|claim| self.add_limit(transfer, claim));
            self.add_waits(transfer, claims, &about);
        }
        if transfers.is_empty() {
            self.add_small(flow, claims);
        }
    }

    fn add_limit(&mut self, transfer: &Transfer<'_>, by: &RuleClaim) {
        let (code, claim) = (by.rule.code, &by.claim);
        let (mut party, mut share) = (Party::among(by, &LIMITS), claim.share);
        if code == "bottleneck" && has_long_queue(&transfer.figures.rtt_ms) {
            party = Some(Party::Network);
        } else if code == "receive_window" && share.is_none() {
            share = Some(1.0); // at the receiver: one window per RTT explains the rate
        } else if claim.remedy == Some(Remedy::FewerLosses) {
            // Without a share at the receiver, whose capture shows the rate alone.
            party = Some(Party::Network);
            share = if code == "models" { transfer.limited().cwnd } else { Some(1.0) };
        } else if claim.remedy == Some(Remedy::SendingHost) {
            (party, share) = (Some(Party::SendingHost), Some(1.0));
        } else if code == "far_end" {
            let has_queue = above_zero(share).is_some() && has_long_queue(&transfer.other.timestamp_rtt_ms);
            party = Some(Party::Network);
            share = if has_queue { share } else { transfer.figures.recovery_share };
        }
        let is_host = matches!(party, Some(Party::SendingHost | Party::ReceivingHost));
        if is_host && claim.remedy.is_none() {
            return; // the path's rate is reached in spite of the limit
        }
        if let (Some(party), Some(share)) = (party, above_zero(share)) {
            self.count(party, share, transfer.flow, by);
        }
    }

    /// Counts a flow with a defect, and keeps the first of the worst ones: of the directions with enough data,
    /// or of both ends without any.
    fn add_defects(&mut self, flow: &FlowReport, transfers: &[Transfer<'_>]) {
        let of_ends = SendingEnd::BOTH.map(|end| (end, defects::of_end(flow, end)));
        let of_transfers: Vec<_> = transfers.iter().map(|transfer| (transfer.sender, defects::of_transfer(transfer))).collect();
        self.defective += u64::from(of_ends.iter().chain(&of_transfers).any(|(_, defect)| defect.is_some()));
        let own = if transfers.is_empty() { of_ends.into() } else { of_transfers };
        for (end, defect) in own.into_iter().filter_map(|(end, defect)| Some((end, defect?))) {
            if self.defect.as_ref().is_none_or(|(known, ..)| defect.kind > known.kind) {
                self.defect = Some((defect, flow.flow.unwrap_or(0), end.direction()));
            }
        }
    }

    /// What both ends' programs waited, and how the connection failed, for a direction of data. At the
    /// sender, the direction's limits have the pauses of the application already.
    fn add_waits(&mut self, transfer: &Transfer<'_>, claims: &[RuleClaim], about: &[&RuleClaim]) {
        let has = |code: &str| about.iter().any(|claim| claim.rule.code == code);
        let shared = |claim: &&RuleClaim| above_zero(claim.claim.share).is_some();
        let is_thinking = |claim: &&RuleClaim| Party::among(claim, &WAITS) == Some(Party::Application);
        let thinking: Vec<&RuleClaim> = claims.iter().filter(is_thinking).filter(shared).collect();
        // The first of equal ones.
        let longest = thinking.iter().rev().max_by(|a, b| a.share().total_cmp(&b.share()));
        if let Some(longest) = longest.filter(|_| !has("application") && !has("zero_window_death")) {
            let part = thinking.iter().map(|claim| claim.share()).sum::<f64>().min(1.0);
            self.count(Party::Application, part, transfer.flow, longest);
        }
        for claim in about.iter().copied().filter(|claim| shared(claim) && !has("recovery")) {
            if let Some(party) = Party::among(claim, &FAILURES) {
                self.count(party, claim.share(), transfer.flow, claim);
            }
        }
    }

    /// A connection without a direction of [`ENOUGH_BYTES`]: the party of its worst finding.
    fn add_small(&mut self, flow: &FlowReport, claims: &[RuleClaim]) {
        let failed = claims.iter().find_map(|claim| Some((Party::among(claim, &FAILURES)?, 1.0, claim)));
        let has_failed = failed.is_some();
        let waits = claims.iter().filter_map(|claim| Some((Party::among(claim, &SMALL_WAITS)?, claim.share(), claim)));
        // The first of equal ones: claims are in the order of their shares.
        let worst = failed.or_else(|| {
            waits.filter(|(_, share, _)| *share >= MATTERS).reduce(|best, one| if one.1 > best.1 { one } else { best })
        });
        let Some((party, share, claim)) = worst else { return };
        let failure = Failure { cause: Cause::of(flow, claim), share, has_failed };
        match self.small.iter_mut().find(|(known, _)| *known == party) {
            Some((_, failures)) => failures.push(failure),
            None => self.small.push((party, vec![failure])),
        }
    }

    /// Keeps the direction with the largest share of retransmissions, if they are many.
    fn add_losses(&mut self, transfer: &Transfer<'_>) {
        let figures = transfer.figures;
        let losses = Losses {
            flow: transfer.flow.flow.unwrap_or(0),
            direction: transfer.sender.direction(),
            retransmitted: figures.retransmitted_segments as i64 - i64::from(figures.spurious_retransmits),
            segments: figures.segments,
        };
        let (share, number) = MANY_LOSSES;
        let largest = self.max_losses.map_or(0.0, |losses| losses.share()).max(share);
        if losses.retransmitted >= number && losses.share() >= largest {
            self.max_losses = Some(losses);
        }
    }

    /// Counts a share of a flow's time for a party.
    fn count(&mut self, party: Party, share: f64, flow: &FlowReport, by: &RuleClaim) {
        let seconds = share * flow.duration_s;
        let kind = if party == Party::Network { network_time(by) } else { party.time() };
        let largest = || (seconds, Cause::of(flow, by));
        let time = match self.times.iter_mut().find(|(known, _)| *known == party) {
            Some((_, time)) => {
                time.seconds += seconds;
                if seconds > time.largest.0 {
                    time.largest = largest();
                }
                time
            }
            None => {
                self.times.push((party, OwnedTime { seconds, kinds: Vec::new(), largest: largest() }));
                &mut self.times.last_mut().expect("one was added").1
            }
        };
        match time.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known += seconds,
            None => time.kinds.push((kind, seconds)),
        }
    }

    /// The summary of a capture: `head` is its report without flows.
    pub fn summary(&self, head: &Report) -> CaptureSummary {
        let summary = head.summary.clone().unwrap_or_default();
        let counts = summary.connections;
        let connections = seen(counts);
        let of_capture = RULES.iter().filter(|rule| match rule.check {
            Check::Capture(check) => check(head),
            _ => false,
        });
        let mut listed: Vec<FindingCount> =
            self.findings.iter().map(|(&finding, &flows)| FindingCount { finding, flows }).collect();
        listed.sort_by(|a, b| b.flows.cmp(&a.flows).then(a.finding.cmp(b.finding)));
        let of_capture = of_capture.map(|rule| FindingCount { finding: rule.code, flows: connections });
        let (verdict, [customer, operator]) = self.verdict_and_sentences(&summary, head.duration_s);
        CaptureSummary {
            verdict: Some(verdict),
            customer: Some(customer),
            operator: Some(operator),
            findings: Some(of_capture.chain(listed).collect()),
            ..summary
        }
    }

    #[cfg(test)]
    pub(super) fn verdict_of(&self, summary: &CaptureSummary, duration_s: f64) -> VerdictReport {
        self.verdict_and_sentences(summary, duration_s).0
    }

    /// The verdict, and what it says to the customer and to the operator.
    fn verdict_and_sentences(&self, summary: &CaptureSummary, duration_s: f64) -> (VerdictReport, [String; 2]) {
        let counts = summary.connections;
        let mut cases: Vec<(Party, Case)> = self.times.iter().map(|(party, time)| (*party, self.case_of_time(time))).collect();
        let ignored = IGNORED_SYNS.map(|(code, meaning)| (self.findings.get(code).copied().unwrap_or(0), meaning));
        for (party, case) in
            cases_of_connections(counts, ignored).into_iter().chain(self.cases_of_small_flows(summary, duration_s))
        {
            match cases.iter_mut().find(|(known, _)| *known == party) {
                Some((_, known)) if case.share > known.share => *known = case,
                Some(_) => {}
                None => cases.push((party, case)),
            }
        }
        let worst = cases.into_iter().reduce(|best, one| if one.1.share > best.1.share { one } else { best });
        let is_network = worst.as_ref().is_some_and(|(party, _)| *party == Party::Network);
        let besides = self.max_losses.filter(|_| !is_network).map_or_else(String::new, |losses| losses.sentence());
        if let Some((party, case)) = worst.filter(|(_, case)| case.share >= MATTERS) {
            let sentences = case.sentences.clone().unwrap_or_else(|| [case.evidence.clone(), case.evidence.clone()]);
            return (Case { evidence: case.evidence + &besides, ..case }.report(party.verdict()), sentences);
        }
        let noticed = self.defect.as_ref().map(|found| (found, format!("Flow {} {}: {}", found.1, found.2, found.0.sentence)));
        let is_common = self.defective as f64 >= MATTERS * seen(counts) as f64;
        if let Some(((defect, flow, direction), evidence)) = noticed.clone().filter(|_| is_common) {
            let case = Case { share: defect.share, flow: Some(*flow), direction: Some(direction), ..Case::default() };
            let sentences = [defect.sentence.clone(), evidence.clone()];
            return (Case { evidence, ..case }.report(verdict_about(defect.kind)), sentences);
        }
        let failed = self.failed_of(seen(counts).max(1));
        if let Some((party, case)) = failed.clone().filter(|(_, case)| case.share >= MATTERS) {
            let sentences = case.sentences.clone().unwrap_or_default();
            return (case.report(party.verdict()), sentences);
        }
        let few = noticed.map_or_else(String::new, |(_, text)| format!(" Besides, {}", text.replacen("Flow", "flow", 1)));
        let mut evidence = self.nothing_wrong(counts) + if few.is_empty() { &besides } else { &few };
        if self.directions == 0 && seen(counts) == 0 {
            let evidence = NO_CONNECTION.to_owned() + &few;
            return (Case { evidence: evidence.clone(), ..Case::default() }.report(UNCLEAR), [evidence.clone(), evidence]);
        }
        let (whole, a) = if self.directions == 0 { (ALL_SHORT, "A") } else { (NOTHING_SLOWER, "But a") };
        let mut customer = whole.to_owned();
        if let Some((_, case)) = failed {
            evidence += &format!(" Besides, {}", case.evidence);
            customer += &format!(" {a} connection failed: {}", case.sentences.unwrap_or_default()[0]);
        }
        let sentences = [customer, evidence.clone()];
        (Case { evidence, ..Case::default() }.report(NOTHING_WRONG), sentences)
    }

    fn case_of_time(&self, time: &OwnedTime) -> Case {
        let share = if self.total_s != 0.0 { (time.seconds / self.total_s).min(1.0) } else { 0.0 };
        let Cause { flow, direction, evidence, sentences } = &time.largest.1;
        let evidence = format!(
            "{} of {} s in {} of data was {}. Flow {flow} {direction}: {evidence}",
            whole_percent(share),
            general(self.total_s, 3),
            many(self.directions, "direction"),
            time.words(self.total_s)
        );
        Case { share, evidence, flow: Some(*flow), direction: Some(direction), sentences: Some(sentences.clone()) }
    }

    /// Connections that failed or waited, and loss recovery of the worst flow, in a capture without
    /// larger ones. The time of unanswered SYNs counts as lost, and is a case of its own.
    fn cases_of_small_flows(&self, summary: &CaptureSummary, duration_s: f64) -> Vec<(Party, Case)> {
        if self.directions > 0 {
            return Vec::new();
        }
        let counts = summary.connections;
        let all = seen(counts).max(1);
        let failed = self.small.iter().map(|(party, failures)| (*party, case_of_failures(failures, all, "failed or waited")));
        failed.chain(self.case_of_recovery(summary, duration_s).map(|case| (Party::Network, case))).collect()
    }

    /// Small connections that failed, of the party that has the larger share of them: the time of larger flows does
    /// not show them.
    fn failed_of(&self, all: u64) -> Option<(Party, Case)> {
        let of_party = |(party, failures): &(Party, Vec<Failure>)| {
            let failed: Vec<Failure> = failures.iter().filter(|failure| failure.has_failed).cloned().collect();
            (!failed.is_empty()).then(|| (*party, case_of_failures(&failed, all, "failed")))
        };
        let cases = self.small.iter().filter_map(of_party);
        cases.reduce(|best, one| if one.1.share > best.1.share { one } else { best })
    }

    fn case_of_recovery(&self, summary: &CaptureSummary, duration_s: f64) -> Option<Case> {
        let worst = worst_row(summary)?;
        let has_failed = summary.connections.unanswered > 0 || self.small.iter().any(|(party, _)| *party == Party::Network);
        if has_failed || duration_s == 0.0 {
            return None;
        }
        let flow = worst.flow.unwrap_or(0);
        let evidence = format!(
            "Flow {flow} ({}) was in loss recovery {} s of {} s, with {} retransmitted.",
            worst.name,
            general(worst.time_lost_s, 3),
            general(duration_s, 3),
            many(worst.retransmitted_segments, "segment")
        );
        Some(Case { share: (worst.time_lost_s / duration_s).min(1.0), evidence, flow: worst.flow, ..Case::default() })
    }

    fn nothing_wrong(&self, counts: ConnectionCounts) -> String {
        let mut transfers = if self.directions == 0 {
            format!("No direction has {} kB of data, of which limits are known.", ENOUGH_BYTES / 1000)
        } else {
            // No direction lasts where all packets have one time.
            let total_s = if self.total_s != 0.0 { self.total_s } else { 1.0 };
            let mut times: Vec<&(Party, OwnedTime)> = self.times.iter().collect();
            times.sort_by_key(|(party, _)| party.verdict());
            let parts: Vec<String> = times
                .into_iter()
                .map(|(party, time)| format!("{} {}", party.noun(), whole_percent(time.seconds / total_s)))
                .collect();
            let listed = if parts.is_empty() { ".".into() } else { format!(" ({}).", parts.join(", ")) };
            format!(
                "Of {} s in {} of data no defect took {}{listed}",
                general(self.total_s, 3),
                many(self.directions, "direction"),
                whole_percent(MATTERS)
            )
        };
        if self.unknown > 0 {
            transfers += &format!(" Of {} the capture does not show the sender's limits.", many(self.unknown, "direction"));
        }
        format!(
            "{transfers} {} established, {} refused or unanswered.",
            many(counts.established, "connection"),
            counts.refused + counts.unanswered
        )
    }
}

/// Whom a defect concerns: a long RTT need not be a queue's.
fn verdict_about(defect: DefectKind) -> &'static str {
    match defect {
        DefectKind::Unanswered | DefectKind::Retransmitted => Party::Network.verdict(),
        DefectKind::OneSegment => Party::SendingHost.verdict(),
        DefectKind::LongRtt => UNCLEAR,
    }
}

/// Connections whose beginning was captured.
fn opened(counts: ConnectionCounts) -> u64 {
    counts.established + counts.refused + counts.unanswered + counts.half_open
}

/// All connections, those too whose beginning was not captured.
fn seen(counts: ConnectionCounts) -> u64 {
    opened(counts) + counts.midstream
}

/// The flow with most time lost.
fn worst_row(summary: &CaptureSummary) -> Option<&TopRow> {
    summary.top.iter().find(|list| list.of == "flow" && list.by == "time_lost_s")?.rows.first()
}

/// `ignored`: numbers of connections whose SYN a server ignored, and what that means.
fn cases_of_connections(counts: ConnectionCounts, ignored: [(u64, &'static str); 2]) -> Vec<(Party, Case)> {
    let tried = opened(counts);
    let unexplained = counts.unanswered.saturating_sub(ignored.iter().map(|(count, _)| count).sum());
    let causes = [
        (unexplained, Party::Network, "had no answer to the SYN: a filter on the path, or a host that is down"),
        (
            counts.refused,
            Party::ReceivingHost,
            "got a reset as the answer to the SYN: no program listens on the port, or a filter answers",
        ),
    ];
    let ignored = ignored.map(|(count, meaning)| (count, Party::ReceivingHost, meaning));
    let failed = causes.into_iter().chain(ignored).filter(|(count, ..)| *count > 0);
    failed
        .map(|(count, party, meaning)| {
            let plural = if tried > 1 { "s" } else { "" };
            let evidence = format!("{count} of {tried} connection{plural} {meaning}.");
            (party, Case { share: count as f64 / tried as f64, evidence, ..Case::default() })
        })
        .collect()
}

/// The mean share of time that connections waited (all if they failed), and the worst one.
fn case_of_failures(failures: &[Failure], connections: u64, what: &str) -> Case {
    let share = failures.iter().map(|failure| failure.share).sum::<f64>() / connections as f64;
    let Some(worst) = failures.iter().rev().max_by(|a, b| a.share.total_cmp(&b.share)) else { return Case::default() };
    let count =
        if connections == 1 { String::new() } else { format!("{} of {connections} connections {what}. ", failures.len()) };
    let Cause { flow, direction, evidence, sentences } = &worst.cause;
    Case {
        share,
        evidence: format!("{count}Flow {flow} {direction}: {evidence}"),
        flow: Some(*flow),
        direction: Some(direction),
        sentences: Some(sentences.clone()),
    }
}

fn has_long_queue(rtt: &SummaryStats) -> bool {
    let (minimum, high) = (rtt.min.unwrap_or(0.0), rtt.p95.unwrap_or(0.0));
    high - minimum > minimum.max(LONG_QUEUE_MS)
}
