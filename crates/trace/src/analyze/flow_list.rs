//! All flows of a capture in the order of their first packets, across all workers.

use super::flow_store::FlowRef;
use super::shard::Shard;

#[derive(Debug)]
pub struct FlowList<'a> {
    pub(super) shards: &'a [Shard],
    /// Number of the first packet, worker, number of the flow at that worker. Empty with one
    /// worker, whose own order it is.
    pub(super) order: Vec<(u64, u32, u32)>,
}

impl<'a> FlowList<'a> {
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.flows.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The flow with this number, from 0. Panics if there is none.
    pub fn get(&self, number: usize) -> FlowRef<'a> {
        match self.order.get(number) {
            Some(&(_, shard, number)) => self.shards[shard as usize].flows.get(number),
            None => self.shards[0].flows.get(number as u32),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = FlowRef<'a>> + '_ {
        (0..self.len()).map(|number| self.get(number))
    }
}
