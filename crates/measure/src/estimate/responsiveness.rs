//! Responsiveness under load in round trips per minute (draft-ietf-ippm-responsiveness, without TLS
//! and HTTP).

use ackclock_contract::Document;
use ackclock_core::score::responsiveness::{round_trips_per_minute, trimmed_mean};
use serde::Serialize;

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
    let rpm = round_trips_per_minute(beside, on)?;
    Some(Responsiveness { rpm, beside_load_ms: beside, on_load_ms: on, probes: trips.handshakes.len() })
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
