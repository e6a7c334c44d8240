//! What travels: a small `Copy` header, and a body that stays in one arena slot from sender to receiver.

use crate::units::Time;

/// Where a packet's body lies in the [`Arena`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BodyId(u32);

/// The two ECN bits of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    #[default]
    NotEct = 0,
    Ect1 = 1,
    Ect0 = 2,
    Ce = 3,
}

/// What an element may know of a packet without reading its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kind(u8);

impl Kind {
    pub const TCP: Kind = Kind(1);
    /// Carries no payload and no SYN, FIN or RST: it only acknowledges.
    pub const PURE_ACK: Kind = Kind(2);
    /// Carries payload.
    pub const DATA: Kind = Kind(4);
    /// Sets up or ends a connection (SYN, FIN, RST).
    pub const CONTROL: Kind = Kind(8);

    pub const fn with(self, other: Kind) -> Kind {
        Kind(self.0 | other.0)
    }
    #[inline]
    pub const fn has(self, other: Kind) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A packet's header: 32 bytes, copied from queue to queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Unique in a run; a copy made by the network gets its own.
    pub id: u64,
    /// When it entered the network.
    pub entered: Time,
    pub body: BodyId,
    pub flow: u32,
    /// IP length in bytes.
    pub len: u16,
    /// Bytes on the current line, which header compression makes fewer than `len`.
    pub wire_len: u16,
    pub ecn: Ecn,
    pub class: u8,
    pub kind: Kind,
}

const _: () = assert!(size_of::<Packet>() <= 32);

/// TCP header flags (RFC 9293, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const FIN: Flags = Flags(1);
    pub const SYN: Flags = Flags(2);
    pub const RST: Flags = Flags(4);
    pub const PSH: Flags = Flags(8);
    pub const ACK: Flags = Flags(16);
    pub const ECE: Flags = Flags(64);
    pub const CWR: Flags = Flags(128);

    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    pub const fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
}

/// The timestamps option, in ticks of the sending host's timestamp clock (RFC 7323, section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// Up to four SACK blocks, edges as the wire carries them: the low 32 bits of the sequence number (RFC 2018, section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    edges: [(u32, u32); 4],
    len: u8,
}

impl SackBlocks {
    /// Adds a block; a fifth is left out, as the option has no room for it.
    pub fn push(&mut self, start: u64, end: u64) {
        if usize::from(self.len) < self.edges.len() {
            self.edges[usize::from(self.len)] = (start as u32, end as u32);
            self.len += 1;
        }
    }
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    pub fn raw(&self) -> &[(u32, u32)] {
        &self.edges[..usize::from(self.len)]
    }
    /// The blocks with their edges in the 64-bit space, near `reference` (the segment's ACK number).
    pub fn near(&self, reference: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.raw().iter().map(move |&(s, e)| (unwrap_seq(s, reference), unwrap_seq(e, reference)))
    }
}

/// The 64-bit sequence number nearest to `reference` whose low 32 bits are `wire`.
pub fn unwrap_seq(wire: u32, reference: u64) -> u64 {
    reference.wrapping_add_signed(i64::from(wire.wrapping_sub(reference as u32) as i32))
}

/// A TCP segment. Sequence numbers count bytes from 0 at the SYN and never wrap here; the wire's are their low 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    pub seq: u64,
    pub ack: u64,
    /// Payload in bytes.
    pub payload: u32,
    /// Advertised window in bytes, already scaled and as coarse as the scale makes it.
    pub window: u32,
    pub sack: SackBlocks,
    pub timestamps: Option<Timestamps>,
    pub flags: Flags,
    /// IP length: what headers and options cost is the sending host's rule.
    pub len: u16,
    /// Maximum segment size and window scale, on SYNs only.
    pub syn: Option<SynOptions>,
    pub ecn: Ecn,
    /// This payload has been sent before.
    pub retransmission: bool,
}

/// Options that only SYNs carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SynOptions {
    pub mss: u16,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

impl Segment {
    /// Sequence space used: payload, and one each for SYN and FIN.
    pub fn space(&self) -> u64 {
        u64::from(self.payload) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }

    #[inline]
    pub fn kind(&self) -> Kind {
        let control = self.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        let mut kind = Kind::TCP;
        if self.payload > 0 {
            kind = kind.with(Kind::DATA);
        } else if !control {
            kind = kind.with(Kind::PURE_ACK);
        }
        if control { kind.with(Kind::CONTROL) } else { kind }
    }
}

/// A simulated UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    pub number: u64,
}

/// What a packet carries: a simulated segment or datagram, or the bytes of a real one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    Segment(Segment),
    Datagram(Datagram),
    Raw(Box<[u8]>),
}

#[derive(Debug)]
struct Slot {
    body: Body,
    /// 0 marks a free slot.
    refs: u32,
}

/// All bodies in flight, reference-counted because the network may duplicate a packet.
#[derive(Debug, Default)]
pub struct Arena {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Arena {
    #[inline]
    pub fn insert(&mut self, body: Body) -> BodyId {
        let slot = Slot { body, refs: 1 };
        if let Some(i) = self.free.pop() {
            self.slots[i as usize] = slot;
            BodyId(i)
        } else {
            self.slots.push(slot);
            BodyId((self.slots.len() - 1) as u32)
        }
    }

    #[inline]
    pub fn get(&self, id: BodyId) -> &Body {
        &self.slots[id.0 as usize].body
    }

    /// One more packet carries this body.
    pub fn retain(&mut self, id: BodyId) {
        self.slots[id.0 as usize].refs += 1;
    }

    /// One packet less carries this body; the last one frees it.
    #[inline]
    pub fn release(&mut self, id: BodyId) {
        let slot = &mut self.slots[id.0 as usize];
        slot.refs -= 1;
        if slot.refs == 0 {
            if let Body::Raw(bytes) = &mut slot.body {
                *bytes = Box::default();
            }
            self.free.push(id.0);
        }
    }

    /// Bodies alive; zero after a run has drained, or something leaked.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_unwrap_to_the_nearest() {
        let reference = (7u64 << 32) + 10;
        assert_eq!(unwrap_seq(20, reference), (7 << 32) + 20);
        assert_eq!(unwrap_seq(u32::MAX, reference), (7 << 32) - 1);
        assert_eq!(unwrap_seq(5, 0xFFFF_FFF0), (1 << 32) + 5);
    }

    #[test]
    fn a_body_lives_until_its_last_packet_is_gone() {
        let mut arena = Arena::default();
        let id = arena.insert(Body::Datagram(Datagram { number: 1 }));
        arena.retain(id);
        arena.release(id);
        assert_eq!(arena.live(), 1);
        arena.release(id);
        assert_eq!(arena.live(), 0);
        assert_eq!(arena.insert(Body::Datagram(Datagram { number: 2 })), id, "the slot is used again");
    }
}
