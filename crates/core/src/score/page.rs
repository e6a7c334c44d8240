//! The score of a page: its load time, and how early its bytes were there.

use crate::units::{Span, Time};
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// The bytes of a page as they arrive.
#[derive(Clone, Debug, Default)]
pub struct PageProgress {
    start: Time,
    total: u64,
    arrived: u64,
    /// Sum over the arrived bytes of the time from the start to their arrival, in seconds.
    waited: f64,
    last: Option<Time>,
}

impl PageProgress {
    /// A page of `total` bytes that a person asks for at `start`.
    pub fn new(start: Time, total: u64) -> PageProgress {
        PageProgress { start, total, ..PageProgress::default() }
    }

    /// `bytes` more of the page have arrived.
    pub fn arrive(&mut self, now: Time, bytes: u64) {
        self.arrived += bytes;
        self.waited += bytes as f64 * (now - self.start).as_secs();
        self.last = Some(now);
    }

    pub fn score(&self) -> PageScore {
        let end = self.last.filter(|_| self.arrived >= self.total && self.total > 0);
        let load: Option<Span> = end.map(|end| end - self.start);
        PageScore {
            load_s: load.map(Span::as_secs),
            byte_index_s: load.map(|_| self.waited / self.total as f64),
            bytes: self.total,
            arrived_bytes: self.arrived,
        }
    }
}

/// What people feel of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct PageScore {
    /// From the first SYN to the last byte of the last object; none if the run ended before.
    pub load_s: Option<f64>,
    /// ByteIndex (Bocchi, De Cicco and Rossi 2016): the integral over the load of the share of bytes that
    /// are not there yet, which is the mean time at which a byte arrived.
    pub byte_index_s: Option<f64>,
    /// Of all objects, without headers.
    pub bytes: u64,
    pub arrived_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn byte_index_is_the_area_above_the_curve_of_bytes() {
        // Nothing for 1 s, half for 1 s, all: 1 s * 1 + 1 s * 0.5.
        let mut page = PageProgress::new(at(500), 100);
        page.arrive(at(1500), 50);
        assert_eq!(page.score().load_s, None);
        page.arrive(at(2500), 50);
        assert_eq!((page.score().load_s, page.score().byte_index_s), (Some(2.0), Some(1.5)));
    }
}
