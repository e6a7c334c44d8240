//! Explicit congestion notification: modes and negotiation (RFC 3168, section 6.1.1; RFC 9768,
//! section 3.1).

mod echo;
mod feedback;
mod negotiation;

pub use echo::{EchoMode, EcnEcho};
pub use feedback::{EcnFeedback, MarkReport};
pub use negotiation::EndpointEcn;

use crate::packet::{AccEcn, Ecn, Flags, RareOption, U24};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The ECN mode that a host offers; it agrees to nothing better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EcnMode {
    #[default]
    Off,
    /// RFC 3168: the receiver echoes a mark until the sender confirms its reaction with CWR.
    Classic,
    /// AccECN (RFC 9768): every ACK carries the receiver's count of marks.
    Accurate,
}

/// In a plan: false, true (RFC 3168) or "accecn" (RFC 9768).
impl<'de> Deserialize<'de> for EcnMode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<EcnMode, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "ecn is true, false or \"accecn\"")]
        enum Form {
            Flag(bool),
            Name(Name),
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Name {
            Accecn,
        }
        Ok(match Form::deserialize(from)? {
            Form::Flag(false) => EcnMode::Off,
            Form::Flag(true) => EcnMode::Classic,
            Form::Name(Name::Accecn) => EcnMode::Accurate,
        })
    }
}

/// What `deserialize` reads.
impl Serialize for EcnMode {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        match self {
            EcnMode::Off => into.serialize_bool(false),
            EcnMode::Classic => into.serialize_bool(true),
            EcnMode::Accurate => into.serialize_str("accecn"),
        }
    }
}

/// Which packets are sent ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnPackets {
    /// New data (RFC 3168, section 6.1).
    #[default]
    Data,
    /// With AccECN everything after the handshake (RFC 9768, section 3.3.3, allows it), else new
    /// data: Linux.
    Established,
    /// Retransmissions and pure ACKs, too (draft-ietf-tcpm-generalized-ecn), and with AccECN the
    /// handshake.
    All,
}

/// Which segments carry the AccECN option (RFC 9768, section 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccEcnOption {
    /// None: the ACE field alone counts.
    Off,
    /// The first segment after a counter has changed.
    #[default]
    Changes,
    /// The SYN-ACK and, once the peer has sent an option, every segment: Linux (tcp_ecn_option 2).
    Every,
}

/// The counters of AccECN less their initial values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets.
    pub ce: u64,
    pub ce_bytes: u64,
    pub ect0_bytes: u64,
    pub ect1_bytes: u64,
}

/// The AccECN option before any data.
pub fn first_option() -> RareOption {
    RareOption::AccEcn(AccEcn { ect0: U24::new(FIRST_ECT_BYTES), ce: U24::new(0), ect1: U24::new(FIRST_ECT_BYTES) })
}

/// The flags of an ECN-setup SYN.
pub fn offer(mode: EcnMode) -> Flags {
    match mode {
        EcnMode::Off => Flags::NONE,
        EcnMode::Classic => Flags::ECE.with(Flags::CWR),
        EcnMode::Accurate => Flags::AE.with(Flags::ECE).with(Flags::CWR),
    }
}

/// The mode that a server derives from a SYN's flags.
pub fn answer(own: EcnMode, syn: Flags) -> EcnMode {
    match (own, syn.has(Flags::ECE.with(Flags::CWR)), syn.has(Flags::AE)) {
        (EcnMode::Off, ..) | (_, false, _) => EcnMode::Off,
        (EcnMode::Accurate, true, true) => EcnMode::Accurate,
        _ => EcnMode::Classic,
    }
}

/// The flags of the SYN-ACK. `syn`: the SYN's codepoint (RFC 9768, table 2).
pub fn answer_flags(agreed: EcnMode, syn: Ecn) -> Flags {
    match agreed {
        EcnMode::Off => Flags::NONE,
        EcnMode::Classic => Flags::ECE,
        EcnMode::Accurate => ace_flags(handshake_code(syn)),
    }
}

/// The mode that a client derives from the SYN-ACK's flags (RFC 9768, table 2). All three flags set
/// are the reflection of a broken host.
pub fn accept(own: EcnMode, answer: Flags) -> EcnMode {
    match (own, ace(answer)) {
        (EcnMode::Off, _) => EcnMode::Off,
        (_, 0b001) => EcnMode::Classic,
        // 0b101 is reserved, for hosts that support AccECN (RFC 9768, section 3.1.2).
        (EcnMode::Accurate, 0b010..=0b110) => EcnMode::Accurate,
        _ => EcnMode::Off,
    }
}

/// The ACE code for the codepoint of a handshake packet (RFC 9768, tables 2 and 3).
pub fn handshake_code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The ACE field: AE, CWR and ECE, the highest bit first (RFC 9768, section 3.2.2).
pub fn ace(flags: Flags) -> u8 {
    let bit = |flag| u8::from(flags.has(flag));
    bit(Flags::AE) << 2 | bit(Flags::CWR) << 1 | bit(Flags::ECE)
}

pub fn ace_flags(ace: u8) -> Flags {
    [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)]
        .into_iter()
        .filter(|&(bit, _)| ace & bit != 0)
        .fold(Flags::NONE, |all, (_, flag)| all.with(flag))
}

/// Initial values of the counters: distinct from a cleared field (RFC 9768, section 3.2.1).
const FIRST_CE_PACKETS: u64 = 5;
const FIRST_ECT_BYTES: u64 = 1;
