//! The facts of each flow of a capture, and its findings.

use super::connection::Connection;
use super::failures::THINK_S;
use super::handshake::{ENOUGH_PACKETS, TTL_DIFFERENCE};
use super::limit_shares::limit;
use super::recording::clock_steps;
use super::rule::{Check, Rule, RuleClaim};
use super::rules::RULES;
use super::sending_end::SendingEnd;
use super::transfer::{ENOUGH_BYTES, Transfer};
use super::verdict::SummaryBuilder;
use crate::limit::LimitKind;
use ackclock_trace::analyze::FlowRef;
use ackclock_trace::flow::Flow;
use ackclock_trace::join::Joined;
use ackclock_trace::join::size_limit::MIN_RETRANSMITTED;
use ackclock_trace::report::{CaptureIndex, DirectionLimits, FindingThresholds, FlowCorrelation, FlowReport, FlowRows, Report};

/// Findings about the order of packets: a capture whose timestamps step back does not show it.
const ABOUT_ORDER: [&str; 3] = ["reordering", "handshake_loss", "spurious_retransmissions"];

/// The evidence below which no rule has a finding about a flow.
pub const THRESHOLDS: FindingThresholds = FindingThresholds {
    bytes: ENOUGH_BYTES,
    ttl_difference: TTL_DIFFERENCE,
    think_s: THINK_S,
    retransmitted: MIN_RETRANSMITTED,
    packets: ENOUGH_PACKETS,
};

/// One capture, or two of the same traffic, as the rules need them. Each method takes constant time
/// for a flow.
pub struct CaptureDiagnosis<'a> {
    first: FlowRows<'a>,
    second: Option<(FlowRows<'a>, &'a Joined)>,
    indexes: [&'a CaptureIndex; 2],
    head: &'a Report,
}

impl<'a> CaptureDiagnosis<'a> {
    /// `index` was made with [`THRESHOLDS`].
    pub fn of_one(head: &'a Report, rows: FlowRows<'a>, index: &'a CaptureIndex) -> CaptureDiagnosis<'a> {
        CaptureDiagnosis { first: rows, second: None, indexes: [index; 2], head }
    }

    /// The indexes have the ends of the flows.
    pub fn of_two(
        head: &'a Report,
        [first, second]: [FlowRows<'a>; 2],
        joined: &'a Joined,
        indexes: [&'a CaptureIndex; 2],
    ) -> CaptureDiagnosis<'a> {
        CaptureDiagnosis { first, second: Some((second, joined)), indexes, head }
    }

    /// Number of flows of the first capture.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether a finding may be about the flow with this number, from 0.
    pub fn may_have_findings(&self, number: usize) -> bool {
        self.indexes[0].to_diagnose().binary_search(&(number as u32)).is_ok()
    }

    /// The flow with this number in the second capture, from 0; none with one capture.
    pub fn second_flow(&self, number: usize) -> Option<FlowReport> {
        self.second.as_ref().map(|(rows, _)| rows.row(number))
    }

    /// The flow with this number, from 0, without its findings.
    pub fn row(&self, number: usize) -> FlowReport {
        self.row_of(number, &self.first.flow(number))
    }

    fn row_of(&self, number: usize, flow: &Flow) -> FlowReport {
        let translation_of = self.indexes[0].translation_of(number).map(|first| first + 1);
        FlowReport { flow: Some(number + 1), translation_of, ..self.first.row_of(number, flow) }
    }

    /// The facts of the flow with this number, from 0. Panics if there is none.
    pub fn flow(&self, number: usize) -> FlowDiagnosis<'a> {
        let read = self.first.flow(number);
        let flow = self.row_of(number, &read);
        let (mut partner, mut namesake) = (None, None);
        if let Some((rows, joined)) = &self.second {
            partner = joined.partner(number).filter(|&other| other < rows.len()).map(|other| rows.row(other));
            let [here, there] = self.indexes.map(|index| index.with_ends_of(&read));
            if let ([_], [other], None) = (here, there, &partner) {
                namesake = Some(rows.row(*other as usize));
            }
        }
        let second_start = self.head.joined.as_ref().and_then(|joined| joined.second.start_s);
        FlowDiagnosis {
            flow,
            partner,
            namesake,
            read: Some((number, read)),
            head: self.head,
            index: self.indexes[0],
            has_second: self.second.is_some(),
            starts_s: [self.head.start_s, second_start].map(|start| start.unwrap_or(0.0)),
            may_have_findings: self.may_have_findings(number),
        }
    }
}

/// A flow with all that its rules need.
pub struct FlowDiagnosis<'a> {
    pub flow: FlowReport,
    partner: Option<FlowReport>,
    namesake: Option<FlowReport>,
    /// Its number, from 0, and its state, which shows its place among all flows; none of a flow alone.
    read: Option<(usize, FlowRef<'a>)>,
    head: &'a Report,
    index: &'a CaptureIndex,
    has_second: bool,
    starts_s: [f64; 2],
    /// False for a flow without any evidence: it has no findings.
    pub may_have_findings: bool,
}

impl<'a> FlowDiagnosis<'a> {
    /// A flow beside no others, with an empty `index` of them.
    pub(super) fn alone(flow: FlowReport, head: &'a Report, index: &'a CaptureIndex) -> FlowDiagnosis<'a> {
        FlowDiagnosis {
            flow,
            partner: None,
            namesake: None,
            read: None,
            head,
            index,
            has_second: false,
            starts_s: [0.0; 2],
            may_have_findings: true,
        }
    }

