//! The first reset of a connection.

use super::classify::{ResetEvidence, ResetKind, classify_reset};
use super::direction::FlowDirection;
use super::handshake::Handshake;
use super::rules::RULES;
use crate::compact::{Compact, Reader, Writer, compact};
use crate::decode::{Flags, Segment, Side};

#[derive(Debug, Clone, Copy)]
pub struct Reset {
    pub at: i64,
    pub from: Side,
    pub kind: ResetKind,
    pub ttl: u8,
    /// TTL of the SYN or of the data of the same end; none if neither was captured.
    pub usual_ttl: Option<u8>,
}

compact!(Reset { at, from, kind, ttl, usual_ttl });

impl Compact for ResetKind {
    fn encode(&self, to: &mut Writer) {
        (*self as u8).encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> ResetKind {
        ResetKind::ALL[usize::from(u8::decode(from))]
    }
}

impl Reset {
    /// The reset `s` of the end `from`, whose direction is the first of the two.
    pub(super) fn of(
        now: i64,
        from: Side,
        from_client: bool,
        s: &Segment<'_>,
        handshake: &Handshake,
        [own, peer]: [&FlowDirection; 2],
    ) -> Reset {
        let kind = classify_reset(&ResetEvidence {
            has_ack: s.flags.has(Flags::ACK),
            from_client,
            has_syn: handshake.syn_at().is_some(),
            has_syn_ack: handshake.syn_ack_at().is_some(),
            is_established: handshake.established_at().is_some(),
            has_closed: own.counts().fins > 0,
            is_unanswered: own.unanswered(now).is_some(),
            is_receiving: peer.payload() > 0 && (peer.in_flight() > 0 || now - peer.last_sent_at() < RULES.unread_within),
        });
        let usual = if own.data_ttl() != 0 { own.data_ttl() } else { own.syn().ttl };
        Reset { at: now, from, kind, ttl: s.ttl, usual_ttl: (usual != 0).then_some(usual) }
    }
}
