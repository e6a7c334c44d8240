//! All flows of a capture in the order in which they appeared, whichever worker has them.

use super::flows::Seen;
use super::shard::Shard;

#[derive(Debug)]
pub struct Roll<'a> {
    pub(super) shards: &'a [Shard],
    /// The first packet's number, the worker and the number there; empty with one worker, whose own order it is.
    pub(super) places: Vec<(u64, u32, u32)>,
}

impl<'a> Roll<'a> {
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.flows.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// By its number from zero, which is one of these.
    pub fn get(&self, number: usize) -> Seen<'a> {
        match self.places.get(number) {
            Some(&(_, shard, number)) => self.shards[shard as usize].flows.get(number),
            None => self.shards[0].flows.get(number as u32),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Seen<'a>> + '_ {
        (0..self.len()).map(|number| self.get(number))
    }
}
