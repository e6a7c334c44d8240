//! Where bodies lie while their packets travel.

use super::Segment;
use crate::units::Time;
use std::collections::BTreeMap;

/// Where a packet's body lies in the [`Arena`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct BodyId(u32);

/// A simulated UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Datagram {
    pub number: u64,
    /// When its sender handed it to the network.
    pub sent: Time,
}

/// What a packet carries: a simulated segment or datagram, or the bytes of a real one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    Segment(Segment),
    Datagram(Datagram),
    Raw(Box<[u8]>),
}

/// A slot of its own for each body, so that what most packets carry of a segment, all but SACK blocks' edges, lies in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
struct Slot(Body);

const _: () = assert!(size_of::<Slot>() <= 128);

/// All bodies in flight. The network may duplicate a packet, so some are carried by several.
#[derive(Debug, Default)]
pub struct Arena {
    slots: Vec<Slot>,
    free: Vec<BodyId>,
    /// How many packets more than one carry a body, of those that several carry: few do.
    twins: BTreeMap<BodyId, u32>,
    /// Each simulated flow's client; empty where nobody asks.
    clients: Vec<u32>,
}

impl Arena {
    /// Says whose each simulated flow is, by flow: its client. Its server is its own.
    pub fn set_clients(&mut self, clients: Vec<u32>) {
        self.clients = clients;
    }

    pub(crate) fn client_of(&self, flow: u32) -> Option<u32> {
        self.clients.get(flow as usize).copied()
    }

    #[inline]
    pub fn insert(&mut self, body: Body) -> BodyId {
        let (id, place) = self.vacancy();
        *place = body;
        id
    }

    /// A segment to be written where it will lie: segments are never copied on their way. It says what an earlier one said there, so it
    /// must be written whole, as [`Segment::write`] does.
    #[inline]
    pub fn segment(&mut self) -> (BodyId, &mut Segment) {
        let (id, place) = self.vacancy();
        if !matches!(place, Body::Segment(_)) {
            *place = Body::Segment(Segment::default());
        }
        match place {
            Body::Segment(segment) => (id, segment),
            Body::Datagram(_) | Body::Raw(_) => unreachable!("a segment was put there"),
        }
    }

    /// A slot for one packet: the one freed last, as it is likely to be in the cache still.
    #[inline]
    fn vacancy(&mut self) -> (BodyId, &mut Body) {
        let id = self.free.pop().unwrap_or_else(|| self.add_slot());
        (id, self.get_mut(id))
    }

    #[cold]
    fn add_slot(&mut self) -> BodyId {
        self.slots.push(Slot(Body::Datagram(Datagram { number: 0, ..Datagram::default() })));
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

    /// A body that no other packet carries: itself, or a copy of it.
    pub(crate) fn own(&mut self, id: BodyId) -> BodyId {
        if !self.twins.contains_key(&id) {
            return id;
        }
        let body = self.get(id).clone();
        self.release(id);
        self.insert(body)
    }

    /// One more packet carries this body.
    pub fn retain(&mut self, id: BodyId) {
        *self.twins.entry(id).or_insert(0) += 1;
    }

    /// One packet less carries this body; the last one frees it.
    #[inline]
    pub fn release(&mut self, id: BodyId) {
        if !self.twins.is_empty() && self.lose_twin(id) {
            return;
        }
        if let body @ Body::Raw(_) = self.get_mut(id) {
            *body = Body::Datagram(Datagram { number: 0, ..Datagram::default() });
        }
        self.free.push(id);
    }

    /// Whether other packets carry this body still.
    #[cold]
    fn lose_twin(&mut self, id: BodyId) -> bool {
        let Some(more) = self.twins.get_mut(&id) else { return false };
        *more -= 1;
        if *more == 0 {
            self.twins.remove(&id);
        }
        true
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
    fn a_body_lives_until_its_last_packet_is_gone() {
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
