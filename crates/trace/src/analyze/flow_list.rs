//! All flows of a capture in the order of their first packets.

use super::flow_store::FlowRef;
use super::shard::{FrameRange, Shard};

#[derive(Debug)]
pub struct FlowList<'a> {
    pub(super) shard: &'a Shard,
}

impl<'a> FlowList<'a> {
    pub fn len(&self) -> usize {
        self.shard.flows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The flow with this number, from 0. Panics if there is none.
    pub fn get(&self, number: usize) -> FlowRef<'a> {
        self.shard.flows.get(number as u32)
    }

    /// The frames of the flow with this number, from 0. Panics if there is none.
    pub fn frames(&self, number: usize) -> FrameRange {
        self.shard.frames[number]
    }

    pub fn iter(&self) -> impl Iterator<Item = FlowRef<'a>> + '_ {
        (0..self.len()).map(|number| self.get(number))
    }
}
