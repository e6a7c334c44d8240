//! Datagrams whose fates are known from their numbers, judged as captures' packets are.

use super::MatchedDirection;
use super::aggregate::Aggregate;
use super::fate::{Fate, Fates};
use super::fingerprint::PacketFingerprint;
use super::loss_attribution::{self, LossAttribution};
use super::loss_bursts::LossBursts;
use super::{BufferEstimate, bottleneck_buffer};
use crate::decode::Flags;

/// One direction's losses and what they say of the path.
pub struct ProbeLosses {
    pub verdict: LossAttribution,
    pub buffer: BufferEstimate,
    pub bursts: LossBursts,
}

/// Datagrams of `ip_len` bytes in the order of sending: when each left, in nanoseconds, and what became of it.
pub fn attribute_probe_losses(sent: &[(i64, Fate)], ip_len: u32) -> ProbeLosses {
    let mark = |&(at, _): &(i64, Fate)| PacketFingerprint {
        hash: 0,
        at,
        seq: 0,
        ack: 0,
        payload: ip_len,
        ip_len,
        ip_id: 0,
        flags: Flags(0),
    };
    let marks: Vec<PacketFingerprint> = sent.iter().map(mark).collect();
    let losses = Fates { fates: sent.iter().map(|s| s.1).collect(), unseen_at_sender: 0, duplicated: 0 };
    let placed = MatchedDirection { sent: &marks, losses, first_to_second: true, marked: false };
    let stream = Aggregate::of(std::iter::once(&placed));
    let fates = &placed.losses.fates;
    let verdict = loss_attribution::attribute(&marks, fates, &stream, stream.met(0));
    let buffer = bottleneck_buffer::estimate(&marks, fates, &verdict, &stream, false);
    ProbeLosses { verdict, buffer, bursts: LossBursts::of(sent.iter().map(|(at, fate)| (*at, *fate == Fate::Lost))) }
}
