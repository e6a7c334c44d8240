//! Round-trip samples of one direction: most directions have none or one, for which statistics are
//! not kept.

use super::RttStats;
use crate::compact::{Compact, Reader, Writer};
use ackclock_core::statistics::SummaryStats;

#[derive(Debug, Clone, Default)]
pub enum RttSampleSet {
    #[default]
    None,
    One(i64),
    Many(Box<RttStats>),
}

impl Compact for RttSampleSet {
    fn encode(&self, to: &mut Writer) {
        to.bit(matches!(self, RttSampleSet::Many(_)));
        match self {
            RttSampleSet::Many(rtt) => rtt.encode(to),
            RttSampleSet::One(sample) => Some(*sample).encode(to),
            RttSampleSet::None => None::<i64>.encode(to),
        }
    }

    fn decode(from: &mut Reader<'_>) -> RttSampleSet {
        if from.bit() {
            return RttSampleSet::Many(Compact::decode(from));
        }
        <Option<i64> as Compact>::decode(from).map_or(RttSampleSet::None, RttSampleSet::One)
    }
}

impl RttSampleSet {
    /// A sample in nanoseconds.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        match self {
            RttSampleSet::Many(rtt) => rtt.add(sample),
            RttSampleSet::One(_) => self.second(sample),
            RttSampleSet::None => *self = RttSampleSet::One(sample.max(0)),
        }
    }

    #[cold]
    fn second(&mut self, sample: i64) {
        let mut rtt = self.statistics();
        rtt.add(sample);
        *self = RttSampleSet::Many(Box::new(rtt));
    }

    /// Smallest sample in nanoseconds; none without samples.
    #[inline]
    pub fn min(&self) -> Option<i64> {
        match self {
            RttSampleSet::Many(rtt) => rtt.min(),
            RttSampleSet::One(sample) => Some(*sample),
            RttSampleSet::None => None,
        }
    }

    pub fn max(&self) -> Option<i64> {
        match self {
            RttSampleSet::Many(rtt) => rtt.max(),
            RttSampleSet::One(sample) => Some(*sample),
            RttSampleSet::None => None,
        }
    }

    /// Smoothed RTT and mean deviation, RFC 6298.
    #[inline]
    pub fn smoothed(&self) -> Option<(i64, i64)> {
        match self {
            RttSampleSet::Many(rtt) => rtt.smoothed(),
            RttSampleSet::One(sample) => Some((*sample, *sample / 2)),
            RttSampleSet::None => None,
        }
    }

    /// The smoothed RTT is more than this many times the least, above and below the line.
    #[inline]
    pub fn is_srtt_above_min(&self, (above, below): (i64, i64)) -> bool {
        match self {
            RttSampleSet::Many(rtt) => rtt.is_srtt_above_min((above, below)),
            RttSampleSet::One(sample) => *sample * below > *sample * above,
            RttSampleSet::None => false,
        }
    }

    /// All that is known of them.
    pub fn statistics(&self) -> RttStats {
        match self {
            RttSampleSet::Many(rtt) => (**rtt).clone(),
            RttSampleSet::One(sample) => {
                let mut rtt = RttStats::default();
                rtt.add(*sample);
                rtt
            }
            RttSampleSet::None => RttStats::default(),
        }
    }

    /// The summary in milliseconds.
    pub fn summary_ms(&self) -> SummaryStats {
        self.statistics().summary().scaled(1e-6)
    }

    /// Bytes held beside itself.
    pub fn memory(&self) -> usize {
        if let RttSampleSet::Many(rtt) = self { size_of::<RttStats>() + rtt.memory() } else { 0 }
    }
}
