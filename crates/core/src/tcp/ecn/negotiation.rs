//! ECN at an endpoint: negotiation in the handshake, and the codepoints of segments received and
//! sent.

use super::{
    AccEcnOption, EchoMode, EcnCounts, EcnEcho, EcnMode, EcnPackets, accept, ace, answer, answer_flags, first_option, offer,
};
use crate::packet::{Ecn, Flags, RareOption, Segment, Timestamps};
use crate::tcp::endpoint::TcpEndpoint;
use crate::tcp::timestamps::timestamp;
use crate::units::Time;

/// An endpoint's ECN state.
#[derive(Clone, Debug, Default)]
pub struct EndpointEcn {
    /// The receiver's feedback; None without ECN.
    echo: Option<Box<EcnEcho>>,
    agreed: EcnMode,
    /// Codepoint of the peer's SYN.
    syn: Ecn,
}

impl EndpointEcn {
    #[inline]
    pub fn on(&self) -> bool {
        self.echo.is_some()
    }
    #[inline]
    pub fn owes(&self) -> bool {
        self.echo.as_ref().is_some_and(|echo| echo.owes())
    }
}

/// SYNs that offer ECN before one without.
const ECN_SYNS: u32 = 2;

impl TcpEndpoint {
    /// A server received a SYN.
    pub(in crate::tcp) fn on_ecn_syn(&mut self, syn: &Segment, ecn: Ecn) {
        self.ecn.syn = ecn;
        self.set_ecn_mode(answer(self.config.ecn, syn.flags), None);
    }

    /// The SYN arrived again. The next SYN-ACK reports its codepoint (RFC 9768, section 3.1.5). If it
    /// has no ECN flags, the path or the client may not forward them: nothing is sent ECN-capable.
    pub(in crate::tcp) fn on_ecn_repeated_syn(&mut self, syn: &Segment, ecn: Ecn) {
        if self.ecn.agreed == EcnMode::Accurate {
            self.ecn.syn = ecn;
            if ace(syn.flags) == 0 {
                self.sender.disable_ect();
            }
        }
    }

    /// The ACK that completes a server's handshake: its ACE field reports the SYN-ACK's codepoint
    /// (RFC 9768, table 4). Data in its place has a counter in the field.
    pub(in crate::tcp) fn on_ecn_third_ack(&mut self, segment: &Segment) {
        if self.ecn.agreed != EcnMode::Accurate || segment.payload > 0 {
            return;
        }
        match ace(segment.flags) {
            0 => self.sender.disable_ect(),
            code if code == super::handshake_code(Ecn::Ce) => self.sender.on_marked_syn_ack(),
            _ => {}
        }
    }

    /// A client received the SYN-ACK.
    pub(in crate::tcp) fn on_ecn_syn_ack(&mut self, syn_ack: &Segment, ecn: Ecn) {
        self.set_ecn_mode(accept(self.config.ecn, syn_ack.flags), Some(ecn));
        self.on_accecn_option(syn_ack);
    }

    /// The SYN-ACK arrived again at an established client.
    pub(in crate::tcp) fn on_ecn_repeated_syn_ack(&mut self, ecn: Ecn) {
        if let Some(echo) = &mut self.ecn.echo {
            echo.on_repeated_syn_ack(ecn);
        }
    }

    /// The first option of the peer reserves room for this end's in every segment.
    fn on_accecn_option(&mut self, segment: &Segment) {
        if self.ecn.echo.as_mut().is_some_and(|echo| echo.on_option(segment)) {
            self.sender.reserve_option(u32::from(first_option().wire_bytes()));
        }
    }

    /// The option of a SYN-ACK, which has it once (RFC 9768, section 3.2.3.2.2).
    pub(in crate::tcp) fn syn_option(&self, answering: bool) -> RareOption {
        let wanted = self.ecn.agreed == EcnMode::Accurate && self.config.accecn_option == AccEcnOption::Every;
        if answering && wanted && self.handshake.tries <= 1 { first_option() } else { RareOption::None }
    }

