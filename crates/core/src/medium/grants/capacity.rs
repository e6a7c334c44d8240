//! Capacity of intervals and its allocation.

use super::config::DirectionConfig;
use crate::units::{Rate, Span, Time};
use std::collections::VecDeque;

/// Intervals of one direction: interval `n` lasts from `n` to `n + 1` times the length.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    length: Span,
    rate: Rate,
}

impl Intervals {
    pub fn new(config: &DirectionConfig) -> Intervals {
        Intervals { length: config.interval, rate: config.rate }
    }

    pub fn start(&self, number: u64) -> Time {
        Time::ZERO + self.length.saturating_mul(number)
    }

    /// The first interval that starts at or after `at`.
    pub fn from(&self, at: Time) -> u64 {
        at.0.div_ceil(self.length.0)
    }

    /// Capacity in whole bytes; fractions of a byte carry over to the next interval.
    pub fn bytes(&self, number: u64) -> u64 {
        let until = |n: u64| self.rate.bytes_in(self.length.saturating_mul(n));
        until(number + 1) - until(number)
    }
}

/// Speed of a station relative to the channel: slower stations occupy the channel longer.
#[derive(Clone, Copy, Debug)]
pub struct StationSpeed(pub f64);

impl StationSpeed {
    /// Channel bytes occupied by `bytes` of the station.
    pub fn on_air(self, bytes: u64) -> u64 {
        if self.0 == 1.0 { bytes } else { libm::ceil(bytes as f64 / self.0) as u64 }
    }

    /// Bytes of the station that `air` channel bytes carry.
    pub fn carried(self, air: u64) -> u64 {
        if self.0 == 1.0 { air } else { (air as f64 * self.0) as u64 }
    }
}

/// Bytes reserved for retransmissions in future intervals.
#[derive(Clone, Debug, Default)]
pub struct ReservedCapacity {
    /// Interval and bytes, earliest first.
    ahead: VecDeque<(u64, u64)>,
}

impl ReservedCapacity {
    pub fn add(&mut self, interval: u64, bytes: u64) {
        let at = self.ahead.partition_point(|&(number, _)| number < interval);
        match self.ahead.get_mut(at) {
            Some((number, held)) if *number == interval => *held += bytes,
            _ => self.ahead.insert(at, (interval, bytes)),
        }
    }

    /// Removes and returns the bytes reserved up to this interval.
    pub fn take(&mut self, interval: u64) -> u64 {
        let past = self.ahead.partition_point(|&(number, _)| number <= interval);
        self.ahead.drain(..past).map(|(_, bytes)| bytes).sum()
    }
}

/// Max-min fair allocation of `total` bytes to `demands`. Remaining single bytes go to the first
/// stations.
pub fn max_min_share(total: u64, demands: &[u64], shares: &mut Vec<u64>) {
    shares.clear();
    shares.resize(demands.len(), 0);
    let mut left = total;
    loop {
        let open = demands.iter().zip(&*shares).filter(|(want, share)| share < want).count() as u64;
        if open == 0 || left == 0 {
            return;
        }
        let each = (left / open).max(1);
        for (want, share) in demands.iter().zip(shares.iter_mut()) {
            let more = each.min(want - *share).min(left);
            *share += more;
            left -= more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_min_share_redistributes_unused_shares() {
        let mut shares = Vec::new();
        for (total, demands, dealt) in [
            (100, vec![10, 1000, 1000], vec![10, 45, 45]),
            (100, vec![1000], vec![100]),
            (10, vec![3, 3], vec![3, 3]),
            (5, vec![9, 9, 9], vec![2, 2, 1]),
            (0, vec![9], vec![0]),
        ] {
            max_min_share(total, &demands, &mut shares);
            assert_eq!(shares, dealt, "{total} to {demands:?}");
        }
    }
}
