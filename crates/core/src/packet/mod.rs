//! Packets: a small `Copy` header, and a body that stays in one arena slot from sender to receiver.

mod arena;
mod rare_options;
mod segment;

pub use arena::{Arena, Body, BodyId, Datagram, Encapsulated, Fragment, TooBig};
pub use rare_options::{AccEcn, RareOption, SendRoom, U24};
pub use segment::{Flags, RetransmitReason, SackBlocks, Segment, SynOptions, Timestamps, unwrap_seq};

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    #[default]
    NotEct = 0,
    Ect1 = 1,
    Ect0 = 2,
    Ce = 3,
}

/// Properties of a packet that elements may read without its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kind(u8);

impl Kind {
    pub const TCP: Kind = Kind(1);
    /// No payload and no SYN, FIN or RST.
    pub const PURE_ACK: Kind = Kind(2);
    /// Carries payload.
    pub const DATA: Kind = Kind(4);
    /// SYN, FIN or RST.
    pub const CONTROL: Kind = Kind(8);
    /// A segment without "don't fragment".
    pub const DIVISIBLE: Kind = Kind(16);

    /// A TCP segment with or without payload, and with or without SYN, FIN or RST.
    #[inline]
    pub const fn tcp(payload: bool, control: bool) -> Kind {
        let content = match (payload, control) {
            (true, _) => Kind::DATA,
            (false, false) => Kind::PURE_ACK,
            (false, true) => Kind(0),
        };
        Kind::TCP.with(content).with(if control { Kind::CONTROL } else { Kind(0) })
    }

    pub const fn with(self, other: Kind) -> Kind {
        Kind(self.0 | other.0)
    }
    #[inline]
    pub const fn has(self, other: Kind) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Packet header: 24 bytes, copied from queue to queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Unique in a run; a duplicate made by the network has its own.
    pub id: u64,
    pub body: BodyId,
    pub flow: u32,
    /// IP length in bytes.
    pub len: u16,
    /// Length on the current link; less than `len` with header compression.
    pub wire_len: u16,
    pub ecn: Ecn,
    pub class: u8,
    pub kind: Kind,
}

const _: () = assert!(size_of::<Packet>() <= 24);

/// The fields that determine the transmission time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape(u32);

impl Packet {
    pub(crate) const NONE: Packet =
        Packet { id: 0, body: BodyId::NONE, flow: 0, len: 0, wire_len: 0, ecn: Ecn::NotEct, class: 0, kind: Kind(0) };

    #[inline]
    pub fn shape(&self) -> Shape {
        Shape(u32::from(self.len) << 8 | u32::from(self.kind.0))
    }
}
