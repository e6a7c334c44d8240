//! All flows of a capture in the order of their first packets, across all workers.

use super::flow_store::FlowRef;
use super::shard::{FrameRange, Shard};
use std::sync::Arc;

/// The order of flows by their first packets: number of the packet, worker, number of the flow at
/// that worker. Empty with one worker, whose own order it is.
#[derive(Debug, Clone)]
pub struct FlowOrder(Arc<[(u64, u32, u32)]>);

impl FlowOrder {
    pub(super) fn of(shards: &[Shard]) -> FlowOrder {
        let mut order: Vec<(u64, u32, u32)> = Vec::new();
        if shards.len() > 1 {
            for (number, shard) in shards.iter().enumerate() {
                let flows = shard.frames.iter().enumerate();
                order.extend(flows.map(|(flow, frames)| (frames.first, number as u32, flow as u32)));
            }
            order.sort_unstable();
        }
        FlowOrder(order.into())
    }
}

#[derive(Debug)]
pub struct FlowList<'a> {
    pub(super) shards: &'a [Shard],
    pub(super) order: FlowOrder,
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
        match self.order.0.get(number) {
            Some(&(_, shard, number)) => self.shards[shard as usize].flows.get(number),
            None => self.shards[0].flows.get(number as u32),
        }
    }

    /// The frames of the flow with this number, from 0. Panics if there is none.
    pub fn frames(&self, number: usize) -> FrameRange {
        match self.order.0.get(number) {
            Some(&(_, shard, number)) => self.shards[shard as usize].frames[number as usize],
            None => self.shards[0].frames[number],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = FlowRef<'a>> + '_ {
        (0..self.len()).map(|number| self.get(number))
    }
}
