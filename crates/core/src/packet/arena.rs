//! Storage of packet bodies.

use super::{Ecn, Kind, Packet, Segment};
use crate::link::TunnelConfig;
use crate::units::Time;
use std::collections::BTreeMap;

/// Index of a packet's body in the [`Arena`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct BodyId(u32);

impl BodyId {
    pub(super) const NONE: BodyId = BodyId(u32::MAX);
}

/// A simulated UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Datagram {
    pub number: u64,
    /// Send time.
    pub sent: Time,
}

/// A router's report that a packet of the flow was longer than the MTU (RFC 1191, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TooBig {
    pub mtu: u16,
    /// The sequence number of the segment, or the number of the datagram.
    pub number: u64,
    /// IP length of the packet.
    pub len: u16,
    pub tcp: bool,
}

/// A part of a datagram (RFC 791, section 3.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// The datagram's number, unique in a run.
    pub datagram: u64,
    /// In bytes of its payload, as is `payload`.
    pub offset: u16,
    pub payload: u16,
    /// No other fragment follows it.
    pub last: bool,
    /// Length, kind and body of the datagram.
    pub len: u16,
    pub kind: Kind,
    pub body: Body,
}

/// A packet in a packet of a tunnel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encapsulated {
    /// The tunnel's number.
    pub tunnel: u32,
    pub config: TunnelConfig,
    /// Body, length, kind and ECN field of the packet inside.
    pub inner: Body,
    pub len: u16,
    pub kind: Kind,
    pub ecn: Ecn,
}

/// Body of a packet: a simulated segment, datagram or router's report, a part of a datagram, a packet in
/// another one, or the bytes of a real packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    Segment(Segment),
    Datagram(Datagram),
    TooBig(TooBig),
    Fragment(Box<Fragment>),
    Encapsulated(Box<Encapsulated>),
    Raw(Box<[u8]>),
    /// The payload of a simulated UDP datagram.
    Udp(Box<[u8]>),
}

/// One slot per body, aligned so that a segment without SACK edges occupies one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
struct BodySlot(Body);

const _: () = assert!(size_of::<BodySlot>() <= 128);

/// All bodies in flight. Duplicated packets share a body.
#[derive(Debug, Default)]
pub struct Arena {
    slots: Vec<BodySlot>,
    free: Vec<BodyId>,
    /// Number of additional packets per shared body; few bodies are shared.
    shared: BTreeMap<BodyId, u32>,
    /// By simulated flow: the host at the client's end; empty if no element needs it.
    client_hosts: Vec<u32>,
}

impl Arena {
    /// Sets the host at the client's end of each simulated flow, by any number. Each flow has its own
    /// server.
    pub fn set_client_hosts(&mut self, hosts: Vec<u32>) {
        self.client_hosts = hosts;
    }

    pub(crate) fn client_host_of(&self, flow: u32) -> Option<u32> {
        self.client_hosts.get(flow as usize).copied()
    }

    #[inline]
    pub fn insert(&mut self, body: Body) -> BodyId {
        let (id, slot) = self.allocate();
        *slot = body;
        id
    }

    /// A segment to write in place: segments are never copied in flight. It holds the fields of an
    /// earlier segment, so all fields must be written, as [`Segment::write`] does.
    #[inline]
    pub fn segment(&mut self) -> (BodyId, &mut Segment) {
        let (id, slot) = self.allocate();
        if !matches!(slot, Body::Segment(_)) {
            *slot = Body::Segment(Segment::default());
        }
        match slot {
            Body::Segment(segment) => (id, segment),
            _ => unreachable!("the slot holds a segment"),
        }
    }

    /// A slot for one body: the one freed last, which is likely in the cache.
    #[inline]
    fn allocate(&mut self) -> (BodyId, &mut Body) {
        let id = self.free.pop().unwrap_or_else(|| self.add_slot());
        (id, self.get_mut(id))
    }

    #[cold]
    fn add_slot(&mut self) -> BodyId {
        self.slots.push(BodySlot(Body::Datagram(Datagram { number: 0, ..Datagram::default() })));
        BodyId((self.slots.len() - 1) as u32)
    }

    #[inline]
    pub fn get(&self, id: BodyId) -> &Body {
        &self.slots[id.0 as usize].0
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: BodyId) -> &mut Body {
        &mut self.slots[id.0 as usize].0
    }

    /// A body with a single owner: the body itself, or a copy of it.
    pub(crate) fn make_unique(&mut self, id: BodyId) -> BodyId {
        if !self.shared.contains_key(&id) {
            return id;
        }
        let body = self.get(id).clone();
        self.release(id);
        self.insert(body)
    }

    /// Puts a body into the one that `outer` makes of it.
    pub(crate) fn wrap(&mut self, id: BodyId, outer: impl FnOnce(Body) -> Body) -> BodyId {
        let id = self.make_unique(id);
        let body = self.get_mut(id);
        *body = outer(std::mem::replace(body, Body::Datagram(Datagram::default())));
        id
    }

    /// The packet in `packet`, which is one of a tunnel.
    pub(crate) fn take_inner(&mut self, packet: &Packet) -> Option<Packet> {
        let id = self.make_unique(packet.body);
        let body = self.get_mut(id);
        let Body::Encapsulated(outer) = std::mem::replace(body, Body::Datagram(Datagram::default())) else { return None };
        let Encapsulated { inner, len, kind, ecn, .. } = *outer;
        *body = inner;
        Some(Packet { body: id, len, wire_len: len, kind, ecn, ..*packet })
    }

    /// Adds an owner to a body.
    pub fn retain(&mut self, id: BodyId) {
        *self.shared.entry(id).or_insert(0) += 1;
    }

    /// Removes an owner from a body; the last one frees it.
    #[inline]
    pub fn release(&mut self, id: BodyId) {
        if !self.shared.is_empty() && self.release_share(id) {
            return;
        }
        if let body @ (Body::Raw(_) | Body::Udp(_) | Body::Fragment(_) | Body::Encapsulated(_)) = self.get_mut(id) {
            *body = Body::Datagram(Datagram { number: 0, ..Datagram::default() });
        }
        self.free.push(id);
    }

    /// True if the body has other owners.
    #[cold]
    fn release_share(&mut self, id: BodyId) -> bool {
        let Some(more) = self.shared.get_mut(&id) else { return false };
        *more -= 1;
        if *more == 0 {
            self.shared.remove(&id);
        }
        true
    }

    /// Number of live bodies. A drained run has none.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_freed_with_its_last_packet() {
        let mut arena = Arena::default();
        let id = arena.insert(Body::Datagram(Datagram { number: 1, ..Datagram::default() }));
        arena.retain(id);
        arena.release(id);
        assert_eq!(arena.live(), 1);
        arena.release(id);
        assert_eq!(arena.live(), 0);
        assert_eq!(arena.insert(Body::Datagram(Datagram { number: 2, ..Datagram::default() })), id, "the slot is used again");
    }
}
