//! The jitter buffer of a call's receiver: which packets are in time to be played, and how long they
//! wait.
//!
//! The buffer is adaptive. A packet is played when its delay is at most the minimum plus the buffer:
//! the minimum delay of the packets that arrived within the last 10 s before it, and the 95th
//! percentile of their delay above that minimum, but 20 ms at least and 500 ms at most. A packet that
//! arrives later counts as lost. Real buffers differ (libwebrtc's stretches speech to follow, a
//! telephone's may be fixed); G.107 has none.

use crate::statistics::quantile_of_sorted;
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Packets of this time back decide the buffer.
const HISTORY: Span = Span::from_secs(10);
const QUANTILE: f64 = 0.95;
const MIN_BUFFER: Span = Span::from_ms(20);
/// The longest wait of a packet in the buffer.
pub const MAX_PLAYOUT_BUFFER: Span = Span::from_ms(500);

/// The delays of the last 10 s.
#[derive(Clone, Debug, Default)]
pub struct Playout {
    /// Arrivals with their delays, in order.
    recent: VecDeque<(Time, Span)>,
    /// Their delays, ascending.
    sorted: Vec<Span>,
}

impl Playout {
    /// A packet with this delay from sender to receiver arrives. Returns how long after it was sent it
    /// is played, which is its delay plus the wait in the buffer; none if it is too late.
    pub fn arrive(&mut self, now: Time, delay: Span) -> Option<Span> {
        self.forget(now);
        let played = self.delay().unwrap_or(delay + MIN_BUFFER);
        self.recent.push_back((now, delay));
        let place = self.sorted.partition_point(|&other| other <= delay);
        self.sorted.insert(place, delay);
        // A packet with less delay than all before has the buffer above its own delay.
        let played = played.min(delay + MAX_PLAYOUT_BUFFER);
        (delay <= played).then_some(played)
    }

    /// Delay at which packets are played now: the minimum and the buffer. None before the first packet.
    pub fn delay(&self) -> Option<Span> {
        let min = *self.sorted.first()?;
        let high = quantile_of_sorted(&self.sorted, QUANTILE)?;
        Some(min + (high - min).clamp(MIN_BUFFER, MAX_PLAYOUT_BUFFER))
    }

    fn forget(&mut self, now: Time) {
        while let Some(&(arrived, delay)) = self.recent.front()
            && arrived + HISTORY <= now
        {
            self.recent.pop_front();
            let place = self.sorted.partition_point(|&other| other < delay);
            self.sorted.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets each 20 ms with these delays in milliseconds: when each is played.
    fn played(delays: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
        let mut playout = Playout::default();
        let arrive = |(number, delay): (u64, u64)| {
            let sent = Time::ZERO + Span::from_ms(20 * number);
            playout.arrive(sent + Span::from_ms(delay), Span::from_ms(delay)).map(|span| span.0 / Span::from_ms(1).0)
        };
        (0..).zip(delays).map(arrive).collect()
    }

    #[test]
    fn buffer_is_20_ms_on_a_path_without_jitter() {
        assert_eq!(played([30; 5]), [Some(50); 5]);
    }

    #[test]
    fn packet_is_late_when_it_is_beyond_the_buffer_and_not_at_its_end() {
        assert_eq!(played([30, 30, 50, 30]), [Some(50); 4]);
        assert_eq!(played([30, 30, 51])[2], None);
    }

    #[test]
    fn buffer_follows_the_95th_percentile_of_the_delays_before() {
        // One of twenty at 100 ms: the 19th of 20 values is still 30; two of twenty make it 100.
        let mut delays = vec![30; 19];
        delays.extend([100, 100, 100]);
        assert_eq!(played(delays)[19..], [None, None, Some(100)]);
    }

    #[test]
    fn buffer_is_at_most_500_ms_and_forgets_after_10_s() {
        let mut delays = vec![10; 10];
        delays.extend([2000; 300]);
        let found = played(delays);
        assert_eq!(found[310 - 1], None, "the minimum is still that of the first packets");
        let mut delays = vec![10; 10];
        delays.extend([2000; 600]);
        assert_eq!(played(delays)[609], Some(2020), "10 s later it is not");
    }
}
