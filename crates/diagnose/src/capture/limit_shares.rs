//! A direction's time by kind of limit.

use super::transfer::Transfer;
use super::{acks, receiver_vantage};
use crate::limit::{KINDS, LimitKind, largest};
use ackclock_trace::report::Limits;
use std::collections::BTreeMap;

/// Without another limit, a direction that has the path's rate would gain less than 5 %.
const GAINS_LITTLE: f64 = 1.05;

/// The share of a direction's time by kind, 0 where it is unknown. A queue stands on the path of the
/// data, unless two captures show that the ACKs wait in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitShares([f64; LimitShares::KINDS.len()]);

impl LimitShares {
    /// The kinds that a capture shows: time of pacing counts for `cwnd`.
    pub const KINDS: [LimitKind; 7] = [
        LimitKind::Bottleneck,
        LimitKind::AckPath,
        LimitKind::ReceiveWindow,
        LimitKind::SendBuffer,
        LimitKind::Cwnd,
        LimitKind::Application,
        LimitKind::Recovery,
    ];

    pub fn of(transfer: &Transfer<'_>) -> LimitShares {
        LimitShares::new(&transfer.limited(), acks::ack_queue_dominates(transfer))
    }

    /// `acks_wait`: the queue is that of the ACKs.
    pub fn new(limited: &Limits, acks_wait: bool) -> LimitShares {
        let queued = limited.path_rate.unwrap_or(0.0);
        let [bottleneck, ack_path] = if acks_wait { [0.0, queued] } else { [queued, 0.0] };
        LimitShares(LimitShares::KINDS.map(|kind| match kind {
            LimitKind::Bottleneck => bottleneck,
            LimitKind::AckPath => ack_path,
            LimitKind::ReceiveWindow => limited.receive_window.unwrap_or(0.0),
            LimitKind::SendBuffer => limited.send_buffer.unwrap_or(0.0),
            LimitKind::Cwnd => limited.cwnd.unwrap_or(0.0),
            LimitKind::Application => limited.application.unwrap_or(0.0),
            LimitKind::Recovery => limited.recovery,
            LimitKind::Pacing => 0.0,
        }))
    }

    pub fn share(&self, kind: LimitKind) -> f64 {
        LimitShares::KINDS.iter().position(|known| *known == kind).map_or(0.0, |place| self.0[place])
    }

    /// The first of these kinds with the largest share.
    pub fn largest_of(&self, kinds: impl IntoIterator<Item = LimitKind>) -> (LimitKind, f64) {
        let with_share = kinds.into_iter().map(|kind| (kind, self.share(kind)));
        with_share.reduce(|best, one| if one.1 > best.1 { one } else { best }).unwrap_or((LimitKind::Bottleneck, 0.0))
    }
}

/// The kind of limit with the largest share; none if the capture does not show the sender's limits.
///
/// A receive window that a slow reader closes or shrinks is a limit of the application, as in a
/// simulation. A direction that has the path's rate, as the spacing of its packets shows it, is limited
/// by the bottleneck, although a sender such as BBR keeps the queue short.
pub fn limit(transfer: &Transfer<'_>) -> Option<LimitKind> {
    if !transfer.shows_pace() {
        return None;
    }
    let shares = LimitShares::of(transfer);
    let by_name: BTreeMap<String, f64> = KINDS.into_iter().map(|kind| (kind.name().to_owned(), shares.share(kind))).collect();
    let after_loss = transfer.loss_events() > 0 || transfer.other.ecn.echoed > 0;
    let kind = largest(&by_name, after_loss);
    Some(match kind {
        LimitKind::Cwnd | LimitKind::Recovery if has_path_rate(transfer) => LimitKind::Bottleneck,
        LimitKind::ReceiveWindow if reads_slowly(transfer) => LimitKind::Application,
        kind => kind,
    })
}

fn has_path_rate(transfer: &Transfer<'_>) -> bool {
    let (inferred, throughput) = (transfer.inferred_bps(), transfer.throughput_bps());
    inferred / GAINS_LITTLE <= throughput && throughput <= inferred
}

fn reads_slowly(transfer: &Transfer<'_>) -> bool {
    let share = transfer.limited().receive_window.unwrap_or(0.0);
    receiver_vantage::is_closed_by_reader(transfer, share) || receiver_vantage::shrinking_window(transfer, Some(share)).is_some()
}
