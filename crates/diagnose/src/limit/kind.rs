//! The kinds of limit and their words: one list for `simulate`, `compare`, `analyze` and the lab.

use crate::number_text::share_text;
use ackclock_contract::Document;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A kind of limit, in order of precedence among equal shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKind {
    Bottleneck,
    AckPath,
    ReceiveWindow,
    SendBuffer,
    Cwnd,
    Application,
    Recovery,
    Pacing,
}

/// All kinds, in order of precedence.
pub const KINDS: [LimitKind; 8] = [
    LimitKind::Bottleneck,
    LimitKind::AckPath,
    LimitKind::ReceiveWindow,
    LimitKind::SendBuffer,
    LimitKind::Cwnd,
    LimitKind::Application,
    LimitKind::Recovery,
    LimitKind::Pacing,
];

/// The words of a kind.
#[derive(Debug, Clone, Copy, Serialize, Document)]
pub struct LimitWords {
    pub kind: &'static str,
    /// Its name in a sentence.
    pub noun: &'static str,
    /// Its name as the title of a column.
    pub title: &'static str,
    /// The clause that names it. `{of}` is its hop or its size, `{time}` its share of the flow's time.
    pub claim: &'static str,
    /// The time that counts for it.
    pub meaning: &'static str,
}

/// A limit matters if goodput without it would be a fifth higher.
const RAISES: f64 = 1.2;

impl LimitKind {
    pub fn name(self) -> &'static str {
        self.words().kind
    }

    pub fn words(self) -> LimitWords {
        match self {
            LimitKind::Bottleneck => LimitWords {
                kind: "bottleneck",
                noun: "the bottleneck",
                title: "Bottleneck",
                claim: "the bottleneck{of} is full",
                meaning: "a hop in the direction of the data has no free capacity for an RTT (`full_share`)",
            },
            LimitKind::AckPath => LimitWords {
                kind: "ack_path",
                noun: "the path of the ACKs",
                title: "ACK path",
                claim: "ACKs wait in the queue{of}",
                meaning: "ACKs wait in a queue: that part of the RTT of a sender that waits for ACKs",
            },
            LimitKind::ReceiveWindow => LimitWords {
                kind: "receive_window",
                noun: "the receive window",
                title: "Receive window",
                claim: "the receive window{of} limits goodput {time}",
                meaning: "the window that the receiver advertises has no room; `cause`: `buffer`, `scaling` (65,535 B), \
                          `autotuning`",
            },
            LimitKind::SendBuffer => LimitWords {
                kind: "send_buffer",
                noun: "the send buffer",
                title: "Send buffer",
                claim: "the send buffer{of} limits goodput {time}",
                meaning: "the send buffer has no room",
            },
            LimitKind::Cwnd => LimitWords {
                kind: "cwnd",
                noun: "the congestion window",
                title: "cwnd",
                claim: "the congestion window limits goodput {time}",
                meaning: "the congestion window has no room; `cause`: `overflow` (a queue dropped), `policer`, \
                          `channel`, `mark`, `mtu` (segments are too long), `none`",
            },
            LimitKind::Application => LimitWords {
                kind: "application",
                noun: "the application",
                title: "Application",
                claim: "the application limits goodput",
                meaning: "the sender has no data, or the receiver does not read (`cause`: `reader`; `proxy`: the part behind \
                          it is slower; `proxy_buffer`: its buffer is less than an RTT behind it takes)",
            },
            LimitKind::Recovery => LimitWords {
                kind: "recovery",
                noun: "loss recovery",
                title: "Recovery",
                claim: "loss recovery takes {time}",
                meaning: "losses are repaired; `cause` as for `cwnd`",
            },
            LimitKind::Pacing => LimitWords {
                kind: "pacing",
                noun: "pacing",
                title: "Pacing",
                claim: "pacing limits goodput",
                meaning: "the pacing rate holds data back",
            },
        }
    }

    /// The clause that names the limit, without a capital letter. `of` is its hop (" of `dsl up`") or
    /// its size (" (64 KiB)"), with a leading blank, `share` its share of the flow's time.
    pub fn claim(self, of: &str, share: f64) -> String {
        self.words().claim.replace("{of}", of).replace("{time}", &format!("{} of the time", share_text(share)))
    }
}

/// The kind with the largest share of the time.
///
/// `after_loss`: a loss or a mark reduced cwnd. A reduced cwnd and the recovery before it have the
/// same cause, so their shares count together. A cwnd without a reduction grows by a factor in each
/// RTT, so the wait of the ACKs in a queue lengthens each step of the growth: the path of the ACKs
/// is the limit if goodput without that wait would be a fifth higher.
pub(crate) fn largest(shares: &BTreeMap<String, f64>, after_loss: bool) -> LimitKind {
    let share = |kind: LimitKind| shares.get(kind.name()).copied().unwrap_or(0.0);
    let first_largest = |kinds: &mut dyn Iterator<Item = LimitKind>| {
        kinds.fold(LimitKind::Bottleneck, |best, kind| if share(kind) > share(best) { kind } else { best })
    };
    if !after_loss {
        let kind = first_largest(&mut KINDS.into_iter());
        let grows_slowly = kind == LimitKind::Cwnd && 1.0 - share(LimitKind::AckPath) <= 1.0 / RAISES;
        return if grows_slowly { LimitKind::AckPath } else { kind };
    }
    let reduced = share(LimitKind::Cwnd) + share(LimitKind::Recovery);
    let kind = first_largest(&mut KINDS.into_iter().filter(|kind| !matches!(kind, LimitKind::Cwnd | LimitKind::Recovery)));
    if share(kind) >= reduced {
        kind
    } else if share(LimitKind::Cwnd) >= share(LimitKind::Recovery) {
        LimitKind::Cwnd
    } else {
        LimitKind::Recovery
    }
}

/// Shares by kind, in the order of [`KINDS`].
pub(super) fn by_kind<S: Serializer>(shares: &BTreeMap<String, f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let named = KINDS.into_iter().map(LimitKind::name).filter_map(|name| Some((name, shares.get(name)?)));
    serializer.collect_map(named)
}

pub(super) fn by_kind_if_known<S: Serializer>(shares: &Option<BTreeMap<String, f64>>, serializer: S) -> Result<S::Ok, S::Error> {
    match shares {
        Some(shares) => by_kind(shares, serializer),
        None => serializer.serialize_none(),
    }
}
