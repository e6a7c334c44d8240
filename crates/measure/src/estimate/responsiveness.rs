//! Responsiveness under load in round trips per minute (draft-ietf-ippm-responsiveness, without TLS
//! and HTTP).

use ackclock_contract::Document;
use ackclock_core::statistics::nearest_rank;
use serde::Serialize;

/// Samples above this quantile are trimmed, as in the draft.
const TRIM: f64 = 0.95;

/// RTT samples in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct RttSamples {
    /// New connections beside the load: handshakes, and exchanges of one byte.
    pub handshakes: Vec<f64>,
    pub exchanges: Vec<f64>,
    /// Load-generating connections: SRTT of the senders' kernels.
    pub on_load: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Document)]
pub struct Responsiveness {
    /// Round trips per minute: 60,000 ms over the mean of the two parts.
    pub rpm: f64,
    /// Mean of the trimmed means of handshakes and exchanges beside the load, and trimmed mean on
    /// the load.
    pub beside_load_ms: f64,
    pub on_load_ms: f64,
    pub probes: usize,
}

/// None if a kind has no samples.
pub fn responsiveness(trips: &RttSamples) -> Option<Responsiveness> {
    let beside = (trimmed_mean(&trips.handshakes)? + trimmed_mean(&trips.exchanges)?) / 2.0;
    let on = trimmed_mean(&trips.on_load)?;
    let mean = (beside + on) / 2.0;
    let probes = trips.handshakes.len();
    (mean > 0.0).then(|| Responsiveness { rpm: 60_000.0 / mean, beside_load_ms: beside, on_load_ms: on, probes })
}

/// Mean of the samples up to the 95th percentile.
fn trimmed_mean(values: &[f64]) -> Option<f64> {
    let mut all = values.to_vec();
    all.sort_unstable_by(f64::total_cmp);
    let kept = nearest_rank(all.len() as u64, TRIM) as usize;
    (kept > 0).then(|| all[..kept].iter().sum::<f64>() / kept as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responsiveness_is_600_rpm_when_all_but_one_of_twenty_rtts_are_100_ms() {
        let mut handshakes = vec![100.0; 19];
        handshakes.push(5000.0);
        let trips = RttSamples { handshakes, exchanges: vec![100.0; 20], on_load: vec![100.0; 5] };
        assert_eq!(responsiveness(&trips).unwrap().rpm, 600.0);
        let slower = RttSamples { on_load: vec![300.0; 5], ..trips };
        assert_eq!(responsiveness(&slower).unwrap().rpm, 300.0);
        assert_eq!(responsiveness(&RttSamples::default()), None);
    }
}
