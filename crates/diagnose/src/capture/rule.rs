//! What a rule is: a code, its words, and the function that finds it.

use super::connection::Connection;
use super::sending_end::SendingEnd;
use super::transfer::Transfer;
use ackclock_trace::report::{Finding, FlowCorrelation, Report};
use std::borrow::Cow;

/// The minimum share of a direction's time of a limit: what is below is noise.
pub const MIN_SHARE: f64 = 0.05;

/// A finding and all that is said of it. Codes are unique.
#[derive(Debug)]
pub struct Rule {
    pub code: &'static str,
    /// Who can change what the rule finds, or is to know it.
    pub owner: Owner,
    pub group: Group,
    /// Place in its group in the reference; findings are printed by their shares.
    pub place: u8,
    /// What the finding means, and what to do: Markdown.
    pub explanation: &'static str,
    /// What has to be exceeded, with its unit.
    pub thresholds: &'static [(&'static str, f64)],
    pub check: Check,
}

/// The function of a rule. A rule has no finding without its evidence.
#[derive(Debug)]
pub enum Check {
    /// About a direction with [`super::transfer::ENOUGH_BYTES`] of data.
    Transfer(fn(&Transfer<'_>) -> Option<Claim>),
    /// About the goodputs of two directions; the finding is the first's.
    Pair(fn(&FlowCorrelation) -> Option<Claim>),
    /// About a connection, however few packets it has. The finding is that of a direction.
    Connection(fn(&Connection<'_>) -> Option<ClaimOfEnd>),
    /// About what one end sends, or the other keeps it from sending.
    End(fn(&Connection<'_>, SendingEnd) -> Option<Claim>),
    /// About the capture as a whole, of which its report without flows is given.
    Capture(fn(&Report) -> bool),
}

/// A claim, and the end whose direction its finding is of.
pub type ClaimOfEnd = (SendingEnd, Claim);

/// What a rule claims: the sentences of its finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Of the direction's time; none if time is no part of it.
    pub share: Option<f64>,
    pub evidence: String,
    pub advice: Cow<'static, str>,
    /// One sentence for a reader who knows no TCP, without a model's name; none if the first one of the
    /// evidence is such a sentence.
    pub sentence: Option<String>,
    /// The evidence has models' names, which no verdict has.
    pub has_models: bool,
    /// The owner, if it is another one than the rule's.
    pub owner: Option<Owner>,
    /// What the advice is, if the verdict depends on it.
    pub remedy: Option<Remedy>,
}

/// What lifts a limit. A limit without one is no defect: the path's rate is reached in spite of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The losses limit the rate.
    FewerLosses,
    /// A buffer is too small for the path.
    LargerBuffer,
    /// The receiving application reads too slowly.
    FasterReader,
    /// The sending host limits itself.
    SendingHost,
    /// Segments wait for delayed ACKs.
    EarlierAcks,
}

impl Claim {
    pub fn new(evidence: impl Into<String>, advice: impl Into<Cow<'static, str>>) -> Claim {
        Claim {
            share: None,
            evidence: evidence.into(),
            advice: advice.into(),
            sentence: None,
            has_models: false,
            owner: None,
            remedy: None,
        }
    }

    /// The receiving application reads too slowly.
    pub(super) fn slow_reader(evidence: impl Into<String>) -> Claim {
        Claim::new(evidence, SLOW_READER).with_remedy(Remedy::FasterReader)
    }

    pub fn with_remedy(self, remedy: impl Into<Option<Remedy>>) -> Claim {
        Claim { remedy: remedy.into(), ..self }
    }

    /// The sentence that can be forwarded, without its owner.
    pub fn in_short(self, sentence: impl Into<String>) -> Claim {
        Claim { sentence: Some(sentence.into()), ..self }
    }

    /// The evidence names models: a verdict has this sentence instead.
    pub fn without_models(self, sentence: impl Into<String>) -> Claim {
        Claim { has_models: true, ..self.in_short(sentence) }
    }

    pub fn for_owner(self, owner: impl Into<Option<Owner>>) -> Claim {
        Claim { owner: owner.into(), ..self }
    }

    pub fn of_share(self, share: impl Into<Option<f64>>) -> Claim {
        Claim { share: share.into(), ..self }
    }

    pub(super) fn by(self, rule: &'static Rule, direction: &'static str) -> RuleClaim {
        RuleClaim { rule, direction, claim: self }
    }
}

/// A claim, its rule, and the direction that it is of: `a2b` or `b2a`.
#[derive(Debug, Clone)]
pub struct RuleClaim {
    pub rule: &'static Rule,
    pub direction: &'static str,
    pub claim: Claim,
}

impl RuleClaim {
    /// As the document has it.
    pub fn finding(self) -> Finding {
        let (owner, sentence) = (self.owner(), self.sentence());
        let RuleClaim { rule, direction, claim } = self;
        Finding {
            direction,
            finding: rule.code,
            owner: owner.name(),
            share: claim.share,
            sentence,
            evidence: claim.evidence,
            advice: claim.advice,
        }
    }

    pub fn owner(&self) -> Owner {
        self.claim.owner.unwrap_or(self.rule.owner)
    }

    /// The sentence that can be forwarded, and to whom.
    pub fn sentence(&self) -> String {
        format!("{} {}", self.stated(), self.owner().address())
    }

    /// The sentence that can be forwarded.
    pub(super) fn stated(&self) -> &str {
        self.claim.sentence.as_deref().unwrap_or_else(|| first_sentence(&self.claim.evidence))
    }

    /// The owner, if the rule's code is among these.
    pub(super) fn owner_among(&self, codes: &[&str]) -> Option<Owner> {
        codes.contains(&self.rule.code).then(|| self.owner())
    }

    /// The share of time; 0 if time is no part of the claim.
    pub(super) fn share(&self) -> f64 {
        self.claim.share.unwrap_or(0.0)
    }
}

const SLOW_READER: &str = "Examine the receiving application, not the network: it reads too slowly.";

/// The text up to the first full stop between two sentences.
fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// Who can change what a rule finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    Sender,
    Receiver,
    Application,
    /// The queue at the customer's end of the link.
    Router,
    /// The link itself, and what its operator runs on it.
    Operator,
    /// The path, where the capture does not show which part of it.
    Network,
    /// The capture has to be made in another way.
    Capture,
}

impl Owner {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Sender => "sender",
            Owner::Receiver => "receiver",
            Owner::Application => "application",
            Owner::Router => "router",
            Owner::Operator => "operator",
            Owner::Network => "network",
            Owner::Capture => "capture",
        }
    }

    /// Whom a sentence is for.
    pub fn address(self) -> &'static str {
        match self {
            Owner::Sender => "For the administrator of the sending host.",
            Owner::Receiver => "For the administrator of the receiving host.",
            Owner::Application => "For the authors of the application.",
            Owner::Router => "For the owner of the router.",
            Owner::Operator => "For the operator of the link.",
            Owner::Network => "For the operator of the network.",
            Owner::Capture => "For the person who captures.",
        }
    }
}

/// The titles below which findings are explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Limits,
    Bottleneck,
    Losses,
    Acks,
    Connections,
    Capture,
}

impl Group {
    pub fn title(self) -> &'static str {
        match self {
            Group::Limits => "What limits a flow",
            Group::Bottleneck => "Rate and buffer of the bottleneck",
            Group::Losses => "Losses",
            Group::Acks => "ACKs",
            Group::Connections => "Connections that fail or wait",
            Group::Capture => "The capture itself",
        }
    }
}
