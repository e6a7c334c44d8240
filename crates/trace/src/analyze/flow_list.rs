//! All flows of a capture in the order of their first packets.

use super::flow_store::FlowRef;
use super::shard::{FrameRange, Shard};
use crate::decode::EndpointAddress;

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

    /// Client and server of the flow with this number, from 0. Panics if there is none.
    pub fn ends(&self, number: usize) -> [EndpointAddress; 2] {
        self.shard.flows.ends(number as u32)
    }

    /// The frames of the flow with this number, from 0. Panics if there is none.
    pub fn frames(&self, number: usize) -> FrameRange {
        self.shard.frames[number]
    }

    pub fn iter(&self) -> impl Iterator<Item = FlowRef<'a>> + '_ {
        (0..self.len()).map(|number| self.get(number))
    }

    /// The flows with a direction that has a timeline of its bytes or a large payload, with their numbers. The others
    /// are not decoded.
    pub(crate) fn large(&self) -> impl Iterator<Item = (usize, FlowRef<'a>)> + '_ {
        let numbers = (0..self.len()).filter(|&number| !self.shard.flows.is_small(number as u32));
        numbers.map(|number| (number, self.get(number)))
    }
}