    /// The directions with enough data.
    pub fn transfers(&self) -> Vec<Transfer<'_>> {
        let [by_client, by_server] = self.read.as_ref().map_or([0.0; 2], |(_, flow)| self.index.rates_of_others(flow));
        // ACKs share their direction with the other flows of the receiver. Of two captures the other shows what waits.
        let alone = self.read.as_ref().filter(|_| !self.has_second);
        let [against_client, against_server] = alone.map_or([None; 2], |(number, flow)| self.index.queued_against(*number, flow));
        let both = [(SendingEnd::Client, by_server, against_client), (SendingEnd::Server, by_client, against_server)];
        let all = both.map(|(sender, shared_bps, against)| Transfer {
            against,
            ..Transfer::new(&self.flow, self.partner.as_ref(), sender, shared_bps)
        });
        all.into_iter().filter(|transfer| transfer.figures.unique_bytes >= ENOUGH_BYTES).collect()
    }

    /// The claims of all rules by decreasing share of time.
    pub fn claims(&self, transfers: &[Transfer<'_>]) -> Vec<RuleClaim> {
        let (partner, namesake) = (self.partner.as_ref(), self.namesake.as_ref());
        let listener = self.read.as_ref().and_then(|(_, flow)| self.index.listener(flow));
        let starts_s = self.starts_s;
        let connection = Connection { flow: &self.flow, partner, namesake, starts_s, listener };
        let is_other = |pair: &&FlowCorrelation| self.index.translation_of(pair.flows[1] - 1).is_none();
        let of_flow = self.head.concurrent.iter().filter(|pair| Some(pair.flows[0]) == self.flow.flow);
        let pairs: Vec<&FlowCorrelation> = of_flow.filter(is_other).collect();
        let mut claims = claims_of(&connection, transfers, &pairs);
        if clock_steps(self.head) {
            claims.retain(|claim| !ABOUT_ORDER.contains(&claim.rule.code));
        }
        claims
    }

    /// The flow with its findings and limits.
    pub fn diagnosed(self) -> FlowReport {
        self.summed(&mut SummaryBuilder::default())
    }

    /// The flow with its findings and limits, added to a summary.
    pub fn summed(mut self, summary: &mut SummaryBuilder) -> FlowReport {
        let (mut claims, mut limits) = (Vec::new(), DirectionLimits::default());
        if self.may_have_findings {
            let transfers = self.transfers();
            (claims, limits) = (self.claims(&transfers), limits_of(&transfers));
            summary.add(&self.flow, &claims, &transfers);
        }
        self.flow.diagnosis = Some(claims.into_iter().map(RuleClaim::finding).collect());
        self.flow.limit = Some(limits);
        self.flow
    }
}

/// The kinds of limit of a flow's directions.
pub fn limits_of(transfers: &[Transfer<'_>]) -> DirectionLimits {
    let limit_of =
        |end: SendingEnd| transfers.iter().find(|transfer| transfer.sender == end).and_then(limit).map(LimitKind::name);
    DirectionLimits { a2b: limit_of(SendingEnd::Client), b2a: limit_of(SendingEnd::Server) }
}

/// All claims about a connection, by decreasing share of time.
pub fn claims_of(connection: &Connection<'_>, transfers: &[Transfer<'_>], pairs: &[&FlowCorrelation]) -> Vec<RuleClaim> {
    let mut claims = Vec::new();
    for rules in RULES.chunk_by(|a, b| std::mem::discriminant(&a.check) == std::mem::discriminant(&b.check)) {
        match rules[0].check {
            Check::Transfer(_) => transfers.iter().for_each(|transfer| of_transfer(rules, transfer, &mut claims)),
            Check::End(_) => SendingEnd::BOTH.iter().for_each(|end| of_end(rules, connection, *end, &mut claims)),
            Check::Pair(_) | Check::Connection(_) => rules.iter().for_each(|rule| match rule.check {
                Check::Pair(check) => {
                    claims.extend(pairs.iter().filter_map(|pair| Some(check(pair)?.by(rule, pair.directions[0]))))
                }
                Check::Connection(check) => claims.extend(check(connection).map(|(end, claim)| claim.by(rule, end.direction()))),
                Check::Transfer(_) | Check::End(_) | Check::Capture(_) => {}
            }),
            Check::Capture(_) => {}
        }
    }
    // A translation has the findings of the flow that it translates.
    if connection.flow.translation_of.is_some() {
        claims.retain(|claim| claim.rule.code == "nat_both_sides");
    }
    claims.sort_by(|a, b| b.share().total_cmp(&a.share()));
    claims
}

fn of_transfer(rules: &'static [Rule], transfer: &Transfer<'_>, claims: &mut Vec<RuleClaim>) {
    for rule in rules {
        if let Check::Transfer(check) = rule.check {
            claims.extend(check(transfer).map(|claim| claim.by(rule, transfer.sender.direction())));
        }
    }
}

fn of_end(rules: &'static [Rule], connection: &Connection<'_>, end: SendingEnd, claims: &mut Vec<RuleClaim>) {
    for rule in rules {
        if let Check::End(check) = rule.check {
            claims.extend(check(connection, end).map(|claim| claim.by(rule, end.direction())));
        }
    }
}
