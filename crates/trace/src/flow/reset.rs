//! The first reset of a connection.

use super::classify::{ResetEvidence, ResetKind, classify_reset};
use super::direction::FlowDirection;
use super::handshake::Handshake;
use super::opt_time::OptTime;
use super::rules::RULES;
use crate::compact::{Compact, Reader, Writer, compact};
use crate::decode::{Flags, Segment, Side};

#[derive(Debug, Clone, Copy)]
pub struct Reset {
    pub at: i64,
    pub from: Side,
    pub kind: ResetKind,
    pub ttl: u8,
    /// TTL of the SYN or of the data of the same end; without these, of its first packet after the reset.
    pub usual_ttl: Option<u8>,
    /// Packets but resets of the same end after it, the first of them at `went_on_at`.
    pub packets_after: u32,
    pub went_on_at: OptTime,
    /// One of them is a SYN-ACK.
    pub is_accepted_after: bool,
}

compact!(Reset { at, from, kind, ttl, usual_ttl, packets_after, went_on_at, is_accepted_after });

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
            is_unanswered: own.unanswered(now).is_some() || own.unanswered_probes().is_some(),
            is_receiving: peer.payload() > 0 && (peer.in_flight() > 0 || now - peer.last_sent_at() < RULES.unread_within),
        });
        let usual = if own.data_ttl() != 0 { own.data_ttl() } else { own.syn().ttl };
        Reset {
            at: now,
            from,
            kind,
            ttl: s.ttl,
            usual_ttl: (usual != 0).then_some(usual),
            packets_after: 0,
            went_on_at: OptTime::default(),
            is_accepted_after: false,
        }
    }

    /// A packet after the reset: one that its end sent shows that this end has not reset the connection.
    #[cold]
    pub(super) fn on_packet_after(&mut self, now: i64, from: Side, s: &Segment<'_>) {
        if from != self.from || s.flags.has(Flags::RST) {
            return;
        }
        self.usual_ttl.get_or_insert(s.ttl);
        self.packets_after = self.packets_after.saturating_add(1);
        self.went_on_at.set_once(now);
        self.is_accepted_after |= s.flags.has(Flags::SYN);
    }
}
