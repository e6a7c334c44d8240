//! The flows of one worker by number. Those that are quiet are put by in a fraction of the room; a packet of theirs fetches them.

use crate::flow::{Flow, Key};
use crate::stored::Writer;
use std::ops::Deref;

/// When flows are put by: with more than `flows` at hand those without a packet for `quiet_ns`. How many may be at hand follows how many are
/// not quiet, up to `most`, beyond which the longest quiet half goes. No figure depends on it.
#[derive(Debug, Clone, Copy)]
pub struct AtHand {
    pub flows: usize,
    pub most: usize,
    pub quiet_ns: i64,
}

impl Default for AtHand {
    fn default() -> AtHand {
        AtHand { flows: 256, most: 1 << 15, quiet_ns: 200_000_000 }
    }
}

#[derive(Debug, Default)]
pub struct Flows {
    places: Vec<Place>,
    /// Numbers of those at hand.
    at_hand: Vec<u32>,
    limit: usize,
    rule: AtHand,
    writer: Writer,
}

#[derive(Debug)]
enum Place {
    AtHand(Box<Flow>),
    PutBy(Box<[u8]>),
}

const _: () = assert!(size_of::<Place>() == 16);

/// A flow to look at.
#[derive(Debug)]
pub enum Seen<'a> {
    AtHand(&'a Flow),
    Fetched(Box<Flow>),
}

impl Deref for Seen<'_> {
    type Target = Flow;

    fn deref(&self) -> &Flow {
        match self {
            Seen::AtHand(flow) => flow,
            Seen::Fetched(flow) => flow,
        }
    }
}

impl Flows {
    pub fn new(rule: AtHand) -> Flows {
        Flows { limit: rule.flows.max(1), rule, ..Flows::default() }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The flow with this number has this key.
    #[inline(always)]
    pub fn is(&self, number: u32, key: &Key) -> bool {
        match &self.places[number as usize] {
            Place::AtHand(flow) => flow.has_key(key),
            Place::PutBy(bytes) => key.is_head_of(bytes),
        }
    }

    /// At hand, for a packet that passed at `now`.
    #[inline(always)]
    pub fn get_mut(&mut self, number: u32, now: i64) -> &mut Flow {
        if let Place::PutBy(_) = self.places[number as usize] {
            self.fetch(number, now);
        }
        match &mut self.places[number as usize] {
            Place::AtHand(flow) => flow,
            Place::PutBy(_) => unreachable!("it has been fetched"),
        }
    }

    pub fn get(&self, number: u32) -> Seen<'_> {
        match &self.places[number as usize] {
            Place::AtHand(flow) => Seen::AtHand(flow),
            Place::PutBy(bytes) => Seen::Fetched(Flow::fetched(bytes)),
        }
    }

    /// A new one; its number.
    #[cold]
    pub fn begin(&mut self, flow: Flow, now: i64) -> u32 {
        self.make_room(now);
        let number = self.places.len() as u32;
        self.places.push(Place::AtHand(Box::new(flow)));
        self.at_hand.push(number);
        number
    }

    #[cold]
    fn fetch(&mut self, number: u32, now: i64) {
        self.make_room(now);
        let place = &mut self.places[number as usize];
        if let Place::PutBy(bytes) = place {
            *place = Place::AtHand(Flow::fetched(bytes));
            self.at_hand.push(number);
        }
    }

    /// Room for one more at hand.
    fn make_room(&mut self, now: i64) {
        if self.at_hand.len() < self.limit {
            return;
        }
        self.put_by(now.saturating_sub(self.rule.quiet_ns));
        if self.at_hand.len() > self.limit / 2 {
            self.limit = (self.limit * 2).min(self.rule.most.max(1));
        } else if self.at_hand.len() < self.limit / 8 {
            self.limit = (self.limit / 2).max(self.rule.flows.max(1));
        }
        if self.at_hand.len() >= self.limit {
            let mut last: Vec<i64> = self.at_hand.iter().filter_map(|&n| self.last_at(n)).collect();
            let middle = last.len() / 2;
            let (_, &mut median, _) = last.select_nth_unstable(middle);
            self.put_by(median);
        }
    }

    fn last_at(&self, number: u32) -> Option<i64> {
        match &self.places[number as usize] {
            Place::AtHand(flow) => Some(flow.last_at),
            Place::PutBy(_) => None,
        }
    }

    /// Those whose last packet came at `until` or before.
    fn put_by(&mut self, until: i64) {
        let (places, writer) = (&mut self.places, &mut self.writer);
        self.at_hand.retain(|&number| {
            let place = &mut places[number as usize];
            let Place::AtHand(flow) = place else { return false };
            let stays = flow.last_at > until;
            if !stays {
                *place = Place::PutBy(flow.put_by(writer));
            }
            stays
        });
    }

    /// Bytes that are held for all of them, those for finding them included; those of the allocator not.
    pub fn memory(&self) -> usize {
        let places = self.places.iter().map(|place| match place {
            Place::AtHand(flow) => flow.memory(),
            Place::PutBy(bytes) => bytes.len(),
        });
        places.sum::<usize>() + self.places.capacity() * size_of::<Place>() + self.at_hand.capacity() * size_of::<u32>()
    }
}
