//! The queues of a medium, one per station and direction, each with its own meter and counters.

use super::channel_time::ChannelTime;
use super::roaming::{Roaming, RoamingConfig, RoamingEvent};
use super::shared_queue::SharedQueue;
use super::{Direction, MeteredQueue, Stream};
use crate::element::{PacketCounts, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::queue::AnyQueue;
use crate::time_account::TimeAccount;
use crate::units::{Span, Time};

/// The queues of all streams.
pub struct StationQueues {
    queues: Vec<MeteredQueue>,
    /// `None` without roaming.
    roaming: Option<Box<Roaming>>,
    /// `None` if every stream has its own queue.
    pub(super) shared: Option<SharedQueue>,
    time: ChannelTime,
}

impl StationQueues {
    /// One queue per stream, in the order of [`Stream::index`].
    pub fn new(queues: impl IntoIterator<Item = AnyQueue>) -> StationQueues {
        let queues: Vec<MeteredQueue> = queues.into_iter().map(MeteredQueue::new).collect();
        let time = ChannelTime::new(queues.len());
        StationQueues { queues, roaming: None, shared: None, time }
    }

    /// Both directions share the capacity of the channel; otherwise each has its own.
    pub fn sharing_capacity(mut self) -> StationQueues {
        self.time.share_capacity();
        self
    }

    /// Makes all downlink streams share the first station's queue.
    pub fn share_down(&mut self) {
        self.shared = Some(SharedQueue::default());
    }

    /// Exchanges the queues of the stream and of the first stream.
    pub(super) fn swap_queues(&mut self, stream: Stream) {
        if let ([first, ..], [other, ..]) = self.queues.split_at_mut(stream.index()) {
            first.swap_queue(other);
        }
    }

    /// Enables roaming.
    pub fn roam(&mut self, config: RoamingConfig) {
        self.roaming = Some(Box::new(Roaming::new(config, self.stations())));
    }

    /// Time of the next roaming event.
    #[inline]
    pub fn next_roaming_event(&self) -> Time {
        self.roaming.as_ref().map_or(Time::NEVER, |roaming| roaming.due())
    }

    /// Removes the next roaming event if it is due by `now`.
    pub fn pop_roaming_event(&mut self, now: Time) -> Option<(u32, RoamingEvent)> {
        self.roaming.as_mut()?.pop(now)
    }

    /// True if the station is served, i.e. not between two cells.
    #[inline]
    pub fn is_served(&self, station: u32) -> bool {
        self.roaming.as_ref().is_none_or(|roaming| !roaming.is_away(station))
    }

    /// True if packets queued for a leaving station are forwarded to its next cell.
    pub fn forwards(&self) -> bool {
        self.roaming.as_ref().is_none_or(|roaming| roaming.forwards())
    }

    /// Share of the channel's speed that the station has.
    #[inline]
    pub fn speed(&self, station: u32) -> f64 {
        self.roaming.as_ref().map_or(1.0, |roaming| roaming.speed(station))
    }

    /// Transmission time of a station for what takes `span` at the channel's speed.
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
    /// Number of stations; each has two streams.
    pub fn stations(&self) -> u32 {
        (self.queues.len() / 2) as u32
    }
    pub fn contains(&self, stream: Stream) -> bool {
        stream.index() < self.queues.len()
    }

    /// The queue of a stream of this medium.
    pub fn of(&mut self, stream: Stream) -> &mut MeteredQueue {
        self.time.touch(stream.index());
        &mut self.queues[stream.index()]
    }

    /// Packets in the queue of a stream.
    pub fn waiting_in(&self, stream: Stream) -> u64 {
        self.queues.get(stream.index()).map_or(0, MeteredQueue::packets)
    }

    /// Bytes in the queue of a stream.
    pub fn waiting_bytes(&self, stream: Stream) -> u64 {
        self.queues.get(stream.index()).map_or(0, MeteredQueue::bytes)
    }

    /// The first stream with queued packets from index `from` on, cyclically; stations between two
    /// cells are skipped.
    pub fn next_waiting(&self, from: usize) -> Option<Stream> {
        let n = self.queues.len();
        let here = |index: usize| self.is_served(Stream::from_index(index).station);
        let waits = |&index: &usize| self.queues[index].packets() > 0 && here(index);
        (from..n).chain(0..from.min(n)).find(waits).map(Stream::from_index)
    }

    /// Queued packets of all streams.
    pub fn waiting(&self) -> u64 {
        self.queues.iter().map(MeteredQueue::packets).sum::<u64>() + self.shared.as_ref().map_or(0, SharedQueue::occupancy)
    }

    /// As [`crate::Element::meter`].
    pub fn meter(&mut self, now: Time, queue: QueueId) -> Option<&mut LinkMeter> {
        self.queues.get_mut(Stream::at(queue).index()).map(|queue| queue.meter(now))
    }

    /// Brings the accounts of time up to `now`, before anything changes at `now`.
    #[inline]
    pub fn account_until(&mut self, now: Time) {
        let queues = &self.queues;
        let unserved = self.roaming.as_ref().map(|roaming| {
            move |direction| {
                let here = |station: u32| !roaming.is_away(station);
                !queues.iter().enumerate().any(|(index, queue)| {
                    let stream = Stream::from_index(index);
                    stream.direction == direction && queue.in_channel() > 0 && here(stream.station)
                })
            }
        });
        self.time.integrate(now, queues, unserved);
    }

    /// Counts a transmission that carries packets of a direction.
    #[inline]
    pub fn add_sending(&mut self, direction: Direction, span: Span) {
        self.time.add_sending(direction, span);
    }

    /// The account of a direction, up to the last call of [`StationQueues::account_until`].
    pub fn time(&mut self, direction: Direction) -> &mut TimeAccount {
        self.time.account(direction)
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
