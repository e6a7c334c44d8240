//! Accounts of a medium's time, one per direction.

use super::{Direction, MeteredQueue, Stream};
use crate::time_account::TimeAccount;
use crate::units::{Span, Time};

/// Integrates whether packets of a direction are in the channel and which direction transmits. The
/// medium adds what it transmits ([`ChannelTime::add_sending`]).
///
/// Both change at few of the events, so the accounts are filled when they change and when they are
/// read.
#[derive(Debug, Default)]
pub struct ChannelTime {
    accounts: [TimeAccount; 2],
    /// The accounts are complete up to this time; `state` holds from then until `counted_to`.
    accounted_to: Time,
    state: [DirectionState; 2],
    /// Time of the last call of [`ChannelTime::integrate`].
    counted_to: Time,
    /// By stream, as of the last call.
    streams: Vec<StreamState>,
    /// Sums over the streams of a direction.
    sums: [StreamState; 2],
    /// Streams that may have changed since the last call.
    touched: Vec<usize>,
    /// Both directions share the capacity, so neither has any while packets of one are in the
    /// channel.
    shared_capacity: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamState {
    packets: i64,
    sending: i64,
    /// It is in the list of streams that may have changed.
    touched: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DirectionState {
    /// Packets of the direction are in the channel.
    occupied: bool,
    sending: bool,
    /// Its packets wait between two cells.
    unserved: bool,
}

impl DirectionState {
    #[inline]
    fn of(sum: &StreamState) -> DirectionState {
        DirectionState { occupied: sum.packets > 0, sending: sum.sending > 0, unserved: false }
    }
}

impl ChannelTime {
    pub fn new(streams: usize) -> ChannelTime {
        ChannelTime { streams: vec![StreamState::default(); streams], ..ChannelTime::default() }
    }

    /// Both directions share the capacity of the channel.
    pub fn share_capacity(&mut self) {
        self.shared_capacity = true;
    }

    /// The stream with this index may change.
    #[inline]
    pub fn touch(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        if !stream.touched {
            stream.touched = true;
            self.touched.push(index);
        }
    }

    /// Accounts for the time until `now`, in which no stream changed. Waiting packets that are
    /// `unserved`, between two cells, are blocked; none: no station changes cells.
    #[inline]
    pub fn integrate(&mut self, now: Time, queues: &[MeteredQueue], unserved: Option<impl Fn(Direction) -> bool>) {
        if !self.touched.is_empty() || unserved.is_some() {
            self.update(queues, unserved);
        }
        self.counted_to = self.counted_to.max(now);
    }

    /// Reads the streams that may have changed at the last call.
    #[inline]
    fn update(&mut self, queues: &[MeteredQueue], unserved: Option<impl Fn(Direction) -> bool>) {
        while let Some(index) = self.touched.pop() {
            let queue = &queues[index];
            let state = StreamState { packets: queue.in_channel(), sending: i64::from(queue.is_sending()), touched: false };
            let before = std::mem::replace(&mut self.streams[index], state);
            let sum = &mut self.sums[Stream::from_index(index).direction as usize];
            sum.packets += state.packets - before.packets;
            sum.sending += state.sending - before.sending;
        }
        let [down, up] = &self.sums;
        let mut state = [DirectionState::of(down), DirectionState::of(up)];
        if let Some(unserved) = unserved {
            for direction in Direction::BOTH {
                let state = &mut state[direction as usize];
                state.unserved = state.occupied && !state.sending && unserved(direction);
            }
        }
        if state != self.state {
            self.fill();
            self.state = state;
        }
    }

    /// Adds the time in which `state` held to the accounts.
    #[inline(never)]
    fn fill(&mut self) {
        let span = self.counted_to - self.accounted_to;
        self.accounted_to = self.counted_to;
        if self.shared_capacity && self.state.iter().any(|state| state.occupied) {
            self.accounts.iter_mut().for_each(|account| account.add_full(span));
        }
        for direction in Direction::BOTH {
            let (own, other) = (self.state[direction as usize], self.state[direction.reverse() as usize]);
            if !own.occupied {
                continue;
            }
            let account = &mut self.accounts[direction as usize];
            account.occupied = account.occupied + span;
            if !own.sending && (other.sending || own.unserved) {
                account.blocked = account.blocked + span;
            }
        }
    }

    /// Counts a transmission that carries packets of a direction.
    pub fn add_sending(&mut self, direction: Direction, span: Span) {
        let account = &mut self.accounts[direction as usize];
        account.sending = account.sending + span;
    }

    /// The account of a direction, as of the last integration.
    pub fn account(&mut self, direction: Direction) -> &mut TimeAccount {
        self.fill();
        &mut self.accounts[direction as usize]
    }
}
