//! Loss attribution for probe datagrams, of which the fates are known from their sequence numbers.

use super::aggregate::Aggregate;
use super::fate::{Fate, PacketFates};
use super::fingerprint::PacketFingerprint;
use super::loss_attribution::{self, LossAttribution};
use super::loss_bursts::LossBursts;
use super::{BufferEstimate, MatchedDirection, bottleneck_buffer};
use crate::decode::Flags;

/// Losses of one direction, their origin and the bottleneck's buffer.
pub struct ProbeLosses {
    pub attribution: LossAttribution,
    pub buffer: BufferEstimate,
    pub bursts: LossBursts,
}

/// Attributes the losses of datagrams with `ip_len` bytes. `sent` has the departure time in
/// nanoseconds and the fate of each, in order of departure.
pub fn attribute_probe_losses(sent: &[(i64, Fate)], ip_len: u32) -> ProbeLosses {
    let fingerprint = |&(at, _): &(i64, Fate)| PacketFingerprint {
        hash: 0,
        at,
        seq: 0,
        ack: 0,
        payload: ip_len,
        ip_len,
        ip_id: 0,
        flags: Flags(0),
    };
    let packets: Vec<PacketFingerprint> = sent.iter().map(fingerprint).collect();
    let fates = PacketFates { fates: sent.iter().map(|s| s.1).collect(), missing_at_sender: 0, duplicated: 0 };
    let matched = MatchedDirection { sent: &packets, fates, first_to_second: true, marked: false };
    let aggregate = Aggregate::of(std::iter::once(&matched));
    let fates = &matched.fates.fates;
    let attribution = loss_attribution::attribute(&packets, fates, &aggregate, 0);
    let buffer = bottleneck_buffer::estimate(&packets, fates, &attribution, &aggregate, 0, false);
    let bursts = LossBursts::of(sent.iter().map(|(at, fate)| (*at, *fate == Fate::Lost)));
    ProbeLosses { attribution, buffer, bursts }
}
