//! Classification of a connection's first reset, by its flags and by what the end that sent it had
//! received before.

/// Why an end reset the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ResetKind {
    /// In answer to the SYN (RFC 9293, section 3.5.2): no program listens, or a filter answers.
    Refused,
    /// Before the handshake was complete, after the SYN-ACK.
    HalfOpen,
    /// In answer to a segment of a connection that this end does not have, or no longer.
    UnknownConnection,
    /// In answer to data after the program had closed its socket.
    AfterClose,
    /// After data or a FIN that was retransmitted without an answer.
    GaveUp,
    /// The program closed its socket while data of the other end was arriving: it had not read all
    /// (RFC 1122, section 4.2.2.13).
    UnreadData,
    /// The program aborted the connection (RFC 9293, section 3.10.5).
    Abort,
}

impl ResetKind {
    pub const ALL: [ResetKind; 7] = [
        ResetKind::Refused,
        ResetKind::HalfOpen,
        ResetKind::UnknownConnection,
        ResetKind::AfterClose,
        ResetKind::GaveUp,
        ResetKind::UnreadData,
        ResetKind::Abort,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ResetKind::Refused => "refused",
            ResetKind::HalfOpen => "half_open",
            ResetKind::UnknownConnection => "unknown_connection",
            ResetKind::AfterClose => "after_close",
            ResetKind::GaveUp => "gave_up",
            ResetKind::UnreadData => "unread_data",
            ResetKind::Abort => "abort",
        }
    }
}

/// Evidence about a reset and the end that sent it.
#[derive(Debug, Clone, Copy)]
pub struct ResetEvidence {
    /// The reset has the ACK flag. Without it, it answers a segment that belongs to no connection
    /// (RFC 9293, section 3.10.7.1).
    pub has_ack: bool,
    pub from_client: bool,
    pub has_syn: bool,
    pub has_syn_ack: bool,
    pub is_established: bool,
    /// This end has sent a FIN.
    pub has_closed: bool,
    /// Data or a FIN of this end was retransmitted without an answer.
    pub is_unanswered: bool,
    /// Data of the other end arrived directly before, or was in flight.
    pub is_receiving: bool,
}

/// Classifies the first reset of a connection.
pub fn classify_reset(r: &ResetEvidence) -> ResetKind {
    if r.has_syn && !r.has_syn_ack && !r.from_client {
        ResetKind::Refused
    } else if r.has_syn_ack && !r.is_established {
        ResetKind::HalfOpen
    } else if !r.has_ack && r.has_closed {
        ResetKind::AfterClose
    } else if !r.has_ack {
        ResetKind::UnknownConnection
    } else if r.is_unanswered {
        ResetKind::GaveUp
    } else if r.is_receiving {
        ResetKind::UnreadData
    } else {
        ResetKind::Abort
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_kind_follows_from_its_flags_and_from_what_its_end_received() {
        let idle = ResetEvidence {
            has_ack: true,
            from_client: true,
            has_syn: true,
            has_syn_ack: true,
            is_established: true,
            has_closed: false,
            is_unanswered: false,
            is_receiving: false,
        };
        let opening = ResetEvidence { from_client: false, has_syn_ack: false, is_established: false, ..idle };
        for (evidence, kind) in [
            (opening, ResetKind::Refused),
            (ResetEvidence { has_syn_ack: true, from_client: true, ..opening }, ResetKind::HalfOpen),
            (ResetEvidence { has_ack: false, ..idle }, ResetKind::UnknownConnection),
            (ResetEvidence { has_ack: false, has_closed: true, is_receiving: true, ..idle }, ResetKind::AfterClose),
            (ResetEvidence { is_unanswered: true, ..idle }, ResetKind::GaveUp),
            (ResetEvidence { is_receiving: true, ..idle }, ResetKind::UnreadData),
            (idle, ResetKind::Abort),
            // A client that gives up connecting.
            (ResetEvidence { from_client: true, is_unanswered: true, ..opening }, ResetKind::GaveUp),
        ] {
            assert_eq!(classify_reset(&evidence), kind, "{evidence:?}");
        }
    }
}
