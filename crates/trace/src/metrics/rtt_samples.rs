//! RTT samples of one direction. Most directions have none or one, for which no statistics are
//! allocated.

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
    /// Adds a sample in nanoseconds.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        match self {
            RttSampleSet::Many(rtt) => rtt.add(sample),
            RttSampleSet::One(_) => self.add_second(sample),
            RttSampleSet::None => *self = RttSampleSet::One(sample.max(0)),
        }
    }

    #[cold]
    fn add_second(&mut self, sample: i64) {
        let mut rtt = self.statistics();
        rtt.add(sample);
        *self = RttSampleSet::Many(Box::new(rtt));
    }

    /// Minimum in nanoseconds; none without samples.
    #[inline]
    pub fn min(&self) -> Option<i64> {
        match self {
            RttSampleSet::Many(rtt) => rtt.min(),
            RttSampleSet::One(sample) => Some(*sample),
            RttSampleSet::None => None,
        }
    }

    #[inline]
    pub fn max(&self) -> Option<i64> {
        match self {
            RttSampleSet::Many(rtt) => rtt.max(),
            RttSampleSet::One(sample) => Some(*sample),
            RttSampleSet::None => None,
        }
    }

    /// SRTT and RTTVAR (RFC 6298), nanoseconds.
    #[inline]
    pub fn smoothed(&self) -> Option<(i64, i64)> {
        match self {
            RttSampleSet::Many(rtt) => rtt.smoothed(),
            RttSampleSet::One(sample) => Some((*sample, *sample / 2)),
            RttSampleSet::None => None,
        }
    }

    /// True if SRTT is more than `numerator / denominator` times the minimum.
    #[inline]
    pub fn is_srtt_above_min(&self, (numerator, denominator): (i64, i64)) -> bool {
        match self {
            RttSampleSet::Many(rtt) => rtt.is_srtt_above_min((numerator, denominator)),
            RttSampleSet::One(sample) => *sample * denominator > *sample * numerator,
            RttSampleSet::None => false,
        }
    }

    /// The statistics of all samples.
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
        let summary = if let RttSampleSet::Many(rtt) = self { rtt.summary() } else { self.statistics().summary() };
        summary.scaled(1e-6)
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        if let RttSampleSet::Many(rtt) = self { size_of::<RttStats>() + rtt.memory() } else { 0 }
    }
}
