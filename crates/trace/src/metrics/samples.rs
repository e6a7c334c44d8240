//! Round-trip samples of one direction: most directions have none or one, for which statistics are not kept.

use super::Rtt;
use crate::compact::{Compact, Reader, Writer};
use ackclock_core::statistics::SummaryStats;

#[derive(Debug, Clone, Default)]
pub enum Samples {
    #[default]
    None,
    One(i64),
    Many(Box<Rtt>),
}

impl Compact for Samples {
    fn encode(&self, to: &mut Writer) {
        to.bit(matches!(self, Samples::Many(_)));
        match self {
            Samples::Many(rtt) => rtt.encode(to),
            Samples::One(sample) => Some(*sample).encode(to),
            Samples::None => None::<i64>.encode(to),
        }
    }

    fn decode(from: &mut Reader<'_>) -> Samples {
        if from.bit() {
            return Samples::Many(Compact::decode(from));
        }
        <Option<i64> as Compact>::decode(from).map_or(Samples::None, Samples::One)
    }
}

impl Samples {
    /// A sample in nanoseconds.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        match self {
            Samples::Many(rtt) => rtt.add(sample),
            Samples::One(_) => self.second(sample),
            Samples::None => *self = Samples::One(sample.max(0)),
        }
    }

    #[cold]
    fn second(&mut self, sample: i64) {
        let mut rtt = self.statistics();
        rtt.add(sample);
        *self = Samples::Many(Box::new(rtt));
    }

    /// Smallest sample in nanoseconds; none without samples.
    #[inline]
    pub fn min(&self) -> Option<i64> {
        match self {
            Samples::Many(rtt) => rtt.min(),
            Samples::One(sample) => Some(*sample),
            Samples::None => None,
        }
    }

    pub fn max(&self) -> Option<i64> {
        match self {
            Samples::Many(rtt) => rtt.max(),
            Samples::One(sample) => Some(*sample),
            Samples::None => None,
        }
    }

    /// Smoothed RTT and mean deviation, RFC 6298.
    #[inline]
    pub fn smoothed(&self) -> Option<(i64, i64)> {
        match self {
            Samples::Many(rtt) => rtt.smoothed(),
            Samples::One(sample) => Some((*sample, *sample / 2)),
            Samples::None => None,
        }
    }

    /// The smoothed RTT is more than this many times the least, above and below the line.
    #[inline]
    pub fn is_above_least(&self, (above, below): (i64, i64)) -> bool {
        match self {
            Samples::Many(rtt) => rtt.is_above_least((above, below)),
            Samples::One(sample) => *sample * below > *sample * above,
            Samples::None => false,
        }
    }

    /// All that is known of them.
    pub fn statistics(&self) -> Rtt {
        match self {
            Samples::Many(rtt) => (**rtt).clone(),
            Samples::One(sample) => {
                let mut rtt = Rtt::default();
                rtt.add(*sample);
                rtt
            }
            Samples::None => Rtt::default(),
        }
    }

    /// The summary in milliseconds.
    pub fn summary_ms(&self) -> SummaryStats {
        self.statistics().summary().scaled(1e-6)
    }

    /// Bytes held beside itself.
    pub fn memory(&self) -> usize {
        if let Samples::Many(rtt) = self { size_of::<Rtt>() + rtt.memory() } else { 0 }
    }
}
