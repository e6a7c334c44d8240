//! Flows by number. Idle flows are frozen into a compact encoding; their next
//! packet thaws them.

use crate::compact::Writer;
use crate::decode::EndpointAddress;
use crate::flow::{Flow, Key};
use std::ops::Deref;

/// When flows are frozen. With more than `min_hot` hot flows, those without a packet for `idle_ns`
/// are frozen. The limit follows the number of active flows up to `max_hot`; beyond it the half that is
/// idle for longest is frozen. Results do not depend on it.
#[derive(Debug, Clone, Copy)]
pub struct CachePolicy {
    pub min_hot: usize,
    pub max_hot: usize,
    pub idle_ns: i64,
}

impl Default for CachePolicy {
    fn default() -> CachePolicy {
        CachePolicy { min_hot: 256, max_hot: 1 << 15, idle_ns: 200_000_000 }
    }
}

#[derive(Debug, Default)]
pub struct FlowStore {
    flows: Vec<StoredFlow>,
    /// Numbers of the hot flows.
    hot: Vec<u32>,
    limit: usize,
    policy: CachePolicy,
    writer: Writer,
}

#[derive(Debug)]
enum StoredFlow {
    Hot(Box<Flow>),
    Frozen(Box<[u8]>),
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<StoredFlow>() == 16);

/// A flow for reading.
#[derive(Debug)]
pub enum FlowRef<'a> {
    Hot(&'a Flow),
    Thawed(Box<Flow>),
}

impl Deref for FlowRef<'_> {
    type Target = Flow;

    fn deref(&self) -> &Flow {
        match self {
            FlowRef::Hot(flow) => flow,
            FlowRef::Thawed(flow) => flow,
        }
    }
}

/// Appends an item. A list of all flows grows by a quarter: doubled, it has 8 bytes of free space for
/// each flow on average.
pub(super) fn push_tight<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(16 + list.len() / 4);
    }
    list.push(item);
}

impl FlowStore {
    pub fn new(policy: CachePolicy) -> FlowStore {
        FlowStore { limit: policy.min_hot.max(1), policy, ..FlowStore::default() }
    }

    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// True if the flow with this number has this key.
    #[inline(always)]
    pub fn has_key(&self, number: u32, key: &Key) -> bool {
        match &self.flows[number as usize] {
            StoredFlow::Hot(flow) => flow.has_key(key),
            StoredFlow::Frozen(bytes) => key.is_prefix_of(bytes),
        }
    }

    /// The flow with this number; none if there is none, or it is frozen.
    #[inline(always)]
    pub fn hot_mut(&mut self, number: u32) -> Option<&mut Flow> {
        match self.flows.get_mut(number as usize) {
            Some(StoredFlow::Hot(flow)) => Some(flow),
            _ => None,
        }
    }

    /// The flow, thawed if necessary, for a packet at time `now`.
    #[inline(always)]
    pub fn get_mut(&mut self, number: u32, now: i64) -> &mut Flow {
        if let StoredFlow::Frozen(_) = self.flows[number as usize] {
            self.thaw(number, now);
        }
        match &mut self.flows[number as usize] {
            StoredFlow::Hot(flow) => flow,
            StoredFlow::Frozen(_) => unreachable!("the flow has been thawed"),
        }
    }

    pub fn get(&self, number: u32) -> FlowRef<'_> {
        match &self.flows[number as usize] {
            StoredFlow::Hot(flow) => FlowRef::Hot(flow),
            StoredFlow::Frozen(bytes) => FlowRef::Thawed(Flow::thaw(bytes)),
        }
    }

    /// Client and server of a flow, which stays frozen.
    pub fn ends(&self, number: u32) -> [EndpointAddress; 2] {
        match &self.flows[number as usize] {
            StoredFlow::Hot(flow) => flow.ends(),
            StoredFlow::Frozen(bytes) => Flow::ends_of_frozen(bytes),
        }
    }

    /// [`Flow::is_small`] of a flow, which stays frozen.
    pub fn is_small(&self, number: u32) -> bool {
        match &self.flows[number as usize] {
            StoredFlow::Hot(flow) => flow.is_small(),
            StoredFlow::Frozen(bytes) => Flow::is_small_when_frozen(bytes),
        }
    }

    /// Adds a flow; returns its number.
    #[cold]
    pub fn add(&mut self, flow: Flow, now: i64) -> u32 {
        self.make_room(now);
        let number = self.flows.len() as u32;
        push_tight(&mut self.flows, StoredFlow::Hot(Box::new(flow)));
        self.hot.push(number);
        number
    }

    #[cold]
    fn thaw(&mut self, number: u32, now: i64) {
        self.make_room(now);
        let flow = &mut self.flows[number as usize];
        if let StoredFlow::Frozen(bytes) = flow {
            *flow = StoredFlow::Hot(Flow::thaw(bytes));
            self.hot.push(number);
        }
    }

    /// Makes room for one more hot flow.
    fn make_room(&mut self, now: i64) {
        if self.hot.len() < self.limit {
            return;
        }
        self.freeze(now.saturating_sub(self.policy.idle_ns));
        if self.hot.len() > self.limit / 2 {
            self.limit = (self.limit * 2).min(self.policy.max_hot.max(1));
        } else if self.hot.len() < self.limit / 8 {
            self.limit = (self.limit / 2).max(self.policy.min_hot.max(1));
        }
        if self.hot.len() >= self.limit {
            let mut last: Vec<i64> = self.hot.iter().filter_map(|&n| self.last_at(n)).collect();
            let middle = last.len() / 2;
            let (_, &mut median, _) = last.select_nth_unstable(middle);
            self.freeze(median);
        }
    }

    fn last_at(&self, number: u32) -> Option<i64> {
        match &self.flows[number as usize] {
            StoredFlow::Hot(flow) => Some(flow.last_at()),
            StoredFlow::Frozen(_) => None,
        }
    }

    /// Freezes the flows whose last packet is not later than `until`.
    fn freeze(&mut self, until: i64) {
        let (flows, writer) = (&mut self.flows, &mut self.writer);
        self.hot.retain(|&number| {
            let stored = &mut flows[number as usize];
            let StoredFlow::Hot(flow) = stored else { return false };
            let stays_hot = flow.last_at() > until;
            if !stays_hot {
                *stored = StoredFlow::Frozen(flow.freeze(writer));
            }
            stays_hot
        });
    }

    /// Memory of all flows and of the index in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        let flows = self.flows.iter().map(|stored| match stored {
            StoredFlow::Hot(flow) => flow.memory(),
            StoredFlow::Frozen(bytes) => bytes.len(),
        });
        flows.sum::<usize>() + self.flows.capacity() * size_of::<StoredFlow>() + self.hot.capacity() * size_of::<u32>()
    }
}
