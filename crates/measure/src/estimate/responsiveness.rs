//! Responsiveness under load: round trips a minute (draft-ietf-ippm-responsiveness, without TLS and HTTP).

use ackclock_core::statistics::nearest_rank;
use serde::Serialize;

/// Beyond this quantile round trips are left out, as the draft does.
const TRIM: f64 = 0.95;

/// Milliseconds each.
#[derive(Debug, Clone, Default)]
pub struct RttSamples {
    /// Of connections made beside the load: handshakes, and one byte asked for and had.
    pub handshakes: Vec<f64>,
    pub exchanges: Vec<f64>,
    /// On the connections that make the load, as their senders' kernels have them.
    pub on_load: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Responsiveness {
    /// Round trips a minute: 60,000 ms over the mean of the two parts.
    pub rpm: f64,
    /// Trimmed means of handshakes and exchanges beside the load, averaged; and of round trips on the load.
    pub beside_load_ms: f64,
    pub on_load_ms: f64,
    pub probes: usize,
}

/// None without round trips of each kind.
pub fn responsiveness(trips: &RttSamples) -> Option<Responsiveness> {
    let beside = (trimmed_mean(&trips.handshakes)? + trimmed_mean(&trips.exchanges)?) / 2.0;
    let on = trimmed_mean(&trips.on_load)?;
    let mean = (beside + on) / 2.0;
    let probes = trips.handshakes.len();
    (mean > 0.0).then(|| Responsiveness { rpm: 60_000.0 / mean, beside_load_ms: beside, on_load_ms: on, probes })
}

/// The mean of what is not above the 95th percentile.
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
    fn equal_round_trips_of_100_ms_are_600_a_minute_and_one_straggler_of_twenty_does_not_count() {
        let mut handshakes = vec![100.0; 19];
        handshakes.push(5000.0);
        let trips = RttSamples { handshakes, exchanges: vec![100.0; 20], on_load: vec![100.0; 5] };
        assert_eq!(responsiveness(&trips).unwrap().rpm, 600.0);
        let slower = RttSamples { on_load: vec![300.0; 5], ..trips };
        assert_eq!(responsiveness(&slower).unwrap().rpm, 300.0);
        assert_eq!(responsiveness(&RttSamples::default()), None);
    }
}
