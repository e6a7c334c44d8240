//! The queues of a medium: one for each station and direction, each with a meter and a counts of its own.

use super::roaming::{Roaming, RoamingConfig, RoamingEvent};
use super::shared_queue::SharedQueue;
use super::{MeteredQueue, Stream};
use crate::element::{PacketCounts, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::queue::AnyQueue;
use crate::units::{Span, Time};

/// Every stream's queue.
pub struct StationQueues {
    queues: Vec<MeteredQueue>,
    /// None where nobody changes cells.
    roaming: Option<Box<Roaming>>,
    /// None where every stream has a queue of its own.
    pub(super) shared: Option<SharedQueue>,
}

impl StationQueues {
    /// One queue for each stream, in the order of [`Stream::index`].
    pub fn new(queues: impl IntoIterator<Item = AnyQueue>) -> StationQueues {
        StationQueues { queues: queues.into_iter().map(MeteredQueue::new).collect(), roaming: None, shared: None }
    }

    /// All that goes down waits in one queue, that of the first station.
    pub fn share_down(&mut self) {
        self.shared = Some(SharedQueue::default());
    }

    /// The stream's queue and the first one change queues.
    pub(super) fn swap_queues(&mut self, stream: Stream) {
        if let ([first, ..], [other, ..]) = self.queues.split_at_mut(stream.index()) {
            first.swap_queue(other);
        }
    }

    /// Its stations change cells.
    pub fn roam(&mut self, config: RoamingConfig) {
        self.roaming = Some(Box::new(Roaming::new(config, self.stations())));
    }

    /// When a station next changes its cell.
    #[inline]
    pub fn next_roaming_event(&self) -> Time {
        self.roaming.as_ref().map_or(Time::NEVER, |roaming| roaming.due())
    }

    /// The next change, if it has come by `now`.
    pub fn pop_roaming_event(&mut self, now: Time) -> Option<(u32, RoamingEvent)> {
        self.roaming.as_mut()?.pop(now)
    }

    /// Whether the station is served: it is not between two cells.
    #[inline]
    pub fn is_served(&self, station: u32) -> bool {
        self.roaming.as_ref().is_none_or(|roaming| !roaming.is_away(station))
    }

    /// Whether what waits in the network for a station that leaves goes over to its next cell.
    pub fn forwards(&self) -> bool {
        self.roaming.as_ref().is_none_or(|roaming| roaming.forwards())
    }

    /// The share of the channel's speed that a station has.
    #[inline]
    pub fn speed(&self, station: u32) -> f64 {
        self.roaming.as_ref().map_or(1.0, |roaming| roaming.speed(station))
    }

    /// How long a station takes for what takes `span` at the channel's speed.
    #[inline]
    pub fn scaled(&self, station: u32, span: Span) -> Span {
        match self.speed(station) {
            1.0 => span,
            speed => Span::from_secs_f64(span.as_secs() / speed),
        }
    }

    pub fn len(&self) -> usize {
        self.queues.len()
    }
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
    /// Stations, of which each has two queues.
    pub fn stations(&self) -> u32 {
        (self.queues.len() / 2) as u32
    }
    pub fn contains(&self, stream: Stream) -> bool {
        stream.index() < self.queues.len()
    }

    /// The queue of a stream that is known to be one of these.
    pub fn of(&mut self, stream: Stream) -> &mut MeteredQueue {
        &mut self.queues[stream.index()]
    }

    /// Packets that wait in one of them.
    pub fn waiting_in(&self, stream: Stream) -> u64 {
        self.queues.get(stream.index()).map_or(0, MeteredQueue::packets)
    }

    /// Their bytes.
    pub fn waiting_bytes(&self, stream: Stream) -> u64 {
        self.queues.get(stream.index()).map_or(0, MeteredQueue::bytes)
    }

    /// The first stream with waiting packets from number `from` on, going round once; stations between two cells are left out.
    pub fn next_waiting(&self, from: usize) -> Option<Stream> {
        let n = self.queues.len();
        let here = |index: usize| self.is_served(Stream::from_index(index).station);
        let waits = |&index: &usize| self.queues[index].packets() > 0 && here(index);
        (from..n).chain(0..from.min(n)).find(waits).map(Stream::from_index)
    }

    /// Packets that wait, in all of them.
    pub fn waiting(&self) -> u64 {
        self.queues.iter().map(MeteredQueue::packets).sum::<u64>() + self.shared.as_ref().map_or(0, SharedQueue::occupancy)
    }

    /// As [`crate::Element::meter`].
    pub fn meter(&mut self, now: Time, queue: QueueId) -> Option<&mut LinkMeter> {
        self.queues.get_mut(Stream::at(queue).index()).map(|queue| queue.meter(now))
    }

    /// As [`crate::Element::sample`].
    pub fn sample(&self, queue: QueueId) -> Option<QueueSample> {
        self.queues.get(Stream::at(queue).index()).map(MeteredQueue::sample)
    }

    /// As [`crate::Element::counts`].
    pub fn counts(&self, queue: QueueId) -> Option<PacketCounts> {
        self.queues.get(Stream::at(queue).index()).map(MeteredQueue::counts)
    }
}
