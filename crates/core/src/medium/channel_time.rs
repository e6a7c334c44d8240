//! Accounts of a medium's time, one per direction.

use super::{Direction, MeteredQueue, Stream};
use crate::time_account::TimeAccount;
use crate::units::{Span, Time};

/// Integrates, from event to event, whether packets of a direction are in the channel and which
/// direction transmits. The medium adds what it transmits ([`ChannelTime::add_sending`]).
#[derive(Debug, Default)]
pub struct ChannelTime {
    accounts: [TimeAccount; 2],
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
        if self.touched.last() != Some(&index) {
            self.touched.push(index);
        }
    }

    /// Accounts for the time until `now`, in which no stream changed. Waiting packets that are
    /// `unserved`, between two cells, are blocked.
    pub fn integrate(&mut self, now: Time, queues: &[MeteredQueue], unserved: impl Fn(Direction) -> bool) {
        for index in self.touched.drain(..) {
            let state = StreamState { packets: queues[index].in_channel(), sending: i64::from(queues[index].is_sending()) };
            let before = std::mem::replace(&mut self.streams[index], state);
            let sum = &mut self.sums[Stream::from_index(index).direction as usize];
            sum.packets += state.packets - before.packets;
            sum.sending += state.sending - before.sending;
        }
        let span = now - self.counted_to;
        if span == Span::ZERO {
            return;
        }
        self.counted_to = now;
        if self.shared_capacity && self.sums.iter().any(|sum| sum.packets > 0) {
            self.accounts.iter_mut().for_each(|account| account.add_full(span));
        }
        for direction in Direction::BOTH {
            let (own, other) = (self.sums[direction as usize], self.sums[direction.reverse() as usize]);
            if own.packets <= 0 {
                continue;
            }
            let account = &mut self.accounts[direction as usize];
            account.occupied = account.occupied + span;
            if own.sending == 0 && (other.sending > 0 || unserved(direction)) {
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
        &mut self.accounts[direction as usize]
    }
}
