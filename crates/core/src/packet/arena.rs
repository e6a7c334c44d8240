//! Where bodies lie while their packets travel.

use super::Segment;

/// Where a packet's body lies in the [`Arena`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BodyId(u32);

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

/// Begins a cache line: what most packets carry of a segment, all but SACK blocks, lies in one.
#[derive(Debug)]
#[repr(C, align(64))]
struct Slot {
    /// 0 marks a free slot.
    refs: u32,
    body: Body,
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
        let id = self.vacancy();
        self.slots[id.0 as usize].body = body;
        id
    }

    /// A segment to be written where it will lie: segments are never copied on their way. It says what an earlier one said there, so it
    /// must be written whole, as [`Segment::write`] does.
    #[inline]
    pub fn segment(&mut self) -> (BodyId, &mut Segment) {
        let id = self.vacancy();
        let body = &mut self.slots[id.0 as usize].body;
        if !matches!(body, Body::Segment(_)) {
            *body = Body::Segment(Segment::default());
        }
        match body {
            Body::Segment(segment) => (id, segment),
            Body::Datagram(_) | Body::Raw(_) => unreachable!("a segment was put there"),
        }
    }

    /// A slot for one packet: the one freed last, as it is likely to be in the cache still.
    #[inline]
    fn vacancy(&mut self) -> BodyId {
        if let Some(i) = self.free.pop() {
            self.slots[i as usize].refs = 1;
            return BodyId(i);
        }
        self.slots.push(Slot { refs: 1, body: Body::Datagram(Datagram { number: 0 }) });
        BodyId((self.slots.len() - 1) as u32)
    }

    #[inline]
    pub fn get(&self, id: BodyId) -> &Body {
        &self.slots[id.0 as usize].body
    }

    pub(crate) fn get_mut(&mut self, id: BodyId) -> &mut Body {
        &mut self.slots[id.0 as usize].body
    }

    /// A body that no other packet carries: itself, or a copy of it.
    pub(crate) fn own(&mut self, id: BodyId) -> BodyId {
        if self.slots[id.0 as usize].refs == 1 {
            return id;
        }
        let body = self.get(id).clone();
        self.release(id);
        self.insert(body)
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