    /// What AccECN has counted: received here, and reported by the peer.
    pub(in crate::tcp) fn ecn_counts(&self) -> (EcnCounts, EcnCounts) {
        let received = self.ecn.echo.as_ref().and_then(|echo| echo.received()).unwrap_or_default();
        (received, self.sender.ecn_delivered())
    }

    fn set_ecn_mode(&mut self, agreed: EcnMode, answered: Option<Ecn>) {
        self.ecn.agreed = agreed;
        self.sender.set_ecn_mode(agreed);
        let state = EchoMode {
            agreed,
            by_state: self.sender.counts_marks(),
            marked_acks: self.config.ack_control.is_some(),
            option: self.config.accecn_option,
        };
        self.ecn.echo = (agreed != EcnMode::Off).then(|| Box::new(EcnEcho::new(state, answered)));
    }

    pub(in crate::tcp) fn syn_flags(&self, answering: bool) -> Flags {
        if answering {
            // RFC 9768, section 3.1.4.2: a path that drops SYN-ACKs with these flags.
            let dropped = self.ecn.agreed == EcnMode::Accurate && self.handshake.tries > ECN_SYNS;
            let agreed = if dropped { EcnMode::Off } else { self.ecn.agreed };
            return Flags::SYN.with(Flags::ACK).with(answer_flags(agreed, self.ecn.syn));
        }
        // A path that drops SYNs with these flags is tried without them (RFC 3168, section 6.1.1.1;
        // RFC 9768, section 3.1.4.1).
        let mode = if self.handshake.tries > ECN_SYNS { EcnMode::Off } else { self.config.ecn };
        Flags::SYN.with(offer(mode))
    }

    /// Handshake packets are ECN-capable only if all packets are, and with AccECN
    /// (draft-ietf-tcpm-generalized-ecn, section 3.2.1).
    pub(in crate::tcp) fn syn_codepoint(&self, answering: bool) -> Ecn {
        let mode = if answering { self.ecn.agreed } else { self.config.ecn };
        let capable = self.config.ecn_packets == EcnPackets::All && mode == EcnMode::Accurate;
        if capable { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// Processes the codepoint of a segment before the segment itself.
    #[inline(never)]
    pub(in crate::tcp) fn on_ecn_codepoint(&mut self, segment: &Segment, ecn: Ecn) {
        let Some(echo) = &mut self.ecn.echo else { return };
        if segment.payload > 0 && segment.seq + u64::from(segment.payload) <= self.receiver.next_expected() {
            echo.on_duplicate();
        }
        if echo.on_arrival(segment, ecn, self.receiver.delayed()) {
            self.receiver.ack_at_once();
        }
        if segment.rare_option != RareOption::None {
            self.on_accecn_option(segment);
        }
        if ecn == Ecn::Ce && segment.payload > 0 {
            self.receiver.count_ce();
        }
    }

    /// Writes codepoint, CWR and feedback into an outgoing segment. In TIME-WAIT there is no feedback:
    /// of a connection in that state Linux keeps no ECN counters.
    #[inline(never)]
    pub(in crate::tcp) fn write_ecn(&mut self, segment: &mut Segment) {
        self.sender.write_ecn(segment);
        let is_time_wait = self.sender.finished() && self.receiver.peer_closed();
        if let Some(echo) = &mut self.ecn.echo
            && !is_time_wait
        {
            echo.fill(segment);
        }
    }

    /// The ACK that reports the CE state of data before the last segment; it precedes all other
    /// segments.
    #[inline(never)]
    pub(in crate::tcp) fn owed_ack(&mut self, now: Time) -> Option<Segment> {
        let (ack, ece) = self.ecn.echo.as_mut()?.take_owed()?;
        let mut segment = self.receiver.earlier_ack(self.sender.next_seq(), ack);
        if ece {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        segment.timestamps = self.timestamps.then(|| Timestamps { value: timestamp(now), echo: self.ts_recent });
        segment.len = self.config.wire_len(0, self.timestamps, 0);
        self.sender.write_ecn(&mut segment);
        Some(segment)
    }
}
